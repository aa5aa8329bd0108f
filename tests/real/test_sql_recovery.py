# SPDX-License-Identifier: Apache-2.0
"""The state of a query where table, log and state went apart: no record counts twice or never; and batches whose
records fail, or that have none."""

import json
import shutil

from job import Job
from kafka_client import Record, produce
from pyiceberg.types import StringType
from readers import open_table, read_pyiceberg

COUNTS = "SELECT value.c, count(*) AS n FROM stream GROUP BY value.c"


def aggregation(lake, broker, topic, sql=COUNTS, columns="c string, n bigint"):
    lake.create_table("db.t", columns)
    job = Job(lake, broker, "db.t", topic, value={"format": "json", "schema": "id int, c string"}, sql=sql)
    job.config["sink"]["outputMode"] = "complete"
    return job.write()


def put(broker, topic, count=1):
    produce(broker.bootstrap, topic, [json.dumps({"id": 1, "c": "a"}).encode()] * count)


def rows(lake):
    return read_pyiceberg(lake, "db.t").to_pylist()


def roll_back(lake):
    opened = open_table(lake, "db.t")
    with opened.manage_snapshots() as change:
        change.set_current_snapshot(snapshot_id=opened.metadata.snapshots[0].snapshot_id)


def test_from_the_checkpoint_with_a_state_ahead_of_it(lake, broker, topic):
    """The state of a batch that was killed before its commit is not the one to go on from."""
    job = aggregation(lake, broker, topic)
    for _ in range(2):
        put(broker, topic)
        job.run().check()
    put(broker, topic)
    assert job.run(fault="state-written").status != 0
    roll_back(lake)
    assert job.run().status == 3
    job.run("--available-now", "--resume-from=checkpoint").check()
    assert rows(lake) == [{"c": "a", "n": 3}]
    put(broker, topic)
    job.run().check()
    assert rows(lake) == [{"c": "a", "n": 4}]


def test_from_the_checkpoint_with_a_table_ahead_of_it(lake, broker, topic):
    job = aggregation(lake, broker, topic)
    put(broker, topic)
    job.run().check()
    shutil.copytree(job.checkpoint, job.folder / "copy")
    put(broker, topic)
    job.run().check()
    shutil.rmtree(job.checkpoint)
    shutil.move(job.folder / "copy", job.checkpoint)
    assert job.run().status == 3
    before = {p: p.read_bytes() for p in job.checkpoint.glob("[oc]*/*")}
    lost = job.run("--available-now", "--resume-from=table")
    assert lost.status == 3 and "state/1.json" in lost.text and "--resume-from=start" in lost.text, lost
    assert {p: p.read_bytes() for p in job.checkpoint.glob("[oc]*/*")} == before
    job.run("--available-now", "--resume-from=checkpoint").check()
    assert rows(lake) == [{"c": "a", "n": 2}]
    job.run().check()
    put(broker, topic)
    job.run().check()
    assert rows(lake) == [{"c": "a", "n": 3}]


def test_from_a_table_that_has_other_records_than_the_state(lake, broker, topic):
    """Two copies of a checkpoint made the same batch of different records: the state is of the one that lost."""
    job = aggregation(lake, broker, topic)
    put(broker, topic)
    job.run().check()
    put(broker, topic)
    shutil.copytree(job.checkpoint, job.folder / "copy")
    assert job.run(fault="state-written").status != 0
    shutil.move(job.checkpoint, job.folder / "lost")
    shutil.move(job.folder / "copy", job.checkpoint)
    put(broker, topic)
    job.run().check()
    assert rows(lake) == [{"c": "a", "n": 3}]
    shutil.move(job.checkpoint, job.folder / "won")
    shutil.move(job.folder / "lost", job.checkpoint)
    assert job.run().status == 3
    refused = job.run("--available-now", "--resume-from=table")
    assert refused.status == 3 and "other offsets" in refused.text and "--resume-from=start" in refused.text, refused
    job.run("--available-now", "--resume-from=start").check()
    assert rows(lake) == [{"c": "a", "n": 3}]


def test_one_group_before_the_first_record(lake, broker, topic):
    job = aggregation(
        lake, broker, topic, "SELECT count(*) AS n, sum(value.id) AS s FROM stream", "n bigint, s bigint"
    )
    job.run().check()
    assert rows(lake) == [{"n": 0, "s": None}]
    put(broker, topic, 2)
    job.run().check()
    assert rows(lake) == [{"n": 2, "s": 2}]


def test_permissive_drops_only_what_fails_without_its_value(lake, broker, topic):
    lake.create_table("db.t", "r double, k double, o bigint")
    value = {"format": "json", "mode": "PERMISSIVE", "schema": "id int"}
    select = "10 / value.id AS r, 10 / CAST(CAST(key AS STRING) AS INT) AS k, offset AS o"
    job = Job(lake, broker, "db.t", topic, value=value, select=select)
    pairs = [(1, b"1"), (0, b"1"), (1, b"0"), (0, b"0"), (2, b"2")]
    produce(broker.bootstrap, topic, [Record(json.dumps({"id": i}).encode(), key=key) for i, key in pairs])
    done = job.run().check()
    assert sorted(rows(lake), key=lambda row: row["o"]) == [
        {"r": 10.0, "k": 10.0, "o": 0},
        {"r": None, "k": 10.0, "o": 1},
        {"r": 5.0, "k": 5.0, "o": 4},
    ]
    assert "3 bad records" in done.text, done


def test_an_event_time_that_fails_where_the_query_leaves_the_record_out(lake, broker, topic):
    lake.create_table("db.t", "e timestamp, n bigint")
    value = {"format": "json", "mode": "DROPMALFORMED", "schema": "id int, ts string"}
    sql = """SELECT window.end AS e, count(*) AS n FROM stream WHERE value.ts NOT IN ('never', '')
        GROUP BY window(CAST(value.ts AS TIMESTAMP), '1 minute')"""
    job = Job(lake, broker, "db.t", topic, value=value, sql=sql)
    job.config["watermark"] = {"column": "CAST(value.ts AS TIMESTAMP)", "delay": "1 minute"}
    job.write()
    times = [(1, "2026-01-01T00:00:10Z"), (0, "never"), (1, "2026-01-01T00:10:00Z"), (0, "")]
    produce(broker.bootstrap, topic, [json.dumps({"id": i, "ts": ts}).encode() for i, ts in times])
    job.run().check()
    assert [row["n"] for row in rows(lake)] == [1]
    job.config["value"]["mode"] = "FAILFAST"
    produce(broker.bootstrap, topic, [json.dumps({"id": 0, "ts": "never"}).encode()])
    failed = job.write().run()
    assert failed.status != 0 and "@4" in failed.text, failed


def test_distinct_goes_on_in_a_table_with_one_more_column(lake, broker, topic):
    lake.create_table("db.t", "ts timestamp, c string, i int")
    job = Job(lake, broker, "db.t", topic, value={"format": "json", "schema": "ts timestamp, c string, i int"})
    job.config |= {"distinct": "c", "watermark": {"column": "value.ts", "delay": "10 minutes"}}
    job.write()

    def feed(*pairs):
        records = [{"ts": "2024-01-01T00:01:00Z", "c": c, "i": i} for c, i in pairs]
        produce(broker.bootstrap, topic, [json.dumps(r).encode() for r in records])
        job.run().check()

    feed(("a", 1), ("b", 2), ("a", 3))
    with open_table(lake, "db.t").update_schema() as update:
        update.add_column("extra", StringType())
    feed(("a", 4), ("c", 5))
    assert sorted(row["i"] for row in rows(lake)) == [1, 2, 5]
