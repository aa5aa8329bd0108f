# SPDX-License-Identifier: Apache-2.0
"""calve on a REST catalog and S3 with a network that fails (tests/support/faults.py): every request of a batch and of
each maintenance procedure meets every fault. Afterwards, and after a restart where the run failed, no row is lost or
doubled, every file that metadata names is there, and what is left over is found by remove-orphan-files.

All of them take most of an hour and run in a campaign, which writes docs/FAULTS.md; else a choice that has each request
and each fault at least once. CALVE_FAULTS is the number of faults that each request meets then.
"""

import collections
import datetime
import itertools
import json
import os
import pathlib
import subprocess

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks import check_table
from components import ROOT
from faults import FAULTS, OUTAGE, REACHED, Faults
from job import Job, Lake
from kafka_client import produce
from lakes import KINDS, SERVERS, local
from readers import comparable, open_table, read_pyiceberg
from twins import Twins, maintain, spark_history

DAYS = ["2026-03-30", "2026-03-31"]
FUTURE = "2100-01-01 00:00:00"
IDLE = ("--older-than", FUTURE, "--table-is-idle")
# Seconds become parts of one, so that a test ends soon.
QUICK = {
    "s3.connect-timeout": "2",
    "s3.request-timeout": "2",
    "s3.retry.min-wait-ms": "20",
    "s3.retry.max-wait-ms": "200",
    "s3.retry.num-retries": "5",
    "rest.client.max-retries": "3",
    "rest.client.connection-timeout-ms": "2000",
    "rest.client.socket-timeout-ms": "2000",
}
ALL = [*FAULTS, OUTAGE]
DELETED = 2  # status of a manifest's entry: alive in an older snapshot, if at all

outcomes = collections.OrderedDict()  # (part, kind) → {fault: set of words}


class Net:
    """A lake on S3 behind failing proxies, its catalog too where that is REST."""

    def __init__(self, folder):
        kind = os.environ.get("CALVE_LAKE", "rest")
        self.lake = Lake(folder, kind if KINDS[kind][1] == "s3" else "rest")
        self.faults = Faults()
        if self.lake.catalog == "rest":
            port = self.faults.proxy("rest", SERVERS.get("rest").port)
            self.lake.calve_uri = f"http://127.0.0.1:{port}/{self.lake.name}"
        self.lake.calve_endpoint = f"http://127.0.0.1:{self.faults.proxy('s3', SERVERS.get('s3').port)}"
        self.lake.calve_properties = {k: v for k, v in QUICK.items() if k.startswith("s3") or self.lake.catalog == "rest"}

    def create_table(self, *arguments):
        """With time to do so: a creation that is sent again may leave a metadata file of the server's behind."""
        quick = self.lake.calve_properties
        self.lake.calve_properties = {k: v for k, v in quick.items() if k not in QUICK}
        self.lake.create_table(*arguments)
        self.lake.calve_properties = quick

    def close(self):
        self.faults.close()
        self.lake.close()


class History(Net):
    """A table with deletes, a branch and a tag, kept as it is, so that each case begins with it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.twins = None

    def keep(self):
        self.twins = Twins(self.lake)
        self.rows = {ref: rows_of(self.lake, ref) for ref in ("main", "side")}
        return self


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Of PyIceberg: small files in two partitions, some rewritten by deletes."""
    net = History(tmp_path_factory.mktemp("faults") / "lake")
    net.create_table("db.t", "id bigint, day date, s string", "day")
    table = open_table(net.lake, "db.t")
    for start in range(0, 60, 10):
        if start == 30:
            snapshot = table.current_snapshot().snapshot_id
            table.manage_snapshots().create_tag(snapshot, "early").create_branch(snapshot, "side").commit()
        table.append(rows_from(start))
    table.append(rows_from(100), branch="side")
    table.delete("id >= 13 and id < 18")
    yield net.keep()
    net.close()


@pytest.fixture(scope="module")
def spark_table(spark, tmp_path_factory):
    """Of Spark: position deletes of several specs."""
    net = History(tmp_path_factory.mktemp("faults") / "lake")
    spark_history(spark, net.lake, "db.t", 2)
    yield net.keep()
    net.close()


def rows_from(start):
    ids = range(start, start + 10)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "day": pa.array([datetime.date(2026, 1, 1 + n % 2) for n in ids]),
            "s": [f"text {n}" for n in ids],
        }
    )


@pytest.fixture(scope="module", autouse=True)
def report(campaign):
    yield
    if campaign and outcomes:
        write_report(ROOT / "docs" / "FAULTS.md")


def rows_of(lake, ref):
    table = open_table(lake, "db.t")
    snapshot = table.snapshot_by_name(ref)
    return comparable(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().select(["id", "day", "s"]))


def choose(requests, campaign, start=0, per_kind=2):
    """Pairs of (kind, nth) and fault: all of them, or per kind of request a few of the faults, in turn."""
    if campaign:
        return [(request, fault) for request in requests for fault in ALL]
    chosen, turn = [], start
    per_kind = int(os.environ.get("CALVE_FAULTS", per_kind))
    for request in [r for r in requests if r[1] == 0]:
        for _ in range(per_kind):
            chosen.append((request, ALL[turn % len(ALL)]))
            turn += 1
    return chosen


def note(part, request, fault, run, strays):
    words = "again" if run.status == 0 else "stops"
    if strays:
        words += ", orphans"
    print(f"{part}: {request[0]}[{request[1]}] × {fault}: {words}, {run.seconds:.1f} s")
    outcomes.setdefault((part, request[0]), {}).setdefault(fault, set()).add(words)


def value(number):
    return {"id": number, "day": DAYS[number % 2], "text": f"text {number}"}


def reached(lake, table, since=0):
    """All files that the metadata names; of snapshots after a sequence number alone. Files are read from the disk."""
    metadata = lake.metadata(table)
    named = {local(open_table(lake, table).metadata_location)}
    named |= {local(entry["metadata-file"]) for entry in metadata["metadata-log"]}
    for snapshot in metadata["snapshots"]:
        if snapshot["sequence-number"] <= since:
            continue
        named.add(local(snapshot["manifest-list"]))
        for manifest in read_avro(local(snapshot["manifest-list"])):
            if manifest["sequence_number"] <= since or local(manifest["manifest_path"]) in named:
                continue
            named.add(local(manifest["manifest_path"]))
            for entry in read_avro(local(manifest["manifest_path"])):
                if entry["status"] != DELETED:
                    named.add(local(entry["data_file"]["file_path"]))
    return named


def read_avro(path):
    with open(path, "rb") as file:
        return list(fastavro.reader(file))


def files_of(lake, table):
    return {p for p in lake.folder_of(table).rglob("*") if p.is_file()}


def check_live(named):
    gone = [p for p in named if not p.exists()]
    assert not gone, f"metadata names files that are not there: {gone}"


def check_unavoidable(fault, strays):
    """A file is left over only where nobody could know whether the server had done what it was asked for, or where it
    could no longer be asked to delete."""
    if fault not in REACHED | {OUTAGE}:
        assert not [p for p in strays if p.suffix == ".parquet"], f"{fault}: {strays}"


def check_orphans_found(net, table, strays):
    run = maintain(net.lake, "remove-orphan-files", table, "--dry-run", *IDLE).check()
    found = {local(row["orphan_file_location"]) for row in json.loads(run.out)}
    # Metadata files that fell out of the log of the newest hundred are orphans, too.
    assert {p for p in found if not p.name.endswith(".metadata.json")} == strays


@pytest.mark.timeout(3600)
def test_every_request_of_a_batch(tmp_path, broker, topic, campaign):
    net = Net(tmp_path / "lake")
    net.create_table("db.t", "id bigint, day date, text string", "day(day)")
    job = Job(net.lake, broker, "db.t", topic, value="json")
    count = 0

    def batch(plan=None):
        nonlocal count
        produce(broker.bootstrap, topic, [value(n) for n in range(count, count + 10)])
        count += 10
        net.faults.reset(plan)
        return job.run(timeout=120)

    batch().check()
    batch().check()
    requests = net.faults.kinds()
    left = set()
    failures = []
    for request, fault in choose(requests, campaign, per_kind=4):
        before, head = files_of(net.lake, "db.t"), net.lake.metadata("db.t")["last-sequence-number"]
        run = batch({request: fault})
        try:
            assert net.faults.met, f"no such request came: {net.faults.requests}"
            assert run.status in (0, 3), run
            if run.status != 0:
                net.faults.reset()
                job.run().check()
            named = reached(net.lake, "db.t", head)
            check_live(named)
            new = [pq.read_table(p, partitioning=None)["id"].to_pylist() for p in named if p.suffix == ".parquet"]
            assert sorted(itertools.chain(*new)) == list(range(count - 10, count))
            strays = files_of(net.lake, "db.t") - before - named
            check_unavoidable(fault, strays)
            note("a batch", request, fault, run, strays)
            left |= strays
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failures.append(f"{request} × {fault}: {str(error)[:3000]}")
            net.faults.reset()
            job.run(timeout=120)
            if len(failures) > 5:
                break
    assert not failures, "\n\n".join(failures)
    net.faults.reset()
    assert [row[0] for row in comparable(read_pyiceberg(net.lake, "db.t", ("id",)))] == list(range(count))
    check_table(net.lake, "db.t")
    check_orphans_found(net, "db.t", left)
    net.close()


def strays_of(net):
    for name in ("data/a.parquet", "data/day=2026-01-01/b.parquet", "metadata/c.avro"):
        path = net.lake.folder_of("db.t") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"stray")


PROCEDURES = {
    "expire-snapshots": ["--older-than", FUTURE, "--retain-last", "1"],
    "rewrite-data-files": ["--rewrite-all", "--remove-dangling-deletes"],
    "rewrite-manifests": [],
    "remove-orphan-files": [*IDLE],
    "rewrite-position-delete-files": ["--rewrite-all"],
}


@pytest.mark.parametrize("procedure", PROCEDURES)
@pytest.mark.timeout(3600)
def test_every_request_of_a_procedure(request, procedure, campaign):
    net = request.getfixturevalue("spark_table" if "position" in procedure else "history")
    arguments = PROCEDURES[procedure]

    def run(plan=None):
        net.faults.reset(plan)
        return maintain(net.lake, procedure, "db.t", *arguments, timeout=120)

    def begin():
        net.twins.back()
        if procedure == "remove-orphan-files":
            strays_of(net)

    begin()
    run().check()
    requests = net.faults.kinds()
    check_live(reached(net.lake, "db.t"))
    failures = []
    for place, fault in choose(requests, campaign, start=len(procedure), per_kind=1):
        begin()
        first = run({place: fault})
        try:
            assert net.faults.met, f"no such request came: {net.faults.requests}"
            assert first.status in (0, 3), first
            check_live(reached(net.lake, "db.t"))
            if first.status != 0:
                run().check()
            named = reached(net.lake, "db.t")
            check_live(named)
            assert {ref: rows_of(net.lake, ref) for ref in net.rows} == net.rows
            strays = files_of(net.lake, "db.t") - named
            check_unavoidable(fault, strays)
            net.faults.reset()
            check_orphans_found(net, "db.t", strays)
            note(procedure, place, fault, first, strays)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failures.append(f"{place} × {fault}: {str(error)[:3000]}")
            if len(failures) > 5:
                break
    assert not failures, "\n\n".join(failures)


HEAD = """# What calve does when the network fails

Written by `make campaign` (tests/real/test_faults.py): between calve and both servers (Iceberg's REST catalog, an S3 server)
stands a proxy, and every request of a batch and of each procedure meets every fault. After each case, and a restart where
the run failed: no row lost or doubled, every file that metadata names is there, leftover files are found by
`remove-orphan-files`.

*reset before*: the connection is cut before the server hears of it; *reset after*: when the server has done it; *time-out*,
*500 after*, *truncated*, *garbage*, *slow body*: the server has done it and its answer does not arrive as it should;
*expired token*: ExpiredToken from S3, 419 from the catalog; *outage*: this and every later request is refused.

`·` the run goes on, the request was sent again or was not needed · `S` the run stops with an error and goes on when
started again · `o` files are left over until `remove-orphan-files` (the server could not be asked, or nobody could know
whether a commit names them) · blank: not in this run.
"""


def write_report(path: pathlib.Path):
    lines = [HEAD]
    for part in dict.fromkeys(part for part, _ in outcomes):
        lines += [f"\n## {part[0].upper()}{part[1:]}\n", "| request | " + " | ".join(ALL) + " |"]
        lines.append("|---" * (len(ALL) + 1) + "|")
        for (of, kind), cells in outcomes.items():
            if of == part:
                lines.append(f"| {kind} | " + " | ".join(cell(cells.get(fault, ())) for fault in ALL) + " |")
    path.write_text("\n".join(lines) + "\n")


def cell(words):
    marks = ("S" if any("stops" in w for w in words) else "·") if words else ""
    return marks + (" o" if any("orphans" in w for w in words) else "")
