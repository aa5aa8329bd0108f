# SPDX-License-Identifier: Apache-2.0
"""Every table of the independent test data, in a copy: compacted, its manifests rewritten, expired and freed of orphans;
the rows stay, for calve and for other readers. Partition types differ only at full length."""

import json
import os

import foreign_tables
import pytest
from checks import referenced_files
from job import run_calve
from readers import comparable, read_duckdb, read_pyiceberg
from test_scan import BEYOND_DUCKDB, BEYOND_PYICEBERG, FOREIGN, NO_DATA, UUIDS, version_of
from twins import files_below, maintain, result_rows

FUTURE = "2100-01-01 00:00:00"
TABLES = [name for name in FOREIGN if version_of(name) < 3 and name not in NO_DATA]
if os.environ.get("CALVE_CAMPAIGN") != "1":
    TABLES = [name for name in TABLES if not name.startswith("partition_")]
STEPS = [
    ("rewrite-data-files", ["--rewrite-all"]),
    ("rewrite-manifests", []),
    ("expire-snapshots", ["--older-than", FUTURE]),
    ("remove-orphan-files", ["--older-than", FUTURE, "--table-is-idle"]),
]


def scan_lines(lake, table):
    done = run_calve("table", "scan", f"{lake.name}.{table}", "--config", lake.config_file(), "--json").check()
    return sorted(json.dumps(row, sort_keys=True) for row in json.loads(done.out))


@pytest.mark.skipif(not FOREIGN, reason="no independent test data (CALVE_TESTDATA)")
@pytest.mark.parametrize("name", TABLES)
def test_upkeep(lake, duckdb, name):
    copy = foreign_tables.copy_into(lake, name, FOREIGN[name])
    table = f"foreign.{name}"
    before = scan_lines(lake, table)
    others = []
    if name not in BEYOND_PYICEBERG:
        others.append(lambda: comparable(read_pyiceberg(lake, table), UUIDS))
    if name not in BEYOND_DUCKDB:
        others.append(lambda: comparable(read_duckdb(lake, table), UUIDS))
    judged = [read() for read in others]
    for procedure, flags in STEPS:
        result_rows(maintain(lake, procedure, table, *flags))
        assert scan_lines(lake, table) == before, procedure
    assert [read() for read in others] == judged
    if name not in BEYOND_PYICEBERG:
        folder = copy.metadata_folder.parent
        there = {folder / path for path in files_below(folder)}
        assert there - referenced_files(lake, table) <= {folder / "metadata" / "version-hint.text"}
