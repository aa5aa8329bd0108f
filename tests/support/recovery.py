# SPDX-License-Identifier: Apache-2.0
"""What the recovery tests share: a job of numbered JSON records into db.t, batch by batch."""

import pytest
from checks import read_everywhere
from job import Job
from kafka_client import produce

COLUMNS = "id bigint, text string"


def values(start, end):
    return [{"id": n, "text": f"t{n}"} for n in range(start, end)]


@pytest.fixture
def job(lake, broker, topic):
    lake.create_table("db.t", COLUMNS)
    return Job(lake, broker, "db.t", topic, value="json")


def ids(lake, table="db.t"):
    return [row[0] for row in read_everywhere(lake, table, columns=("id",))]


def feed(broker, job, topic, start, end):
    """Records and a run that takes them: one batch."""
    produce(broker.bootstrap, topic, values(start, end))
    return job.run().check()
