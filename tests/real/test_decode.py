# SPDX-License-Identifier: Apache-2.0
"""Decoding through the whole program: Avro with a registry, JSON, the modes, and what a registry's outage does
(cases 12, 13, 15, 17, 18, 19, 21, 22, 23, 25). Bytes and expectations are those of the reported cases."""

import json
import math
import struct
import time

import pytest
from checks import check_table, read_everywhere, snapshots
from job import Job
from kafka_client import Record, produce
from orders import encode, frame
from readers import live_files, plain, rows


class Decoding:
    """One topic, and tables that its records are decoded into."""

    def __init__(self, lake, broker, topic, registry, value_options):
        self.lake = lake
        self.broker = broker
        self.topic = topic
        self.registry = registry
        self.value_options = value_options
        self.count = 0

    def register(self, schema, subject=None, references=()):
        return self.registry.register(subject or f"{self.topic}-value", schema, references)

    def send(self, *values):
        produce(self.broker.bootstrap, self.topic, list(values))

    def job(self, columns, kind="avro", mode=None, partitioned_by=None, select=None, **value):
        self.count += 1
        table = f"db.t{self.count}"
        self.lake.create_table(table, columns, partitioned_by)
        options = dict(self.value_options) if kind == "avro" else {"format": kind}
        if mode:
            options["mode"] = mode
        return Job(self.lake, self.broker, table, self.topic, value=options | value, select=select)

    def rows(self, columns, *arguments, **options):
        """Runs a job and reads its table in PyIceberg and DuckDB, in the order of the offsets."""
        job = self.job(columns, *arguments, **options)
        job.run().check()
        self.last = job
        check_table(self.lake, job.table)
        return read_everywhere(self.lake, job.table, uuid_columns=("u",))

    def refuse(self, columns, *arguments, **options):
        """The run must fail; returns its output and checks that nothing was committed."""
        job = self.job(columns, *arguments, **options)
        done = job.run()
        assert done.status in (2, 3), done
        assert snapshots(self.lake, job.table) == [], done
        return done


@pytest.fixture
def decoding(lake, broker, topic, registry, value_options, duckdb):
    return Decoding(lake, broker, topic, registry, value_options)


def record(*fields, name="R", **more):
    return {"type": "record", "name": name, "fields": [dict(f) for f in fields], **more}


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def hexed(schema_id, text):
    return frame(schema_id, bytes.fromhex(text))


# --- Avro ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "writer, payload, column, expected",
    [
        (["null", "int"], "02 0e", "bigint", 7),
        ("int", "0e", "bigint", 7),
        (["int", "null"], "00 0e", "int", 7),
        ({"type": "array", "items": "int"}, "04 02 04 00", "array<bigint>", (1, 2)),
        ("float", "00 00 c0 3f", "double", "1.5"),
        ("long", "0e", "bigint", 7),
    ],
    ids=["nullable-int-long", "int-long", "null-second", "items", "float-double", "same"],
)
def test_promotion(decoding, writer, payload, column, expected):
    """Case 12. The table is the reader; the branch order of the writer decides."""
    schema_id = decoding.register(record(field("v", writer)))
    decoding.send(hexed(schema_id, payload))
    assert decoding.rows(f"v {column}") == [(expected,)]


@pytest.mark.parametrize("writer, payload", [(["null", "int"], "02 0e"), ("int", "0e"), (["long", "null"], "00 0e")])
def test_promotion_to_the_reader_schema_of_a_file(decoding, writer, payload):
    """Case 12: what Avro promotes (int to double) is wider than what Iceberg lets a table's column take by itself."""
    schema_id = decoding.register(record(field("v", writer)))
    decoding.send(hexed(schema_id, payload))
    path = decoding.lake.folder / "reader.avsc"
    path.write_text(json.dumps(record(field("v", ["null", "double"]))))
    assert decoding.rows("v double", **{"schema.file": str(path)}) == [("7.0",)]


def test_narrowing_is_one_error_of_the_schema(decoding):
    """Case 12: double into int is found once, before any record."""
    schema_id = decoding.register(record(field("v", "double")))
    decoding.send(hexed(schema_id, "00 00 00 00 00 00 f8 3f"), hexed(schema_id, "00 00 00 00 00 00 f8 3f"))
    done = decoding.refuse("v int", mode="DROPMALFORMED")
    assert "v" in done.text and "double" in done.text and "int" in done.text


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}


def test_decimals(decoding):
    """Case 13, as partition values too."""
    schema_id = decoding.register(record(field("id", "int"), field("v", DECIMAL)))
    payloads = ["ff", "00", "0080", "80", "", "7f" * 9]
    for n, text in enumerate(payloads):
        size = len(text) // 2
        decoding.send(frame(schema_id, bytes([n * 2, size * 2]) + bytes.fromhex(text)))
    found = decoding.rows("id int, v decimal(10,2)", mode="DROPMALFORMED", partitioned_by="v")
    assert found == [(0, "-0.01"), (1, "0.00"), (2, "1.28"), (3, "-1.28")]
    files = live_files(decoding.lake, decoding.last.table)
    assert sorted(str(f.partition[0]) for f in files) == ["-0.01", "-1.28", "0.00", "1.28"]
    assert sum(p["numInputRows"] for p in decoding.last.batches()) >= 4


def test_decimal_fixed(decoding):
    kind = {"type": "fixed", "name": "F", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 0}
    schema_id = decoding.register(record(field("v", kind)))
    decoding.send(frame(schema_id, b"\xff" * 16), frame(schema_id, b"\x00" * 15 + b"\x05"))
    assert decoding.rows("v decimal(38,0)") == [("-1",), ("5",)]


def test_blocks_with_negative_counts(decoding):
    """Case 15, decoded and skipped by projection."""
    array = {"type": "array", "items": "long"}
    schema_id = decoding.register(record(field("n", "int"), field("v", array), field("z", "int")))
    good = ["03 04 02 04 00", "02 02 03 04 04 06 00"]
    bad = ["ff ff ff ff ff ff ff ff ff 01", "80 80 80 80 80 80 01 02 02 02"]
    for n, text in enumerate(good + bad):
        decoding.send(hexed(schema_id, f"{n * 2:02x} {text} 0e" if n < 2 else f"{n * 2:02x} {text}"))
    found = decoding.rows("n int, v array<bigint>, z int", mode="DROPMALFORMED")
    assert found == [(0, (1, 2), 7), (1, (1, 2, 3), 7)]
    found = decoding.rows("n int, z int", mode="DROPMALFORMED", select="value.n, value.z")
    assert found == [(0, 7), (1, 7)]


def test_map_blocks(decoding):
    schema_id = decoding.register(record(field("v", {"type": "map", "values": "long"})))
    decoding.send(hexed(schema_id, "01 06 02 61 02 00"), hexed(schema_id, "02 02 61 02 00"))
    assert decoding.rows("v map<string,bigint>") == [((("a", 1),),)] * 2


def test_recursive_schema_is_refused_with_its_path(decoding):
    """Case 17."""
    schema = record(field("v", "long"), field("next", ["null", "N"]), name="N")
    schema_id = decoding.register(schema)
    decoding.send(hexed(schema_id, "02 00"))
    done = decoding.refuse("v bigint, next struct<v: bigint>")
    assert "next.next" in done.text, done


def test_empty_record(decoding):
    """Case 17: a field whose record has no fields has no column; the file stays valid."""
    schema_id = decoding.register(record(field("v", "long"), field("k", record(name="KeepAlive"))))
    decoding.send(hexed(schema_id, "02"), hexed(schema_id, "04"))
    assert decoding.rows("v bigint", select="value.v") == [(1,), (2,)]


ENUM = {"type": "enum", "name": "Color", "symbols": ["A", "B", "C"]}


def test_alias_namespace_and_enum_of_a_reader_schema(decoding):
    """Case 18: a reader schema in a file renames the field and narrows the enum with a default."""
    writer = record(field("old", "string"), field("color", ENUM), namespace="a")
    schema_id = decoding.register(writer)
    decoding.send(hexed(schema_id, "02 78 04"))
    narrow = {"type": "enum", "name": "Color", "symbols": ["A", "B"]}
    for default, expected in (({"default": "B"}, [("x", "B")]), ({}, [])):
        reader = record(
            field("new", "string", aliases=["old"]),
            field("color", narrow | default),
            namespace="b",
            aliases=["a.R"],
        )
        path = decoding.lake.folder / "reader.avsc"
        path.write_text(json.dumps(reader))
        options = {"mode": "DROPMALFORMED", "schema.file": str(path)}
        assert decoding.rows("new string, color string", **options) == expected


def test_fixed_schema_file_without_framing(decoding):
    schema = record(field("a", "int"), field("b", ["null", "string"]))
    path = decoding.lake.folder / "fixed.avsc"
    path.write_text(json.dumps(schema))
    decoding.send(bytes.fromhex("0e 02 02 78"), bytes.fromhex("10 00"))
    decoding.value_options = {"format": "avro", "schema.file": str(path)}
    assert decoding.rows("a int, b string") == [(7, "x"), (8, None)]


def test_fixed_schema_file_with_framing(decoding):
    """The reader's fields are those of the file, the writer's come by id."""
    schema_id = decoding.register(record(field("a", "int"), field("gone", "string")))
    path = decoding.lake.folder / "reader.avsc"
    path.write_text(json.dumps(record(field("a", "long"), field("b", "string", default="none"))))
    decoding.send(hexed(schema_id, "0e 02 78"))
    assert decoding.rows("a bigint, b string", **{"schema.file": str(path)}) == [(7, "none")]


def test_references(decoding):
    """Case 18: a schema with a reference whose referent has a reference itself."""
    topic = decoding.topic
    zone = {"type": "record", "name": "Zone", "namespace": "x", "fields": [field("code", "string")]}
    address = {"type": "record", "name": "Addr", "namespace": "x", "fields": [field("zone", "x.Zone")]}
    decoding.register(zone, f"{topic}-zone")
    decoding.register(address, f"{topic}-addr", [{"name": "x.Zone", "subject": f"{topic}-zone", "version": 1}])
    outer = {"type": "record", "name": "P", "namespace": "y", "fields": [field("id", "int"), field("a", "x.Addr")]}
    schema_id = decoding.register(outer, None, [{"name": "x.Addr", "subject": f"{topic}-addr", "version": 1}])
    decoding.send(hexed(schema_id, "02 04 4e 57"))
    assert decoding.rows("id int, a struct<zone: struct<code: string>>") == [(1, (("NW",),))]


def test_short_names_resolve_in_their_namespace(decoding):
    """Case 18: the same short name in two namespaces."""
    first = record(field("v", "int"), name="T", namespace="a")
    second = record(field("v", "string"), name="T", namespace="b")
    again = record(field("t", "T"), name="U", namespace="b")
    schema_id = decoding.register(record(field("x", first), field("y", second), field("z", again), namespace="top"))
    decoding.send(hexed(schema_id, "0e 02 70 02 71"))
    columns = "x struct<v: int>, y struct<v: string>, z struct<t: struct<v: string>>"
    assert decoding.rows(columns) == [((7,), ("p",), (("q",),))]


FRAMES = ["00 {id} 02 0e", "7b 22 61", "00 00 00", "00 000f423f 02 0e", "01" + " aa" * 16, "00 {id} 02 10"]


def test_framing(decoding):
    """Case 19: FAILFAST stops at the second value and shows its first bytes; the other modes pass."""
    schema_id = decoding.register(record(field("v", ["null", "int"])))
    decoding.send(*(bytes.fromhex(text.format(id=f"{schema_id:08x}")) for text in FRAMES))
    done = decoding.refuse("v int")
    assert f"{decoding.topic}[0]@1" in done.text and "7b" in done.text.lower(), done
    assert decoding.rows("v int", mode="DROPMALFORMED") == [(7,), (8,)]
    assert decoding.last.offsets(0) == {decoding.topic: {"0": 6}}
    assert decoding.rows("v int", mode="PERMISSIVE") == rows([(7,), (8,), *[(None,)] * 4])
    assert decoding.rows("v int NOT NULL", mode="PERMISSIVE") == [(7,), (8,)]


def test_logical_types(decoding):
    """All logical types, with values before 1970."""
    logical = [
        ("d", "int", "date", -1, "date", -1),
        ("tm", "int", "time-millis", 1, "time", 1000),
        ("tu", "long", "time-micros", 1, "time", 1),
        ("am", "long", "timestamp-millis", -1, "timestamp", -1000),
        ("au", "long", "timestamp-micros", -1, "timestamp", -1),
        ("lm", "long", "local-timestamp-millis", -1, "timestamp_ntz", -1000),
        ("lu", "long", "local-timestamp-micros", 5, "timestamp_ntz", 5),
    ]
    uid = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    fields = [field(n, {"type": base, "logicalType": kind}) for n, base, kind, *_ in logical]
    fields.append(field("u", {"type": "string", "logicalType": "uuid"}))
    schema_id = decoding.register(record(*fields))

    def zigzag(value):
        value = (value << 1) ^ (value >> 63)
        out = b""
        while value > 0x7F:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    payload = b"".join(zigzag(item[3]) for item in logical) + zigzag(36) + uid.encode()
    decoding.send(frame(schema_id, payload))
    columns = ", ".join(f"{n} {column}" for n, _, _, _, column, _ in logical) + ", u uuid"
    found = decoding.rows(columns)
    assert [tuple(v for v in found[0][:-1])] == [tuple(item[5] for item in logical)]
    assert found[0][-1].replace("-", "").removeprefix("0x") == uid.replace("-", "")


def test_avro_null_against_a_default(decoding):
    """Case 25: an explicit null stays null."""
    schema_id = decoding.register(record(field("note", ["string", "null"], default="none")))
    decoding.send(hexed(schema_id, "02"), hexed(schema_id, "00 02 78"))
    assert decoding.rows("note string") == [(None,), ("x",)]


def test_nested_avro(decoding):
    inner = record(field("x", "int"), field("tags", {"type": "array", "items": ["null", "string"]}), name="In")
    schema = record(field("s", ["null", inner]), field("m", {"type": "map", "values": ["null", "In"]}))
    schema_id = decoding.register(schema)
    values = [
        {"s": {"x": 1, "tags": ["a", None]}, "m": {"k": {"x": 2, "tags": []}, "l": None}},
        {"s": None, "m": {}},
    ]
    decoding.send(*(frame(schema_id, encode(schema, v)) for v in values))
    columns = "s struct<x: int, tags: array<string>>, m map<string, struct<x: int, tags: array<string>>>"
    assert decoding.rows(columns) == [
        (None, ()),
        ((1, ("a", None)), (("k", (2, ())), ("l", None))),
    ]


# --- The registry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["refuse", "500", "503"])
def test_registry_outage_is_waited_out(decoding, mode):
    """Neither a bad record nor the end: the batch goes on when the registry is back."""
    schema_id = decoding.register(record(field("v", "int")))
    decoding.send(hexed(schema_id, "0e"))
    job = decoding.job("v int", mode="DROPMALFORMED")
    proxy = decoding.registry.proxy
    with proxy.failing(mode):
        running = job.start("--available-now")
        time.sleep(2.5)
        running.alive()
    with running:
        assert running.wait(40) == 0, running.log()
    assert read_everywhere(decoding.lake, job.table) == [(7,)]


def test_registry_outage_in_the_middle_of_a_stream(decoding):
    first = decoding.register(record(field("v", "int")))
    job = decoding.job("v int")
    job.config["sink"]["trigger"] = "200 milliseconds"
    job.write()
    decoding.send(hexed(first, "0e"))
    with job.start() as running:
        running.wait_for(lambda: len(job.batches()) >= 1, 20, "the first batch")
        second = decoding.register(record(field("v", "int"), field("w", "int", default=0)))
        with decoding.registry.proxy.failing("500"):
            decoding.send(hexed(first, "10"), hexed(second, "12 14"))
            time.sleep(2)
            running.alive()
        running.wait_for(lambda: sum(p["numInputRows"] for p in job.batches()) == 3, 40, "the batch after the outage")
        assert running.stop() == 0
    assert read_everywhere(decoding.lake, job.table) == [(7,), (8,), (9,)]


def test_registry_401(decoding):
    schema_id = decoding.register(record(field("v", "int")))
    decoding.send(hexed(schema_id, "0e"))
    decoding.value_options["basic.auth.user.info"] = "admin:wrong"
    begin = time.monotonic()
    done = decoding.refuse("v int", mode="DROPMALFORMED")
    assert time.monotonic() - begin < 20, "a refused login is not an outage"
    assert "401" in done.text and "basic.auth.user.info" in done.text, done
    assert "wrong" not in done.text, "a password must not be printed"


def test_registry_slow(decoding):
    schema_id = decoding.register(record(field("v", "int")))
    decoding.send(hexed(schema_id, "0e"))
    proxy = decoding.registry.proxy
    proxy.delay = 1.5
    with proxy.failing("delay"):
        assert decoding.rows("v int") == [(7,)]


def test_registry_list_takes_the_next(decoding):
    schema_id = decoding.register(record(field("v", "int")))
    decoding.send(hexed(schema_id, "0e"))
    decoding.value_options["schema.registry.url"] = "http://127.0.0.1:1," + decoding.registry.proxy.url
    assert decoding.rows("v int") == [(7,)]


def test_registry_tls(decoding, broker):
    proxy = decoding.registry.open_proxy(certificates=broker.certificates)
    schema_id = decoding.register(record(field("v", "int")))
    decoding.send(hexed(schema_id, "0e"))
    decoding.value_options["schema.registry.url"] = proxy.url
    decoding.value_options["schema.registry.ssl.ca.location"] = str(broker.certificates.authority)
    assert decoding.rows("v int") == [(7,)]


def test_schemas_are_fetched_once(decoding):
    schema_id = decoding.register(record(field("v", "int")))
    decoding.send(*(hexed(schema_id, "0e") for _ in range(2000)))
    decoding.registry.proxy.requests.clear()
    job = decoding.job("v int")
    job.config["source"]["maxOffsetsPerTrigger"] = 100
    job.write().run().check()
    asked = [path for path in decoding.registry.proxy.requests if f"/schemas/ids/{schema_id}" in path]
    assert len(asked) <= 2, asked


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_numbers(decoding):
    """Case 21. Integer columns take neither fractions nor text nor an exponent; nothing is wrapped or rounded."""
    decoding.send('{"l":9007199254740993,"d":12345678901234567890.12,"i":1,"y":-0}')
    found = decoding.rows("l bigint, d decimal(38,2), i int, y double", "json")
    assert found == [(9007199254740993, "12345678901234567890.12", 1, "-0.0")]


@pytest.mark.parametrize(
    "column, text",
    [
        ("bigint", "9223372036854775808"),
        ("int", "2147483648"),
        ("int", "1.5"),
        ("bigint", '"42"'),
        ("double", "NaN"),
        ("decimal(4,2)", "123.45"),
        ("date", '"2026-02-30"'),
        ("boolean", '"yes"'),
        ("timestamp", '"infinity"'),
        ("timestamp", '"+294248-01-01T00:00:00Z"'),
        ("struct<a: int>", "[1]"),
        ("array<int>", '{"a":1}'),
    ],
)
def test_json_bad_values(decoding, column, text):
    """Each is a record fault that names the column, never another value."""
    decoding.send(f'{{"v":{text}}}')
    done = decoding.refuse(f"v {column}", "json")
    assert f"{decoding.topic}[0]@0" in done.text and "v" in done.text, done
    assert decoding.rows(f"v {column}", "json", mode="DROPMALFORMED") == []
    assert decoding.rows(f"v {column}", "json", mode="PERMISSIVE") == [(None,)]


@pytest.mark.parametrize("zone", ["+00:00", "+0000", "+00", "Z"])
def test_json_timestamp_zones(decoding, zone):
    """Case 22."""
    decoding.send(json.dumps({"v": "2026-03-31T03:17:37.260514" + zone}))
    assert decoding.rows("v timestamp", "json") == [(1774927057260514,)]


def test_json_timestamps(decoding):
    """Case 22: no zone means UTC; the year 9999 stays whole; an instant before 1970 keeps its fraction."""
    texts = {
        "2026-03-31 03:17:37": 1774927057000000,
        "9999-12-31T23:59:59.999999Z": 253402300799999999,
        "1754-08-30T22:43:41.129Z": -6795364578871000,
        "1969-12-31T23:59:59.999999Z": -1,
    }
    decoding.send(*(json.dumps({"v": text}) for text in texts))
    assert decoding.rows("v timestamp", "json") == sorted((v,) for v in texts.values())


def test_json_timestamp_zone_of_the_process_has_no_effect(decoding):
    decoding.send('{"v":"2026-03-31 03:17:37"}')
    job = decoding.job("v timestamp", "json", partitioned_by="hour(v)")
    job.run(env={"TZ": "Asia/Kolkata"}).check()
    assert read_everywhere(decoding.lake, job.table) == [(1774927057000000,)]
    assert [f.partition[0] for f in live_files(decoding.lake, job.table)] == [1774927057 // 3600]


def test_json_duplicate_keys_and_case(decoding):
    """Case 23: the last of two equal keys wins; keys are exact, so ID is another key."""
    decoding.send('{"id":1,"id":2}', '{"ID":3}', '{"Name":"a","name":"b"}', '{"id":100,"id":null}')
    found = decoding.rows("id bigint, Name string", "json")
    assert found == rows([(2, None), (None, None), (None, "a"), (None, None)])


def test_json_null_missing_required(decoding):
    """Case 25."""
    columns = "id bigint NOT NULL, note string, s struct<k: int NOT NULL>"
    texts = ['{"id":1,"note":null}', '{"id":2}', '{"note":"x"}', '{"id":3,"s":null}', '{"id":4,"s":{}}',
             '{"id":5,"l":[]}', '{"id":6,"s":{"k":7}}']  # fmt: skip
    decoding.send(*texts)
    found = decoding.rows(columns, "json", mode="DROPMALFORMED")
    assert found == [(n, None, (7,) if n == 6 else None) for n in (1, 2, 3, 5, 6)]
    assert decoding.rows(columns, "json", mode="PERMISSIVE") == found
    done = decoding.refuse(columns, "json")
    assert f"{decoding.topic}[0]@2" in done.text and "id" in done.text, done


def test_json_nested(decoding):
    columns = "a struct<b: array<struct<c: int>>, d: map<string, double>>, t string, bin binary"
    decoding.send(
        '{"a":{"b":[{"c":1},null,{"c":null}],"d":{"x":1.5,"y":-2}},"t":"\\u00e9\\ud83d\\ude00","bin":"aGk="}',
        '{"a":{"b":[],"d":{}}}',
        "{}",
    )
    assert decoding.rows(columns, "json") == rows(
        [
            ((((1,), None, (None,)), {"x": 1.5, "y": -2.0}), "é😀", b"hi"),
            (((), {}), None, None),
            (None, None, None),
        ]
    )


def test_json_malformed_text(decoding):
    texts = ['{"v":1}', '{"v":1', "", "[]", '{"v":1} x', "\xff", '{"v":2}']
    decoding.send(*(Record(t.encode("latin-1")) for t in texts))
    assert decoding.rows("v int", "json", mode="DROPMALFORMED") == [(1,), (2,)]
    done = decoding.refuse("v int", "json")
    assert f"{decoding.topic}[0]@1" in done.text, done


def test_string_format(decoding):
    decoding.send("a", "é", "")
    found = decoding.rows("k string, v string, o bigint", "string", select="key AS k, value AS v, offset AS o")
    assert found == [(None, "", 2), (None, "a", 0), (None, "é", 1)]


def test_select(decoding):
    """Paths, CAST with ANSI results, TRY_CAST, AS, Kafka's own columns, names in any case."""
    decoding.send(Record(b'{"a":{"b":" 12 "},"n":"x1","F":1.9}', b"key", timestamp=1_000))
    select = (
        "cast(value.a.b AS int) AS b, TRY_CAST(value.n AS BIGINT) AS n, CAST(value.F AS string) AS f, "
        "CAST(key AS STRING) AS k, OFFSET, partition AS p, timestamp AS ts, topic"
    )
    columns = "b int, n bigint, f string, k string, offset bigint, p int, ts timestamp, topic string"
    found = decoding.rows(columns, "json", select=select)
    assert found == [(12, None, "1.9", "key", 0, 0, 1_000_000, decoding.topic)]


def test_cast_of_a_bad_text_is_a_fault_of_the_record(decoding):
    decoding.send('{"n":"12"}', '{"n":"x1"}')
    done = decoding.refuse("n int", "json", select="CAST(value.n AS INT) AS n")
    assert f"{decoding.topic}[0]@1" in done.text, done
    assert decoding.rows("n int", "json", select="TRY_CAST(value.n AS INT) AS n") == [(None,), (12,)]


@pytest.mark.parametrize(
    "select, named",
    [
        ("count(*) AS a", "watermark"),
        ("nope(value.a) AS a", "nope"),
        ("value.a, value.nope AS b, FROM x", "line 1 column"),
        ("value.a AS a, value.b AS a", "a"),
        ("value.a AS missing", "missing"),
    ],
)
def test_select_that_is_not_supported_says_which_part(decoding, select, named):
    decoding.send('{"a":1}')
    done = decoding.refuse("a int", "json", select=select)
    assert done.status == 2 and named in done.text, done


def test_all_problems_of_the_table_fit_at_once(decoding):
    schema_id = decoding.register(record(field("a", "long"), field("b", "string"), field("c", "double")))
    decoding.send(frame(schema_id, b"\x02\x02x" + struct.pack("<d", 1.0)))
    done = decoding.refuse("a int, b bigint, c float, d int NOT NULL")
    assert done.status == 2, done
    for name in "abcd":
        assert f'"{name}"' in done.text or f" {name}" in done.text or f"`{name}`" in done.text, (name, done)


def test_floats(decoding):
    """Values that a text form could lose come through binary Avro."""
    schema_id = decoding.register(record(field("f", "float"), field("d", "double")))
    pairs = [(1.1, 1.1), (-0.0, -0.0), (math.inf, -math.inf), (math.nan, math.nan), (3.4e38, 5e-324)]
    decoding.send(*(frame(schema_id, struct.pack("<fd", f, d)) for f, d in pairs))
    expected = [(struct.unpack("<f", struct.pack("<f", f))[0], d) for f, d in pairs]
    assert decoding.rows("f float, d double") == rows(expected)
    assert plain(-0.0) == "-0.0"
