# SPDX-License-Identifier: Apache-2.0
"""A checkpoint on S3: the bytes of a local one; a process that dies at any step of a batch or of an exchange
of the logs; and two processes, of which one ends since nothing locks a store. The S3 server keeps objects as plain files,
which is how these tests look at them."""

import json
import shutil

import pytest
from checks import check_table, epochs, read_everywhere
from components import wait_until
from job import Job
from kafka_client import Record, produce

COLUMNS = "id bigint, text string"

pytestmark = pytest.mark.lakes("postgres")


def values(start, end):
    return [Record(json.dumps({"id": n, "text": f"t{n}"}).encode()) for n in range(start, end)]


@pytest.fixture
def job(lake, broker, topic):
    lake.create_table("db.t", COLUMNS)
    job = Job(
        lake, broker, "db.t", topic, value="json", sink={"checkpointLocation": f"s3://{lake.bucket}/checkpoint/"}
    )
    job.checkpoint = lake.warehouse.parent / "checkpoint"
    return job


def check_ids(lake, count):
    assert [row[0] for row in read_everywhere(lake, "db.t", columns=("id",))] == list(range(count))
    check_table(lake, "db.t")


def test_bytes_and_requests(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 3))
    job.run().check()
    produce(broker.bootstrap, topic, values(3, 5))
    job.run().check()
    folder = job.checkpoint
    assert sorted(p.name for p in folder.iterdir()) == ["calve.json", "commits", "metadata", "offsets", "sources"]
    assert job.log_ids("offsets") == job.log_ids("commits") == [0, 1]
    assert (folder / "commits" / "1").read_bytes() == b'v1\n{"nextBatchWatermarkMs":0}'
    version, head, line = (folder / "offsets" / "1").read_bytes().split(b"\n")
    assert version == b"v1" and json.loads(line) == {topic: {"0": 5}}
    assert (folder / "sources" / "0" / "0").read_bytes()[:4] == b"\0v1\n"
    assert epochs(lake, "db.t") == [0, 1]
    check_ids(lake, 5)
    requests = job.batches()[-1]["calve"]["requests"]
    # One data file, one manifest, one list; offsets/1, calve.json, commits/1.
    assert requests["put"] >= 6 and requests["catalog-commit"] == 1


@pytest.mark.parametrize("point", ["offsets-written", "commit-done", "memo-written", "commits-written"])
def test_killed_within_a_batch(lake, broker, topic, job, point):
    produce(broker.bootstrap, topic, values(0, 10))
    job.run().check()
    produce(broker.bootstrap, topic, values(10, 20))
    assert job.run(fault=point).status == -9
    job.run().check()
    check_ids(lake, 20)
    assert epochs(lake, "db.t") == [0, 1]
    assert job.log_ids("offsets") == job.log_ids("commits") == [0, 1]


@pytest.mark.parametrize("point", ["rebase-staged", "rebase-half:1", "rebase-half:3", "rebase-half:7"])
def test_killed_while_the_logs_are_made_anew(lake, broker, topic, job, point):
    """The checkpoint is lost; the table goes on, and its logs are made anew."""
    produce(broker.bootstrap, topic, values(0, 10))
    job.run().check()
    shutil.rmtree(job.checkpoint)
    produce(broker.bootstrap, topic, values(10, 20))
    assert job.run(fault=point).status == -9
    job.run().check()
    check_ids(lake, 20)
    assert epochs(lake, "db.t") == [0, 1]
    assert not (job.checkpoint / "rebase").exists()


def test_of_two_processes_one_ends(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 10))
    job.run().check()
    with job.start() as first, job.start() as second:
        for running in (first, second):
            running.wait_for(lambda: job.progress() and "next batch 1" in running.log(), 30, "the start")
        produce(broker.bootstrap, topic, values(10, 20))
        ended = first.process, second.process
        first_ended = lambda: any(p.poll() is not None for p in ended)  # noqa: E731
        wait_until(first_ended, 30, "the end of one of the two")
        assert [p.poll() for p in ended if p.poll() is not None] == [3]
        assert "another process" in first.log()
    job.run().check()
    check_ids(lake, 20)


@pytest.mark.parametrize("point", [None, "state-written", "commit-done"])
def test_state_lies_in_the_store_too(lake, broker, topic, point):
    """A count by parity in complete mode, killed on its way; then a version that is damaged."""
    lake.create_table("db.t", "parity bigint, n bigint, total bigint")
    job = Job(
        lake,
        broker,
        "db.t",
        topic,
        value={"format": "json", "schema": "id bigint"},
        sink={"checkpointLocation": f"s3://{lake.bucket}/checkpoint", "outputMode": "complete"},
    )
    job.config["sql"] = "SELECT value.id % 2 AS parity, count(*) AS n, sum(value.id) AS total FROM stream GROUP BY 1"
    job.write()
    for start in (0, 10, 20):
        produce(broker.bootstrap, topic, values(start, start + 10))
        if point and start == 10:
            assert job.run(fault=point).status == -9
        else:
            job.run().check()
    assert read_everywhere(lake, "db.t") == [(0, 15, sum(range(0, 30, 2))), (1, 15, sum(range(1, 30, 2)))]
    state = lake.warehouse.parent / "checkpoint" / "state"
    version = max(state.glob("*.json"), key=lambda path: int(path.stem))
    version.write_bytes(version.read_bytes().replace(b'"rows":', b'"rows": ', 1))
    produce(broker.bootstrap, topic, values(30, 32))
    done = job.run()
    assert done.status == 3 and version.name in done.text and "--resume-from=start" in done.text, done
    job.run("--available-now", "--resume-from=start").check()
    assert read_everywhere(lake, "db.t") == [(0, 16, sum(range(0, 32, 2))), (1, 16, sum(range(1, 32, 2)))]
