# SPDX-License-Identifier: Apache-2.0
"""Every function, operator, cast and aggregate of calve's SQL against Spark (ANSI mode, UTC): over a matrix of values
both give the same type, and per row the same value or both an error.

An expression is written once; where the two dialects spell it differently, Spark's text stands behind " ||| ". Values
that are compared with a tolerance are those of functions whose last digit documentation leaves open.
"""

import json
import math
import os
import pathlib
import subprocess

import pytest
from readers import plain
from sql_functions import APPROXIMATE, GROUPS
from sql_trees import trees

BUILD = pathlib.Path(os.environ.get("CALVE_BIN", "build/calve")).absolute().parent
DUCK = {
    "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "string": "VARCHAR",
    "binary": "BLOB", "date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip


def sql_eval(*words, **request):
    program = BUILD / "tests/sql_eval"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    run = subprocess.run([program, *words], input=json.dumps(request), capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def duck_type(ddl):
    if ddl.startswith("decimal"):
        return ddl.upper()
    if ddl.startswith("array<"):
        return duck_type(ddl[6:-1]) + "[]"
    if ddl.startswith("map<"):
        return "MAP(" + ", ".join(duck_type(t) for t in ddl[4:-1].split(",")) + ")"
    if ddl.startswith("struct<"):
        fields = (f.split(":") for f in ddl[7:-1].split(","))
        return "STRUCT(" + ", ".join(f"{n} {duck_type(t)}" for n, t in fields) + ")"
    return DUCK[ddl]


def literal(value, ddl, spark):
    """A value of a column as a literal of either engine."""
    if value is None:
        return f"CAST(NULL AS {ddl if spark else duck_type(ddl)})"
    if ddl == "binary":
        return f"X'{value.hex()}'" if spark else f"from_hex('{value.hex()}')"
    if ddl.startswith(("array<", "map<", "struct<")):
        return value[0] if spark else value[1]
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {ddl if spark else duck_type(ddl)})"


def lines(columns, rows, spark):
    """A SELECT of each row, with a column `id` from 0."""
    found = []
    for i, row in enumerate(rows):
        fields = [f"{literal(v, d, spark)} AS {n}" for v, (n, d) in zip(row, columns.items())]
        found.append(f"SELECT {i} AS id, " + ", ".join(fields))
    return found


# Types as calve's messages name them, and the Arrow stream of each query that works, else its message.
_SPARK = """
import io
import pyarrow as pa
from pyspark.sql import types as T
spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.codegen.wholeStage", "false")
spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
WORDS = {T.IntegerType: "int", T.LongType: "long", T.FloatType: "float", T.DoubleType: "double",
         T.BooleanType: "boolean", T.StringType: "string", T.BinaryType: "binary", T.DateType: "date",
         T.TimestampType: "timestamptz", T.TimestampNTZType: "timestamp"}
def word(t):
    if isinstance(t, T.DecimalType): return f"decimal({t.precision}, {t.scale})"
    if isinstance(t, T.ArrayType): return f"list<{word(t.elementType)}>"
    if isinstance(t, T.MapType): return f"map<{word(t.keyType)}, {word(t.valueType)}>"
    if isinstance(t, T.StructType): return "struct<" + ", ".join(f"{f.name}: {word(f.dataType)}" for f in t) + ">"
    return WORDS.get(type(t), str(t))
def ask(query):
    frame = spark.sql(query)
    kinds = [word(f.dataType) for f in frame.schema]
    table = frame.toArrow()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer: writer.write_table(table)
    return kinds, sink.getvalue()
def first_line(e): return str(e).strip().split(chr(10))[0][:200]
spark.conf.set("spark.sql.variable.substitute", "false")
spark.sql(relation).coalesce(1).cache().createOrReplaceTempView("t")
def fails(text, i):
    # Over constants the optimizer computes; what it leaves to run time is computed here.
    try:
        plan = spark.sql(f"SELECT {text} AS x FROM ({lines[i]})")._jdf.queryExecution().optimizedPlan()
        plan.expressions().apply(0).eval(None)
    except Exception as e: return first_line(e)
def types(text):
    try: return word(spark.sql(f"SELECT {text} AS x FROM t").schema[0].dataType)
    except Exception as e: return ("error", first_line(e))
def only_good(i):
    good = [k for k in range(len(lines)) if k not in errors[i]]
    return f"CASE WHEN id IN ({', '.join(map(str, good))}) THEN {texts[i]} END" if good else "NULL"
def values(part):
    try:
        data = ask("SELECT " + ", ".join(f"{only_good(i)} AS x{i}" for i in part) + " FROM t ORDER BY id")[1]
        return {i: (kinds[i], (data, k), errors[i]) for k, i in enumerate(part)}
    except Exception as e:
        if len(part) == 1: return {part[0]: ("error", "no row works alone: " + first_line(e), None)}
        return values(part[:len(part) // 2]) | values(part[len(part) // 2:])
kinds = [types(t) for t in texts]
sound = [i for i, k in enumerate(kinds) if isinstance(k, str)]
rows_at = [] if aggregates else range(len(lines))
errors = {i: {k: e for k in rows_at if (e := fails(texts[i], k))} for i in sound}
found = {}
for k in range(0, len(sound), 20):
    if aggregates: break
    found |= values(sound[k:k + 20])
if aggregates:
    data = ask("SELECT " + ", ".join(f"{texts[i]} AS x{i}" for i in sound) + " FROM t")[1]
    found = {i: (kinds[i], (data, k), {}) for k, i in enumerate(sound)}
result = [found.get(i) or (*kinds[i], None) for i in range(len(texts))]
"""


def from_arrow(data, index):
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return [plain(v) for v in reader.read_all().column(index)]


def from_spark(answer, rows):
    """The type's name and per row a value or an Error."""
    kind, data, errors = answer
    if kind == "error":
        return kind, data
    values = from_arrow(*(data if isinstance(data, tuple) else (data, 0))) if data else [None] * rows
    return kind, [Error(errors[i]) if i in errors else v for i, v in enumerate(values)]


class Error(str):
    pass


def split_types(text):
    """The parts of "a: int, b: list<string>" or "string, int"."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]]]


def from_calve(value, kind):
    if isinstance(value, dict):
        assert "failure" not in value, value
        return Error(value["error"])
    if value is None:
        return None
    if kind in ("float", "double"):
        return repr(float(value))
    if kind == "binary":
        return "0x" + value
    if kind.startswith("list<"):
        return tuple(from_calve(v, kind[5:-1]) for v in value)
    if kind.startswith("map<"):
        key, content = split_types(kind[4:-1])
        return tuple(sorted((from_calve(k, key), from_calve(v, content)) for k, v in value))
    if kind.startswith("struct<"):
        return tuple(from_calve(v, p.split(": ", 1)[1]) for v, p in zip(value, split_types(kind[7:-1])))
    return value


def close(a, b):
    if None in (a, b) or isinstance(a, Error) or isinstance(b, Error):
        return a == b
    return a == b or math.isclose(float(a), float(b), rel_tol=1e-14)


def used_names(tree):
    if isinstance(tree, list):
        return set().union(set(), *(used_names(t) for t in tree))
    return {tree[k] for k in ("f",) if k in tree} | used_names(tree.get("a", []))


@pytest.mark.parametrize("group", GROUPS)
def test_values_and_types_are_sparks(spark, duckdb, group):
    import duckdb as duck

    columns, rows, expressions = GROUPS[group]
    pairs = [(e.split(" ||| ")[0], e.split(" ||| ")[-1]) for e in expressions]
    with duck.connect() as connection:
        asked = trees(connection, [ours for ours, _ in pairs])
    aggregates = "aggregate" in asked[0]
    create = "CREATE TABLE t AS " + " UNION ALL ".join(lines(columns, rows, False))
    answers = sql_eval(create=create, rows=len(rows), columns=columns, expressions=asked)
    selects = lines(columns, rows, True)
    theirs = spark.run(_SPARK, 600, relation=" UNION ALL ".join(selects), lines=selects, aggregates=aggregates,
                       texts=[text for _, text in pairs])  # fmt: skip
    wrong = []
    for (text, _), tree, ours, answer in zip(pairs, asked, answers, theirs):
        wrong += differences(text, used_names(tree) & APPROXIMATE, json.loads(ours), from_spark(answer, 1 if aggregates else len(rows)), rows)
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong)


def differences(text, approximate, ours, theirs, rows):
    kind, values = theirs
    # A constant that cannot be cast is refused at once; Spark fails when the first row needs it.
    if ours[0] == "error" and any(isinstance(v, Error) for v in values) and set(map(type, values)) <= {Error, type(None)}:
        return []
    if (ours[0] == "error") != (kind == "error"):
        return [f"{text}: calve {ours[:2]}, Spark {theirs if kind == 'error' else kind}"]
    if kind == "error":
        return []
    if ours[0] != kind:
        return [f"{text}: calve's type is {ours[0]}, Spark's {kind}"]
    found = []
    for i, (mine, other) in enumerate(zip(ours[1:], values, strict=True)):
        mine = from_calve(mine, kind)
        if isinstance(mine, Error) and isinstance(other, Error):
            continue
        if not (close(mine, other) if approximate else type(mine) is type(other) and mine == other):
            found.append(f"{text} over {rows[i]}: calve {mine!r}, Spark {other!r}")
    return found[:3]


def test_every_function_is_compared():
    import duckdb as duck

    with duck.connect() as connection:
        used = set()
        for _, _, expressions in GROUPS.values():
            used |= used_names(trees(connection, [e.split(" ||| ")[0] for e in expressions]))
    # What DuckDB's parser turns into CASE, coalesce and NOT … BETWEEN before anybody sees it.
    missing = sorted(set(sql_eval("names")) - used - {"if", "ifnull", "not between"})
    assert not missing
