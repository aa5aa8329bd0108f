# SPDX-License-Identifier: Apache-2.0
"""SQL that is wrong or refused, each with its place in the text; rows that fail; jobs without the library; what is frozen,
reloaded or pinned; state that was lost or damaged."""

import collections
import json
import shutil

import pytest
import streams
from checks import snapshots, summaries
from job import Job, Lake, run_calve
from kafka_client import produce
from readers import comparable, read_pyiceberg, rows

PEOPLE = "name,id\nBob,1\nAlice,2\n"


class Place:
    """A lake, the bids of two steps in a topic, and tables made as they are asked for."""

    def __init__(self, folder, broker, topics):
        self.lake = Lake(folder, "sql")
        self.broker = broker
        self.count = 0
        self.topic = topics.create("sql-modes", streams.PARTITIONS, retention_ms=-1)  # its timestamps are old
        self.bids = streams.bids(0) + streams.bids(1)
        produce(broker.bootstrap, self.topic, streams.records(self.bids))
        self.schema_file = self.lake.folder / "bid.avsc"
        self.schema_file.write_text(json.dumps(streams.SCHEMA))
        self.people = self.lake.folder / "people.csv"
        self.people.write_text(PEOPLE)

    def job(self, columns, value=None, sink=None, **top):
        self.count += 1
        table = f"db.t{self.count}"
        self.lake.create_table(table, columns)
        value = {"format": "avro", "schema.file": str(self.schema_file)} | (value or {})
        return Job(self.lake, self.broker, table, self.topic, value=value, sink=sink, **top)

    def rows(self, job):
        return comparable(read_pyiceberg(self.lake, job.table))

    def more(self, step):
        made = streams.bids(step)
        produce(self.broker.bootstrap, self.topic, streams.records(made))
        return made


@pytest.fixture(scope="module")
def place(tmp_path_factory, broker, topics):
    made = Place(tmp_path_factory.mktemp("sql-modes") / "lake", broker, topics)
    yield made
    made.lake.close()


COMPLETE = {"sink": {"outputMode": "complete"}}
MARK = {"watermark": {"column": "value.ts", "delay": "1 minute"}}
TWICE = "FROM stream s JOIN people p ON s.value.who = p.name JOIN people q ON s.value.who = q.name"

# Text of sql, or a job's sections; then what the message has.
BAD = {
    "ends_early": ("SELECT value.id AS a\nFROM stream WHERE", "line 2 column 18", "ends too early"),
    "no_select": ("DELETE FROM stream", "line 1 column 1", "SELECT"),
    "two_statements": ("SELECT value.id AS a FROM stream; SELECT 1", "line 1", "2 statements"),
    "empty": ("", "line 1 column 1", "SELECT"),
    "unknown_field": ("SELECT value.id AS a,\n       value.prise AS b FROM stream",
                      "line 2 column 8", "value.prise", "nearest: value.price"),
    "several": ("SELECT value.idd AS a,\n value.whoo AS b FROM stream",
                "line 1 column 8", "value.id", "line 2 column 2", "value.who"),
    "after_wide_letters": ("SELECT 'é💰' AS b,\n 'ß' || value.prise AS a FROM stream", "line 2 column 9", "value.price"),
    "in_the_condition": ({"select": "value.id AS a", "where": "value.id >"}, "where line 1 column 11", "ends too early"),
    "in_the_select": ({"select": "value.id AS a,\n upper(value.wo) AS b"}, "select line 2 column 8", "value.who"),
    "ambiguous": (f"SELECT s.value.id AS a, name AS b {TWICE}", "line 1 column 25", "ambiguous", "p.name", "q.name"),
    "operands": ("SELECT value.id AS a, value.who + value.tags AS b FROM stream", "line 1 column 33", "list<string>"),
    "not_a_condition": ("SELECT value.id AS a FROM stream WHERE value.id", "line 1 column 40", "condition", "long"),
    "type_of_column": ("SELECT value.who AS a FROM stream", "line 1 column 8", "column a", "CAST"),
    "nested_for_flat": ("SELECT value.tags AS a FROM stream", "line 1 column 8", "list<string>"),
    "no_such_column": ("SELECT value.id AS nosuch FROM stream", "line 1 column 8", "nosuch"),
    "column_twice": ("SELECT value.id AS a, value.id AS a FROM stream", "line 1 column 23", "more than once"),
    "wide_decimal": ("SELECT CAST(value.price * CAST(1 AS DECIMAL(39,0)) AS BIGINT) AS a FROM stream",
                     "line 1 column", "DECIMAL"),
    "wide_literal": ("SELECT 123456789012345678901234567890123456789 AS a FROM stream",
                     "line 1 column 8", "38 digits"),
    "rand": ("SELECT value.id AS a,\n  rand() AS b FROM stream", "line 2 column 3", "rand", "done again"),
    "uuid": ("SELECT value.id AS a, uuid() AS b FROM stream", "line 1 column 23", "uuid"),
    "getenv": ("SELECT getenv('HOME') AS b FROM stream", "line 1 column 8", "getenv"),
    "read_csv": ("SELECT 1 AS a FROM read_csv('/etc/passwd')", "line 1 column 20", "tables:"),
    "file_as_table": ("SELECT 1 AS a FROM 'x.parquet'", "line 1 column 20", "x.parquet"),
    "file_below": ("SELECT value.id AS a, (SELECT max(x) FROM 'y.csv') AS b FROM stream", "line 1 column 23"),
    "copy": ("COPY stream TO '/tmp/x'", "line 1 column 1", "SELECT"),
    "unknown_function": ("SELECT nosuch(value.id) AS a FROM stream", "line 1 column 8", "nosuch"),
    "unknown_table": ("SELECT 1 AS a FROM strem", "line 1 column 20", "strem", "stream"),
    "session_window": ({"sql": "SELECT count(*) AS a FROM stream GROUP BY session_window(value.ts, '5 minutes')"} | COMPLETE,
                       "line 1 column 43", "session_window"),
    "update": ({"sql": "SELECT count(*) AS a FROM stream", "sink": {"outputMode": "update"}}, "update", "Iceberg"),
    "complete_of_rows": ({"sql": "SELECT value.id AS a FROM stream"} | COMPLETE, "line 1 column 8", "aggregation"),
    "append_of_groups": ("SELECT count(*) AS a FROM stream GROUP BY window(value.ts, '5 minutes')", "watermark"),
    "append_by_another": ({"sql": "SELECT count(*) AS a FROM stream GROUP BY value.who"} | MARK, "watermark", "window()"),
    "distinct_for_ever": ({"sql": "SELECT value.id AS a FROM stream", "distinct": "a"}, "distinct", "watermark"),
    "distinct_of_what": ({"sql": "SELECT value.id AS a FROM stream", "distinct": "zz"} | MARK, "zz"),
    "count_distinct": ({"sql": "SELECT count(DISTINCT value.id) AS a FROM stream"} | COMPLETE,
                       "line 1 column 8", "approx_count_distinct"),
    "first": ({"sql": "SELECT first(value.id) AS a FROM stream"} | COMPLETE, "line 1 column 8", "first"),
    "not_grouped": ({"sql": "SELECT value.who AS b, value.id AS a FROM stream GROUP BY value.who"} | COMPLETE,
                    "line 1 column 24", "value.id", "GROUP BY"),
    "nested_aggregates": ({"sql": "SELECT sum(count(*)) AS a FROM stream"} | COMPLETE, "line 1 column 12", "aggregate"),
    "order_of_rows": ("SELECT value.id AS a FROM stream ORDER BY a", "ORDER BY", "complete"),
    "limit_of_rows": ("SELECT value.id AS a FROM stream LIMIT 3", "LIMIT", "complete"),
    "over": ("SELECT row_number() OVER () AS a FROM stream", "line 1 column 8", "OVER"),
    "except": ("SELECT value.id AS a FROM stream EXCEPT SELECT 1", "EXCEPT"),
    "two_streams": ("SELECT s.value.id AS a FROM stream s JOIN stream t ON s.value.id = t.value.id",
                    "line 1 column 43", "twice"),
    "months": ("SELECT value.id AS a FROM stream WHERE window(value.ts, '1 month').start IS NULL", "1 month"),
    "both": ({"sql": "SELECT value.id AS a FROM stream", "where": "value.id > 1"}, "where"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_text(place, name):
    given, *expected = BAD[name]
    sections = {"sql": given} if isinstance(given, str) else given
    tables = {"tables": {"people": {"path": str(place.people), "format": "csv", "header": True}}}
    job = place.job("a bigint, b string", **sections, **tables)
    for done in (job.run(), run_calve("check", job.file)):
        assert done.status != 0, done
        missing = [word for word in expected if word not in done.text]
        assert not missing, (missing, done)
    assert job.run().status == 2 and snapshots(place.lake, job.table) == []


# Rows that fail: FAILFAST names the record, PERMISSIVE makes NULLs, DROPMALFORMED drops and counts.
FAILING = {
    "cast": ("CAST(value.text AS INT)", lambda bid: int(bid["text"]) if bid["text"] is not None else None),
    "division": ("CAST(100 / value.qty AS INT)", lambda bid: None if bid["qty"] is None else int(100 / bid["qty"])),
    "overflow": ("CAST(value.qty * 2000000000 AS INT)",
                 lambda bid: None if bid["qty"] is None else fits(bid["qty"] * 2_000_000_000)),
}  # fmt: skip


def fits(number):
    if not -(2**31) <= number < 2**31:
        raise ValueError(number)
    return number


def outcomes(bids, value):
    """Id → value, and the ids that fail."""
    good, bad = {}, []
    for bid in bids:
        try:
            good[bid["id"]] = value(bid)
        except (ValueError, ZeroDivisionError):
            bad.append(bid["id"])
    assert good and bad
    return good, bad


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
def test_rows_that_fail(place, name, mode):
    expression, value = FAILING[name]
    job = place.job("id bigint, x int", value={"mode": mode}, sql=f"SELECT value.id AS id, {expression} AS x FROM stream")
    good, bad = outcomes(place.bids, value)
    done = job.run()
    if mode == "FAILFAST":
        first = {partition: min(n // streams.PARTITIONS for n in bad if n % streams.PARTITIONS == partition)
                 for partition in {n % streams.PARTITIONS for n in bad}}  # fmt: skip
        assert done.status == 3, done
        assert any(f"{place.topic}[{p}]@{o}" in done.text for p, o in first.items()), (first, done)
        assert snapshots(place.lake, job.table) == []
        return
    done.check()
    if mode == "DROPMALFORMED":
        assert place.rows(job) == rows(good.items())
    else:
        found = place.rows(job)
        assert len(found) == len(place.bids)
        assert [row for row in found if row[0] is not None] == rows(good.items())
        assert sum(row == (None, None) for row in found) == len(bad)
    assert str(len(bad)) in json.dumps(job.batches()[-1]), job.batches()[-1]


def test_check_prints_the_result(place):
    job = place.job("who string, n bigint, total decimal(20,2)", sink={"outputMode": "complete"},
                    sql="SELECT value.who AS who, count(*) AS n, sum(value.price) AS total FROM stream GROUP BY value.who")
    done = run_calve("check", job.file).check()
    for word in ("who", "string", "long", "decimal(20", "count", "sum", "Spark"):
        assert word in done.text, (word, done)


def test_no_library(place):
    """Only jobs that need it ask for it."""
    lacking = {"duckdb-library": "/nowhere/libduckdb.so"}
    job = place.job("a bigint, b string", select="value.id AS a, value.who AS b", **lacking)
    job.run().check()
    assert place.rows(job) == rows((bid["id"], bid["who"]) for bid in place.bids)
    for sections in ({"sql": "SELECT value.id AS a FROM stream"}, {"select": "value.id AS a", "where": "value.id > 1"}):
        done = place.job("a bigint", **sections, **lacking).run()
        assert done.status == 2 and "/nowhere/libduckdb.so" in done.text, done


def frozen_batch(place, job, batch):
    """batchTimestampMs of offsets/<batch>."""
    return json.loads((job.checkpoint / "offsets" / str(batch)).read_text().split("\n")[1])["batchTimestampMs"]


@pytest.mark.parametrize("fault", ["offsets-written", "files-done"])
def test_the_time_of_a_batch_stays(place, fault):
    """A batch that is done again has the time that its offsets were logged with."""
    job = place.job("id bigint, at timestamptz, day date",
                    sql="SELECT value.id AS id, current_timestamp AS at, current_date AS day FROM stream")  # fmt: skip
    assert job.run(fault=fault).status == -9
    logged = frozen_batch(place, job, 0)
    job.run().check()
    found = place.rows(job)
    assert len(found) >= len(place.bids)
    assert {row[1] for row in found} == {logged * 1000}
    assert {row[2] for row in found} == {logged // 86_400_000}


@pytest.mark.parametrize("reload", ["batch", "pinned"])
@pytest.mark.parametrize("form", ["csv", "iceberg"])
def test_static_tables(place, form, reload):
    """Loaded anew where they changed, or as they were at the start of the run."""
    path = place.lake.folder / f"static-{form}-{reload}.csv"
    name = f"db.static_{reload}"
    if form == "csv":
        path.write_text("name,score\nBob,1\n")
        table = {"path": str(path), "format": "csv", "header": True, "schema": "name string, score int"}
    else:
        place.lake.create_table(name, "name string, score int")
        append(place.lake, name, [("Bob", 1)])
        table = {"table": f"{place.lake.name}.{name}"}
    job = place.job("id bigint, score int", tables={"people": table | {"reload": reload}},
                    sql="SELECT s.value.id AS id, p.score FROM stream s JOIN people p ON s.value.who = p.name",
                    sink={"trigger": "200 milliseconds"})  # fmt: skip
    first = [bid["id"] for bid in place.bids if bid["who"] == "Bob"]
    with job.start() as running:
        running.wait_for(lambda: len(place.rows(job)) >= len(first), 30, "the first batch")
        before = place.rows(job)
        assert {row[1] for row in before} == {1}
        if form == "csv":
            path.write_text("name,score\nBob,2\nBob,3\n")
        else:
            append(place.lake, name, [("Bob", 2)])
        made = place.more(2)
        place.bids += made
        added = sum(bid["who"] == "Bob" for bid in made)
        each = 1 if reload == "pinned" else 2
        running.wait_for(lambda: len(place.rows(job)) >= len(before) + added * each, 30, "the second batch")
        assert running.stop() == 0
    later = list((collections.Counter(place.rows(job)) - collections.Counter(before)).elements())
    scores = {"pinned": {1}, "batch": {2, 3} if form == "csv" else {1, 2}}[reload]
    assert {row[1] for row in later} == scores and len(later) == added * each


def append(lake, table, values):
    import pyarrow as pa

    opened = lake.pyiceberg().load_table(table)
    columns = list(zip(*values))
    opened.append(pa.table({"name": pa.array(columns[0], pa.string()), "score": pa.array(columns[1], pa.int32())}))


GROUPED = "SELECT value.who AS who, count(*) AS n FROM stream GROUP BY value.who"


def counted(bids):
    counts = {}
    for bid in bids:
        counts[bid["who"]] = counts.get(bid["who"], 0) + 1
    return rows(counts.items())


def state_files(job):
    return sorted(p for p in (job.checkpoint / "state").rglob("*") if p.is_file())


def remove_manifest(job):
    for path in state_files(job):
        if path.suffix == ".json":
            path.unlink()


def remove_all(job):
    for path in state_files(job):
        path.unlink()


def flip_data(job):
    for path in state_files(job):
        if path.suffix != ".json":
            flip(path)


def flip_manifest(job):
    for path in state_files(job):
        if path.suffix == ".json":
            flip(path)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [remove_manifest, remove_all, flip_data, flip_manifest], ids=lambda f: f.__name__)
def test_lost_and_damaged_state(place, harm):
    """A clear error with the way out, and never wrong numbers; --resume-from=start computes it all anew."""
    job = place.job("who string, n bigint", sink={"outputMode": "complete"}, sql=GROUPED)
    job.run().check()
    assert place.rows(job) == counted(place.bids)
    harm(job)
    before = place.rows(job)
    place.bids += place.more(3)
    done = job.run()
    assert done.status not in (0, -6, -11), done
    assert "state/" in done.text and "--resume-from=start" in done.text, done
    assert place.rows(job) == before
    job.run("--available-now", "--resume-from=start").check()
    assert place.rows(job) == counted(place.bids)
    assert summaries(place.lake, job.table)[-1]["operation"] == "overwrite"


def test_state_of_another_query(place):
    """A changed GROUP BY is refused, a changed HAVING is not."""
    job = place.job("who string, n bigint", sink={"outputMode": "complete"}, sql=GROUPED)
    job.run().check()
    before = place.rows(job)
    place.bids += place.more(4)
    job.config["sql"] = GROUPED.replace("value.who AS", "value.text AS").replace("BY value.who", "BY value.text")
    done = job.write().run()
    assert done.status not in (0, -6, -11) and "--resume-from=start" in done.text, done
    assert place.rows(job) == before
    job.config["sql"] = GROUPED + " HAVING count(*) > 10"
    job.write().run().check()
    assert place.rows(job) == [row for row in counted(place.bids) if row[1] > 10]


def test_a_lost_checkpoint(place):
    """The table knows the offsets, but no state: what follows may not be counted from nothing."""
    job = place.job("who string, n bigint", sink={"outputMode": "complete"}, sql=GROUPED)
    job.run().check()
    before = place.rows(job)
    shutil.rmtree(job.checkpoint)
    place.bids += place.more(5)
    done = job.run()
    assert done.status not in (0, -6, -11) and "--resume-from=start" in done.text, done
    assert place.rows(job) == before
    job.run("--available-now", "--resume-from=start").check()
    assert place.rows(job) == counted(place.bids)
