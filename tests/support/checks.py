# SPDX-License-Identifier: Apache-2.0
"""What must hold for every table that calve wrote, whatever the test was about."""

import collections
import json

import pyarrow as pa
import pyarrow.parquet as pq
from job import local
from pyiceberg.types import StructType
from readers import comparable, live_files, open_table, read_duckdb, read_pyiceberg, read_spark, sort_rows


def snapshots(lake, table):
    """From the metadata file itself, oldest first."""
    return lake.metadata(table)["snapshots"]


def summaries(lake, table):
    return [s["summary"] for s in snapshots(lake, table)]


def position(lake, table, job):
    """The position of a job in the newest snapshot that has one."""
    for summary in reversed(summaries(lake, table)):
        if f"calve.position.{job}" in summary:
            return json.loads(summary[f"calve.position.{job}"])
    return None


def epochs(lake, table):
    return [int(s["spark.sql.streaming.epochId"]) for s in summaries(lake, table)]


def read_everywhere(lake, table, spark=None, columns=("*",), uuid_columns=()):
    """The rows, the same in DuckDB, PyIceberg and, where a session is given, Spark."""
    found = comparable(read_duckdb(lake, table, columns), uuid_columns)
    blurred = _blurred_columns(lake, table, columns)
    other = comparable(read_pyiceberg(lake, table, columns), uuid_columns)
    assert _blur(other, blurred) == _blur(found, blurred), "PyIceberg and DuckDB differ"
    if spark is not None:
        assert comparable(read_spark(spark, lake, table, columns), uuid_columns) == found, "Spark and DuckDB differ"
    return found


def _blurred_columns(lake, table, columns):
    """PyIceberg 0.11 gives a NULL list or map of structs as an empty one: places of such columns, in which the two are
    taken for equal. DuckDB and Spark tell them apart."""
    fields = open_table(lake, table).schema().fields
    if columns != ("*",):
        fields = [next(f for f in fields if f.name == name) for name in columns]
    return [
        i
        for i, f in enumerate(fields)
        if isinstance(getattr(f.field_type, "value_type", getattr(f.field_type, "element_type", None)), StructType)
    ]


def _blur(found, places):
    if not places:
        return found
    return sort_rows(tuple(() if i in places and v is None else v for i, v in enumerate(row)) for row in found)


def check_table(lake, table):
    """Invariants of the files: no path twice, every file there with as many rows and bytes as the manifest says, totals
    of the summary right, an id on every Parquet column, and each live snapshot's epoch once."""
    files = live_files(lake, table)
    paths = [f.file_path for f in files]
    assert len(paths) == len(set(paths)), "a data file path is in two live entries"
    for file in files:
        path = local(file.file_path)
        assert path.stat().st_size == file.file_size_in_bytes, path
        footer = pq.ParquetFile(path)
        assert footer.metadata.num_rows == file.record_count, path
        for field in footer.schema_arrow:
            assert_field_ids(field, path)
    snapshot = open_table(lake, table).current_snapshot()
    if snapshot is not None:
        summary = snapshot.summary
        assert int(summary["total-data-files"]) == len(files)
        assert int(summary["total-records"]) == sum(f.record_count for f in files)
        assert int(summary["total-files-size"]) == sum(f.file_size_in_bytes for f in files)
    written = collections.Counter(
        (s["spark.sql.streaming.queryId"], s["spark.sql.streaming.epochId"])
        for s in summaries(lake, table)
        if "spark.sql.streaming.queryId" in s and s["operation"] == "append"  # maintenance carries them forward
    )
    assert all(n == 1 for n in written.values()), f"an epoch was committed twice: {written}"


def assert_field_ids(field, path):
    """Every node has an id: columns, fields of structs, elements, keys and values."""
    assert b"PARQUET:field_id" in (field.metadata or {}), (path, field)
    kind = field.type
    if pa.types.is_map(kind):
        children = [kind.key_field, kind.item_field]
    elif pa.types.is_list(kind):
        children = [kind.value_field]
    else:
        children = [kind.field(i) for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []
    for child in children:
        assert_field_ids(child, path)


def referenced_files(lake, table):
    """All files that the current metadata reaches, from every snapshot."""
    opened = open_table(lake, table)
    found = {local(opened.metadata_location)}
    found |= {local(entry.metadata_file) for entry in opened.metadata.metadata_log}
    for snapshot in opened.metadata.snapshots:
        found.add(local(snapshot.manifest_list))
        for manifest in snapshot.manifests(opened.io):
            found.add(local(manifest.manifest_path))
            for entry in manifest.fetch_manifest_entry(opened.io, discard_deleted=False):
                found.add(local(entry.data_file.file_path))
    return found


def stray_files(lake, table):
    """Files below the table that nothing references: leftovers of a crash, and nothing else may look otherwise."""
    folder = lake.folder_of(table)
    there = {p for p in folder.rglob("*") if p.is_file()}
    stray = there - referenced_files(lake, table) - {folder / "metadata" / "version-hint.text"}
    allowed = (".parquet", ".avro", ".metadata.json", ".tmp", ".crc")
    assert all(p.name.endswith(allowed) for p in stray), stray
    return stray


def added_files(summary):
    return int(summary.get("added-data-files", 0))
