# SPDX-License-Identifier: Apache-2.0
"""The same queries over the same batches through Spark Structured Streaming and through calve: after every batch both
tables have the same rows, by the same operation.

Both read the topic in batches of one step (maxOffsetsPerTrigger), in two runs: the second begins with the checkpoint, the
watermark and the state of the first. Batches without data, which only close windows, are batches on both sides."""

import json
import math

import pytest
import streams
from checks import check_table
from job import Job, Lake, local
from kafka_client import produce
from readers import comparable, duckdb_connection, open_table, read_pyiceberg
from streams import Case

pytestmark = pytest.mark.alone

ROWS = [
    Case("filter",
         "SELECT value.id AS id, value.who AS who FROM stream WHERE value.qty > 3 AND value.price < 90.5"),
    Case("casts_of_text",
         """SELECT value.id AS id, CAST(value.number AS INT) AS n, CAST(value.number AS DECIMAL(8,3)) AS d,
                   CAST(value.number AS DOUBLE) AS f, TRY_CAST(value.text AS INT) AS t,
                   TRY_CAST(value.text AS DATE) AS day
            FROM stream"""),
    Case("casts_between",
         """SELECT value.id AS id, CAST(value.price AS INT) AS a, CAST(value.price AS DOUBLE) AS b,
                   CAST(value.qty AS STRING) AS c, CAST(value.ts AS DATE) AS d, CAST(value.day AS STRING) AS e,
                   CAST(value.price AS DECIMAL(6,1)) AS f, CAST(value.rate AS BIGINT) AS g,
                   CAST(value.ok AS STRING) AS h
            FROM stream"""),
    Case("nested",
         """SELECT value.id AS id, value.place.city AS city, value.place.geo.zip + 1 AS zip,
                   value.place.geo.lat / 2 AS lat, value.place.geo AS geo
            FROM stream WHERE value.place.city IS NOT NULL"""),
    Case("arrays",
         """SELECT value.id AS id, size(value.tags) AS n, array_contains(value.tags, 'a') AS has,
                   array_join(value.tags, '-') AS joined, sort_array(value.tags) AS sorted,
                   array_max(value.tags) AS one
            FROM stream WHERE value.tags IS NOT NULL"""),
    Case("maps",
         """SELECT value.id AS id, element_at(value.attrs, 'a') AS a, size(value.attrs) AS n,
                   sort_array(map_keys(value.attrs)) AS keys, value.attrs AS attrs
            FROM stream WHERE value.attrs IS NOT NULL"""),
    Case("dates",
         """SELECT value.id AS id, date_add(value.day, 3) AS a, datediff(value.day, DATE '2026-01-01') AS b,
                   year(value.day) AS c, month(value.ts) AS d, date_trunc('hour', value.ts) AS e,
                   date_trunc('MONTH', value.ts) AS f, last_day(value.day) AS g, hour(value.ts) AS h,
                   date_sub(value.day, 1) AS i
            FROM stream"""),
    Case("instants",
         """SELECT value.id AS id, value.ts + INTERVAL '90' MINUTE AS a, unix_seconds(value.ts) AS b,
                   value.ts >= TIMESTAMP '2026-03-31 12:10:00' AS c, CAST(value.day AS TIMESTAMP) AS d,
                   minute(value.ts) AS e
            FROM stream"""),
    Case("decimals",
         """SELECT value.id AS id, value.price * value.qty AS a, value.price + 1.005 AS b, value.price / 3 AS c,
                   value.price * value.price AS d, -value.price AS e, round(value.price, 1) AS f
            FROM stream"""),
    Case("conditions",
         """SELECT value.id AS id,
                   CASE WHEN value.qty > 8 THEN 'many' WHEN value.qty > 2 THEN 'some' ELSE 'few' END AS a,
                   coalesce(value.qty, -1) AS b, nullif(value.qty, 3) AS c, greatest(value.qty, 4) AS d,
                   value.qty BETWEEN 2 AND 5 OR value.who IN ('Bob', 'dora') AS e,
                   CASE value.who WHEN 'Bob' THEN 'b' ELSE value.who END AS f
            FROM stream WHERE NOT (value.ok AND value.qty = 1) AND value.who IS DISTINCT FROM 'Alice'"""),
    Case("strings",
         """SELECT value.id AS id, upper(value.who) AS a, lower(value.who) AS b, length(value.text) AS c,
                   trim(value.text) AS d, substring(value.text, 2, 3) AS e, concat(value.who, '/', value.text) AS f,
                   replace(value.text, '-', '+') AS g, value.text LIKE '%2%' AS h, lpad(value.text, 4, '*') AS i
            FROM stream"""),
    Case("records",
         """SELECT CAST(key AS STRING) AS k, topic AS t, partition AS p, offset AS o, timestamp AS at,
                   timestampType AS kind
            FROM stream WHERE offset >= 5""",
         spark="SELECT CAST(key AS STRING) AS k, topic AS t, partition AS p, offset AS o, timestamp AS at, "
               "timestampType AS kind FROM stream WHERE offset >= 5"),
    Case("derived",
         """WITH priced AS (SELECT value.id AS id, value.price AS price, value.qty AS qty FROM stream
                            WHERE value.price IS NOT NULL)
            SELECT p.id, p.price + 100 AS gross FROM (SELECT * FROM priced WHERE qty > 0) p WHERE p.price > 20"""),
    Case("join",
         """SELECT s.value.id AS id, s.value.who AS who, d.country FROM stream s
            JOIN people d ON s.value.who = d.name WHERE s.value.qty > 0""", tables=True),
    Case("left_join",
         """SELECT s.value.id AS id, s.value.who AS who, d.country, d.factor FROM stream s
            LEFT JOIN people d ON s.value.who = d.name AND s.value.qty > 2""", tables=True),
]  # fmt: skip

WINDOWS = [
    Case("tumbling",
         """SELECT window.start AS w_start, window.end AS w_end, count(*) AS n, sum(value.price) AS total
            FROM stream GROUP BY window(value.ts, '10 minutes')""", delay="10 minutes", window=10),
    Case("tumbling_by_key",
         """SELECT window.start AS w_start, value.who AS who, count(value.qty) AS n, max(value.qty) AS top
            FROM stream GROUP BY window(value.ts, '5 minutes'), value.who""", delay="3 minutes", window=5,
         by_who=True),
    Case("sliding",
         """SELECT window.start AS w_start, window.end AS w_end, count(*) AS n, sum(value.rate) AS rate
            FROM stream GROUP BY window(value.ts, '10 minutes', '5 minutes')""", delay="10 minutes"),
    Case("window_where",
         """SELECT window.start AS w_start, window.end AS w_end, count(*) AS n
            FROM stream WHERE value.qty > 7 GROUP BY window(value.ts, '5 minutes')""", delay="3 minutes"),
    Case("window_where_time",
         """SELECT window.start AS w_start, count(*) AS n FROM stream
            WHERE value.qty > 7 AND value.ts > TIMESTAMP '2026-03-31 12:05:00' AND value.who IS NOT NULL
            GROUP BY window(value.ts, '5 minutes')""", delay="3 minutes"),
    Case("window_join",
         """SELECT window.start AS w_start, d.country, count(*) AS n FROM stream s
            JOIN people d ON s.value.who = d.name WHERE s.value.qty > 5
            GROUP BY window(s.value.ts, '5 minutes'), d.country""", delay="3 minutes", tables=True),
    Case("window_complete",
         """SELECT window.start AS w_start, value.who AS who, count(*) AS n
            FROM stream GROUP BY window(value.ts, '10 minutes'), value.who""", mode="complete"),
    Case("distinct", "SELECT value.who AS who, value.qty AS qty FROM stream",
         spark="SELECT value.who AS who, value.qty AS qty, event_ts FROM stream", delay="10 minutes",
         distinct="who,qty"),
]  # fmt: skip

COMPLETE = [
    Case("having",
         """SELECT value.who AS who, count(*) AS n, sum(value.price) AS total FROM stream
            GROUP BY value.who HAVING count(*) > 20""", mode="complete"),
    Case("top",
         """SELECT value.who AS who, count(*) AS n, sum(value.price) AS total FROM stream WHERE value.who IS NOT NULL
            GROUP BY value.who ORDER BY total DESC, who LIMIT 3""", mode="complete"),
    Case("global",
         """SELECT count(*) AS n, count(value.qty) AS q, sum(value.qty) AS s, sum(value.rate) AS d, avg(value.qty) AS a,
                   avg(value.price) AS p, min(value.text) AS lo, max(value.day) AS hi FROM stream""", mode="complete"),
    Case("aggregates",
         """SELECT value.who AS who, avg(value.rate) AS a, min(value.ts) AS lo, max(value.rate) AS hi,
                   approx_count_distinct(value.id) AS u, approx_count_distinct(value.text) AS t,
                   bool_and(value.ok) AS e, bool_or(value.ok) AS f
            FROM stream GROUP BY value.who""", mode="complete"),
    Case("count_filter",
         """SELECT CAST(value.ts AS DATE) AS day, count(*) AS n, count(*) FILTER (WHERE value.qty > 5) AS many,
                   sum(value.qty) FILTER (WHERE value.ok) AS total
            FROM stream GROUP BY CAST(value.ts AS DATE)""", mode="complete"),
    Case("expressions",
         """SELECT value.qty > 4 AS big, sum(value.qty) / count(*) AS ratio, count(*) + 1 AS n
            FROM stream WHERE value.qty IS NOT NULL GROUP BY value.qty > 4""", mode="complete"),
    Case("nothing_passes",
         "SELECT value.who AS who, count(*) AS n FROM stream GROUP BY value.who HAVING count(*) > 100000",
         mode="complete"),
    Case("join_grouped",
         """SELECT d.country, count(*) AS n, sum(s.value.price * d.factor) AS weighted FROM stream s
            LEFT JOIN people d ON s.value.who = d.name GROUP BY d.country""", mode="complete", tables=True),
]  # fmt: skip

CASES = ROWS + WINDOWS + COMPLETE
PEOPLE = "('Alice', 'NO', 1.25), ('Bob', 'DE', 0.50), ('Bob', 'AT', 2.00), ('Éva', 'HU', NULL), ('Zoe', 'FR', 3.00)"
# What Spark alone writes to a summary, and calve alone.
OWN = ("spark.app.id", "app-id", "app-name", "engine-name", "engine-version", "iceberg-version", "calve.")




class Lab:
    """Both sides of all cases after both runs: tables <case>_spark and <case>_calve in one lake."""

    def __init__(self, lake, broker, topic, spark, cases):
        self.lake, self.broker, self.topic, self.spark, self.cases = lake, broker, topic, spark, cases
        self.failures = {}  # of Spark, by case
        self.progress = {case.name: [] for case in cases}  # Spark's, of both runs
        self.jobs, self.runs = {}, {case.name: [] for case in cases}
        self.connection = duckdb_connection(lake)
        self.schema_file = lake.folder / "bid.avsc"
        self.schema_file.write_text(json.dumps(streams.SCHEMA))
        spark.add_catalog(lake)
        lake.create_table("db.people", "name string, country string, factor decimal(4,2)")
        spark.sql(f"INSERT INTO {lake.name}.db.people VALUES {PEOPLE}")
        self.run_spark(create=True)

    def run_spark(self, create=False):
        cases = [
            {"name": c.name, "query": c.spark_query(), "mode": c.mode, "delay": c.delay, "distinct": c.distinct,
             "checkpoint": f"file://{self.lake.folder}/spark-{c.name}",
             "tables": [f"{self.lake.name}.db.{c.name}_{side}" for side in ("spark", "calve")],
             "joined": f"{self.lake.name}.db.people" if c.tables else None}
            for c in self.cases
        ]  # fmt: skip
        variables = {"cases": cases, "bootstrap": self.broker.bootstrap, "topic": self.topic,
                     "limit": streams.STEP_RECORDS, "schema": json.dumps(streams.SCHEMA)}  # fmt: skip
        found = self.spark.run(streams.SPARK_TABLES if create else streams.SPARK_QUERIES, 400, **variables)
        for name, (failure, progress) in found.items():
            if failure:
                self.failures.setdefault(name, failure)
            self.progress[name] += progress

    def job(self, case):
        watermark = {"watermark": {"column": "value.ts", "delay": case.delay}} if case.delay else {}
        distinct = {"distinct": case.distinct} if case.distinct else {}
        tables = {"tables": {"people": {"table": f"{self.lake.name}.db.people"}}} if case.tables else {}
        return Job(
            self.lake, self.broker, f"db.{case.name}_calve", self.topic, name=f"calve-{case.name}",
            value={"format": "avro", "schema.file": str(self.schema_file)}, sql=case.sql,
            source={"maxOffsetsPerTrigger": streams.STEP_RECORDS}, sink={"outputMode": case.mode},
            **watermark, **distinct, **tables,
        )  # fmt: skip

    def run_calve(self):
        for case in self.cases:
            job = self.jobs.setdefault(case.name, self.job(case))
            self.runs[case.name].append(job.run())

    def step(self, steps):
        values = [bid for number in steps for bid in streams.bids(number)]
        produce(self.broker.bootstrap, self.topic, streams.records(values))

    def snapshots(self, table):
        """Epoch → snapshot."""
        found = self.lake.metadata(table).get("snapshots", [])
        return {int(s["summary"]["spark.sql.streaming.epochId"]): s for s in found}

    def rows(self, table, snapshot):
        location = local(open_table(self.lake, table).metadata_location)
        query = f"SELECT * FROM iceberg_scan('{location}', snapshot_from_id => {snapshot['snapshot-id']})"
        return comparable(self.connection.execute(query).fetch_arrow_table())


@pytest.fixture(scope="module")
def lab(request, tmp_path_factory, broker, topics, spark, duckdb):
    """Only the cases of the tests that were asked for."""
    wanted = {item.callspec.params["case"].name for item in request.session.items if item.path == request.path}
    lake = Lake(tmp_path_factory.mktemp("sql-stream") / "lake", "sql")
    topic = topics.create("sql-stream", streams.PARTITIONS, retention_ms=-1)  # its timestamps are old
    made = Lab(lake, broker, topic, spark, [case for case in CASES if case.name in wanted])
    for steps in (range(4), (), range(4, streams.STEPS)):
        made.step(steps)
        made.run_spark()
        made.run_calve()
    yield made
    made.connection.close()
    lake.close()


def same(left, right):
    """Equal rows; sums of doubles may differ by the order of their terms."""
    return len(left) == len(right) and all(same_row(a, b) for a, b in zip(left, right))


def same_row(left, right):
    return all(a == b or close(a, b) for a, b in zip(left, right, strict=True))


def close(left, right):
    try:
        return isinstance(left, str) and math.isclose(float(left), float(right), rel_tol=1e-12)
    except (TypeError, ValueError):
        return False


def keys(summary):
    return {key for key in summary if not key.startswith(OWN)}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_as_spark(lab, case):
    assert not lab.failures.get(case.name), lab.failures[case.name]
    for run in lab.runs[case.name]:
        run.check()
    theirs, ours = lab.snapshots(f"db.{case.name}_spark"), lab.snapshots(f"db.{case.name}_calve")
    assert len(theirs) >= streams.STEPS
    check_batches(lab, case)
    before = None
    for epoch, snapshot in sorted(theirs.items()):
        expected = lab.rows(f"db.{case.name}_spark", snapshot)
        if epoch in ours:
            found = lab.rows(f"db.{case.name}_calve", ours[epoch])
            check_summary(case, snapshot["summary"], ours[epoch]["summary"])
        else:  # a batch without rows makes no snapshot in append mode
            assert case.mode == "append" and "added-records" not in snapshot["summary"], (epoch, snapshot)
            found = before or []
        assert same(found, expected), (epoch, difference(found, expected))
        before = found
    assert set(ours) <= set(theirs)
    check_table(lab.lake, f"db.{case.name}_calve")
    assert same(comparable(read_pyiceberg(lab.lake, f"db.{case.name}_calve")), before)


def difference(found, expected):
    """Rows of one side only, for the message."""
    return {"calve": [r for r in found if r not in expected][:5], "spark": [r for r in expected if r not in found][:5]}


def check_summary(case, theirs, ours):
    assert ours["operation"] == theirs["operation"]
    if case.mode == "complete":
        assert keys(ours) == keys(theirs)
    for key in ("added-records", "deleted-records", "total-records"):
        assert ours.get(key) == theirs.get(key), key


def check_batches(lab, case):
    """The same batches with as many records, and the same watermarks."""
    theirs = [p for p in lab.progress[case.name] if "addBatch" in p["durationMs"]]
    ours = lab.jobs[case.name].batches()
    assert [(p["batchId"], p["numInputRows"]) for p in ours] == [(p["batchId"], p["numInputRows"]) for p in theirs]
    job, folder = lab.jobs[case.name], lab.lake.folder / f"spark-{case.name}"
    for batch in job.log_ids("offsets"):
        logged = [json.loads((place / "offsets" / str(batch)).read_text().split("\n")[1])["batchWatermarkMs"]
                  for place in (job.checkpoint, folder)]  # fmt: skip
        assert logged[0] == logged[1], f"watermark of batch {batch}"
    if case.window or case.distinct:
        check_late_rows(case, job, ours)


def check_late_rows(case, job, batches):
    """By the watermark of the batch before. Both sides count after they have grouped the rows that come together: the
    number lies between that of the groups and that of the records."""
    total = 0
    for step, batch in enumerate(p for p in batches if p["numInputRows"] > 0):
        number = batch["batchId"] - 1
        line = (job.checkpoint / "offsets" / str(number)).read_text().split("\n")[1] if number >= 0 else "{}"
        late, groups = streams.late_rows(case, step, json.loads(line).get("batchWatermarkMs", 0))
        found = batch["stateOperators"][0]["numRowsDroppedByWatermark"]
        assert (late if case.distinct else groups) <= found <= late, (step, groups, found, late)
        total += found
    assert total > 0
