# SPDX-License-Identifier: Apache-2.0
"""calve check tells which of a job's servers, rights and names is wrong: DNS, connection, TLS, authorization, prefix,
warehouse, bucket, and the rights to put, list, read and delete, one at a time, with what to do; it tells no secret and
leaves nothing behind."""

import contextlib
import http.server
import json
import os
import threading

import pytest
import stores
from components import free_port
from faults import Faults
from gate import Gate, WrongClock
from job import Job, Lake, run_calve

ALL = ["PutObject", "GetObject", "DeleteObject", "ListBucket"]
USERS = {"no-put": "PutObject", "no-list": "ListBucket", "no-read": "GetObject", "no-delete": "DeleteObject"}
STORE = ["put", "list", "read", "delete"]
SECRETS = ["-secret", "wrong-pw", stores.SECRET_KEY, stores.Postgres.PASSWORD]


@pytest.fixture(scope="module")
def accounts(tmp_path_factory):
    """An S3 server with users who each lack a right on the bucket `rights`, and a `stranger` who has none."""
    from conftest import need

    need("python", "s3")
    server = stores.S3(tmp_path_factory.mktemp("check") / "s3", accounts=True).start()
    server.bucket("rights")
    for user in (*USERS, "stranger"):
        server.make_user(user, f"{user}-secret")
    server.allow("rights", {user: [a for a in ALL if a != lacks] for user, lacks in USERS.items()})
    yield server
    server.discard()


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    from conftest import need

    need("python", "s3")
    server = stores.S3(tmp_path_factory.mktemp("check") / "tls", tls=True).start()
    server.bucket("rights")
    yield server
    server.discard()


@contextlib.contextmanager
def web_page(status=200):
    """A web server that shows its page whatever it is asked."""
    page = b"<html><body><h1>Welcome</h1></body></html>"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else page)

        do_PUT = do_POST = do_DELETE = do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Checked(Job):
    """A job whose catalog's entry is `entry`, for checks with one thing changed."""

    def __init__(self, folder, broker, topic, entry):
        super().__init__(Lake(folder / "lake", "sql"), broker, "db.t", topic, value="json")
        self.entry = entry

    def change(self, changes):
        entry = {k: v for k, v in (self.entry | changes).items() if v is not None}
        self.config["catalogs"] = {self.lake.name: entry}
        self.write()

    def check(self, changes=None, env=None):
        """The findings of the catalog and its store, by part."""
        self.change(changes or {})
        done = run_calve("check", self.file, "--json", env=env)
        assert not any(secret in done.text for secret in SECRETS), done
        assert done.seconds < 20, done.seconds
        found = json.loads(done.out)
        assert done.status == (0 if all(item["ok"] for item in found) else 1)
        others = ("job", "broker", "topic", "columns", "records", "checkpoint", "trigger", "warning")
        return {item["part"]: item for item in found if item["part"] not in others}

    def expect(self, changes, part, message, hint, env=None):
        """The one thing that is wrong (a table that is not there yet apart)."""
        found = self.check(changes, env)
        wrong = [name for name, item in found.items() if not item["ok"] and name != "table"]
        assert wrong == [part], (changes, found)
        item = found[part]
        print(f"{part}: {item['message']}\n    {item['hint']}")
        assert message in item["message"] and hint in item["hint"], (changes, item)
        return found


@pytest.fixture
def on_s3(tmp_path, broker, topic, accounts):
    entry = {"type": "sql", "uri": f"sqlite:{tmp_path}/lake.db", "warehouse": "s3://rights/wh"}
    return Checked(tmp_path, broker, topic, entry | accounts.properties())


def user(name, secret=None):
    return {"s3.access-key-id": name, "s3.secret-access-key": secret or f"{name}-secret"}


def objects(server, bucket):
    return [item["Key"] for item in server.client().list_objects_v2(Bucket=bucket).get("Contents", [])]


def test_all_is_well(on_s3, accounts):
    before = objects(accounts, "rights")
    found = on_s3.check()
    assert [part for part in found if part in STORE] == STORE
    assert all(found[part]["ok"] for part in STORE), found
    assert not found["table"]["ok"] and "calve table create" in found["table"]["hint"]
    file = on_s3.lake.folder / "one.yaml"
    file.write_text(json.dumps({"catalogs": {on_s3.lake.name: on_s3.entry}}))
    run_calve("table", "create", f"{on_s3.lake.name}.db.t", "--config", file, "--schema", "n bigint").check()
    made = objects(accounts, "rights")
    found = on_s3.check()
    assert all(item["ok"] for item in found.values()), found
    assert [part for part in found if part in STORE] == STORE
    assert before == [] and objects(accounts, "rights") == made


def test_the_store_is_not_reached(on_s3, tls, tmp_path):
    ca = str(tls.certificates.authority)
    other_name = tls.endpoint.replace("127.0.0.1", "127.0.0.2")
    cases = [
        ({"s3.endpoint": "http://nowhere.invalid:9"}, "dns", "no address for http://nowhere.invalid:9: ", "DNS"),
        ({"s3.endpoint": f"http://127.0.0.1:{free_port()}"}, "connection", "no connection to http://127.0.0.1", "runs"),
        ({"s3.endpoint": tls.endpoint}, "tls", tls.endpoint, "with s3.ssl.ca.location"),
        ({"s3.endpoint": other_name, "s3.ssl.ca.location": ca}, "tls", "127.0.0.2", "is for other names"),
        ({"s3.endpoint": on_s3.entry["s3.endpoint"].replace("http", "https")}, "tls", "no TLS with", "http://"),
        ({"s3.endpoint": tls.endpoint, "s3.ssl.ca.location": "/no/ca.pem"}, "tls", "/no/ca.pem", "a PEM file"),
    ]  # fmt: skip
    for changes, part, message, hint in cases:
        on_s3.expect(changes, part, message, hint)
    assert all(on_s3.check({"s3.endpoint": tls.endpoint, "s3.ssl.ca.location": ca})[part]["ok"] for part in STORE)
    for status in (200, 404):
        with web_page(status) as url:
            on_s3.expect({"s3.endpoint": url}, "service", str(status), "s3.endpoint is the address of an S3 service")


def test_keys_and_bucket(on_s3):
    cases = [
        (user("no-put", "wrong-pw"), "authorization", "SignatureDoesNotMatch", "s3.secret-access-key"),
        (user("nobody"), "authorization", "InvalidAccessKeyId", "s3.access-key-id"),
        ({"s3.access-key-id": None, "s3.secret-access-key": None}, "authorization", "no S3 credentials",
         "s3.access-key-id"),
        ({"warehouse": "s3://no-such-bucket/wh"}, "bucket", "NoSuchBucket", "create the bucket no-such-bucket"),
    ]  # fmt: skip
    alone = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(on_s3.folder)}
    for changes, part, message, hint in cases:
        on_s3.expect(changes, part, message, hint, env=alone)
    found = on_s3.check({"s3.access-key-id": None})["catalog"]
    assert not found["ok"] and "s3.access-key-id is missing" in found["message"], found


def test_rights_that_are_missing(on_s3, accounts):
    for name, lacks in USERS.items():
        part = name.removeprefix("no-")
        found = on_s3.expect(user(name), part, "AccessDenied", "may ")
        assert [p for p in found if p in STORE] == (["put", "list"] if part == "put" else STORE)
        assert f"{part if part != 'put' else 'write'} there" in found[part]["hint"]
        if part == "delete":
            left = [key for key in objects(accounts, "rights") if "calve-check-" in key]
            assert len(left) == 1 and f"delete by hand what this left: s3://rights/{left[0]}" in found[part]["hint"]
            accounts.client().delete_object(Bucket="rights", Key=left[0])
    found = on_s3.check(user("stranger"))
    assert [part for part in STORE if part in found and not found[part]["ok"]] == ["put", "list"]


def test_a_wrong_clock(on_s3, accounts):
    faults = Faults()
    faults.watchers = {"s3": WrongClock(3600)}
    endpoint = f"http://127.0.0.1:{faults.proxy('s3', accounts.port)}"
    on_s3.expect({"s3.endpoint": endpoint}, "clock", "RequestTimeTooSkewed", "differs from the server's by")
    faults.close()


def test_what_a_user_reads(on_s3):
    on_s3.change({"warehouse": "s3://no-such-bucket/wh"})
    done = run_calve("check", on_s3.file)
    assert done.status == 1
    lines = done.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("FAILED bucket "))
    assert lines[at + 1].startswith(" " * 21 + "create the bucket no-such-bucket")


# --- a REST catalog ---


class Behind(Checked):
    """A job on a REST catalog behind a gate."""

    def __init__(self, folder, broker, topic, rest):
        self.rest = rest
        self.faults = Faults()
        self.faults.watchers = {"rest": Gate(("calve", "client-secret"), "token-secret", "reader-secret", "shop", "p1")}
        proxy = self.faults.proxy("rest", rest.port)
        uri = f"http://127.0.0.1:{proxy}/{self.catalog(folder)}"
        super().__init__(folder, broker, topic, {"type": "rest", "uri": uri, "warehouse": "shop", "token": "token-secret"})

    def catalog(self, folder):
        name = f"check{os.getpid()}-{folder.name}".replace("_", "-")
        self.rest.add(name, f"jdbc:sqlite:{folder}/rest.db", f"file://{folder}/warehouse")
        return name

    def close(self):
        self.faults.close()


@pytest.fixture
def behind(tmp_path, broker, topic, rest_catalog):
    made = Behind(tmp_path, broker, topic, rest_catalog)
    yield made
    made.close()


def test_a_rest_catalog(behind, tls):
    by_client = {"token": None, "credential": "calve:client-secret"}
    for changes in ({}, by_client):
        found = behind.check(changes)
        parts = ["catalog", "server", "authorization", "prefix", "warehouse", "table"]
        assert [p for p in found if p in parts] == parts and all(found[p]["ok"] for p in parts[:-1]), found
        assert found["prefix"]["message"] == "p1" and found["warehouse"]["message"] == "shop"
    cases = [
        ({"uri": "http://nowhere.invalid:9"}, "dns", "no address for http://nowhere.invalid:9", "DNS"),
        ({"uri": f"http://127.0.0.1:{free_port()}"}, "connection", "no connection to http://127.0.0.1", "runs"),
        ({"uri": tls.endpoint}, "tls", tls.endpoint, "with ssl.cabundle"),
        ({"uri": f"https://127.0.0.1:{behind.rest.port}"}, "tls", "no TLS with", "http://"),
        ({"token": "wrong-pw"}, "authorization", "401, NotAuthorizedException: the token", "`token`"),
        ({"token": None}, "authorization", "401", "`token`"),
        ({"token": None, "credential": "calve:wrong-pw"}, "authorization", "401, invalid_client", "`credential`"),
        ({"token": None, "credential": "other:client-secret"}, "authorization", "401, invalid_client", "`credential`"),
        ({"token": "reader-secret"}, "authorization", "403, ForbiddenException", "does not allow"),
        ({"warehouse": "nowhere"}, "warehouse", "404, NotFoundException", "`warehouse` nowhere"),
        ({"warehouse": None}, "warehouse", "404, NotFoundException", "want to be told a `warehouse`"),
        ({"prefix": "p2"}, "prefix", "404, NotFoundException: Unable to find catalog p2", "`prefix`"),
    ]  # fmt: skip
    for changes, part, message, hint in cases:
        behind.expect(changes, part, message, hint)
    for status in (200, 404):
        with web_page(status) as url:
            behind.expect({"uri": url}, "service", "configuration of the server", "address of a REST catalog")
            changes = by_client | {"oauth2-server-uri": f"{url}/token"}
            behind.expect(changes, "authorization", "getting a token", "oauth2-server-uri")


# --- PostgreSQL ---


def test_postgres(tmp_path, broker, topic, postgres):
    database = postgres.create_database(f"check_{os.getpid()}")
    address = f"127.0.0.1:{postgres.port}"
    ca = postgres.certificates.authority
    entry = {"type": "sql", "uri": postgres.uri(database), "warehouse": str(tmp_path / "warehouse")}
    job = Checked(tmp_path, broker, topic, entry)
    login = f"calve:{postgres.PASSWORD}"
    found = job.check()
    parts = ["server", "tls", "authorization", "database", "warehouse", *STORE]
    assert all(found[part]["ok"] for part in parts), found
    other_ca = "/etc/ssl/certs/ca-certificates.crt"
    cases = [
        (f"{login}@nowhere.invalid/{database}", "dns", "nowhere.invalid", "DNS"),
        (f"{login}@127.0.0.1:{free_port()}/{database}", "connection", "Connection refused", "runs"),
        (f"{login}@{address}/{database}?sslmode=verify-full&sslrootcert={other_ca}", "tls", "certificate verify failed",
         "sslrootcert"),
        (f"{login}@db.example:{postgres.port}/{database}?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={ca}", "tls",
         "db.example", "sslmode"),
        (f"calve:wrong-pw@{address}/{database}", "authorization", "password authentication failed", "jdbc.password"),
        (f"calve@{address}/{database}", "authorization", "no password supplied", "jdbc.password"),
        (f"{login}@{address}/nothing", "database", 'database "nothing" does not exist', "make the database"),
    ]  # fmt: skip
    for uri, part, message, hint in cases:
        job.expect({"uri": f"postgresql://{uri}"}, part, message, hint)
