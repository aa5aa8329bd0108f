# SPDX-License-Identifier: Apache-2.0
"""Credentials that the catalog vends and that end while calve works (case 56); a store that fails all the time (55)."""

import random
import time

import pytest
from checks import check_table
from job import Job, run_calve
from kafka_client import produce
from readers import comparable, read_pyiceberg
from test_crash import COLUMNS, Load, value
from test_faults import Net
from vending import Vending


class VendingNet(Net):
    """calve has no keys of its own here."""

    def __init__(self, folder, **options):
        super().__init__(folder)
        self.lake.only("rest", why="a REST catalog vends")
        self.lake.calve_properties |= {"s3.access-key-id": None, "s3.secret-access-key": None}
        self.vending = Vending(self.faults, **options)


def load_for(net, broker, topic, seconds):
    """Runs a job under load that long, without a failure; all rows are there once."""
    net.create_table("db.t", COLUMNS, "day(day)")
    job = Job(net.lake, broker, "db.t", topic, value="json", sink={"trigger": "200 milliseconds"})
    load = Load(broker, topic)
    load.start()
    until = time.monotonic() + seconds
    with job.start() as running:
        while time.monotonic() < until:
            time.sleep(0.2)
            running.alive()
        load.finish()
        assert running.stop() == 0, running.log()
        log = running.log()
    job.run().check()
    assert [row[0] for row in comparable(read_pyiceberg(net.lake, "db.t", ("id",)))] == list(range(load.count))
    check_table(net.lake, "db.t")
    return job, log


@pytest.mark.parametrize("told, endpoint", [(True, False), (True, True), (False, False)])
@pytest.mark.timeout(600)
def test_credentials_end_while_the_job_runs(tmp_path, broker, topic, campaign, told, endpoint):
    """Renewed before they end where the catalog says when; once per end, on the first refusal, where it does not."""
    life, seconds = (30, 300) if campaign else (3, 20 if not endpoint and told else 8)
    net = VendingNet(tmp_path / "lake", seconds=life, told=told, endpoint=endpoint)
    job, log = load_for(net, broker, topic, seconds)
    used = [v for v in net.vending.issued.values() if v.uses]
    assert len(used) >= seconds // life, (len(used), net.vending.refused)
    refused = [why for why, *_ in net.vending.refused]
    assert set(refused) <= {"ExpiredToken"}, net.vending.refused
    if endpoint:
        assert net.faults.sums().get("rest credentials", 0) >= seconds // life - 1
    assert net.lake.job_entry().keys().isdisjoint({"s3.access-key-id"})
    for vended in net.vending.issued.values():
        assert vended.secret not in log and vended.token not in log
    net.close()


def test_a_long_batch_outlives_its_credentials(tmp_path, broker, topic):
    """One batch of many files over slow requests: the uploads go on with new credentials."""
    net = VendingNet(tmp_path / "lake", seconds=2, told=False)
    net.create_table("db.t", COLUMNS, "day(day)", {"write.target-file-size-bytes": "20000"})
    produce(broker.bootstrap, topic, [value(n) | {"text": random.Random(n).randbytes(600).hex()} for n in range(4000)])

    def slow(proxy, connection, upstream, request, head, body):
        time.sleep(1.2)
        request.fault = None
        refused, head = proxy.faults.watchers["s3"].ask(request, head, body)
        if refused:
            status, reason, headers, text = refused
        else:
            status, reason, headers, text = upstream.exchange(head, body, request.method)
        return proxy.answer(connection, request, status, reason, headers, text)

    net.faults.reset()
    net.faults.chance = ("s3 put", 1.0, [slow], random.Random(1))
    job = Job(net.lake, broker, "db.t", topic, value="json")
    run = job.run(timeout=120).check()
    assert "ExpiredToken" in {why for why, *_ in net.vending.refused}
    assert len(run.progress) and len(job.batches()) == 1
    assert len(comparable(read_pyiceberg(net.lake, "db.t", ("id",)))) == 4000
    check_table(net.lake, "db.t")
    net.close()


def test_two_tables_have_credentials_of_their_own(tmp_path):
    """Each table's are good for its own files alone."""
    net = VendingNet(tmp_path / "lake", seconds=60)
    for name in ("a", "b"):
        net.create_table(f"db.{name}", "id bigint")
    entry = net.lake.config_file()
    for name in ("a", "b"):
        table = net.lake.pyiceberg().load_table(f"db.{name}")
        import pyarrow as pa

        for n in range(3):
            table.append(pa.table({"id": pa.array([n], pa.int64())}))
    tables = [f"{net.lake.name}.db.{name}" for name in ("a", "b")]
    for table in tables:
        assert run_calve("doctor", table, "--config", entry, "--json").status in (0, 1)
        run_calve("maintain", "rewrite-data-files", table, "--config", entry, "--rewrite-all").check()
    assert len(net.vending.prefixes()) == 2 and not net.vending.refused, net.vending.refused
    net.close()


def test_what_a_catalog_without_keys_of_ours_can(tmp_path):
    """A table that is registered, and a search for its orphans: by what the catalog vends, and vends for it alone."""
    net = VendingNet(tmp_path / "lake", seconds=60)
    net.create_table("db.t", "id bigint")
    config = net.lake.config_file()
    name, metadata = f"{net.lake.name}.db.t", net.lake.pyiceberg().load_table("db.t").metadata_location
    run_calve("table", "drop", name, "--yes", "--config", config).check()
    done = run_calve("maintain", "register-table", name, "--metadata-file", metadata, "--config", config).check()
    assert "format version" in done.text, done
    run_calve("maintain", "remove-orphan-files", name, "--dry-run", "--config", config).check()
    assert not net.vending.refused, net.vending.refused
    net.close()


@pytest.mark.timeout(600)
def test_a_store_that_fails_a_third_of_the_time(tmp_path, broker, topic, campaign):
    """Case 55: throttling makes the job slower and nothing else."""
    net = Net(tmp_path / "lake")
    # With six attempts one request in 1,400 fails each time, and some hundred are sent.
    net.lake.calve_properties |= {"s3.retry.num-retries": "12"}
    net.faults.chance = ("s3 (put|get|list|head|delete|begin|complete)", 0.3, ["503", "500", "reset before", "reset after"],
                         random.Random(55))  # fmt: skip
    load_for(net, broker, topic, 60 if campaign else 8)
    assert net.faults.met
    net.close()
