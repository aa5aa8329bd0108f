# SPDX-License-Identifier: Apache-2.0
"""Rows over every Iceberg type, from a seed: what to produce as Avro, and what a reader must give back."""

import datetime
import decimal
import io
import json
import math
import random
import struct
import uuid

import fastavro

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)


def _float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _decimal(r, precision, scale):
    limit = 10**precision
    unscaled = r.choice([0, 1, -1, limit - 1, 1 - limit, r.randrange(1 - limit, limit)])
    with decimal.localcontext(decimal.Context(prec=40)):
        return decimal.Decimal(unscaled).scaleb(-scale)


def _instant(r):
    micros = r.choice([-1, 0, 1, -62135596800000000, 253402300799999999, r.randrange(-(10**15), 2 * 10**15)])
    return EPOCH + datetime.timedelta(microseconds=micros)


def _text(r):
    mixed = "".join(r.choices("abcdef💰é", k=20))
    return r.choice(["", "a", "é", "💰", "null", "a b/c", "x" * 40, "y" * 15 + "é", mixed])


def _bytes(r):
    return r.choice([b"", b"\x00", b"\xff" * 20, r.randbytes(r.randrange(30))])


def _date(r):
    return datetime.date.fromordinal(r.choice([1, 719162, 719163, 3652059, r.randrange(1, 3652060)]))


def _time(r):
    micros = r.choice([0, 86399999999, r.randrange(86400000000)])
    return (EPOCH + datetime.timedelta(microseconds=micros)).time()


def _decimal_avro(precision, scale):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def _logical(base, kind):
    return {"type": base, "logicalType": kind}


# name: (Spark DDL type, Avro type, how to draw a value)
FLAT = {
    "b": ("boolean", "boolean", lambda r: r.random() < 0.5),
    "i": ("int", "int", lambda r: r.choice([0, -1, 2**31 - 1, -(2**31), r.randrange(-1000, 1000)])),
    "l": ("bigint", "long", lambda r: r.choice([0, -1, 2**63 - 1, -(2**63), r.randrange(-(10**12), 10**12)])),
    "f": ("float", "float", lambda r: _float32(r.choice([0.0, -0.0, 1.5, math.inf, -math.inf, r.gauss(0, 1e6)]))),
    "d": ("double", "double", lambda r: r.choice([0.0, -0.0, 5e-324, math.inf, -math.inf, r.gauss(0, 1e9)])),
    "nan": ("double", "double", lambda r: r.choice([math.nan, 3.0, r.gauss(0, 1)])),
    "d9": ("decimal(9,2)", _decimal_avro(9, 2), lambda r: _decimal(r, 9, 2)),
    "d18": ("decimal(18,4)", _decimal_avro(18, 4), lambda r: _decimal(r, 18, 4)),
    "d38": ("decimal(38,10)", _decimal_avro(38, 10), lambda r: _decimal(r, 38, 10)),
    "dt": ("date", _logical("int", "date"), _date),
    "ts": ("timestamp_ntz", _logical("long", "local-timestamp-micros"), _instant),
    "tz": ("timestamp", _logical("long", "timestamp-micros"), lambda r: _instant(r).replace(tzinfo=UTC)),
    "s": ("string", "string", _text),
    "bin": ("binary", "bytes", _bytes),
    "u": ("uuid", _logical("string", "uuid"), lambda r: uuid.UUID(int=r.getrandbits(128))),
    "fx": ("fixed[5]", {"type": "fixed", "name": "Five", "size": 5}, lambda r: r.randbytes(5)),
}
# Spark cannot load a table with a time column.
TIME = {"tm": ("time", _logical("long", "time-micros"), _time)}

_POINT = {"type": "record", "name": "Point", "fields": [
    {"name": "x", "type": ["null", "double"]}, {"name": "y", "type": ["null", "string"]}]}  # fmt: skip


def _point(r):
    return None if r.random() < 0.2 else {"x": r.choice([None, r.random()]), "y": r.choice([None, _text(r)])}


def _some(r, draw):
    return [draw(r) for _ in range(r.choice([0, 1, 2, 5]))]


NESTED = {
    "st": ("struct<x: double, y: string>", _POINT, _point),
    "li": ("array<int>", {"type": "array", "items": ["null", "int"]},
           lambda r: _some(r, lambda r: r.choice([None, r.randrange(100)]))),
    "ll": ("array<array<string>>", {"type": "array", "items": {"type": "array", "items": "string"}},
           lambda r: _some(r, lambda r: _some(r, _text))),
    "mp": ("map<string, bigint>", {"type": "map", "values": ["null", "long"]},
           lambda r: {_text(r): r.choice([None, r.randrange(100)]) for _ in range(r.choice([0, 1, 3]))}),
    "ms": ("map<string, struct<x: double, y: string>>", {"type": "map", "values": ["null", "Point"]},
           lambda r: {_text(r): _point(r) for _ in range(r.choice([0, 1, 2]))}),
}  # fmt: skip


class TypedRows:
    """nulls: none, some (a third), all."""

    def __init__(self, columns, count, nulls="some", seed=1):
        self.columns = columns
        r = random.Random(f"{seed}-{nulls}-{count}")
        chance = {"none": 0.0, "some": 0.33, "all": 1.0}[nulls]
        self.values = [
            {"n": n} | {name: None if r.random() < chance else draw(r) for name, (_, _, draw) in columns.items()}
            for n in range(count)
        ]

    @property
    def ddl(self):
        return "n bigint, " + ", ".join(f"{name} {ddl}" for name, (ddl, _, _) in self.columns.items())

    @property
    def schema(self):
        fields = [{"name": "n", "type": "long"}]
        fields += [{"name": name, "type": ["null", avro]} for name, (_, avro, _) in self.columns.items()]
        return {"type": "record", "name": "Typed", "fields": fields}

    def payloads(self):
        parsed = fastavro.parse_schema(json.loads(json.dumps(self.schema)))
        for row in self.values:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, row)
            yield out.getvalue()

    def rows(self):
        """Tuples in the order of ddl; structs as tuples, for readers.rows()."""
        return [tuple(_unnamed(v) for v in row.values()) for row in self.values]


class _Struct(tuple):
    pass


def _unnamed(value):
    """Points become tuples, maps stay dicts."""
    if isinstance(value, dict):
        if set(value) == {"x", "y"}:
            return _Struct((value["x"], value["y"]))
        return {k: _unnamed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_unnamed(v) for v in value]
    return value
