# SPDX-License-Identifier: Apache-2.0
"""Lost, old, copied and contradicting state: the table is asked first, and where two answers exist calve stops and
names both (src/stream/README.md; cases 6, 46, 47)."""

import json
import os
import shutil
import signal
import time

import pytest
from checks import check_table, epochs, position, snapshots
from components import Broker
from job import Job
from kafka_client import Topics, produce
from readers import open_table
from recovery import COLUMNS, feed, ids, job, values  # noqa: F401 (job is a fixture)


def test_commits_entry_deleted(lake, broker, topic, job):
    """Iceberg's own acceptance test for Spark: same rows, still two snapshots."""
    feed(broker, job, topic, 0, 5)
    feed(broker, job, topic, 5, 9)
    (job.checkpoint / "commits" / "1").unlink()
    job.run().check()
    assert ids(lake) == list(range(9))
    assert len(snapshots(lake, "db.t")) == 2
    assert (job.checkpoint / "commits" / "1").exists()


@pytest.mark.lakes("sql", "rest")
def test_checkpoint_deleted(lake, broker, topic, job):
    feed(broker, job, topic, 0, 5)
    feed(broker, job, topic, 5, 9)
    shutil.rmtree(job.checkpoint)
    produce(broker.bootstrap, topic, values(9, 12))
    done = job.run().check()
    assert ids(lake) == list(range(12))
    assert "table" in done.text.lower(), "it must say that it continues from the table"
    check_table(lake, "db.t")
    feed(broker, job, topic, 12, 14)
    assert ids(lake) == list(range(14))


def test_checkpoint_deleted_and_another_writer_in_between(lake, broker, topic, job):
    import pyarrow as pa

    feed(broker, job, topic, 0, 5)
    open_table(lake, "db.t").append(pa.table({"id": pa.array([100], pa.int64()), "text": ["other"]}))
    shutil.rmtree(job.checkpoint)
    feed(broker, job, topic, 5, 7)
    assert ids(lake) == [*range(7), 100]


def test_checkpoint_restored_from_an_old_copy(lake, broker, topic, job):
    feed(broker, job, topic, 0, 5)
    copy = job.folder / "copy"
    shutil.copytree(job.checkpoint, copy)
    feed(broker, job, topic, 5, 9)
    feed(broker, job, topic, 9, 12)
    shutil.rmtree(job.checkpoint)
    shutil.copytree(copy, job.checkpoint)
    produce(broker.bootstrap, topic, values(12, 15))
    done = job.run()
    assert done.status == 3 and "--resume-from=table" in done.text and "--resume-from=checkpoint" in done.text, done
    assert ids(lake) == list(range(12))
    job.run("--available-now", "--resume-from=table").check()
    assert ids(lake) == list(range(15))
    job.run().check()
    assert ids(lake) == list(range(15))
    assert len(set(epochs(lake, "db.t"))) == len(epochs(lake, "db.t"))


def roll_back(lake, table="db.t"):
    """Makes the first snapshot the current one, as an operator does who undoes two commits."""
    opened = open_table(lake, table)
    first = opened.metadata.snapshots[0].snapshot_id
    with opened.manage_snapshots() as change:
        change.set_current_snapshot(snapshot_id=first)


@pytest.fixture
def rolled_back(lake, broker, topic, job):
    for start in (0, 5, 10):
        feed(broker, job, topic, start, start + 5)
    roll_back(lake)
    assert ids(lake) == list(range(5))
    produce(broker.bootstrap, topic, values(15, 20))
    done = job.run()
    assert done.status == 3 and "--resume-from=table" in done.text and "--resume-from=checkpoint" in done.text, done
    assert ids(lake) == list(range(5))
    return job


def test_table_rolled_back_and_the_table_is_right(lake, rolled_back):
    rolled_back.run("--available-now", "--resume-from=table").check()
    assert ids(lake) == list(range(20))
    rolled_back.run().check()
    assert ids(lake) == list(range(20))


def test_table_rolled_back_and_the_checkpoint_is_right(lake, rolled_back):
    rolled_back.run("--available-now", "--resume-from=checkpoint").check()
    assert ids(lake) == [*range(5), *range(15, 20)]
    rolled_back.run().check()
    assert ids(lake) == [*range(5), *range(15, 20)]


def test_table_rolled_back_and_read_from_the_start(lake, rolled_back):
    rolled_back.run("--available-now", "--resume-from=start").check()
    assert ids(lake) == sorted([*range(5), *range(20)])


def test_another_cluster(lake, broker, topic, job, tmp_path):
    feed(broker, job, topic, 0, 5)
    other = Broker(tmp_path / "other").start()
    try:
        Topics(other.bootstrap).create(topic)
        produce(other.bootstrap, topic, values(0, 9))
        job.config["source"]["kafka.bootstrap.servers"] = other.bootstrap
        done = job.write().run()
        assert done.status == 3 and "cluster" in done.text.lower(), done
        assert ids(lake) == list(range(5))
    finally:
        other.stop()


def test_another_table(lake, broker, topic, job):
    """Case 47 (d): the checkpoint belongs to the table that it was begun with."""
    feed(broker, job, topic, 0, 5)
    lake.create_table("db.other", COLUMNS)
    job.config["sink"]["table"] = f"{lake.name}.db.other"
    done = job.write().run()
    assert done.status in (2, 3) and "db.t" in done.text, done
    assert snapshots(lake, "db.other") == []


def test_table_dropped_and_made_again(lake, broker, topic, job):
    feed(broker, job, topic, 0, 5)
    lake.pyiceberg().drop_table("db.t")
    shutil.rmtree(lake.warehouse / "db")
    lake.create_table("db.t", COLUMNS)
    produce(broker.bootstrap, topic, values(5, 7))
    done = job.run()
    assert done.status == 3 and "another table" in done.text, done
    assert snapshots(lake, "db.t") == []


@pytest.mark.parametrize("length", ["shorter", "longer"])
def test_topic_made_again(lake, broker, topics, topic, job, length):
    """Case 6: 10 records were read; the new topic has 4, or 25. With failOnDataLoss=false each new row comes once."""
    feed(broker, job, topic, 0, 10)
    topics.recreate(topic)
    count = 4 if length == "shorter" else 25
    produce(broker.bootstrap, topic, values(100, 100 + count))
    done = job.run()
    assert done.status == 3 and topic in done.text, done
    assert ids(lake) == list(range(10))
    job.config["source"]["failOnDataLoss"] = False
    job.write().run().check()
    assert ids(lake) == [*range(10), *range(100, 100 + count)]
    job.run().check()
    assert len(ids(lake)) == 10 + count


def test_second_process_is_refused(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 5))
    with job.start() as running:
        running.wait_for(lambda: len(job.batches()) == 1, 20, "the first batch")
        second = job.run()
        assert second.status == 3 and str(job.checkpoint) in second.text, second
        assert running.stop() == 0
    assert ids(lake) == list(range(5))


def test_two_processes_at_once(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 50))
    for _ in range(3):
        shutil.rmtree(job.checkpoint, ignore_errors=True)
        started = [job.start("--available-now") for _ in range(2)]
        assert sorted(running.wait(30) for running in started) in ([0, 0], [0, 3])
    assert ids(lake) == list(range(50))


def take_lock_away(job):
    """A lock is bound to the file's inode: whoever opens the name afterwards gets a lock of its own."""
    locks = [p for p in job.checkpoint.rglob("*") if p.is_file() and "lock" in p.name]
    assert locks, "no lock file in the checkpoint"
    for path in locks:
        path.unlink()


def test_paused_process_wakes_up(lake, broker, topic, job):
    """Case 46: P1 stands still within a batch whose offsets are logged; its lock is taken away; P2 does that batch and
    one more; then P1 goes on. The table's own fence holds."""
    feed(broker, job, topic, 0, 5)
    text = "x" * 2000
    produce(broker.bootstrap, topic, [{"id": n, "text": text} for n in range(5, 40005)])
    first = job.start("--available-now")
    with first:
        while 1 not in job.log_ids("offsets"):
            first.alive()
            time.sleep(0.0005)
        first.signal(signal.SIGSTOP)
        if len(snapshots(lake, "db.t")) != 1:
            pytest.skip("the batch was faster than the signal")
        take_lock_away(job)
        produce(broker.bootstrap, topic, values(40005, 40010))
        job.run().check()
        job.run().check()
        reached = position(lake, "db.t", job.name)["offsets"]
        first.signal(signal.SIGCONT)
        assert first.wait(30) != 0, "the process that was overtaken must end with an error"
    assert ids(lake) == list(range(40010))
    assert position(lake, "db.t", job.name)["offsets"] == reached == {topic: {"0": 40010}}
    check_table(lake, "db.t")


@pytest.fixture
def two_topics(lake, broker, topics, topic):
    names = [topic, topics.create(f"{topic}-2")]
    lake.create_table("db.t", COLUMNS)
    job = Job(lake, broker, "db.t", ",".join(names), value="json")
    for i, name in enumerate(names):
        produce(broker.bootstrap, name, values(i * 100, i * 100 + 3))
    job.run().check()
    return job, names


def test_subscription_gains_one_and_loses_one(lake, broker, topics, two_topics):
    """Case 47 (a): a new topic from its earliest offset; the one that was left out follows failOnDataLoss."""
    job, names = two_topics
    third = topics.create(f"{names[0]}-3")
    produce(broker.bootstrap, third, values(200, 203))
    job.config["source"] |= {"subscribe": f"{names[0]},{third}", "startingOffsets": "latest"}
    done = job.write().run()
    assert done.status == 3 and names[1] in done.text, done
    job.config["source"]["failOnDataLoss"] = False
    job.write().run().check()
    assert ids(lake) == [0, 1, 2, 100, 101, 102, 200, 201, 202]


def test_subscription_loses_one(lake, broker, two_topics):
    """Case 47 (b)."""
    job, names = two_topics
    produce(broker.bootstrap, names[0], values(3, 5))
    job.config["source"]["subscribe"] = names[0]
    done = job.write().run()
    assert done.status == 3 and names[1] in done.text, done
    job.config["source"]["failOnDataLoss"] = False
    job.write().run().check()
    assert ids(lake) == [0, 1, 2, 3, 4, 100, 101, 102]


def test_other_starting_offsets_are_ignored_with_a_warning(lake, broker, topic, job):
    """Case 47 (c)."""
    feed(broker, job, topic, 0, 5)
    job.config["source"]["startingOffsets"] = json.dumps({topic: {"0": 0}})
    produce(broker.bootstrap, topic, values(5, 8))
    done = job.write().run().check()
    assert "startingoffsets" in done.text.lower(), done
    assert ids(lake) == list(range(8))


def test_pattern_that_matches_one_more(lake, broker, topics, topic):
    """Case 47 (e)."""
    lake.create_table("db.t", COLUMNS)
    source = {"subscribePattern": f"^{topic}", "startingOffsets": "earliest"}
    job = Job(lake, broker, "db.t", source=source, value="json")
    feed(broker, job, topic, 0, 3)
    fourth = topics.create(f"{topic}-4")
    produce(broker.bootstrap, fourth, values(3, 5))
    job.config["source"]["startingOffsets"] = "latest"
    job.write().run().check()
    assert ids(lake) == list(range(5))


def test_sigterm_ends_cleanly(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 1000))
    for _ in range(3):
        with job.start() as running:
            time.sleep(0.3)
            assert running.stop(10) in (0, -15)
    job.run().check()
    assert ids(lake) == list(range(1000))


def test_two_jobs_on_one_table(lake, broker, topic, topics, job):
    other_topic = topics.create(f"{topic}-other")
    other = Job(lake, broker, "db.t", other_topic, value="json")
    for n in range(4):
        feed(broker, job, topic, n * 10, n * 10 + 5)
        feed(broker, other, other_topic, 1000 + n * 10, 1000 + n * 10 + 5)
    shutil.rmtree(job.checkpoint)
    shutil.rmtree(other.checkpoint)
    job.run().check()
    other.run().check()
    assert len(ids(lake)) == 40 and len(set(ids(lake))) == 40


@pytest.mark.lakes("sql", "rest")
def test_two_jobs_commit_at_the_same_time(lake, broker, topic, topics):
    """Both retry on conflicts; no commit is lost."""
    lake.create_table("db.t", COLUMNS, properties={"commit.retry.num-retries": "30", "commit.retry.min-wait-ms": "10"})
    names = [topic, topics.create(f"{topic}-2")]
    jobs = [Job(lake, broker, "db.t", n, value="json", source={"maxOffsetsPerTrigger": 20}) for n in names]
    for i, name in enumerate(names):
        produce(broker.bootstrap, name, values(i * 1000, i * 1000 + 400))
    started = [job.start("--available-now") for job in jobs]
    assert [running.wait(60) for running in started] == [0, 0], [running.log()[-2000:] for running in started]
    assert ids(lake) == [*range(400), *range(1000, 1400)]
    check_table(lake, "db.t")
    assert len(snapshots(lake, "db.t")) == 40


def test_checkpoint_folder_that_cannot_be_written(lake, broker, topic, job):
    if os.geteuid() == 0:
        job.checkpoint.write_text("a file where a folder should be")
    else:
        job.checkpoint.mkdir(mode=0o500)
    produce(broker.bootstrap, topic, values(0, 3))
    done = job.run()
    assert done.status in (2, 3) and str(job.checkpoint) in done.text, done
    assert snapshots(lake, "db.t") == []
