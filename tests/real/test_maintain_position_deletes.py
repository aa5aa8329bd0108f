# SPDX-License-Identifier: Apache-2.0
"""calve maintain rewrite-position-delete-files beside Spark's rewrite_position_delete_files on the same tables."""

import collections

import job
import pyarrow.parquet as pq
import pytest
from checks import read_everywhere, summaries
from job import local
from readers import live_files, open_table
from twins import Twins, call, maintain, result_rows, spark_history

COLUMNS = "CREATE TABLE {{t}} (id bigint, p int, s string) USING iceberg {0} TBLPROPERTIES ({1})"
VALUES = "INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id, CAST(id % 2 AS int), concat('s', id) FROM range({0}, {1})"
MODE = "'format-version'='2', 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='{0}'"
DELETES = [f"DELETE FROM {{t}} WHERE id % 11 = {n}" for n in range(6)]


def rows(files, size=300):
    return [VALUES.format(n * size, (n + 1) * size) for n in range(files)]


TABLES = {
    "partition": [COLUMNS.format("PARTITIONED BY (p)", MODE.format("partition")), *rows(3), *DELETES],
    "file": [COLUMNS.format("PARTITIONED BY (p)", MODE.format("file")), *rows(3), *DELETES],
    "plain": [COLUMNS.format("", MODE.format("partition")), *rows(2), *DELETES],
    # The first data files go and leave their deletes behind; a second spec.
    "dangling": [
        COLUMNS.format("", MODE.format("partition")), *rows(2), *DELETES,
        "INSERT OVERWRITE {t} SELECT id, 0, 'new' FROM range(1000, 1100)", "DELETE FROM {t} WHERE id % 7 = 1",
        "ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)", *rows(1), *DELETES[:5],
    ],
    "few": [COLUMNS.format("", MODE.format("partition")), *rows(1), *DELETES[:3]],
}  # fmt: skip


@pytest.fixture(scope="module")
def prepared(spark, duckdb, tmp_path_factory):
    lake = job.Lake(tmp_path_factory.mktemp("position") / "lake")
    lake.create_table("db.none", "id bigint")
    for name, statements in TABLES.items():
        spark_history(spark, lake, f"db.{name}", 2, statements)
    return Twins(lake)


def delete_files(lake, table):
    return [f for f in live_files(lake, table) if f.content.name == "POSITION_DELETES"]


def positions(lake, table):
    """Every (data file, position) that a delete file names, and how each delete file is ordered."""
    found = collections.Counter()
    for file in delete_files(lake, table):
        pairs = [(r["file_path"], r["pos"]) for r in pq.read_table(local(file.file_path)).to_pylist()]
        found.update(pairs)
        assert pairs == sorted(pairs) and len(pairs) == file.record_count
    return found


KEYS = ("operation total-records total-data-files total-delete-files total-position-deletes added-delete-files "
        "removed-delete-files added-position-delete-files removed-position-delete-files added-position-deletes "
        "removed-position-deletes changed-partition-count").split()  # fmt: skip


def facts(lake, table):
    summary = summaries(lake, table)[-1]
    sequence = {}
    for manifest in open_table(lake, table).current_snapshot().manifests(open_table(lake, table).io):
        for entry in manifest.fetch_manifest_entry(open_table(lake, table).io, discard_deleted=True):
            if entry.data_file.content.name == "POSITION_DELETES":
                sequence[entry.sequence_number] = sequence.get(entry.sequence_number, 0) + 1
    return {
        "rows": read_everywhere(lake, table),
        "positions": positions(lake, table),
        "partitions": collections.Counter((f.spec_id, str(f.partition)) for f in delete_files(lake, table)),
        "sequence": sequence,
        "summary": {k: summary.get(k) for k in KEYS},
    }


CASES = {
    "partition": ("partition", {}, ""),
    "file": ("file", {}, ""),
    "plain": ("plain", {}, ""),
    "dangling": ("dangling", {}, ""),
    "few": ("few", {}, ""),
    "all": ("few", {"rewrite-all": "true"}, ""),
    "where": ("partition", {"min-input-files": 2}, "p = 1"),
    "one by one": ("plain", {"rewrite-all": "true", "max-file-group-size-bytes": 1}, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_same_as_spark(prepared, spark, name):
    table, options, where = CASES[name]
    lake, table = prepared.lake, f"db.{table}"
    pairs = ", ".join(f"'{k}', '{v}'" for k, v in options.items())
    arguments = ", ".join(a for a in (pairs and f"options => map({pairs})", where and f"where => '{where}'") if a)
    flags = [f"--{k}={v}" for k, v in options.items()] + (["--where", where] if where else [])
    prepared.back()
    before = read_everywhere(lake, table)
    theirs_result = call(spark, lake, "rewrite_position_delete_files", table, arguments)
    theirs = facts(lake, table)
    prepared.back()
    planned = maintain(lake, "rewrite-position-delete-files", table, "--dry-run", *flags)
    ours_result = result_rows(maintain(lake, "rewrite-position-delete-files", table, *flags))
    ours = facts(lake, table)
    assert ours == theirs
    assert ours["rows"] == before
    counts = ("rewritten_delete_files_count", "added_delete_files_count", "rewritten_bytes_count")
    assert [ours_result[0][c] for c in counts] == [theirs_result[0][c] for c in counts]
    assert result_rows(planned)[0]["rewritten_delete_files_count"] == ours_result[0]["rewritten_delete_files_count"]
    again = result_rows(maintain(lake, "rewrite-position-delete-files", table, *flags))
    assert again[0]["rewritten_delete_files_count"] == 0 or "rewrite-all" in options


def test_killed_half_way(prepared, spark):
    """The table reads as before, the rerun finishes, and what was left lying is an orphan."""
    prepared.back()
    lake, table = prepared.lake, "db.partition"
    before = read_everywhere(lake, table)
    killed = maintain(lake, "rewrite-position-delete-files", table, env={"CALVE_FAULT": "rewrite-half"})
    assert killed.status == -9, killed
    assert read_everywhere(lake, table) == before
    assert result_rows(maintain(lake, "rewrite-position-delete-files", table))[0]["rewritten_delete_files_count"] == 12
    assert read_everywhere(lake, table) == before
    named = {f.file_path for f in live_files(lake, table)}
    lying = [p for p in lake.folder_of(table).rglob("*-deletes.parquet") if lake.location(p) not in named]
    assert len(lying) >= 1


def test_nothing_to_do(prepared):
    assert result_rows(maintain(prepared.lake, "rewrite-position-delete-files", "db.none")) == [
        {"rewritten_delete_files_count": 0, "added_delete_files_count": 0, "rewritten_bytes_count": 0,
         "added_bytes_count": 0}
    ]  # fmt: skip
