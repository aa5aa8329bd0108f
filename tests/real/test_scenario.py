# SPDX-License-Identifier: Apache-2.0
"""The acceptance scenario: orders from a generator, Avro through a registry with basic auth, a table by day.

At full length (CALVE_CAMPAIGN=1) it runs as described: 1,400 orders at the start, then 4 a second for 3 minutes with a
trigger of 5 seconds. Shortened, the same number of orders comes faster."""

import datetime
import decimal
import json
import time

import orders
import pytest
from checks import added_files, check_table, position, read_everywhere, snapshots, stray_files, summaries
from job import Job, Lake
from kafka_client import produce
from readers import live_files, rows

pytestmark = pytest.mark.alone
UTC = datetime.timezone.utc
# Ten seconds before midnight, so that some batch has two days.
START = datetime.datetime(2026, 3, 31, 23, 59, 50, tzinfo=UTC)


def make_job(lake, broker, topic, value, columns=orders.COLUMNS, **options):
    lake.create_table("shop.orders", columns, "day(bid_time)", orders.PROPERTIES)
    return Job(lake, broker, "shop.orders", topic, value=value, **({"select": orders.SELECT} | options))


def days_of(made):
    return {order.bid_time.date() for order in made}


@pytest.fixture
def lab(tmp_path, lake_kind):
    """A second catalog for the table that lab 08 makes."""
    return Lake(tmp_path / "lab08", lake_kind)


@pytest.mark.lakes("sql", "rest")
@pytest.mark.timeout(900)
def test_orders_end_to_end(lake, lab, broker, topics, topic, registry, value_options, spark, duckdb, campaign):
    topics.add_partitions(topic, 3)
    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    trigger, pace, seconds = ("5 seconds", 4, 180) if campaign else ("2 seconds", 24, 12)
    source = orders.Orders(seed=10, start=START)
    made = source.take(1400)
    produce(broker.bootstrap, topic, orders.records(made, schema_id))
    jobs = [
        make_job(lake, broker, topic, value_options, sink={"trigger": trigger, "fanout-enabled": True}),
        make_job(lab, broker, topic, value_options, orders.COLUMNS_REQUIRED,
                 sink={"trigger": trigger, "fanout-enabled": True}),
    ]  # fmt: skip
    with jobs[0].start() as first, jobs[1].start() as second:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            more = source.take(pace)
            made += more
            produce(broker.bootstrap, topic, orders.records(more, schema_id))
            time.sleep(max(0.0, min(1.0, end - time.monotonic())))
        for job, running in zip(jobs, (first, second)):
            running.wait_for(lambda j=job: set(topics.lag(f"calve.{j.name}", topic).values()) == {0}, 30, "lag 0")
        ended = [running.stop() for running in (first, second)]
    assert ended == [0, 0]
    expected = rows(order.row() for order in made)
    for place, job in zip((lake, lab), jobs):
        check_orders(place, job, made, expected, spark)


def check_orders(lake, job, made, expected, spark):
    found = read_everywhere(lake, "shop.orders", spark)
    assert found == expected
    assert len({row[0] for row in found}) == len(made)
    assert sum(decimal.Decimal(row[2]) for row in found) == sum(order.price for order in made)
    check_table(lake, "shop.orders")
    assert not stray_files(lake, "shop.orders")
    check_partitions(lake)
    check_snapshots(lake, job)
    metadata = lake.folder_of("shop.orders") / "metadata"
    assert len(list(metadata.glob("*.metadata.json"))) <= 4


def check_partitions(lake):
    """Every row is in the UTC day of its bid_time, and the day is the partition that the path names."""
    for file in live_files(lake, "shop.orders"):
        day = file.partition[0]
        low = int.from_bytes(file.lower_bounds[5], "little", signed=True)
        high = int.from_bytes(file.upper_bounds[5], "little", signed=True)
        micros = 86400 * 1_000_000
        number = day if isinstance(day, int) else (day - datetime.date(1970, 1, 1)).days
        assert low // micros == high // micros == number
        date = datetime.date(1970, 1, 1) + datetime.timedelta(days=number)
        assert f"/data/bid_time_day={date.isoformat()}/" in file.file_path


def check_snapshots(lake, job):
    """One append per batch with data, one file per batch and day, and a position that ends at the topic's end."""
    batches = [p for p in job.batches() if p["numInputRows"] > 0]
    found = summaries(lake, "shop.orders")
    assert [s["operation"] for s in found] == ["append"] * len(found)
    assert [int(s["added-records"]) for s in found] == [p["numInputRows"] for p in batches]
    assert all(added_files(s) == int(s["changed-partition-count"]) for s in found)
    assert max(added_files(s) for s in found) == 2
    last = position(lake, "shop.orders", job.name)
    assert last["offsets"] == job.batches()[-1]["sources"][0]["endOffset"]


def run_once(job):
    return job.run().check()


@pytest.mark.lakes("sql", "rest")
def test_midnight_is_two_files_in_one_commit(lake, broker, topic, registry, value_options, duckdb):
    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    made = orders.Orders(seed=3, start=START).take(80)
    produce(broker.bootstrap, topic, orders.records(made, schema_id, partitions=1))
    run_once(make_job(lake, broker, topic, value_options))
    assert len(days_of(made)) == 2
    assert [added_files(s) for s in summaries(lake, "shop.orders")] == [2]
    assert read_everywhere(lake, "shop.orders") == rows(order.row() for order in made)


def test_no_snapshot_for_an_empty_batch(lake, broker, topic, registry, value_options):
    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    job = make_job(lake, broker, topic, value_options)
    run_once(job)
    assert snapshots(lake, "shop.orders") == []
    made = orders.Orders(seed=4).take(5)
    produce(broker.bootstrap, topic, orders.records(made, schema_id, partitions=1))
    run_once(job)
    run_once(job)
    assert len(snapshots(lake, "shop.orders")) == 1


@pytest.mark.parametrize("variant", ["top-union", "double-price"])
def test_variants_of_the_schema(lake, broker, topic, registry, value_options, variant, duckdb):
    avro = orders.TOP_UNION if variant == "top-union" else orders.DOUBLE_PRICE
    price = orders.java_double if variant == "top-union" else float
    schema_id = registry.register(f"{topic}-value", avro)
    made = orders.Orders(seed=5).take(300)
    produce(broker.bootstrap, topic, orders.records(made, schema_id, avro, 1, price))
    run_once(make_job(lake, broker, topic, value_options))
    assert read_everywhere(lake, "shop.orders") == rows(order.row() for order in made)


def test_tombstone_between_orders(lake, broker, topic, registry, value_options):
    from kafka_client import Record

    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    made = orders.Orders(seed=6).take(3)
    sent = orders.records(made, schema_id, partitions=1)
    produce(broker.bootstrap, topic, [sent[0], Record(None, b"gone"), *sent[1:]])
    run_once(make_job(lake, broker, topic, value_options))
    expected = [order.row() for order in made] + [(None,) * 5]
    assert read_everywhere(lake, "shop.orders") == rows(expected)


def test_null_into_a_required_column_is_refused(lake, broker, topic, registry, value_options):
    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    made = orders.Orders(seed=7).take(2)
    sent = orders.records(made, schema_id, partitions=1)
    value = {"supplier": None, "item": "x", "price": "1.0", "bid_time": START, "order_id": "y"}
    broken = orders.frame(schema_id, orders.encode(orders.PLAIN, value))
    produce(broker.bootstrap, topic, [sent[0], broken, sent[1]])
    done = make_job(lake, broker, topic, value_options, orders.COLUMNS_REQUIRED).run()
    assert done.status == 3, done
    assert "supplier" in done.text and f"{topic}[0]@1" in done.text.replace(" ", ""), done
    assert snapshots(lake, "shop.orders") == []


def test_field_of_a_later_schema_is_ignored_with_one_warning(lake, broker, topic, registry, value_options):
    """value.* takes the columns by name; is_premium has none."""
    first = registry.register(f"{topic}-value", orders.DOUBLE_PRICE)
    columns = orders.COLUMNS.replace("decimal(10,2)", "double")
    job = make_job(lake, broker, topic, value_options, columns, select=None, sink={"trigger": "500 milliseconds"})
    made = orders.Orders(seed=8).take(60)
    produce(broker.bootstrap, topic, orders.records(made[:20], first, orders.DOUBLE_PRICE, 1, float))
    later = orders.schema("double", {"name": "is_premium", "type": "boolean", "default": False})
    with job.start() as running:
        running.wait_for(lambda: sum(p["numInputRows"] for p in job.batches()) == 20, 30, "the first orders")
        second = registry.register(f"{topic}-value", later)
        for part, total in ((made[20:40], 40), (made[40:], 60)):
            produce(broker.bootstrap, topic, orders.records(part, second, later, 1, float, {"is_premium": True}))
            running.wait_for(lambda t=total: sum(p["numInputRows"] for p in job.batches()) == t, 30, "later orders")
        assert running.stop() == 0
        warnings = [line for line in running.log().splitlines() if "is_premium" in line]
    assert len(warnings) == 1, warnings
    assert {row[0] for row in read_everywhere(lake, "shop.orders")} == {order.order_id for order in made}


def test_field_known_at_start_without_a_column_is_an_error(lake, broker, topic, registry, value_options):
    later = orders.schema("double", {"name": "is_premium", "type": "boolean", "default": False})
    schema_id = registry.register(f"{topic}-value", later)
    made = orders.Orders(seed=9).take(5)
    produce(broker.bootstrap, topic, orders.records(made, schema_id, later, 1, float, {"is_premium": True}))
    columns = orders.COLUMNS.replace("decimal(10,2)", "double")
    job = make_job(lake, broker, topic, value_options, columns, select=None)
    done = job.run()
    assert done.status == 2 and "is_premium" in done.text, done
    job.config["sink"]["ignore-unknown"] = True
    run_once(job.write())
    assert len(read_everywhere(lake, "shop.orders")) == 5


def test_position_in_the_summary(lake, broker, topics, topic, registry, value_options):
    schema_id = registry.register(f"{topic}-value", orders.PLAIN)
    produce(broker.bootstrap, topic, orders.records(orders.Orders().take(7), schema_id, partitions=1))
    job = make_job(lake, broker, topic, value_options)
    run_once(job)
    query = json.loads((job.checkpoint / "metadata").read_text())["id"]
    summary = summaries(lake, "shop.orders")[0]
    assert summary["spark.sql.streaming.queryId"] == query
    assert summary["spark.sql.streaming.epochId"] == "0"
    found = position(lake, "shop.orders", job.name)
    assert found["queryId"] == query and found["epoch"] == 0 and found["offsets"] == {topic: {"0": 7}}
    assert found["clusterId"]
    assert topics.group_offsets(f"calve.{job.name}") == {(topic, 0): 7}
