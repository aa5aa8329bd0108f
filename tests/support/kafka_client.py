# SPDX-License-Identifier: Apache-2.0
"""Producers and topic administration for the tests, on confluent-kafka."""

import dataclasses
import itertools
import json

from components import wait_until
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

_transactions = itertools.count()


@dataclasses.dataclass
class Record:
    """One record to produce; timestamp in ms, None = now."""

    value: bytes | None = None
    key: bytes | None = None
    partition: int = 0
    timestamp: int | None = None
    headers: list | None = None


def as_record(item):
    if isinstance(item, Record):
        return item
    if isinstance(item, (dict, list)):
        return Record(json.dumps(item).encode())
    return Record(item.encode() if isinstance(item, str) else item)


def produce(bootstrap, topic, records, codec="none", **settings):
    """Produces records (Record, bytes, str, or a JSON value), in one batch per partition where that fits; raises when
    one was not stored."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "compression.codec": codec, "acks": "all",
         "message.max.bytes": 15 << 20, "enable.idempotence": True, "batch.size": 4 << 20, **settings}  # fmt: skip
    )
    _send(producer, topic, records)


def produce_transaction(bootstrap, topic, records, commit=True):
    """One transaction of its own producer; an aborted one leaves its records and a marker in the log."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"tests-{topic}-{next(_transactions)}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    _send(producer, topic, records)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    topics = Topics(bootstrap)

    # The coordinator writes the markers after it has answered; until then the stable offset stays before the data.
    def marked():
        return topics.end_offsets(topic) == topics.end_offsets(topic, IsolationLevel.READ_COMMITTED)

    wait_until(marked, 20, f"transaction markers of {topic}")


def _send(producer, topic, records):
    failures = []

    def delivered(error, _message):
        if error is not None:
            failures.append(error)

    for item in records:
        record = as_record(item)
        extra = {} if record.timestamp is None else {"timestamp": record.timestamp}
        if record.headers:
            extra["headers"] = record.headers
        while True:
            try:
                producer.produce(
                    topic, record.value, record.key, partition=record.partition, on_delivery=delivered, **extra
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(60)
    if failures or left:
        raise RuntimeError(f"produce to {topic}: {left} left, first failure: {failures[:1]}")


class Topics:
    """Topic administration on one broker."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, topic, partitions=1, **config):
        config = {k.replace("_", "."): str(v) for k, v in config.items()}
        for future in self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values():
            future.result(30)
        wait_until(lambda: self.partitions(topic) == partitions, 15, f"topic {topic}")
        return topic

    def delete(self, topic):
        for future in self.admin.delete_topics([topic]).values():
            future.result(30)
        wait_until(lambda: self.partitions(topic) == 0, 15, f"deletion of {topic}")

    def recreate(self, topic, partitions=1):
        self.delete(topic)
        return wait_until(lambda: self.create(topic, partitions), 30, f"topic {topic} again", every=0.3)

    def partitions(self, topic):
        found = self.admin.list_topics(timeout=10).topics.get(topic)
        return 0 if found is None or found.error is not None else len(found.partitions)

    def add_partitions(self, topic, total):
        for future in self.admin.create_partitions([NewPartitions(topic, total)]).values():
            future.result(30)
        wait_until(lambda: self.partitions(topic) == total, 15, f"partitions of {topic}")

    def delete_records(self, topic, before):
        """before: {partition: first offset that stays}"""
        wanted = [TopicPartition(topic, p, offset) for p, offset in before.items()]
        for future in self.admin.delete_records(wanted).values():
            future.result(30)

    def _offsets(self, topic, spec, isolation):
        parts = [TopicPartition(topic, p) for p in range(self.partitions(topic))]
        found = self.admin.list_offsets({p: spec for p in parts}, isolation_level=isolation, request_timeout=20)
        return {p.partition: future.result(20).offset for p, future in found.items()}

    def end_offsets(self, topic, isolation=IsolationLevel.READ_UNCOMMITTED):
        return self._offsets(topic, OffsetSpec.latest(), isolation)

    def start_offsets(self, topic):
        return self._offsets(topic, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)

    def group_offsets(self, group):
        """{(topic, partition): next offset} as the group stored it; partitions without one are left out."""
        request = [ConsumerGroupTopicPartitions(group)]

        # The coordinator of a new broker answers only after it has loaded.
        def ask():
            return self.admin.list_consumer_group_offsets(request, request_timeout=20)[group].result(20)

        answer = wait_until(ask, 20, f"offsets of {group}")
        return {(p.topic, p.partition): p.offset for p in answer.topic_partitions if p.offset >= 0}

    def lag(self, group, topic):
        stored = self.group_offsets(group)
        ends = self.end_offsets(topic, IsolationLevel.READ_COMMITTED)
        return {p: end - stored.get((topic, p), 0) for p, end in ends.items()}

    def read(self, topic, count, isolation="read_uncommitted"):
        """The first `count` visible messages of a topic, read by librdkafka."""
        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "tests-reader", "enable.auto.commit": False,
             "isolation.level": isolation, "auto.offset.reset": "earliest",
             "fetch.message.max.bytes": 8 << 20}  # fmt: skip
        )
        consumer.assign([TopicPartition(topic, p, 0) for p in range(self.partitions(topic))])
        got = []
        while len(got) < count:
            message = consumer.poll(20)
            if message is None:
                raise TimeoutError(f"{topic}: {len(got)} of {count} records")
            if message.error() is not None:
                raise RuntimeError(f"{topic}: {message.error()}")
            got.append(message)
        consumer.close()
        return got
