# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests with real components: one broker, one registry and one Spark session for all of them.

Environment: CALVE_BIN names the program (build/calve by default), CALVE_CAMPAIGN=1 runs at full length, CALVE_LAKE
makes the lakes of all tests that kind (lakes.py).
"""

import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import components  # noqa: E402
import job as jobs  # noqa: E402
from kafka_client import Topics  # noqa: E402
from lakes import SERVERS  # noqa: E402

CAMPAIGN = os.environ.get("CALVE_CAMPAIGN") == "1"

# Quick and basic files first, so that a broken build shows within seconds; what waits or loads comes last.
ORDER = """components sign s3 commands scenario decode source tables parquet_files parquet_merge parquet_reader scan
credential_chain check sql_functions trips data_writer uploads maintain_expire maintain_orphans maintain_foreign maintain_position_deletes maintain_rewrite
maintain_refs histories doctor maintain_stream sql_stream sql_modes sql_scenario checkpoint checkpoint_s3 recovery sql_recovery crash sql_crash postgres hadoop_s3 credentials faults memory bench""".split()


def pytest_collection_modifyitems(items):
    def rank(item):
        name = item.path.stem.removeprefix("test_")
        return ORDER.index(name) if name in ORDER else len(ORDER)

    items.sort(key=rank)


def pytest_configure(config):
    config.addinivalue_line("markers", "lakes(*kinds, campaign=()): run on each of these kinds of lake, in the campaign on "
                            "those of `campaign` too, where CALVE_LAKE does not choose one")  # fmt: skip


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("lakes")
    if marker and not os.environ.get("CALVE_LAKE"):
        metafunc.parametrize("lake_kind", [*marker.args, *(marker.kwargs.get("campaign", ()) if CAMPAIGN else ())])


def need(*pieces):
    for piece in pieces:
        reason = components.missing(piece)
        if reason:
            pytest.skip(reason)


@pytest.fixture(scope="session")
def campaign():
    return CAMPAIGN


@pytest.fixture(scope="session")
def calve():
    """The path of the program; no test may be skipped because it was not built."""
    return jobs.calve_binary()


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="session")
def broker(session_folder):
    need("kafka")
    server = components.Broker(session_folder / "broker", tls=True, sasl=True).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def topics(broker):
    return Topics(broker.bootstrap)


@pytest.fixture(scope="session")
def registry(session_folder):
    need("registry")
    server = components.Registry(session_folder / "registry").start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark(session_folder):
    need("spark")
    from spark import Spark

    session = Spark(session_folder / "spark").start()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def duckdb():
    need("duckdb")


def store(name):
    reason = SERVERS.reason_missing(name)
    if reason:
        pytest.skip(reason)
    return SERVERS.get(name)


@pytest.fixture(scope="session", autouse=True)
def servers():
    yield
    SERVERS.stop()


@pytest.fixture(scope="session")
def s3():
    return store("s3")


@pytest.fixture(scope="session")
def rest_catalog():
    return store("rest")


@pytest.fixture(scope="session")
def postgres():
    return store("postgres")


@pytest.fixture
def lake_kind():
    """What pytest.mark.lakes says, else CALVE_LAKE."""
    return None


@pytest.fixture
def lake(tmp_path, lake_kind):
    made = jobs.Lake(tmp_path / "lake", lake_kind)
    yield made
    made.close()


@pytest.fixture
def topic(request, topics):
    """A new topic of one partition with a name from the test's name; its records go with the session's broker."""
    name = re.sub(r"[^a-zA-Z0-9._-]", "-", request.node.name)[:150]
    known = getattr(request.config, "calve_topics", set())
    request.config.calve_topics = known
    while name in known:
        name += "x"
    known.add(name)
    return topics.create(name)


@pytest.fixture
def value_options(registry):
    """The `value` section of a job that decodes Avro through the registry's proxy."""
    return {
        "format": "avro",
        "schema.registry.url": registry.proxy.url,
        "basic.auth.user.info": f"{components.REGISTRY_USER}:{components.REGISTRY_PASSWORD}",
    }
