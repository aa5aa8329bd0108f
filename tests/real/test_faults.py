# SPDX-License-Identifier: Apache-2.0
"""calve on a REST catalog and S3 with a network that fails (tests/support/faults.py): every request of a batch, of a start
and of each procedure and command meets every fault. Afterwards, and after a restart where the run failed, no row is lost
or doubled, every file that metadata names is there, and what is left over is found by remove-orphan-files.

All of them take more than an hour and run in a campaign, which writes docs/FAULTS.md; else a choice that has each kind of
request and each fault at least once. CALVE_FAULTS is the number of faults that each kind of request meets then.
"""

import collections
import concurrent.futures
import datetime
import itertools
import json
import os
import random
import re
import subprocess

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks import check_table
from fault_report import ALL, PAGE, Notes, write_report
from faults import OUTAGE, OUTAGE_AFTER, REACHED, Faults, Upstream, write_answer
from job import Job, Lake, run_calve
from kafka_client import produce
from lakes import KINDS, SERVERS, local
from readers import comparable, open_table, read_pyiceberg
from twins import Twins, maintain, spark_history
from vending import sign_anew

DAYS = ["2026-03-30", "2026-03-31"]
FUTURE = "2100-01-01 00:00:00"
IDLE = ("--older-than", FUTURE, "--table-is-idle")
# Seconds become parts of one, so that a test ends soon.
QUICK = {
    "s3.connect-timeout": "1.5",
    "s3.request-timeout": "1.5",
    "s3.retry.min-wait-ms": "20",
    "s3.retry.max-wait-ms": "200",
    "s3.retry.num-retries": "5",
    "rest.client.max-retries": "3",
    "rest.client.retry-min-wait-ms": "100",
    "rest.client.connection-timeout-ms": "1500",
    "rest.client.socket-timeout-ms": "1500",
}
SOON = {"commit.status-check.min-wait-ms": "100", "commit.retry.min-wait-ms": "20"}
SLOW_S = 1.2  # of a request without a fault: this machine may have made a time-out of its own
DELETED = 2  # status of a manifest's entry: alive in an older snapshot, if at all
FAILURES_MAX = 12


class Net:
    """A lake on S3 behind failing proxies, its catalog too where that is REST."""

    def __init__(self, folder):
        kind = os.environ.get("CALVE_LAKE", "rest")
        self.lake = Lake(folder, kind if KINDS[kind][1] == "s3" else "rest")
        self.faults = Faults().stand_before(self.lake)
        self.lake.calve_properties = {k: v for k, v in QUICK.items() if k.startswith("s3") or self.lake.catalog == "rest"}
        self.found = {}  # manifest list → rows, of snapshots that were read
        # Kept: thousands of cases would make one each.
        self.catalog, self.s3 = self.lake.pyiceberg(), SERVERS.get("s3").client()

    def create_table(self, *arguments):
        """With time to do so."""
        quick = self.lake.calve_properties
        self.lake.calve_properties = {k: v for k, v in quick.items() if k not in QUICK}
        self.lake.create_table(*arguments)
        self.lake.calve_properties = quick

    def rows(self, state, ref):
        """Of a branch. The same manifest list, whose files are all there, has the same rows."""
        snapshot = state.table.snapshot_by_name(ref)
        if snapshot.manifest_list not in self.found:
            scan = state.table.scan(snapshot_id=snapshot.snapshot_id, selected_fields=("id", "day", "s"))
            self.found[snapshot.manifest_list] = comparable(scan.to_arrow().select(["id", "day", "s"]))
        return self.found[snapshot.manifest_list]

    def uploads(self):
        answer = self.s3.list_multipart_uploads(Bucket=self.lake.bucket)
        return {(u["Key"], u["UploadId"]) for u in answer.get("Uploads", [])}

    def close(self):
        self.faults.close()
        self.lake.close()


class State:
    """A table as it is now."""

    def __init__(self, net, name):
        self.table = net.catalog.load_table(name)
        self.location = self.table.metadata_location
        self.metadata = json.loads(local(self.location).read_text())
        self.folder = local(self.metadata["location"])

    def reached(self, since=0):
        """All files that the metadata names; of snapshots after a sequence number alone. Files are read from the disk."""
        named = {local(self.location)} | {local(entry["metadata-file"]) for entry in self.metadata["metadata-log"]}
        for snapshot in self.metadata["snapshots"]:
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
        gone = [p for p in named if not p.exists()]
        assert not gone, f"metadata names files that are not there: {gone}"
        return named


class History(Net):
    """A table with deletes, branches and a tag, kept as it is, so that each case begins with it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.twins = None

    def keep(self):
        self.twins = Twins(self.lake)
        self.state = State(self, "db.t")
        self.refs = {name: ref["snapshot-id"] for name, ref in self.state.metadata["refs"].items()}
        self.expected = {ref: self.rows(self.state, ref) for ref in self.refs}
        return self


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Of PyIceberg: small files in two partitions, some rewritten by deletes."""
    net = History(tmp_path_factory.mktemp("faults") / "lake")
    net.create_table("db.t", "id bigint, day date, s string", "day", SOON)
    table = open_table(net.lake, "db.t")
    for start in range(0, 40, 10):
        if start == 20:
            snapshot = table.current_snapshot().snapshot_id
            table.manage_snapshots().create_tag(snapshot, "early").create_branch(snapshot, "side").create_branch(
                snapshot, "old").commit()  # fmt: skip
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


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    net = Net(tmp_path_factory.mktemp("faults") / "lake")
    net.create_table("db.first", "id bigint")
    yield net
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


def some_of(requests):
    """All, but of a kind that comes more than three times the first, the second and the last."""
    counts = collections.Counter(kind for kind, _ in requests)
    return [(kind, nth) for kind, nth in requests if nth < 2 or nth == counts[kind] - 1]


class Turn:
    """Outside a campaign: the faults come one after the other, each to the next kind of request that was not met yet; to
    a commit and a deletion in each part."""

    def __init__(self):
        self.kinds = set()
        self.faults = itertools.cycle(ALL)

    def choose(self, requests, per_kind):
        per_kind = int(os.environ.get("CALVE_FAULTS", per_kind))
        for kind in dict.fromkeys(kind for kind, _ in requests):
            if kind not in self.kinds or kind in ("rest commit", "s3 delete many"):
                yield from (((kind, 0), next(self.faults)) for _ in range(per_kind))
            self.kinds.add(kind)


TURN = Turn()


def run_with(net, case, begin, run):
    """The run, the requests that met the fault, and whether this machine was slow. The report of metrics has a thread of
    its own and is not always sent before the process ends."""
    for _ in range(3):
        begin()
        net.faults.reset(case)
        first = run()
        met, requests = net.faults.met, net.faults.requests
        net.faults.reset()
        if met:
            return first, any(r.fault is None and (r.seconds or 0) > SLOW_S for r in requests)
    raise AssertionError(f"no such request came: {requests}")


def meet_faults(part, net, campaign, begin, run, again, check, per_kind=1):
    """Runs without a fault to see the requests, then once per case. `again` is the run after one that failed; `check`
    gives the signs of what is left over."""
    requests = None
    for _ in range(3 if campaign else 2):  # on a busy machine a request may be sent again without a fault
        begin()
        net.faults.reset()
        run().check()
        found = net.faults.kinds()
        requests = found if requests is None or len(found) < len(requests) else requests
        check(None)
    notes, failures = Notes(part, requests), []
    cases = [(r, fault) for r in some_of(requests) for fault in ALL] if campaign else TURN.choose(requests, per_kind)
    for place, fault in cases:
        try:
            first, slow = run_with(net, {place: fault}, begin, run)
            assert first.status in (0, 3), first
            if first.status == 3:
                again().check()
            left = check("time-out" if slow else fault)
            print(f"{part}: {place[0]}[{place[1]}] × {fault}: exit {first.status} {left}, {first.seconds:.1f} s", flush=True)
            notes.add(place, fault, first.status != 0, left)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(f"{part}: {place[0]}[{place[1]}] × {fault}: FAILED", flush=True)
            failures.append(f"{place} × {fault}: {str(error)[:3000]}")
            net.faults.reset()
            if len(failures) >= FAILURES_MAX:
                break
    assert not failures, "\n\n".join(failures)
    if campaign:
        notes.save()


def read_avro(path):
    with open(path, "rb") as file:
        return list(fastavro.reader(file))


def files_of(folder):
    return {p for p in folder.rglob("*") if p.is_file()}


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


# --- the stream -----------------------------------------------------------------------------------


def small(number):
    return {"id": number, "day": DAYS[number % 2], "text": f"text {number}"}


def large(number):
    """Of which some make a file of two parts, since random text stays as large as it is."""
    letters = random.Random(number).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=900_000)
    return {"id": number, "text": "".join(letters)}


class Batches:
    """A job whose runs are a batch each."""

    def __init__(self, net, broker, topic, columns, partitions, value, rows, sink=None):
        self.net, self.broker, self.topic, self.value, self.size = net, broker, topic, value, rows
        net.create_table("db.t", columns, partitions, SOON)
        self.job = Job(net.lake, broker, "db.t", topic, value="json", sink=sink)
        self.count = 0
        self.left = set()
        self.uploads = set()

    def begin(self):
        produce(self.broker.bootstrap, self.topic, [self.value(n) for n in range(self.count, self.count + self.size)])
        self.count += self.size
        state = State(self.net, "db.t")
        self.before, self.head = files_of(state.folder), state.metadata["last-sequence-number"]

    def begin_recovery(self):
        """The run before ended when its commit was done and not yet noted."""
        self.begin()
        self.net.faults.reset()
        assert self.job.run(fault="commit-done").status not in (0, 3)

    def run(self):
        return self.job.run(timeout=120)

    def check(self, fault):
        state = State(self.net, "db.t")
        named = state.reached(self.head)
        new = [pq.read_table(p, partitioning=None, columns=["id"])["id"].to_pylist() for p in named if p.suffix == ".parquet"]
        assert sorted(itertools.chain(*new)) == list(range(self.count - self.size, self.count))
        strays = files_of(state.folder) - self.before - named
        check_unavoidable(fault, strays)
        uploads = self.net.uploads() - self.uploads if self.value is large else set()
        assert not uploads or fault in REACHED | {OUTAGE}, uploads
        self.left |= strays
        self.uploads |= uploads
        return ["o"] * bool(strays) + ["u"] * bool(uploads)

    def finish(self):
        ids = comparable(read_pyiceberg(self.net.lake, "db.t", ("id",)))
        assert [row[0] for row in ids] == list(range(self.count))
        check_table(self.net.lake, "db.t")
        check_orphans_found(self.net, "db.t", self.left)


STREAMS = {
    "a batch": (2, "id bigint, day date, text string", "day(day)", small, 10),
    "a batch with its checkpoint on S3": (1, "id bigint, day date, text string", "day(day)", small, 10),
    "a start after a death": (1, "id bigint, day date, text string", "day(day)", small, 10),
    "a batch with a file in parts": (1, "id bigint, text string", None, large, 10),
}


@pytest.mark.parametrize("part", STREAMS)
@pytest.mark.timeout(3600)
def test_every_request_of_the_stream(tmp_path, broker, topic, campaign, part):
    net = Net(tmp_path / "lake")
    per_kind, columns, partitions, value, rows = STREAMS[part]
    if value is large:
        net.lake.calve_properties |= {"s3.multipart.part-size-bytes": str(5 << 20), "s3.multipart.threshold": "1.0"}
    place = f"s3://{net.lake.bucket}/checkpoint/" if "checkpoint" in part else None
    sink = {"checkpointLocation": place} if place else {}
    batches = Batches(net, broker, topic, columns, partitions, value, rows, sink)
    batches.begin()
    batches.run().check()
    begin = batches.begin_recovery if "start" in part else batches.begin
    meet_faults(part, net, campaign, begin, batches.run, batches.run, batches.check, per_kind)
    batches.finish()
    net.close()


# --- procedures -----------------------------------------------------------------------------------


def put_strays(net):
    for name in ("data/a.parquet", "data/day=2026-01-01/b.parquet", "metadata/c.avro"):
        path = net.state.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"stray")


# Procedure → arguments (a ref in braces is its snapshot), and the branch whose rows change with those it then has.
PROCEDURES = {
    "expire-snapshots": (["--older-than", FUTURE, "--retain-last", "1"], {}),
    "rewrite-data-files": (["--rewrite-all", "--remove-dangling-deletes"], {}),
    "rewrite-manifests": ([], {}),
    "remove-orphan-files": ([*IDLE], {}),
    "rewrite-position-delete-files": (["--rewrite-all"], {}),
    "rollback-to-snapshot": (["--snapshot-id", "{early}"], {"main": ["early"]}),
    "cherrypick-snapshot": (["--snapshot-id", "{side}"], {"main": ["main", "side"]}),  # what came after "early"
    "fast-forward": (["--branch", "old", "--to", "main"], {"old": ["main"]}),
    "create-branch": (["--branch", "new", "--snapshot-id", "{early}"], {"new": ["early"]}),
    "drop-tag": (["--tag", "early"], {"early": None}),
}


def repeat_of(net, procedure):
    """After a stop the procedure runs again; what is done already may say so."""
    done = {"cherrypick-snapshot": "already", "create-branch": "exists", "drop-tag": "does not exist"}.get(procedure)

    def allow(run):
        if run.status != 0 and done and done in run.text:
            run.status = 0
        return run

    return allow


@pytest.mark.parametrize("procedure", PROCEDURES)
@pytest.mark.timeout(3600)
def test_every_request_of_a_procedure(request, procedure, campaign):
    net = request.getfixturevalue("spark_table" if "position" in procedure else "history")
    arguments, changes = PROCEDURES[procedure]
    arguments = [a.format(**net.refs) for a in arguments]
    expected = dict(net.expected)
    for ref, sources in changes.items():
        expected.pop(ref, None)
        if sources:
            added = [row for s in sources[1:] for row in net.expected[s] if row not in net.expected["early"]]
            expected[ref] = sorted(net.expected[sources[0]] + added)
    allow = repeat_of(net, procedure)

    def begin():
        net.twins.back()
        if procedure == "remove-orphan-files":
            put_strays(net)

    def run():
        return maintain(net.lake, procedure, "db.t", *arguments, timeout=120)

    def again():
        State(net, "db.t").reached()
        return allow(run())

    def check(fault):
        state = State(net, "db.t")
        named = state.reached()
        assert {ref: net.rows(state, ref) for ref in state.metadata["refs"]} == expected
        strays = files_of(state.folder) - named
        check_unavoidable(fault, strays)
        if strays:
            check_orphans_found(net, "db.t", strays)
        return ["o"] * bool(strays)

    meet_faults(procedure, net, campaign, begin, run, again, check)


# --- commands on the catalog ----------------------------------------------------------------------


class Command:
    """A command that each case runs on a table of its own."""

    def __init__(self, net, words, prepare, done):
        self.net, self.words, self.prepare, self.done = net, words, prepare, done
        self.number = 0

    def begin(self):
        self.number += 1
        self.name = f"db.t{self.number}"
        self.kept = self.prepare(self.net, self.name) if self.prepare else None

    def run(self):
        words = [w.format(table=f"{self.net.lake.name}.{self.name}", **(self.kept or {})) for w in self.words]
        return run_calve(*words, "--config", self.net.lake.config_file(), timeout=120)

    def again(self):
        """Not needed where it turns out that it was done."""
        try:
            self.done(self.net, self.name, self.kept)
            return run_calve("--version")
        except AssertionError:
            return self.run()

    def check(self, fault):
        folder = self.done(self.net, self.name, self.kept)
        return ["o"] if folder and fault and len(files_of(folder)) > 1 else []


def make_plain(net, name):
    table = net.catalog.create_table(name, pa.schema([("id", pa.int64())]))
    return {"metadata": table.metadata_location, "uuid": str(table.metadata.table_uuid)}


def make_unregistered(net, name):
    kept = make_plain(net, name)
    net.catalog.drop_table(name)
    return kept


def is_created(net, name, _kept):
    assert net.catalog.table_exists(name)
    state = State(net, name)
    assert [(f["name"], f["type"]) for f in state.metadata["schemas"][0]["fields"]] == [("id", "long"), ("s", "string")]
    return local(state.metadata["location"])


def is_dropped(net, name, kept):
    assert not net.catalog.table_exists(name)
    assert local(kept["metadata"]).exists()


def is_renamed(net, name, kept):
    assert not net.catalog.table_exists(name)
    assert net.catalog.table_exists(name + "_new")
    assert State(net, name + "_new").metadata["table-uuid"] == kept["uuid"]


def is_registered(net, name, kept):
    assert net.catalog.table_exists(name)
    assert State(net, name).metadata["table-uuid"] == kept["uuid"]


def is_set(net, name, _kept):
    metadata = State(net, name).metadata
    assert metadata["properties"].get("a") == "b"
    assert len(metadata["metadata-log"]) == 1, "changed twice"


COMMANDS = {
    "table create": (["{table}", "--schema", "id bigint, s string"], None, is_created),
    "table set": (["{table}", "--property", "a=b"], make_plain, is_set),
    "table rename": (["{table}", "{table}_new"], make_plain, is_renamed),
    "table drop": (["{table}", "--yes"], make_plain, is_dropped),
    "maintain register-table": (["{table}", "--metadata-file", "{metadata}"], make_unregistered, is_registered),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.timeout(3600)
def test_every_request_of_a_command(commands, command, campaign):
    words, prepare, done = COMMANDS[command]
    one = Command(commands, [*command.split(), *words], prepare, done)
    # Names go on where the command before ended.
    one.number = 1000 * (1 + list(COMMANDS).index(command))
    meet_faults(command, commands, campaign, one.begin, one.run, one.again, one.check)


# --- what is no single fault ----------------------------------------------------------------------


def twice(proxy, connection, upstream, request, head, body):
    """The request reaches the server twice at once, as when its answer was late and it was sent again."""
    others = [Upstream(proxy.target) for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda one: one.exchange(head, body, request.method), others))
    for one in others:
        one.close()
    request.status, reason, headers, text = next(a for a in found if a[0] < 300)
    return proxy.answer(connection, request, request.status, reason, headers, text)


def test_a_creation_that_arrives_twice(commands):
    """Case 49's neighbour: the server may keep a first metadata file of the creation that lost; it is no obstacle."""
    lake = commands.lake
    for number in range(20):
        commands.faults.reset({("rest create table", 0): twice})
        name = f"db.twice{number}"
        lake.create_table(name, "id bigint")
        folder = lake.folder_of(name)
        if len(files_of(folder)) > 1:
            break
    else:
        pytest.skip("this server never left a second file")
    commands.faults.reset()
    open_table(lake, name).append(pa.table({"id": pa.array([1], pa.int64())}))
    stray = folder / "data" / "stray.parquet"
    stray.write_bytes(b"stray")
    before = files_of(folder)
    run = maintain(lake, "remove-orphan-files", name, *IDLE).check()
    assert files_of(folder) == before - {stray} and "never had a snapshot" in run.text, run
    assert comparable(read_pyiceberg(lake, name)) == [(1,)]


NO_END = b"<IsTruncated>false</IsTruncated>"
EMPTY = b"<ListBucketResult>" + NO_END + b"</ListBucketResult>"


def pages(*answers):
    """Listings go page by page as said: "all" is what the server says, "more" the same and that there is more, "cut" the
    same without its end; the last one is given again and again."""
    answers, numbers = list(answers), itertools.count()

    def page(proxy, connection, upstream, request, head, body):
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "500":
            return write_answer(connection, 500, "Internal Server Error", [], b"")
        token = b"<IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>" % next(numbers)
        if isinstance(answer, bytes):
            answer = answer.replace(NO_END, token)
            return write_answer(connection, 200, "OK", [("Content-Type", "application/xml")], answer)
        path = re.sub(rb"continuation-token=[^&]*&", b"", head[0])
        words = sign_anew(request.method, path.split(b" ")[1].decode(), [path, *head[1:]])
        status, reason, headers, text = upstream.exchange(words, body, request.method)
        if answer == "more":
            text = text.replace(NO_END, token)
        return write_answer(connection, status, reason, headers, text if answer != "cut" else text[:-40])

    return page


LISTINGS = {
    "fails half way": (["more", "500"], "cannot list"),
    "cut half way": (["more", "cut"], "cannot list"),
    "a gateway's page": (["more", b"<html><body>Welcome</body></html>"], "neither a list"),
    "goes round": (["more", "more"], "gives a page again"),
    "empty for ever": (["more", EMPTY], "are empty"),
    "an empty page first": ([EMPTY, "all"], None),
    "nothing at all": ([b"<ListBucketResult/>"], None),
}


@pytest.mark.parametrize("how", LISTINGS)
def test_a_listing_that_fails(history, how):
    """No live file is deleted, and none at all after a listing that did not come to its end."""
    net = history
    answers, message = LISTINGS[how]
    net.twins.back()
    put_strays(net)
    folder = net.lake.folder_of("db.t")
    before = files_of(folder)
    net.faults.reset()
    net.faults.chance = ("s3 list$", 1.0, [pages(*answers)], random.Random(1))
    run = maintain(net.lake, "remove-orphan-files", "db.t", *IDLE, timeout=120)
    net.faults.reset()
    if message:
        assert run.status == 3 and message in run.err and "warehouse/db/t" in run.err, run
        assert files_of(folder) == before
        return
    run.check()
    named = State(net, "db.t").reached()
    assert files_of(folder) == (named if "page" in how else before)


@pytest.mark.parametrize("fault", [OUTAGE, OUTAGE_AFTER])
def test_the_end_comes_while_a_commit_is_unknown(tmp_path, broker, topic, fault):
    """Its answer is lost, and the looks for it find nobody until the process is told to end: nothing is deleted, and a
    restart goes on exactly once."""
    net = Net(tmp_path / "lake")
    net.lake.only("rest", why="the proxy tells a commit of a REST catalog")
    net.create_table("db.t", "id bigint, day date, text string", "day(day)")
    job = Job(net.lake, broker, "db.t", topic, value="json", sink={"trigger": "100 milliseconds"})
    produce(broker.bootstrap, topic, [small(n) for n in range(10)])
    net.faults.reset({("rest commit", 0): fault})
    with job.start() as running:
        running.wait_for(lambda: net.faults.met, 60, "the commit")
        running.wait_for(lambda: [r for r in net.faults.requests if r.fault == OUTAGE], 30, "a look for it")
        status = running.stop()
        log = running.log()
    assert status in (0, 3), log
    net.faults.reset()
    folder = net.lake.folder_of("db.t")
    written = {p for p in files_of(folder) if p.suffix in (".parquet", ".avro")}
    assert len(written) == 4, written  # two of data, manifest, manifest list
    named = State(net, "db.t").reached()
    assert (fault == OUTAGE_AFTER) == (written <= named)
    job.run().check()
    assert [row[0] for row in comparable(read_pyiceberg(net.lake, "db.t", ("id",)))] == list(range(10))
    left = files_of(folder) - State(net, "db.t").reached()
    assert left == (set() if fault == OUTAGE_AFTER else written)
    check_orphans_found(net, "db.t", left)
    net.close()


PARTS = [*STREAMS, *PROCEDURES, *COMMANDS]


def test_the_report(campaign):
    """The page has every part; a campaign writes it."""
    if campaign:
        write_report(PARTS)
    headings = re.findall(r"^## (.*): \d+ requests$", PAGE.read_text(), re.MULTILINE)
    assert [heading.lower() for heading in headings] == [part.lower() for part in PARTS]
