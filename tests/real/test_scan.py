# SPDX-License-Identifier: Apache-2.0
"""`calve table scan`: rows of tables that other engines wrote, beside what those engines and others read."""

import foreign_tables
import pytest
from readers import comparable, read_calve, read_duckdb, read_pyiceberg, read_spark

FOREIGN = foreign_tables.tables() if foreign_tables.folder() else {}


def version_of(name):
    import json

    return json.loads(foreign_tables.newest(FOREIGN[name]).read_text())["format-version"]


# What the judges cannot: PyIceberg reads no equality deletes, no manifests that a v1 snapshot names itself, no default
# of a uuid, and no partition value in place of a column that is required, false or a fraction; DuckDB applies the
# deletes of one partition to another and knows no such v1 snapshot either.
BEYOND_PYICEBERG = {
    "add_columns_with_defaults", "legacy_v1", "mytable", "mytable_partitioned", "partition_bool",
    "partition_decimal_bigint", "partition_decimal_hugeint", "partition_time", "partition_timestamp",
    "partition_timestamptz",
}  # fmt: skip
BEYOND_DUCKDB = {"mytable_partitioned", "legacy_v1"}
BEYOND_SPARK = {"partition_time", "add_columns_with_defaults"}
NO_DATA = {"generated_bounds"}
UUIDS = ["uuid", "col_uuid"]


@pytest.mark.skipif(not FOREIGN, reason="no independent test data (CALVE_TESTDATA)")
@pytest.mark.parametrize("name", [name for name in FOREIGN if version_of(name) < 3 and name not in NO_DATA])
def test_foreign_table(lake, duckdb, spark, name):
    copy = foreign_tables.copy_into(lake, name, FOREIGN[name])
    name_there = f"foreign.{name}"
    judged = {}
    if name not in BEYOND_PYICEBERG:
        judged["PyIceberg"] = read_pyiceberg(lake, name_there)
    elif name not in BEYOND_SPARK:
        judged["Spark"] = read_spark(spark, lake, name_there)
    if name not in BEYOND_DUCKDB:
        judged["DuckDB"] = read_duckdb(lake, name_there, location=copy.metadata_location)
    for judge, table in judged.items():
        ours = read_calve(lake, name_there, like=table.schema)
        assert comparable(ours, UUIDS) == comparable(table, UUIDS), judge
