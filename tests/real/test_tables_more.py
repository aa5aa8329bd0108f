# SPDX-License-Identifier: Apache-2.0
"""Tables that others alter, make anew or write while calve has them, and the views beside Spark's metadata tables."""

import json
import shutil

import pyarrow.parquet as pq
from checks import check_table, read_everywhere, snapshots
from job import Job, Lake, local, run_calve
from kafka_client import produce
from readers import live_files

VIEWS = ["snapshots", "history", "refs", "manifests", "files", "partitions"]


def views_of_calve(lake, table, view):
    done = run_calve("table", view, f"{lake.name}.{table}", "--config", lake.config_file(), "--json").check()
    return json.loads(done.out)


def views_of_spark(spark, lake, table, view):
    code = """
spark.conf.set("spark.sql.jsonGenerator.ignoreNullFields", "false")
result = spark.table(name).toJSON().collect()
"""
    return [json.loads(row) for row in spark.run(code, name=f"{lake.name}.{table}.{view}")]


def in_order(found):
    return sorted((json.dumps(row, sort_keys=True) for row in found))


def test_views_are_those_of_spark(lake, broker, topic, spark, duckdb):
    """Every column and value, on a table with two specs, a branch, a tag and position deletes of Spark."""
    lake.create_table("db.t", "n bigint, v string, d double, b binary, s struct<x: int>, l array<int>", "v")
    spark.add_catalog(lake)
    name = f"{lake.name}.db.t"
    job = Job(lake, broker, "db.t", topic, value="json")

    def append(start):
        rows = [{"n": n, "v": ["a", "b/c", None][n % 3], "d": 1.5, "b": "AAE=", "s": {"x": n}, "l": [n]}
                for n in range(start, start + 6)]  # fmt: skip
        produce(broker.bootstrap, topic, rows)
        job.run().check()

    append(0)
    spark.sql(f"ALTER TABLE {name} REPLACE PARTITION FIELD v WITH bucket(4, n)")
    spark.sql(f"ALTER TABLE {name} CREATE TAG t1")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b1 RETAIN 5 DAYS")
    append(10)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    spark.sql(f"DELETE FROM {name} WHERE n IN (1, 11)")
    append(20)
    for view in VIEWS:
        ours, theirs = views_of_calve(lake, "db.t", view), views_of_spark(spark, lake, "db.t", view)
        assert [list(row) for row in ours] == [list(row) for row in theirs], view
        assert in_order(ours) == in_order(theirs), view
    last = snapshots(lake, "db.t")[-1]
    assert last["sequence-number"] == 4
    assert last["summary"]["total-records"] == "18" and last["summary"]["total-position-deletes"] == "2"
    assert len(read_everywhere(lake, "db.t", spark)) == 16
    assert {f.spec_id for f in live_files(lake, "db.t")} == {0, 1}


def test_properties_changed_while_a_job_runs(lake, broker, topic, spark):
    lake.create_table("db.t", "n bigint")
    spark.add_catalog(lake)
    job = Job(lake, broker, "db.t", topic, value="json", sink={"trigger": "200 milliseconds"})
    with job.start() as running:
        produce(broker.bootstrap, topic, [{"n": 0}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 1, 30, "a batch")
        spark.sql(f"ALTER TABLE {lake.name}.db.t SET TBLPROPERTIES ('write.parquet.compression-codec'='snappy')")
        produce(broker.bootstrap, topic, [{"n": 1}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 2, 30, "a batch")
        produce(broker.bootstrap, topic, [{"n": 2}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 3, 30, "a batch")
        assert running.stop() == 0
    codecs = {}
    for file in live_files(lake, "db.t"):
        parquet = pq.ParquetFile(local(file.file_path))
        codecs[parquet.read()["n"][0].as_py()] = parquet.metadata.row_group(0).column(0).compression
    # A batch on a REST catalog reads nothing before its commit, so that the change is seen by the one after it.
    assert codecs == {0: "ZSTD", 1: "ZSTD" if lake.catalog == "rest" else "SNAPPY", 2: "SNAPPY"}
    check_table(lake, "db.t")


def test_hadoop_table_made_anew_while_a_job_runs(tmp_path, broker, topic):
    """The new table's files have the old one's names: v1.metadata.json and so on."""
    lake = Lake(tmp_path / "hadoop", "hadoop")
    lake.create_table("db.t", "n bigint")
    job = Job(lake, broker, "db.t", topic, value="json", sink={"trigger": "200 milliseconds"})
    other = Job(lake, broker, "db.t", topic, value="json")
    with job.start() as running:
        produce(broker.bootstrap, topic, [{"n": 0}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 1, 30, "a batch")
        shutil.rmtree(lake.warehouse / "db" / "t")
        lake.create_table("db.t", "n bigint")
        other.run().check()
        uuid = lake.metadata("db.t")["table-uuid"]
        produce(broker.bootstrap, topic, [{"n": 1}])
        assert running.wait(30) == 3, running.log()
        assert "made anew" in running.log() and uuid in running.log()
    assert lake.metadata("db.t")["table-uuid"] == uuid and len(snapshots(lake, "db.t")) == 1
