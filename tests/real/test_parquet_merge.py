# SPDX-License-Identifier: Apache-2.0
"""Parquet files merged without decoding: PyArrow and DuckDB read from the result what they read from the inputs, and its
counts, bounds and statistics are those of its rows.

Inputs come from calve's writer (tests/unit/parquet/files.c) and from PyArrow; the merger is driven by merger.c.
"""

import datetime
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
duckdb = pytest.importorskip("duckdb")

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = pathlib.Path(os.environ.get("CALVE_PARQUET_FILES", ROOT / "build/tests/unit/parquet/parquet_files"))
MERGE = FILES.parent / "parquet_merger"

FLAT = (
    "boo boolean, i int, l bigint NOT NULL, f float, d double, d9 decimal(9,2), d18 decimal(18,4), d38 decimal(38,10), "
    "da date, ti time, ts timestamp, s string, u uuid, fx fixed[5], b binary, q string NOT NULL"
)
NESTED = (
    "id bigint NOT NULL, st struct<a: int, b: string NOT NULL, c: struct<x: double NOT NULL, y: decimal(20,3)>>, "
    "li array<string>, ll array<array<int>>, m map<string,int>, req struct<k: int NOT NULL, v: array<int> NOT NULL> NOT NULL"
)


def known(path, columns):
    """The metrics of a file as the merger reads them: (id, values, nulls, nans, lower, upper), bounds as bytes or None."""
    def word(bound):
        return "-" if bound is None else "x" + bound.hex()
    with open(f"{path}.known", "w") as out:
        for field, values, nulls, nans, lower, upper in columns:
            out.write(f"{field} {values} {nulls} {nans} {word(lower)} {word(upper)}\n")


def write(path, schema, **options):
    command = [str(FILES), f"out={path}", f"schema={schema}"]
    command += [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    columns = json.loads(pathlib.Path(f"{path}.metrics").read_text())["columns"]
    def bound(text):
        return None if text is None else bytes.fromhex(text)
    columns = [(c["id"], c["values"], c["nulls"], c["nans"], bound(c.get("lower")), bound(c.get("upper"))) for c in columns]
    known(path, columns)
    return columns


def merge(out, schema, paths, **options):
    """The ways that were taken and the metrics of the result by field id."""
    command = [str(MERGE), f"out={out}", f"schema={schema}"]
    command += [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
    done = subprocess.run(command + [str(p) for p in paths], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ways = [line.split(":")[0] for line in lines[:len(paths)]]
    columns = {}
    for line in lines[len(paths) + 1:]:
        field, values, nulls, nans, lower, upper = line.split()
        bounds = [None if b == "-" else bytes.fromhex(b[1:]) for b in (lower, upper)]
        columns[int(field)] = (int(values), int(nulls), int(nans), *bounds)
    return ways, columns


def same(out, paths):
    """Equal rows in equal order for PyArrow, equal rows for DuckDB; returns the merged file."""
    file = pq.ParquetFile(out)
    merged = file.read()
    merged.validate(full=True)
    wanted = pa.concat_tables([pq.ParquetFile(p).read().cast(merged.schema) for p in paths])
    assert merged.num_rows == wanted.num_rows
    for name in wanted.column_names:
        got, want = merged[name], wanted[name]
        if not got.equals(want):  # NaN is not equal to itself
            assert repr(got.combine_chunks().to_pylist()) == repr(want.combine_chunks().to_pylist()), name
    listed = ", ".join(f"'{p}'" for p in paths)
    with duckdb.connect() as db:
        for a, b in ((f"'{out}'", f"[{listed}]"), (f"[{listed}]", f"'{out}'")):
            query = f"SELECT count(*) FROM (SELECT * FROM read_parquet({a}) EXCEPT ALL SELECT * FROM read_parquet({b}))"
            assert db.execute(query).fetchone()[0] == 0
    return file


def key_of(kind):
    """Order of single-value bytes of a type."""
    def real(code):
        return lambda b: (struct.unpack(code, b)[0], not b[-1] & 0x80)
    keys = {
        "boolean": lambda b: b[0], "float": real("<f"), "double": real("<d"), "string": bytes, "binary": bytes,
        "fixed": bytes, "uuid": bytes,
    }
    if kind.startswith("decimal"):
        return lambda b: int.from_bytes(b, "big", signed=True)
    return keys.get(kind, lambda b: int.from_bytes(b, "little", signed=True))


FLAT_KINDS = ["boolean", "int", "long", "float", "double", "decimal", "decimal", "decimal", "date", "time", "timestamp", "string",
              "uuid", "fixed", "binary", "string"]


def united(kind, inputs):
    """What a column's metrics are in one file of all rows, by what they are in each."""
    values, nulls, nans = (sum(c[i] for c in inputs) if inputs[0][i] >= 0 else -1 for i in (1, 2, 3))
    with_values = [c for c in inputs if c[2] + max(c[3], 0) < c[1]]
    lower = upper = None
    if with_values and all(c[4] is not None and c[5] is not None for c in with_values):
        key = key_of(kind)
        lower = min((c[4] for c in with_values), key=key)
        upper = max((c[5] for c in with_values), key=key)
    if kind == "uuid" and lower is not None and lower[0] < 128 <= upper[0]:
        lower = upper = None
    return values, nulls, nans, lower, upper


def statistics_are_right(file):
    """Null counts and bounds of every row group against its rows."""
    for g in range(file.num_row_groups):
        table = file.read_row_group(g)
        group = file.metadata.row_group(g)
        for c in range(group.num_columns):
            chunk = group.column(c)
            if "." in chunk.path_in_schema or chunk.path_in_schema not in table.column_names:
                continue
            column = table[chunk.path_in_schema]
            stats = chunk.statistics
            assert stats.null_count == column.null_count, chunk.path_in_schema
            kind = column.type
            if not stats.has_min_max or not (pa.types.is_integer(kind) or pa.types.is_date(kind)):
                continue
            assert stats.min == pc.min(column).as_py() and stats.max == pc.max(column).as_py()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("schema", [FLAT, NESTED], ids=["flat", "nested"])
def test_random_files_of_calve(tmp_path, schema, seed):
    random = Random(f"{schema}{seed}")
    codec = random.choice(["zstd", "snappy", "none", "gzip", "lz4_raw"])
    mode = random.choice(["full", "truncate(16)", "counts"])
    paths, inputs = [], []
    for n in range(random.randint(1, 5)):
        path = tmp_path / f"{n}.parquet"
        options = {
            "rows": random.choice([1, 50, 700]), "seed": random.randint(1, 10**6), "nulls": random.choice(["none", "some", "runs", "all"]),
            "values": random.choice(["few", "many", "runs"]), "page_rows": random.choice([7, 100, 20000]),
            "group_bytes": random.choice([3000, 10**8]), "dictionary_bytes": random.choice([0, 600, 10**6]), "codec": codec,
            "metrics": mode, "delta": random.choice(["false", "false", "true"]),
        }
        inputs.append(write(path, schema, **options))
        paths.append(path)
    out = tmp_path / "out.parquet"
    limits = {"group_bytes": random.choice([2000, 30000, 10**8]), "page_rows": random.choice([20, 1000, 20000]),
              "dictionary_bytes": random.choice([100, 3000, 10**6])}
    ways, columns = merge(out, schema, paths, codec=codec, metrics=mode, **limits)
    assert "decode" not in ways
    file = same(out, paths)
    statistics_are_right(file)
    if schema == FLAT:
        for field, kind in enumerate(FLAT_KINDS, 1):
            wanted = united(kind, [next(c for c in columns_of if c[0] == field) for columns_of in inputs])
            assert columns[field] == wanted, (field, kind)


def cut(column):
    """Bounds of a column of texts as truncate(16) keeps them."""
    texts = [t for t in column.to_pylist() if t is not None]
    if not texts:
        return None, None
    lower, upper = min(texts, key=str.encode), max(texts, key=str.encode)
    above = upper if len(upper) <= 16 else upper[:15] + chr(ord(upper[15]) + 1)
    return lower[:16].encode(), above.encode()


def pyarrow_table(random, rows, few):
    def values(make):
        pool = [make() for _ in range(13)]
        return [None if random.random() < 0.2 else random.choice(pool) if few else make() for _ in range(rows)]

    def field(name, kind, number, nullable=True):
        return pa.field(name, kind, nullable, {b"PARQUET:field_id": str(number).encode()})

    # What is never null may be required in the file though the table has it as optional.
    element, strict = field("element", pa.string(), 11), random.random() < 0.5
    inner = field("x", pa.int32(), 12, not strict or random.random() < 0.5)
    schema = pa.schema([
        field("i", pa.int32(), 1), field("l", pa.int64(), 2, False), field("s", pa.string(), 3), field("b", pa.bool_(), 4),
        field("d", pa.decimal128(12, 3), 5), field("w", pa.decimal128(25, 3), 6), field("t", pa.timestamp("us", "UTC"), 7),
        field("li", pa.list_(element), 8), field("r", pa.int32(), 9, not strict),
        field("st", pa.struct([inner]), 10, not strict or random.random() < 0.5),
    ])
    return pa.table([
        values(lambda: random.randint(-2**31, 2**31 - 1)), [random.randint(-9, 9) for _ in range(rows)],
        values(lambda: random.choice("abcé") * random.randint(0, 20)), values(lambda: random.random() < 0.5),
        values(lambda: decimal.Decimal(random.randint(-10**11, 10**11)).scaleb(-3)),
        values(lambda: decimal.Decimal(random.randint(-10**20, 10**20)).scaleb(-3)),
        values(lambda: datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=random.randint(0, 10**6))),
        values(lambda: [random.choice("xyz") * random.randint(0, 3) for _ in range(random.randint(0, 3))]),
        [random.randint(0, 99) for _ in range(rows)],
        [{"x": random.randint(0, 9) if n % 3 or strict else None} if n % 5 or not schema.field("st").nullable else None
         for n in range(rows)],
    ], schema=schema)


PYARROW_DDL = ("i int, l bigint NOT NULL, s string, b boolean, d decimal(12,3), w decimal(25,3), t timestamp, li array<string>, r int, "
               "st struct<x: int>")


@pytest.mark.parametrize("seed", range(10))
def test_random_files_of_pyarrow(tmp_path, seed):
    random = Random(seed)
    codec = random.choice(["zstd", "snappy", "none", "gzip"])
    paths = []
    tables = []
    for n in range(random.randint(1, 5)):
        table = pyarrow_table(random, random.choice([1, 60, 900]), random.random() < 0.6)
        path = tmp_path / f"{n}.parquet"
        pq.write_table(
            table, path, compression=codec, data_page_version=random.choice(["1.0", "2.0"]), use_dictionary=random.random() < 0.7,
            write_page_index=random.random() < 0.5, row_group_size=random.choice([50, 10**6]), data_page_size=random.choice([200, 10**6]),
            store_decimal_as_integer=True, write_batch_size=random.choice([10, 1000]))
        known(path, [(3, table.num_rows, table["s"].null_count, -1, *cut(table["s"]))])  # PyArrow tells not whether it cut them
        paths.append(path)
        tables.append(table)
    out = tmp_path / "out.parquet"
    ways, columns = merge(
        out, PYARROW_DDL, paths, codec=codec, metrics="truncate(16)", group_bytes=random.choice([2000, 10**8]),
        page_rows=random.choice([20, 1000]), dictionary_bytes=random.choice([100, 3000, 10**6]))
    assert "decode" not in ways
    statistics_are_right(same(out, paths))
    column, texts = (pa.chunked_array([c for t in tables for c in t[name].chunks]) for name in ("i", "s"))
    assert columns[3][3:] == cut(texts)
    assert columns[1][:2] == (len(column), column.null_count)
    for bound, function in ((columns[1][3], pc.min), (columns[1][4], pc.max)):
        value = function(column).as_py()
        assert bound == (None if value is None else struct.pack("<i", value))


def test_ways_and_their_reasons(tmp_path):
    write(tmp_path / "a.parquet", "a int, s string", rows=500, codec="zstd", group_bytes=2000, metrics="full", dictionary_bytes=0)
    out = 0

    def way(schema, **options):
        nonlocal out
        out += 1
        command = [str(MERGE), f"out={tmp_path}/out{out}", f"schema={schema}"]
        command += [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
        return subprocess.run(command + [str(tmp_path / "a.parquet")], capture_output=True, text=True, check=True).stdout.splitlines()[0]

    assert way("a int, s string", group_bytes=2000).startswith("copy") is False
    assert way("a int, s string", group_bytes=300) == "copy"
    assert way("a int, s string") == "pages: small row groups"
    assert way("x int, y string") == "pages: small row groups"  # names are not in the pages
    assert way("a int, s string, n array<int>") == "pages: small row groups"  # all null in the file
    assert way("a int") == "pages: small row groups"  # dropped
    assert way("a bigint, s string") == "decode: column a: another type"
    assert way("a int NOT NULL, s string") == "decode: column a: optional in the file"
    assert way("a int, s string, n int NOT NULL") == "decode: column n: not in the file"
    assert way("a int, s string", codec="snappy") == "decode: codec zstd, table has snappy"
    os.remove(tmp_path / "a.parquet.known")
    assert way("a int, s string") == "pages: small row groups"  # the footer is exact


def test_added_and_dropped_columns(tmp_path):
    paths = []
    for n in range(3):
        paths.append(tmp_path / f"{n}.parquet")
        write(paths[-1], "a int, s string", rows=3000, seed=n + 1, nulls="some", values="few", codec="zstd")
    out = tmp_path / "out.parquet"
    ways, columns = merge(out, "b int, t string, n struct<x: int, y: array<string>>", paths)
    assert ways == ["pages"] * 3
    merged = pq.read_table(out)
    wanted = pa.concat_tables([pq.read_table(p) for p in paths])
    assert merged.column_names == ["b", "t", "n"]
    assert merged["b"].to_pylist() == wanted["a"].to_pylist()
    assert merged["n"].null_count == 9000
    assert columns[4][:2] == (9000, 9000)
