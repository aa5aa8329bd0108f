# SPDX-License-Identifier: Apache-2.0
"""Parquet files of other writers read by calve: every file of the independent test data has PyArrow's values (DuckDB's where
PyArrow cannot) or is refused with a message that says why; files made here by PyArrow and DuckDB cover what those lack;
broken ones never crash.

The rows come from the program of tests/unit/parquet/rows.c. CALVE_PARQUET_ROWS names it
(build/tests/unit/parquet/parquet_rows by default).
"""

import datetime
import decimal
import os
import pathlib
import subprocess
from random import Random

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")

from arrow_rows import parse, rows_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("CALVE_PARQUET_ROWS", ROOT / "build/tests/unit/parquet/parquet_rows"))
TESTDATA = pathlib.Path(os.environ.get("CALVE_TESTDATA", ROOT.parent / "shared/testdata")).resolve()
DATA = TESTDATA / "parquet"
FILES = sorted(str(p.relative_to(DATA)) for p in DATA.rglob("*.parquet*") if p.suffix in (".parquet", ".encrypted"))
needs_data = pytest.mark.skipif(not FILES, reason=f"no test data in {DATA}")

# What Iceberg has no type for, or nobody can read, and words of the message that says so.
REFUSED = {
    "encrypted": "encrypted",
    "geospatial/": "has a type that Iceberg does not have",
    "corrupt-checksum": "its checksum (CRC) is wrong",
    "unknown-logical-type": "has a type that Iceberg does not have",
    "large_string_map.brotli": "a page of 1073741828 bytes is above the limit",
}
BAD = "bad_data/"
# From the description beside the file: PyArrow 21 wraps the last one.
INT96 = [1704141296123456, 1704070800000000, 253402225200000000, 1735599600000000, None, 9089380393200000000]


def run(*arguments):
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=60)


def read(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr)
    return parse(done.stdout)


def arrow_rows(path):
    return rows_of(pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read())


@pytest.fixture(scope="module", autouse=True)
def built():
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} was not built")


def readable():
    return [f for f in FILES if BAD not in f and not any(key in f for key in REFUSED)] or ["none"]


@needs_data
@pytest.mark.parametrize("name", readable())
def test_files_of_other_writers(name):
    _, got = read(DATA / name)
    if name.endswith("int96_from_spark.parquet"):
        assert got == [[v] for v in INT96]
    elif name.endswith("incorrect_map_schema.parquet"):  # keys that are not required: PyArrow refuses them
        assert got == rows_of(duckdb.sql(f"from '{DATA / name}'").fetch_arrow_table())
    else:
        assert got == arrow_rows(DATA / name)


@needs_data
def test_what_cannot_be_read_is_refused_by_name():
    names = [(f, words) for f in FILES for key, words in REFUSED.items() if key in f]
    lines = run("count", *[DATA / f for f, _ in names]).stdout.splitlines()
    assert len(lines) == len(names) > 20
    for (name, words), line in zip(names, lines):
        assert line.startswith("error: ") and words in line, (name, line)


@needs_data
def test_bad_data_is_an_error_that_names_the_file():
    names = [f for f in FILES if BAD in f]
    done = run("count", *[DATA / f for f in names])
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) == len(names), done.stderr
    for name, line in zip(names, lines):
        if "ARROW-GH-43605" in name:  # a dictionary page that nothing refers to: only Arrow's reader was at fault
            assert line == str(len(arrow_rows(DATA / name)))
        else:
            assert line.startswith("error: FORMAT") and name in line


TABLES = sorted((TESTDATA / "iceberg-tables").rglob("*.parquet"))


@pytest.mark.skipif(not TABLES, reason=f"no tables in {TESTDATA}")
def test_files_of_iceberg_tables():
    for path in TABLES:
        schema, got = read(path)
        assert got == arrow_rows(path), path
        ids = [int(f.metadata[b"PARQUET:field_id"]) for f in pq.read_schema(path) if b"PARQUET:field_id" in (f.metadata or {})]
        if ids:
            assert [f["id"] for f in schema["fields"]] == ids


def some(r, make, nulls, count):
    """Values with nulls at random, in runs, everywhere or nowhere."""
    def is_null(i):
        return {"none": False, "some": r.random() < 0.3, "runs": i // 37 % 2 == 1, "all": True}[nulls]
    return [None if is_null(i) else make() for i in range(count)]


def flat_table(r, nulls, count):
    few = r.random() < 0.5

    def number(low, high):
        return lambda: r.randrange(low, high) if not few else low + r.randrange(5)

    def dec(precision, scale):
        return lambda: decimal.Decimal(r.randrange(1 - 10**precision, 10**precision)).scaleb(-scale, decimal.Context(prec=50))

    columns = {
        "boo": (pa.bool_(), lambda: r.random() < 0.5),
        "i8": (pa.int8(), number(-128, 128)), "i16": (pa.int16(), number(-2**15, 2**15)), "i32": (pa.int32(), number(-2**31, 2**31)),
        "i64": (pa.int64(), number(-2**63, 2**63)), "u8": (pa.uint8(), number(0, 256)), "u16": (pa.uint16(), number(0, 2**16)),
        "u32": (pa.uint32(), number(0, 2**32)), "u64": (pa.uint64(), number(0, 2**63)),
        "f16": (pa.float16(), lambda: r.choice([0.0, -0.0, 1.5, float("inf"), 6e-8, 65504.0, float("nan")])),
        "f32": (pa.float32(), lambda: r.choice([0.0, -0.0, 1.5, float("-inf"), float("nan")])), "f64": (pa.float64(), r.random),
        "d9": (pa.decimal128(9, 2), dec(9, 2)), "d18": (pa.decimal128(18, 0), dec(18, 0)), "d38": (pa.decimal128(38, 20), dec(38, 20)),
        "date": (pa.date32(), number(-700000, 2900000)), "t32": (pa.time32("ms"), number(0, 86400000)),
        "t64": (pa.time64("us"), number(0, 86400000000)), "tn": (pa.time64("ns"), number(0, 86400000000000)),
        "ms": (pa.timestamp("ms"), number(-10**13, 10**13)), "us": (pa.timestamp("us", "UTC"), number(-9 * 10**15, 9 * 10**15)),
        "ns": (pa.timestamp("ns"), number(-10**18, 10**18)),
        "s": (pa.string(), lambda: r.choice(["", "a", "é" * 9, "x" * 300, "common prefix " + str(r.randrange(50))])),
        "bin": (pa.binary(), lambda: r.randbytes(r.randrange(40))), "fx": (pa.binary(7), lambda: r.randbytes(7)),
    }
    return pa.table({name: pa.array(some(r, make, nulls, count), kind) for name, (kind, make) in columns.items()})


def nested_table(r, nulls, count):
    def listed(make):
        return lambda: some(r, make, nulls if nulls != "all" else "some", r.randrange(5))

    def number():
        return r.randrange(100)

    def struct():
        return {"a": r.choice([None, 1, 2]), "b": r.choice([None, "x", "yy"]), "c": r.choice([None, {"d": [1.5, None]}])}

    kind = pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.struct([("d", pa.list_(pa.float64()))]))])
    text = pa.map_(pa.string(), pa.list_(pa.int64()))
    columns = {
        "id": (pa.int64(), number), "st": (kind, struct), "li": (pa.list_(pa.int32()), listed(number)),
        "ll": (pa.list_(pa.list_(pa.string())), listed(listed(lambda: r.choice(["", "p", "qq"])))),
        "ls": (pa.list_(kind), listed(struct)), "m": (text, lambda: [(k, listed(number)()) for k in r.sample("abcdef", r.randrange(4))]),
        "fl": (pa.list_(pa.bool_()), listed(lambda: r.random() < 0.5)),
        "big": (pa.list_(pa.int64()), lambda: list(range(r.choice([0, 1, 700])))),
    }
    return pa.table({name: pa.array(some(r, make, nulls, count), kind) for name, (kind, make) in columns.items()})


DELTA = {"i8": "DELTA_BINARY_PACKED", "i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "us": "DELTA_BINARY_PACKED",
         "s": "DELTA_BYTE_ARRAY", "bin": "DELTA_LENGTH_BYTE_ARRAY", "fx": "DELTA_BYTE_ARRAY", "d38": "DELTA_BYTE_ARRAY", "boo": "RLE"}
SPLIT = {"i32": "BYTE_STREAM_SPLIT", "i64": "BYTE_STREAM_SPLIT", "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT",
         "d38": "BYTE_STREAM_SPLIT", "fx": "BYTE_STREAM_SPLIT", "f16": "BYTE_STREAM_SPLIT", "us": "BYTE_STREAM_SPLIT", "s": "DELTA_LENGTH_BYTE_ARRAY"}
WAYS = [
    {}, {"use_dictionary": False}, {"use_dictionary": False, "column_encoding": DELTA}, {"use_dictionary": False, "column_encoding": SPLIT},
    {"data_page_size": 100}, {"data_page_size": 100, "use_dictionary": False}, {"dictionary_pagesize_limit": 200, "data_page_size": 500},
    {"row_group_size": 41}, {"store_decimal_as_integer": True}, {"use_deprecated_int96_timestamps": True}, {"write_page_checksum": True},
    {"use_compliant_nested_type": False}, {"compression": "gzip"}, {"compression": "brotli"}, {"compression": "lz4"}, {"compression": "zstd"},
    {"compression": "none"},
]


def name_of(way):
    return ",".join(f"{k}={'…' if isinstance(v, dict) else v}" for k, v in way.items()) or "default"


def options(way, table):
    """Those that this table can have."""
    if "column_encoding" not in way:
        return way
    wanted = {k: v for k, v in way["column_encoding"].items() if k in table.column_names}
    return {"use_dictionary": False, "column_encoding": wanted} if wanted else {"use_dictionary": False}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("way", WAYS, ids=name_of)
@pytest.mark.parametrize("shape", [flat_table, nested_table], ids=["flat", "nested"])
def test_every_type_encoding_codec_and_page_version(tmp_path, shape, way, version):
    r = Random(f"{way}{version}")
    path = tmp_path / "x.parquet"
    for nulls in ("none", "some", "runs", "all"):
        table = shape(r, nulls, 130)
        pq.write_table(table, path, data_page_version=version, **options(way, table))
        batch = r.choice([0, 1, 7, 64])
        assert read(f"batch={batch}", path)[1] == rows_of(table), (nulls, batch)


def test_files_of_duckdb(tmp_path):
    path = tmp_path / "d.parquet"
    duckdb.sql("set threads = 1")
    for codec in ("zstd", "snappy", "gzip", "lz4_raw", "brotli", "uncompressed"):
        for version in ("v1", "v2") if codec == "zstd" else ("v2",):
            duckdb.sql(f"""copy (select i, i::hugeint % 7 h, (i * 1.25)::decimal(30, 3) d, case when i % 3 = 0 then 'text ' || i % 90 end s,
                date '2020-01-01' + i::int dt, ('00000000-0000-0000-0000-' || lpad(i::varchar, 12, '0'))::uuid u, i % 2 = 0 b,
                [i, null, i + 1] li, {{'a': i, 'b': [{{'c': 'x'}}]}} st, map {{'k' || i % 5: i}} m, i::float f, to_timestamp(i) ts
                from range(2500) t(i)) to '{path}' (format parquet, codec {codec}, row_group_size 2048, parquet_version {version})""")
            assert read(path)[1] == arrow_rows(path), (codec, version)


def test_files_without_ids_by_names(tmp_path):
    """A table's schema over a file that has only names: order, widening, what is missing."""
    path = tmp_path / "n.parquet"
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    table = pa.table({
        "i": pa.array([1, None, 3], pa.int32()), "f": pa.array([0.5, 1.5, None], pa.float32()),
        "d": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(9, 2)), "gone": pa.array([1, 2, 3]),
        "l": pa.array([[{"x": 1, "y": "a"}], None, []], pa.list_(inner)), "da": pa.array([datetime.date(2020, 1, 2)] * 3),
    })
    pq.write_table(table, path)
    _, got = read("schema=new string, d decimal(20,2), i bigint, f double, l array<struct<z: int, y: string>>, da date", path)
    wanted = [
        [None, "150", 1, "000000000000e03f", [[None, "61"]], 18263],
        [None, None, None, "000000000000f83f", None, 18263],
        [None, "-225", 3, None, [], 18263],
    ]
    assert got == wanted
    assert "does not become int" in run("schema=f int", path).stdout
    assert "lacks this required column" in run("schema=nothing int not null", path).stdout
    assert "has a list, the file none" in run("schema=i array<int>", path).stdout


def test_row_groups_are_skipped_by_statistics(tmp_path):
    path = tmp_path / "g.parquet"
    table = pa.table({
        "i": pa.array(range(1000)), "s": pa.array([f"{i:05d}" for i in range(1000)]), "f": pa.array([i / 4 for i in range(1000)]),
        "d": pa.array([decimal.Decimal(i) for i in range(1000)], pa.decimal128(25, 0)), "n": pa.array([None if i < 500 else i for i in range(1000)]),
        "t": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=i) for i in range(1000)], pa.timestamp("us")),
    })
    pq.write_table(table, path, row_group_size=100)

    def count(where):
        return int(run("count", f"where={where}", path).stdout)

    assert count("i >= 250") == 800
    assert count("i IN (5, 905)") == 200
    assert count("s = '00777'") == 100
    assert count("f < 25") == 100
    assert count("d > 899 OR d < 100") == 200
    assert count("n IS NOT NULL") == 500
    assert count("n IS NULL") == 500
    assert count("t >= TIMESTAMP '2020-02-10 00:00:00'") == 100
    assert count("i > 5000") == 0
    assert count("i > 250 AND i < 240") <= 200


@needs_data
def test_broken_files_never_crash(tmp_path):
    r = Random(53)
    files = [f for f in readable() if (DATA / f).stat().st_size < 30000]
    paths = []
    for i in range(800):
        data = bytearray((DATA / r.choice(files)).read_bytes())
        if r.random() < 0.2:
            del data[r.randrange(len(data)):]
        for _ in range(r.choice([1, 1, 2, 8])):
            if data:
                data[r.randrange(len(data))] = r.choice([0, 0xff, r.randrange(256)])
        paths.append(tmp_path / f"{i}.parquet")
        paths[-1].write_bytes(data)
    done = run("count", *paths)
    lines = done.stdout.splitlines()
    assert done.returncode in (0, 1) and len(lines) == len(paths), done.stderr[-2000:]
    assert sum(line.startswith("error: ") for line in lines) > 100
    assert not [line for line in lines if line.startswith("error: INTERNAL")]
