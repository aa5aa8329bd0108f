#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures calve against Spark and against librdkafka alone, on one real broker.

For each data set a topic is filled once. Then the systems run in turn over the same topic, with the same number of
batches and the same Parquet codec, each into a new table: calve as a process from its start to its end, Spark
local[2] in a warm session with availableNow, and a consumer that drops what it reads. CPU is user plus system time of
the process (for Spark: of the Java process during the query); peak is the largest resident set.

    bench.py --rows 20000000            orders; events and wide rows scale with it (20 M : 5 M : 3 M)
    bench.py --lake rest                besides: calve on a REST catalog and S3, and its commits request by request
    bench.py --smoke                    small, asserts rows and no times
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import components  # noqa: E402
import job as jobs  # noqa: E402
import orders  # noqa: E402
import readers  # noqa: E402
from kafka_client import Topics  # noqa: E402

PARTITIONS = 4
FULL_ROWS = 20_000_000
USER = f"{components.REGISTRY_USER}:{components.REGISTRY_PASSWORD}"


@dataclasses.dataclass
class DataSet:
    name: str
    share: float  # of the number of orders
    ddl: str
    avro: dict | None  # None = JSON
    select: str | None
    spark: str  # the projection over `value`
    target: float | None  # CPU µs a row
    # Sets of SQL: the generator's set that fills the topic, the query over the view `stream` that both systems run, its
    # output mode, and how many times Spark's rows a CPU second calve has to make.
    records: str = ""
    sql: str | None = None
    mode: str = "append"
    times: float | None = None


def wide_columns():
    """In turn as generate.c writes them: name, Spark type, Avro type."""
    kinds = [
        ("int", "int"), ("bigint", "long"), ("double", "double"), ("string", "string"), ("boolean", "boolean"),
        ("timestamp", {"type": "long", "logicalType": "timestamp-micros"}),
        ("date", {"type": "int", "logicalType": "date"}), ("float", "float"), ("string", "string"), ("bigint", "long"),
    ]  # fmt: skip
    return [(f"c{n:03d}", *kinds[n % 10]) for n in range(100)]


def wide_schema():
    fields = [{"name": name, "type": ["null", avro], "default": None} for name, _, avro in wide_columns()]
    return {"type": "record", "name": "Wide", "fields": fields}


EVENTS = (
    "id string, at timestamp, kind string, user struct<id: bigint, name: string, country: string, premium: boolean>, "
    "session string, page struct<url: string, load_ms: int>, agent string, amount decimal(10,2), score double, "
    "items array<int>, attributes map<string, string>, referrer string, sequence bigint"
)

SETS = {
    "orders": DataSet(
        "orders", 1.0, orders.COLUMNS.replace("timestamptz", "timestamp"), orders.PLAIN, orders.SELECT,
        "value.order_id, value.item, CAST(value.price AS DECIMAL(10,2)) AS price, value.supplier, value.bid_time", 1.2,
    ),
    "events": DataSet("events", 0.25, EVENTS, None, None, "value.*", 3.0),
    "wide": DataSet("wide", 0.15, ", ".join(f"{n} {t}" for n, t, _ in wide_columns()), wide_schema(), None,
                    "value.*", 10.0),
    "filter": DataSet(
        "filter", 1.0, "order_id string, what string, gross decimal(12,2), minute timestamp",
        orders.PLAIN, None, "", None, "orders",
        "SELECT value.order_id, concat(upper(value.supplier), ': ', value.item) AS what, "
        "CAST(CAST(value.price AS DECIMAL(10,2)) * 1.19 AS DECIMAL(12,2)) AS gross, "
        "date_trunc('minute', value.bid_time) AS minute "
        "FROM stream WHERE CAST(value.price AS DECIMAL(10,2)) >= 50",
        times=3,
    ),
    "group": DataSet(
        "group", 1.0, "supplier string, minute timestamp, orders bigint, revenue decimal(20,2), highest decimal(10,2)",
        orders.PLAIN, None, "", None, "orders",
        "SELECT value.supplier AS supplier, date_trunc('minute', value.bid_time) AS minute, count(*) AS orders, "
        "sum(CAST(value.price AS DECIMAL(10,2))) AS revenue, max(CAST(value.price AS DECIMAL(10,2))) AS highest "
        "FROM stream GROUP BY value.supplier, date_trunc('minute', value.bid_time)",
        mode="complete", times=5,
    ),
}  # fmt: skip


@dataclasses.dataclass
class Measure:
    set: str
    system: str
    rows: int
    seconds: float
    cpu: float
    peak: int
    bytes: int = 0
    files: int = 0
    found: int = 0  # rows in the table

    @property
    def rate(self):
        return self.rows / self.seconds

    @property
    def micros(self):
        return self.cpu * 1e6 / self.rows


# --- Processes -------------------------------------------------------------------------------------------------------


def build(folder):
    """Compiles the two C programs; they are small and need only librdkafka."""
    folder.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc").split()
    built = {}
    for name in ("generate", "consume"):
        source = ROOT / "tests" / "bench" / f"{name}.c"
        target = folder / f"bench-{name}"
        subprocess.run([*compiler, "-std=c17", "-D_GNU_SOURCE", "-O2", "-o", target, source, "-lrdkafka"], check=True)
        built[name] = str(target)
    return built


def run_measured(command, log):
    """Runs a command to its end: wall seconds, CPU seconds, peak bytes. The peak is polled, because ru_maxrss of a
    child counts what its parent held before the exec."""
    begin, peak = time.monotonic(), 0
    with open(log, "ab") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            break
        peak = max(peak, jobs.peak_memory(process.pid))
        time.sleep(0.01)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        tail = pathlib.Path(log).read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{command[0]} ended with {process.returncode}:\n{tail}")
    return seconds, usage.ru_utime + usage.ru_stime, peak


def java_child(pid):
    """The Java process below a Python one."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)
            if int(fields[1].split()[1]) == pid:
                return int(entry.name) if "(java" in fields[0] else java_child(int(entry.name))
        except (OSError, ValueError):
            continue
    raise RuntimeError("no Java process")


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


SPARK_JOB = """
from pyspark.sql.functions import expr, from_json, col
from pyspark.sql.avro.functions import from_avro
stream = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
          .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", limit).load())
if schema is None:
    value = from_json(col("value").cast("string"), ddl)
else:
    value = from_avro(expr("substring(value, 6, length(value) - 5)"), schema)
frame = stream.select(value.alias("value"))
if sql:
    frame.createOrReplaceTempView("stream")
    frame = spark.sql(sql)
else:
    frame = frame.selectExpr(*projection)
query = (frame.writeStream.format("iceberg").outputMode(mode).trigger(availableNow=True)
         .option("checkpointLocation", checkpoint).option("fanout-enabled", "true")
         .option("distribution-mode", "none").toTable(table))
query.awaitTermination()
result = query.exception() and str(query.exception())
"""


def split_items(select):
    """At commas outside brackets."""
    items, depth, item = [], 0, ""
    for c in select:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            items.append(item.strip())
            item = ""
        else:
            item += c
    return [*items, item.strip()]


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.programs = build(components.CACHE / "bench")
        self.broker = components.Broker(folder / "broker", heap="1g").start()
        self.registry = components.Registry(folder / "registry").start()
        self.topics = Topics(self.broker.bootstrap)
        self.lake = jobs.Lake(folder / "lake", "sql")
        self.far = jobs.Lake(folder / "far", options.lake) if options.lake else None
        self.spark = None
        self.count = 0

    def close(self):
        if self.spark is not None:
            self.spark.stop()
        self.registry.stop()
        self.broker.stop()

    def rows_of(self, data):
        return max(20, int(self.options.rows * data.share))

    def fill(self, data, topic, rows):
        self.topics.create(topic, PARTITIONS)
        number = self.registry.register(f"{topic}-value", data.avro) if data.avro else 1
        subprocess.run(
            [self.programs["generate"], "--bootstrap", self.broker.bootstrap, "--topic", topic,
             "--set", data.records or data.name, "--rows", str(rows), "--schema-id", str(number),
             "--partitions", str(PARTITIONS), "--codec", self.options.codec],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def new_table(self, data, lake=None):
        self.count += 1
        table = f"bench.{data.name}_{self.count}"
        (lake or self.lake).create_table(table, data.ddl)
        return table

    def job(self, data, topic, table, lake=None, **more):
        value = {"format": "json"}
        if data.avro:
            value = {"format": "avro", "schema.registry.url": self.registry.proxy.url, "basic.auth.user.info": USER}
        if data.sql:
            more = {"sql": data.sql, "sink": {"outputMode": data.mode}, **more}
        return jobs.Job(lake or self.lake, self.broker, table, topic, value=value, select=data.select, **more)

    def finish(self, measure, table, lake=None):
        files = readers.live_files(lake or self.lake, table)
        measure.found = sum(f.record_count for f in files)
        if measure.found != measure.rows and not SETS[measure.set].sql:
            raise RuntimeError(f"{measure.system}: {measure.found} rows of {measure.rows} in {table}")
        measure.bytes = sum(f.file_size_in_bytes for f in files)
        measure.files = len(files)
        return measure

    def limit(self, rows):
        return -(-rows // self.options.batches)

    def run_calve(self, data, topic, rows, lake=None, name="calve"):
        table = self.new_table(data, lake)
        job = self.job(data, topic, table, lake, source={"maxOffsetsPerTrigger": self.limit(rows)})
        seconds, cpu, peak = run_measured(job.command("--available-now"), self.folder / "calve.log")
        return self.finish(Measure(data.name, name, rows, seconds, cpu, peak), table, lake)

    def run_far(self, data, topic, rows):
        return self.run_calve(data, topic, rows, self.far, "far")

    def run_consume(self, data, topic, rows):
        command = [self.programs["consume"], "--bootstrap", self.broker.bootstrap, "--topic", topic, "--rows",
                   str(rows), "--partitions", str(PARTITIONS)]  # fmt: skip
        return Measure(data.name, "consume", rows, *run_measured(command, self.folder / "consume.log"))

    def run_spark(self, data, topic, rows):
        from spark import Spark

        if self.spark is None:
            self.spark = Spark(self.folder / "spark", memory="3g", java_options="").start()
            self.spark.add_catalog(self.lake)
        self.warm_up(data, topic)
        java = java_child(self.spark.process.pid)
        table = self.new_table(data)
        begin, cpu = time.monotonic(), cpu_of(java)
        self.spark_query(data, topic, table, self.limit(rows))
        measure = Measure(
            data.name, "spark", rows, time.monotonic() - begin, cpu_of(java) - cpu, jobs.peak_memory(java)
        )
        return self.finish(measure, table)

    def warm_up(self, data, topic):
        """The first query of a kind compiles; it reads a tenth of the rows from a topic of its own."""
        warm = f"{topic}-warm"
        if self.topics.partitions(warm) == 0:
            rows = min(200_000, max(20, self.rows_of(data) // 10))
            self.fill(data, warm, rows)
            self.spark_query(data, warm, self.new_table(data), rows)

    def spark_query(self, data, topic, table, limit):
        schema = None if data.avro is None else json.dumps(data.avro)
        checkpoint = self.folder / f"checkpoint-{self.count}"
        failure = self.spark.run(
            SPARK_JOB, 3600, bootstrap=self.broker.bootstrap, topic=topic, limit=str(limit), ddl=data.ddl,
            schema=schema, projection=split_items(data.spark), sql=data.sql, mode=data.mode,
            checkpoint=f"file://{checkpoint}", table=f"{self.lake.name}.{table}",
        )  # fmt: skip
        if failure:
            raise RuntimeError(failure)
        shutil.rmtree(checkpoint, ignore_errors=True)

    def run_set(self, data):
        rows = self.rows_of(data)
        topic = f"bench-{data.name}"
        print(f"filling {topic} with {rows:,} rows", flush=True)
        self.fill(data, topic, rows)
        measures = []
        for _ in range(self.options.rounds):
            for system in self.options.systems:
                measure = getattr(self, f"run_{system}")(data, topic, rows)
                print(line_of(measure), flush=True)
                measures.append(measure)
        self.topics.delete(topic)
        return measures

    # --- Latency: small batches --------------------------------------------------------------------------------------

    def snapshot_times(self, table):
        return [s["timestamp-ms"] for s in self.lake.metadata(table)["snapshots"]]

    def small_batches(self, job, data, topic, count):
        """Runs a job that waits and gives it `count` times 20 rows; the durations of those batches."""
        with job.start() as running:
            running.wait_for(lambda: running.job.progress() or job.log_ids("offsets"), 30, "the start")
            for _ in range(count):
                before = len(job.batches())
                self.more(data, topic)
                running.wait_for(lambda b=before: len(job.batches()) > b, 30, "a batch of 20 rows")
            running.stop()
        return job.batches()[-count:]

    def more(self, data, topic):
        subprocess.run(
            [self.programs["generate"], "--bootstrap", self.broker.bootstrap, "--topic", topic, "--set", data.name,
             "--rows", "20", "--schema-id", str(self.latency_schema), "--partitions", "1"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def latency(self, count=10, history=1000):
        data = SETS["orders"]
        topic = self.topics.create("bench-latency")
        self.latency_schema = self.registry.register(f"{topic}-value", data.avro)
        table = self.new_table(data)
        self.more(data, topic)
        job = self.job(data, topic, table)
        started = time.time()
        job.run().check()
        first = self.snapshot_times(table)[0] / 1000 - started
        young = self.small_batches(job, data, topic, count)
        reached = statistics.median(trigger_to_snapshot(self.lake, table, b) for b in young)
        self.grow(job, topic, data, history - len(self.snapshot_times(table)))
        old = self.small_batches(job, data, topic, count)
        snapshots = len(self.snapshot_times(table))
        return [
            ("start to first commit", first * 1000, 500),
            ("20-row batch, trigger to snapshot", reached, 30),
            ("20-row batch, whole trigger", median_of(young, "triggerExecution"), None),
            ("20-row batch, read and written and committed", median_of(young, "addBatch"), None),
            (f"the same with {snapshots} snapshots", median_of(old, "addBatch"), 20),
        ]

    def commits(self, count=30):
        """Commits on the far lake, seen by proxies before its servers: the time from the end of the last data put to the
        catalog's answer, beside the time of the three requests in it; and all requests of a batch by kind."""
        from faults import Faults

        data, lake = SETS["orders"], self.far
        faults = Faults().stand_before(lake)
        topic = self.topics.create("bench-commits")
        self.latency_schema = self.registry.register(f"{topic}-value", data.avro)
        job = self.job(data, topic, self.new_table(data, lake), lake)
        self.more(data, topic)
        job.run().check()
        seen = []
        with job.start() as running:
            running.wait_for(lambda: len(job.progress()) > 1, 30, "the start")
            for _ in range(count):
                before = len(job.batches())
                faults.reset()
                self.more(data, topic)
                running.wait_for(lambda b=before: len(job.batches()) > b, 30, "a batch of 20 rows")
                seen.append(list(faults.requests))
            running.stop()
        faults.close()
        lake.calve_endpoint = lake.calve_uri = None
        kinds = {}
        for request in (r for batch in seen for r in batch):
            kinds[request.kind] = kinds.get(request.kind, 0) + 1 / count
        timed = [commit_times(batch) for batch in seen[1:]]
        return kinds, *(statistics.median(t) * 1000 for t in zip(*timed))

    def grow(self, job, topic, data, snapshots):
        """One snapshot a row, by a limit of one record a batch."""
        if snapshots <= 0:
            return
        subprocess.run(
            [self.programs["generate"], "--bootstrap", self.broker.bootstrap, "--topic", topic, "--set", data.name,
             "--rows", str(snapshots), "--schema-id", str(self.latency_schema), "--partitions", "1"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        job.config["source"]["maxOffsetsPerTrigger"] = 1
        job.write().run(timeout=600).check()
        del job.config["source"]["maxOffsetsPerTrigger"]
        job.write()


def trigger_to_snapshot(lake, table, batch):
    """From the trigger's start, which a progress line has, to the time in the snapshot of its epoch."""
    import datetime

    started = datetime.datetime.fromisoformat(batch["timestamp"].replace("Z", "+00:00")).timestamp() * 1000
    for snapshot in reversed(lake.metadata(table)["snapshots"]):
        if snapshot["summary"].get("spark.sql.streaming.epochId") == str(batch["batchId"]):
            return snapshot["timestamp-ms"] - started
    raise RuntimeError(f"no snapshot of batch {batch['batchId']}")


def commit_times(requests):
    """Seconds of a commit, and of the requests in it."""
    data = [r.begun + r.seconds for r in requests if "data" in r.kind]
    commit = next(r for r in requests if r.kind == "rest commit")
    inner = [r for r in requests if r.kind in ("s3 put manifest", "s3 put manifest list", "rest commit")]
    return commit.begun + commit.seconds - max(data), sum(r.seconds for r in inner)


def median_of(batches, phase):
    return statistics.median(batch["durationMs"][phase] for batch in batches)


# --- Printing --------------------------------------------------------------------------------------------------------

HEAD = f"{'set':8} {'system':8} {'rows':>11} {'rows/s':>11} {'CPU µs/row':>11} {'peak MiB':>9} {'MB':>9} {'files':>6}"


def line_of(m):
    size = f"{m.bytes / 1e6:9.1f} {m.files:6d}" if m.files else f"{'-':>9} {'-':>6}"
    return f"{m.set:8} {m.system:8} {m.rows:11,} {m.rate:11,.0f} {m.micros:11.2f} {m.peak / 2**20:9.0f} {size}"


def best(measures, name, system):
    found = [m for m in measures if m.set == name and m.system == system]
    return min(found, key=lambda m: m.cpu) if found else None


def verdict(value, limit):
    return "" if limit is None else f"   target {limit:,.4g}: " + ("met" if value <= limit else "MISSED")


def print_ratios(measures):
    for name, data in SETS.items():
        calve, spark, consume = (best(measures, name, s) for s in ("calve", "spark", "consume"))
        if calve is None:
            continue
        print(f"{name}: calve {calve.micros:.2f} CPU µs a row{verdict(calve.micros, data.target)}")
        if spark is not None and data.sql:
            print_sql(data, calve, spark)
        print(f"{name}: calve peak {calve.peak / 2**20:.0f} MiB{verdict(calve.peak / 2**20, 256)}")
        if spark is not None:
            print_against_spark(name, calve, spark)
        far = best(measures, name, "far")
        if far is not None:
            print(f"{name}: far {calve.rate / far.rate:.2f} times the time{verdict(calve.rate / far.rate, 1.25)}")
            print(f"{name}: far {far.micros / calve.micros:.2f} times the CPU{verdict(far.micros / calve.micros, 1.25)}")
        if consume is not None:
            print(f"{name}: {calve.micros / consume.micros:.1f} times the CPU of consuming to nothing")


def print_sql(data, calve, spark):
    if calve.found != spark.found or not calve.found:
        raise RuntimeError(f"{data.name}: calve has {calve.found} rows, Spark {spark.found}")
    times = spark.micros / calve.micros
    print(f"{data.name}: {times:.1f} times Spark's rows a CPU second   target {data.times:g}: "
          + ("met" if times >= data.times else "MISSED"))  # fmt: skip


def print_against_spark(name, calve, spark):
    rate = calve.rate / spark.rate
    target = ("   target 4: " + ("met" if rate >= 4 else "MISSED")) if name == "orders" else ""
    print(f"{name}: {rate:.1f} times Spark's rows a second{target}")
    cpu, memory = spark.micros / calve.micros, spark.peak / calve.peak
    print(f"{name}: Spark takes {cpu:.1f} times the CPU and {memory:.1f} times the memory")
    print(f"{name}: bytes {calve.bytes / spark.bytes:.3f} of Spark's{verdict(calve.bytes / spark.bytes, 1)}")


def print_commits(kinds, commit, requests):
    for kind, count in sorted(kinds.items()):
        print(f"far, requests a batch: {count:6.2f} {kind}")
    print(f"far, 20-row batch, from the last data put to the catalog's answer: {commit:.1f} ms, of it in its requests "
          f"{requests:.1f} ms{verdict(commit, requests + 5)}")  # fmt: skip


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=FULL_ROWS, help="orders; the other sets scale with it")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--systems", default="calve,spark,consume")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--codec", default="lz4", help="of the topic's records")
    parser.add_argument("--latency", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--lake", help="a kind of lake (tests/support/lakes.py) that calve is measured on besides")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args(arguments)
    if options.smoke:
        options.rows, options.batches, options.systems = 40_000, 2, "calve,consume"
        options.latency = False
    options.sets = options.sets.split(",")
    options.systems = options.systems.split(",")
    if options.lake:
        options.systems.insert(options.systems.index("calve") + 1, "far")
    if components.missing("spark") and "spark" in options.systems:
        print(f"without Spark: {components.missing('spark')}")
        options.systems.remove("spark")
    if not os.environ.get("CALVE_DUCKDB") and not (components.CACHE / "duckdb" / "libduckdb.so").exists():
        print("without SQL: no DuckDB library (make deps-sql)")
        options.sets = [name for name in options.sets if not SETS[name].sql]
    return options


def main():
    options = parse(sys.argv[1:])
    for piece in ("kafka", "registry"):
        if components.missing(piece):
            print(f"bench: SKIP, {components.missing(piece)}")
            print("0 passed, 0 failed, 1 skipped")
            return 0
    os.environ["CALVE_BROKER_FAST"] = "1"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="calve-bench-"))
    bench = Bench(options, folder)
    try:
        print(HEAD)
        measures = [m for name in options.sets for m in bench.run_set(SETS[name])]
        if not options.smoke:
            print()
            print_ratios(measures)
        if options.latency:
            for name, millis, limit in bench.latency():
                print(f"{name}: {millis:.1f} ms{verdict(millis, limit)}")
        if options.lake:
            print_commits(*bench.commits())
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)
    if options.smoke:
        print(f"{len(measures)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
