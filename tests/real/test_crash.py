# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of a micro-batch, steps that fail, and kills at random times: after a restart the table holds
each record once, and what is left over is nothing but files that no metadata names (case 42)."""

import random
import threading
import time

import pytest
from checks import check_table, epochs, read_everywhere, snapshots, stray_files
from job import Job
from kafka_client import Record, produce
from readers import comparable, read_pyiceberg, rows

COLUMNS = "id bigint, day date, text string"
DAYS = ["2026-03-30", "2026-03-31"]

POINTS = [
    "plan", "offsets-written", "file-open", "file-half", "file-closed", "files-done", "manifest-written",
    "manifest-list-written", "metadata-written", "commit-sent", "commit-done", "commits-written", "lag-published",
]  # fmt: skip
# A step that fails after the commit point does not undo the batch.
AFTER_COMMIT = {"commit-done", "commits-written", "lag-published"}


def value(number):
    return {"id": number, "day": DAYS[number % 2], "text": f"text {number}"}


def make_job(lake, broker, topic, **sink):
    lake.create_table("db.t", COLUMNS, "day(day)")
    source = {"maxOffsetsPerTrigger": 100}
    return Job(lake, broker, "db.t", topic, source=source, value="json", sink=sink)


def check_rows(lake, count):
    found = read_everywhere(lake, "db.t")
    assert [row[0] for row in found] == list(range(count))
    check_table(lake, "db.t")


@pytest.mark.lakes("sql", "rest")
@pytest.mark.parametrize("kind", ["kill", "fail"])
@pytest.mark.parametrize("point", POINTS)
def test_fault_point(lake, broker, topic, point, kind):
    """The second batch of three meets the fault."""
    produce(broker.bootstrap, topic, [value(n) for n in range(300)])
    job = make_job(lake, broker, topic)
    # Points within a file are passed once per file, two files a batch.
    nth = 3 if point.startswith("file-") else 2
    done = job.run(fault=f"{point}:{nth}" + ("=fail" if kind == "fail" else ""))
    if point == "metadata-written" and lake.catalog == "rest":
        assert done.status == 0, "the catalog writes that file"
    elif kind == "kill":
        assert done.status == -9, f"{point} was never passed: {done}"
    else:
        assert done.status in ((0, 3) if point in AFTER_COMMIT else (3,)), done
        assert point in done.text, done
    assert len(comparable(read_pyiceberg(lake, "db.t"))) % 100 == 0
    job.run().check()
    check_rows(lake, 300)
    assert epochs(lake, "db.t") == [0, 1, 2]
    assert job.log_ids("commits") == [0, 1, 2] and job.log_ids("offsets") == [0, 1, 2]
    stray = stray_files(lake, "db.t")
    if kind == "fail":
        assert not [p for p in stray if p.suffix == ".parquet"], "a batch that failed in order left its data files"


@pytest.mark.lakes("sql", "rest")
@pytest.mark.parametrize("point", ["file-open", "commit-sent", "commit-done"])
def test_fault_at_the_first_batch(lake, broker, topic, point):
    produce(broker.bootstrap, topic, [value(n) for n in range(50)])
    job = make_job(lake, broker, topic)
    assert job.run(fault=point).status == -9
    job.run().check()
    check_rows(lake, 50)


def test_fault_twice_at_the_same_batch(lake, broker, topic):
    produce(broker.bootstrap, topic, [value(n) for n in range(50)])
    job = make_job(lake, broker, topic)
    for point in ("files-done", "metadata-written", "commit-done", "commits-written"):
        job.run(fault=point)
    job.run().check()
    check_rows(lake, 50)
    assert len(snapshots(lake, "db.t")) == 1


def test_fault_while_old_log_entries_are_purged(lake, broker, topic, campaign):
    """More than 100 batches, so that the checkpoint is cleaned; the purge is killed, and then goes on."""
    produce(broker.bootstrap, topic, [value(n) for n in range(104)])
    job = make_job(lake, broker, topic)
    job.config["source"]["maxOffsetsPerTrigger"] = 1
    job.write()
    assert job.run(fault="purge", timeout=120).status == -9
    job.run(timeout=120).check()
    check_rows(lake, 104)
    assert job.log_ids("offsets") == list(range(3, 104))
    assert job.log_ids("commits")[0] == 3 and job.log_ids("commits")[-1] == 103


def test_fault_in_a_lake_of_the_hadoop_kind(tmp_path, broker, topic):
    from job import Lake

    lake = Lake(tmp_path / "hadoop", "hadoop")
    produce(broker.bootstrap, topic, [value(n) for n in range(300)])
    job = make_job(lake, broker, topic)
    for point in ("metadata-written:2", "commit-sent", "commit-done"):
        assert job.run(fault=point).status == -9
    job.run().check()
    check_rows(lake, 300)
    assert epochs(lake, "db.t") == [0, 1, 2]


def test_partition_added_after_the_kill(lake, broker, topics, topic):
    """Case 42: the batch that was planned is finished on the old partitions, then the new one is read."""
    produce(broker.bootstrap, topic, [value(n) for n in range(10)])
    job = make_job(lake, broker, topic)
    assert job.run(fault="offsets-written").status == -9
    topics.add_partitions(topic, 2)
    produce(broker.bootstrap, topic, [Record(b'{"id": 10}', partition=1), Record(b'{"id": 11}', partition=1)])
    job.run().check()
    assert [row[0] for row in read_everywhere(lake, "db.t")] == list(range(12))
    assert job.offsets(0) == {topic: {"0": 10}}
    assert job.offsets(1) == {topic: {"0": 10, "1": 2}}


class Load(threading.Thread):
    """Produces numbered records until it is stopped."""

    def __init__(self, broker, topic, value=value):
        super().__init__(daemon=True)
        self.broker = broker
        self.topic = topic
        self.value = value
        self.count = 0
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.wait(0.02):
            produce(self.broker.bootstrap, self.topic, [self.value(self.count + n) for n in range(50)])
            self.count += 50

    def finish(self):
        self.stopping.set()
        self.join(30)


def test_random_kills_during_a_load(lake, broker, topic, campaign):
    """50 kills at full length, 12 shortened; times between start and kill are drawn from a fixed seed."""
    draw = random.Random(42)
    job = make_job(lake, broker, topic, trigger="100 milliseconds")
    load = Load(broker, topic)
    load.start()
    for _ in range(50 if campaign else 12):
        with job.start() as running:
            time.sleep(draw.uniform(0.05, 1.2))
            running.alive()
    load.finish()
    job.run(timeout=120).check()
    assert [row[0] for row in comparable(read_pyiceberg(lake, "db.t"))] == list(range(load.count))
    check_rows(lake, load.count)
    stray_files(lake, "db.t")
    assert len(epochs(lake, "db.t")) == len(set(epochs(lake, "db.t")))


def test_file_names_after_a_restart(lake, broker, topic):
    """Case 44: the second run writes the same partition again, also after an attempt that was killed."""
    job = make_job(lake, broker, topic)
    for start in (0, 2, 4):
        produce(broker.bootstrap, topic, [value(n) for n in range(start, start + 2)])
        if start == 2:
            assert job.run(fault="files-done").status == -9
        job.run().check()
    check_rows(lake, 6)
    assert read_everywhere(lake, "db.t", columns=("id", "text")) == rows((n, f"text {n}") for n in range(6))
