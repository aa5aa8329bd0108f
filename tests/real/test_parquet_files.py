# SPDX-License-Identifier: Apache-2.0
"""Parquet files of calve read by PyArrow, DuckDB and Spark: equal values, field ids, statistics, page index, metrics.

The files come from the program of tests/unit/parquet/files.c, which writes beside each one the rows that a reader should
find. CALVE_PARQUET_FILES names it (build/tests/unit/parquet/parquet_files by default).
"""

import decimal
import json
import os
import pathlib
import struct
import subprocess
from random import Random

import pytest

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pq = pytest.importorskip("pyarrow.parquet")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("CALVE_PARQUET_FILES", ROOT / "build/tests/unit/parquet/parquet_files"))

FLAT = (
    "boo boolean, i int, l bigint NOT NULL, f float, d double, d9 decimal(9,2), d18 decimal(18,4), d38 decimal(38,10), "
    "d19 decimal(19,4), da date, ti time, ts timestamp, tn timestamp_ntz, s string, u uuid, fx fixed[5], f4 fixed[4], f8 fixed[8], b binary"
)
NESTED = (
    "id bigint NOT NULL, st struct<a: int, b: string NOT NULL, c: struct<x: double NOT NULL, y: decimal(20,3)>>, "
    "li array<string>, ll array<array<int>>, ls array<struct<p: bigint, q: array<boolean>>>, m map<string,int>, "
    "mm map<int,map<string,array<date>>>, req struct<k: int NOT NULL, v: array<int> NOT NULL> NOT NULL"
)
ODD_NAMES = "`a.b` int, `1x` string, `é` double, `sp ace` array<int>"
CODECS = ["zstd", "snappy", "gzip", "lz4_raw", "none"]


def make(path, schema, **options):
    command = [str(PROGRAM), f"out={path}", f"schema={schema}"]
    command += [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with open(f"{path}.rows") as lines:
        rows = [json.loads(line) for line in lines]
    with open(f"{path}.metrics") as text:
        metrics = json.load(text)
    return rows, metrics


def hex_of_float(code, value):
    return "nan" if value != value else struct.pack(code, value).hex()


def plain(scalar):
    """A PyArrow scalar in the form of the expected rows; any NaN is one word."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.ExtensionScalar):
        return plain(scalar.value)
    if pa.types.is_temporal(kind):
        return scalar.value
    if pa.types.is_decimal(kind):
        return str(int(scalar.as_py().scaleb(kind.scale, decimal.Context(prec=60))))
    if pa.types.is_float32(kind):
        return hex_of_float("<f", scalar.as_py())
    if pa.types.is_float64(kind):
        return hex_of_float("<d", scalar.as_py())
    if pa.types.is_string(kind):
        return scalar.as_py().encode().hex()
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return scalar.as_py().hex()
    if pa.types.is_struct(kind):
        return [plain(scalar[i]) for i in range(kind.num_fields)]
    if pa.types.is_map(kind):
        return [[plain(entry[0]), plain(entry[1])] for entry in scalar.values]
    if pa.types.is_list(kind):
        return [plain(v) for v in scalar.values]
    return scalar.as_py()


def read_rows(table):
    columns = [[plain(v) for v in column] for column in table.columns]
    return [list(row) for row in zip(*columns)]


def normal(rows, schema):
    """NaNs of the expected rows as one word."""
    return [[_normal(v, f.type) for v, f in zip(row, schema)] for row in rows]


def _normal(value, kind):
    if value is None:
        return None
    if pa.types.is_float32(kind):
        number = struct.unpack("<f", bytes.fromhex(value))[0]
        return "nan" if number != number else value
    if pa.types.is_float64(kind):
        number = struct.unpack("<d", bytes.fromhex(value))[0]
        return "nan" if number != number else value
    if pa.types.is_struct(kind):
        return [_normal(v, f.type) for v, f in zip(value, kind)]
    if pa.types.is_map(kind):
        return [[_normal(k, kind.key_type), _normal(v, kind.item_type)] for k, v in value]
    if pa.types.is_list(kind):
        return [_normal(v, kind.value_type) for v in value]
    return value


def check(path, rows):
    file = pq.ParquetFile(path)
    table = file.read()
    assert table.num_rows == len(rows) == file.metadata.num_rows
    assert read_rows(table) == normal(rows, table.schema)
    return file


@pytest.fixture(scope="module", autouse=True)
def built():
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} was not built")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("nulls", ["none", "some", "runs", "all"])
@pytest.mark.parametrize("schema", [FLAT, NESTED], ids=["flat", "nested"])
def test_every_type_codec_and_null_pattern(tmp_path, schema, codec, nulls):
    for values in ("few", "many", "runs"):
        path = tmp_path / f"{values}.parquet"
        rows, _ = make(path, schema, codec=codec, nulls=nulls, values=values, rows=601, batch=180, page_rows=110)
        check(path, rows)


@pytest.mark.parametrize("options", [
    {"page_rows": 1}, {"page_bytes": 1}, {"page_rows": 7, "group_bytes": 20000}, {"group_bytes": 1}, {"dictionary_bytes": 0},
    {"dictionary_bytes": 500}, {"dictionary_bytes": 3000, "values": "runs"}, {"delta": "true"}, {"delta": "true", "values": "few"},
    {"delta": "true", "dictionary_bytes": 0, "nulls": "none"}, {"select": "odd"}, {"select": "parts"}, {"rows": 0}, {"rows": 1},
    {"codec": "zstd", "level": 19}, {"codec": "gzip", "level": 1}, {"metrics": "none"}, {"batch": 1, "rows": 300},
], ids=lambda o: ",".join(f"{k}={v}" for k, v in o.items()))
@pytest.mark.parametrize("schema", [FLAT, NESTED, ODD_NAMES], ids=["flat", "nested", "names"])
def test_limits_and_encodings(tmp_path, schema, options):
    rows, metrics = make(tmp_path / "f.parquet", schema, **({"rows": 1300, "nulls": "some", "values": "many"} | options))
    file = check(tmp_path / "f.parquet", rows)
    meta = file.metadata
    assert metrics["record_count"] == meta.num_rows and metrics["file_size"] == (tmp_path / "f.parquet").stat().st_size
    assert len(metrics["split_offsets"]) == meta.num_row_groups
    for g in range(meta.num_row_groups):
        first = meta.row_group(g).column(0)
        start = first.dictionary_page_offset or first.data_page_offset
        assert metrics["split_offsets"][g] == start
    by_id = {c["id"]: c["size"] for c in metrics["columns"]}
    sizes = [sum(meta.row_group(g).column(c).total_compressed_size for g in range(meta.num_row_groups))
             for c in range(meta.num_columns)]
    assert sorted(by_id.values()) == sorted(sizes)


def field_ids(kind, out):
    for field in ([kind.field(i) for i in range(kind.num_fields)] if pa.types.is_nested(kind) else []):
        if pa.types.is_map(kind):
            break
        out.append(int(field.metadata[b"PARQUET:field_id"]))
        field_ids(field.type, out)
    if pa.types.is_map(kind):
        for field in (kind.key_field, kind.item_field):
            out.append(int(field.metadata[b"PARQUET:field_id"]))
            field_ids(field.type, out)


def test_field_ids_logical_types_and_footer(tmp_path):
    make(tmp_path / "f.parquet", NESTED, rows=10)
    file = pq.ParquetFile(tmp_path / "f.parquet")
    found = []
    for field in file.schema_arrow:
        found.append(int(field.metadata[b"PARQUET:field_id"]))
        field_ids(field.type, found)
    assert sorted(found) == list(range(1, len(found) + 1))
    schema = json.loads(file.metadata.metadata[b"iceberg.schema"])
    assert schema["type"] == "struct" and schema["fields"][0]["id"] == 1
    assert file.metadata.created_by.startswith("calve version ")
    text = str(file.schema)
    for line in ("optional group field_id=3 li (List)", "repeated group field_id=-1 list", "repeated group field_id=-1 key_value"):
        assert line in text, text


def test_statistics_and_page_index_bound_every_page(tmp_path):
    """DuckDB and PyArrow filter by them; here they are compared with the values."""
    rows, metrics = make(tmp_path / "f.parquet", FLAT, rows=5000, nulls="runs", values="many", page_rows=300, group_bytes=60000)
    file = check(tmp_path / "f.parquet", rows)
    meta = file.metadata
    assert meta.num_row_groups > 1
    table = file.read()
    for c in range(meta.num_columns):
        for g in range(meta.num_row_groups):
            chunk = meta.row_group(g).column(c)
            assert chunk.has_offset_index
            assert chunk.statistics.null_count == file.read_row_group(g, [chunk.path_in_schema]).column(0).null_count
    for name in ("i", "l", "f", "d", "s", "b", "fx", "ts", "da"):
        low, high = pc.min_max(table.column(name)).values()
        c = table.schema.get_field_index(name)
        stats = [meta.row_group(g).column(c).statistics for g in range(meta.num_row_groups)]
        stats = [s for s in stats if s.has_min_max]
        assert min(s.min for s in stats) == low.as_py(), name
        assert max(s.max for s in stats) == high.as_py(), name


def test_nan_and_signed_zero(tmp_path):
    rows, metrics = make(tmp_path / "f.parquet", "f float, d double", rows=4000, values="few", page_rows=100)
    check(tmp_path / "f.parquet", rows)
    by_id = {c["id"]: c for c in metrics["columns"]}
    for i, (code, column) in enumerate((("<f", 0), ("<d", 1))):
        values = [struct.unpack(code, bytes.fromhex(r[column]))[0] for r in rows]
        real = [v for v in values if v == v]
        assert by_id[i + 1]["nans"] == len(values) - len(real) > 0
        assert struct.unpack(code, bytes.fromhex(by_id[i + 1]["lower"]))[0] == min(real)
        assert struct.unpack(code, bytes.fromhex(by_id[i + 1]["upper"]))[0] == max(real)
    meta = pq.ParquetFile(tmp_path / "f.parquet").metadata
    for c in range(2):
        stats = meta.row_group(0).column(c).statistics
        assert stats.min == stats.min and stats.max == stats.max


def test_struct_leaf_counts_nulls_above_it(tmp_path):
    rows, metrics = make(tmp_path / "f.parquet", "s struct<m: double NOT NULL>, l array<int>", rows=1000, nulls="some")
    column = {c["id"]: c for c in metrics["columns"]}
    assert column[3]["values"] == 1000 and column[3]["nulls"] == sum(r[0] is None for r in rows) > 0
    assert column[4]["values"] == -1 and column[4]["lower"] is None and column[4]["size"] > 0


def test_required_column_that_holds_a_null_is_refused(tmp_path):
    command = [str(PROGRAM), f"out={tmp_path}/f.parquet", "schema=a int", "rows=5", "codec=brotli"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1 and "CONFIG" in result.stderr and "brotli" in result.stderr
    for bad in ("page-rows=0", "group-bytes=-1", "page-bytes=x", "level=99"):
        result = subprocess.run(command[:-1] + [bad], capture_output=True, text=True)
        assert result.returncode == 1 and result.stderr.startswith("CONFIG"), bad
        assert not (tmp_path / "f.parquet").exists()


def test_a_dictionary_that_did_not_pay_is_not_tried_at_once(tmp_path):
    make(tmp_path / "f.parquet", "s string, k bigint", rows=3000, values="many", files=3)
    for suffix in ("", ".1", ".2"):
        file = pq.ParquetFile(f"{tmp_path}/f.parquet{suffix}")
        assert "PLAIN" in file.metadata.row_group(0).column(0).encodings
        with open(f"{tmp_path}/f.parquet{suffix}.rows") as lines:
            rows = [json.loads(line) for line in lines]
        check(f"{tmp_path}/f.parquet{suffix}", rows)


@pytest.mark.parametrize("nulls", ["none", "some", "runs"])
@pytest.mark.parametrize("values", ["few", "many"])
@pytest.mark.parametrize("schema", [FLAT, NESTED], ids=["flat", "nested"])
def test_duckdb_reads_the_same(tmp_path, schema, nulls, values):
    duckdb = pytest.importorskip("duckdb")
    make(tmp_path / "f.parquet", schema, nulls=nulls, values=values, rows=2000, page_rows=300, group_bytes=50000)
    ours = pq.read_table(tmp_path / "f.parquet")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        theirs = connection.execute(f"SELECT * FROM '{tmp_path}/f.parquet'").fetch_arrow_table()
        for name, left, right in zip(ours.column_names, ours.columns, theirs.columns):
            if name == "u":
                left = [None if v is None else str(v) for v in left.to_pylist()]
                right = [None if v is None else str(v) for v in right.to_pylist()]
            else:
                left, right = left.to_pylist(), right.to_pylist()
            assert repr(left) == repr(right), name
        for name in ("i", "d9", "s", "ts", "d38", "u") if schema is FLAT else ():
            got = connection.execute(
                f'SELECT count(*) FROM \'{tmp_path}/f.parquet\' WHERE "{name}" >= (SELECT max("{name}") FROM '
                f"'{tmp_path}/f.parquet')").fetchone()[0]
            assert got >= 1, name


PRIMITIVES = ["boolean", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(15,3)", "decimal(22,7)", "date", "time",
              "timestamp", "timestamp_ntz", "string", "binary", "uuid", "fixed[3]", "fixed[4]", "fixed[16]"]


def random_type(random, depth):
    shape = random.random()
    if depth > 3 or shape < 0.5:
        return random.choice(PRIMITIVES)
    if shape < 0.7:
        return f"array<{random_type(random, depth + 1)}>"
    if shape < 0.82:
        return f"map<{random.choice(PRIMITIVES)},{random_type(random, depth + 1)}>"
    return f"struct<{random_fields(random, depth + 1, 3)}>"


def random_fields(random, depth, most):
    return ", ".join(f"f{i} {random_type(random, depth)}{random.choice(['', ' NOT NULL'])}".replace(" ", ": " if depth else " ", 1)
                     for i in range(random.randint(1, most)))


@pytest.mark.parametrize("seed", range(20))
def test_random_tables(tmp_path, campaign, seed):
    random = Random(seed)
    for i in range(40 if campaign else 2):
        schema = random_fields(random, 0, 4)
        options = dict(
            rows=random.choice([0, 1, 7, 100, 700]), nulls=random.choice(["none", "some", "runs", "all"]),
            values=random.choice(["few", "many", "runs"]), codec=random.choice(CODECS),
            page_rows=random.choice([1, 3, 100, 999, 1000, 1001, 20000]), page_bytes=random.choice([1, 100, 5000, 1000000]),
            group_bytes=random.choice([1000, 30000, 1 << 27]), dictionary_bytes=random.choice([0, 50, 1000, 2000000]),
            delta=random.choice(["false", "true"]), batch=random.choice([1, 10, 333, 8192]),
            select=random.choice(["all", "odd", "parts"]), seed=random.randint(1, 10**9))
        path = tmp_path / f"{i}.parquet"
        rows, _ = make(path, schema, **options)
        try:
            check(path, rows)
        except BaseException:
            print(schema, options)
            raise


# Types that Spark SQL has; uuid, time and fixed columns are read through tables in test_tables.py.
SPARK_FLAT = (
    "boo boolean, i int, l bigint NOT NULL, f float, d double, d9 decimal(9,2), d18 decimal(18,4), d38 decimal(38,10), "
    "d19 decimal(19,4), da date, ts timestamp, tn timestamp_ntz, s string, b binary"
)


def sorted_rows(table):
    return sorted(json.dumps(row) for row in read_rows(table))


@pytest.mark.parametrize("options", [
    {"nulls": "runs", "values": "runs"}, {"nulls": "some", "values": "many", "dictionary_bytes": 2000, "codec": "lz4_raw"},
], ids=lambda o: ",".join(f"{k}={v}" for k, v in o.items()))
def test_spark_reads_the_same_and_filters_by_the_page_index(tmp_path, spark, options):
    path = tmp_path / "f.parquet"
    rows, _ = make(path, SPARK_FLAT, rows=6000, page_rows=250, group_bytes=150000, **options)
    table = pq.read_table(path)
    theirs = spark.arrow(f"SELECT * FROM parquet.`{path}`")
    assert sorted_rows(theirs) == sorted_rows(table) == sorted(json.dumps(r) for r in normal(rows, table.schema))
    for name in ("i", "d18", "ts", "s", "d"):
        column = table.column(name)
        value = next((v for v in column.slice(4321) if v.is_valid and v.as_py() == v.as_py()), None)
        if value is None:
            continue
        low = pc.sum(pc.equal(column, value)).as_py()
        query = f"SELECT count(*), count(l), count(s) FROM parquet.`{path}` WHERE {name} = {spark_literal(value)}"
        got = spark.sql(query)[0]
        both = pc.and_(pc.equal(column, value), pc.is_valid(table.column("s")))
        assert got == (low, low, pc.sum(both).as_py() or 0), name


def spark_literal(value):
    text = value.as_py()
    if pa.types.is_string(value.type):
        return "'" + text.replace("'", "\\'") + "'"
    if pa.types.is_date(value.type):
        return f"DATE '{text}'"
    if pa.types.is_timestamp(value.type):
        return f"timestamp_micros({value.value})"
    if pa.types.is_decimal(value.type):
        return f"CAST('{text}' AS DECIMAL({value.type.precision},{value.type.scale}))"
    if pa.types.is_floating(value.type):
        return f"double('{text!r}')"
    return f"{text}L" if value.type == pa.int64() else str(text)


@pytest.mark.parametrize("schema", [SPARK_FLAT, NESTED], ids=["flat", "nested"])
@pytest.mark.parametrize("options", [{"values": "few"}, {"values": "many"}],
                         ids=lambda o: ",".join(f"{k}={v}" for k, v in o.items()))
def test_the_java_library_reads_the_same(tmp_path, spark, schema, options):
    path = tmp_path / "data" / "f.parquet"
    path.parent.mkdir()
    make(path, schema, rows=3000, page_rows=400, group_bytes=100000, **({"nulls": "some"} | options))
    for beside in path.parent.glob("*.rows"), path.parent.glob("*.metrics"):
        for file in list(beside):
            file.unlink()
    name = f"java{abs(hash(str(tmp_path)))}"
    spark.run(
        "for k, v in settings.items(): spark.conf.set(k, v)",
        settings={f"spark.sql.catalog.{name}": "org.apache.iceberg.spark.SparkCatalog",
                  f"spark.sql.catalog.{name}.type": "hadoop", f"spark.sql.catalog.{name}.warehouse": f"file://{tmp_path}/wh"})
    # Without NOT NULL: Spark's way to Arrow fails on a required field below a null struct.
    ddl = schema.replace(" NOT NULL", "")
    spark.sql(f"CREATE TABLE {name}.db.t ({ddl}) USING iceberg")
    spark.sql(f"CALL {name}.system.add_files(table => 'db.t', source_table => '`parquet`.`{path.parent}`')")
    ours = pq.read_table(path)
    theirs = spark.arrow(f"SELECT * FROM {name}.db.t")
    assert sorted_rows(theirs) == sorted_rows(ours)
