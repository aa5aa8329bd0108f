# SPDX-License-Identifier: Apache-2.0
"""Every table of the independent test data, in a copy: compacted, sorted, its manifests rewritten, expired and freed of
orphans; the rows stay, and other readers see them, now without the oddities that kept some from reading the original."""

import json

import foreign_tables
import pytest
from checks import referenced_files
from foreign_tables import BEYOND_PYICEBERG, FOREIGN, READABLE, UUIDS
from job import run_calve
from readers import comparable, read_calve, read_duckdb, read_pyiceberg
from twins import files_below, maintain, result_rows

FUTURE = "2100-01-01 00:00:00"
STEPS = [
    ("rewrite-data-files", ["--rewrite-all", "--remove-dangling-deletes"]),
    ("rewrite-data-files", ["--rewrite-all", "--strategy", "sort", "--sort-order", "`{first}`"]),
    ("rewrite-manifests", []),
    ("expire-snapshots", ["--older-than", FUTURE]),
    ("remove-orphan-files", ["--older-than", FUTURE, "--table-is-idle"]),
]


def scan_lines(lake, table):
    done = run_calve("table", "scan", f"{lake.name}.{table}", "--config", lake.config_file(), "--json").check()
    return sorted(json.dumps(row, sort_keys=True) for row in json.loads(done.out))


@pytest.mark.skipif(not FOREIGN, reason="no independent test data (CALVE_TESTDATA)")
@pytest.mark.parametrize("name", READABLE)
def test_upkeep(lake, duckdb, name):
    copy = foreign_tables.copy_into(lake, name, FOREIGN[name])
    table = f"foreign.{name}"
    first = (copy.metadata.get("schemas") or [copy.metadata["schema"]])[-1]["fields"][0]["name"]
    before = scan_lines(lake, table)
    for procedure, flags in STEPS:
        found = result_rows(maintain(lake, procedure, table, *[flag.format(first=first) for flag in flags]))
        assert procedure != "rewrite-data-files" or found[0]["rewritten_data_files_count"] > 0
        assert scan_lines(lake, table) == before, procedure
    for judge, found in (("PyIceberg", read_pyiceberg), ("DuckDB", read_duckdb)):
        theirs = found(lake, table)
        ours = read_calve(lake, table, like=theirs.schema)
        assert comparable(ours, UUIDS) == comparable(theirs, UUIDS), judge
    assert len(lake.metadata(table)["snapshots"]) == 1
    if name not in BEYOND_PYICEBERG:
        folder = copy.metadata_folder.parent
        there = {folder / path for path in files_below(folder)}
        assert there - referenced_files(lake, table) <= {folder / "metadata" / "version-hint.text"}
