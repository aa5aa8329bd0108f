# SPDX-License-Identifier: Apache-2.0
"""Hadoop tables on S3: a commit is a put that the server refuses where the version is taken."""

import threading

import pytest
from checks import check_table, epochs, read_everywhere, snapshots, summaries
from faults import Faults, write_answer
from job import Job, run_calve
from kafka_client import produce
from lakes import SERVERS

pytestmark = pytest.mark.lakes("hadoop-s3")


@pytest.fixture(autouse=True)
def only_here(lake):
    lake.only("hadoop-s3", why="it is about versions of hadoop tables")


def ids(lake):
    return [row[0] for row in read_everywhere(lake, "db.t")]


def is_conditional(head):
    return any(line.lower().startswith(b"if-none-match") for line in head)


def overwrites(proxy, connection, upstream, request, head, body):
    """A server that does not know the condition of a put."""
    if not is_conditional(head):
        return pass_on(connection, upstream, request, head, body)
    bucket, key = request.path.partition("?")[0].removeprefix("/").split("/", 1)
    done = SERVERS.get("s3").client().put_object(Bucket=bucket, Key=key, Body=body)
    return write_answer(connection, 200, "OK", [("ETag", done["ETag"])], b"")


def has_no_condition(proxy, connection, upstream, request, head, body):
    """A server that knows of it and does not have it."""
    if not is_conditional(head):
        return pass_on(connection, upstream, request, head, body)
    text = b"<Error><Code>NotImplemented</Code><Message>If-None-Match is not implemented</Message></Error>"
    return write_answer(connection, 501, "Not Implemented", [("Content-Type", "application/xml")], text)


def pass_on(connection, upstream, request, head, body):
    status, reason, headers, text = upstream.exchange(head, body, request.method)
    return write_answer(connection, status, reason, headers, text)


@pytest.mark.parametrize("point", ["manifest-written", "metadata-written", "commit-sent", "commit-done"])
def test_a_killed_batch(lake, broker, topic, point):
    lake.create_table("db.t", "n bigint")
    produce(broker.bootstrap, topic, [{"n": n} for n in range(30)])
    job = Job(lake, broker, "db.t", topic, value="json", source={"maxOffsetsPerTrigger": 10})
    assert job.run(fault=f"{point}:2").status == -9
    job.run().check()
    assert ids(lake) == list(range(30)) and epochs(lake, "db.t") == [0, 1, 2]
    check_table(lake, "db.t")


def test_two_jobs_at_once(lake, broker, topics, topic, spark):
    """Each version is one job's; who comes second commits on top of it."""
    second = topics.create(f"{topic}-second")
    lake.create_table("db.t", "n bigint")
    produce(broker.bootstrap, topic, [{"n": n} for n in range(0, 60, 2)])
    produce(broker.bootstrap, second, [{"n": n} for n in range(1, 60, 2)])
    jobs = [Job(lake, broker, "db.t", t, value="json", source={"maxOffsetsPerTrigger": 2}) for t in (topic, second)]
    results = []
    threads = [threading.Thread(target=lambda job=job: results.append(job.run())) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        result.check()
    assert ids(lake) == list(range(60)) and len(snapshots(lake, "db.t")) == 30
    assert {s["spark.sql.streaming.queryId"] for s in summaries(lake, "db.t")} == {
        batch["id"] for job in jobs for batch in job.batches()
    }
    check_table(lake, "db.t")
    spark.add_catalog(lake)
    assert len(read_everywhere(lake, "db.t", spark)) == 60


@pytest.mark.parametrize("server", [overwrites, has_no_condition])
def test_a_server_that_cannot_refuse_is_refused(lake, broker, topic, server):
    """Nothing is written over what is there, and the message says why."""
    lake.create_table("db.t", "n bigint")
    produce(broker.bootstrap, topic, [{"n": 1}])
    job = Job(lake, broker, "db.t", topic, value="json")
    job.run().check()
    before = sorted(p.name for p in (lake.warehouse / "db" / "t" / "metadata").glob("v*"))
    produce(broker.bootstrap, topic, [{"n": 2}])
    faults = Faults().stand_before(lake)
    faults.chance = ("s3 put (metadata|object)", 1.0, [server], AlwaysFirst())
    again = Job(lake, broker, "db.t", topic, value="json", name=job.name)
    done = again.run()
    assert done.status in (2, 3), done
    assert "condition" in done.text or "If-None-Match" in done.text, done
    assert sorted(p.name for p in (lake.warehouse / "db" / "t" / "metadata").glob("v*")) == before
    assert ids(lake) == [1]
    faults.close()


class AlwaysFirst:
    """In the place of a random generator."""

    def random(self):
        return 0.0

    def choice(self, of):
        return of[0]


def test_what_there_is_not(lake):
    """No rename; a drop tells which folder is to go."""
    lake.create_table("db.t", "n bigint")
    config = lake.config_file()
    renamed = run_calve("table", "rename", f"{lake.name}.db.t", f"{lake.name}.db.u", "--config", config)
    assert renamed.status != 0 and "rename" in renamed.text, renamed
    dropped = run_calve("table", "drop", f"{lake.name}.db.t", "--yes", "--config", config)
    assert dropped.status != 0 and "db/t" in dropped.text, dropped
    run_calve("table", "show", f"{lake.name}.db.t", "--config", config).check()
