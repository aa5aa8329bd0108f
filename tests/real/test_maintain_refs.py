# SPDX-License-Identifier: Apache-2.0
"""Procedures that move branches and tags, and rewritten manifests: two tables that Spark wrote in the same way; Spark's
procedure runs on one, calve's on the other. Ids differ between the two, so that a snapshot is known by its place in the
history."""

import json

import pytest
from job import run_calve
from readers import open_table, read_avro, read_duckdb, read_pyiceberg
from spark import SparkError

# Sizes are left out: position delete files hold random paths.
COUNTS = ["operation", "total-records", "total-data-files", "total-delete-files", "total-position-deletes",
          "total-equality-deletes", "added-data-files", "added-records", "deleted-data-files", "deleted-records",
          "changed-partition-count", "published-wap-id", "manifests-created", "manifests-kept",
          "manifests-replaced"]  # fmt: skip


class Twins:
    """Tables db.spark and db.calve of one lake, with the same statements run on both."""

    def __init__(self, lake, spark):
        self.lake = lake
        self.spark = spark
        spark.add_catalog(lake)

    def both(self, *statements):
        for name in ("spark", "calve"):
            for statement in statements:
                self.spark.sql(statement.replace("{t}", f"{self.lake.name}.db.{name}").replace("{name}", f"db.{name}"))

    def create(self, properties="'format-version'='2'"):
        # The catalog's file has to be there before Spark opens it.
        self.lake.create_table("db.first", "x int")
        self.both(
            f"CREATE TABLE {{t}} (n BIGINT, p INT) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ({properties})"
        )

    def insert(self, numbers, p=0):
        self.both(f"INSERT INTO {{t}} VALUES {', '.join(f'({n}, {p})' for n in numbers)}")

    def metadata(self, name):
        return self.lake.metadata(f"db.{name}")

    def ids(self, name):
        """Snapshot ids by place."""
        return [s["snapshot-id"] for s in self.metadata(name)["snapshots"]]

    def place(self, name, snapshot_id):
        return None if snapshot_id is None else self.ids(name).index(snapshot_id)

    def call_spark(self, procedure, **arguments):
        texts = [f"{k} => {_literal(v)}" for k, v in arguments.items()]
        code = "result = [r.asDict() for r in spark.sql(query).collect()]"
        query = f"CALL {self.lake.name}.system.{procedure}({', '.join(['table => ' + _literal('db.spark'), *texts])})"
        return self.spark.run(code, query=query)

    def call_calve(self, procedure, *flags, **arguments):
        words = ["maintain", procedure, f"{self.lake.name}.db.calve", "--config", self.lake.config_file(), "--json"]
        for key, value in arguments.items():
            words.append(f"--{key}={value}")
        return run_calve(*words, *flags)

    def call(self, procedure, places=(), **arguments):
        """On both; an argument named in `places` is a place in the history. The rows are compared, ids by place."""
        found = {}
        for name in ("spark", "calve"):
            own = {k: self.ids(name)[v] if k in places else v for k, v in arguments.items()}
            if name == "spark":
                rows = self.call_spark(procedure, **own)
            else:
                rows = json.loads(self.call_calve(procedure, **own).check().out)
            found[name] = [
                {k: self.place(name, v) if k.endswith(("_id", "_ref")) else v for k, v in row.items()} for row in rows
            ]
        assert found["calve"] == found["spark"]
        assert all(list(a) == list(b) for a, b in zip(found["calve"], found["spark"])), "columns in another order"
        self.compare()
        return found["calve"]

    def refuse(self, procedure, places=(), **arguments):
        """Both refuse, and calve's message has the words of Spark's."""
        own = {k: self.ids("spark")[v] if k in places else v for k, v in arguments.items()}
        with pytest.raises(SparkError) as failure:
            self.call_spark(procedure, **own)
        own = {k: self.ids("calve")[v] if k in places else v for k, v in arguments.items()}
        done = self.call_calve(procedure, **own)
        assert done.status == 2, done
        words = done.err.splitlines()[0].split("db.calve: ")[-1].removeprefix("calve: ")
        for a, b in zip(self.ids("calve"), self.ids("spark")):
            words = words.replace(str(a), str(b))
        assert words in str(failure.value), (words, str(failure.value)[:500])

    def compare(self):
        """Refs, history, summaries and rows are the same."""
        spark, calve = (self.shape(name) for name in ("spark", "calve"))
        for key, value in spark.items():
            assert calve[key] == value, key

    def shape(self, name):
        metadata = self.metadata(name)
        refs = {
            k: {**v, "snapshot-id": self.place(name, v["snapshot-id"])} for k, v in metadata.get("refs", {}).items()
        }
        snapshots = []
        for s in metadata["snapshots"]:
            summary = {k: v for k, v in s["summary"].items() if k in COUNTS}
            source = s["summary"].get("source-snapshot-id")
            parent = self.place(name, s.get("parent-snapshot-id"))
            snapshots.append((parent, summary, source and self.place(name, int(source))))
        rows = {ref: self.rows(name, v["snapshot-id"]) for ref, v in metadata.get("refs", {}).items()}
        log = [self.place(name, e["snapshot-id"]) for e in metadata["snapshot-log"]]
        return {"refs": refs, "snapshots": snapshots, "rows": rows, "log": log}

    def rows(self, name, snapshot_id):
        found = read_pyiceberg(self.lake, f"db.{name}", snapshot_id=snapshot_id)
        return sorted(zip(found["n"].to_pylist(), found["p"].to_pylist()))

    def entries(self, name):
        """Live entries of the head: place of their snapshot, both sequence numbers, partition, counts; then the
        manifests' partition bounds."""
        places = {k: i for i, k in enumerate(self.ids(name))}
        entries, manifests = [], []
        for manifest in read_avro(open_table(self.lake, f"db.{name}").current_snapshot().manifest_list):
            bounds = [(p["lower_bound"], p["upper_bound"]) for p in manifest["partitions"]]
            manifests.append((manifest.get("content", 0), manifest["partition_spec_id"], bounds))
            inherited = manifest.get("sequence_number", 0)
            for entry in read_avro(manifest["manifest_path"]):
                if entry["status"] == 2:
                    continue
                file = entry["data_file"]
                numbers = [inherited if entry.get(k) is None else entry[k]
                           for k in ("sequence_number", "file_sequence_number")]  # fmt: skip
                owner = entry["snapshot_id"] or manifest["added_snapshot_id"]
                content = file.get("content", 0)
                bounds = [(b["key"], b["value"]) for b in file["lower_bounds"]] if content == 0 else None  # paths differ
                entries.append((places[owner], *numbers, sorted(file["partition"].items()), content,
                                file["record_count"], bounds))  # fmt: skip
        return sorted(entries, key=repr), sorted(manifests, key=repr)


def _literal(value):
    if isinstance(value, list):
        return f"array({', '.join(map(_literal, value))})"
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.fixture
def twins(lake, spark):
    return Twins(lake, spark)


def test_rollback_and_set_current(twins):
    twins.create()
    for n in range(4):
        twins.insert([n])
    assert twins.call("rollback_to_snapshot", ("snapshot_id",), snapshot_id=1) == [
        {"previous_snapshot_id": 3, "current_snapshot_id": 1}
    ]
    twins.refuse("rollback_to_snapshot", ("snapshot_id",), snapshot_id=3)
    twins.refuse("rollback_to_snapshot", snapshot_id=77)
    twins.call("set_current_snapshot", ("snapshot_id",), snapshot_id=3)
    twins.refuse("set_current_snapshot", ref="nothing")
    ancestors = twins.call_calve("ancestors_of").check().out
    spark = twins.call_spark("ancestors_of")
    assert [twins.place("calve", r["snapshot_id"]) for r in json.loads(ancestors)] == [
        twins.place("spark", r["snapshot_id"]) for r in spark
    ]
    times = {
        name: twins.metadata(name)["snapshots"][2]["timestamp-ms"] for name in ("spark", "calve")
    }
    text = "result = [r.asDict() for r in spark.sql(query).collect()]"
    query = (f"CALL {twins.lake.name}.system.rollback_to_timestamp('db.spark', "
             f"timestamp_millis({times['spark']}))")  # fmt: skip
    moved = twins.spark.run(text, query=query)
    ours = json.loads(twins.call_calve("rollback_to_timestamp", timestamp=times["calve"]).check().out)
    assert [twins.place("calve", v) for v in ours[0].values()] == [
        twins.place("spark", v) for v in moved[0].values()
    ] == [3, 1]
    twins.compare()


def test_branches_and_tags(twins):
    twins.create()
    for n in range(3):
        twins.insert([n])

    def alter(statement, procedure, snapshot=None, **arguments):
        name = f"{twins.lake.name}.db.spark"
        words = statement.replace("{v}", str(twins.ids("spark")[snapshot or 0]))
        twins.spark.sql(f"ALTER TABLE {name} {words}")
        if snapshot is not None:
            arguments["snapshot-id"] = twins.ids("calve")[snapshot]
        twins.call_calve(procedure, **arguments).check()
        twins.compare()

    alter("CREATE BRANCH b AS OF VERSION {v} RETAIN 7 DAYS WITH SNAPSHOT RETENTION 5 SNAPSHOTS 3 DAYS", "create-branch",
          0, branch="b", retain="7 days", **{"snapshot-retention": "5 snapshots 3 days"})  # fmt: skip
    alter("CREATE TAG t RETAIN 10 DAYS", "create-tag", tag="t", retain="10 days")
    alter("REPLACE TAG t AS OF VERSION {v}", "replace-tag", 1, tag="t")
    alter("REPLACE BRANCH b AS OF VERSION {v} RETAIN 1 HOURS", "replace-branch", 1, branch="b", retain="1 hour")
    alter("CREATE OR REPLACE BRANCH c AS OF VERSION {v}", "create-branch", 0, branch="c", **{"or-replace": "true"})
    alter("CREATE BRANCH IF NOT EXISTS c AS OF VERSION {v}", "create-branch", 2, branch="c",
          **{"if-not-exists": "true"})  # fmt: skip
    assert twins.call("fast_forward", branch="c", to="main") == [
        {"branch_updated": "c", "previous_ref": 0, "updated_ref": 2}
    ]
    assert twins.call("fast_forward", branch="fresh", to="b")[0]["previous_ref"] is None
    twins.refuse("fast_forward", branch="main", to="b")
    twins.refuse("fast_forward", branch="main", to="nothing")
    twins.both("INSERT INTO {t}.branch_b VALUES (10, 0)")
    twins.call("set_current_snapshot", ref="b")
    alter("DROP TAG t", "drop-tag", tag="t")
    alter("DROP BRANCH c", "drop-branch", branch="c")
    alter("DROP BRANCH IF EXISTS c", "drop-branch", branch="c", **{"if-exists": "true"})
    assert twins.call_calve("drop-branch", branch="main").status == 2
    for wrong in ("0 snapshots", "many snapshots", "5", "3 moons", "5 snapshots 3 moons"):
        done = twins.call_calve("create-branch", branch="w", **{"snapshot-retention": wrong})
        assert done.status == 2 and "snapshot_retention" in done.err, done
    dry = twins.call_calve("create-branch", "--dry-run", branch="w")
    assert dry.check() and "w" not in twins.metadata("calve")["refs"]
    # both may be written on by Spark afterwards
    twins.both("INSERT INTO {t} VALUES (11, 0)", "INSERT INTO {t}.branch_b VALUES (12, 0)")
    twins.compare()


def stage(twins, wap_id, statement):
    """Runs the statement on both as a staged snapshot."""
    twins.spark.run("spark.conf.set('spark.wap.id', wap_id)", wap_id=wap_id)
    try:
        twins.both(statement)
    finally:
        twins.spark.run("spark.conf.unset('spark.wap.id')")


def test_cherrypick_and_publish(twins):
    twins.create("'format-version'='2', 'write.wap.enabled'='true'")
    twins.insert([1, 2], 0)
    twins.insert([3], 1)
    stage(twins, "first", "INSERT INTO {t} VALUES (4, 0), (5, 2)")
    twins.insert([6], 1)
    assert twins.call("cherrypick_snapshot", ("snapshot_id",), snapshot_id=2) == [
        {"source_snapshot_id": 2, "current_snapshot_id": 4}
    ]
    twins.refuse("cherrypick_snapshot", ("snapshot_id",), snapshot_id=2)
    twins.refuse("cherrypick_snapshot", ("snapshot_id",), snapshot_id=0)
    twins.refuse("publish_changes", wap_id="first")
    twins.refuse("publish_changes", wap_id="nothing")
    stage(twins, "second", "INSERT INTO {t} VALUES (7, 0)")
    twins.call("publish_changes", wap_id="second")  # a fast-forward
    twins.spark.run("spark.conf.set('spark.sql.sources.partitionOverwriteMode', 'dynamic')")
    try:
        stage(twins, "third", "INSERT OVERWRITE {t} VALUES (8, 1)")
        stage(twins, "fourth", "INSERT OVERWRITE {t} VALUES (9, 0)")
    finally:
        twins.spark.run("spark.conf.unset('spark.sql.sources.partitionOverwriteMode')")
    twins.insert([10], 0)
    twins.call("publish_changes", wap_id="third")
    assert twins.rows("calve", twins.metadata("calve")["current-snapshot-id"]) == [
        (1, 0), (2, 0), (4, 0), (5, 2), (7, 0), (8, 1), (10, 0)
    ]  # fmt: skip
    last = len(twins.ids("spark"))
    with pytest.raises(SparkError, match="Cannot cherry-pick replace partitions with changed partition"):
        twins.call_spark("publish_changes", wap_id="fourth")
    done = twins.call_calve("publish_changes", wap_id="fourth")
    assert done.status == 2 and "Cannot cherry-pick replace partitions with changed partition" in done.err, done
    assert len(twins.ids("calve")) == last
    stage(twins, "fifth", "DELETE FROM {t} WHERE n = 1")
    twins.insert([11], 2)
    twins.refuse("publish_changes", wap_id="fifth")


@pytest.mark.parametrize("version", [2, 1])
def test_rewrite_manifests(twins, version):
    """Live entries keep snapshot and sequence numbers; manifests of another spec and of deletes stay apart."""
    twins.create(f"'format-version'='{version}', 'write.delete.mode'='merge-on-read', "
                 "'commit.manifest-merge.enabled'='false'")  # fmt: skip
    for n in range(4):
        twins.insert([2 * n, 2 * n + 1], n * 3 % 4)
    twins.both("DELETE FROM {t} WHERE p = 3")
    if version == 2:
        twins.both("DELETE FROM {t} WHERE n = 4", "DELETE FROM {t} WHERE n = 0")
    assert twins.call("rewrite_manifests")[0]["added_manifests_count"] == (2 if version == 2 else 1)
    assert twins.entries("calve") == twins.entries("spark")
    assert twins.call("rewrite_manifests") == [{"rewritten_manifests_count": 0, "added_manifests_count": 0}]
    twins.both("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, n)")
    twins.insert([20, 21, 22], 1)
    twins.insert([23, 24], 2)
    twins.call("rewrite_manifests", spec_id=1)
    assert twins.entries("calve") == twins.entries("spark")
    head = twins.metadata("calve")["current-snapshot-id"]
    found = read_duckdb(twins.lake, "db.calve")
    assert sorted(zip(found["n"].to_pylist(), found["p"].to_pylist())) == twins.rows("calve", head)
    assert sorted(twins.spark.sql(f"SELECT * FROM {twins.lake.name}.db.calve")) == twins.rows("calve", head)
    # Spark goes on with what calve wrote
    twins.both("DELETE FROM {t} WHERE p = 1", "INSERT INTO {t} VALUES (40, 0)")
    twins.compare()
