# SPDX-License-Identifier: Apache-2.0
"""The checkpoint is Spark's: the same bytes, and either engine goes on where the other one stopped."""

import json
import re
import uuid

import pytest
from checks import check_table, epochs, read_everywhere, snapshots
from job import Job, local
from kafka_client import Record, produce

COLUMNS = "id bigint, text string"


def values(start, end, partition=0):
    return [Record(json.dumps({"id": n, "text": f"t{n}"}).encode(), partition=partition) for n in range(start, end)]


@pytest.fixture
def job(lake, broker, topic):
    """Its checkpoint is where the files of the lake are."""
    lake.create_table("db.t", COLUMNS)
    if lake.storage == "local":
        return Job(lake, broker, "db.t", topic, value="json")
    location = f"s3a://{lake.bucket}/checkpoint"
    job = Job(lake, broker, "db.t", topic, value="json", sink={"checkpointLocation": location})
    job.checkpoint = local(location)
    return job


def ids(lake, spark=None):
    return [row[0] for row in read_everywhere(lake, "db.t", spark, columns=("id",))]


def test_bytes(lake, broker, topics, topic, job):
    """No final newline anywhere; sources/0/0 begins with a zero byte."""
    topics.add_partitions(topic, 2)
    produce(broker.bootstrap, topic, values(0, 3) + values(3, 5, 1))
    job.run().check()
    produce(broker.bootstrap, topic, values(5, 6))
    job.run().check()
    folder = job.checkpoint
    metadata = (folder / "metadata").read_bytes()
    assert re.fullmatch(rb'\{"id":"[0-9a-f-]{36}"\}', metadata)
    assert uuid.UUID(json.loads(metadata)["id"])
    for batch, offsets in ((0, {"0": 3, "1": 2}), (1, {"0": 4, "1": 2})):
        version, head, line = (folder / "offsets" / str(batch)).read_bytes().split(b"\n")
        assert version == b"v1" and json.loads(line) == {topic: offsets}
        assert list(json.loads(head)) == ["batchWatermarkMs", "batchTimestampMs", "conf"]
        assert json.loads(head)["batchWatermarkMs"] == 0 and json.loads(head)["batchTimestampMs"] > 1_700_000_000_000
        assert (folder / "commits" / str(batch)).read_bytes() == b'v1\n{"nextBatchWatermarkMs":0}'
    initial = (folder / "sources" / "0" / "0").read_bytes()
    assert initial[:4] == b"\0v1\n" and json.loads(initial[4:]) == {topic: {"0": 0, "1": 0}}


def test_resolved_start_is_stored(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 3))
    job.config["source"]["startingOffsets"] = "latest"
    job.write().run().check()
    assert json.loads((job.checkpoint / "sources" / "0" / "0").read_bytes()[4:]) == {topic: {"0": 3}}


def test_only_names_that_spark_knows_or_skips(lake, broker, topic, job):
    """Spark lists the log folders: a foreign name there must not parse as a number, and no sidecar may be stale."""
    produce(broker.bootstrap, topic, values(0, 3))
    job.run().check()
    for kind in ("offsets", "commits"):
        assert [p.name for p in (job.checkpoint / kind).iterdir()] == ["0"]


def test_progress_is_sparks(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 3))
    job.run().check()
    produce(broker.bootstrap, topic, values(3, 7))
    job.run().check()
    first, second = job.batches()
    assert first["id"] == second["id"] == json.loads((job.checkpoint / "metadata").read_text())["id"]
    assert first["runId"] != second["runId"]
    assert [first["batchId"], second["batchId"]] == [0, 1]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["timestamp"])
    order = ["id", "runId", "name", "timestamp", "batchId", "batchDuration", "numInputRows"]
    assert [key for key in second if key in order] == order
    assert "inputRowsPerSecond" not in first, "there was no trigger before the first"
    assert {"addBatch", "commitOffsets", "latestOffset", "triggerExecution", "walCommit"} <= set(second["durationMs"])
    source = second["sources"][0]
    assert source["description"] == f"KafkaV2[Subscribe[{topic}]]"
    assert source["startOffset"] == {topic: {"0": 3}} and source["endOffset"] == {topic: {"0": 7}}
    assert source["latestOffset"] == {topic: {"0": 7}} and source["numInputRows"] == 4
    assert source["metrics"] == {
        "avgOffsetsBehindLatest": "0.0", "maxOffsetsBehindLatest": "0", "minOffsetsBehindLatest": "0",
    }  # fmt: skip
    assert second["sink"]["numOutputRows"] == 4 and "db.t" in second["sink"]["description"]


# The same job in Spark: same source options, same projection, same sink, same checkpoint folder.
SPARK_JOB = """
from pyspark.sql.functions import col, from_json
spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10")
stream = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
          .option("subscribe", topic).option("startingOffsets", "earliest").load()
          .select(from_json(col("value").cast("string"), "id bigint, text string").alias("value"))
          .select("value.id", "value.text"))
writer = (stream.writeStream.format("iceberg").outputMode("append").trigger(availableNow=True)
          .option("checkpointLocation", checkpoint).option("fanout-enabled", "true"))
query = writer.toTable(table)
query.awaitTermination(120)
result = (str(query.id), [p["batchId"] for p in query.recentProgress], query.exception() and str(query.exception()))
"""


def run_spark(spark, lake, broker, topic, job):
    spark.add_catalog(lake)
    query, batches, failure = spark.run(
        SPARK_JOB, bootstrap=broker.bootstrap, topic=topic, table=f"{lake.name}.db.t",
        checkpoint=lake.location(job.checkpoint),
    )  # fmt: skip
    assert failure is None, failure
    return query, batches


@pytest.mark.lakes("sql", "rest")
def test_switch_to_spark_and_back(lake, broker, topic, job, spark, duckdb):
    produce(broker.bootstrap, topic, values(0, 5))
    job.run().check()
    query = json.loads((job.checkpoint / "metadata").read_text())["id"]
    produce(broker.bootstrap, topic, values(5, 9))
    resumed, _ = run_spark(spark, lake, broker, topic, job)
    assert resumed == query
    assert ids(lake, spark) == list(range(9))
    produce(broker.bootstrap, topic, values(9, 12))
    job.run().check()
    assert ids(lake, spark) == list(range(12))
    produce(broker.bootstrap, topic, values(12, 14))
    run_spark(spark, lake, broker, topic, job)
    assert ids(lake, spark) == list(range(14))
    check_table(lake, "db.t")
    assert epochs(lake, "db.t") == [0, 1, 2, 3]
    assert {s["summary"]["spark.sql.streaming.queryId"] for s in snapshots(lake, "db.t")} == {query}


@pytest.mark.lakes("sql", "rest")
def test_switch_from_spark_and_back(lake, broker, topic, job, spark, duckdb):
    produce(broker.bootstrap, topic, values(0, 5))
    query, _ = run_spark(spark, lake, broker, topic, job)
    produce(broker.bootstrap, topic, values(5, 9))
    job.run().check()
    assert json.loads((job.checkpoint / "metadata").read_text())["id"] == query
    assert ids(lake, spark) == list(range(9))
    produce(broker.bootstrap, topic, values(9, 11))
    run_spark(spark, lake, broker, topic, job)
    assert ids(lake, spark) == list(range(11))
    assert epochs(lake, "db.t") == [0, 1, 2]


def test_spark_finishes_the_batch_that_calve_began(lake, broker, topic, job, spark, duckdb):
    """Killed after the offsets were logged, and, in a second round, after the commit: Spark redoes, or skips by the
    epoch in the table."""
    produce(broker.bootstrap, topic, values(0, 5))
    assert job.run(fault="offsets-written").status == -9
    produce(broker.bootstrap, topic, values(5, 7))
    run_spark(spark, lake, broker, topic, job)
    assert ids(lake, spark) == list(range(7))
    produce(broker.bootstrap, topic, values(7, 9))
    assert job.run(fault="commit-done").status == -9
    run_spark(spark, lake, broker, topic, job)
    assert ids(lake, spark) == list(range(9))
    assert epochs(lake, "db.t")[-1] == len(set(epochs(lake, "db.t"))) - 1


def test_calve_finishes_the_batch_that_spark_began(lake, broker, topic, job, spark, duckdb):
    """Spark's commit log entry is lost: the table knows the epoch."""
    produce(broker.bootstrap, topic, values(0, 5))
    run_spark(spark, lake, broker, topic, job)
    for name in ("0", ".0.crc"):
        (job.checkpoint / "commits" / name).unlink(missing_ok=True)
    produce(broker.bootstrap, topic, values(5, 6))
    job.run().check()
    assert ids(lake, spark) == list(range(6))
    assert epochs(lake, "db.t") == [0, 1]


def test_old_entries_are_cleaned_as_spark_does(lake, broker, topic, job):
    """N-100..N in offsets, N-100..N in commits after the last batch; sources/0/0 and metadata stay. In a store, where a
    request deletes many, those of up to 15 batches more may wait for it."""
    count, more = (110, 0) if lake.storage == "local" else (130, 15)
    produce(broker.bootstrap, topic, values(0, count))
    job.config["source"]["maxOffsetsPerTrigger"] = 1
    job.write().run(timeout=120).check()
    kept = job.log_ids("offsets")
    assert kept == list(range(kept[0], count)) and count - 101 - more <= kept[0] <= count - 101
    assert job.log_ids("commits") == kept
    assert (job.checkpoint / "sources" / "0" / "0").exists() and (job.checkpoint / "metadata").exists()
    assert ids(lake) == list(range(count))


def test_unknown_version_is_refused(lake, broker, topic, job):
    produce(broker.bootstrap, topic, values(0, 3))
    job.run().check()
    path = job.checkpoint / "offsets" / "0"
    path.write_text(path.read_text().replace("v1", "v9", 1))
    done = job.run()
    assert done.status in (2, 3) and "version 9" in done.text and "checkpoint/offsets/0" in done.text, done


def test_missing_metadata_with_logs(lake, broker, topic, job):
    """A new id would forget which epochs the table has; the table's own position is the way out."""
    produce(broker.bootstrap, topic, values(0, 3))
    job.run().check()
    (job.checkpoint / "metadata").unlink()
    produce(broker.bootstrap, topic, values(3, 5))
    done = job.run()
    if done.status != 0:
        assert "metadata" in done.text, done
    assert ids(lake) in (list(range(3)), list(range(5)))
