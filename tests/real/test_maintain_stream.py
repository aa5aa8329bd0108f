# SPDX-License-Identifier: Apache-2.0
"""A stream and its maintenance in one process, beside other programs on the same table: nothing is lost, nothing is
doubled, no commit of the stream is late."""

import datetime
import json
import threading
import time

import pyarrow as pa
import pytest
from checks import check_table, position, read_everywhere, snapshots, summaries
from job import Job, pause, run_calve
from kafka_client import produce
from pyiceberg.exceptions import CommitFailedException
from readers import live_files, open_table

pytestmark = pytest.mark.alone
COLUMNS = "id bigint NOT NULL, day string NOT NULL, ts timestamp"
SELECT = "value.id, value.day, value.ts"
# Snapshots are kept for 2 seconds: expiry has something to do in every run.
PROPERTIES = {
    "write.target-file-size-bytes": 1 << 20,
    "history.expire.max-snapshot-age-ms": 2000,
    "history.expire.min-snapshots-to-keep": 3,
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": 5,
}
MAINTENANCE = {
    "close-after": "1 second",
    "rewrite-data-files": {"every": "1s", "when": "avoidable-files > 2", "min-input-files": 2},
    "rewrite-manifests": {"every": "3s", "when": "avoidable-manifests > 5"},
    "expire-snapshots": {"every": "2s"},
}
FOREIGN = 10**9  # ids of other programs


def record(number, day):
    return {"id": number, "day": f"d{day}", "ts": f"2026-{1 + day // 28:02d}-{1 + day % 28:02d} 12:00:00"}


def events(job, procedure=None, changed=True):
    found = [p for p in job.progress() if p.get("event") == "maintenance"]
    return [e for e in found if (procedure in (None, e["procedure"])) and (e["changed"] or not changed)]


def streamed(job):
    """Rows of all runs."""
    return sum(b["sink"]["numOutputRows"] for b in job.batches())


def ids(lake):
    return sorted(row[0] for row in read_everywhere(lake, "shop.orders", columns=("id",)))


def make_job(lake, broker, topic, trigger="250 milliseconds", **options):
    return Job(lake, broker, "shop.orders", topic, value="json", select=SELECT, sink={"trigger": trigger}, **options)


@pytest.fixture
def table(lake):
    lake.create_table("shop.orders", COLUMNS, "day(ts)", PROPERTIES)
    return f"{lake.name}.shop.orders"


@pytest.fixture
def spark_or_none(request):
    """One Spark session where there is one; the other programs are enough without."""
    try:
        return request.getfixturevalue("spark")
    except pytest.skip.Exception:
        return None


class Foreign(threading.Thread):
    """Another program: does its work again and again until it is stopped, and counts what it could commit. That it
    loses to others is the ordinary rule of optimistic concurrency, and so is that a snapshot it reads expires."""

    EXPECTED = ("conflict", "commitfailed", "validationexception", "filenotfound", "notfoundexception",
                "nosuchkeyexception", "concurrently modified")  # fmt: skip

    def __init__(self, work):
        super().__init__(daemon=True)
        self.work = work
        self.over = threading.Event()
        self.done, self.lost, self.error = [], 0, None

    def run(self):
        turn = 0
        while not self.over.is_set() and self.error is None:
            try:
                self.done.append(self.work(turn))
            except CommitFailedException:
                self.lost += 1
            except Exception as e:  # noqa: BLE001
                if any(word in f"{type(e).__name__} {e}".lower() for word in self.EXPECTED):
                    self.lost += 1
                else:
                    self.error = e
            turn += 1
            self.over.wait(0.5)

    def stop(self):
        self.over.set()
        self.join(120)
        assert self.error is None, self.error
        return self.done


def spark_work(spark, lake, table):
    """An append, a compaction, a MERGE that takes the appended row away and adds its own, an expiry; the first two here,
    since a session is slow to begin with. The result of a turn: the ids that it added and those it took away."""
    row = "'spark', timestamp'2025-06-01 00:00:00'"

    def work(turn):
        number = FOREIGN + turn
        if turn % 4 == 0:
            spark.sql(f"INSERT INTO {table} VALUES ({number}L, {row})")
            return {number}, set()
        if turn % 4 == 1:
            spark.sql(f"CALL {lake.name}.system.rewrite_data_files(table => 'shop.orders', "
                      "options => map('min-input-files', '2'))")  # fmt: skip
        if turn % 4 == 2:
            both = f"SELECT {number}L AS id UNION ALL SELECT {number - 2}L"
            spark.sql(f"MERGE INTO {table} t USING ({both}) s ON t.id = s.id "
                      f"WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id = {number}L THEN "
                      f"INSERT (id, day, ts) VALUES (s.id, {row})")  # fmt: skip
            return {number}, {number - 2}
        if turn % 4 == 3:
            spark.sql(f"CALL {lake.name}.system.expire_snapshots(table => 'shop.orders', retain_last => 5)")
        return set(), set()

    spark.add_catalog(lake)
    work(100)
    work(101)
    return work


def pyiceberg_work(lake, candidates):
    """Appends a row, or deletes one that the stream wrote, of a day that has closed."""

    def work(turn):
        table = open_table(lake, "shop.orders")
        if candidates:
            table.delete(f"id = {candidates[0]}")
            return set(), {candidates.pop(0)}
        number = 2 * FOREIGN + turn
        row = {"id": number, "day": "pyiceberg", "ts": datetime.datetime(2025, 7, 1)}
        table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))
        return {number}, set()

    return work


def send(broker, topic, sent, began):
    """Twenty records of the day that it is, a day being four seconds; how many there are then."""
    day = int(time.monotonic() - began) // 4
    produce(broker.bootstrap, topic, [record(n, day) for n in range(sent, sent + 20)])
    pause(0.25)
    return sent + 20


@pytest.mark.lakes("rest", campaign=["sql"])
@pytest.mark.timeout(900)
def test_stream_among_writers(lake, broker, topics, topic, table, spark_or_none, campaign, duckdb):
    """The stream commits once a second, its own maintenance and other programs all the while."""
    topics.add_partitions(topic, 2)
    age = 20000 if campaign else 5000  # others need a snapshot for as long as their work takes
    run_calve("table", "set", table, "--property", f"history.expire.max-snapshot-age-ms={age}", "--config",
              lake.config_file()).check()  # fmt: skip
    job = make_job(lake, broker, topic, "1 second", maintenance=MAINTENANCE)
    candidates, others = [], [None, None]
    others[0] = Foreign(pyiceberg_work(lake, candidates))
    added, gone = set(), set()
    if spark_or_none:
        others[1] = Foreign(spark_work(spark_or_none, lake, table))
        added.add(FOREIGN + 100)
    sent, began, seconds = 0, time.monotonic(), 300 if campaign else 30
    with job.start() as running:
        running.wait_for(lambda: "next batch" in running.log(), 20, "start")
        for other in filter(None, others):
            other.start()
        while time.monotonic() < began + seconds:
            sent = send(broker, topic, sent, began)
            if sent % 160 == 0 and sent > 320:
                candidates.append(sent - 300)
        for other in filter(None, others):
            for more, less in other.stop():
                added |= more
                gone |= less
        # Spark compacts all that it sees, maybe all that there is: alone, the job's own turn comes.
        while not (events(job, "rewrite-data-files") and events(job, "expire-snapshots")):
            running.alive()
            assert time.monotonic() < began + seconds + 60, running.log()
            sent = send(broker, topic, sent, began)
        running.wait_for(lambda: streamed(job) == sent, 60, "all rows")
        assert running.stop() == 0
        log = running.log()
    check_result(lake, job, sent, gone, added, log)
    assert gone & set(range(sent)) and any(n > 2 * FOREIGN for n in added), (added, gone)
    if others[1]:
        assert len(others[1].done) > 2, (others[1].done, others[1].lost)
        before = read_everywhere(lake, "shop.orders")
        run_calve("maintain", "rewrite-data-files", table, "--rewrite-all", "--config", lake.config_file()).check()
        assert read_everywhere(lake, "shop.orders", spark_or_none) == before


# What maintenance says that lost to another writer.
LOST = ("conflict", "validat", "vanish", "gone")


def check_result(lake, job, sent, gone, added, log):
    assert ids(lake) == sorted((set(range(sent)) | added) - gone)
    check_table(lake, "shop.orders")
    assert events(job, "rewrite-data-files") and events(job, "expire-snapshots"), log
    late = [b["durationMs"] for b in job.batches()[1:] if b["durationMs"]["triggerExecution"] > 3000]
    assert not late, (late, log[-3000:])
    failures = [e["error"] for e in events(job, changed=False) if e["error"]]
    assert not [e for e in failures if not any(word in e.lower() for word in LOST)], failures
    assert position(lake, "shop.orders", job.name)["offsets"] == job.batches()[-1]["sources"][0]["endOffset"]
    assert len(snapshots(lake, "shop.orders")) < len(job.batches())


@pytest.mark.lakes("sql", "rest")
@pytest.mark.timeout(300)
def test_two_jobs_one_table(lake, broker, topics, topic, table):
    """Both positions go forward through maintenance and expiry; without their checkpoints both go on where they were."""
    second = topics.create(f"{topic}-second")
    jobs = [make_job(lake, broker, topic, maintenance=MAINTENANCE), make_job(lake, broker, second)]
    produce(broker.bootstrap, second, [record(n, n % 100 // 10) for n in range(5000, 5060)])
    jobs[1].config["source"]["maxOffsetsPerTrigger"] = 10
    jobs[1].write()
    jobs[1].run().check()
    sent = 0
    with jobs[0].start() as running:
        while not (events(jobs[0], "rewrite-data-files") and len(events(jobs[0], "expire-snapshots")) >= 2):
            running.alive()
            assert sent < 4000, running.log()
            produce(broker.bootstrap, topic, [record(n, sent // 100) for n in range(sent, sent + 20)])
            sent += 20
            pause(0.3)
        running.wait_for(lambda: streamed(jobs[0]) == sent, 30, "all rows")
        assert running.stop() == 0
    expected = [*range(sent), *range(5000, 5060)]
    assert ids(lake) == expected
    assert len(snapshots(lake, "shop.orders")) < len(jobs[0].batches()) + 6
    newest = max(summaries(lake, "shop.orders"), key=lambda s: s["operation"] == "replace")
    assert newest["operation"] == "replace"
    assert {f"calve.position.{j.name}" for j in jobs} <= set(newest)
    for job in jobs:
        job.checkpoint.rename(job.folder / "lost")
        assert streamed(job) > 0
    produce(broker.bootstrap, topic, [record(9000, 0)])
    produce(broker.bootstrap, second, [record(9001, 0)])
    for job in jobs:
        run = job.run().check()
        assert sum(p["sink"]["numOutputRows"] for p in run.progress if "addBatch" in p["durationMs"]) == 1, run
    assert ids(lake) == [*expected, 9000, 9001]


def test_failed_maintenance_never_stops_the_stream(lake, broker, topic, table):
    job = make_job(lake, broker, topic, maintenance=MAINTENANCE)
    sent = 0
    with job.start(fault="rewrite-half:1=fail") as running:
        while not [e for e in events(job, "rewrite-data-files", changed=False) if e["error"]]:
            running.alive()
            assert sent < 2000, running.log()
            produce(broker.bootstrap, topic, [record(n, sent // 60) for n in range(sent, sent + 20)])
            sent += 20
            pause(0.3)
        before = len(job.batches())
        produce(broker.bootstrap, topic, [record(n, 99) for n in range(sent, sent + 20)])
        sent += 20
        running.wait_for(lambda: len(job.batches()) > before, 10, "a further batch")
        running.wait_for(lambda: streamed(job) == sent, 10, "all rows")
        assert "maintenance: rewrite-data-files failed, next try in 1 min" in running.log()
        assert running.stop() == 0
    assert ids(lake) == list(range(sent))


def test_killed_in_maintenance(lake, broker, topic, table):
    """The process dies in the middle of a rewrite that runs beside the stream; the next start has it right."""
    job = make_job(lake, broker, topic, maintenance=MAINTENANCE)
    sent = 0
    with job.start(fault="rewrite-half") as running:
        while running.process.poll() is None:
            assert sent < 2000, running.log()
            produce(broker.bootstrap, topic, [record(n, sent // 60) for n in range(sent, sent + 20)])
            sent += 20
            pause(0.3)
    job.run().check()
    assert ids(lake) == list(range(sent))
    check_table(lake, "shop.orders")


def test_what_is_written_is_left_alone(lake, broker, topic, table):
    """A day that gets records stays as it is; the day before is compacted meanwhile."""
    job = make_job(lake, broker, topic, maintenance=MAINTENANCE | {"close-after": "1 minute"},
                   source={"maxOffsetsPerTrigger": 20})  # fmt: skip
    sent = 80
    produce(broker.bootstrap, topic, [record(n, 0) for n in range(sent)])
    job.run().check()  # as if long ago: the process below has not seen this day being written
    with job.start() as running:
        while not events(job, "rewrite-data-files") or sent < 180:
            running.alive()
            assert sent < 1000, running.log()
            produce(broker.bootstrap, topic, [record(n, 1) for n in range(sent, sent + 20)])
            sent += 20
            pause(0.4)
        running.wait_for(lambda: streamed(job) == sent, 10, "all rows")
        assert running.stop() == 0
    days = [f.partition[0] for f in live_files(lake, "shop.orders")]
    assert days.count(min(days)) == 1 and days.count(max(days)) >= 2
    assert ids(lake) == list(range(sent))


def test_check_reads_the_section(lake, broker, topic, table):
    job = make_job(lake, broker, topic, maintenance={"rewrite-data-files": {"when": "avoidable-files > 20"},
                                                     "expire-snapshots": "1h"})  # fmt: skip
    parts = json.loads(run_calve("check", job.file, "--json").check().out)
    said = [p["message"] for p in parts if p["part"] == "maintenance"]
    assert said == ["rewrite-data-files when avoidable-files > 20", "expire-snapshots every 1 h"]
    job.config["maintenance"] = {"expire-snapshots": {"every": "1h", "retain-lost": 3}}
    job.write()
    run = run_calve("check", job.file)
    assert run.status == 1 and "retain-lost" in run.out and "retain_last" in run.out
    assert job.run().status == 2
