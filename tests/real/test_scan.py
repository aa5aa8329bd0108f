# SPDX-License-Identifier: Apache-2.0
"""`calve table scan`: rows of tables that other engines wrote, beside what those engines and others read."""

import json

import foreign_tables
import job as jobs
import pytest
from foreign_tables import BEYOND_DUCKDB, BEYOND_PYICEBERG, BEYOND_SPARK, FOREIGN, READABLE, UUIDS, version_of
from job import run_calve
from readers import comparable, read_calve, read_duckdb, read_pyiceberg, read_spark


def judges(lake, spark, name, location=None):
    """What the others read of a foreign table."""
    table = f"foreign.{name}"
    if name not in BEYOND_PYICEBERG:
        yield "PyIceberg", read_pyiceberg(lake, table)
    elif name not in BEYOND_SPARK:
        yield "Spark", read_spark(spark, lake, table)
    if name not in BEYOND_DUCKDB:
        yield "DuckDB", read_duckdb(lake, table, location=location)


@pytest.mark.skipif(not FOREIGN, reason="no independent test data (CALVE_TESTDATA)")
@pytest.mark.parametrize("name", READABLE)
def test_foreign_table(lake, duckdb, spark, name):
    copy = foreign_tables.copy_into(lake, name, FOREIGN[name])
    for judge, table in judges(lake, spark, name, copy.metadata_location):
        ours = read_calve(lake, f"foreign.{name}", like=table.schema)
        assert comparable(ours, UUIDS) == comparable(table, UUIDS), judge


@pytest.mark.skipif(not FOREIGN, reason="no independent test data (CALVE_TESTDATA)")
@pytest.mark.parametrize("name", [name for name in FOREIGN if version_of(name) == 3])
def test_format_version_3_is_refused_by_name(lake, name):
    foreign_tables.copy_into(lake, name, FOREIGN[name])
    done = scan(lake, f"foreign.{name}")
    assert done.status == 2 and "version 3" in done.err, done


def scan(lake, table, *arguments):
    return run_calve("table", "scan", f"{lake.name}.{table}", "--config", lake.config_file(), *arguments)


# --- tables of Spark -----------------------------------------------------------------------------

# Values of every type, NULLs and NaN; the last columns are nested.
COLUMNS = """id bigint, i int, f float, d double, n decimal(12,2), w decimal(38,10), day date, ts timestamp,
nz timestamp_ntz, s string, b binary, flag boolean, st struct<a: int, t: struct<x: string>>, li array<struct<q: int>>,
m map<string, int>, mi map<int, string>"""
VALUES = """SELECT id, IF(id % 7 = 0, NULL, CAST(id - 50 AS int)), CAST(IF(id % 11 = 0, 'NaN', id / 3) AS float),
IF(id % 13 = 0, double('NaN'), IF(id % 17 = 0, -0.0D, id / 8)), CAST(id * 1.25 AS decimal(12,2)),
CAST(id AS decimal(38,10)) * 12345678901234567890.123, date_add(date'1969-12-20', CAST(id AS int)),
timestamp'1969-12-31 00:00:00' + make_interval(0, 0, 0, 0, CAST(id AS int), 0, 0.000001),
timestamp_ntz'2026-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS int)),
IF(id % 5 = 0, NULL, concat(chr(CAST(97 + id % 26 AS int)), repeat('xy', CAST(id % 20 AS int)))),
CAST(concat('b', id) AS binary), IF(id % 4 = 0, NULL, id % 2 = 0),
IF(id % 6 = 0, NULL, named_struct('a', CAST(id AS int), 't', IF(id % 9 = 0, NULL, named_struct('x', CAST(id AS string))))),
IF(id % 8 = 0, NULL, transform(sequence(1, CAST(id % 4 AS int)), x -> named_struct('q', x))),
IF(id % 10 = 0, NULL, map('k', CAST(id AS int), 'n', NULL)), map(CAST(id AS int), 'v')
FROM range({0}, {1})"""
MERGE_ON_READ = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"
CREATE = "CREATE TABLE {{t}} ({0}) USING iceberg {1} TBLPROPERTIES ('format-version'='2', {2})"
INSERT = "INSERT INTO {{t}} {0}"
AVRO = "'write.format.default'='avro', 'write.delete.format.default'='avro', 'write.avro.compression-codec'='{0}'"


def insert(first, last):
    return INSERT.format(VALUES.format(first, last))


# Added, dropped, added again under the old name, renamed, widened and moved; nested fields too.
EVOLVE = [
    "ALTER TABLE {t} ALTER COLUMN i TYPE bigint",
    "ALTER TABLE {t} ALTER COLUMN f TYPE double",
    "ALTER TABLE {t} ALTER COLUMN n TYPE decimal(20,2)",
    "ALTER TABLE {t} RENAME COLUMN s TO text",
    "ALTER TABLE {t} DROP COLUMN b",
    "ALTER TABLE {t} ADD COLUMN b binary",
    "ALTER TABLE {t} ADD COLUMN st.new bigint FIRST",
    "ALTER TABLE {t} RENAME COLUMN st.t TO u",
    "ALTER TABLE {t} ADD COLUMN st.u.y int",
    "ALTER TABLE {t} ALTER COLUMN li.element.q TYPE bigint",
    "ALTER TABLE {t} ADD COLUMN li.element.r string",
    "ALTER TABLE {t} ALTER COLUMN m.value TYPE bigint",
    "ALTER TABLE {t} ALTER COLUMN day FIRST",
    """INSERT INTO {t} SELECT date'2026-01-01', 900L, 5000000000L, 0.5D, 1D, 123456789012.34, 1, NULL, NULL, 'new', true,
    named_struct('new', 1L, 'a', 2, 'u', named_struct('x', 'y', 'y', 7)), array(named_struct('q', 5000000000L, 'r', 'r')),
    map('k', 5000000000L), map(1, 'w'), X'00ff'""",
]

TABLES = {
    "evolved_specs": [
        CREATE.format(COLUMNS, "PARTITIONED BY (flag)", MERGE_ON_READ + ", 'write.delete.granularity'='partition'"),
        insert(0, 60), "UPDATE {t} SET s = 'changed' WHERE id % 10 = 3",
        "ALTER TABLE {t} ADD PARTITION FIELD months(day)", insert(60, 120), "DELETE FROM {t} WHERE id % 5 = 1",
        "ALTER TABLE {t} DROP PARTITION FIELD flag", "ALTER TABLE {t} ADD PARTITION FIELD truncate(2, s)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.granularity'='file')", insert(120, 150),
        "DELETE FROM {t} WHERE id > 140 OR id = 7",
    ],
    "evolved_schema": [
        CREATE.format(COLUMNS, "", MERGE_ON_READ), insert(0, 60), *EVOLVE, "DELETE FROM {t} WHERE id < 10",
    ],
    "avro_files": [
        CREATE.format(COLUMNS, "PARTITIONED BY (days(nz))", MERGE_ON_READ + ", " + AVRO.format("gzip")), insert(0, 10),
        "DELETE FROM {t} WHERE id = 5",
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.avro.compression-codec'='snappy')", insert(10, 14),
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.avro.compression-codec'='zstd')", insert(14, 18),
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.avro.compression-codec'='uncompressed')", insert(18, 22),
    ],
    "avro_evolved": [CREATE.format(COLUMNS, "", AVRO.format("zstd")), insert(0, 60), *EVOLVE],
}  # fmt: skip

# Equality deletes through Iceberg's own writers, as Flink makes them.
EQUALITY_DELETES = """
jvm = spark._jvm
table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
schema = table.schema().select(columns)
ids = spark.sparkContext._gateway.new_array(jvm.int, len(columns))
for i, column in enumerate(columns):
    ids[i] = table.schema().findField(column).fieldId()
factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(table.schema(), table.spec(), ids, schema, None)
file = table.io().newOutputFile(table.location() + "/data/eq-" + str(jvm.java.util.UUID.randomUUID()) + "." + format)
out = jvm.org.apache.iceberg.encryption.EncryptionUtil.plainAsEncryptedOutput(file)
writer = factory.newEqDeleteWriter(out, jvm.org.apache.iceberg.FileFormat.fromString(format), None)
for row in rows:
    record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
    for column, value in row.items():
        record.setField(column, jvm.java.lang.Double.valueOf(value) if isinstance(value, float) else value)
    writer.write(record)
writer.close()
table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
"""


@pytest.fixture(scope="module")
def spark_lake(spark, tmp_path_factory):
    lake = jobs.Lake(tmp_path_factory.mktemp("scan") / "lake")
    lake.create_table("db.first", "id bigint")
    spark.add_catalog(lake)
    return lake


def make(spark, lake, name, statements):
    if any(name in found for found in lake.pyiceberg().list_tables("db")):
        return
    for statement in statements:
        spark.run("spark.sql(query)", query=statement.format(t=f"{lake.name}.db.{name}"))


def check_against_spark(spark, lake, name):
    theirs = read_spark(spark, lake, f"db.{name}")
    ours = read_calve(lake, f"db.{name}", like=theirs.schema)
    assert theirs.num_rows and comparable(ours) == comparable(theirs)


@pytest.mark.parametrize("name", TABLES)
def test_table_of_spark(spark, spark_lake, name):
    make(spark, spark_lake, name, TABLES[name])
    check_against_spark(spark, spark_lake, name)


@pytest.mark.parametrize("form", ["parquet", "avro"])
def test_equality_deletes(spark, spark_lake, form):
    """NULL deletes NULL, NaN deletes NaN; several columns; a column that is dropped later; rows written later stay."""
    name = f"equality_{form}"
    make(spark, spark_lake, name, [CREATE.format(COLUMNS, "", MERGE_ON_READ), insert(0, 100)])
    full = f"{spark_lake.name}.db.{name}"

    def delete(columns, rows):
        spark.run(EQUALITY_DELETES, name=full, columns=columns, rows=rows, format=form)

    delete(["i"], [{"i": None}, {"i": -40}, {"i": 1000}])
    delete(["i"], [{"i": -39}])
    delete(["d"], [{"d": float("nan")}, {"d": -0.0}, {"d": 1.0}])
    delete(["s", "flag"], [{"s": None, "flag": True}, {"s": "dxyxyxy", "flag": False}, {"s": "bxy", "flag": None}])
    spark.sql(f"INSERT INTO {full} {VALUES.format(95, 105)}")
    spark.sql(f"ALTER TABLE {full} ALTER COLUMN i TYPE bigint")
    check_against_spark(spark, spark_lake, name)
    before = scan(spark_lake, f"db.{name}", "--json", "--columns", "id,s").check().out
    spark.sql(f"ALTER TABLE {full} DROP COLUMN d")  # Spark cannot plan this
    assert scan(spark_lake, f"db.{name}", "--json", "--columns", "id,s").check().out == before
    assert len(json.loads(before)) < 105


def test_files_without_ids(spark, spark_lake, tmp_path):
    """Hive-like folders taken over by add_files: names through the mapping, partition values from the manifest."""
    spark_lake.only_local("the folders that are taken over lie on the local disk")
    full = f"{spark_lake.name}.db.mapped"
    query = "SELECT id, CAST(id % 3 AS int) AS p, concat('s', id) AS s, named_struct('a', id) AS st FROM range({0}, {1})"
    code = "spark.sql(query).write.partitionBy('p').format(format).save(folder)"
    spark.sql(f"CREATE TABLE {full} (id bigint, s string, st struct<a: bigint>, p int) USING iceberg PARTITIONED BY (p)")
    for start, form in enumerate(("parquet", "avro")):
        spark.run(code, query=query.format(10 * start, 10 * start + 10), format=form, folder=str(tmp_path / form))
        spark.sql(f"CALL {spark_lake.name}.system.add_files('db.mapped', '`{form}`.`{tmp_path / form}`')")
    spark.sql(f"ALTER TABLE {full} RENAME COLUMN s TO renamed")
    check_against_spark(spark, spark_lake, "mapped")


def test_orc_is_refused_by_name(spark, spark_lake):
    make(spark, spark_lake, "orc", [
        CREATE.format("id bigint", "", "'write.format.default'='orc'"), "INSERT INTO {t} VALUES (1)",
    ])  # fmt: skip
    done = scan(spark_lake, "db.orc")
    assert done.status == 2 and "format ORC are not read" in done.err and "write.format.default" in done.err, done


# --- conditions ----------------------------------------------------------------------------------

CONDITIONS = """
id = 5 | id <> 5 | 5 < id | id BETWEEN 10 AND 12 | id NOT BETWEEN 3 AND 140 | i > -45.5 | i = 2.5 | i <> 2.5 | NOT (i = 2.5)
i < 3000000000 | i > 3000000000 | i IS NULL | i IS NOT NULL AND i < -40 | i <=> NULL | NOT (i <=> -49) | i IN (1, 2, NULL)
i NOT IN (1, 2) | i NOT IN (1, NULL) | NOT (i > 5 AND s IS NULL) | f > 10 | f = 1.5 | d = 'NaN' | d > 10 | d < 0.5 | d = 0
d <= -0.0 | NOT d < 5 | n = 6.25 | n > 100.001 | n IN (1.25, 2.5, 3) | w < 12345678901234567890.5 | day = DATE '1969-12-31'
day < '1970-01-02' | day >= TIMESTAMP '1970-01-05 00:00:01' | ts >= TIMESTAMP '1970-01-01 00:00:00' | ts < DATE '1970-01-02'
nz > '2026-02-01 00:00:00' | s LIKE 'a%' | s NOT LIKE 'a%' | s LIKE 'bxy' | s >= 'm' | s IN ('a', 'b', 'dxyxyxy') | s = 'it''s'
flag | NOT flag | flag = true OR flag IS NULL | b = X'6235' | b > X'6239' | st.a = 7 | st.t.x IS NULL | st.a > 100 OR id = 1
(id = 1 OR id = 2) AND NOT (id = 2) | id = 1 OR id = 2 AND i = 9 | TRUE | FALSE | 1 = 1 AND id < 3
"""


def test_conditions_are_those_of_spark(spark, spark_lake):
    """The same rows match, and partitions, files and row groups that are left out hold none of them. Spark answers all
    in one query, as columns, so that what it leaves out itself plays no part."""
    conditions = [c.strip() for line in CONDITIONS.strip().splitlines() for c in line.split(" | ")]
    make(spark, spark_lake, "evolved_specs", TABLES["evolved_specs"])
    columns = ", ".join(f"({condition})" for condition in conditions)
    answers = spark.sql(f"SELECT id, {columns} FROM {spark_lake.name}.db.evolved_specs")
    for number, condition in enumerate(conditions, 1):
        found = scan(spark_lake, "db.evolved_specs", "--json", "--columns", "id", "--where", condition).check().out
        wanted = sorted(answer[0] for answer in answers if answer[number])
        assert sorted(row["id"] for row in json.loads(found)) == wanted, condition


def test_flags(spark, spark_lake):
    make(spark, spark_lake, "evolved_specs", TABLES["evolved_specs"])
    table = "db.evolved_specs"
    first = spark_lake.metadata(table)["snapshots"][0]["snapshot-id"]
    rows = json.loads(scan(spark_lake, table, "--json", "--columns", "s,id", "--snapshot", first, "--limit", "7").out)
    assert len(rows) == 7 and list(rows[0]) == ["s", "id"]
    assert len(json.loads(scan(spark_lake, table, "--json", "--snapshot", first).out)) == 60
    assert scan(spark_lake, table, "--limit", "0").check()
    assert "there is no column" in scan(spark_lake, table, "--columns", "nope").err
    assert "condition, column 6" in scan(spark_lake, table, "--where", "id = 'x'").err
    assert "no snapshot 7" in scan(spark_lake, table, "--snapshot", "7").err
    assert scan(spark_lake, "db.first", "--json").out == "[]\n"
