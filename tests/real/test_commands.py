# SPDX-License-Identifier: Apache-2.0
"""Commands beside `run`: check tries every part and writes nothing, demo ends by itself and leaves a table that others
read, wrong usage says what is wrong."""

import json
import time

import orders
import pytest
from checks import snapshots
from components import REGISTRY_PASSWORD, REGISTRY_USER
from job import Job, Lake, run_calve
from kafka_client import produce
from readers import comparable, duckdb_connection, open_table, read_pyiceberg


@pytest.fixture
def good(lake, broker, topic, registry, value_options):
    """A job that has all parts: broker, topic with records, registry, catalog, table."""
    number = registry.register(f"{topic}-value", orders.PLAIN)
    produce(broker.bootstrap, topic, orders.records(orders.Orders().take(20), number, partitions=1))
    lake.create_table("db.t", orders.COLUMNS, "day(bid_time)")
    return Job(lake, broker, "db.t", topic, value=value_options, select=orders.SELECT)


def check(job):
    return run_calve("check", job.file)


def findings(job):
    done = run_calve("check", job.file, "--json")
    return done, {item["part"]: item for item in json.loads(done.out)}


def test_check_of_a_good_job_writes_nothing(lake, topics, good):
    before = {p for p in lake.folder.rglob("*")}
    done = check(good)
    assert done.status == 0, done
    after = {p for p in lake.folder.rglob("*") if not p.name.startswith("lake.db-")}
    assert after <= before, after - before
    assert snapshots(lake, "db.t") == [] and not good.checkpoint.exists()
    assert topics.group_offsets(f"calve.{good.name}") == {}


def test_check_of_a_job_that_ran(lake, good):
    good.run().check()
    held = sorted((p.name, p.read_bytes()) for p in good.checkpoint.rglob("*") if p.is_file())
    assert check(good).status == 0
    assert sorted((p.name, p.read_bytes()) for p in good.checkpoint.rglob("*") if p.is_file()) == held


def broken(job, section, **changes):
    job.config[section] |= changes
    return job.write()


def test_check_names_each_broken_part(lake, good):
    cases = [
        ("value", {"basic.auth.user.info": f"{REGISTRY_USER}:no{REGISTRY_PASSWORD}"}, "401"),
        ("source", {"subscribe": "no-such-topic"}, "no-such-topic"),
        ("sink", {"table": f"{lake.name}.db.nothing"}, "db.nothing"),
    ]
    for section, changes, named in cases:
        kept = dict(good.config[section])
        done = check(broken(good, section, **changes))
        assert done.status == 1 and named in done.text, done
        good.config[section] = kept


def test_check_of_a_table_that_does_not_fit(lake, good):
    lake.create_table("db.other", "order_id string, price int NOT NULL")
    done = check(broken(good, "sink", table=f"{lake.name}.db.other"))
    assert done.status == 1 and "price" in done.text and "item" in done.text, done


def test_check_in_json(good):
    done, parts = findings(good)
    assert done.status == 0 and len(parts) >= 5
    assert all(item["ok"] for item in parts.values())


def test_demo(tmp_path, duckdb):
    begin = time.monotonic()
    done = run_calve("demo", "--directory", tmp_path / "demo", cwd=tmp_path).check()
    assert time.monotonic() - begin < 30
    lake = Lake(tmp_path / "demo", "sql")
    lake.name = "lake"
    found = comparable(read_pyiceberg(lake, "shop.orders"))
    assert len(found) >= 1400 and len({row[0] for row in found}) == len(found)
    assert len(snapshots(lake, "shop.orders")) >= 3
    location = open_table(lake, "shop.orders").metadata_location.removeprefix("file://")
    with duckdb_connection() as connection:
        assert connection.execute(f"SELECT count(*) FROM iceberg_scan('{location}')").fetchone() == (len(found),)
    assert str(tmp_path / "demo") in done.out


def test_config_prints_every_option():
    options = json.loads(run_calve("config", "--json").check().out)
    names = json.dumps(options)
    for name in ("maxOffsetsPerTrigger", "startingOffsets", "failOnDataLoss", "checkpointLocation", "fanout-enabled",
                 "trigger", "schema.registry.url", "memory"):  # fmt: skip
        assert name in names, name


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["run"], ["run", "/no/such/job.yaml"], ["table", "create"], ["run", "x.yaml", "--nonsense"]],
    ids=" ".join,
)
def test_wrong_usage(arguments):
    done = run_calve(*arguments)
    assert done.status == 2 and done.text.strip(), done


@pytest.mark.parametrize(
    "text, named",
    [
        ("a: [", "job.yaml"),
        ("job: x\nsorce: {}\n", "sorce"),
        ("job: x\nsource: {subscribe: a}\nsink: {tabel: b}\n", "tabel"),
        ("job: x\nsource: {subscribe: '${NOT_SET_ANYWHERE}'}\n", "NOT_SET_ANYWHERE"),
    ],
    ids=["yaml", "section", "key", "variable"],
)
def test_broken_job_file(tmp_path, text, named):
    path = tmp_path / "job.yaml"
    path.write_text(text)
    done = run_calve("run", path)
    assert done.status == 2 and named in done.text, done


def test_override_and_environment(lake, broker, topic, good):
    """-o replaces a key of the job file; ${NAME} is read from the environment."""
    good.config["source"]["subscribe"] = "${CALVE_TEST_TOPIC}"
    good.write()
    done = good.run("--available-now", "-o", "source.maxOffsetsPerTrigger=5", env={"CALVE_TEST_TOPIC": topic})
    done.check()
    assert [p["numInputRows"] for p in good.batches()] == [5, 5, 5, 5]


def test_relative_paths_resolve_against_the_job_file(lake, broker, topic, good, tmp_path):
    lake.only("sql", why="it is about paths")
    entry = good.config["catalogs"][lake.name]
    entry["uri"] = "sqlite:../lake.db"
    entry["warehouse"] = "../warehouse"
    good.config["sink"]["checkpointLocation"] = "./checkpoint"
    good.write()
    good.run().check()
    assert good.checkpoint.is_dir() and len(snapshots(lake, "db.t")) == 1


def test_short_trigger_is_warned_about_once(lake, good):
    good.config["sink"]["trigger"] = "300 milliseconds"
    with good.write().start() as running:
        running.wait_for(lambda: len(good.progress()) >= 1, 30, "a batch")
        assert running.stop() == 0
    assert running.log().count("snapshots a day") == 1, running.log()


@pytest.mark.parametrize(
    "change, named",
    [
        ({"outputMode": "complete"}, "complete"),
        ({"outputMode": "update"}, "update"),
        ({"trigger": "continuous"}, "continuous"),
        ({"trigger": "5 parsecs"}, "parsecs"),
        ({"checkpointLocation": None}, "checkpointLocation"),
    ],
)
def test_refused_sink_options(good, change, named):
    good.config["sink"] |= change
    good.config["sink"] = {k: v for k, v in good.config["sink"].items() if v is not None}
    # Without --available-now, which would override the trigger.
    done = good.write().run("--quiet")
    assert done.status == 2 and named in done.text, done
