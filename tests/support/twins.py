# SPDX-License-Identifier: Apache-2.0
"""The same table twice, for two programs that change it: the files of a lake are kept aside and put back, under the
same paths, so that ids and locations of both results can be compared one by one."""

import json
import shutil

from job import local, run_calve

# Rows in several files and partitions, a spec that evolved, deletes, a branch with commits of its own, a tag.
HISTORY = [
    "CREATE TABLE {t} (id bigint, day date, s string) USING iceberg PARTITIONED BY (day) TBLPROPERTIES "
    "('format-version'='{version}', 'write.delete.mode'='{mode}', 'write.parquet.compression-codec'='zstd')",
    "INSERT INTO {t} SELECT id, date_add(date'2026-01-01', CAST(id % 3 AS int)), CAST(id AS string) FROM range(90)",
    "INSERT INTO {t} SELECT id, date_add(date'2026-01-01', CAST(id % 2 AS int)), 'b' FROM range(100, 140)",
    "ALTER TABLE {t} CREATE TAG early",
    "ALTER TABLE {t} CREATE BRANCH side WITH SNAPSHOT RETENTION 2 SNAPSHOTS",
    "INSERT INTO {t}.branch_side SELECT id, date'2026-01-09', 'side' FROM range(200, 210)",
    "ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)",
    "INSERT INTO {t} SELECT id, date'2026-01-02', 'c' FROM range(300, 320)",
    "DELETE FROM {t} WHERE id % 7 = 0",
    "INSERT INTO {t}.branch_side SELECT id, date'2026-01-09', 'side' FROM range(220, 225)",
    "ALTER TABLE {t} ADD COLUMN extra int",
    "INSERT OVERWRITE {t} SELECT id, date'2026-01-02', 'd', 1 FROM range(400, 404)",
    "INSERT INTO {t} SELECT id, date'2026-01-03', 'e', 2 FROM range(500, 510)",
    "DELETE FROM {t} WHERE id = 501",
]


def spark_history(spark, lake, table, version, statements=HISTORY):
    spark.add_catalog(lake)
    mode = "merge-on-read" if version > 1 else "copy-on-write"
    texts = [s.format(t=f"{lake.name}.{table}", version=version, mode=mode) for s in statements]
    spark.run("for text in texts: spark.sql(text)", texts=texts)


class Twins:
    """Keeps a lake as it is now; back() makes it so again."""

    def __init__(self, lake):
        self.lake = lake
        self.kept = lake.folder / "kept"
        shutil.copytree(lake.warehouse, self.kept)
        self.rows = lake.backend_sql("SELECT table_namespace, table_name, metadata_location, previous_metadata_location "
                              "FROM iceberg_tables")  # fmt: skip

    def back(self):
        shutil.rmtree(self.lake.warehouse)
        shutil.copytree(self.kept, self.lake.warehouse)
        for namespace, name, location, previous in self.rows:
            self.lake.backend_sql(
                "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "
                "WHERE table_namespace = ? AND table_name = ?", (location, previous, namespace, name))  # fmt: skip


def call(spark, lake, procedure, table, arguments=""):
    """Rows of Spark's procedure as dicts. `arguments` follow the table."""
    text = f"CALL {lake.name}.system.{procedure}(table => '{table}'{arguments and ', '}{arguments})"
    return spark.run("result = [r.asDict() for r in spark.sql(text).collect()]", text=text)


def maintain(lake, procedure, table, *arguments, env=None, timeout=60):
    """The finished run of calve's procedure."""
    return run_calve(
        "maintain", procedure, f"{lake.name}.{table}", "--json", "--config", lake.config_file(), *arguments, env=env,
        timeout=timeout,
    )


def result_rows(run):
    return json.loads(run.check().out)


def files_below(folder):
    """Relative paths, without Hadoop's checksum files."""
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".crc")}


def state(lake, table):
    """What of a table two programs should leave alike: snapshots, refs, definitions, files; metadata files have names
    of their own and are counted."""
    metadata = lake.metadata(table)
    files = files_below(local(metadata["location"]))
    named = {f for f in files if not f.endswith(".metadata.json")}
    return {
        "snapshots": sorted(s["snapshot-id"] for s in metadata["snapshots"]),
        "refs": metadata["refs"],
        "current": metadata["current-snapshot-id"],
        "log": [e["snapshot-id"] for e in metadata["snapshot-log"]],
        "specs": sorted(s["spec-id"] for s in metadata["partition-specs"]),
        "schemas": sorted(s["schema-id"] for s in metadata["schemas"]),
        "files": named,
        "metadata files": len(files) - len(named),
    }
