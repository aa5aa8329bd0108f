# SPDX-License-Identifier: Apache-2.0
"""One query over one topic, run by Spark Structured Streaming and by calve, each into a table of its own.

A topic holds STEPS of records; with maxOffsetsPerTrigger every step is one batch on both sides, and the snapshots of the
two tables, paired by their epochs, are what each batch left. All of a file's queries run in one Spark session, some at a
time."""

import dataclasses
import datetime
import decimal
import io
import json
import random

import fastavro
from kafka_client import Record

UTC = datetime.timezone.utc
START = datetime.datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
PARTITIONS = 2
STEP_RECORDS = 40
STEPS = 6
STEP_MINUTES = 9
WHO = ["Alice", "Bob", "Ünal", "dora", "Éva"]


def _nullable(name, kind):
    return {"name": name, "type": ["null", kind], "default": None}


SCHEMA = {
    "type": "record",
    "name": "Bid",
    "fields": [
        {"name": "id", "type": "long"},
        _nullable("who", "string"),
        _nullable("number", "string"),
        _nullable("text", "string"),
        _nullable("price", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
        _nullable("qty", "int"),
        _nullable("rate", "double"),
        _nullable("ok", "boolean"),
        _nullable("day", {"type": "int", "logicalType": "date"}),
        _nullable("ts", {"type": "long", "logicalType": "timestamp-micros"}),
        _nullable("tags", {"type": "array", "items": "string"}),
        _nullable("attrs", {"type": "map", "values": "long"}),
        _nullable("place", {"type": "record", "name": "Place", "fields": [
            _nullable("city", "string"),
            _nullable("geo", {"type": "record", "name": "Geo", "fields": [
                _nullable("zip", "int"), _nullable("lat", "double")]}),
        ]}),
        _nullable("parts", {"type": "array", "items": {"type": "record", "name": "Part", "fields": [
            {"name": "sku", "type": "string"}, _nullable("n", "int")]}}),
    ],
}  # fmt: skip


def _event_time(r, step, place):
    """Within two minutes of the step's time. From the third step on, every eighth record is 25 minutes older, so that
    its window may have closed, and one of a step is a day older, whose window surely has."""
    back = 0.0
    if step >= 2 and place % 8 == 3:
        back = 24 * 60 if place == 3 else 25
    minutes = step * STEP_MINUTES + r.uniform(0, 2) - back
    return START + datetime.timedelta(microseconds=round(minutes * 60_000_000))


def _maybe(r, value, chance=0.12):
    return None if r.random() < chance else value


def _bid(r, step, place):
    number = step * STEP_RECORDS + place
    return {
        "id": number,
        "who": _maybe(r, r.choice(WHO)),
        "number": _maybe(r, r.choice(["12", "-7", " 42 ", "0", "+5", "1999", "007"])),
        "text": _maybe(r, r.choice(["", "abc", "  padded ", "2026-02-28", "12.5", "ß💰é", "a-b-c", "TRUE", "1e3", "x'y"])),
        "price": _maybe(r, decimal.Decimal(r.randrange(-200, 20000)) / 100),
        "qty": _maybe(r, r.randrange(-3, 12)),
        "rate": _maybe(r, r.randrange(-400, 400) / 8),
        "ok": _maybe(r, r.random() < 0.7),
        "day": _maybe(r, datetime.date(2024, 2, 27) + datetime.timedelta(days=r.randrange(0, 800))),
        "ts": None if place == 11 else _event_time(r, step, place),
        "tags": _maybe(r, r.sample(["a", "b", "c", "dd"], r.randrange(0, 4))),
        "attrs": _maybe(r, {k: r.randrange(100) for k in r.sample(["a", "b", "c"], r.randrange(0, 3))}),
        "place": _maybe(r, {"city": _maybe(r, r.choice(["Ulm", "Oslo", "Pécs"])),
                            "geo": _maybe(r, {"zip": _maybe(r, r.randrange(1000, 9999)), "lat": r.randrange(900) / 4})}),
        "parts": _maybe(r, [{"sku": f"s{r.randrange(9)}", "n": _maybe(r, r.randrange(5))} for _ in range(r.randrange(3))]),
    }  # fmt: skip


def bids(step):
    r = random.Random(f"bids {step}")
    return [_bid(r, step, place) for place in range(STEP_RECORDS)]


def records(values, schema=SCHEMA):
    """Spread over PARTITIONS evenly, so that maxOffsetsPerTrigger takes as many of each."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    made = []
    for number, value in enumerate(values):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        stamp = int(START.timestamp() * 1000) + value["id"]
        made.append(Record(out.getvalue(), f"k{value['id']}".encode(), number % PARTITIONS, stamp))
    return made


@dataclasses.dataclass
class Case:
    """One query. `spark` is Spark's text where the two differ."""

    name: str
    sql: str
    spark: str | None = None
    mode: str = "append"
    delay: str | None = None  # of the watermark on value.ts
    distinct: str | None = None
    tables: bool = False
    window: int | None = None  # minutes of a tumbling window; a row is late when it has closed
    by_who: bool = False

    def spark_query(self):
        """Spark has watermarks on top-level columns only."""
        text = self.spark or self.sql
        return text.replace("value.ts", "event_ts") if self.delay else text


def late_rows(case, step, watermark_ms):
    """How many rows of a step come too late for this watermark, and of how many windows and bidders they are; those
    without event time never do."""
    late = []
    for bid in bids(step):
        if bid["ts"] is None:
            continue
        ms = (bid["ts"] - datetime.datetime(1970, 1, 1, tzinfo=UTC)) / datetime.timedelta(milliseconds=1)
        if case.window:
            ms = (ms // (case.window * 60_000) + 1) * case.window * 60_000
        if ms <= watermark_ms:
            late.append((ms, bid["who"] if case.by_who else None))
    return len(late), len(set(late))


# The queries are analysed one after another, since each is over a view of the same name, and then run together.
_FRAME = """
from pyspark.sql.functions import col
from pyspark.sql.avro.functions import from_avro
spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "50")

def frame(case):
    stream = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
              .option("subscribe", topic).option("startingOffsets", "earliest")
              .option("maxOffsetsPerTrigger", limit).load()
              .withColumn("value", from_avro(col("value"), schema)))
    if case["delay"]:
        stream = stream.withColumn("event_ts", col("value.ts")).withWatermark("event_ts", case["delay"])
    if case["joined"]:
        spark.table(case["joined"]).createOrReplaceTempView("people")
    stream.createOrReplaceTempView("stream")
    found = spark.sql(case["query"])
    if case["distinct"]:
        found = found.dropDuplicatesWithinWatermark(case["distinct"].split(","))
    return found.drop("event_ts") if case["distinct"] else found
"""

# Tables of the types that Spark's queries have, all nullable.
SPARK_TABLES = _FRAME + """
result = {}
for case in cases:
    try:
        columns = frame(case)._jdf.schema().toDDL().replace(" NOT NULL", "")
        for table in case["tables"]:
            spark.sql(f"CREATE TABLE {table} ({columns}) USING iceberg")
    except Exception as e:
        result[case["name"]] = (str(e), [])
"""

# Of so few rows most of Spark's time would be its compiler's, and that of tasks without rows.
SPARK_QUERIES = _FRAME + """
import json
quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
         "spark.sql.shuffle.partitions": "1"}
usual = {key: spark.conf.get(key) for key in quick}
for key, value in quick.items():
    spark.conf.set(key, value)

def begin(case):
    writer = (frame(case).writeStream.format("iceberg").outputMode(case["mode"]).trigger(availableNow=True)
              .option("checkpointLocation", case["checkpoint"]).option("fanout-enabled", "true"))
    return writer.toTable(case["tables"][0])

result, waiting = {}, list(cases)
while waiting:
    now, waiting = waiting[:5], waiting[5:]
    begun = {}
    for case in now:
        try:
            begun[case["name"]] = begin(case)
        except Exception as e:
            result[case["name"]] = (str(e), [])
    for name, query in begun.items():
        try:
            query.awaitTermination(200)
        except Exception:
            pass
        failure = query.exception() and str(query.exception())
        result[name] = (failure, [json.loads(p.json) for p in query.recentProgress])
for key, value in usual.items():
    spark.conf.set(key, value)
"""
