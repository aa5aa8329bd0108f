# SPDX-License-Identifier: Apache-2.0
"""Arrow tables as the rows that tests/unit/parquet/print_rows.h prints: floats as the hex of their bits (any NaN is one word),
decimals as the text of the unscaled value, bytes as hex, times in microseconds, structs and lists as lists, maps as lists of
pairs."""

import decimal
import json
import struct

import pyarrow as pa
import pyarrow.compute as pc

MICROS = {"s": 1000000, "ms": 1000, "us": 1}


def hex_of_float(code, value):
    return "nan" if value != value else struct.pack(code, value).hex()


def _each(array, change):
    return [None if v is None else change(v) for v in array.to_pylist()]


def _micros(kind, array):
    numbers = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return _each(numbers, lambda v: v // 1000 if kind.unit == "ns" else v * MICROS[kind.unit])


def _nested(kind, array):
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        columns = [values(child) for child in array.flatten()]
        rows = [list(row) for row in zip(*columns)] if columns else [[]] * len(array)
        return [row if ok else None for row, ok in zip(rows, valid)]
    if pa.types.is_map(kind):
        entries = [list(pair) for pair in zip(values(array.keys), values(array.items))]
    else:
        entries = values(array.values)
    offsets = array.offsets.to_pylist()
    return [entries[a:b] if ok else None for a, b, ok in zip(offsets, offsets[1:], valid)]


def values(array):
    """The values of an Arrow array in that form."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in values(chunk)]
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return values(array.storage)
    if pa.types.is_dictionary(kind):
        return values(array.dictionary_decode())
    if pa.types.is_nested(kind):
        return _nested(kind, array)
    if pa.types.is_date32(kind):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return _micros(kind, array)
    if pa.types.is_decimal(kind):
        context = decimal.Context(prec=60)
        return _each(array, lambda v: str(int(v.scaleb(kind.scale, context))))
    if pa.types.is_float16(kind):
        return values(array.cast(pa.float32()))
    if pa.types.is_float32(kind):
        return _each(array, lambda v: hex_of_float("<f", v))
    if pa.types.is_float64(kind):
        return _each(array, lambda v: hex_of_float("<d", v))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _each(pc.cast(array, pa.large_binary()), bytes.hex)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _each(array, bytes.hex)
    return array.to_pylist()


def rows_of(table):
    """The rows of a table."""
    return [list(row) for row in zip(*[values(column) for column in table.columns])]


def _normal(value, kind):
    if value is None:
        return None
    if kind in ("float", "double"):
        number = struct.unpack("<f" if kind == "float" else "<d", bytes.fromhex(value))[0]
        return "nan" if number != number else value
    if isinstance(kind, str):
        return value
    if kind["type"] == "struct":
        return [_normal(v, f["type"]) for v, f in zip(value, kind["fields"])]
    if kind["type"] == "map":
        return [[_normal(k, kind["key"]), _normal(v, kind["value"])] for k, v in value]
    return [_normal(v, kind["element"]) for v in value]


def parse(text):
    """What parquet_rows printed: the Iceberg schema, and the rows with any NaN as one word."""
    lines = text.splitlines()
    schema = json.loads(lines[0])
    return schema, [_normal(json.loads(line), schema) for line in lines[1:]]
