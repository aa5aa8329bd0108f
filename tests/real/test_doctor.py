# SPDX-License-Identifier: Apache-2.0
"""calve doctor on real tables and a real broker: step 4 of the scenario, and the findings that need a server. The rest
of the findings is provoked in tests/unit/doctor."""

import json
import math
import shlex
import time

import components
import orders
import pytest
from checks import check_table, read_everywhere
from job import Job, local, pause, run_calve
from kafka_client import produce
from readers import live_files, open_table, rows

COLUMNS = "id bigint NOT NULL, text string, ts timestamp"
TARGET = 1 << 20
TABLE_PROPERTIES = {
    "write.target-file-size-bytes": TARGET,
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": 3,
}
HEALTHY = {
    "rewrite-data-files": {"when": "avoidable-files > 20", "min-input-files": 5},
    "expire-snapshots": {"every": "1h"},
    "remove-orphan-files": "1 day",
}
SELECT = "value.id, value.text, value.ts"


def doctor(subject, *arguments, config=None):
    words = ["doctor", subject, *arguments]
    return run_calve(*words, *(["--config", config] if config else []), timeout=120)


def findings(subject, config=None, counted=True):
    """The findings by name; notes left out unless asked for."""
    run = doctor(subject, "--json", config=config)
    assert run.status in (0, 1), run
    found = {f["name"]: f for f in reversed(json.loads(run.out))}  # the worst first
    assert run.status == (1 if any(f["severity"] != "note" for f in found.values()) else 0), run
    return {n: f for n, f in found.items() if f["severity"] != "note"} if counted else found


def records(start, end, days=(17, 18)):
    """Records of two days, so that each batch has a file in two partitions."""
    return [{"id": n, "text": f"text {n}", "ts": f"2026-03-{days[n % len(days)]} 10:00:{n % 60:02d}"} for n in
            range(start, end)]  # fmt: skip


@pytest.fixture
def job(lake, broker, topic):
    lake.create_table("shop.orders", COLUMNS, "day(ts)", TABLE_PROPERTIES)
    return Job(lake, broker, "shop.orders", topic, value="json", select=SELECT, sink={"trigger": "1 minute"})


def folder_bytes(lake):
    return sum(p.stat().st_size for p in lake.folder_of("shop.orders").rglob("*") if p.is_file())


def files_of_days(lake):
    days = {}
    for file in live_files(lake, "shop.orders"):
        count, size = days.get(file.partition[0], (0, 0))
        days[file.partition[0]] = (count + 1, size + file.file_size_in_bytes)
    return days


@pytest.mark.timeout(600)
def test_short_trigger_is_found_and_healed(lake, broker, job, topic, campaign, duckdb):
    """Step 4 of the scenario."""
    job.config["sink"]["trigger"] = "5 seconds" if campaign else "1 second"
    job.write()
    sent = 0
    with job.start() as running:
        end = time.monotonic() + (180 if campaign else 22)
        while time.monotonic() < end or len(job.batches()) < 22:  # a busy machine makes fewer commits in that time
            running.alive()
            produce(broker.bootstrap, topic, records(sent, sent + 40))
            sent += 40
            pause(0.5)
        running.wait_for(lambda: sum(b["sink"]["numOutputRows"] for b in job.batches()) == sent, 30, "all rows")
        assert running.stop() == 0
    name, config = f"{lake.name}.shop.orders", lake.config_file()
    before, size = read_everywhere(lake, "shop.orders"), folder_bytes(lake)
    days = files_of_days(lake)
    found = findings(name, config)
    assert {"trigger-too-short", "avoidable-files", "no-maintenance-for-expire-snapshots"} <= set(found)
    assert found["avoidable-files"]["number"] == sum(n - math.ceil(b / TARGET) for n, b in days.values())
    assert {"trigger-too-short", "avoidable-files", "no-maintenance-for-expire-snapshots"} <= set(findings(job.file))
    fixed = doctor(name, "--fix", config=config)
    assert fixed.status == 0, fixed
    assert {d: n for d, (n, _) in files_of_days(lake).items()} == {
        d: math.ceil(b / TARGET) for d, (_, b) in files_of_days(lake).items()
    }
    assert read_everywhere(lake, "shop.orders") == before
    assert folder_bytes(lake) < size, fixed
    check_table(lake, "shop.orders")
    assert findings(name, config) == {}
    check_the_job_is_well(job)
    assert doctor(name, "--fix", config=config).out.count("nothing that --fix could run") == 1


def check_the_job_is_well(job):
    """What stays of the job is its own settings; with them right nothing is found, and it goes on where it was."""
    assert set(findings(job.file)) == {
        "trigger-too-short",
        "no-maintenance-for-rewrite-data-files",
        "no-maintenance-for-expire-snapshots",
    }
    job.config["sink"]["trigger"] = "1 minute"
    job.config["maintenance"] = HEALTHY
    job.write()
    assert findings(job.file) == {}
    assert sum(b["sink"]["numOutputRows"] for b in job.run().check().progress if "addBatch" in b["durationMs"]) == 0


@pytest.mark.lakes("sql", "rest")
def test_advice_is_a_command_that_works(lake, broker, job, topic):
    """Each command of a table's findings, copied into a shell, takes its finding away."""
    produce(broker.bootstrap, topic, records(0, 220))
    job.config["sink"]["trigger"] = "1 second"
    job.config["source"]["maxOffsetsPerTrigger"] = 10
    job.write()
    job.run().check()
    name, config = f"{lake.name}.shop.orders", lake.config_file()
    cleanup = ["write.metadata.delete-after-commit.enabled", "write.metadata.previous-versions-max"]
    run_calve("table", "set", name, "--remove", cleanup[0], "--remove", cleanup[1], "--config", config).check()
    for n in range(8):
        run_calve("table", "set", name, "--property", f"x={n}", "--config", config).check()
    found = findings(name, config)
    commands = [f["command"] for f in found.values() if f["command"]]
    assert len(commands) >= 3, found
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "calve"
        run_calve(*words[1:]).check()
    assert set(findings(name, config)) <= {"trigger-too-short"}


def test_names_what_is_not_there(lake, broker, job, topic):
    lake.only("sql", "sql-s3", why="other catalogs do not answer for such a table")
    name, config = f"{lake.name}.shop.orders", lake.config_file()
    produce(broker.bootstrap, topic, records(0, 10))
    job.run().check()
    run_calve("table", "set", name, "--property", "x=y", "--config", config).check()
    local(open_table(lake, "shop.orders").metadata_location).unlink()
    found = findings(name, config)
    assert list(found) == ["catalog-points-to-missing-metadata"]
    for command in found["catalog-points-to-missing-metadata"]["command"].split(" && "):
        run_calve(*shlex.split(command)[1:]).check()
    assert findings(name, config) == {} and len(read_everywhere(lake, "shop.orders")) == 10
    for path in (lake.folder_of("shop.orders") / "metadata").glob("*.metadata.json"):
        path.unlink()
    found = findings(name, config)
    assert list(found) == ["catalog-points-to-missing-metadata"]
    assert doctor(name, "--fix", config=config).status == 1
    assert set(findings(job.file)) == {"catalog-points-to-missing-metadata"}
    run_calve("table", "drop", name, "--yes", "--config", config).check()
    assert doctor(name, config=config).status == 3
    assert doctor(name, "--price", "cheap", config=config).status == 2
    assert doctor("no-such.yaml").status == 2


def test_foreign_writer_and_price(lake, broker, job, topic):
    produce(broker.bootstrap, topic, records(0, 10))
    job.run().check()
    name, config = f"{lake.name}.shop.orders", lake.config_file()
    assert "foreign-writer" not in findings(name, config, counted=False)
    table = open_table(lake, "shop.orders")
    table.append(table.scan().to_arrow())
    assert findings(name, config, counted=False)["foreign-writer"]["severity"] == "note"
    open_table(lake, "shop.orders").delete("id = 3")
    found = findings(name, config)["foreign-writer"]
    assert "PyIceberg" in found["what"] and found["number"] >= 2
    split = json.loads(doctor(name, "--json", "--price", "0.023", config=config).out)
    details = next(f["details"] for f in split if f["name"] == "storage-split")
    assert details["live_files"] == len(live_files(lake, "shop.orders"))
    assert details["live_bytes"] == sum(f.file_size_in_bytes for f in live_files(lake, "shop.orders"))
    there = sum(details[k] for k in ("live_bytes", "old_bytes", "orphan_bytes", "metadata_bytes"))
    assert there == folder_bytes(lake)
    assert details["live_per_month"] == pytest.approx(details["live_bytes"] / 1e9 * 0.023)
    assert "per month" in doctor(name, "--price", "0.023", config=config).out


def test_records_that_are_gone_or_soon_will_be(lake, broker, topics, topic):
    lake.create_table("shop.orders", COLUMNS, "day(ts)", TABLE_PROPERTIES)
    kept = topics.create(f"{topic}-kept", 2, retention_ms=3600_000)
    job = Job(lake, broker, "shop.orders", kept, value="json", select=SELECT, sink={"trigger": "1 minute"},
              maintenance=HEALTHY)  # fmt: skip
    produce(broker.bootstrap, kept, records(0, 20))
    job.run().check()
    assert findings(job.file) == {}
    old = int((time.time() - 3500) * 1000)
    produce(broker.bootstrap, kept, [dict_record(r, old) for r in records(20, 30)])
    found = findings(job.file)
    assert set(found) == {"retention-headroom", "stuck-partition"}
    assert found["retention-headroom"]["severity"] == "critical"
    assert f"{kept}[0]" in found["retention-headroom"]["what"]
    topics.delete_records(kept, {0: 25})
    found = findings(job.file)
    assert found["offset-out-of-range"]["number"] == 5
    assert "source.failOnDataLoss=false" in found["offset-out-of-range"]["command"]


def dict_record(value, timestamp, partition=0):
    from kafka_client import Record

    return Record(json.dumps(value).encode(), partition=partition, timestamp=timestamp)


def test_one_partition_stands_still(lake, broker, topics, topic):
    """Two partitions are read; the third has a record that waits for half an hour."""
    lake.create_table("shop.orders", COLUMNS, "day(ts)", TABLE_PROPERTIES)
    topics.add_partitions(topic, 3)
    job = Job(lake, broker, "shop.orders", topic, value="json", select=SELECT, sink={"trigger": "1 minute"},
              maintenance=HEALTHY)  # fmt: skip
    produce(broker.bootstrap, topic, [dict_record(r, None, n % 3) for n, r in enumerate(records(0, 30))])
    job.run().check()
    produce(broker.bootstrap, topic, [dict_record(records(30, 31)[0], int((time.time() - 1800) * 1000), 2)])
    found = findings(job.file)
    assert set(found) == {"stuck-partition"}
    assert f"{topic}[2]" in found["stuck-partition"]["what"]


def test_bad_records_are_counted(lake, broker, job, topic):
    job.config["value"]["mode"] = "DROPMALFORMED"
    job.config["maintenance"] = HEALTHY
    job.write()
    produce(broker.bootstrap, topic, ["{broken", *records(0, 8), '{"id": "x"}'])
    job.run().check()
    found = findings(job.file)
    assert set(found) == {"dead-letters"} and found["dead-letters"]["number"] == 2
    assert "2 of 10 records" in found["dead-letters"]["what"] and "calve.json" in found["dead-letters"]["what"]


def test_table_checkpoint_and_group_disagree(lake, broker, topics, job, topic):
    job.config["maintenance"] = HEALTHY
    job.write()
    for batch in range(3):
        produce(broker.bootstrap, topic, records(10 * batch, 10 * batch + 10))
        job.run().check()
    assert findings(job.file) == {}
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"calve.{job.name}"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 37)], asynchronous=False)
    consumer.close()
    found = findings(job.file)
    assert found["position-mismatch"]["number"] == 7 and "ahead of" in found["position-mismatch"]["what"]
    first = lake.metadata("shop.orders")["snapshots"][0]["snapshot-id"]
    open_table(lake, "shop.orders").manage_snapshots().set_current_snapshot(first).commit()
    found = findings(job.file)
    assert found["position-mismatch"]["severity"] == "critical" and "rolled back" in found["position-mismatch"]["what"]
    assert job.run().status == 3  # what doctor foretold
    words = found["position-mismatch"]["command"].split()[1:]
    assert "--resume-from=table" in words
    job.run("--available-now", words[-1]).check()
    assert findings(job.file) == {}


def test_a_commit_whose_note_is_missing(lake, broker, job, topic):
    produce(broker.bootstrap, topic, records(0, 10))
    assert job.run(fault="commit-done").status != 0
    found = findings(job.file, counted=False)["unknown-commit-state"]
    assert "the table has it" in found["what"]
    job.run().check()
    assert "unknown-commit-state" not in findings(job.file, counted=False)


def test_schema_of_the_registry_moves_on(lake, broker, topic, registry, value_options):
    lake.create_table("shop.orders", orders.COLUMNS, "day(bid_time)", orders.PROPERTIES)
    registry.register(f"{topic}-value", orders.PLAIN)
    job = Job(lake, broker, "shop.orders", topic, value=value_options, sink={"trigger": "1 minute"},
              select="value.order_id, value.item, CAST(value.price AS DECIMAL(10,2)) AS price, value.supplier, "
              "value.bid_time", maintenance=HEALTHY)  # fmt: skip
    assert "schema-drift" not in findings(job.file)
    job.config.pop("select")
    job.config["select"] = "value.*"
    job.write()
    found = findings(job.file)["schema-drift"]
    assert "price" in found["what"]


def test_running_job_and_dead_broker(lake, broker, job, topic):
    """A job that runs is seen as such; without a broker the rest is judged."""
    produce(broker.bootstrap, topic, records(0, 10))
    with job.start() as running:
        running.wait_for(lambda: sum(b["sink"]["numOutputRows"] for b in job.batches()) == 10, 30, "rows")
        found = findings(job.file, counted=False)
        assert found["open-partition-growth"]["number"] == 2
        assert running.stop() == 0
    assert "open-partition-growth" not in findings(job.file, counted=False)
    job.config["source"]["kafka.bootstrap.servers"] = f"127.0.0.1:{components.free_port()}"
    job.write()
    assert "broker-not-reached" in findings(job.file, counted=False)


def test_lines_for_people(lake, broker, job, topic):
    produce(broker.bootstrap, topic, records(0, 10))
    job.run().check()
    out = doctor(f"{lake.name}.shop.orders", config=lake.config_file()).out
    assert f"{lake.name}.shop.orders: 10 rows in 2 files" in out
    for bucket in ("live", "old", "orphan", "metadata"):
        assert f"\n  {bucket} " in out
    assert "\nfine" in out and "\033" not in out
    assert rows([(1,)])  # the readers are those of the other tests
