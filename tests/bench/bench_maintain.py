#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures calve's maintenance beside Spark's procedures, on tables that Spark wrote.

The same files are two tables: one is rewritten by Spark, one by calve. Then the history, manifests and orphan files of
a table with many snapshots. CPU is user plus system time of the process (for Spark: of the Java process, warm, during
the procedure); peak is the largest resident set. Ends with status 1 when a target is missed.

    bench_maintain.py --files 1000      files of 2 MB; ten times as many of 200 kB; as many snapshots and orphan files
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import components  # noqa: E402
import job as jobs  # noqa: E402
import readers  # noqa: E402
from bench import cpu_of, java_child, run_measured  # noqa: E402

LARGE, SMALL = 2_000_000, 200_000  # bytes of a file
COLUMNS = "order_id bigint, item string, price decimal(10,2), supplier string, bid_time timestamp, bidder int"
# nullif, because Spark writes a column that cannot be null as required, and a stream's columns can be.
ROWS = """
frame = spark.range(0, rows, 1, files).selectExpr(
    "nullif(id, -1) AS order_id", "nullif(concat('item-', lpad(pmod(hash(id), 2000), 4, '0')), '') AS item",
    "nullif(CAST(pmod(xxhash64(id), 10000000) / 100 AS DECIMAL(10,2)), -1) AS price",
    "nullif(concat('supplier ', pmod(hash(id, 7), 300)), '') AS supplier",
    "nullif(timestamp_micros(1700000000000000 + id * 2000 + pmod(hash(id, 3), 1000)), timestamp_micros(0)) AS bid_time",
    "nullif(pmod(hash(id, 5), 100000), -1) AS bidder")
frame.writeTo(table).append()
"""
SCAN = "SELECT count(*), sum(order_id), max(item), sum(price), max(supplier), epoch_us(max(bid_time)), sum(bidder) FROM read_parquet({})"


@dataclasses.dataclass
class Measure:
    work: str
    system: str
    bytes: int
    seconds: float
    cpu: float
    peak: int
    result: str = ""

    @property
    def rate(self):
        """MB a CPU second."""
        return self.bytes / 1e6 / self.cpu


@dataclasses.dataclass
class Target:
    what: str
    value: float
    limit: float
    at_least: bool = True

    @property
    def met(self):
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self):
        sign = "≥" if self.at_least else "≤"
        return f"{self.what}: {self.value:.4g}   target {sign} {self.limit:g}: {'met' if self.met else 'MISSED'}"


HEAD = f"{'work':22} {'system':7} {'MB':>8} {'seconds':>8} {'CPU s':>8} {'MB/CPU s':>9} {'peak MiB':>9}  result"


def show(m):
    print(f"{m.work:22} {m.system:7} {m.bytes / 1e6:8.1f} {m.seconds:8.2f} {m.cpu:8.3f} {m.rate:9.1f} {m.peak / 2**20:9.0f}  {m.result}",
          flush=True)  # fmt: skip


class Bench:
    def __init__(self, options, folder):
        from spark import Spark

        self.options = options
        self.folder = folder
        self.lake = jobs.Lake(folder / "lake")
        self.lake.create_table("bench.warm", COLUMNS)
        self.spark = Spark(folder / "spark", memory="3g", java_options="").start()
        self.spark.add_catalog(self.lake)
        self.java = java_child(self.spark.process.pid)
        self.measures = []
        self.targets = []

    def close(self):
        self.spark.stop()

    def note(self, *parts):
        measure = Measure(*parts)
        show(measure)
        self.measures.append(measure)
        return measure

    # --- Tables ------------------------------------------------------------------------------------------------------

    def fill(self, table, rows, files):
        self.spark.run(ROWS, 7200, table=f"{self.lake.name}.{table}", rows=rows, files=files)

    def table_of_spark(self, name, files, file_bytes):
        """A table of so many files of about that size."""
        table = f"bench.{name}"
        self.lake.create_table(table, COLUMNS, properties={"write.distribution-mode": "none"})
        self.fill(table, files * self.rows_of(file_bytes), files)
        return table

    def rows_of(self, file_bytes):
        return max(1, int(file_bytes / self.row_bytes))

    def warm_up(self):
        """Spark compiles what it runs later; and a row is weighed."""
        rows = 400_000
        self.fill("bench.warm", rows, 4)
        self.row_bytes = self.bytes_of("bench.warm") / rows
        for _ in range(3):
            self.call("rewrite_data_files", "bench.warm", "options => map('rewrite-all', 'true')")
        self.call("rewrite_manifests", "bench.warm")
        self.call("expire_snapshots", "bench.warm", "retain_last => 1")
        self.call("remove_orphan_files", "bench.warm")

    def twin(self, table, name):
        """Another table of the same files."""
        metadata = self.lake.pyiceberg().load_table(table).metadata_location
        twin = f"bench.{name}"
        self.calve("register-table", twin, "--metadata-file", metadata)
        return twin

    def bytes_of(self, table):
        return sum(f.file_size_in_bytes for f in readers.live_files(self.lake, table))

    # --- Runs --------------------------------------------------------------------------------------------------------

    def call(self, procedure, table, arguments=""):
        """CPU and wall seconds of a procedure of Spark, and its result."""
        query = f"CALL {self.lake.name}.system.{procedure}(table => '{table}'{', ' if arguments else ''}{arguments})"
        begin, cpu = time.monotonic(), cpu_of(self.java)
        rows = self.spark.sql(query, 7200)
        return time.monotonic() - begin, cpu_of(self.java) - cpu, rows

    def calve(self, procedure, table, *arguments):
        command = [jobs.calve_binary(), "maintain", procedure, f"{self.lake.name}.{table}", "--config",
                   str(self.lake.config_file()), "--json", "--quiet", *arguments]  # fmt: skip
        log = self.folder / f"{procedure}-{table}.log"
        measured = run_measured(command, log)
        printed = next(line for line in log.read_text().splitlines() if line.startswith("["))
        return *measured, json.loads(printed)

    def by_spark(self, work, size, procedure, table, arguments=""):
        seconds, cpu, rows = self.call(procedure, table, arguments)
        result = f"{len(rows)} rows" if len(rows) > 1 else " ".join(str(v) for v in rows[0]) if rows else ""
        return self.note(work, "spark", size, seconds, cpu, jobs.peak_memory(self.java), result)

    def by_calve(self, work, size, procedure, table, *arguments):
        seconds, cpu, peak, rows = self.calve(procedure, table, *arguments)
        result = f"{len(rows)} rows" if len(rows) > 1 else " ".join(str(v) for v in rows[0].values()) if rows else ""
        return self.note(work, "calve", size, seconds, cpu, peak, result)

    def faster(self, calve, spark, times):
        """By MB a CPU second, or CPU seconds where no data are read."""
        self.targets.append(Target(f"{calve.work}: times Spark's MB per CPU second", calve.rate / spark.rate, times))
        self.targets.append(Target(f"{calve.work}: MiB at most", calve.peak / 2**20, 256, at_least=False))

    # --- Data files --------------------------------------------------------------------------------------------------

    def rewrite(self):
        files = self.options.files
        large = self.table_of_spark("large", files, LARGE)
        pages, whole, decoded = (self.twin(large, name) for name in ("large_pages", "large_copy", "large_decode"))
        self.set_property(whole, "write.parquet.row-group-size-bytes", str(LARGE // 2))
        with self.lake.pyiceberg().load_table(decoded).update_schema() as update:
            from pyiceberg.types import LongType

            update.update_column("bidder", field_type=LongType())
        size = self.bytes_of(large)
        spark = self.by_spark("files of 2 MB", size, "rewrite_data_files", large)
        self.faster(self.by_calve("2 MB, page merge", size, "rewrite-data-files", pages), spark, 15)
        self.faster(self.by_calve("2 MB, row groups", size, "rewrite-data-files", whole), spark, 15)
        self.faster(self.by_calve("2 MB, full rewrite", size, "rewrite-data-files", decoded), spark, 4)
        self.scan("2 MB", large, pages)
        small = self.table_of_spark("small", files * 10, SMALL)
        merged = self.twin(small, "small_pages")
        size = self.bytes_of(small)
        spark = self.by_spark("files of 200 kB", size, "rewrite_data_files", small)
        self.faster(self.by_calve("200 kB, page merge", size, "rewrite-data-files", merged), spark, 15)
        self.scan("200 kB", small, merged)

    def set_property(self, table, key, value):
        with self.lake.pyiceberg().load_table(table).transaction() as change:
            change.set_properties({key: value})

    def scan(self, what, spark_table, calve_table):
        """CPU time of DuckDB over the live files, the best of several turns; and equal answers."""
        import duckdb

        best, answers, files = {}, {}, {}
        for table in (spark_table, calve_table):
            files[table] = [str(jobs.local(f.file_path)) for f in readers.live_files(self.lake, table)]
        with duckdb.connect() as db:
            for _ in range(7):
                for table, paths in files.items():
                    begin = time.process_time()
                    answers[table] = db.execute(SCAN.format(json.dumps(paths).replace('"', "'"))).fetchall()
                    best[table] = min(best.get(table, 1e9), time.process_time() - begin)
        if answers[spark_table] != answers[calve_table]:
            raise RuntimeError(f"{what}: {answers}")
        print(f"scan of {what}: spark's {best[spark_table]:.3f} CPU s of {len(files[spark_table])} files, "
              f"calve's {best[calve_table]:.3f} of {len(files[calve_table])}", flush=True)  # fmt: skip
        # A twentieth is within what two scans of one file differ by.
        self.targets.append(Target(f"scan of {what}: of Spark's CPU time", best[calve_table] / best[spark_table], 1.05, at_least=False))

    # --- History -----------------------------------------------------------------------------------------------------

    def table_of_snapshots(self, name, count):
        """One transaction of PyIceberg that makes so many snapshots, each with a manifest and a small file."""
        import pyarrow as pa

        table = f"bench.{name}"
        self.lake.create_table(table, "id bigint", properties={"commit.manifest-merge.enabled": "false"})
        change = self.lake.pyiceberg().load_table(table).transaction()
        for n in range(count):
            change.append(pa.table({"id": [n]}))
        change.commit_transaction()
        return table

    def add_orphans(self, table, count):
        folder = self.lake.folder_of(table) / "data"
        old = time.time() - 10 * 86400
        for n in range(count):
            path = folder / f"orphan-{n:06d}.parquet"
            path.write_bytes(b"PAR1")
            os.utime(path, (old, old))

    def history(self):
        count = self.options.files
        tables = [self.table_of_snapshots(name, count) for name in ("history_spark", "history_calve")]
        sizes = [sum(p.stat().st_size for p in self.lake.folder_of(t).rglob("*") if p.is_file()) for t in tables]
        self.by_spark("manifests", sizes[0], "rewrite_manifests", tables[0])
        self.by_calve("manifests", sizes[1], "rewrite-manifests", tables[1])
        spark = self.by_spark("expire", sizes[0], "expire_snapshots", tables[0], "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1")
        self.less(self.by_calve("expire", sizes[1], "expire-snapshots", tables[1], "--older-than", "2100-01-01 00:00:00", "--retain-last", "1"), spark)
        for table in tables:
            self.add_orphans(table, count)
        spark = self.by_spark("orphans", sizes[0], "remove_orphan_files", tables[0])
        self.less(self.by_calve("orphans", sizes[1], "remove-orphan-files", tables[1]), spark)
        left = [sum(1 for p in self.lake.folder_of(t).glob("data/*")) for t in tables]
        if left[0] != left[1]:
            raise RuntimeError(f"data files left: {left}")

    def less(self, calve, spark):
        self.targets.append(Target(f"{calve.work}: times less CPU than Spark", spark.cpu / calve.cpu, 10))
        self.targets.append(Target(f"{calve.work}: MiB at most", calve.peak / 2**20, 256, at_least=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--parts", default="rewrite,history")
    options = parser.parse_args()
    if components.missing("spark"):
        print(f"bench: SKIP, {components.missing('spark')}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="calve-bench-"))
    bench = Bench(options, folder)
    try:
        bench.warm_up()
        print(HEAD, flush=True)
        for part in options.parts.split(","):
            getattr(bench, part)()
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)
    print()
    for target in bench.targets:
        print(target)
    return 0 if all(target.met for target in bench.targets) else 1


if __name__ == "__main__":
    sys.exit(main())
