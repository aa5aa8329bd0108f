# SPDX-License-Identifier: Apache-2.0
"""calve maintain expire-snapshots beside Spark's expire_snapshots on the same table, and register-table; ends in the
middle; branches and tags (case 51); positions of streams."""

import datetime
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks import read_everywhere, referenced_files, stray_files
from job import local
from readers import comparable, open_table, read_duckdb, read_pyiceberg
from twins import HISTORY, Twins, call, maintain, result_rows, spark_history, state

FUTURE = "2100-01-01 00:00:00"
DAY = 86400000


@pytest.fixture(scope="module")
def prepared(spark, duckdb, tmp_path_factory):
    """A lake with the history as v1 and as v2, kept aside."""
    import job

    lake = job.Lake(tmp_path_factory.mktemp("expire") / "lake")
    lake.create_table("db.none", "id bigint")
    spark_history(spark, lake, "db.v1", 1, [*HISTORY[:4], *HISTORY[6:9], HISTORY[-1]])
    spark_history(spark, lake, "db.v2", 2)
    return Twins(lake)


def ids(lake, table):
    return [s["snapshot-id"] for s in lake.metadata(table)["snapshots"]]


CALLS = {
    "retain_last": ("older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 2",
                    ["--older-than", FUTURE, "--retain-last", "2"]),
    "all": ("older_than => TIMESTAMP '2100-01-01 00:00:00', max_concurrent_deletes => 4, stream_results => true",
            ["--older_than", FUTURE, "--max-concurrent-deletes", "4", "--stream-results"]),
    "clean": ("older_than => TIMESTAMP '2100-01-01 00:00:00', clean_expired_metadata => true",
              ["--older-than", FUTURE, "--clean-expired-metadata=true"]),
    "nothing": ("", []),
}  # fmt: skip


@pytest.mark.parametrize("version, name", [(2, "retain_last"), (2, "all"), (2, "clean"), (2, "nothing"), (1, "all")])
def test_same_as_spark(prepared, spark, version, name):
    lake, table = prepared.lake, f"db.v{version}"
    arguments, flags = CALLS[name]
    prepared.back()
    expected = call(spark, lake, "expire_snapshots", table, arguments)
    theirs = state(lake, table)
    prepared.back()
    before = read_everywhere(lake, table)
    told = result_rows(maintain(lake, "expire-snapshots", table, "--dry-run", *flags))
    untouched = state(lake, table)
    found = result_rows(maintain(lake, "expire-snapshots", table, *flags))
    ours = state(lake, table)
    assert ours["files"] ^ theirs["files"] == set()
    assert ours == theirs
    assert (told, found) == (expected, expected)
    assert (untouched == ours) == (name == "nothing")
    assert read_everywhere(lake, table, spark) == before
    assert all(path.exists() for path in referenced_files(lake, table))
    for ref in lake.metadata(table)["refs"]:
        count = spark.sql(f"SELECT count(*) FROM {lake.name}.{table} VERSION AS OF '{ref}'")
        assert count == [({"main": len(before), "early": 130, "side": 145}[ref],)]


def test_named_snapshots(prepared, spark):
    """The rule of age still applies to the others; a snapshot with a ref can't be named."""
    lake = prepared.lake
    prepared.back()
    metadata = lake.metadata("db.v2")
    held = {r["snapshot-id"] for r in metadata["refs"].values()}
    named = [i for i in ids(lake, "db.v2") if i not in held][:2]
    expected = call(spark, lake, "expire_snapshots", "db.v2", f"snapshot_ids => array({named[0]}, {named[1]})")
    theirs = state(lake, "db.v2")
    prepared.back()
    flags = ["--snapshot-ids", f"{named[0]}, {named[1]}"]
    assert result_rows(maintain(lake, "expire-snapshots", "db.v2", *flags)) == expected
    assert state(lake, "db.v2") == theirs
    refused = maintain(lake, "expire-snapshots", "db.v2", "--snapshot-ids", str(min(held)))
    assert refused.status == 2 and f"Cannot expire {min(held)}. Still referenced by refs" in refused.err


def test_register_table(prepared, spark):
    lake = prepared.lake
    prepared.back()
    file = open_table(lake, "db.v2").metadata_location
    copy = file.replace(".metadata.json", "-copy.metadata.json")
    shutil.copy(local(file), local(copy))
    expected = spark.run(
        "result = [r.asDict() for r in spark.sql(text).collect()]",
        text=f"CALL {lake.name}.system.register_table(table => 'db.theirs', metadata_file => '{copy}')",
    )
    told = result_rows(maintain(lake, "register-table", "db.ours", "--metadata-file", copy, "--dry-run"))
    found = result_rows(maintain(lake, "register-table", "db.ours", "--metadata-file", copy))
    assert found == told == expected
    assert comparable(read_pyiceberg(lake, "db.ours")) == comparable(read_pyiceberg(lake, "db.v2"))
    again = maintain(lake, "register-table", "db.ours", "--metadata-file", copy)
    assert again.status == 3 and "exists already" in again.err
    for name in ("theirs", "ours"):
        lake.pyiceberg().drop_table(f"db.{name}")


# --- without Spark ---------------------------------------------------------------------------------------------------


def numbers(*values):
    return pa.table({"id": pa.array(values, pa.int64())})


def make(lake, name="db.t", commits=6, properties=None):
    """Snapshots 1 to n, one file each."""
    lake.create_table(name, "id bigint", properties=properties)
    table = open_table(lake, name)
    for n in range(1, commits + 1):
        table.append(numbers(n))
    return open_table(lake, name)


# Old manifests go while their files live on in new ones.
MERGING = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}


@pytest.mark.lakes("sql", "rest")
@pytest.mark.parametrize("properties", [{}, MERGING])
def test_branches_and_tags(lake, duckdb, properties):
    """Case 51: the snapshots of tags and branches stay with all their files."""
    table = make(lake, properties=properties)
    order = [s.snapshot_id for s in table.snapshots()]
    with table.manage_snapshots() as change:
        change.create_tag(order[1], "t").create_branch(order[1], "b")
    table.append(numbers(33), branch="b")
    head = open_table(lake, "db.t").refs()["b"].snapshot_id
    result_rows(maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE, "--retain-last", "1"))
    assert set(ids(lake, "db.t")) == {order[1], head, order[5]}
    assert set(lake.metadata("db.t")["refs"]) == {"main", "t", "b"}
    assert comparable(read_pyiceberg(lake, "db.t")) == [(n,) for n in range(1, 7)] == comparable(
        read_duckdb(lake, "db.t")
    )
    assert comparable(read_pyiceberg(lake, "db.t", snapshot_id=order[1])) == [(1,), (2,)]
    assert comparable(read_pyiceberg(lake, "db.t", snapshot_id=head)) == [(1,), (2,), (33,)]
    assert all(path.exists() for path in referenced_files(lake, "db.t"))


def test_limits_of_a_branch(lake):
    """Case 51: a branch's own limits count for the branch, whatever the call says."""
    table = make(lake)
    order = [s.snapshot_id for s in table.snapshots()]
    with table.manage_snapshots() as change:
        change.create_branch(order[3], "three", min_snapshots_to_keep=3)
        change.create_branch(order[4], "young", max_snapshot_age_ms=100 * 365 * DAY)
        change.create_tag(order[0], "gone", max_ref_age_ms=1)
    run = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE, "--retain-last", "1")
    result_rows(run)
    assert set(lake.metadata("db.t")["refs"]) == {"main", "three", "young"}
    assert set(ids(lake, "db.t")) == set(order)  # the young branch reaches all
    assert "expired the ref gone" in run.err
    with open_table(lake, "db.t").manage_snapshots() as change:
        change.remove_branch("young")
    result_rows(maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE, "--retain-last", "1"))
    assert set(ids(lake, "db.t")) == {order[1], order[2], order[3], order[5]}


def test_gc_disabled(lake):
    make(lake, properties={"gc.enabled": "false"})
    before = state(lake, "db.t")
    for procedure in ("expire-snapshots", "remove-orphan-files"):
        for extra in ((), ("--dry-run",)):
            refused = maintain(lake, procedure, "db.t", *extra)
            assert refused.status == 2 and "GC is disabled" in refused.err, refused
    assert state(lake, "db.t") == before


@pytest.mark.lakes("sql", "rest")
def test_positions_of_streams_stay(lake):
    """The newest snapshot of each stream stays, and the note says for whom."""
    lake.create_table("db.t", "id bigint")
    table = open_table(lake, "db.t")
    stamps = [
        {"calve.position.orders": '{"epoch":1}'},
        {"calve.position.orders": '{"epoch":2}'},
        {"spark.sql.streaming.queryId": "q-1", "spark.sql.streaming.epochId": "7"},
        {"flink.job-id": "f", "flink.operator-id": "o", "flink.max-committed-checkpoint-id": "9"},
        {"kafka.connect.offsets.control.group": '{"0":5}'},
        {},
        {},
    ]
    for n, stamp in enumerate(stamps):
        table.append(numbers(n), snapshot_properties=stamp)
    order = ids(lake, "db.t")
    dry = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE, "--dry-run").check()
    assert f"stays: snapshot {order[1]}" in dry.err and "newest position of job orders" in dry.err
    run = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE).check()
    assert ids(lake, "db.t") == [order[1], order[2], order[3], order[4], order[6]]
    for text in ("job orders", "query q-1", "Flink job f", "Kafka Connect control.group"):
        assert f"newest position of {text}" in run.err, run
    assert all(path.exists() for path in referenced_files(lake, "db.t"))


def test_named_position_stays(lake):
    make(lake, commits=1)
    table = open_table(lake, "db.t")
    table.append(numbers(2), snapshot_properties={"calve.position.orders": '{"epoch":1}'})
    table.append(numbers(3))
    order = ids(lake, "db.t")
    run = maintain(lake, "expire-snapshots", "db.t", "--snapshot-ids", f"{order[0]},{order[1]}").check()
    assert ids(lake, "db.t") == order[1:]
    assert f"kept snapshot {order[1]}" in run.err and "newest position of job orders" in run.err


def test_file_that_cannot_be_deleted(lake):
    """It is told and counted; everything else goes."""
    lake.only_local("a folder stands for a file that stays")
    make(lake, commits=1)
    table = open_table(lake, "db.t")
    table.overwrite(numbers(9))
    (old,) = [p for p in lake.folder_of("db.t").glob("data/*.parquet") if comparable(pq.read_table(p)) == [(1,)]]  # fmt: skip
    old.unlink()
    old.mkdir()
    run = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE)
    (row,) = result_rows(run)
    assert row["deleted_data_files_count"] == 0 and row["deleted_manifest_lists_count"] > 0
    assert f"warning: cannot remove file://{old}" in run.err and "1 files could not be deleted" in run.err
    old.rmdir()
    open_table(lake, "db.t").overwrite(numbers(10))
    (row,) = result_rows(maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE))
    assert row["deleted_data_files_count"] == 1  # and absent files are no failure


@pytest.mark.lakes("sql", "rest")
@pytest.mark.parametrize("fault", ["metadata-written", "commit-sent", "commit-done", "delete-half:1", "delete-half:4"])
def test_killed(lake, duckdb, fault):
    """The table reads in any case; a second run and the removal of orphans leave nothing behind."""
    table = make(lake, commits=5, properties=MERGING)
    table.overwrite(numbers(1, 2, 3))  # so that data files go, too
    killed = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE, env={"CALVE_FAULT": fault})
    if fault == "metadata-written" and lake.catalog == "rest":
        assert killed.status == 0, "the catalog writes that file"
    else:
        assert killed.status == -9, killed
    rows = [(1,), (2,), (3,)]
    assert comparable(read_pyiceberg(lake, "db.t")) == rows == comparable(read_duckdb(lake, "db.t"))
    assert all(path.exists() for path in referenced_files(lake, "db.t"))
    result_rows(maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE))
    assert len(ids(lake, "db.t")) == 1
    result_rows(maintain(lake, "remove-orphan-files", "db.t", "--older-than", FUTURE, "--table-is-idle"))
    assert stray_files(lake, "db.t") == set()
    assert comparable(read_pyiceberg(lake, "db.t")) == rows == comparable(read_duckdb(lake, "db.t"))
    assert all(path.exists() for path in referenced_files(lake, "db.t"))


def test_unreadable_manifests(lake):
    """What stays can't be read: nothing is deleted. What goes can't: the rest is deleted, and it is told."""
    make(lake, commits=3)
    table = open_table(lake, "db.t")
    manifests = [local(m.manifest_path) for m in table.current_snapshot().manifests(table.io)]
    table.overwrite(numbers(9))
    current = open_table(lake, "db.t").current_snapshot()
    new = [local(m.manifest_path) for m in current.manifests(table.io)]
    text = new[0].read_bytes()
    new[0].write_bytes(text[: len(text) // 2])
    before = state(lake, "db.t")["files"]
    failed = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE)
    assert failed.status == 3 and "no file is deleted" in failed.err, failed
    assert state(lake, "db.t")["files"] == before
    new[0].write_bytes(text)
    open_table(lake, "db.t").append(numbers(10))
    manifests[0].write_bytes(b"torn")
    assert len(ids(lake, "db.t")) == 2
    run = maintain(lake, "expire-snapshots", "db.t", "--older-than", FUTURE).check()
    assert comparable(read_pyiceberg(lake, "db.t")) == [(9,), (10,)], run


def test_messages(lake):
    make(lake, commits=1)
    now = datetime.datetime.now(datetime.timezone.utc)
    cases = [
        (["--older-then", FUTURE], "did you mean --older-than"),
        (["--older-than", "tomorrow"], 'older_than: "tomorrow" is not a time'),
        (["--retain-last", "0"], "retain_last"),
        (["--snapshot-ids", "1,x"], '"x" is not a snapshot id'),
        (["--memory", "1k"], "less than 16 MiB"),
        (["--options", "a=b"], "there is no flag --options here"),
    ]
    for flags, message in cases:
        run = maintain(lake, "expire-snapshots", "db.t", *flags)
        assert run.status == 2 and message in run.err, run
    assert maintain(lake, "expire-snapshots", "db.none").status == 3
    assert maintain(lake, "expire", "db.t").status == 2
    rows = result_rows(maintain(lake, "expire-snapshots", "db.t", "--older-than", now.isoformat()))
    assert list(rows[0].values()) == [0] * 6
