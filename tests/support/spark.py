# SPDX-License-Identifier: Apache-2.0
"""A Spark session in a process of its own, with the Kafka source, Iceberg and Avro.

The session is started once (about 8 s) and then runs pieces of PySpark code that tests hand over: run() executes the
text with `spark` and the given variables in scope and returns what it left in `result`.
"""

import multiprocessing.connection
import os
import sys
import tempfile
import traceback

from components import CACHE, Process, wait_until


class SparkError(Exception):
    pass


class Spark(Process):
    def __init__(self, folder, memory="1g", master="local[2]", java_options="-XX:+UseSerialGC"):
        super().__init__(folder, "spark")
        self.memory = memory
        self.java_options = java_options
        self.master = master
        self.connection = None
        self.requests = 0

    def start(self, seconds=240):
        # A short path of its own: the names of Unix sockets are limited to 107 bytes.
        address = os.path.join(tempfile.mkdtemp(prefix="calve-spark-"), "socket")
        listener = multiprocessing.connection.Listener(address, "AF_UNIX")
        env = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "TZ": "UTC"}
        self.spawn([sys.executable, os.path.abspath(__file__), address, self.memory, self.master,
                    self.java_options], env)  # fmt: skip
        listener._listener._socket.settimeout(1)

        def connected():
            self.check_alive()
            return listener.accept()

        try:
            self.connection = wait_until(connected, seconds, "spark")
            listener.close()
            self._receive(seconds)
        except Exception:
            self.kill()
            raise
        return self

    def _receive(self, seconds):
        """The answer to the newest request; answers to earlier ones, which a test gave up, are dropped."""
        while True:
            if not self.connection.poll(seconds):
                raise TimeoutError(f"spark: no answer within {seconds} s, see {self.log}")
            number, ok, value = self.connection.recv()
            if number == self.requests:
                break
        if not ok:
            raise SparkError(value)
        return value

    def run(self, code, seconds=300, **variables):
        self.check_alive()
        self.requests += 1
        self.connection.send((self.requests, code, variables))
        return self._receive(seconds)

    def add_catalog(self, lake):
        """Makes a job.Lake known under its name; sessions load a catalog at its first use."""
        self.run("for k, v in settings.items(): spark.conf.set(k, v)", settings=lake.spark_settings())

    def arrow(self, query, seconds=300):
        import pyarrow as pa

        data = self.run(_ARROW, seconds, query=query)
        with pa.ipc.open_stream(data) as reader:
            return reader.read_all()

    def sql(self, query, seconds=300):
        """Rows as plain tuples."""
        return self.run("result = [tuple(r) for r in spark.sql(query).collect()]", seconds, query=query)

    def stop(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        super().stop()


# Rows leave as an Arrow stream. The catalog's own cache of tables would hide the commits of others: REFRESH is not
# enough for a catalog that was replaced, so tests switch the cache off (see Lake.spark_settings).
_ARROW = """
import io
import pyarrow as pa
table = spark.sql(query).toArrow()
sink = io.BytesIO()
with pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table)
result = sink.getvalue()
"""


def _session(memory, master, java_options):
    from pyspark.sql import SparkSession

    found = sorted((CACHE / "spark" / "jars").glob("*.jar"))
    for name in ("iceberg-aws-bundle", "postgresql"):
        found += (CACHE / "rest" / "lib").glob(f"{name}-*.jar")
    jars = ",".join(map(str, found))
    settings = {
        "spark.jars": jars,
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ansi.enabled": "true",
        "spark.driver.extraJavaOptions": f"{java_options} -Duser.timezone=UTC",
    }
    builder = SparkSession.builder.master(master).appName("calve-tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    return session


def _serve(address, memory, master, java_options):
    connection = multiprocessing.connection.Client(address, "AF_UNIX")
    scope = {"spark": _session(memory, master, java_options)}
    connection.send((0, True, None))
    while True:
        try:
            number, code, variables = connection.recv()
        except EOFError:
            break
        try:
            scope.update(variables)
            scope["result"] = None
            exec(code, scope)
            connection.send((number, True, scope["result"]))
        except Exception as e:  # noqa: BLE001 (every failure of the test's code goes back to the test)
            connection.send((number, False, f"{e}\n{traceback.format_exc()}"))
    scope["spark"].stop()


if __name__ == "__main__":
    _serve(*sys.argv[1:5])
