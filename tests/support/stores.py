# SPDX-License-Identifier: Apache-2.0
"""Where production keeps its tables, for the tests: an S3 server, Iceberg's REST catalog and PostgreSQL, each on a free
port of 127.0.0.1, ready when a real request was answered (see components.py)."""

import glob
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from components import CACHE, Certificates, Process, free_port, missing, wait_until

ACCESS_KEY, SECRET_KEY = "calve-tests", "calve-tests-secret"
REGION = "us-east-1"
SUPPORT = pathlib.Path(__file__).resolve().parent


class S3(Process):
    """versitygw over a folder: every folder in `root` is a bucket and every object a plain file below it, so that a
    test may look at what is there without a client. With `accounts` further users can be made; with `tls` it speaks
    https only, by a certificate for 127.0.0.1 and localhost, and listens on 127.0.0.2 too."""

    def __init__(self, folder, accounts=False, port=None, tls=False):
        super().__init__(folder, "s3")
        self.root = self.folder / "buckets"
        self.root.mkdir(exist_ok=True)
        self.port = port or free_port()
        self.accounts = (self.folder / "accounts").absolute() if accounts else None
        self.certificates = Certificates(self.folder / "tls") if tls else None

    @property
    def endpoint(self):
        return f"{'https' if self.certificates else 'http'}://127.0.0.1:{self.port}"

    def start(self, seconds=60):
        command = [str(CACHE / "s3" / "versitygw"), "--port", f"127.0.0.1:{self.port}", "--region", REGION, "--quiet"]
        if self.accounts:
            self.accounts.mkdir(exist_ok=True)
            command += ["--iam-dir", str(self.accounts)]
        if self.certificates:
            command += ["--port", f"127.0.0.2:{self.port}", "--cert", str(self.certificates.certificate)]
            command += ["--key", str(self.certificates.key)]
        environment = {"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        self.spawn([*command, "posix", str(self.root)], environment)
        wait_until(self._answers, seconds, "s3")
        return self

    def _answers(self):
        self.check_alive()
        return self.client().list_buckets()["ResponseMetadata"]["HTTPStatusCode"] == 200

    def client(self, endpoint=None, access_key=ACCESS_KEY, secret_key=SECRET_KEY, retries=1):
        """An independent client."""
        import boto3
        from botocore.config import Config

        settings = Config(s3={"addressing_style": "path"}, retries={"max_attempts": retries}, connect_timeout=5)
        authority = str(self.certificates.authority) if self.certificates else None
        return boto3.client("s3", endpoint_url=endpoint or self.endpoint, aws_access_key_id=access_key, verify=authority,
                            aws_secret_access_key=secret_key, region_name=REGION, config=settings)  # fmt: skip

    def make_user(self, key, secret):
        """A user who may do nothing yet; see allow()."""
        command = [str(CACHE / "s3" / "versitygw"), "admin", "--access", ACCESS_KEY, "--secret", SECRET_KEY,
                   "--endpoint-url", self.endpoint, "create-user", "--access", key, "--secret", secret,
                   "--role", "user"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"versitygw admin create-user: {done.stdout}{done.stderr}")

    def allow(self, bucket, rights):
        """Sets the bucket's policy: {user: [actions]}, and no other rights."""
        resources = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
        statements = []
        for user, actions in rights.items():
            for resource, ours in zip(resources, (True, False)):
                mine = [f"s3:{a}" for a in actions if a.startswith("ListBucket") == ours]
                if mine:
                    statements.append({"Effect": "Allow", "Principal": {"AWS": [user]}, "Action": mine,
                                       "Resource": [resource]})  # fmt: skip
        self.client().put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": statements}))

    def bucket(self, name):
        """Makes a bucket; its folder."""
        self.client().create_bucket(Bucket=name)
        return self.root / name

    def local(self, location):
        """The file of an s3: location."""
        return self.root / location.split("://", 1)[1]

    def properties(self, endpoint=None):
        """Iceberg's names of what a client needs."""
        return {
            "s3.endpoint": endpoint or self.endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": SECRET_KEY,
            "client.region": REGION,
        }


class RestCatalog(Process):
    """Iceberg's reference REST catalog over JdbcCatalog and SQLite; see RestCatalogs.java."""

    def __init__(self, folder):
        super().__init__(folder, "rest")
        self.port = free_port()

    def start(self, seconds=120):
        self.spawn(["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", f"-Daws.region={REGION}",
                    "-cp", f"{CACHE}/rest/lib/*", str(SUPPORT / "RestCatalogs.java"), str(self.port)])  # fmt: skip
        wait_until(self._answers, seconds, "rest catalog", every=0.1)
        return self

    def _answers(self):
        self.check_alive()
        file = self.folder / "ready.db"
        self.add("ready", f"jdbc:sqlite:{file}", f"file://{self.folder}/ready")
        return self.request("GET", "/ready/v1/config")[0] == 200

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def add(self, name, database, warehouse, properties=None):
        """Makes a catalog; its URI. `database` is the JDBC address of its backend."""
        settings = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": database,
            "warehouse": warehouse,
            "jdbc.schema-version": "V1",
            # Two connections to SQLite would find each other's locks.
            "clients": "1",
            **(properties or {}),
        }
        status, text = self.request("POST", f"/_catalogs/{name}", "".join(f"{k}={v}\n" for k, v in settings.items()))
        if status != 204:
            raise RuntimeError(f"rest catalog {name}: {status} {text[:2000]}")
        return self.uri(name)

    def make_table(self, name):
        """A table ready.t in the catalog of that name."""
        schema = {"type": "struct", "fields": [{"id": 1, "name": "n", "required": False, "type": "int"}]}
        for path, body in (("namespaces", {"namespace": ["ready"]}),
                           ("namespaces/ready/tables", {"name": "t", "schema": schema})):  # fmt: skip
            headers = {"Content-Type": "application/json"}
            status, text = self.request("POST", f"/{name}/v1/{path}", json.dumps(body), headers)
            if status != 200:
                raise RuntimeError(f"rest catalog {name}: {status} {text[:2000]}")

    def uri(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def remove(self, name):
        self.request("DELETE", f"/_catalogs/{name}")


def postgres_programs():
    """The folder of initdb and postgres; None without them."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(p.split("/")[4]))
    if found:
        return pathlib.Path(found[-1]).parent
    return pathlib.Path(shutil.which("initdb")).parent if shutil.which("initdb") else None


def missing_postgres():
    return missing("python") or (None if postgres_programs() else "PostgreSQL is not installed (make deps-test)")


class Postgres(Process):
    """One PostgreSQL server with TLS; the user `calve` owns what create_database() makes. It refuses to run as root, so
    as root it runs as another user, in a folder of that user's own."""

    USER, PASSWORD = "calve", "calve-secret"

    def __init__(self, folder, port=None):
        super().__init__(folder, "postgres")
        self.port = port or free_port()
        self.user = None
        if os.geteuid() == 0:
            self.user = "postgres" if subprocess.run(["id", "postgres"], capture_output=True).returncode == 0 else "nobody"
        # Folders of pytest are closed to other users; the names of Unix sockets are limited to 107 bytes.
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="calve-postgres-"))
        self.certificates = Certificates(self.data / "tls")
        if self.user:
            for path in (self.data, self.data / "tls", *(self.data / "tls").iterdir()):
                shutil.chown(path, self.user)
        self.certificates.key.chmod(0o600)

    def _make_cluster(self):
        password = self.data / "password"
        password.write_text(self.PASSWORD)
        if self.user:
            shutil.chown(password, self.user)
        command = [str(postgres_programs() / "initdb"), "-D", str(self.data / "db"), "-A", "scram-sha-256",
                   "-U", self.USER, "--no-sync", f"--pwfile={password}", "-E", "UTF8", "--locale=C"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, user=self.user, cwd=self.data, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"initdb: {done.stderr[-2000:]}")

    def start(self, seconds=60):
        if not (self.data / "db").exists():
            self._make_cluster()
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.data,
            "ssl": "on",
            "ssl_cert_file": self.certificates.certificate,
            "ssl_key_file": self.certificates.key,
            "fsync": "off",
            "max_connections": "500",
            "shared_buffers": "32MB",
        }
        command = [str(postgres_programs() / "postgres"), "-D", str(self.data / "db"), "-p", str(self.port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        self.spawn(command, user=self.user, cwd=self.data)
        wait_until(self._answers, seconds, "postgres")
        return self

    def _answers(self):
        self.check_alive()
        return self.sql("postgres", "SELECT 1") == [(1,)]

    def connect(self, database, **options):
        import psycopg2

        return psycopg2.connect(host="127.0.0.1", port=self.port, dbname=database, user=self.USER,
                                password=self.PASSWORD, connect_timeout=5, **options)  # fmt: skip

    def sql(self, database, text, values=None):
        """Rows of one statement, committed."""
        connection = self.connect(database)
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, values)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def create_database(self, name):
        self.sql("postgres", f'CREATE DATABASE "{name}"')
        return name

    def uri(self, database, scheme="postgresql", port=None):
        return f"{scheme}://{self.USER}:{self.PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    def stop(self):
        # "Fast": SIGTERM would wait for the clients.
        if self.is_alive():
            self._end(signal.SIGINT)

    def discard(self):
        super().discard()
        shutil.rmtree(self.data, ignore_errors=True)
