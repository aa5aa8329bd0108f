# SPDX-License-Identifier: Apache-2.0
"""calve maintain rewrite-data-files beside Spark's rewrite_data_files on the same tables: v1 and v2, partitions, evolved
specs and schemas, position and equality deletes; metrics of the files written; rivals between plan and commit (case
52); ends in the middle; memory."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess

import job
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from checks import check_table, read_everywhere, stray_files, summaries
from components import wait_until
from job import pause, peak_memory, run_calve
from pyiceberg.manifest import DataFileContent
from pyiceberg.transforms import BucketTransform
from readers import comparable, live_files, open_table, read_duckdb, read_pyiceberg, read_spark
from twins import Twins, call, maintain, result_rows, spark_history

COLUMNS = ("id int, day date, s string, d double, f float, n decimal(12,2), ts timestamp, b boolean, "
           "l array<int>, st struct<a: bigint, c: string>")  # fmt: skip
# Values of every kind, NULLs, NaN, text longer than its bounds; `day` is one of three. The inner SELECT keeps Spark from
# marking columns of the file as required, which no page of an optional column could follow.
VALUES = """SELECT /*+ REPARTITION({0}) */ CAST(id AS int), date_add(date'2026-01-01', CAST(id % 3 AS int)),
IF(id % 11 = 0, NULL, concat('text that is longer than sixteen characters ', id % 50)),
IF(id % 13 = 0, double('NaN'), id / 8), CAST(-id AS float), CAST(id AS decimal(12,2)),
timestamp'2026-01-01' + make_interval(0, 0, 0, CAST(id % 9 AS int)), id % 2 = 0,
IF(id % 5 = 0, NULL, array(CAST(id AS int), NULL)), IF(id % 7 = 0, NULL, named_struct('a', id, 'c', CAST(id AS string)))
FROM (SELECT IF(id < 0, NULL, id) AS id FROM range({1}, {2}))"""
# Each task of an INSERT writes a file of its own for each partition.
PROPERTIES = "'write.distribution-mode'='none', 'write.spark.fanout.enabled'='true', 'write.delete.mode'='{mode}'"
CREATE = "CREATE TABLE {{t}} ({0}) USING iceberg {1} TBLPROPERTIES ('format-version'='{2}', " + PROPERTIES + ")"


def create(columns, partitioning="", version=2):
    return CREATE.replace("{mode}", "{{mode}}").format(columns, partitioning, version)


def insert(files, start, end):
    return "INSERT INTO {t} " + VALUES.format(files, start, end)


DAY = "PARTITIONED BY (day)"
TABLES = {
    "plain": [create(COLUMNS), insert(5, 0, 1500), insert(1, 1500, 1800)],
    "v1": [create(COLUMNS, DAY, 1), insert(6, 0, 1800)],
    "evolved": [
        create("id int, day date, s string, gone int"),
        "INSERT INTO {t} SELECT /*+ REPARTITION(5) */ CAST(id AS int), date_add(date'2026-01-01', "
        "CAST(id % 3 AS int)), CAST(id AS string), 7 FROM range(500)",
        "ALTER TABLE {t} RENAME COLUMN s TO name",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ADD COLUMN gone string",
        "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
        "ALTER TABLE {t} ADD PARTITION FIELD day",
        "INSERT INTO {t} SELECT /*+ REPARTITION(5) */ id, date_add(date'2026-01-01', CAST(id % 3 AS int)), "
        "'new', 'back' FROM range(500, 1000)",
    ],
    "deletes": [create(COLUMNS, DAY), insert(5, 0, 1500), "DELETE FROM {t} WHERE id % 2 = 0", insert(1, 5000, 5300)],
    "few": [create(COLUMNS), insert(2, 0, 600), "DELETE FROM {t} WHERE id % 2 = 0"],
    "equality": [create(COLUMNS), insert(5, 0, 1500)],
}

# An equality delete of the column `id` through Iceberg's own writers, as Flink makes them.
EQUALITY_DELETE = """
jvm = spark._jvm
table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
schema = table.schema().select(["id"])
ids = spark.sparkContext._gateway.new_array(jvm.int, 1)
ids[0] = table.schema().findField("id").fieldId()
factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(table.schema(), table.spec(), ids, schema, None)
file = table.io().newOutputFile(table.location() + "/data/eq-" + str(keys[0]) + ".parquet")
out = jvm.org.apache.iceberg.encryption.EncryptionUtil.plainAsEncryptedOutput(file)
writer = factory.newEqDeleteWriter(out, jvm.org.apache.iceberg.FileFormat.PARQUET, None)
for key in keys:
    record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
    record.setField("id", key)
    writer.write(record)
writer.close()
table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
"""


@pytest.fixture(scope="module")
def prepared(spark, duckdb, tmp_path_factory):
    lake = job.Lake(tmp_path_factory.mktemp("rewrite") / "lake")
    lake.create_table("db.none", "id bigint")
    for name, statements in TABLES.items():
        spark_history(spark, lake, f"db.{name}", 2, statements)
    spark.run(EQUALITY_DELETE, name=f"{lake.name}.db.equality", keys=[1, 7, 300, 99999])
    spark_history(spark, lake, "db.equality", 2, [insert(1, 0, 10)])
    twins = Twins(lake)
    twins.summaries = {f"db.{t}": summaries(lake, f"db.{t}") for t in TABLES}
    twins.heads = {f"db.{t}": lake.metadata(f"db.{t}")["current-snapshot-id"] for t in TABLES}
    return twins


def partitions(lake, table):
    """Live data files by spec and partition."""
    return collections.Counter(
        (f.spec_id, tuple(str(f.partition[i]) for i in range(len(f.partition))))
        for f in live_files(lake, table)
        if f.content == DataFileContent.DATA
    )  # fmt: skip


KEYS = ("operation total-records total-data-files added-data-files deleted-data-files added-records deleted-records "
        "total-equality-deletes changed-partition-count").split()  # fmt: skip


def rows_of(lake, table, spark=None):
    """PyIceberg does not read equality deletes."""
    if "equality" not in table:
        return read_everywhere(lake, table, spark)
    found = comparable(read_duckdb(lake, table))
    if spark:
        assert comparable(read_spark(spark, lake, table)) == found
    return found


def facts(lake, table, spark=None):
    summary = summaries(lake, table)[-1]
    return {
        "rows": rows_of(lake, table, spark),
        "partitions": partitions(lake, table),
        "summary": {k: summary.get(k) for k in KEYS},
    }


def spark_options(options):
    pairs = ", ".join(f"'{k}', '{v}'" for k, v in options.items())
    return f"options => map({pairs})" if pairs else ""


def flags_of(options):
    return [f"--{k}={v}" for k, v in options.items()]


SORT = "d DESC NULLS LAST, id"
CASES = {
    "plain": ("plain", {}, "", []),
    "v1": ("v1", {}, "", []),
    "evolved": ("evolved", {}, "", []),
    "deletes": ("deletes", {}, "", []),
    "few files with many deletes": ("few", {}, "", []),
    "equality": ("equality", {}, "", []),
    "new sequence number": ("equality", {"use-starting-sequence-number": "false"}, "", []),
    "all files, one by one": ("v1", {"rewrite-all": "true", "max-file-group-size-bytes": 1}, "", []),
    "some files": ("plain", {"max-files-to-rewrite": 3, "rewrite-all": "true"}, "", []),
    "one partition": ("v1", {}, "where => 'day = date\"2026-01-02\"'", ["--where", "day = date '2026-01-02'"]),
    "sorted": ("plain", {}, f"strategy => 'sort', sort_order => '{SORT}'",
               ["--strategy", "sort", "--sort-order", SORT]),
    "zorder": ("v1", {}, "strategy => 'sort', sort_order => 'zorder(id, s)'",
               ["--strategy", "sort", "--sort-order", "zorder(id, s)"]),
    "partial": ("v1", {"partial-progress.enabled": "true", "partial-progress.max-commits": 2}, "", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_same_as_spark(prepared, spark, name):
    """Result, rows, files by partition and totals. Which files are "some" is each program's own choice. Delete files
    that name one removed data file go with it in the same commit; Spark leaves them behind."""
    table, options, arguments, flags = CASES[name]
    lake, table = prepared.lake, f"db.{table}"
    flags = flags + flags_of(options)
    prepared.back()
    before = rows_of(lake, table)
    arguments = ", ".join(a for a in (arguments, spark_options(options)) if a)
    expected = call(spark, lake, "rewrite_data_files", table, arguments)[0]
    theirs = facts(lake, table)
    prepared.back()
    told = result_rows(maintain(lake, "rewrite-data-files", table, "--dry-run", *flags))[0]
    assert summaries(lake, table) == prepared.summaries[table]
    found = result_rows(maintain(lake, "rewrite-data-files", table, *flags))[0]
    ours = facts(lake, table, spark)
    assert ours["rows"] == theirs["rows"] == before
    assert ours["partitions"] == theirs["partitions"]
    if name == "partial":
        assert len(summaries(lake, table)) == len(prepared.summaries[table]) + 2
    else:
        assert ours["summary"] == theirs["summary"]
    removed = found.pop("removed_delete_files_count")
    assert removed >= expected.pop("removed_delete_files_count")
    if name == "some files":
        assert found.pop("rewritten_bytes_count") < expected.pop("rewritten_bytes_count") * 1.1
    assert found == expected
    assert told["rewritten_data_files_count"] == found["rewritten_data_files_count"]
    if summaries(lake, table)[-1]["total-delete-files"] == "0":
        check_table(lake, table)
    again = result_rows(maintain(lake, "rewrite-data-files", table, *[f for f in flags if "rewrite-all" not in f]))[0]
    assert again["rewritten_data_files_count"] == 0 or name == "one partition"


METRICS = ("record_count value_counts null_value_counts nan_value_counts lower_bounds upper_bounds").split()


def metrics(lake, table):
    """Of the only data file. Java leaves NULL structs out of the counts of what is in them."""
    (file,) = live_files(lake, table)
    nested = {f.field_id for f in open_table(lake, table).schema().find_field("st").field_type.fields}
    return {
        m: {k: v for k, v in getattr(file, m).items() if k not in nested}
        if isinstance(getattr(file, m), dict) else getattr(file, m)
        for m in METRICS
    }  # fmt: skip


def test_metrics_are_exact_in_each_way(prepared, spark):
    """Bounds and counts of the one file that six become: pages merged, decoded, row groups copied, as Spark's."""
    lake, table = prepared.lake, "db.plain"
    prepared.back()
    call(spark, lake, "rewrite_data_files", table)
    expected = metrics(lake, table)
    ways = {
        "6 by page": [],
        "6 decoded": ["--strategy", "sort", "--sort-order", "id"],
        "6 copied": ["--rewrite-all"],
    }
    for way, flags in ways.items():
        prepared.back()
        if way == "6 copied":
            set_property(lake, table, "write.parquet.row-group-size-bytes", "1000")
        dry = run_calve("maintain", "rewrite-data-files", f"{lake.name}.{table}", "--dry-run", "--config",
                        lake.config_file(), *flags).check()  # fmt: skip
        assert way in dry.text, dry.text[:300]
        maintain(lake, "rewrite-data-files", table, *flags).check()
        assert metrics(lake, table) == expected, way
        assert rows_of(lake, table, spark) == prepared_rows(prepared, table)


def set_property(lake, table, key, value):
    with lake.pyiceberg().load_table(table).transaction() as change:
        change.set_properties({key: value})


def prepared_rows(prepared, table):
    """Rows as they were, from the newest snapshot that Spark made."""
    snapshot = prepared.heads[table]
    return comparable(read_pyiceberg(prepared.lake, table, snapshot_id=snapshot))


# --- Deletes that come before and after ------------------------------------------------------------------------------


def test_later_equality_deletes_apply_and_dangling_ones_go(prepared, spark):
    lake, table = prepared.lake, "db.equality"
    prepared.back()
    before = rows_of(lake, table)
    maintain(lake, "rewrite-data-files", table, "--rewrite-all").check()
    assert summaries(lake, table)[-1]["total-delete-files"] == "0"  # older than all data
    spark.run(EQUALITY_DELETE, name=f"{lake.name}.{table}", keys=[5, 1200])
    left = [r for r in before if r[0] not in (5, 1200)]
    assert rows_of(lake, table, spark) == left
    found = result_rows(maintain(lake, "rewrite-data-files", table, "--rewrite-all", "--remove-dangling-deletes"))[0]
    assert found["removed_delete_files_count"] == 1
    assert summaries(lake, table)[-1]["total-delete-files"] == "0"
    assert comparable(read_pyiceberg(lake, table)) == rows_of(lake, table, spark) == left


def test_branch(prepared, spark):
    lake, table = prepared.lake, "db.few"
    prepared.back()
    spark.sql(f"ALTER TABLE {lake.name}.{table} CREATE BRANCH side")
    head = lake.metadata(table)["current-snapshot-id"]
    found = result_rows(maintain(lake, "rewrite-data-files", table, "--branch", "side"))[0]
    assert found["rewritten_data_files_count"] == 2
    metadata = lake.metadata(table)
    assert metadata["current-snapshot-id"] == head
    assert metadata["refs"]["side"]["snapshot-id"] != head
    rows = spark.sql(f"SELECT count(*), sum(id) FROM {lake.name}.{table}.branch_side")
    assert rows == spark.sql(f"SELECT count(*), sum(id) FROM {lake.name}.{table}")


def test_order_of_the_table(prepared, spark):
    """Files have the order's id when they are sorted by it, and rows stand in it; NULLs where the order has them."""
    lake, table = prepared.lake, "db.few"
    prepared.back()
    spark.sql(f"ALTER TABLE {lake.name}.{table} WRITE ORDERED BY s DESC NULLS FIRST, bucket(4, id)")
    maintain(lake, "rewrite-data-files", table, "--strategy", "sort").check()
    (file,) = [f for f in live_files(lake, table) if f.content == DataFileContent.DATA]
    assert file.sort_order_id == lake.metadata(table)["default-sort-order-id"] != 0
    texts = read_duckdb(lake, table, ("s",))["s"].to_pylist()
    assert texts == sorted(texts, key=lambda v: (v is None, v or ""), reverse=True)
    maintain(lake, "rewrite-data-files", table, "--strategy", "sort", "--sort-order", "id", "--rewrite-all").check()
    (file,) = live_files(lake, table)
    assert not file.sort_order_id


# --- Rivals, ends in the middle, memory ------------------------------------------------------------------------------


def big_table(lake, name, files, size, properties=None):
    """Files of `size` rows that take their time, by PyIceberg."""
    lake.create_table(name, "id bigint, text string, n double", properties={ZSTD_KEY: "zstd"} | (properties or {}))
    table = lake.pyiceberg().load_table(name)
    for i in range(files):
        ids = pa.array(range(i * size, (i + 1) * size), pa.int64())
        numbers = pc.bit_wise_and(pc.multiply(ids, 2654435761), (1 << 40) - 1)
        text = pc.binary_join_element_wise(pc.cast(numbers, pa.string()), " text of row")
        table.append(pa.table({"id": ids, "text": text, "n": pc.divide(pc.cast(ids, pa.float64()), 7.0)}))


ZSTD_KEY = "write.parquet.compression-codec"


def start(lake, table, *flags, env=None):
    return subprocess.Popen(
        [job.calve_binary(), "maintain", "rewrite-data-files", f"{lake.name}.{table}", "--json", "--quiet", "--config",
         str(lake.config_file()), *flags],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | (env or {})
    )  # fmt: skip


def is_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def count_and_sum(lake, table):
    found = read_duckdb(lake, table, ("id",))
    return len(found), pc.sum(found["id"]).as_py()


def test_position_delete_meanwhile(lake, spark, duckdb):
    """Case 52 b: rows that another engine deletes while calve rewrites stay deleted; the group is planned again."""
    table = "db.t"
    lake.create_table("db.none", "id bigint")
    big_table(lake, table, 5, 100_000, {"write.delete.mode": "merge-on-read"})
    spark.add_catalog(lake)
    sort = ("--strategy", "sort", "--sort-order", "text")
    process = start(lake, table, *sort, env={"CALVE_FAULT": "manifest-written=stop"})
    with contextlib.ExitStack() as stack:
        stack.callback(process.kill)
        wait_until(lambda: process.poll() is None and is_stopped(process.pid), 30, "the step before the commit")
        spark.sql(f"DELETE FROM {lake.name}.{table} WHERE id % 100 = 3")
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "concurrent change" in err.decode()
    assert json.loads(out)[0]["rewritten_data_files_count"] == 5
    kept = [n for n in range(500_000) if n % 100 != 3]
    assert count_and_sum(lake, table) == (len(kept), sum(kept))
    assert summaries(lake, table)[-1]["total-delete-files"] == "0"
    assert {p for p in stray_files(lake, table) if p.suffix != ".crc"} == set()


FAULTS = ["rewrite-half", "manifest-written", "commit-sent", "commit-done"]


@pytest.mark.lakes("sql", "rest")
def test_killed_in_the_middle(lake, duckdb):
    """Table readable, rows right; the next run does the work, and nothing but strays are left."""
    table, rows = "db.t", (5000, sum(range(5000)))
    big_table(lake, table, 5, 1000)
    for fault in FAULTS:
        killed = maintain(lake, "rewrite-data-files", table, "--rewrite-all", env={"CALVE_FAULT": fault})
        assert killed.status == -signal.SIGKILL, killed
        assert count_and_sum(lake, table) == rows
        check_table(lake, table)
    found = result_rows(maintain(lake, "rewrite-data-files", table, "--rewrite-all"))[0]
    assert found["added_data_files_count"] == 1
    assert stray_files(lake, table)
    maintain(lake, "remove-orphan-files", table, "--older-than", "2100-01-01 00:00:00", "--table-is-idle").check()
    assert stray_files(lake, table) == set()
    assert count_and_sum(lake, table) == rows
    check_table(lake, table)


@pytest.mark.lakes("sql", "rest")
def test_failure_leaves_nothing(lake, duckdb):
    table = "db.t"
    big_table(lake, table, 5, 1000)
    for fault in ("rewrite-half", "manifest-written", "commit-sent"):
        failed = maintain(lake, "rewrite-data-files", table, env={"CALVE_FAULT": f"{fault}=fail"})
        assert failed.status == 3, failed
        assert stray_files(lake, table) == set(), fault
    assert count_and_sum(lake, table)[0] == 5000
    # An answer that got lost is looked for in the table.
    found = maintain(lake, "rewrite-data-files", table, env={"CALVE_FAULT": "commit-done=fail"})
    assert result_rows(found)[0]["rewritten_data_files_count"] == 5
    check_table(lake, table)


def test_file_above_the_target(lake, duckdb):
    """Case 53: a file that is a little larger than the target keeps all its rows; never more files than planned."""
    table = "db.t"
    big_table(lake, table, 1, 400_000)
    (file,) = live_files(lake, table)
    target = file.file_size_in_bytes * 10 // 11
    flags = [f"--target-file-size-bytes={target}", f"--max-file-size-bytes={target * 21 // 20}"]
    rows = count_and_sum(lake, table)
    maintain(lake, "rewrite-data-files", table, *flags).check()
    assert count_and_sum(lake, table) == rows
    assert len(live_files(lake, table)) <= 2
    assert all(f.file_size_in_bytes <= target * 1.026 for f in live_files(lake, table))
    check_table(lake, table)
    again = result_rows(maintain(lake, "rewrite-data-files", table, *flags))[0]
    assert again["rewritten_data_files_count"] == 0


def test_files_without_field_ids(lake, duckdb):
    """Files that were added as they are: their columns are found by name, and are not absent ones."""
    table = "db.t"
    lake.create_table(table, "id bigint, s string", properties={ZSTD_KEY: "zstd"})
    paths = []
    for i in range(5):
        file = lake.folder_of(table) / f"{i}.parquet"
        pq.write_table(pa.table({"id": [i, i + 10], "s": [f"text {i}", None]}), file, compression="zstd")
        paths.append(lake.location(file))
    lake.pyiceberg().load_table(table).add_files(paths)
    before = comparable(read_pyiceberg(lake, table))
    found = result_rows(maintain(lake, "rewrite-data-files", table))[0]
    assert found["rewritten_data_files_count"] == 5
    assert read_everywhere(lake, table) == before
    check_table(lake, table)


def test_never_more_files_than_before(lake, duckdb):
    """Case 53: five small files whose rows would fall into sixteen partitions of the new spec stay as they are."""
    table = "db.t"
    big_table(lake, table, 5, 1000)
    with lake.pyiceberg().load_table(table).update_spec() as change:
        change.add_field("id", BucketTransform(16), "id_bucket")
    head = lake.metadata(table)["current-snapshot-id"]
    left = maintain(lake, "rewrite-data-files", table)
    assert result_rows(left)[0]["rewritten_data_files_count"] == 0
    assert "left alone" in left.err
    assert lake.metadata(table)["current-snapshot-id"] == head
    assert stray_files(lake, table) == set()
    found = result_rows(maintain(lake, "rewrite-data-files", table, "--rewrite-all"))[0]
    assert (found["rewritten_data_files_count"], found["added_data_files_count"]) == (5, 16)
    assert {f.spec_id for f in live_files(lake, table)} == {1}
    assert count_and_sum(lake, table) == (5000, sum(range(5000)))


@pytest.mark.parametrize("flags", [[], ["--strategy", "sort", "--sort-order", "text"]], ids=["merged", "sorted"])
def test_memory(lake, duckdb, campaign, flags):
    """Peak memory within 256 MiB whatever the table's size."""
    table = "db.t"
    files, size = (40, 1_000_000) if campaign else (8, 250_000)
    big_table(lake, table, files, size)
    process = start(lake, table, *flags)
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        pause(0.005)
    assert process.returncode == 0, process.stderr.read()
    assert peak <= 256 << 20, f"{peak >> 20} MiB"
    rows = files * size
    assert count_and_sum(lake, table) == (rows, rows * (rows - 1) // 2)
