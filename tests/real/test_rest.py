# SPDX-License-Identifier: Apache-2.0
"""Commands on a REST catalog, beside PyIceberg on the same tables: made, filled, compacted, expired, renamed, registered,
dropped. (Jobs, Spark, faults and credentials on REST are in the files of those subjects.)"""

import datetime
import json

import pyarrow as pa
import pytest
from job import Lake, run_calve

COLUMNS = "id bigint not null, name string, day date"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("day", pa.date32())])


@pytest.fixture(params=["rest-local", "rest"])
def catalog(request, tmp_path):
    made = Lake(tmp_path / "lake", request.param)
    yield made
    made.close()


def calve(lake, *words):
    return run_calve(*words, "--config", lake.config_file())


def fill(lake, name, rounds):
    table = lake.pyiceberg().load_table(name)
    for n in range(rounds):
        day = datetime.date(2026, 1, 1 + n % 2)
        table.append(pa.table({"id": [2 * n, 2 * n + 1], "name": ["a", None], "day": [day, day]}, schema=SCHEMA))


def ids(lake, name):
    return sorted(lake.pyiceberg().load_table(name).scan().to_arrow()["id"].to_pylist())


def names(lake):
    return [row["table"] for row in json.loads(calve(lake, "table", "list", lake.name, "--json").check().out)]


def test_a_table_lives_in_a_rest_catalog(catalog):
    name = f"{catalog.name}.shop.eu.orders"
    catalog.create_table("shop.eu.orders", COLUMNS, "day")
    again = calve(catalog, "table", "create", name, "--schema", COLUMNS)
    assert again.status == 3 and "409" in again.err
    fill(catalog, "shop.eu.orders", 6)
    rows = json.loads(calve(catalog, "table", "scan", name, "--json").check().out)
    assert sorted(row["id"] for row in rows) == list(range(12))
    calve(catalog, "maintain", "rewrite-data-files", name, "--rewrite-all").check()
    assert ids(catalog, "shop.eu.orders") == list(range(12))
    table = catalog.pyiceberg().load_table("shop.eu.orders")
    assert table.current_snapshot().summary.operation.value == "replace"
    assert len(table.inspect.files()) == 2
    fill(catalog, "shop.eu.orders", 1)
    calve(catalog, "maintain", "create-tag", name, "--tag", "kept").check()
    calve(catalog, "table", "set", name, "--property", "owner=me", "--remove", "write.parquet.compression-codec").check()
    table = catalog.pyiceberg().load_table("shop.eu.orders")
    assert table.properties["owner"] == "me" and "write.parquet.compression-codec" not in table.properties
    expired = calve(catalog, "maintain", "expire-snapshots", name, "--older-than", "2999-01-01 00:00:00",
                    "--retain-last", "1", "--table-is-idle")  # fmt: skip
    expired.check()
    table = catalog.pyiceberg().load_table("shop.eu.orders")
    assert len(table.snapshots()) == 1 and set(table.refs()) == {"main", "kept"}
    assert sorted(ids(catalog, "shop.eu.orders")) == sorted([*range(12), 0, 1])


def test_names_change_and_files_stay(catalog):
    catalog.create_table("shop.orders", COLUMNS)
    catalog.create_table("shop.eu.orders", COLUMNS)
    fill(catalog, "shop.orders", 2)
    assert names(catalog) == ["shop.eu.orders", "shop.orders"]
    calve(catalog, "table", "rename", f"{catalog.name}.shop.orders", f"{catalog.name}.shop.sold").check()
    assert names(catalog) == ["shop.eu.orders", "shop.sold"]
    location = catalog.pyiceberg().load_table("shop.sold").metadata_location
    calve(catalog, "table", "drop", f"{catalog.name}.shop.sold", "--yes").check()
    assert names(catalog) == ["shop.eu.orders"]
    gone = calve(catalog, "table", "show", f"{catalog.name}.shop.sold")
    assert gone.status == 3 and "NoSuchTableException" in gone.err
    calve(catalog, "maintain", "register-table", f"{catalog.name}.shop.back", "--metadata-file", location).check()
    assert ids(catalog, "shop.back") == [0, 1, 2, 3]


def test_what_is_wrong_with_a_catalog_is_told(catalog, tmp_path):
    def tried(**changes):
        entry = catalog.job_entry() | changes
        file = tmp_path / "other.json"
        file.write_text(json.dumps({"catalogs": {"other": entry}}))
        return run_calve("table", "list", "other", "--config", str(file))

    quick = {"rest.client.max-retries": 0}
    assert "no connection to" in tried(uri="http://127.0.0.1:1", **quick).err
    assert "no address for" in tried(uri="http://nowhere.invalid", **quick).err
    wrong = tried(uri=catalog.job_entry()["uri"] + "/nothing/here", **quick)
    assert wrong.status == 3 and "configuration of the server" in wrong.err


@pytest.mark.parametrize("kind", [None, "org.apache.iceberg.rest.RESTCatalog"])
def test_lines_of_sparks_configuration_are_taken(catalog, tmp_path, kind):
    """As docs/catalogs.md says: without `spark.sql.catalog.<name>.`, below the catalog's name."""
    prefix = f"spark.sql.catalog.{catalog.name}."
    lines = {k.removeprefix(prefix): v for k, v in catalog.spark_settings().items() if k.startswith(prefix)}
    if kind:
        lines = {k: v for k, v in lines.items() if k != "type"} | {"catalog-impl": kind}
    file = tmp_path / "spark.json"
    file.write_text(json.dumps({"catalogs": {catalog.name: lines}}))
    name = f"{catalog.name}.shop.t"
    run_calve("table", "create", name, "--schema", COLUMNS, "--config", file).check()
    fill(catalog, "shop.t", 1)
    assert len(json.loads(run_calve("table", "scan", name, "--json", "--config", file).check().out)) == 2
