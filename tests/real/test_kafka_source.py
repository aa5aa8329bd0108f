# SPDX-License-Identifier: Apache-2.0
"""What happens to topics while a job runs: made anew, deleted, grown (cases 5 and 6), and what the source costs an
idle broker."""

import time

import pytest
from checks import snapshots
from components import wait_until
from kafka_client import Record, produce
from test_source import numbered, raw_job, values_of


def running_job(lake, broker, topic, lose, trigger="500 milliseconds"):
    source = {"failOnDataLoss": not lose, "fetchOffset.retryIntervalMs": 300}
    return raw_job(lake, broker, topic, source=source, sink={"trigger": trigger})


@pytest.mark.parametrize("count", [4, 25], ids=["shorter", "longer"])
@pytest.mark.parametrize("lose", [False, True], ids=["stops", "goes on"])
def test_topic_made_anew_while_the_job_runs(lake, broker, topics, topic, count, lose):
    """The longer one is told from the old by its last record, since its offsets alone look like a continuation. The
    client notices the change by a poll while the new topic is empty or short; one that is refilled faster than that
    is a documented limit of clients that know no topic ids."""
    produce(broker.bootstrap, topic, numbered(0, 10))
    job = running_job(lake, broker, topic, lose, "500 milliseconds" if count < 10 else "5 seconds")
    with job.start() as running:
        running.wait_for(lambda: len(snapshots(lake, "db.raw")) == 1, 30, "the first batch")
        topics.recreate(topic)
        time.sleep(1 if count > 10 else 0)
        produce(broker.bootstrap, topic, numbered(100, 100 + count))
        if lose:
            expected = list(range(10)) + list(range(100, 100 + count))
            running.wait_for(lambda: values_of(lake) == expected, 30, "the rows of the new topic")
            assert "PARTITION_OFFSET_CHANGED" in running.log()
            assert running.stop() == 0
        else:
            assert running.wait(30) == 3
            assert "topic" in running.log() and topic in running.log()
            assert values_of(lake) == list(range(10))


def test_topic_deleted_while_the_job_runs(lake, broker, topics, topic):
    produce(broker.bootstrap, topic, numbered(0, 10))
    job = running_job(lake, broker, topic, lose=True)
    with job.start() as running:
        running.wait_for(lambda: len(snapshots(lake, "db.raw")) == 1, 30, "the first batch")
        topics.delete(topic)
        assert running.wait(30) == 3, "a topic that is named and missing ends the job whatever failOnDataLoss says"
        assert f"topic {topic} does not exist" in running.log()


def test_new_partition_is_read_within_a_trigger(lake, broker, topics, topic):
    produce(broker.bootstrap, topic, numbered(0, 10))
    job = running_job(lake, broker, topic, lose=False)
    with job.start() as running:
        running.wait_for(lambda: len(snapshots(lake, "db.raw")) == 1, 30, "the first batch")
        before = topics.partitions(topic)
        topics.add_partitions(topic, before + 1)
        produce(broker.bootstrap, topic, [Record(b"500", partition=before)])
        wait_until(lambda: 500 in values_of(lake), 15, "the record of the new partition")
        assert running.stop() == 0
