# SPDX-License-Identifier: Apache-2.0
"""Three independent readers of one Iceberg table: PyIceberg, DuckDB and Spark.

Each gives a PyArrow table; comparable() turns that into sorted plain rows, so that the answers of the three can be
compared with == and so can the expectation of a test. DuckDB reads through its own Iceberg extension (its own
metadata, manifest and Parquet readers), which comes from packages and not from a download at run time.
"""

import datetime
import decimal
import importlib
import json
import pathlib
import uuid

import fastavro
import pyarrow as pa
from job import local, run_calve

_EPOCH = datetime.datetime(1970, 1, 1)
_SCALE_TO_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def open_table(lake, name):
    """The table as PyIceberg sees it now; lake is a job.Lake."""
    return lake.pyiceberg().load_table(name)


def read_pyiceberg(lake, name, columns=("*",), snapshot_id=None):
    found = open_table(lake, name).scan(selected_fields=tuple(columns), snapshot_id=snapshot_id).to_arrow()
    return found if columns == ("*",) else found.select(list(columns))


def duckdb_connection(lake=None):
    """With the S3 server of a lake whose files are there."""
    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for extension in ("icu", "avro", "httpfs", "iceberg"):
        package = importlib.import_module(f"duckdb_extension_{extension}")
        folder = pathlib.Path(package.__file__).parent / "extensions"
        path = next(folder.rglob(f"{extension}.duckdb_extension"))
        connection.execute(f"LOAD '{path}'")
    connection.execute("SET TimeZone='UTC'")
    if lake is not None and lake.storage == "s3":
        has = lake.store_properties()
        connection.execute(
            f"CREATE SECRET (TYPE s3, PROVIDER config, KEY_ID '{has['s3.access-key-id']}', "
            f"SECRET '{has['s3.secret-access-key']}', REGION '{has['client.region']}', URL_STYLE 'path', "
            f"USE_SSL false, ENDPOINT '{has['s3.endpoint'].removeprefix('http://')}')"
        )
    return connection


def read_duckdb(lake, name, columns=("*",), where="true", location=None):
    location = location or open_table(lake, name).metadata_location
    if lake.storage == "local":
        location = local(location)
    names = ", ".join("*" if c == "*" else '"' + c.replace('"', '""') + '"' for c in columns)
    with duckdb_connection(lake) as connection:
        return connection.execute(f"SELECT {names} FROM iceberg_scan('{location}') WHERE {where}").fetch_arrow_table()


def read_calve(lake, name, *arguments, columns=None, like=None):
    """`calve table scan --json` as a PyArrow table: texts become values by the types of the table, or of a schema
    that another engine gave."""
    words = ["table", "scan", f"{lake.name}.{name}", "--config", lake.config_file(), "--json", *arguments]
    if columns:
        words += ["--columns", ",".join(columns)]
    found = json.loads(run_calve(*words).check().out)
    schema = like or open_table(lake, name).schema().as_arrow()
    fields = [schema.field(column) for column in columns] if columns else list(schema)
    found = [list(row.values()) for row in found]
    return pa.table({f.name: pa.array([_typed(r[i], f.type) for r in found], f.type) for i, f in enumerate(fields)})


def _typed(value, kind):
    if value is None or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return value
    if pa.types.is_struct(kind):
        return {kind.field(i).name: _typed(value[kind.field(i).name], kind.field(i).type) for i in range(len(kind))}
    if pa.types.is_map(kind):
        return [(_typed(k, kind.key_type), _typed(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_typed(v, kind.value_type) for v in value]
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_decimal(kind):
        return decimal.Decimal(value)
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    if pa.types.is_timestamp(kind):
        return datetime.datetime.fromisoformat(value)
    if pa.types.is_time(kind):
        return datetime.time.fromisoformat(value)
    if isinstance(kind, pa.UuidType):
        return uuid.UUID(value).bytes
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return bytes.fromhex(value)
    return value


def read_spark(spark, lake, name, columns=("*",)):
    names = ", ".join("*" if c == "*" else "`" + c.replace("`", "``") + "`" for c in columns)
    dotted = ".".join(f"`{part}`" for part in (lake.name, *name.split(".")))
    spark.add_catalog(lake)
    return spark.arrow(f"SELECT {names} FROM {dotted}")


def plain(value):
    """A value of any engine in one form: instants and dates as integers since 1970, bytes as hex, struct and list as
    tuples, map as a sorted tuple of pairs, decimals and floats as text (NaN equals NaN, -0.0 differs from 0.0)."""
    if isinstance(value, pa.Scalar):
        return _plain_scalar(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray)):
        return "0x" + bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return "0x" + value.hex
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return (value - _EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if isinstance(value, dict):
        return tuple(sorted((plain(k), plain(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    return str(value)


def _plain_scalar(scalar):
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if isinstance(scalar, pa.ExtensionScalar):
        return plain(scalar.value)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return scalar.value // 1000 if kind.unit == "ns" else scalar.value * _SCALE_TO_MICROS[kind.unit]
    if pa.types.is_date32(kind):
        return scalar.value
    if pa.types.is_struct(kind):
        return tuple(plain(scalar[i]) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        entries = scalar.values
        if entries is None:
            return None
        return tuple(sorted((plain(e[0]), plain(e[1])) for e in entries))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return tuple(plain(v) for v in scalar.values)
    return plain(scalar.as_py())


def _sort_key(value):
    """Any two plain values can be ordered: None first, then by type name."""
    if value is None:
        return ("", "")
    if isinstance(value, tuple):
        return ("tuple", tuple(_sort_key(v) for v in value))
    return (type(value).__name__, value)


def sort_rows(rows):
    return sorted((tuple(row) for row in rows), key=_sort_key)


def comparable(table, uuid_columns=()):
    """Sorted plain rows of a PyArrow table. Engines that lack UUID give its text: name such columns."""
    columns = []
    for name, column in zip(table.column_names, table.columns):
        values = [plain(v) for v in column]
        if name in uuid_columns:
            values = [v if v is None or v.startswith("0x") else "0x" + v.replace("-", "") for v in values]
        columns.append(values)
    return sort_rows(zip(*columns)) if columns else []


def rows(items):
    """The same form from Python rows, for expectations."""
    return sort_rows(tuple(plain(v) for v in item) for item in items)


def read_avro(path):
    """The records of a manifest or a list."""
    with open(local(path), "rb") as file:
        return list(fastavro.reader(file))


def live_files(lake, name, snapshot_id=None):
    """Data files of a snapshot as PyIceberg's own manifest reader gives them, one per live entry, in no order."""
    table = open_table(lake, name)
    snapshot = table.snapshot_by_id(snapshot_id) if snapshot_id else table.current_snapshot()
    if snapshot is None:
        return []
    found = []
    for manifest in snapshot.manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            found.append(entry.data_file)
    return found
