# SPDX-License-Identifier: Apache-2.0
"""Revenue per supplier and minute in complete mode, beside the job that appends the orders of the same topic: whoever reads
meanwhile sees one whole result, that of some batch; what a batch replaced can be expired; the raw table can be compacted."""

import collections
import decimal
import threading
import time

import orders
import pyarrow.compute as pc
import pytest
from checks import check_table, position, read_everywhere, referenced_files, snapshots, stray_files, summaries
from job import Job, local, run_calve
from kafka_client import produce
from readers import duckdb_connection, open_table, rows

pytestmark = pytest.mark.alone

REVENUE = """SELECT value.supplier AS supplier, date_trunc('minute', value.bid_time) AS minute, count(*) AS n,
                    sum(CAST(value.price AS DECIMAL(10,2))) AS revenue
             FROM stream GROUP BY value.supplier, date_trunc('minute', value.bid_time)"""
COLUMNS = "supplier string, minute timestamptz, n bigint, revenue decimal(20,2)"


def revenue(made):
    found = collections.defaultdict(lambda: [0, decimal.Decimal(0)])
    for order in made:
        group = found[order.supplier, order.bid_time.replace(second=0)]
        group[0] += 1
        group[1] += order.price
    return rows((*key, n, total.quantize(decimal.Decimal("0.01"))) for key, (n, total) in found.items())


class Reader(threading.Thread):
    """Reads a table again and again; keeps the number of orders that each read saw."""

    def __init__(self, read):
        super().__init__()
        self.read = read
        self.seen = []
        self.failure = None
        self.ended = threading.Event()

    def run(self):
        try:
            while not self.ended.is_set():
                self.seen.append(self.read())
        except Exception as e:  # noqa: BLE001 (it goes to the test)
            self.failure = e

    def finish(self):
        self.ended.set()
        self.join(60)
        if self.failure:
            raise self.failure
        return self.seen


def by_pyiceberg(lake):
    found = open_table(lake, "shop.revenue").scan(selected_fields=("n",)).to_arrow()
    return pc.sum(found["n"]).as_py() or 0


def by_duckdb(lake, connection):
    location = local(open_table(lake, "shop.revenue").metadata_location)
    return connection.execute(f"SELECT coalesce(sum(n), 0)::BIGINT FROM iceberg_scan('{location}')").fetchone()[0]


def batch_ends(job):
    """How many orders there were at the end of each batch."""
    ends, total = {0}, 0
    for batch in job.batches():
        total += batch["numInputRows"]
        ends.add(total)
    return ends


def maintain(lake, *words):
    return run_calve("maintain", *words, "--config", lake.config_file(), "--json").check()


@pytest.mark.timeout(300)
def test_revenue_beside_the_orders(lake, broker, topics, topic, registry, value_options, duckdb, campaign):
    topics.add_partitions(topic, 3)
    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    source = orders.Orders(seed=21)
    made = source.take(1400)
    produce(broker.bootstrap, topic, orders.records(made, schema_id))
    lake.create_table("shop.orders", orders.COLUMNS, "day(bid_time)", orders.PROPERTIES)
    lake.create_table("shop.revenue", COLUMNS)
    trigger = {"trigger": "300 milliseconds"}
    raw = Job(lake, broker, "shop.orders", topic, value=value_options, select=orders.SELECT, sink=trigger)
    job = Job(lake, broker, "shop.revenue", topic, value=value_options, sql=REVENUE,
              sink=trigger | {"outputMode": "complete"})  # fmt: skip
    connection = duckdb_connection(lake)
    readers = [Reader(lambda: by_pyiceberg(lake)), Reader(lambda: by_duckdb(lake, connection))]
    end = time.monotonic() + (120 if campaign else 10)
    with raw.start() as first, job.start() as second:
        for reader in readers:
            reader.start()
        while time.monotonic() < end:
            more = source.take(40)
            made += more
            produce(broker.bootstrap, topic, orders.records(more, schema_id))
            if len(made) % 400 == 0:
                maintain(lake, "rewrite-data-files", f"{lake.name}.shop.orders")
            time.sleep(0.2)
        for one, running in ((raw, first), (job, second)):
            running.wait_for(lambda j=one: set(topics.lag(f"calve.{j.name}", topic).values()) == {0}, 30, "lag 0")
        seen = [reader.finish() for reader in readers]
        assert [first.stop(), second.stop()] == [0, 0]
    connection.close()
    check_reads(job, seen)
    check_tables(lake, job, made)


def check_reads(job, seen):
    ends = batch_ends(job)
    assert len(ends) > 5
    for counts in seen:
        assert set(counts) <= ends, "a read saw a part of a result"
        assert counts == sorted(counts), "a read saw an older result than the one before"
        assert len(set(counts)) > 2


def check_tables(lake, job, made):
    assert read_everywhere(lake, "shop.revenue") == revenue(made)
    assert read_everywhere(lake, "shop.orders") == rows(order.row() for order in made)
    for table in ("shop.revenue", "shop.orders"):
        check_table(lake, table)
        assert not stray_files(lake, table)
    assert {s["operation"] for s in summaries(lake, "shop.revenue")} == {"overwrite"}
    assert position(lake, "shop.revenue", job.name)["offsets"] == job.batches()[-1]["sources"][0]["endOffset"]
    # What a batch replaced is reachable until its snapshot expires; then it is gone.
    before = referenced_files(lake, "shop.revenue")
    assert len(snapshots(lake, "shop.revenue")) > 5
    maintain(lake, "expire-snapshots", f"{lake.name}.shop.revenue", "--older-than", "2100-01-01 00:00:00")
    assert len(snapshots(lake, "shop.revenue")) == 1
    gone = {path for path in before if path.suffix == ".parquet" and not path.exists()}
    assert len(gone) >= 5
    assert read_everywhere(lake, "shop.revenue") == revenue(made)
    assert not stray_files(lake, "shop.revenue")
