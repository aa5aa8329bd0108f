# SPDX-License-Identifier: Apache-2.0
"""Jobs with state that die at every step of a micro-batch, fail there, or are killed at random: after a restart the table
is what a batch query over the whole topic gives, and the state has one version with its files and a few before it."""

import json
import os
import random
import time

import pytest
from checks import check_table, epochs, read_everywhere
from job import Job
from kafka_client import produce
from readers import duckdb_connection, rows
from test_crash import AFTER_COMMIT, POINTS, Load

STATE_POINTS = ["state-file", "state-manifest", "state-written"]

STEP = 100  # records of a micro-batch
BASE = 1_775_000_000  # 2026-03-31, in seconds: a multiple of 100

SCHEMA = "id bigint, k string, amount decimal(12,2), ts timestamp"

# How many state files a version may have, and how many versions stay (those before the last that are kept for steps back).
FILES_MAX, VERSIONS_MAX = 10, 5


def value(number):
    """Four records have one timestamp second; each key comes three times within some seconds."""
    seconds = BASE + number // 4
    ts = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    amount = f"{number * 37 % 1000}.{number % 100:02d}"
    return {"id": number, "k": f"k{number // 3}", "amount": amount, "ts": f"{ts}Z"}


class Kind:
    """A job with state, and the same as a batch query of DuckDB."""

    def __init__(self, name, columns, query, batch_query, mode="complete", delay=None, distinct=None):
        self.name, self.columns, self.query, self.batch_query = name, columns, query, batch_query
        self.mode, self.delay, self.distinct = mode, delay, distinct

    def make(self, lake, broker, topic, **more):
        lake.create_table("db.t", self.columns)
        top = {"sql": self.query}
        if self.delay:
            top["watermark"] = {"column": "value.ts", "delay": f"{self.delay} seconds"}
        if self.distinct:
            top["distinct"] = self.distinct
        return Job(lake, broker, "db.t", topic, source={"maxOffsetsPerTrigger": STEP},
                   value={"format": "json", "schema": SCHEMA}, sink={"outputMode": self.mode}, **top, **more)  # fmt: skip

    def expected(self, count):
        con = duckdb_connection()
        con.execute("CREATE TABLE stream (id BIGINT, k VARCHAR, amount DECIMAL(12,2), ts TIMESTAMP)")
        records = ", ".join("({id}, '{k}', {amount}, '{ts}')".format(**value(n)) for n in range(count))
        con.execute("INSERT INTO stream VALUES " + records.replace("Z'", "'"))
        closed = f"(SELECT max(ts) - INTERVAL {self.delay or 0} SECOND FROM stream)"
        return rows(con.execute(self.batch_query.format(closed=closed)).fetchall())


KINDS = [
    Kind("complete", "k string, n bigint, total decimal(22,2), last bigint",
         """SELECT 'g' || CAST(value.id % 31 AS STRING) AS k, count(*) AS n, sum(value.amount) AS total,
                   max(value.id) AS last FROM stream GROUP BY value.id % 31""",
         "SELECT 'g' || (id % 31), count(*), sum(amount), max(id) FROM stream GROUP BY id % 31"),
    Kind("windows", "end_ts timestamp, parity bigint, n bigint, total decimal(22,2)",
         """SELECT window.end AS end_ts, value.id % 2 AS parity, count(*) AS n, sum(value.amount) AS total
            FROM stream GROUP BY window(value.ts, '10 seconds'), value.id % 2""",
         """SELECT w, p, n, total FROM (
                SELECT time_bucket(INTERVAL 10 SECOND, ts) + INTERVAL 10 SECOND AS w, id % 2 AS p, count(*) AS n,
                       sum(amount) AS total FROM stream GROUP BY ALL)
            WHERE w <= {closed}""", mode="append", delay=15),
    Kind("distinct", "id bigint, k string",
         "SELECT value.id AS id, value.k AS k FROM stream", "SELECT min(id), k FROM stream GROUP BY k",
         mode="append", delay=20, distinct="k"),
]  # fmt: skip


# Every point with one of the kinds, in the campaign with all of them.
CASES = [
    (point, kind)
    for n, point in enumerate(POINTS)
    for m, kind in enumerate(KINDS)
    if m == n % len(KINDS) or os.environ.get("CALVE_CAMPAIGN") == "1"
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


def check_state(job):
    """The versions that are left name files that are there, and no other files are."""
    folder = job.checkpoint / "state"
    versions = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    assert max(v["batch"] for v in versions) == job.log_ids("commits")[-1]
    assert len(versions) <= VERSIONS_MAX and all(len(v["files"]) <= FILES_MAX for v in versions)
    named = {file["name"]: file["bytes"] for version in versions for file in version["files"]}
    assert {path.name: path.stat().st_size for path in folder.glob("*.parquet")} == named
    assert all(path.suffix in (".json", ".parquet") for path in folder.iterdir())


def check(lake, job, kind, count):
    assert read_everywhere(lake, "db.t") == kind.expected(count)
    check_table(lake, "db.t")
    check_state(job)
    assert len(epochs(lake, "db.t")) == len(set(epochs(lake, "db.t")))


def run_with_fault(lake, broker, topic, kind, point, how):
    """Passes the point twice, the second time with the fault; then it goes on."""
    produce(broker.bootstrap, topic, [value(n) for n in range(400)])
    job = kind.make(lake, broker, topic)
    done = job.run(fault=f"{point}:2" + ("=fail" if how == "fail" else ""))
    if how == "kill":
        assert done.status == -9, f"{point} was never passed: {done}"
    else:
        assert done.status in ((0, 3) if point in AFTER_COMMIT else (3,)), done
        assert point in done.text, done
    job.run().check()
    produce(broker.bootstrap, topic, [value(n) for n in range(400, 550)])
    job.run().check()
    check(lake, job, kind, 550)


@pytest.mark.parametrize("point", STATE_POINTS)
def test_fault_in_the_state(lake, broker, topic, kind, point):
    run_with_fault(lake, broker, topic, kind, point, "kill")


@pytest.mark.parametrize(("point", "kind"), CASES, ids=[f"{point}-{kind.name}" for point, kind in CASES])
def test_fault_point(lake, broker, topic, point, kind):
    run_with_fault(lake, broker, topic, kind, point, "kill")


@pytest.mark.parametrize("point", [*STATE_POINTS, "file-closed", "commit-sent"])
def test_step_that_fails(lake, broker, topic, point):
    run_with_fault(lake, broker, topic, KINDS[0], point, "fail")


def test_fault_again_and_again(lake, broker, topic, kind):
    """The same batch dies at one step after the other."""
    produce(broker.bootstrap, topic, [value(n) for n in range(400)])
    job = kind.make(lake, broker, topic)
    assert job.run(fault="state-manifest:2").status == -9
    for point in ("state-file", "state-manifest", "state-written", "commit-sent", "commit-done", "commits-written"):
        job.run(fault=point)
    job.run().check()
    check(lake, job, kind, 400)


def test_random_kills_during_a_load(lake, broker, topic, kind, campaign):
    """50 kills at full length, 6 shortened; times between start and kill are drawn from a fixed seed."""
    draw = random.Random(kind.name)
    job = kind.make(lake, broker, topic)
    job.config["source"]["maxOffsetsPerTrigger"] = 2000
    job.config["sink"]["trigger"] = "50 milliseconds"
    job.write()
    load = Load(broker, topic, value)
    load.start()
    for _ in range(50 if campaign else 6):
        with job.start() as running:
            time.sleep(draw.uniform(0.1, 1.2))
            running.alive()
    load.finish()
    job.run(timeout=120).check()
    # What an attempt left behind goes with the batch after the one that it died in.
    produce(broker.bootstrap, topic, [value(load.count + n) for n in range(50)])
    job.run().check()
    check(lake, job, kind, load.count + 50)
