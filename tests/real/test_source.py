# SPDX-License-Identifier: Apache-2.0
"""The Kafka source against a real broker: where a stream starts, what a batch takes, what counts as loss, how records
and connections of every kind come through (cases 1, 3, 5, 7, 9, 10, 59)."""

import json
import struct
import time

import pytest
from checks import position, read_everywhere, snapshots
from components import PASSWORD, USER, Broker, missing, wait_until
from job import Job
from kafka_client import Record, Topics, produce, produce_transaction
from readers import comparable, live_files, plain, read_pyiceberg

RAW = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
)
HEADERS = RAW + ", headers array<struct<key: string, value: binary>>"


def raw_job(lake, broker, topic=None, columns=RAW, partitioned_by=None, source=None, **more):
    lake.create_table("db.raw", columns, partitioned_by)
    return Job(lake, broker, "db.raw", topic, source=source, value="raw", **more)


def numbered(start, end, partition=0, **more):
    return [Record(str(n).encode(), partition=partition, **more) for n in range(start, end)]


def values_of(lake, table="db.raw"):
    """What was taken, as integers."""
    found = comparable(read_pyiceberg(lake, table, ("value",)))
    return sorted(int(bytes.fromhex(row[0][2:])) for row in found)


# --- Where a stream starts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start, expected",
    [
        ("earliest", [0, 1, 2, 10, 11, 12]),
        ("latest", []),
        ({"0": 1, "1": -2}, [1, 2, 10, 11, 12]),
        ({"0": -1, "1": 2}, [12]),
    ],
    ids=["earliest", "latest", "numbers", "mixed"],
)
def test_starting_offsets(lake, broker, topics, topic, start, expected):
    topics.add_partitions(topic, 2)
    produce(broker.bootstrap, topic, numbered(0, 3) + numbered(10, 13, 1))
    job = raw_job(lake, broker, topic)
    job.config["source"]["startingOffsets"] = start if isinstance(start, str) else json.dumps({topic: start})
    job.write().run().check()
    assert values_of(lake) == expected
    produce(broker.bootstrap, topic, numbered(3, 4) + numbered(13, 14, 1))
    job.run().check()
    assert values_of(lake) == sorted([*expected, 3, 13])


def test_default_start_is_latest(lake, broker, topic):
    produce(broker.bootstrap, topic, numbered(0, 3))
    job = raw_job(lake, broker, topic, source={"startingOffsets": None})
    job.run().check()
    produce(broker.bootstrap, topic, numbered(3, 5))
    job.run().check()
    assert values_of(lake) == [3, 4]


@pytest.mark.parametrize("start", [{"0": 0}, {"0": 0, "1": 0, "2": 0}], ids=["one-missing", "one-too-many"])
def test_starting_offsets_must_name_each_partition(lake, broker, topics, topic, start):
    topics.add_partitions(topic, 2)
    job = raw_job(lake, broker, topic, source={"startingOffsets": json.dumps({topic: start})})
    done = job.run()
    assert done.status in (2, 3) and topic in done.text, done
    assert snapshots(lake, "db.raw") == []


def timed(topic, partitions=1):
    """Ten records a partition, one a second from 1,000,000 ms on."""
    return [
        Record(str(p * 100 + n).encode(), partition=p, timestamp=1_000_000 + n * 1000)
        for p in range(partitions)
        for n in range(10)
    ]


@pytest.mark.parametrize(
    "option, expected",
    [
        ({"startingTimestamp": 1_004_000}, [4, 5, 6, 7, 8, 9, 104, 105, 106, 107, 108, 109]),
        ({"startingTimestamp": 1_004_001}, [5, 6, 7, 8, 9, 105, 106, 107, 108, 109]),
        ({"startingOffsetsByTimestamp": {"0": 1_008_000, "1": 1_009_000}}, [8, 9, 109]),
        (
            {
                "startingOffsetsByTimestamp": {"0": 1_009_000, "1": 9_000_000},
                "startingOffsetsByTimestampStrategy": "latest",
            },
            [9],
        ),
        ({"startingTimestamp": 1_009_000, "startingOffsets": "earliest"}, [9, 109]),
    ],
    ids=["timestamp", "between", "by-timestamp", "strategy-latest", "wins-over-offsets"],
)
def test_starting_by_time(lake, broker, topics, topic, option, expected):
    topics.add_partitions(topic, 2)
    produce(broker.bootstrap, topic, timed(topic, 2))
    source = {k: json.dumps({topic: v}) if isinstance(v, dict) else v for k, v in option.items()}
    raw_job(lake, broker, topic, source=source).run().check()
    assert values_of(lake) == expected


def test_starting_by_time_without_such_a_record_is_an_error(lake, broker, topic):
    produce(broker.bootstrap, topic, timed(topic))
    done = raw_job(lake, broker, topic, source={"startingTimestamp": 99_000_000}).run()
    assert done.status in (2, 3) and topic in done.text and "99000000" in done.text, done


# --- What a batch takes ----------------------------------------------------------------------------------------------


def test_max_offsets_golden_numbers(lake, broker, topics, topic):
    """Spark's arithmetic: sizes (101, 11, 1) with 10 a trigger."""
    topics.add_partitions(topic, 3)
    produce(broker.bootstrap, topic, numbered(0, 101) + numbered(200, 211, 1) + numbered(300, 301, 2))
    job = raw_job(lake, broker, topic, source={"maxOffsetsPerTrigger": 10})
    job.run().check()
    assert [job.offsets(n)[topic] for n in range(3)] == [
        {"0": 8, "1": 1, "2": 1},
        {"0": 17, "1": 2, "2": 1},
        {"0": 26, "1": 3, "2": 1},
    ]
    assert values_of(lake) == [*range(101), *range(200, 211), 300]


def test_max_offsets_is_no_hard_cap(lake, broker, topics, topic):
    topics.add_partitions(topic, 20)
    produce(broker.bootstrap, topic, [r for p in range(20) for r in numbered(p, p + 1, p)])
    job = raw_job(lake, broker, topic, source={"maxOffsetsPerTrigger": 10})
    job.run().check()
    assert [p["numInputRows"] for p in job.batches()] == [20]


def test_once_ignores_the_limit(lake, broker, topic):
    produce(broker.bootstrap, topic, numbered(0, 50))
    job = raw_job(lake, broker, topic, source={"maxOffsetsPerTrigger": 10})
    job.run("--once").check()
    assert [p["numInputRows"] for p in job.batches()] == [50]


def test_min_offsets(lake, broker, topic):
    """The first trigger after a start always runs; then a batch waits for 10 records or for the delay."""
    produce(broker.bootstrap, topic, numbered(0, 3))
    source = {"minOffsetsPerTrigger": 10, "maxTriggerDelay": "4s"}
    job = raw_job(lake, broker, topic, source=source, sink={"trigger": "200 milliseconds"})
    with job.start() as running:
        running.wait_for(lambda: len(job.batches()) == 1, 20, "the first batch")
        produce(broker.bootstrap, topic, numbered(3, 8))
        time.sleep(1.2)
        assert len(job.batches()) == 1, "5 records are fewer than 10"
        produce(broker.bootstrap, topic, numbered(8, 14))
        running.wait_for(lambda: len(job.batches()) == 2, 5, "a batch of 11")
        produce(broker.bootstrap, topic, numbered(14, 15))
        begin = time.monotonic()
        running.wait_for(lambda: len(job.batches()) == 3, 15, "the delay")
        assert time.monotonic() - begin > 1.5
        assert running.stop() == 0
    assert [p["numInputRows"] for p in job.batches()] == [3, 11, 1]


def test_min_above_max_is_refused(lake, broker, topic):
    done = raw_job(lake, broker, topic, source={"minOffsetsPerTrigger": 10, "maxOffsetsPerTrigger": 5}).run()
    assert done.status == 2 and "minOffsetsPerTrigger" in done.text, done


# --- What is subscribed ----------------------------------------------------------------------------------------------


def test_subscribe_a_list(lake, broker, topics, topic):
    second = topics.create(f"{topic}-b")
    produce(broker.bootstrap, topic, numbered(0, 2))
    produce(broker.bootstrap, second, numbered(5, 7))
    raw_job(lake, broker, f" {topic} , {second},").run().check()
    assert values_of(lake) == [0, 1, 5, 6]


def test_subscribe_pattern_is_unanchored(lake, broker, topics, topic):
    """Java's find: a part of the name is enough."""
    second = topics.create(f"x-{topic}-y")
    other = topics.create("unrelated-" + topic[:4] + "-z")
    for name, number in ((topic, 1), (second, 2), (other, 3)):
        produce(broker.bootstrap, name, numbered(number, number + 1))
    job = raw_job(lake, broker, source={"subscribePattern": topic[3:], "startingOffsets": "earliest"})
    job.run().check()
    assert values_of(lake) == [1, 2]


def test_assign(lake, broker, topics, topic):
    """A partition that does not exist is silently left out, as Spark does."""
    topics.add_partitions(topic, 3)
    produce(broker.bootstrap, topic, numbered(0, 2) + numbered(10, 12, 1) + numbered(20, 22, 2))
    raw_job(lake, broker, source={"assign": json.dumps({topic: [0, 2, 9]})}).run().check()
    assert values_of(lake) == [0, 1, 20, 21]


def test_missing_topic_fails(lake, broker):
    source = {"subscribe": "no-such-topic", "failOnDataLoss": False, "fetchOffset.retryIntervalMs": 50}
    done = raw_job(lake, broker, source=source).run()
    assert done.status == 3 and "no-such-topic" in done.text, done


@pytest.mark.parametrize(
    "source, named",
    [
        ({"subscribe": None}, "subscribe"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "assign"),
        ({"kafka.auto.offset.reset": "latest"}, "auto.offset.reset"),
        ({"kafka.enable.auto.commit": "true"}, "enable.auto.commit"),
        ({"kafka.key.deserializer": "x"}, "key.deserializer"),
        ({"kafka.interceptor.classes": "x"}, "interceptor.classes"),
        ({"kafka.no.such.setting": "x"}, "no.such.setting"),
        ({"endingOffsets": "latest"}, "endingOffsets"),
        ({"maxOffsetsPerTriger": 5}, "maxOffsetsPerTriger"),
        ({"startingOffsets": "newest"}, "startingOffsets"),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_refused_options(lake, broker, topic, source, named):
    job = raw_job(lake, broker, topic, source={"kafka.bootstrap.servers": broker.bootstrap, **source})
    done = job.run()
    assert done.status == 2 and named in done.text, done


def test_options_in_any_case(lake, broker, topic):
    produce(broker.bootstrap, topic, numbered(0, 5))
    source = {"startingOffsets": None, "STARTINGOFFSETS": "earliest", "maxoffsetspertrigger": 2}
    job = raw_job(lake, broker, topic, source=source)
    job.run().check()
    assert [p["numInputRows"] for p in job.batches()] == [2, 2, 1]


# --- Gaps, loss, partitions that come (cases 1, 3, 5) ----------------------------------------------------------------


def test_compacted_gaps(lake, broker, topics):
    """Case 1 (a) and (d): records only at 0, 3 and 7."""
    topic = "compacted-gaps"
    topics.create(topic, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio="0.01",
                  delete_retention_ms=100, max_compaction_lag_ms=100)  # fmt: skip
    keys = ["keep0", "a", "b", "keep3", "a", "b", "c", "keep7"]
    for n, key in enumerate(keys):
        produce(broker.bootstrap, topic, [Record(str(n).encode(), key.encode())])
    # The later values of a, b and c go with their tombstones; the rest of the log is rolled out of the active segment.
    offsets_left = [0, 3, 7]
    time.sleep(0.2)
    produce(broker.bootstrap, topic, [Record(None, key.encode()) for key in ("a", "b", "c")])
    time.sleep(0.2)
    produce(broker.bootstrap, topic, [Record(b"100", b"last")])

    def is_clean():
        got = [m.offset() for m in topics.read(topic, 4) if m.value() is not None]
        return got[:3] == offsets_left

    wait_until(is_clean, 40, "compaction", every=0.5)
    for limit in (None, 1):
        table = f"db.t{limit}"
        lake.create_table(table, RAW)
        job = Job(lake, broker, table, topic, source={"maxOffsetsPerTrigger": limit}, value="raw")
        job.run().check()
        found = sorted(row[0] for row in comparable(read_pyiceberg(lake, table, ("offset",))))
        assert [n for n in found if n < 8] == offsets_left
        assert len(found) == len(set(found))
        assert job.offsets(job.log_ids("offsets")[-1]) == {topic: topics_end(topics, topic)}


def topics_end(topics, topic):
    return {str(p): offset for p, offset in topics.end_offsets(topic).items()}


def test_read_committed(lake, broker, topics, topic):
    """Case 1 (b) and (c): aborted data never shows, and a range of markers ends at once."""
    produce_transaction(broker.bootstrap, topic, numbered(0, 2))
    job = raw_job(lake, broker, topic, source={"kafka.isolation.level": "read_committed"})
    job.run().check()
    assert values_of(lake) == [0, 1] and job.offsets(0) == {topic: {"0": 3}}
    produce_transaction(broker.bootstrap, topic, numbered(50, 60), commit=False)
    begin = time.monotonic()
    job.run().check()
    assert time.monotonic() - begin < 5, "a range without visible records must not wait for a poll timeout"
    assert values_of(lake) == [0, 1] and job.offsets(1) == {topic: {"0": 14}}
    assert len(snapshots(lake, "db.raw")) == 1
    produce_transaction(broker.bootstrap, topic, numbered(2, 4))
    job.run().check()
    assert values_of(lake) == [0, 1, 2, 3]


def test_read_uncommitted_is_the_default(lake, broker, topic):
    produce_transaction(broker.bootstrap, topic, numbered(0, 2), commit=False)
    raw_job(lake, broker, topic).run().check()
    assert values_of(lake) == [0, 1]


def loss_job(lake, broker, topics, topic, source=None):
    """Case 3: 5 was stored as the next offset; records below 9 go; the end is 12."""
    produce(broker.bootstrap, topic, numbered(0, 5))
    job = raw_job(lake, broker, topic, source=source)
    job.run().check()
    produce(broker.bootstrap, topic, numbered(5, 12))
    return job


def test_retention_loss_stops_the_job(lake, broker, topics, topic):
    job = loss_job(lake, broker, topics, topic)
    topics.delete_records(topic, {0: 9})
    done = job.run()
    assert done.status == 3 and topic in done.text and "5" in done.text and "9" in done.text, done
    assert values_of(lake) == list(range(5))


def test_retention_loss_is_counted(lake, broker, topics, topic):
    job = loss_job(lake, broker, topics, topic, {"failOnDataLoss": False})
    topics.delete_records(topic, {0: 9})
    done = job.run().check()
    assert values_of(lake) == [*range(5), 9, 10, 11]
    assert job.offsets(1) == {topic: {"0": 12}}
    assert "4" in done.text, "the lost range must be named"


def test_retention_loss_after_the_batch_was_planned(lake, broker, topics, topic):
    """The variant: offsets/1 wants [5, 12), then the log begins at 9, and the batch is replayed after a kill."""
    job = loss_job(lake, broker, topics, topic, {"failOnDataLoss": False})
    assert job.run(fault="offsets-written").status == -9
    topics.delete_records(topic, {0: 9})
    job.run().check()
    assert values_of(lake) == [*range(5), 9, 10, 11]
    assert job.offsets(1) == {topic: {"0": 12}}


def test_partition_added(lake, broker, topics, topic):
    """Case 5 (a): a new partition from its first record, whatever startingOffsets says."""
    produce(broker.bootstrap, topic, numbered(0, 50))
    job = raw_job(lake, broker, topic, source={"startingOffsets": "latest"}, sink={"trigger": "300 milliseconds"})
    with job.start() as running:
        produce(broker.bootstrap, topic, numbered(50, 51))
        running.wait_for(lambda: 0 in job.log_ids("commits"), 20, "the first batch")
        topics.add_partitions(topic, 2)
        produce(broker.bootstrap, topic, numbered(100, 103, 1))
        running.wait_for(lambda: set(values_of(lake)) >= {100, 101, 102}, 30, "the new partition")
        assert running.stop() == 0
    assert [v for v in values_of(lake) if v >= 100] == [100, 101, 102]
    assert [v for v in values_of(lake) if v < 50] == []


# --- Records of every kind (cases 7, 9, 10) --------------------------------------------------------------------------


def test_null_and_empty(lake, broker, topic, duckdb):
    """Case 7, raw."""
    produce(broker.bootstrap, topic, [Record(None, b"k1"), Record(b"", b"k2"), Record(b"good", None)])
    raw_job(lake, broker, topic).run().check()
    found = read_everywhere(lake, "db.raw", columns=("offset", "key", "value"))
    assert found == [(0, plain(b"k1"), None), (1, plain(b"k2"), plain(b"")), (2, None, plain(b"good"))]


def test_tombstones_and_empty_values_decoded(lake, broker, topic):
    """Case 7, decoded: the tombstone is a row or skipped, the empty value is a bad record."""
    produce(broker.bootstrap, topic, [Record(None, b"k1"), Record(b"", b"k2"), Record(b'{"id":1}', None)])
    for setting, expected in (("row", [None, 1]), ("skip", [1])):
        table = f"db.{setting}"
        lake.create_table(table, "id bigint")
        value = {"format": "json", "mode": "DROPMALFORMED", "tombstones": setting}
        job = Job(lake, broker, table, topic, value=value)
        job.run().check()
        assert [row[0] for row in read_everywhere(lake, table)] == expected
    lake.create_table("db.strict", "id bigint")
    done = Job(lake, broker, "db.strict", topic, value="json").run()
    assert done.status == 3 and f"{topic}[0]@1" in done.text, done


def test_headers(lake, broker, topic, duckdb):
    """NULL, not empty, where a record has none; null values and repeated names stay."""
    records = [Record(b"0"), Record(b"1", headers=[("a", b"x"), ("a", None), ("é", b"")])]
    produce(broker.bootstrap, topic, records)
    raw_job(lake, broker, topic, HEADERS, source={"includeHeaders": True}).run().check()
    found = read_everywhere(lake, "db.raw", columns=("offset", "headers"))
    assert found == [(0, None), (1, (("a", "0x78"), ("a", None), ("é", "0x")))]


def test_timestamp_type(lake, broker, topics):
    topics.create("log-append", message_timestamp_type="LogAppendTime")
    topics.create("create-time")
    produce(broker.bootstrap, "log-append", [Record(b"0", timestamp=5)])
    produce(broker.bootstrap, "create-time", [Record(b"0", timestamp=5)])
    raw_job(lake, broker, "log-append,create-time").run().check()
    found = read_everywhere(lake, "db.raw", columns=("topic", "timestampType", "timestamp"))
    assert found[0] == ("create-time", 0, 5000)
    assert found[1][:2] == ("log-append", 1) and found[1][2] > 1_700_000_000_000_000


@pytest.mark.parametrize("transform", ["day", "hour"])
def test_timestamp_minus_one(lake, broker, topic, transform):
    """Case 10: a record without a time is not of today."""
    produce(broker.bootstrap, topic, [Record(b"0", timestamp=-1), Record(b"1", timestamp=1)])
    raw_job(lake, broker, topic, partitioned_by=f"{transform}(timestamp)").run().check()
    rows = read_everywhere(lake, "db.raw", columns=("offset", "timestamp"))
    assert rows[0] == (0, -1000)
    assert -1 in {file.partition[0] for file in live_files(lake, "db.raw")}


CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def test_codecs_and_a_large_record(lake, broker, topics, duckdb):
    """Case 9: five batches of ten records and one record of 5 MiB above the fetch limit."""
    topic = topics.create("codecs", max_message_bytes=8 << 20)
    for codec in CODECS:
        produce(broker.bootstrap, topic, [Record(f"{codec}-{n}-".encode() * 40) for n in range(10)], codec)
    large = bytes(range(256)) * (5 << 12)
    produce(broker.bootstrap, topic, [Record(large)])
    job = raw_job(lake, broker, topic, source={"kafka.max.partition.fetch.bytes": 1 << 20})
    job.run().check()
    found = [bytes.fromhex(row[1][2:]) for row in read_everywhere(lake, "db.raw", columns=("offset", "value"))]
    assert found == [f"{codec}-{n}-".encode() * 40 for codec in CODECS for n in range(10)] + [large]


def last_batch(log):
    """Position and length of the last record batch of a segment file."""
    data, at, last = log.read_bytes(), 0, None
    while at + 12 <= len(data):
        length = struct.unpack_from(">i", data, at + 8)[0]
        if length <= 0:
            break
        last = (at, 12 + length)
        at += 12 + length
    return last


def test_corrupt_batch(lake, broker, topics):
    """Case 9, second run: one byte of a compressed batch is flipped in the broker's log."""
    topic = topics.create("corrupt")
    produce(broker.bootstrap, topic, numbered(0, 10))
    produce(broker.bootstrap, topic, [Record(f"text {n} ".encode() * 20) for n in range(10)], "zstd")
    log = broker.folder / "data" / f"{topic}-0" / ("0" * 20 + ".log")
    at, length = last_batch(log)
    with open(log, "r+b") as file:
        file.seek(at + length - 20)
        byte = file.read(1)[0]
        file.seek(at + length - 20)
        file.write(bytes([byte ^ 0xFF]))
    done = raw_job(lake, broker, topic).run()
    assert done.status == 3 and topic in done.text and "10" in done.text, done
    assert snapshots(lake, "db.raw") == []


# --- Connections -----------------------------------------------------------------------------------------------------

JAAS = "org.apache.kafka.common.security.{module} required username=\"{user}\" password=\"{password}\";"


def secured(broker, way):
    if way == "tls":
        return "SSL", {
            "kafka.security.protocol": "SSL",
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": str(broker.certificates.authority),
        }
    module = "plain.PlainLoginModule" if way == "plain" else "scram.ScramLoginModule"
    return "SASL_PLAINTEXT", {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN" if way == "plain" else "SCRAM-SHA-256",
        "kafka.sasl.jaas.config": JAAS.format(module=module, user=USER, password=PASSWORD),
    }


@pytest.mark.parametrize("way", ["tls", "plain"])
def test_secured_listeners(lake, broker, topic, way):
    """Java's names, as a Spark job has them."""
    produce(broker.bootstrap, topic, numbered(0, 5))
    listener, settings = secured(broker, way)
    source = settings | {"kafka.bootstrap.servers": broker.address(listener)}
    raw_job(lake, broker, topic, source=source).run().check()
    assert values_of(lake) == list(range(5))


def test_scram(lake, tmp_path):
    """With an older broker: librdkafka before 2.6.1 sends a nonce that brokers since 3.7.2 refuse."""
    reason = missing("kafka-old")
    if reason:
        pytest.skip(reason)
    own = Broker(tmp_path / "old", sasl=True, piece="kafka-old").start()
    try:
        Topics(own.bootstrap).create("t")
        produce(own.bootstrap, "t", numbered(0, 5))
        listener, settings = secured(own, "scram")
        source = settings | {"kafka.bootstrap.servers": own.address(listener)}
        raw_job(lake, own, "t", source=source).run().check()
        assert values_of(lake) == list(range(5))
    finally:
        own.stop()


def test_scram_with_a_broker_that_checks_the_nonce(lake, broker, topic):
    produce(broker.bootstrap, topic, numbered(0, 5))
    listener, settings = secured(broker, "scram")
    source = settings | {"kafka.bootstrap.servers": broker.address(listener)}
    raw_job(lake, broker, topic, source=source).run().check()
    assert values_of(lake) == list(range(5))


def test_wrong_password(lake, broker, topic):
    listener, settings = secured(broker, "scram")
    settings["kafka.sasl.jaas.config"] = JAAS.format(module="scram.ScramLoginModule", user=USER, password="wrong")
    source = settings | {"kafka.bootstrap.servers": broker.address(listener)}
    done = raw_job(lake, broker, topic, source=source).run()
    assert done.status == 3 and "authenti" in done.text.lower(), done
    assert "wrong" not in done.text, "a password must not be printed"


def test_unknown_authority(lake, broker, topic):
    source = {"kafka.security.protocol": "SSL", "kafka.bootstrap.servers": broker.address("SSL")}
    done = raw_job(lake, broker, topic, source=source).run()
    assert done.status == 3 and ("certificate" in done.text.lower() or "ssl" in done.text.lower()), done


def test_truststore_in_jks_is_refused_by_name(lake, broker, topic):
    source = {
        "kafka.security.protocol": "SSL",
        "kafka.bootstrap.servers": broker.address("SSL"),
        "kafka.ssl.truststore.location": "/etc/trust.jks",
        "kafka.ssl.truststore.password": "x",
    }
    done = raw_job(lake, broker, topic, source=source).run()
    assert done.status == 2 and "truststore" in done.text and "PEM" in done.text, done


def test_no_broker(lake, topic):
    job = raw_job(lake, "127.0.0.1:1", topic)
    done = job.run(timeout=120)
    assert done.status == 3 and "127.0.0.1:1" in done.text, done


def test_broker_restart_during_a_run(lake, topics, tmp_path):
    """The job outlives a broker that goes and comes back."""
    own = Broker(tmp_path / "own").start()
    try:
        Topics(own.bootstrap).create("t")
        produce(own.bootstrap, "t", numbered(0, 5))
        job = raw_job(lake, own, "t", sink={"trigger": "300 milliseconds"})
        with job.start() as running:
            running.wait_for(lambda: values_of(lake) == list(range(5)), 20, "the first rows")
            own.kill()
            time.sleep(1)
            running.alive()
            own.start()
            produce(own.bootstrap, "t", numbered(5, 8))
            running.wait_for(lambda: values_of(lake) == list(range(8)), 40, "the rows after the restart")
            assert running.stop() == 0
    finally:
        own.stop()


# --- Lag (case 59) ---------------------------------------------------------------------------------------------------


def test_lag_group(lake, broker, topics, topic):
    """A transactional topic whose tail is a marker: the group is at the end, and 1,000 behind after 1,000 records."""
    job = raw_job(lake, broker, topic, source={"kafka.isolation.level": "read_committed"})
    for n in range(3):
        produce_transaction(broker.bootstrap, topic, numbered(n * 10, n * 10 + 5))
        job.run().check()
    group = f"calve.{job.name}"
    assert topics.group_offsets(group) == {(topic, 0): 18}
    assert topics.lag(group, topic) == {0: 0}
    last = job.batches()[-1]["sources"][0]
    assert last["metrics"]["maxOffsetsBehindLatest"] == "0"
    assert position(lake, "db.raw", job.name)["offsets"] == {topic: {"0": 18}}
    produce(broker.bootstrap, topic, numbered(100, 1100))
    assert topics.lag(group, topic) == {0: 1000}


def test_lag_group_is_never_read_back(lake, broker, topics, topic):
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    produce(broker.bootstrap, topic, numbered(0, 5))
    job = raw_job(lake, broker, topic)
    job.run().check()
    move = ConsumerGroupTopicPartitions(f"calve.{job.name}", [TopicPartition(topic, 0, 0)])
    for future in topics.admin.alter_consumer_group_offsets([move]).values():
        future.result(20)
    produce(broker.bootstrap, topic, numbered(5, 7))
    job.run().check()
    assert values_of(lake) == list(range(7))
    assert topics.group_offsets(f"calve.{job.name}") == {(topic, 0): 7}
