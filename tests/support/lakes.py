# SPDX-License-Identifier: Apache-2.0
"""A lake is one catalog with its warehouse, for one test. The kind says which catalog and where the files are; tests
are the same for every kind, since local() finds the plain file behind every location. Names of catalogs are unique in
a test session, because one Spark session reads them all."""

import atexit
import itertools
import json
import os
import pathlib
import sqlite3
import tempfile

import stores
import yaml
from components import missing

# kind → catalog, storage
KINDS = {
    "sql": ("sqlite", "local"),
    "hadoop": ("hadoop", "local"),
    "rest": ("rest", "s3"),
    "rest-local": ("rest", "local"),
    "postgres": ("postgres", "s3"),
    "postgres-local": ("postgres", "local"),
    "hadoop-s3": ("hadoop", "s3"),
    "sql-s3": ("sqlite", "s3"),
}

S3_FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
CATALOG = "org.apache.iceberg.spark.SparkCatalog"

_counter = itertools.count(1)


def next_number():
    return next(_counter)


class Servers:
    """The stores of a session, each started when the first lake needs it."""

    def __init__(self):
        self.folder = None
        self.started = {}
        self.warm = set()

    def reason_missing(self, name):
        if name in self.started:
            return None
        return stores.missing_postgres() if name == "postgres" else missing("python") or missing(name)

    def get(self, name):
        if name not in self.started:
            if self.folder is None:
                self.folder = pathlib.Path(tempfile.mkdtemp(prefix="calve-servers-"))
                atexit.register(self.stop)
            kind = {"s3": stores.S3, "rest": stores.RestCatalog, "postgres": stores.Postgres}[name]
            self.started[name] = kind(self.folder / name).start()
        return self.started[name]

    def rest_with_s3(self):
        """The REST catalog after its first table on S3: on a busy machine its client of S3 takes half a minute to load,
        and a test's first request would be over its time."""
        rest, s3 = self.get("rest"), self.get("s3")
        if "rest with s3" not in self.warm:
            self.warm.add("rest with s3")
            s3.bucket("calve-ready")
            properties = s3.properties() | {"io-impl": S3_FILE_IO}
            rest.add("s3-ready", f"jdbc:sqlite:{self.folder}/s3-ready.db", "s3://calve-ready/warehouse", properties)
            rest.make_table("s3-ready")
        return rest

    def stop(self):
        for server in self.started.values():
            server.discard()
        self.started = {}
        self.warm = set()


SERVERS = Servers()


def local(location):
    """The plain file behind a location: a file: URI in any of its spellings, a path, or an object of the S3 server."""
    text = str(location)
    if text.startswith(("s3://", "s3a://", "s3n://")):
        return SERVERS.get("s3").local(text)
    return pathlib.Path(text.removeprefix("file://").removeprefix("file:"))


class Lake:
    def __init__(self, folder, kind=None):
        self.kind = kind or os.environ.get("CALVE_LAKE") or "sql"
        self.catalog, self.storage = KINDS[self.kind]
        for server in (self.catalog, self.storage):
            reason = server in ("rest", "s3", "postgres") and SERVERS.reason_missing(server)
            if reason:
                import pytest

                pytest.skip(reason)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = f"lake{next_number()}"
        self.file = self.folder / "lake.db"  # SQLite, also behind the REST catalog
        self.bucket = f"calve-{self.name}"
        if self.storage == "s3":
            self.warehouse = SERVERS.get("s3").bucket(self.bucket) / "warehouse"
            self.warehouse_uri = f"s3://{self.bucket}/warehouse"
        else:
            self.warehouse = self.folder / "warehouse"
            self.warehouse_uri = f"file://{self.warehouse}"
        self.warehouse.mkdir(exist_ok=True)
        self.uri = self._open_catalog()
        # What calve is told instead, where a test stands between; a property of None is left out.
        self.calve_uri = None
        self.calve_endpoint = None
        self.calve_properties = {}

    def _open_catalog(self):
        if self.catalog == "rest":
            properties, server = {}, SERVERS.get("rest")
            if self.storage == "s3":
                properties = SERVERS.get("s3").properties() | {"io-impl": S3_FILE_IO}
                server = SERVERS.rest_with_s3()
            return server.add(self.name, f"jdbc:sqlite:{self.file}", self.warehouse_uri, properties)
        if self.catalog == "postgres":
            return SERVERS.get("postgres").uri(SERVERS.get("postgres").create_database(self.name))
        return f"sqlite:{self.file}" if self.catalog == "sqlite" else None

    def close(self):
        if self.catalog == "rest":
            SERVERS.get("rest").remove(self.name)

    def only(self, *kinds, why):
        """Skips the test on other kinds of lakes."""
        import pytest

        if self.kind not in kinds:
            pytest.skip(f"not on a lake of kind {self.kind}: {why}")

    def only_local(self, why):
        self.only(*(kind for kind, (_, storage) in KINDS.items() if storage == "local"), why=why)

    def location(self, path):
        """What local() takes back."""
        if self.storage == "local":
            return f"file://{path}"
        return f"s3://{pathlib.Path(path).relative_to(SERVERS.get('s3').root)}"

    def store_properties(self, endpoint=None):
        return SERVERS.get("s3").properties(endpoint) if self.storage == "s3" else {}

    def job_entry(self):
        """The entry under `catalogs` of a job file."""
        kind = {"sqlite": "sql", "postgres": "sql"}.get(self.catalog, self.catalog)
        entry = {"type": kind} | self.store_properties(self.calve_endpoint)
        if self.uri:
            entry["uri"] = self.calve_uri or self.uri
        if self.catalog != "rest":
            entry["warehouse"] = str(self.warehouse) if self.storage == "local" else self.warehouse_uri
        return {k: v for k, v in (entry | self.calve_properties).items() if v is not None}

    def config_file(self):
        """A file with only the catalog, for commands outside a job."""
        path = self.folder / "catalogs.yaml"
        path.write_text(yaml.safe_dump({"catalogs": {self.name: self.job_entry()}}))
        return path

    def create_table(self, name, columns, partitioned_by=None, properties=None):
        """Makes a table through the program's own command; columns as for --schema."""
        from job import run_calve

        arguments = ["table", "create", f"{self.name}.{name}", "--config", self.config_file(), "--schema", columns]
        if partitioned_by:
            arguments += ["--partitioned-by", partitioned_by]
        for key, value in (properties or {}).items():
            arguments += ["--property", f"{key}={value}"]
        return run_calve(*arguments).check()

    def spark_settings(self):
        prefix = f"spark.sql.catalog.{self.name}"
        hadoop = {}
        settings = {"warehouse": self.warehouse_uri, "cache-enabled": "false"}
        if self.storage == "s3":
            settings |= self.store_properties() | {"io-impl": S3_FILE_IO}
            hadoop = self.hadoop_settings()
        if self.catalog == "hadoop":
            settings |= {"type": "hadoop"}
        elif self.catalog == "rest":
            settings |= {"type": "rest", "uri": self.uri}
        elif self.catalog == "postgres":
            server = SERVERS.get("postgres")
            settings |= {
                "type": "jdbc",
                "uri": f"jdbc:postgresql://127.0.0.1:{server.port}/{self.name}",
                "jdbc.user": server.USER,
                "jdbc.password": server.PASSWORD,
                "jdbc.schema-version": "V1",
            }
        else:
            # Without the first setting Spark keeps a read lock on the file that the others want to write.
            settings |= {
                "jdbc.init-catalog-tables": "false",
                "jdbc.schema-version": "V1",
                "type": "jdbc",
                "uri": f"jdbc:sqlite:{self.file}",
            }
        return hadoop | {prefix: CATALOG} | {f"{prefix}.{k}": v for k, v in settings.items()}

    def hadoop_settings(self):
        """Hadoop's own S3 file system, which Spark takes for checkpoints, orphans and a Hadoop catalog."""
        has = self.store_properties()
        implementation = "org.apache.hadoop.fs.s3a.S3AFileSystem"
        return {
            "fs.s3.impl": implementation,
            "fs.s3a.impl": implementation,
            "fs.s3a.endpoint": has["s3.endpoint"],
            "fs.s3a.endpoint.region": has["client.region"],
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": has["s3.access-key-id"],
            "fs.s3a.secret.key": has["s3.secret-access-key"],
        }

    def pyiceberg(self):
        if self.catalog == "hadoop":
            return _HadoopFolder(self)
        properties = self.store_properties()
        if self.catalog == "rest":
            from pyiceberg.catalog.rest import RestCatalog

            return RestCatalog(self.name, uri=self.uri, **properties)
        from pyiceberg.catalog.sql import SqlCatalog

        if self.catalog == "postgres":
            uri = SERVERS.get("postgres").uri(self.name, "postgresql+psycopg2")
        else:
            uri = f"sqlite:///{self.file}"
        return SqlCatalog(self.name, uri=uri, warehouse=self.warehouse_uri, **properties)

    def backend_sql(self, text, values=()):
        """A statement on the database behind the catalog, with `?` for values; rows of a query."""
        if self.catalog == "postgres":
            return SERVERS.get("postgres").sql(self.name, text.replace("?", "%s"), values)
        connection = sqlite3.connect(self.file, timeout=30)
        with connection:
            found = connection.execute(text, values).fetchall()
        connection.close()
        return found

    def metadata(self, table):
        return json.loads(local(self.pyiceberg().load_table(table).metadata_location).read_text())

    def folder_of(self, table):
        return local(self.metadata(table)["location"])


class _HadoopFolder:
    """PyIceberg has no Hadoop catalog: follow the version hint and open the metadata file read-only."""

    def __init__(self, lake):
        self.lake = lake

    def load_table(self, name):
        from pyiceberg.table import StaticTable

        folder = self.lake.warehouse.joinpath(*name.split(".")) / "metadata"
        version = int((folder / "version-hint.text").read_text())
        while (folder / f"v{version + 1}.metadata.json").exists():
            version += 1
        location = "/".join([self.lake.warehouse_uri, *name.split("."), f"metadata/v{version}.metadata.json"])
        return StaticTable.from_metadata(location, self.lake.store_properties())
