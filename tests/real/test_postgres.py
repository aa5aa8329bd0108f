# SPDX-License-Identifier: Apache-2.0
"""The SQL catalog on a real PostgreSQL server: beside PyIceberg and Spark's JdbcCatalog on the same database, commits in
a race, answers that are lost on their way, outages, TLS, and what a user is told."""

import json
import re
import socket
import subprocess

import pytest
import test_crash
from checks import check_table, read_everywhere, snapshots
from components import wait_until
from conftest import CAMPAIGN
from cutter import Cutter
from job import Job, calve_binary, run_calve
from kafka_client import produce
from lakes import Lake, local
from readers import live_files

pytestmark = pytest.mark.usefixtures("postgres")


@pytest.fixture
def lake(tmp_path):
    made = Lake(tmp_path / "lake", "postgres-local")
    yield made
    made.close()


@pytest.fixture
def cutter(postgres):
    made = Cutter(postgres.port)
    yield made
    made.close()


def through(lake, cutter, postgres, seconds=2):
    """The lake's database behind the proxy, in Java's form, which has a time-out for answers."""
    lake.calve_uri = f"jdbc:postgresql://127.0.0.1:{cutter.port}/{lake.name}?sslmode=disable&socketTimeout={seconds}"
    lake.calve_properties = {"jdbc.user": postgres.USER, "jdbc.password": postgres.PASSWORD}
    return lake.config_file()


def table(lake, *arguments, **options):
    return run_calve("table", *arguments, "--config", lake.config_file(), **options)


def rows_of(lake):
    return lake.backend_sql("SELECT table_namespace, table_name, iceberg_type FROM iceberg_tables ORDER BY 1, 2")


# --- beside other engines ---


def test_three_engines_write_one_table(lake, broker, topic, spark):
    lake.create_table("shop.eu.orders", "n bigint, text string")
    spark.add_catalog(lake)
    job = Job(lake, broker, "shop.eu.orders", topic, value="json")
    produce(broker.bootstrap, topic, [{"n": n, "text": "calve"} for n in range(3)])
    job.run().check()
    spark.sql(f"INSERT INTO {lake.name}.shop.eu.orders VALUES (3, 'spark')")
    theirs = lake.pyiceberg().load_table("shop.eu.orders")
    theirs.append(theirs.scan().to_arrow().slice(0, 1))
    produce(broker.bootstrap, topic, [{"n": 4, "text": "calve"}])
    job.run().check()
    assert sorted(row[0] for row in read_everywhere(lake, "shop.eu.orders", spark))[-2:] == [3, 4]
    assert len(snapshots(lake, "shop.eu.orders")) == 4
    check_table(lake, "shop.eu.orders")
    spark.sql(f"CALL {lake.name}.system.rewrite_data_files(table => 'shop.eu.orders', "
              "options => map('rewrite-all', 'true'))")  # fmt: skip
    run_calve("maintain", "expire-snapshots", f"{lake.name}.shop.eu.orders", "--config", lake.config_file(),
              "--retain-last", "1", "--older-than", "2100-01-01 00:00:00").check()  # fmt: skip
    assert len(read_everywhere(lake, "shop.eu.orders", spark)) == 6
    assert len(live_files(lake, "shop.eu.orders")) == 1


def test_tables_of_others_are_seen(lake, spark):
    """PyIceberg and Spark make the catalog's tables; calve lists, changes and drops what they made."""
    import pyarrow as pa

    theirs = lake.pyiceberg()
    theirs.create_namespace("py")
    theirs.create_table("py.t", schema=pa.schema([("n", pa.int64())]))
    spark.add_catalog(lake)
    spark.sql(f"CREATE NAMESPACE {lake.name}.sp")
    spark.sql(f"CREATE TABLE {lake.name}.sp.t (n bigint) USING iceberg")
    spark.sql(f"CREATE VIEW {lake.name}.sp.v AS SELECT 1 AS one")
    listed = json.loads(table(lake, "list", lake.name, "--json").check().out)
    assert [row["table"] for row in listed] == ["py.t", "sp.t"]
    for name in ("py.t", "sp.t"):
        table(lake, "set", f"{lake.name}.{name}", "--property", "a.b=c").check()
        assert lake.metadata(name)["properties"]["a.b"] == "c"
    assert "a.b" in str(spark.sql(f"SHOW TBLPROPERTIES {lake.name}.sp.t"))
    assert "does not exist" in table(lake, "show", f"{lake.name}.sp.v").text
    table(lake, "drop", f"{lake.name}.sp.t", "--yes").check()
    # PyIceberg knows no iceberg_type: its rows have none.
    assert rows_of(lake) == [("py", "t", None), ("sp", "v", "VIEW")]


@pytest.mark.parametrize("version", ["V0", "V1"])
def test_both_layouts(lake, spark, version):
    """Made by calve as jdbc.schema-version says; Java's default is V0."""
    lake.calve_properties = {"jdbc.schema-version": version}
    lake.create_table("db.t", "n bigint")
    columns = lake.backend_sql("SELECT column_name FROM information_schema.columns WHERE table_name = 'iceberg_tables'")
    assert (("iceberg_type",) in columns) == (version == "V1")
    table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=c").check()
    spark.add_catalog(lake)  # asks for V1 and so adds the column
    spark.sql(f"INSERT INTO {lake.name}.db.t VALUES (1)")
    lake.calve_properties = {}
    table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=d").check()
    assert len(read_everywhere(lake, "db.t", spark)) == 1


def test_rename(lake, spark):
    lake.create_table("db.a", "n bigint")
    lake.create_table("db.b", "n bigint")
    lake.create_table("d_.c", "n bigint")
    old = table(lake, "rename", f"{lake.name}.db.a", f"{lake.name}.db.b")
    assert old.status == 3 and "db.b exists already" in old.text, old
    gone = table(lake, "rename", f"{lake.name}.db.x", f"{lake.name}.db.y")
    assert gone.status == 3 and "db.x does not exist" in gone.text, gone
    # a wildcard of LIKE is a letter like any other
    for target in ("d%.t", "nowhere.t", "_b.t"):
        refused = table(lake, "rename", f"{lake.name}.db.a", f"{lake.name}.{target}")
        assert refused.status == 3 and "namespace" in refused.text, refused
    table(lake, "rename", f"{lake.name}.db.a", "d_.a").check()
    table(lake, "set", f"{lake.name}.d_.a", "--property", "a.b=c").check()
    spark.add_catalog(lake)
    spark.sql(f"INSERT INTO {lake.name}.`d_`.a VALUES (1)")
    assert [row[:2] for row in rows_of(lake)] == [("d_", "a"), ("d_", "c"), ("db", "b")]


# --- races and lost answers ---


def metadata_files(lake, name):
    return sorted(p.name for p in (lake.folder_of(name) / "metadata").glob("*.metadata.json"))


EAGER = {"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "50"}


def test_processes_in_a_race(lake):
    """Each commit lands once: 4 processes change 8 properties each, one after the other."""
    table_name = f"{lake.name}.db.t"
    lake.create_table("db.t", "n bigint", properties=EAGER)
    script = 'for i in 1 2 3 4 5 6 7 8; do "$0" table set "$1" --property "p.$2.$i=x" --config "$3" >/dev/null || exit 1; done'
    config = lake.config_file()
    running = [
        subprocess.Popen(["sh", "-c", script, calve_binary(), table_name, str(n), str(config)])
        for n in range(4)
    ]
    assert [process.wait(120) for process in running] == [0] * 4
    properties = lake.metadata("db.t")["properties"]
    assert sum(key.startswith("p.") for key in properties) == 32
    assert len(metadata_files(lake, "db.t")) == 33, "an attempt that lost left its file"


def test_processes_make_the_tables_together(lake):
    config = lake.config_file()
    running = [
        subprocess.Popen([calve_binary(), "table", "create", f"{lake.name}.db.t{n}", "--schema", "n bigint",
                          "--config", str(config)], stdout=subprocess.DEVNULL)  # fmt: skip
        for n in range(6)
    ]
    assert [process.wait(60) for process in running] == [0] * 6
    assert len(rows_of(lake)) == 6


@pytest.mark.parametrize("action", ["before", "after", "hold", "late"])
def test_lost_answer_to_a_commit(lake, cutter, postgres, action):
    lake.create_table("db.t", "n bigint", properties={"commit.status-check.min-wait-ms": "100"})
    through(lake, cutter, postgres)
    cutter.plan = [("UPDATE iceberg_tables", action)]
    table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=c").check()
    assert not cutter.plan
    assert lake.metadata("db.t")["properties"]["a.b"] == "c"
    table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=d").check()
    # what was lost before the server had it is written again; nothing that is named was removed
    assert local(lake.pyiceberg().load_table("db.t").metadata_location).exists()
    for entry in lake.metadata("db.t")["metadata-log"]:
        assert local(entry["metadata-file"]).exists()


def test_a_rival_goes_on_from_a_lost_commit(lake, cutter, postgres):
    """Case 41: the statement is sent again and changes nothing, since another commit was built on ours already."""
    lake.create_table("db.t", "n bigint", properties={"commit.status-check.min-wait-ms": "100"})
    rival = lake.config_file().read_text()
    through(lake, cutter, postgres)
    other = lake.folder / "rival.yaml"
    other.write_text(rival)

    def overtake():
        run_calve("table", "set", f"{lake.name}.db.t", "--property", "r.s=t", "--config", other).check()

    cutter.after_cut = overtake
    cutter.plan = [("UPDATE iceberg_tables", "after")]
    table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=c").check()
    assert lake.metadata("db.t")["properties"].items() >= {"a.b": "c", "r.s": "t"}.items()
    assert len(metadata_files(lake, "db.t")) == 3


@pytest.mark.parametrize("action", ["before", "after"])
@pytest.mark.parametrize("statement", ["INSERT INTO iceberg_tables", "DELETE FROM iceberg_tables"])
def test_lost_answers_of_create_and_drop(lake, cutter, postgres, statement, action):
    lake.create_table("db.other", "n bigint")
    through(lake, cutter, postgres)
    creating = statement.startswith("INSERT")
    if not creating:
        lake.create_table("db.t", "n bigint")
    cutter.plan = [(statement, action)]
    if creating:  # sent again, and finds itself there
        table(lake, "create", f"{lake.name}.db.t", "--schema", "n bigint").check()
        assert local(lake.pyiceberg().load_table("db.t").metadata_location).exists()
        return
    done = table(lake, "drop", f"{lake.name}.db.t", "--yes")
    if action == "after":
        done.check()
    else:  # not sent again: the name might be another table's by now
        assert done.status == 3 and "the connection broke" in done.text, done
    assert (("db", "t", "TABLE") in rows_of(lake)) == (action == "before")


@pytest.mark.parametrize("statement", ["SELECT metadata_location", "to_regclass"])
@pytest.mark.parametrize("action", ["before", "after"])
def test_reading_is_tried_again(lake, cutter, postgres, broker, topic, statement, action):
    """A job whose server went away once between two batches."""
    lake.create_table("db.t", "n bigint")
    through(lake, cutter, postgres)
    job = Job(lake, broker, "db.t", topic, value="json", sink={"trigger": "200 milliseconds"})
    with job.start() as running:
        produce(broker.bootstrap, topic, [{"n": 0}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 1, 30, "a batch")
        plan = [(statement, action)]
        if statement == "to_regclass":
            plan.insert(0, ("SELECT metadata_location", "before"))
        cutter.plan = plan
        produce(broker.bootstrap, topic, [{"n": 1}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 2, 30, "a batch")
        assert running.stop() == 0
    assert not cutter.plan
    assert [row[0] for row in read_everywhere(lake, "db.t")] == [0, 1]


def test_lost_answer_to_a_batch(lake, cutter, postgres, broker, topic):
    """Its rows are there once, whichever way the answer went."""
    lake.create_table("db.t", "n bigint", properties={"commit.status-check.min-wait-ms": "100"})
    through(lake, cutter, postgres)
    job = Job(lake, broker, "db.t", topic, value="json", source={"maxOffsetsPerTrigger": 10})
    produce(broker.bootstrap, topic, [{"n": n} for n in range(40)])
    cutter.plan = [("UPDATE iceberg_tables", action) for action in ("after", "before", "hold")]
    job.run().check()
    assert not cutter.plan
    assert [row[0] for row in read_everywhere(lake, "db.t")] == list(range(40))
    assert len(snapshots(lake, "db.t")) == 4
    check_table(lake, "db.t")


def test_a_batch_is_one_commit_on_one_connection(lake, cutter, postgres, broker, topic):
    lake.create_table("db.t", "n bigint")
    through(lake, cutter, postgres)
    job = Job(lake, broker, "db.t", topic, value="json", source={"maxOffsetsPerTrigger": 1})
    produce(broker.bootstrap, topic, [{"n": n} for n in range(10)])
    before = cutter.connections
    job.run().check()
    assert len(snapshots(lake, "db.t")) == 10
    assert cutter.connections == before + 1


def test_locks_and_restarts_of_the_server(lake, postgres, broker, topic):
    """A server that stops between batches is waited for; a lock that another session holds too."""
    lake.create_table("db.t", "n bigint")
    job = Job(lake, broker, "db.t", topic, value="json", sink={"trigger": "200 milliseconds"})
    with job.start() as running:
        produce(broker.bootstrap, topic, [{"n": 0}])
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 1, 30, "a batch")
        holder = postgres.connect(lake.name)
        with holder.cursor() as cursor:
            cursor.execute("SELECT * FROM iceberg_tables FOR UPDATE")
            produce(broker.bootstrap, topic, [{"n": 1}])
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            running.wait_for(lambda: postgres.sql(lake.name, waiting) == [(1,)], 30, "a commit that waits")
        holder.rollback()
        holder.close()
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 2, 30, "a batch")
        postgres.stop()
        produce(broker.bootstrap, topic, [{"n": 2}])
        running.wait_for(lambda: len(job.log_ids("offsets")) == 3, 30, "a batch that finds no server")
        postgres.start()
        running.wait_for(lambda: len(snapshots(lake, "db.t")) == 3, 60, "a batch")
        assert running.stop() == 0
    assert [row[0] for row in read_everywhere(lake, "db.t")] == [0, 1, 2]


# All steps in a campaign, else those that touch the catalog.
POINTS = test_crash.POINTS if CAMPAIGN else ["metadata-written", "commit-sent", "commit-done", "commits-written"]


@pytest.mark.parametrize("kind", ["kill", "fail"])
@pytest.mark.parametrize("point", POINTS)
def test_fault_point(lake, broker, topic, point, kind):
    test_crash.test_fault_point(lake, broker, topic, point, kind)


# --- what a user is told ---

SECRET = "calve-secret"


def told(lake, uri, **properties):
    lake.calve_uri, lake.calve_properties = uri, {k.replace("_", "."): v for k, v in properties.items()}
    done = table(lake, "list", lake.name)
    assert "wrong-pw" not in done.text and SECRET not in done.text, done
    return done


def test_mistakes_are_named(lake, postgres, tmp_path):
    lake.create_table("db.t", "n bigint")
    address = f"127.0.0.1:{postgres.port}/{lake.name}"
    cases = [
        (f"postgresql://calve:wrong-pw@{address}", 3, "password authentication failed"),
        (f"postgresql://calve@{address}", 3, "no password supplied"),
        (f"postgresql://calve:{SECRET}@127.0.0.1:{postgres.port}/nothing", 2, 'database "nothing" does not exist'),
        (f"postgresql://calve:{SECRET}@nowhere.invalid/x", 3, "not known to DNS"),
        (f"postgresql://calve:{SECRET}@127.0.0.1:1/x", 3, "Connection refused"),
        (f"postgresql://calve:{SECRET}@{address}?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt",
         3, "certificate verify failed"),
        (f"postgresql://calve:{SECRET}@{address}?sslmod=require", 2, "sslmod"),
        (f"postgresql://calve:{SECRET}%zz@{address}", 2, "hex digits"),
        (f"mysql://calve:{SECRET}@{address}", 2, "mysql… is not supported"),
    ]  # fmt: skip
    for uri, status, text in cases:
        done = told(lake, uri)
        assert done.status == status and text in done.text, (uri, done)


def test_tls_and_forms_of_the_uri(lake, postgres):
    lake.create_table("db.t", "n bigint")
    ca = postgres.certificates.authority
    for uri in (
        f"postgresql://calve:{SECRET}@localhost:{postgres.port}/{lake.name}?sslmode=verify-full&sslrootcert={ca}",
        f"postgresql+psycopg2://calve:{SECRET}@127.0.0.1:{postgres.port}/{lake.name}?sslmode=verify-ca&sslrootcert={ca}",
        f"jdbc:postgresql://localhost:{postgres.port}/{lake.name}?user=calve&password={SECRET}&ssl=true&sslrootcert={ca}",
        f"jdbc:postgresql://127.0.0.1:1,localhost:{postgres.port}/{lake.name}?user=calve&password={SECRET}",
    ):
        told(lake, uri).check()


def test_a_host_that_does_not_answer_is_passed_by(lake, postgres):
    """A machine that is gone refuses nothing: the next host of the list gets its own time."""
    lake.create_table("db.t", "n bigint")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:{postgres.port}"
        told(lake, f"postgresql://calve:{SECRET}@{hosts}/{lake.name}?connect_timeout=1").check()
        alone = hosts.split(",")[0]
        done = told(lake, f"postgresql://calve:{SECRET}@{alone}/{lake.name}?connect_timeout=1")
    assert done.status == 3 and "within 1 s" in done.text, done


def test_a_statement_that_was_given_up_ends_on_the_server(lake, postgres):
    """A role's own statement_timeout, longer than calve waits, must not let it be carried out later."""
    lake.create_table("db.t", "n bigint")
    role = f"patient_{lake.name}"
    postgres.sql(lake.name, f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'patient-pw'")
    postgres.sql(lake.name, f"ALTER ROLE {role} SET statement_timeout = '10min'")
    lake.calve_uri = (
        f"jdbc:postgresql://127.0.0.1:{postgres.port}/{lake.name}?user={role}&password=patient-pw&socketTimeout=2"
    )
    holder = postgres.connect(lake.name)
    with holder.cursor() as cursor:
        cursor.execute("SELECT * FROM iceberg_tables FOR UPDATE")
        assert table(lake, "drop", f"{lake.name}.db.t", "--yes").status == 3
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_until(lambda: postgres.sql(lake.name, waiting) == [(0,)], 10, "the end of the statement")
    holder.rollback()
    holder.close()
    assert rows_of(lake) == [("db", "t", "TABLE")]


def test_rights_that_are_missing(lake, postgres):
    """A role that may read only; one for which nothing was made yet."""
    lake.create_table("db.t", "n bigint")
    role = f"reader_{lake.name}"
    postgres.sql(lake.name, f"CREATE ROLE {role} LOGIN PASSWORD 'reader-pw'")
    address = f"127.0.0.1:{postgres.port}"
    lake.calve_uri = f"postgresql://{role}:reader-pw@{address}/{lake.name}"
    done = table(lake, "list", lake.name)
    assert done.status == 3 and "permission denied" in done.text and "SELECT" in done.text, done
    postgres.sql(lake.name, f"GRANT SELECT ON iceberg_tables, iceberg_namespace_properties TO {role}")
    table(lake, "list", lake.name).check()
    done = table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=c")
    assert done.status == 3 and "permission denied" in done.text, done
    assert len(metadata_files(lake, "db.t")) == 1, "what could not be committed is removed"
    lake.calve_uri = f"postgresql://{role}:reader-pw@{address}/postgres"
    done = table(lake, "create", f"{lake.name}.db.t", "--schema", "n bigint")
    assert done.status == 3 and "permission denied for schema public" in done.text, done
    lake.calve_uri = f"{lake.uri}?options=-c%20default_transaction_read_only%3Don"
    done = table(lake, "set", f"{lake.name}.db.t", "--property", "a.b=c")
    assert done.status == 3 and re.search("read-only transaction.*primary", done.text, re.S), done
