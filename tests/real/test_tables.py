# SPDX-License-Identifier: Apache-2.0
"""What calve writes into a table: values of every type, partitions, bounds and metrics, file names and properties, and
other engines that write the same table (cases 31, 33 to 36, 38, 40, 41 and vectors of the specification)."""

import datetime
import decimal
import itertools
import json
import math
import sqlite3
import threading
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks import check_table, read_everywhere, snapshots, summaries
from conftest import CAMPAIGN
from job import Job, Lake, local, pause, run_calve
from kafka_client import produce
from readers import comparable, live_files, open_table, read_duckdb, read_pyiceberg, read_spark, rows
from typed_rows import FLAT, NESTED, TIME, TypedRows


class Writing:
    """Tables in one lake that rows are written into through a topic of Avro values and a schema file."""

    def __init__(self, lake, broker, topics, name):
        self.lake = lake
        self.broker = broker
        self.topics = topics
        self.name = name
        self.count = 0

    def write(self, typed, partitioned_by=None, properties=None, table=None, env=None, **sink):
        """One batch; returns the table's name."""
        self.count += 1
        topic = self.topics.create(f"{self.name}-{self.count}")
        produce(self.broker.bootstrap, topic, list(typed.payloads()))
        path = self.lake.folder / f"schema{self.count}.avsc"
        path.write_text(json.dumps(typed.schema))
        if table is None:
            table = f"db.t{self.count}"
            self.lake.create_table(table, typed.ddl, partitioned_by, properties)
        value = {"format": "avro", "schema.file": str(path)}
        job = Job(self.lake, self.broker, table, topic, value=value, sink=sink)
        job.run(env=env).check()
        return table


@pytest.fixture
def writing(lake, broker, topics, topic, duckdb):
    return Writing(lake, broker, topics, topic)


class Column(TypedRows):
    """Given values in one column `v`, numbered by `n`."""

    def __init__(self, ddl, avro, values):
        self.columns = {"v": (ddl, avro, None)}
        self.values = [{"n": n, "v": v} for n, v in enumerate(values)]


# --- Round trip ------------------------------------------------------------------------------------------------------

CODECS = ["zstd", "snappy", "gzip", "lz4_raw", "uncompressed"]
TRANSFORMS = [None, "s", "bucket(4, l)", "truncate(3, s)", "year(ts)", "month(dt)", "day(tz)", "hour(ts)",
              "bucket(3, d38), truncate(10, i)", "d9", "bucket(2, u)", "dt"]  # fmt: skip
NULLS = ["none", "some", "all"]


def combinations():
    """Every codec, null pattern and transform; their full product at full length."""
    if CAMPAIGN:
        return list(itertools.product(CODECS, NULLS, TRANSFORMS))
    return [(CODECS[n % len(CODECS)], NULLS[n % len(NULLS)], transform) for n, transform in enumerate(TRANSFORMS)]


@pytest.mark.parametrize("codec, nulls, transform", combinations())
def test_round_trip(writing, spark, codec, nulls, transform):
    """Equal values in three readers, and metrics equal to those that Java writes for the same rows."""
    typed = TypedRows(FLAT | NESTED, 120, nulls)
    properties = {"write.parquet.compression-codec": codec}
    table = writing.write(typed, transform, properties)
    found = read_everywhere(writing.lake, table, spark, uuid_columns=("u",))
    assert found == rows(typed.rows())
    check_table(writing.lake, table)
    compare_metrics(writing.lake, spark, table, typed.ddl, transform, properties)


def test_round_trip_of_flat_columns(writing, spark):
    """Spark reads a table without nested columns by another, vectorised path; enough rows for several pages."""
    flat = {k: v for k, v in FLAT.items() if k != "u"}
    typed = TypedRows(flat, 30_000, "some")
    properties = {"write.parquet.page-size-bytes": "20000", "write.parquet.dict-size-bytes": "20000"}
    table = writing.write(typed, None, properties)
    expected = rows(typed.rows())
    assert comparable(read_pyiceberg(writing.lake, table)) == expected
    assert comparable(read_duckdb(writing.lake, table)) == expected
    assert comparable(read_spark(spark, writing.lake, table)) == expected


def test_round_trip_of_time(writing):
    typed = TypedRows(TIME, 100, "some")
    table = writing.write(typed, "bucket(4, tm)")
    assert read_everywhere(writing.lake, table) == rows(typed.rows())


def test_round_trip_with_several_row_groups_and_files(writing, spark):
    typed = TypedRows({k: FLAT[k] for k in ("l", "s", "d38")}, 20_000, "some")
    properties = {"write.parquet.row-group-size-bytes": "30000", "write.target-file-size-bytes": "60000"}
    table = writing.write(typed, None, properties)
    files = live_files(writing.lake, table)
    assert len(files) > 1 and max(len(f.split_offsets) for f in files) > 1
    for file in files:
        footer = pq.ParquetFile(local(file.file_path)).metadata
        starts = [
            min(o for o in (g.column(0).dictionary_page_offset, g.column(0).data_page_offset) if o)
            for g in (footer.row_group(i) for i in range(footer.num_row_groups))
        ]
        assert list(file.split_offsets) == starts
    assert read_everywhere(writing.lake, table, spark) == rows(typed.rows())


COUNTS = ("value_counts", "null_value_counts")
METRICS = ["record_count", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"]


def compare_metrics(lake, spark, table, ddl, transform, properties):
    """Spark writes the same rows into a table with the same ids. Bounds of a UUID column may be left out, because
    engines order UUIDs differently. Java leaves NULL structs out of the counts of the float and double fields in them;
    calve counts every row, as for fields of other types. Everything else is equal to the byte."""
    twin = table + "_java"
    lake.create_table(twin, ddl, transform, properties)
    code = """
frame = spark.table(source).coalesce(1)
frame.writeTo(target).option("fanout-enabled", "true").option("distribution-mode", "none").append()
"""
    spark.add_catalog(lake)
    spark.run(code, source=f"{lake.name}.{table}", target=f"{lake.name}.{twin}")
    fields = open_table(lake, table).schema().fields
    uuid_ids = {f.field_id for f in fields if str(f.field_type) == "uuid"}
    in_structs = {g.field_id for f in fields if f.field_type.is_struct for g in f.field_type.fields
                  if str(g.field_type) in ("float", "double")}  # fmt: skip

    def metrics(name):
        found = {}
        for file in live_files(lake, name):
            key = tuple(str(file.partition[i]) for i in range(len(file.partition)))
            values = {m: getattr(file, m) for m in METRICS}
            for names, ids in ((("lower_bounds", "upper_bounds"), uuid_ids), (COUNTS, in_structs)):
                for m in names:
                    values[m] = {k: v for k, v in (values[m] or {}).items() if k not in ids}
            found[key] = {m: v if m == "record_count" else dict(v or {}) for m, v in values.items()}
        return found

    ours, java = metrics(table), metrics(twin)
    assert ours.keys() == java.keys()
    for key, expected in java.items():
        for metric in METRICS:
            assert ours[key][metric] == expected[metric], (key, metric)


# --- Partitions ------------------------------------------------------------------------------------------------------

# The specification's and the reference tests' values for times before and after 1970.
TIMES = [
    (-1, -1, -1, -1, -1),
    (-3600000000, -1, -1, -1, -1),
    (-3600000001, -1, -1, -1, -2),
    (-2678400000000, -1, -1, -31, -744),
    (-2678400000001, -1, -2, -32, -745),
    (-31536000000000, -1, -12, -365, -8760),
    (-31536000000001, -2, -13, -366, -8761),
    (0, 0, 0, 0, 0),
    (3599999999, 0, 0, 0, 0),
    (951782400000000, 30, 361, 11016, 264384),
    (1512123175038194, 47, 575, 17501, 420034),
    (2147483648000000, 68, 816, 24855, 596523),
    (-2203934400000000, -70, -839, -25509, -612204),
    (-62135596800000000, -1969, -23628, -719162, -17259888),
    (253402300799999999, 8029, 96359, 2932896, 70389527),
]
MICROS = {"type": "long", "logicalType": "local-timestamp-micros"}
EPOCH = datetime.datetime(1970, 1, 1)


def partition_number(value):
    return (value - EPOCH.date()).days if isinstance(value, datetime.date) else value


def partitions(lake, table):
    """{partition tuple: the values of n in its files}"""
    found = {}
    for file in live_files(lake, table):
        key = tuple(partition_number(file.partition[i]) for i in range(len(file.partition)))
        numbers = pq.read_table(local(file.file_path), columns=["n"], partitioning=None)["n"].to_pylist()
        assert key not in found, "two files of one batch in one partition"
        found[key] = sorted(numbers)
    return found


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
@pytest.mark.parametrize("index, transform", enumerate(["year", "month", "day", "hour"], 1))
def test_time_transforms(writing, index, transform, zone):
    """Case 28: rounded down before 1970, and the zone of the process has no effect."""
    values = [EPOCH + datetime.timedelta(microseconds=item[0]) for item in TIMES] + [None]
    kind, avro = ("timestamp_ntz", MICROS)
    if zone != "UTC":
        kind, avro = "timestamp", {"type": "long", "logicalType": "timestamp-micros"}
        values = [v and v.replace(tzinfo=datetime.timezone.utc) for v in values]
    table = writing.write(Column(kind, avro, values), f"{transform}(v)", env={"TZ": zone})
    expected = {}
    for n, item in enumerate([*TIMES, None]):
        expected.setdefault((item[index] if item else None,), []).append(n)
    assert partitions(writing.lake, table) == expected


HASHES = [
    ("int", "int", [34, 0, 1, -1, 2147483647, -2147483648], [3, 12, 4, 8, 14, 8]),
    ("bigint", "long", [34, 2**63 - 1, -(2**63)], [3, 15, 5]),
    (
        "decimal(9,2)",
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        [decimal.Decimal(v).scaleb(-2) for v in (1420, 0, -1, 127, 128, -128, -129)],
        [3, 7, 13, 9, 5, 13, 1],
    ),
    (
        "date",
        {"type": "int", "logicalType": "date"},
        [datetime.date(2017, 11, 16), datetime.date(1969, 12, 31)],
        [10, 8],
    ),
    (
        "time",
        {"type": "long", "logicalType": "time-micros"},
        [datetime.time(22, 31, 8), datetime.time(0, 0, 0)],
        [3, 12],
    ),
    (
        "timestamp_ntz",
        MICROS,
        [datetime.datetime(2017, 11, 16, 22, 31, 8), datetime.datetime(2017, 11, 16, 22, 31, 8, 1)],
        [7, 6],
    ),
    ("string", "string", ["iceberg", "", "a", "ab", "abc", "abcd", "é", "測試", "💰"], [9, 0, 2, 15, 10, 10, 7, 4, 12]),
    ("binary", "bytes", [bytes([0, 1, 2, 3]), b"", b"\xff", b"\xff" * 5], [9, 0, 13, 12]),
    (
        "uuid",
        {"type": "string", "logicalType": "uuid"},
        [uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)],
        [12, 8, 14],
    ),
    ("fixed[4]", {"type": "fixed", "name": "Four", "size": 4}, [bytes([0, 1, 2, 3])], [9]),
]


@pytest.mark.parametrize("ddl, avro, values, buckets", HASHES, ids=[item[0] for item in HASHES])
def test_buckets(writing, ddl, avro, values, buckets):
    table = writing.write(Column(ddl, avro, [*values, None]), "bucket(16, v)")
    expected = {}
    for n, bucket in enumerate([*buckets, None]):
        expected.setdefault((bucket,), []).append(n)
    assert partitions(writing.lake, table) == expected


def test_buckets_of_a_promoted_column(writing):
    """Case 30: an int that became a long keeps its buckets."""
    from pyiceberg.types import LongType

    values, buckets = HASHES[0][2], HASHES[0][3]
    table = writing.write(Column("int", "int", values), "bucket(16, v)")
    with open_table(writing.lake, table).update_schema() as change:
        change.update_column("v", field_type=LongType())
    before = {f.file_path: f.partition[0] for f in live_files(writing.lake, table)}
    writing.write(Column("bigint", "long", values), table=table)
    after = {f.file_path: f.partition[0] for f in live_files(writing.lake, table)}
    added = [bucket for path, bucket in after.items() if path not in before]
    assert sorted(added) == sorted(before.values()) == sorted(set(buckets))


PATHS = {
    "a/b": "a%2Fb", "a b": "a+b", "a+b": "a%2Bb", "100%": "100%25", "é": "%C3%A9", "#x?y=1": "%23x%3Fy%3D1",
    "..": "..", "": "", None: "null", "null": "null", "~x*": "%7Ex*", "💰": "%F0%9F%92%B0",
}  # fmt: skip


def test_partition_values_in_paths(writing, spark):
    """Case 31: paths as Java writes them; "", NULL and "null" are three partitions; the path of the manifest is the
    name of the file, byte for byte."""
    values = list(PATHS)
    table = writing.write(Column("string", "string", values), "v")
    files = live_files(writing.lake, table)
    assert len(files) == len(values)
    for file in files:
        assert f"/v={PATHS[file.partition[0]]}/" in file.file_path
        assert local(file.file_path).exists()
    expected = rows((n, v) for n, v in enumerate(values))
    assert read_everywhere(writing.lake, table, spark) == expected
    manifest = open_table(writing.lake, table).current_snapshot().manifests(open_table(writing.lake, table).io)[0]
    assert manifest.partitions[0].contains_null is True
    assert manifest.partitions[0].lower_bound == b""


def test_partition_value_longer_than_a_file_name(writing, duckdb):
    value = "z" * 3000
    table = writing.write(Column("string", "string", [value, "b"]), "v")
    assert read_everywhere(writing.lake, table) == rows([(0, value), (1, "b")])


def test_partition_field_with_an_odd_name(lake, broker, topic, spark, duckdb):
    name = '"esc"#1'
    lake.create_table("db.t", f"`{name}` string, n bigint", f"`{name}`")
    produce(broker.bootstrap, topic, [json.dumps({name: "my+str", "n": 1})])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    assert read_everywhere(lake, "db.t", spark) == [("my+str", 1)]
    assert "/%22esc%22%231=my%2Bstr/" in live_files(lake, "db.t")[0].file_path


def test_identity_of_doubles(writing):
    """Case 35: 1.0 and NaN in one manifest."""
    table = writing.write(Column("double", "double", [1.0, math.nan, 1.0]), "v")
    opened = open_table(writing.lake, table)
    summary = opened.current_snapshot().manifests(opened.io)[0].partitions[0]
    assert summary.contains_nan is True and summary.contains_null is False
    one = b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
    assert (summary.lower_bound, summary.upper_bound) == (one, one)
    assert len(live_files(writing.lake, table)) == 2


def test_truncate_counts_code_points(writing):
    table = writing.write(Column("string", "string", ["a💰é", "a💰x", "a"]), "truncate(2, v)")
    assert partitions(writing.lake, table) == {("a💰",): [0, 1], ("a",): [2]}


def test_spec_evolution(lake, broker, topic, spark, duckdb):
    """The current spec is written; files of the old one stay as they are."""
    from pyiceberg.transforms import BucketTransform

    lake.create_table("db.t", "n bigint, v string", "v")
    job = Job(lake, broker, "db.t", topic, value="json")
    produce(broker.bootstrap, topic, [{"n": 1, "v": "a"}])
    job.run().check()
    with open_table(lake, "db.t").update_spec() as change:
        change.remove_field("v")
        change.add_field("n", BucketTransform(4), "n_bucket")
    produce(broker.bootstrap, topic, [{"n": 34, "v": "b"}])
    job.run().check()
    assert read_everywhere(lake, "db.t", spark) == [(1, "a"), (34, "b")]
    assert sorted(file.spec_id for file in live_files(lake, "db.t")) == [0, 1]


@pytest.mark.parametrize("fanout", [True, False])
def test_one_file_per_batch_and_partition(lake, broker, topic, fanout):
    lake.create_table("db.t", "n bigint, v string", "v")
    sink = {"fanout-enabled": fanout}
    job = Job(lake, broker, "db.t", topic, value="json", source={"maxOffsetsPerTrigger": 100}, sink=sink)
    produce(broker.bootstrap, topic, [{"n": n, "v": f"p{n % 7}"} for n in range(300)])
    job.run().check()
    assert [s["added-data-files"] for s in summaries(lake, "db.t")] == ["7"] * 3
    assert [r[0] for r in read_everywhere(lake, "db.t")] == list(range(300))
    for file in live_files(lake, "db.t"):
        numbers = pq.read_table(local(file.file_path), columns=["n"], partitioning=None)["n"].to_pylist()
        assert numbers == sorted(numbers), "rows of one partition keep their order"


# --- Bounds and metrics ----------------------------------------------------------------------------------------------


def bounds(lake, table, column="v"):
    field = open_table(lake, table).schema().find_field(column).field_id
    file = live_files(lake, table)[0]
    return (file.lower_bounds or {}).get(field), (file.upper_bounds or {}).get(field), file, field


A15 = "a" * 15
TEXT_BOUNDS = [
    ("a" * 16 + "b", "a" * 16, A15 + "b"),
    (A15 + "\ud7ff" + "z", A15 + "\ud7ff", A15 + "\ue000"),
    (A15 + "\uffff" + "z", A15 + "\uffff", A15 + "\U00010000"),
    (A15 + "\U0010ffff" + "z", A15 + "\U0010ffff", "a" * 14 + "b"),
    ("\U0010ffff" * 17, "\U0010ffff" * 16, None),
    ("b" * 15 + "éz", "b" * 15 + "é", "b" * 15 + "ê"),
    ("short", "short", "short"),
]


@pytest.mark.parametrize("text, low, high", TEXT_BOUNDS, ids=[f"text{n}" for n in range(len(TEXT_BOUNDS))])
def test_string_bounds(writing, text, low, high):
    """Case 34."""
    table = writing.write(Column("string", "string", [text]))
    lower, upper, _, _ = bounds(writing.lake, table)
    assert lower == low.encode() and upper == (high.encode() if high is not None else None)
    assert read_everywhere(writing.lake, table) == rows([(0, text)])


def test_binary_bounds(writing):
    table = writing.write(Column("binary", "bytes", [b"\xff" * 17]))
    assert bounds(writing.lake, table)[:2] == (b"\xff" * 16, None)


@pytest.mark.parametrize("mode", ["none", "counts", "full", "truncate(3)"])
def test_metrics_modes(writing, mode):
    table = writing.write(
        Column("string", "string", ["abcdefgh" * 4, None]), None, {"write.metadata.metrics.column.v": mode}
    )
    lower, upper, file, field = bounds(writing.lake, table)
    counts = {"none": None}.get(mode, 2)
    assert (file.value_counts or {}).get(field) == counts
    expected = {
        "none": (None, None), "counts": (None, None), "full": (b"abcdefgh" * 4, b"abcdefgh" * 4),
        "truncate(3)": (b"abc", b"abd"),
    }  # fmt: skip
    assert (lower, upper) == expected[mode]


DOUBLES = [
    ([math.nan], None, None, 1, 0),
    ([3.0, math.nan, 3.0], 3.0, 3.0, 1, 0),
    ([math.nan, None], None, None, 1, 1),
    ([-0.0, 0.0], -0.0, 0.0, 0, 0),
]


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("values, low, high, nans, nulls", DOUBLES, ids=["nan", "mixed", "null", "zeros"])
def test_bounds_of_floats(writing, kind, values, low, high, nans, nulls):
    """Case 35."""
    import struct

    form = "<f" if kind == "float" else "<d"
    table = writing.write(Column(kind, kind, values))
    lower, upper, file, field = bounds(writing.lake, table)
    assert lower == (None if low is None else struct.pack(form, low))
    assert upper == (None if high is None else struct.pack(form, high))
    assert file.nan_value_counts[field] == nans and file.null_value_counts[field] == nulls
    group = pq.ParquetFile(local(file.file_path)).metadata.row_group(0).column(1)
    if group.statistics is not None and group.statistics.has_min_max:
        assert not math.isnan(group.statistics.min) and not math.isnan(group.statistics.max)


@pytest.mark.parametrize(
    "precision, scale, physical", [(9, 2, "INT32"), (10, 2, "INT64"), (18, 4, "INT64"), (19, 4, 9), (38, 10, 16)]
)
def test_decimal_storage_and_bounds(writing, precision, scale, physical):
    """Case 36."""
    values = [decimal.Decimal(u).scaleb(-scale) for u in (350, -1, 128, -128)]
    avro = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    table = writing.write(Column(f"decimal({precision},{scale})", avro, values))
    lower, upper, file, _ = bounds(writing.lake, table)
    assert (lower, upper) == (b"\x80", b"\x01\x5e")
    column = pq.ParquetFile(local(file.file_path)).metadata.schema.column(1)
    if isinstance(physical, int):
        assert (column.physical_type, column.length) == ("FIXED_LEN_BYTE_ARRAY", physical)
    else:
        assert column.physical_type == physical


def test_metrics_of_an_optional_struct(writing):
    """m of struct<m double required> with one NULL struct: two values, one of them null."""
    point = {"type": "record", "name": "P", "fields": [{"name": "m", "type": "double"}]}
    table = writing.write(Column("struct<m: double NOT NULL>", point, [None, {"m": 34.0}]))
    _, _, file, field = bounds(writing.lake, table, "v.m")
    assert file.value_counts[field] == 2 and file.null_value_counts[field] == 1


def test_wide_table_has_metrics_for_the_first_hundred_columns(lake, broker, topic):
    lake.create_table("db.t", ", ".join(f"c{n} int" for n in range(120)))
    produce(broker.bootstrap, topic, [{f"c{n}": n for n in range(120)}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    file = live_files(lake, "db.t")[0]
    assert sorted(file.lower_bounds) == list(range(1, 101))


# --- Names, versions, properties -------------------------------------------------------------------------------------


def test_dotted_column(lake, broker, topic, spark, duckdb):
    """Case 33: the column alone works everywhere; beside a struct with the same path it is refused by both names."""
    lake.create_table("db.t", "`A.B` int, n int", "`A.B`")
    produce(broker.bootstrap, topic, [{"A.B": 1, "n": 2}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    assert read_everywhere(lake, "db.t", spark) == [(1, 2)]
    done = run_calve("table", "create", f"{lake.name}.db.u", "--config", lake.config_file(),
                     "--schema", "`A.B` int, A struct<B: int>")  # fmt: skip
    assert done.status == 2 and "A.B" in done.text, done


NAMES = ["9x", "a#b", "a-field", "field name", "é", "☃", "😎", "select", "A"]


def test_odd_column_names(lake, broker, topic, spark, duckdb):
    lake.create_table("db.t", ", ".join(f"`{name}` string" for name in NAMES), "`9x`, `a-field`")
    produce(broker.bootstrap, topic, [json.dumps({name: name for name in NAMES})])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    assert read_everywhere(lake, "db.t", spark) == [tuple(NAMES)]


@pytest.mark.parametrize("version", ["1", "2"])
def test_format_versions(lake, broker, topic, spark, duckdb, version):
    lake.create_table("db.t", "n bigint, v string", "v", {"format-version": version})
    job = Job(lake, broker, "db.t", topic, value="json")
    for start in (0, 5):
        produce(broker.bootstrap, topic, [{"n": n, "v": f"p{n % 2}"} for n in range(start, start + 5)])
        job.run().check()
    assert lake.metadata("db.t")["format-version"] == int(version)
    assert [r[0] for r in read_everywhere(lake, "db.t", spark)] == list(range(10))


def test_version_3_is_refused(lake, broker, topic, spark):
    lake.create_table("db.first", "n bigint")
    spark.add_catalog(lake)
    spark.sql(f"CREATE TABLE {lake.name}.db.t (n bigint) USING iceberg TBLPROPERTIES ('format-version'='3')")
    produce(broker.bootstrap, topic, [{"n": 1}])
    done = Job(lake, broker, "db.t", topic, value="json").run()
    assert done.status in (2, 3) and "3" in done.text and "version" in done.text, done


def test_renamed_and_dropped_columns(lake, broker, topic, spark, duckdb):
    """Case 38: names change, ids decide; a column that is added again is a new one."""
    from pyiceberg.types import StringType

    lake.create_table("db.t", "id bigint, s struct<a: string>, c string, l array<struct<x: int>>")
    job = Job(lake, broker, "db.t", topic, value="json", sink={"ignore-unknown": True})
    produce(broker.bootstrap, topic, [{"id": 1, "s": {"a": "old"}, "c": "old", "l": [{"x": 1}]}])
    job.run().check()
    with open_table(lake, "db.t").update_schema() as change:
        change.rename_column("s.a", "b")
        change.delete_column("c")
    with open_table(lake, "db.t").update_schema() as change:
        change.add_column("c", StringType())
    produce(broker.bootstrap, topic, [{"id": 2, "s": {"b": "new"}, "c": "new", "l": [{"x": 2}]}])
    job.run().check()
    found = read_everywhere(lake, "db.t", spark, columns=("id", "s", "l", "c"))
    assert found == [(1, ("old",), ((1,),), None), (2, ("new",), ((2,),), "new")]
    check_table(lake, "db.t")


def test_schema_changed_while_a_job_runs(lake, broker, topic, duckdb):
    """Case 38: between two batches; each file is of one schema."""
    from pyiceberg.types import StringType

    lake.create_table("db.t", "id bigint")
    job = Job(lake, broker, "db.t", topic, value="json", sink={"trigger": "200 milliseconds"})
    with job.start() as running:
        for number, value in enumerate(({"id": 0}, {"id": 1, "z": "new"}, {"id": 2, "z": "new"})):
            produce(broker.bootstrap, topic, [value])
            running.wait_for(lambda n=number: len(snapshots(lake, "db.t")) == n + 1, 30, "a batch")
            if number == 0:
                with open_table(lake, "db.t").update_schema() as change:
                    change.add_column("z", StringType())
        assert running.stop() == 0
    assert [row[0] for row in read_everywhere(lake, "db.t")] == [0, 1, 2]
    assert read_everywhere(lake, "db.t", columns=("id", "z"))[2] == (2, "new")


def test_missing_table(lake, broker, topic):
    lake.create_table("db.other", "n bigint")
    done = Job(lake, broker, "db.t", topic, value="json").run()
    assert done.status in (2, 3) and "db.t" in done.text and "table create" in done.text, done


def test_paths_of_the_table_properties(lake, broker, topic, duckdb):
    elsewhere = lake.location(lake.warehouse.parent / "elsewhere")
    properties = {"write.data.path": f"{elsewhere}/data", "write.metadata.path": f"{elsewhere}/meta"}
    lake.create_table("db.t", "n bigint, v string", "v", properties)
    produce(broker.bootstrap, topic, [{"n": 1, "v": "a"}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    opened = open_table(lake, "db.t")
    assert live_files(lake, "db.t")[0].file_path.startswith(f"{elsewhere}/data/v=a/")
    assert opened.current_snapshot().manifest_list.startswith(f"{elsewhere}/meta/")
    assert opened.metadata_location.startswith(f"{elsewhere}/meta/")
    assert read_everywhere(lake, "db.t") == [(1, "a")]


@pytest.mark.parametrize("partitioned_paths", ["true", "false"])
def test_object_storage_paths(lake, broker, topic, partitioned_paths):
    import re

    properties = {"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": partitioned_paths}
    lake.create_table("db.t", "n bigint, v string", "v", properties)
    produce(broker.bootstrap, topic, [{"n": 1, "v": "a"}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    path = live_files(lake, "db.t")[0].file_path
    form = r"/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}" + ("/v=a/" if partitioned_paths == "true" else "-")
    assert re.search(form, path), path


def test_metadata_log_is_limited(lake, broker, topic):
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "2",
    }
    lake.create_table("db.t", "n bigint", None, properties)
    produce(broker.bootstrap, topic, [{"n": n} for n in range(6)])
    Job(lake, broker, "db.t", topic, value="json", source={"maxOffsetsPerTrigger": 1}).run().check()
    assert len(snapshots(lake, "db.t")) == 6
    assert len(list((lake.folder_of("db.t") / "metadata").glob("*.metadata.json"))) == 3


def test_unknown_metadata_is_kept(lake, broker, topic):
    """Keys that calve does not model stay when it writes the file anew."""
    if lake.catalog == "rest":
        pytest.skip("the server writes the file, and Java drops what it does not know")
    lake.create_table("db.t", "n bigint", None, {"my.property": "kept"})
    location = local(open_table(lake, "db.t").metadata_location)
    content = json.loads(location.read_text())
    content["x-unknown"] = {"a": [1, 2**62 + 1]}
    location.write_text(json.dumps(content))
    produce(broker.bootstrap, topic, [{"n": 1}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    after = lake.metadata("db.t")
    assert after["x-unknown"] == {"a": [1, 2**62 + 1]} and after["properties"]["my.property"] == "kept"


# --- Other writers and catalogs --------------------------------------------------------------------------------------


def test_spark_and_calve_append_in_turn(lake, broker, topic, spark, duckdb):
    lake.create_table("db.t", "n bigint, v string", "bucket(4, n)")
    job = Job(lake, broker, "db.t", topic, value="json")
    spark.add_catalog(lake)
    for n in range(0, 8, 2):
        produce(broker.bootstrap, topic, [{"n": n, "v": "calve"}])
        job.run().check()
        spark.sql(f"INSERT INTO {lake.name}.db.t VALUES ({n + 1}, 'spark')")
    expected = [(n, "spark" if n % 2 else "calve") for n in range(8)]
    assert read_everywhere(lake, "db.t", spark) == expected
    check_table(lake, "db.t")


def test_table_that_spark_made(lake, broker, topic, spark, duckdb):
    lake.create_table("db.first", "n bigint")
    spark.add_catalog(lake)
    spark.sql(f"CREATE TABLE {lake.name}.db.t (n bigint, at timestamp, tags array<string>) USING iceberg "
              "PARTITIONED BY (days(at)) TBLPROPERTIES ('write.metadata.compression-codec'='gzip')")  # fmt: skip
    spark.sql(f"INSERT INTO {lake.name}.db.t VALUES (1, timestamp'2026-03-31 10:00:00', array('a'))")
    produce(broker.bootstrap, topic, [{"n": 2, "at": "2026-03-31T11:00:00Z", "tags": []}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    found = comparable(read_pyiceberg(lake, "db.t"))
    assert [row[0] for row in found] == [1, 2]
    assert comparable(read_spark(spark, lake, "db.t")) == found


def test_hadoop_catalog(tmp_path, broker, topic, spark, duckdb):
    lake = Lake(tmp_path / "hadoop", "hadoop")
    lake.create_table("db.t", "n bigint, v string", "v")
    job = Job(lake, broker, "db.t", topic, value="json")
    spark.add_catalog(lake)
    for n in (0, 2):
        produce(broker.bootstrap, topic, [{"n": n, "v": "calve"}])
        job.run().check()
        spark.sql(f"INSERT INTO {lake.name}.db.t VALUES ({n + 1}, 'spark')")
    assert read_everywhere(lake, "db.t", spark) == [(n, "spark" if n % 2 else "calve") for n in range(4)]


def test_pyiceberg_appends_at_the_same_time(lake, broker, topic):
    """Case 41: other writers win some rounds; each batch of calve is in once and none of the others is lost."""
    properties = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "5", "commit.retry.max-wait-ms": "50"}
    lake.create_table("db.t", "n bigint", None, properties)
    produce(broker.bootstrap, topic, [{"n": n} for n in range(60)])
    job = Job(lake, broker, "db.t", topic, value="json", source={"maxOffsetsPerTrigger": 1})
    appended = []

    def append():
        from pyiceberg.exceptions import CommitFailedException

        for n in range(1000, 1010):
            try:
                open_table(lake, "db.t").append(pa.table({"n": pa.array([n], pa.int64())}))
                appended.append(n)
            except CommitFailedException:
                pass

    writer = threading.Thread(target=append)
    writer.start()
    job.run(timeout=120).check()
    writer.join(60)
    assert [row[0] for row in read_everywhere(lake, "db.t")] == [*range(60), *appended]
    check_table(lake, "db.t")


def test_catalog_that_is_busy(lake, broker, topic):
    """Case 40 for a file: the lock of another process is waited for."""
    lake.only("sql", "sql-s3", why="it is about SQLite")
    lake.create_table("db.t", "n bigint")
    produce(broker.bootstrap, topic, [{"n": 1}])
    job = Job(lake, broker, "db.t", topic, value="json")
    connection = sqlite3.connect(lake.file, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with job.start("--available-now") as running:
        pause(2.0)
        running.alive()
        connection.execute("COMMIT")
        connection.close()
        assert running.wait(30) == 0, running.log()
    assert read_everywhere(lake, "db.t") == [(1,)]


def test_branch(lake, broker, topic, spark):
    """A name may end in .branch_<name>; the epoch check walks that branch and main stays empty."""
    lake.create_table("db.t", "n bigint")
    spark.add_catalog(lake)
    spark.sql(f"INSERT INTO {lake.name}.db.t VALUES (0)")
    spark.sql(f"ALTER TABLE {lake.name}.db.t CREATE BRANCH audit")
    job = Job(lake, broker, "db.t", topic, value="json")
    job.config["sink"]["table"] += ".branch_audit"
    job.write()
    produce(broker.bootstrap, topic, [{"n": 1}, {"n": 2}])
    job.run().check()
    (job.checkpoint / "commits" / "0").unlink()
    job.run().check()
    assert spark.sql(f"SELECT n FROM {lake.name}.db.t") == [(0,)]
    assert sorted(spark.sql(f"SELECT n FROM {lake.name}.db.t VERSION AS OF 'audit'")) == [(0,), (1,), (2,)]


# --- Commands --------------------------------------------------------------------------------------------------------


def test_table_commands(lake, broker, topic):
    lake.create_table("db.t", "n bigint, v string", "v")
    produce(broker.bootstrap, topic, [{"n": 1, "v": "a"}, {"n": 2, "v": "b"}])
    Job(lake, broker, "db.t", topic, value="json").run().check()
    name = f"{lake.name}.db.t"

    def show(command):
        done = run_calve("table", command, name, "--config", lake.config_file(), "--json").check()
        return json.loads(done.out)

    assert isinstance(show("show"), dict)
    assert [s["operation"] for s in show("snapshots")] == ["append"]
    assert sorted(f["record_count"] for f in show("files")) == [1, 1]
    assert len(show("manifests")) == 1 and len(show("partitions")) == 2
    assert [r["name"] for r in show("refs")] == ["main"] and len(show("history")) == 1
    run_calve("table", "drop", name, "--config", lake.config_file()).check()
    assert show("show"), "without --yes it only tells"
    run_calve("table", "drop", name, "--yes", "--config", lake.config_file()).check()
    assert run_calve("table", "show", name, "--config", lake.config_file()).status in (2, 3)
