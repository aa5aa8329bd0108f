# SPDX-License-Identifier: Apache-2.0
"""Bounded memory with many groups of a query, and with many Kafka partitions, unsorted rows and far more open table partitions than fit (case 58).

At full length 100 partitions of 10,000 records of 1 KiB and a limit of 512 MiB; shortened a twentieth of it."""

import json
import random

import pytest
from checks import check_table
from job import Job, local
from kafka_client import Record, produce
from readers import duckdb_connection, live_files, open_table, read_pyiceberg

LIMIT_MIB = 256
DAYS = 5000


def load(broker, topic, partitions, count):
    """Days in no order, so that every batch touches most table partitions."""
    draw = random.Random(7)
    pad = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=1 << 16))
    for p in range(partitions):
        records = []
        for n in range(count):
            at = draw.randrange(1 << 15)
            day = draw.randrange(DAYS)
            value = {"id": p * count + n, "at": day * 86400_000, "text": pad[at : at + 950]}
            records.append(Record(json.dumps(value).encode(), partition=p))
        produce(broker.bootstrap, topic, records, "lz4")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fanout", [True, False], ids=["fanout", "sorted"])
def test_many_partitions_unsorted(lake, broker, topics, request, fanout, campaign):
    partitions, count = (100, 10_000) if campaign else (50, 1_000)
    limit = 512 if campaign else LIMIT_MIB
    topic = f"memory-{partitions}"
    if topics.partitions(topic) == 0:
        topics.create(topic, partitions)
        load(broker, topic, partitions, count)
    lake.create_table("db.t", "id bigint, at timestamp, text string", "day(at)")
    job = Job(lake, broker, "db.t", topic, value="json", sink={"fanout-enabled": fanout}, memory=f"{limit} MiB")
    with job.start("--available-now") as running:
        status, peak = running.finish(600)
        assert status == 0, running.log()[-3000:]
    assert peak <= limit << 20, f"{peak >> 20} MiB of {limit} MiB"
    found = read_pyiceberg(lake, "db.t", ("id",))["id"].to_pylist()
    assert sorted(found) == list(range(partitions * count))
    files = live_files(lake, "db.t")
    assert len(files) <= 3 * DAYS
    check_table(lake, "db.t")


@pytest.mark.timeout(900)
def test_deep_backlog_of_one_partition(lake, broker, topics, campaign):
    """A backlog much larger than the limit in one batch: fetching waits for the writer."""
    count = 400_000 if campaign else 60_000
    topic = topics.create("memory-deep")
    pad = "x" * 1900
    produce(broker.bootstrap, topic, ({"id": n, "text": f"{n}{pad}"} for n in range(count)), "lz4")
    lake.create_table("db.t", "id bigint, text string")
    job = Job(lake, broker, "db.t", topic, value="json", memory="96 MiB")
    with job.start("--available-now") as running:
        status, peak = running.finish(200)
        assert status == 0, running.log()[-3000:]
    assert peak <= 96 << 20, f"{peak >> 20} MiB"
    assert read_pyiceberg(lake, "db.t", ("id",)).num_rows == count


@pytest.mark.timeout(1800)
def test_many_groups(lake, broker, topics, campaign):
    """Complete mode with far more groups than fit: the rows of a batch spill, and the state is read from its files."""
    groups, limit, batches = (10_000_000, 512, 4) if campaign else (300_000, 160, 3)
    topic = topics.create("memory-groups")
    produce(broker.bootstrap, topic, (b'{"id":%d}' % (n * 7919 % groups) for n in range(groups)), "lz4")
    produce(broker.bootstrap, topic, (b'{"id":%d}' % n for n in range(0, groups, 10)), "lz4")
    lake.create_table("db.t", "k string, n bigint, total decimal(22,2)")
    sql = """SELECT 'k' || lpad(CAST(value.id AS STRING), 11, '0') AS k, count(*) AS n,
                    sum(CAST(value.id AS DECIMAL(12,2))) AS total
             FROM stream GROUP BY 1"""
    step = -(-groups * 11 // 10 // batches)
    job = Job(lake, broker, "db.t", topic, source={"maxOffsetsPerTrigger": step}, sql=sql, memory=f"{limit} MiB",
              value={"format": "json", "schema": "id bigint"}, sink={"outputMode": "complete"})  # fmt: skip
    with job.start("--available-now") as running:
        status, peak = running.finish(900)
        assert status == 0, running.log()[-3000:]
    assert peak <= limit << 20, f"{peak >> 20} MiB of {limit} MiB"
    location = local(open_table(lake, "db.t").metadata_location)
    with duckdb_connection() as connection:
        found = connection.execute(
            f"SELECT count(*), count(DISTINCT k), sum(n), sum(total), max(n) FROM iceberg_scan('{location}')"
        ).fetchone()
    total = groups * (groups - 1) // 2 + sum(range(0, groups, 10))
    assert found == (groups, groups, groups + groups // 10, total, 2)
    assert len(job.batches()) == batches
    print(f"peak {peak >> 20} MiB, state {job.batches()[-1]['stateOperators']}")
