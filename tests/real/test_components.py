# SPDX-License-Identifier: Apache-2.0
"""The harness itself, without the program under test: a failure here is no failure of calve."""

import datetime
import decimal

import pyarrow as pa
import pytest
import requests
from botocore.exceptions import BotoCoreError, ClientError
from components import PASSWORD, REGISTRY_PASSWORD, REGISTRY_USER, USER
from confluent_kafka.admin import AdminClient
from faults import FAULTS, REACHED, Faults
from kafka_client import Record, produce, produce_transaction
from lakes import local
from pyiceberg.catalog.rest import RestCatalog
from readers import comparable, read_duckdb, read_pyiceberg, read_spark

ROWS = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "text": ["a", None, "é"],
        "price": pa.array([decimal.Decimal("1.20"), None, decimal.Decimal("-3.45")], pa.decimal128(10, 2)),
        "at": pa.array(
            [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None, datetime.datetime(9999, 12, 31)],
            pa.timestamp("us", tz="UTC"),
        ),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        "list": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
        "struct": pa.array(
            [{"x": 1.5, "y": None}, None, {"x": float("nan"), "y": "q"}],
            pa.struct([("x", pa.float64()), ("y", pa.string())]),
        ),
    }
)


def test_broker_listeners(broker):
    sasl = {"security.protocol": "sasl_plaintext", "sasl.username": USER, "sasl.password": PASSWORD}
    ways = [
        ("SSL", {"security.protocol": "ssl", "ssl.ca.location": str(broker.certificates.authority)}),
        ("SASL_PLAINTEXT", sasl | {"sasl.mechanisms": "PLAIN"}),
        ("SASL_PLAINTEXT", sasl | {"sasl.mechanisms": "SCRAM-SHA-256"}),
    ]
    for listener, settings in ways:
        admin = AdminClient({"bootstrap.servers": broker.address(listener), **settings})
        assert len(admin.list_topics(timeout=10).brokers) == 1


def test_topic_administration(broker, topics, topic):
    produce(broker.bootstrap, topic, [Record(b"a", timestamp=5, headers=[("h", b"1")]), Record(None, b"k")], "zstd")
    produce_transaction(broker.bootstrap, topic, [Record(b"b")], commit=False)
    assert topics.end_offsets(topic) == {0: 4}
    got = topics.read(topic, 2, "read_committed")
    assert [(m.value(), m.key(), m.timestamp()[1] == 5) for m in got] == [(b"a", None, True), (None, b"k", False)]
    topics.delete_records(topic, {0: 1})
    assert topics.start_offsets(topic) == {0: 1}
    topics.add_partitions(topic, 2)
    assert topics.recreate(topic) == topic and topics.end_offsets(topic) == {0: 0}


def test_registry_proxy(registry):
    number = registry.register("harness-value", {"type": "record", "name": "R", "fields": []})
    url, login = f"{registry.proxy.url}/schemas/ids/{number}", (REGISTRY_USER, REGISTRY_PASSWORD)
    assert requests.get(url, timeout=5).status_code == 401
    assert requests.get(url, auth=login, timeout=5).json()["schema"]
    for mode in ("500", "401"):
        with registry.proxy.failing(mode):
            assert requests.get(url, auth=login, timeout=5).status_code == int(mode)
    with registry.proxy.failing("refuse"):
        try:
            requests.get(url, auth=login, timeout=5)
            raise AssertionError("the port should be closed")
        except requests.ConnectionError:
            pass
    assert requests.get(url, auth=login, timeout=5).status_code == 200


def test_s3_keeps_plain_files(s3):
    client = s3.client()
    folder = s3.bucket("plain")
    client.put_object(Bucket="plain", Key="a/ü +%.txt", Body=b"abc", IfNoneMatch="*")
    assert (folder / "a" / "ü +%.txt").read_bytes() == b"abc" == s3.local("s3://plain/a/ü +%.txt").read_bytes()
    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.put_object(Bucket="plain", Key="a/ü +%.txt", Body=b"abc", IfNoneMatch="*")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        s3.client(secret_key="wrong").list_objects_v2(Bucket="plain")


def test_rest_catalogs_are_apart(rest_catalog, tmp_path):
    for name in ("one", "two"):
        uri = rest_catalog.add(name, f"jdbc:sqlite:{tmp_path}/{name}.db", f"file://{tmp_path}/{name}")
        catalog = RestCatalog(name, uri=uri)
        catalog.create_namespace(("a", "b"))
        table = catalog.create_table(("a", "b", "t"), ROWS.schema)
        assert local(table.location()) == tmp_path / name / "a" / "b" / "t"
    rest_catalog.remove("one")
    assert rest_catalog.request("GET", "/one/v1/config")[0] == 404
    assert rest_catalog.request("GET", "/two/v1/config")[0] == 200


def test_proxy_fails_as_planned(s3):
    """Each fault once on a put: whether the server did it, and what the client was told."""
    folder, faults = s3.bucket("failing"), Faults()
    client = s3.client(f"http://127.0.0.1:{faults.proxy('s3', s3.port)}", retries=0)
    for n, fault in enumerate(f for f in FAULTS if f not in ("time-out", "slow body")):
        faults.reset({("s3 put object", 0): fault})
        told = "done"
        try:
            client.put_object(Bucket="failing", Key=f"{n}", Body=b"abc")
        except (ClientError, BotoCoreError) as error:
            told = str(error)
        assert (folder / str(n)).exists() == (fault in REACHED), fault
        if fault.isdigit() or fault == "expired token":
            assert any(word in told for word in ("set by the test", "502")), (fault, told)
        elif "reset" in fault:
            assert told != "done", fault
        assert [r.fault for r in faults.met] == [fault]
        client.put_object(Bucket="failing", Key=f"{n}", Body=b"abc")
    faults.close()


def test_postgres_speaks_tls(postgres):
    name = postgres.create_database("harness")
    with postgres.connect(name, sslmode="verify-full", sslrootcert=postgres.certificates.authority) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            assert cursor.fetchone() == (True,)


@pytest.mark.lakes("sql", "rest", "rest-local", "postgres", "postgres-local")
def test_readers_agree(lake, spark, duckdb):
    catalog = lake.pyiceberg()
    catalog.create_namespace("shop")
    catalog.create_table("shop.t", schema=ROWS.schema).append(ROWS)
    rows = comparable(ROWS)
    assert comparable(read_pyiceberg(lake, "shop.t")) == rows
    assert comparable(read_duckdb(lake, "shop.t")) == rows
    assert comparable(read_spark(spark, lake, "shop.t")) == rows
