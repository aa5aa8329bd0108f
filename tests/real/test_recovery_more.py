# SPDX-License-Identifier: Apache-2.0
"""Crashes in the middle of a recovery, damaged state, batches without rows, topics that change between a crash and the
restart, a stop in the middle of a batch: the job starts again and each row is there once."""

import json
import os
import shutil
import signal
import time

import pytest
from checks import check_table, snapshots, stray_files
from components import wait_until
from job import Job
from kafka_client import Record, produce
from readers import open_table
from recovery import feed, ids, job, values  # noqa: F401 (job is a fixture)
from twins import maintain, result_rows


def memo(job):
    return json.loads((job.checkpoint / "calve.json").read_text())


def roll_back(lake, table="db.t"):
    opened = open_table(lake, table)
    with opened.manage_snapshots() as change:
        change.set_current_snapshot(snapshot_id=opened.metadata.snapshots[0].snapshot_id)


def restore(job, copy):
    shutil.rmtree(job.checkpoint)
    shutil.copytree(copy, job.checkpoint)


CRASHES = ["rebase-staged", "rebase-half", "rebase-half:4"]


@pytest.mark.parametrize("fault", CRASHES)
def test_crash_while_the_logs_are_made_anew(lake, broker, topic, job, fault):
    """A choice is carried out as a whole or not at all; a half one is finished by the next start, without a flag."""
    feed(broker, job, topic, 0, 5)
    shutil.copytree(job.checkpoint, job.folder / "copy")
    feed(broker, job, topic, 5, 9)
    restore(job, job.folder / "copy")
    produce(broker.bootstrap, topic, values(9, 12))
    assert job.run("--available-now", "--resume-from=table", fault=fault).status == -9
    if fault == "rebase-staged":
        assert job.run().status == 3
        job.run("--available-now", "--resume-from=table").check()
    job.run().check()
    assert ids(lake) == list(range(12))
    assert not (job.checkpoint / "rebase").exists()


@pytest.mark.parametrize("fault", ["rebase-staged", "rebase-half:3"])
def test_crash_while_a_lost_checkpoint_is_made_anew(lake, broker, topic, job, fault):
    feed(broker, job, topic, 0, 5)
    feed(broker, job, topic, 5, 9)
    shutil.rmtree(job.checkpoint)
    produce(broker.bootstrap, topic, values(9, 12))
    job.run(fault=fault)
    job.run().check()
    assert ids(lake) == list(range(12))


def test_crash_while_starting_over(lake, broker, topic, job):
    """--resume-from=start holds once it was begun: the next start needs no flag and does not take the old position."""
    feed(broker, job, topic, 0, 5)
    assert job.run("--available-now", "--resume-from=start", fault="rebase-half:2").status == -9
    assert job.run(fault="offsets-written").status == -9
    job.run().check()
    assert ids(lake) == sorted([*range(5), *range(5)])


@pytest.mark.parametrize("answer", ["table", "checkpoint"])
@pytest.mark.parametrize("reason", ["rolled back", "restored"])
def test_a_choice_is_made_once(lake, broker, topic, job, reason, answer):
    """With no new record after the choice the next start does not ask again."""
    feed(broker, job, topic, 0, 5)
    shutil.copytree(job.checkpoint, job.folder / "copy")
    feed(broker, job, topic, 5, 9)
    if reason == "rolled back":
        roll_back(lake)
    else:
        restore(job, job.folder / "copy")
    assert job.run().status == 3
    job.run("--available-now", f"--resume-from={answer}").check()
    before = ids(lake)
    job.run().check()
    job.run("--available-now", f"--resume-from={answer}").check()
    assert ids(lake) == before
    feed(broker, job, topic, 20, 22)
    job.run().check()
    assert ids(lake) == [*before, 20, 21]


def test_a_checkpoint_that_was_replaced_comes_back(lake, broker, topic, job):
    """The job began anew under another query; the old checkpoint, restored, agrees with its own snapshots, but the
    job has gone on without it."""
    feed(broker, job, topic, 0, 5)
    shutil.copytree(job.checkpoint, job.folder / "copy")
    job.run("--available-now", "--resume-from=start").check()
    feed(broker, job, topic, 5, 9)
    before = ids(lake)
    restore(job, job.folder / "copy")
    done = job.run()
    assert done.status == 3 and "--resume-from=table" in done.text, done
    assert ids(lake) == before
    job.run("--available-now", "--resume-from=table").check()
    feed(broker, job, topic, 9, 11)
    assert ids(lake) == [*before, 9, 10]


@pytest.mark.parametrize("fault", ["memo-written", "commits-written"])
def test_first_batch_without_rows(lake, broker, topic, job, fault):
    assert job.run(fault=fault).status == -9
    job.run().check()
    assert snapshots(lake, "db.t") == []
    feed(broker, job, topic, 0, 4)
    assert ids(lake) == list(range(4))


@pytest.mark.parametrize("fault", ["commits-written"])
def test_batch_without_rows_between_others(lake, broker, topic, job, fault):
    job.config["value"]["mode"] = "DROPMALFORMED"
    job.write()
    feed(broker, job, topic, 0, 4)
    produce(broker.bootstrap, topic, [Record(b"no JSON"), Record(b"{")])
    assert job.run(fault=fault).status == -9
    job.run().check()
    feed(broker, job, topic, 4, 6)
    assert ids(lake) == list(range(6))
    assert len(snapshots(lake, "db.t")) == 2


@pytest.mark.parametrize("text", [None, '{"version":1,', "[]"])
def test_notes_damaged_or_gone(lake, broker, topic, job, text):
    feed(broker, job, topic, 0, 4)
    path = job.checkpoint / "calve.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    job.run().check()
    assert memo(job)["snapshotEpoch"] == 0
    feed(broker, job, topic, 4, 6)
    assert ids(lake) == list(range(6))


def test_log_entries_empty_after_a_power_cut(lake, broker, topic, job):
    feed(broker, job, topic, 0, 4)
    produce(broker.bootstrap, topic, values(4, 6))
    assert job.run(fault="offsets-written").status == -9
    (job.checkpoint / "offsets" / "1").write_text("")
    job.run().check()  # nothing of batch 1 was in the table: planned again
    assert ids(lake) == list(range(6))
    (job.checkpoint / "offsets" / "1").write_text("v1\n")
    feed(broker, job, topic, 6, 8)  # batch 1 is in the table, with its position
    assert ids(lake) == list(range(8))
    (job.checkpoint / "metadata").write_text("")
    assert job.run().status == 3
    job.run("--available-now", "--resume-from=table").check()
    feed(broker, job, topic, 8, 9)
    assert ids(lake) == list(range(9))


def test_rolled_back_while_it_runs(lake, broker, topic, job):
    """What is lost would not be missed later: the next batch makes the table's position newer than the loss."""
    with job.start() as running:
        for n in range(3):
            produce(broker.bootstrap, topic, values(n, n + 1))
            running.wait_for(lambda n=n: len(snapshots(lake, "db.t")) == n + 1, 20, f"batch {n}")
        roll_back(lake)
        produce(broker.bootstrap, topic, values(3, 4))
        assert running.wait(20) == 3 and "rolled back" in running.log(), running.log()
    assert ids(lake) == [0]
    assert job.run().status == 3
    job.run("--available-now", "--resume-from=table").check()
    assert ids(lake) == list(range(4))


def test_a_catalog_that_goes_back_while_it_runs(lake, broker, topic, job):
    """A standby that took over without the last commits, a database restored from a copy: their rows are read again."""
    with job.start() as running:
        places = []
        for n in range(2):
            produce(broker.bootstrap, topic, values(n, n + 1))
            running.wait_for(lambda n=n: len(snapshots(lake, "db.t")) == n + 1, 20, f"batch {n}")
            places += lake.backend_sql("SELECT metadata_location FROM iceberg_tables")
        lake.backend_sql("UPDATE iceberg_tables SET metadata_location = ?", places[0])
        produce(broker.bootstrap, topic, values(2, 3))
        assert running.wait(20) == 3 and "older state" in running.log(), running.log()
    job.run("--available-now", "--resume-from=table").check()
    assert ids(lake) == [0, 1, 2]


def test_history_expired_while_it_runs(lake, broker, topic, job):
    import pyarrow as pa

    with job.start() as running:
        produce(broker.bootstrap, topic, values(0, 1))
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 1, 20, "the first batch")
        table = open_table(lake, "db.t")
        table.append(pa.table({"id": pa.array([100], pa.int64()), "text": ["other"]}))
        table.maintenance.expire_snapshots().by_id(table.metadata.snapshots[0].snapshot_id).commit()
        produce(broker.bootstrap, topic, values(1, 2))
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 2, 20, "the second batch")
        assert running.stop() == 0
    assert ids(lake) == [0, 1, 100]


def append_others(lake, first):
    """Two snapshots of another program on top."""
    import pyarrow as pa

    for n in (first, first + 1):
        open_table(lake, "db.t").append(pa.table({"id": pa.array([n], pa.int64()), "text": ["other"]}))


def expire(lake):
    """What calve keeps: the head, tags, and the newest position of each stream."""
    future = int(time.time() * 1000) + 10**9
    return result_rows(maintain(lake, "expire-snapshots", "db.t", "--older-than", str(future), "--retain-last", "1"))


@pytest.mark.parametrize("tagged", [False, True])
def test_history_expired_behind_the_newest_batch(lake, broker, topic, job, tagged):
    """The batch's snapshot is there, those between it and the head are not: that is no table rolled back."""
    feed(broker, job, topic, 0, 5)
    if tagged:
        with open_table(lake, "db.t").manage_snapshots() as change:
            change.create_tag(snapshots(lake, "db.t")[0]["snapshot-id"], "t")
    append_others(lake, 100)
    expire(lake)
    assert len(snapshots(lake, "db.t")) == 2
    feed(broker, job, topic, 5, 7)
    with job.start() as running:
        append_others(lake, 102)
        expire(lake)
        produce(broker.bootstrap, topic, values(7, 9))
        running.wait_for(lambda: 8 in ids(lake), 20, "a batch after an expiry while the job runs")
        assert running.stop() == 0
    assert sorted(ids(lake)) == [*range(9), *range(100, 104)]
    check_table(lake, "db.t")


def test_a_replaced_checkpoint_comes_back_after_an_expiry(lake, broker, topic, job):
    """As above; which of the two queries is the newer one is found over the gap, too."""
    feed(broker, job, topic, 0, 5)
    shutil.copytree(job.checkpoint, job.folder / "copy")
    job.run("--available-now", "--resume-from=start").check()
    append_others(lake, 100)
    expire(lake)
    before = ids(lake)
    restore(job, job.folder / "copy")
    produce(broker.bootstrap, topic, values(5, 7))
    done = job.run()
    assert done.status == 3 and "the newest position of job" in done.text, done
    assert ids(lake) == before


def test_position_too_long_for_the_summary(lake, broker, topics, topic, job):
    """Above 2 KB the offsets are in the manifest list; also with another writer's snapshot on top."""
    import pyarrow as pa

    topics.add_partitions(topic, 300)
    produce(broker.bootstrap, topic, [Record(json.dumps(v).encode(), partition=v["id"] * 70) for v in values(0, 4)])
    job.run().check()
    assert "offsetsHash" in snapshots(lake, "db.t")[0]["summary"][f"calve.position.{job.name}"]
    open_table(lake, "db.t").append(pa.table({"id": pa.array([100], pa.int64()), "text": ["other"]}))
    shutil.rmtree(job.checkpoint)
    produce(broker.bootstrap, topic, [Record(json.dumps(v).encode(), partition=299) for v in values(4, 6)])
    assert job.run(fault="commit-done").status == -9
    job.run().check()
    assert ids(lake) == [*range(6), 100]


def test_branch(lake, broker, topic, job):
    feed(broker, job, topic, 0, 3)
    table = open_table(lake, "db.t")
    with table.manage_snapshots() as change:
        change.create_branch(snapshot_id=table.metadata.current_snapshot_id, branch_name="audit")
    on_branch = Job(lake, broker, "db.t.branch_audit", topic, value="json", name="audit-job")
    on_branch.run().check()
    produce(broker.bootstrap, topic, values(3, 5))
    assert on_branch.run(fault="commit-done").status == -9
    shutil.rmtree(on_branch.checkpoint)
    on_branch.run().check()
    table = open_table(lake, "db.t")
    found = table.scan(snapshot_id=table.metadata.refs["audit"].snapshot_id).to_arrow()["id"].to_pylist()
    assert sorted(found) == sorted([0, 1, 2, 0, 1, 2, 3, 4])
    assert ids(lake) == [0, 1, 2]


@pytest.mark.parametrize("fault", ["offsets-written", "commit-done", "commits-written"])
def test_topic_made_again_as_long_as_before_and_a_crash(lake, broker, topics, topic, job, fault):
    """The new topic ends where the old one did: only the records tell, and they must not be read twice."""
    job.config["source"]["failOnDataLoss"] = False
    job.write()
    feed(broker, job, topic, 0, 5)
    topics.recreate(topic)
    produce(broker.bootstrap, topic, values(100, 105))
    assert job.run(fault=fault).status == -9
    job.run().check()
    job.run().check()
    assert ids(lake) == [*range(5), *range(100, 105)]


def test_redo_of_a_batch_whose_topic_is_gone(lake, broker, topics, topic, job):
    gone = topics.create(f"{topic}-gone")
    job.config["source"] |= {"subscribe": f"{topic},{gone}", "kafkaConsumer.pollTimeoutMs": 5000}
    job.write()
    produce(broker.bootstrap, gone, values(50, 52))
    feed(broker, job, topic, 0, 3)
    produce(broker.bootstrap, gone, values(52, 54))
    produce(broker.bootstrap, topic, values(3, 5))
    assert job.run(fault="files-done").status == -9
    topics.delete(gone)
    job.config["source"]["subscribe"] = topic
    done = job.write().run(timeout=90)
    assert done.status == 3 and gone in done.text, done
    job.config["source"] |= {"failOnDataLoss": False}
    job.write().run(timeout=90).check()
    feed(broker, job, topic, 5, 7)
    assert ids(lake) == [*range(7), 50, 51]


def run_as_written(job, fault=None):
    """Without --available-now, so that the job file's trigger counts."""
    with job.start(fault=fault) as running:
        return running.wait(30)


def test_once_redoes_one_batch_only(lake, broker, topic, job):
    job.config["sink"]["trigger"] = "once"
    job.write()
    produce(broker.bootstrap, topic, values(0, 3))
    assert run_as_written(job, "files-done") == -9
    produce(broker.bootstrap, topic, values(3, 5))
    assert run_as_written(job) == 0
    assert ids(lake) == list(range(3))
    assert run_as_written(job) == 0
    assert ids(lake) == list(range(5))


def test_stop_in_the_middle_of_a_long_batch(lake, broker, topic, job):
    """SIGTERM: done or given up without a trace; a second one ends at once, and the next start finds its way."""
    text = "x" * 1000
    produce(broker.bootstrap, topic, [{"id": n, "text": text} for n in range(60000)])
    for signals in (1, 2):
        with job.start() as running:
            running.wait_for(lambda: 0 in job.log_ids("offsets"), 20, "the first batch")
            for _ in range(signals):
                running.signal(signal.SIGTERM)
                time.sleep(0.02)
            assert running.wait(20) in (0, 128 + signal.SIGTERM)
        if signals == 1:
            assert stray_files(lake, "db.t") == set()
        if snapshots(lake, "db.t"):
            break
    job.run().check()
    assert len(snapshots(lake, "db.t")) == 1
    check_table(lake, "db.t")


def test_lag_group_after_a_crash(lake, broker, topics, topic, job):
    """The group that the killed process did not get to is set by the next idle start."""
    job.config["lag-group"] = "watch-me"
    job.write()
    produce(broker.bootstrap, topic, values(0, 4))
    assert job.run(fault="commits-written").status == -9
    with job.start() as running:
        running.wait_for(lambda: topics.group_offsets("watch-me") == {(topic, 0): 4}, 20, "the group")
        assert running.stop() == 0


def test_many_batches_leave_no_descriptors(lake, broker, topic, job):
    job.config["source"]["maxOffsetsPerTrigger"] = 1
    job.write()
    produce(broker.bootstrap, topic, values(0, 240))
    seen = {}
    with job.start() as running:
        folder = f"/proc/{running.process.pid}/fd"
        for count in (40, 240):
            wait_until(lambda c=count: running.alive() and len(job.log_ids("commits")) and
                       max(job.log_ids("commits")) >= c - 1, 60, f"{count} batches")  # fmt: skip
            time.sleep(0.2)
            seen[count] = len(os.listdir(folder))
        assert running.stop() == 0
    assert seen[240] <= seen[40] + 2, seen
    assert ids(lake) == list(range(240))
    assert all(isinstance(p["batchId"], int) for p in job.progress())
