# SPDX-License-Identifier: Apache-2.0
"""The orders of the acceptance scenario: the record that a data generator connector produces, with a seed.

Every value is known beforehand: the price is decimal text of at most two places, bid_time whole seconds, order_id a
UUID. Variants of the schema: the record alone, a union of null and record at the top, a second version with one more
field, and the form with a double price."""

import dataclasses
import datetime
import decimal
import io
import json
import random
import uuid

import fastavro
from kafka_client import Record

SUPPLIERS = ["Alice", "Bob", "Carol", "Alex", "Joe", "James", "Jane", "Jack"]
ADJECTIVES = ["Rustic", "Sleek", "Gorgeous", "Handcrafted", "Ergonomic"]
MATERIALS = ["Wooden", "Steel", "Granite", "Cotton"]
PRODUCTS = ["Chair", "Table", "Lamp", "Keyboard", "Hat"]

TIMESTAMP = {
    "type": "long",
    "connect.version": 1,
    "connect.name": "org.apache.kafka.connect.data.Timestamp",
    "logicalType": "timestamp-millis",
}


def _nullable(name, kind):
    return {"name": name, "type": ["null", kind], "default": None}


def schema(price="string", extra=None):
    fields = [
        _nullable("supplier", "string"),
        _nullable("item", "string"),
        _nullable("price", price),
        _nullable("bid_time", TIMESTAMP),
        _nullable("order_id", "string"),
    ]
    return {
        "type": "record",
        "name": "Gen0",
        "namespace": "com.amazonaws.mskdatagen",
        "fields": fields + ([extra] if extra else []),
    }


PLAIN = schema()
TOP_UNION = ["null", schema()]
DOUBLE_PRICE = schema(price="double")
VERSION_2 = schema(extra={"name": "is_premium", "type": "boolean", "default": False})

COLUMNS = "order_id string, item string, price decimal(10,2), supplier string, bid_time timestamptz"
COLUMNS_REQUIRED = (
    "order_id string not null, item string not null, price decimal(10,2) not null, supplier string not null, "
    "bid_time timestamp_ntz not null"
)
SELECT = (
    "value.order_id, value.item, CAST(value.price AS DECIMAL(10,2)) AS price, value.supplier, value.bid_time"
)
PROPERTIES = {
    "format-version": "2",
    "write.format.default": "parquet",
    "write.target-file-size-bytes": "134217728",
    "write.parquet.compression-codec": "snappy",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "3",
}


@dataclasses.dataclass
class Order:
    supplier: str
    item: str
    price: decimal.Decimal
    bid_time: datetime.datetime
    order_id: str

    def row(self):
        """In the order of COLUMNS."""
        return (self.order_id, self.item, self.price.quantize(decimal.Decimal("0.01")), self.supplier, self.bid_time)

    def avro(self, price=str):
        return {
            "supplier": self.supplier,
            "item": self.item,
            "price": price(self.price),
            "bid_time": self.bid_time,
            "order_id": self.order_id,
        }


class Orders:
    """An endless, repeatable row of orders. Event times start at `start` and move by `step` a record, slightly out of
    order as the connector's are."""

    def __init__(self, seed=1, start=None, step=0.25):
        self.random = random.Random(seed)
        self.start = start or datetime.datetime(2026, 3, 31, 12, 0, tzinfo=datetime.timezone.utc)
        self.step = step
        self.count = 0

    def take(self, count):
        return [self._one() for _ in range(count)]

    def _one(self):
        r = self.random
        offset = self.count * self.step - r.randrange(5)
        self.count += 1
        item = f"{r.choice(ADJECTIVES)} {r.choice(MATERIALS)} {r.choice(PRODUCTS)}"
        # Text as Java prints a double: "37.5", "120.0".
        price = decimal.Decimal(r.randrange(100, 15001)) / 100
        time = (self.start + datetime.timedelta(seconds=offset)).replace(microsecond=0)
        return Order(r.choice(SUPPLIERS), item, price, time, str(uuid.UUID(int=r.getrandbits(128), version=4)))


def frame(schema_id, payload):
    """Confluent's framing: a zero byte, the id in four bytes, the Avro payload."""
    return b"\x00" + schema_id.to_bytes(4, "big") + payload


def encode(avro_schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(avro_schema))), value)
    return out.getvalue()


def java_double(price):
    text = format(price.normalize(), "f")
    return text if "." in text else text + ".0"


def records(orders, schema_id, avro_schema=None, partitions=3, price=java_double, extra=None):
    """Kafka records with the order's id as key, spread over the partitions by the key."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(avro_schema or PLAIN)))
    made = []
    for order in orders:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, order.avro(price) | (extra or {}))
        partition = int(order.order_id[:8], 16) % partitions
        made.append(Record(frame(schema_id, out.getvalue()), order.order_id.encode(), partition))
    return made
