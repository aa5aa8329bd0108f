# SPDX-License-Identifier: Apache-2.0
"""Round trips of a job on a REST catalog and S3, as proxies before both servers see them: a batch makes its data puts, one
manifest, one list and one commit, and reads nothing while nobody else commits. What others do to the table shows in the
answer to the commit."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks import check_table
from faults import Faults
from job import Job, run_calve
from kafka_client import produce
from lakes import local
from pyiceberg.types import StringType
from readers import open_table, read_pyiceberg

pytestmark = pytest.mark.lakes("rest")
S3_THREADS = 4  # s3.multipart.num-threads
COLUMNS = "id bigint, day date, s string"
STEADY = {"s3 put manifest": 1, "s3 put manifest list": 1, "rest commit": 1}


@pytest.fixture
def net(lake):
    lake.only("rest", why="these are the requests to a REST catalog and S3")
    faults = Faults().stand_before(lake)
    lake.calve_properties = {"rest-metrics-reporting-enabled": "false"}
    yield faults
    faults.close()


class Stream:
    """A job that runs, and gets its records batch by batch."""

    def __init__(self, lake, broker, topic, running, faults):
        self.lake, self.broker, self.topic, self.running, self.faults = lake, broker, topic, running, faults
        self.sent = 0
        self.before = {}  # connections that others made

    def batch(self, days=("2026-03-30",), **more):
        """One record a day, produced at once; the requests of the batch and its progress."""
        before = len(self.running.job.batches())
        self.faults.reset()
        rows = [{"id": self.sent + n, "day": day, "s": "x", **more} for n, day in enumerate(days)]
        produce(self.broker.bootstrap, self.topic, rows)
        self.sent += len(rows)
        self.running.wait_for(self.is_over, 30, "the records in the table")
        batches = self.running.job.batches()[before:]
        assert len(batches) == 1, "all records in one batch"
        return self.faults.sums(), batches[0]

    def connections(self):
        return {name: count - self.before[name] for name, count in self.faults.accepted().items()}

    def is_over(self):
        return sum(b["numInputRows"] for b in self.running.job.batches()) == self.sent

    def ids(self):
        return sorted(row["id"] for row in read_pyiceberg(self.lake, "db.t").to_pylist())


@pytest.fixture
def stream(lake, net, broker, topic):
    """A job on db.t that has run its first batch."""
    begun = []

    def start(partitioned_by=None, **sink):
        lake.create_table("db.t", COLUMNS, partitioned_by)
        before = net.accepted()
        job = Job(lake, broker, "db.t", topic, value="json", sink=sink)
        running = job.start()
        begun.append(running)
        made = Stream(lake, broker, topic, running, net)
        made.before = before
        running.wait_for(job.batches, 30, "the empty first batch")
        made.batch()
        return made

    yield start
    for running in begun:
        running.kill()


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_steady_batch_makes_only_its_puts_and_a_commit(stream, net, partitions):
    job = stream("day" if partitions > 1 else None)
    days = [f"2026-04-{1 + n:02}" for n in range(partitions)]
    for _ in range(6):
        seen, progress = job.batch(days)
        assert seen == {"s3 put data": partitions} | STEADY
        assert progress["calve"]["requests"] == {"put": partitions + 2, "catalog-commit": 1}
        commit = next(r for r in net.requests if r.kind == "rest commit")
        assert all(r.answered < commit.begun for r in net.requests if r is not commit), "all is stored before"
    # The one of the job itself, and one for each thread that sends.
    assert job.connections()["rest"] == 1 and job.connections()["s3"] <= 1 + S3_THREADS, "connections are kept"
    assert f"requests: {partitions + 2} put, 1 catalog-commit" in job.running.log()
    assert job.running.stop() == 0
    assert job.ids() == list(range(job.sent))
    check_table(job.lake, "db.t")


def test_data_files_go_side_by_side(stream, net):
    """Puts that take a while each: together they take no longer than one."""
    job = stream("day")
    days = [f"2026-04-{1 + n:02}" for n in range(4)]
    job.batch(days)
    held = 0.3

    class Slow:
        def ask(self, request, head, body):
            time.sleep(held if request.kind == "s3 put data" else 0)
            return None, head

        def answer(self, request, status, headers, text):
            return status, headers, text

    net.watchers["s3"] = Slow()
    job.batch(days)
    puts = [request for request in net.requests if request.kind == "s3 put data"]
    assert len(puts) == 4
    assert max(r.begun + r.seconds for r in puts) - min(r.begun for r in puts) < 3 * held


def test_a_report_of_the_commit_is_beside_it(lake, stream, net):
    """What the specification calls metrics is on by default; nobody waits for it."""
    lake.calve_properties = {}
    job = stream()
    seen, progress = job.batch()
    job.running.wait_for(lambda: "rest metrics" in net.sums(), 10, "the report")
    assert net.sums() == {"s3 put data": 1, "rest metrics": 1} | STEADY
    assert job.ids() == [0, 1]


def test_another_writer_costs_one_attempt(stream, net):
    """Whoever commits in between is noticed by the refusal: the table is read, list and commit are made again."""
    job = stream()
    rows = pa.table({"id": pa.array([100], pa.int64()), "day": pa.array([None], pa.date32()), "s": ["theirs"]})
    open_table(job.lake, "db.t").append(rows)
    seen, progress = job.batch()
    read = seen.pop("s3 get manifest list", 0)
    seen.pop("s3 delete manifest list", 0)
    assert seen == {"s3 put data": 1, "s3 put manifest": 1, "s3 put manifest list": 2, "rest commit": 2,
                    "rest load table": 1}  # fmt: skip
    assert read == 1
    assert progress["calve"]["commitAttempts"] == 2
    assert job.batch()[0] == {"s3 put data": 1} | STEADY
    assert job.ids() == [0, 1, 2, 100]
    check_table(job.lake, "db.t")


def test_a_new_column_is_in_the_batch_that_commits_after_it(stream, net):
    """The commit asserts the schema that its files were written for; refused, the batch is read and written again."""
    job = stream()
    with open_table(job.lake, "db.t").update_schema() as update:
        update.add_column("extra", StringType())
    seen, progress = job.batch(extra="new")
    assert seen["s3 put data"] == 2 and seen["rest load table"] == 1 and seen["rest commit"] == 2
    assert progress["numInputRows"] == 1 and progress["sink"]["numOutputRows"] == 1
    assert sum(n for kind, n in seen.items() if "delete" in kind) >= 1, "the files of before are removed"
    assert {row["id"]: row["extra"] for row in read_pyiceberg(job.lake, "db.t").to_pylist()} == {0: None, 1: "new"}
    assert job.batch(extra="newer")[0] == {"s3 put data": 1} | STEADY
    check_table(job.lake, "db.t")


def test_a_new_partition_spec_is_kept(stream, net):
    job = stream()
    with open_table(job.lake, "db.t").update_spec() as update:
        update.add_identity("day")
    job.batch(["2026-05-01", "2026-05-02"])
    assert job.ids() == [0, 1, 2]
    files = open_table(job.lake, "db.t").inspect.files().to_pylist()
    assert sorted(file["spec_id"] for file in files) == [0, 1, 1]
    check_table(job.lake, "db.t")


def test_a_property_counts_from_the_second_batch_on(stream, net):
    """Nothing asserts properties: the answer to the next commit brings them."""
    job = stream()
    with open_table(job.lake, "db.t").transaction() as change:
        change.set_properties({"write.parquet.compression-codec": "uncompressed"})
    assert job.batch()[0] == {"s3 put data": 1} | STEADY
    assert job.batch()[0] == {"s3 put data": 1} | STEADY
    codecs = [pq.ParquetFile(local(file["file_path"])).metadata.row_group(0).column(0).compression
              for file in open_table(job.lake, "db.t").inspect.files().to_pylist()]  # fmt: skip
    assert sorted(codecs) == ["UNCOMPRESSED", "ZSTD", "ZSTD"]


def test_a_rolled_back_table_stops_the_job(stream, net):
    job = stream()
    first = open_table(job.lake, "db.t").current_snapshot().snapshot_id
    job.batch()
    run_calve("maintain", "rollback-to-snapshot", f"{job.lake.name}.db.t", "--snapshot-id", first, "--config",
              job.lake.config_file()).check()  # fmt: skip
    produce(job.broker.bootstrap, job.topic, [json.dumps({"id": 9})])
    assert job.running.wait(30) == 3
    assert "was the table rolled back" in job.running.log()
    assert job.ids() == [0]


def test_a_table_that_is_made_anew_stops_the_job(stream, net):
    job = stream()
    job.lake.pyiceberg().drop_table("db.t")
    job.lake.create_table("db.t", COLUMNS)
    produce(job.broker.bootstrap, job.topic, [json.dumps({"id": 9})])
    assert job.running.wait(30) == 3
    assert "dropped and made anew" in job.running.log()
    assert job.ids() == []
