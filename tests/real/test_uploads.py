# SPDX-License-Identifier: Apache-2.0
"""Files on their way to S3: five hundred open table partitions within the memory budget, and what a job leaves that is
killed in the middle of an upload."""

import os
import random
import signal
import time

import pyarrow.parquet as pq
import pytest
from checks import check_table
from faults import Faults
from job import Job, run_calve
from kafka_client import Record, produce
from lakes import SERVERS, local
from readers import live_files, read_pyiceberg

pytestmark = pytest.mark.lakes("rest")
PARTITIONS = 500
PART = 5 << 20  # the least that S3 takes
DAY_S = 86400


def texts(count, size):
    """Texts that do not compress below a half."""
    draw = random.Random(3)
    for _ in range(count):
        yield draw.randbytes(size // 2).hex()


@pytest.mark.timeout(900)
def test_five_hundred_open_partitions(lake, broker, topics, campaign):
    """Were each open file to hold a part of its own, they would hold ten times the budget. At full length 1 GiB with
    256 MiB, else 50 MiB with 96 MiB, of which data writers have a half."""
    lake.only("rest", why="it is about uploads to S3")
    rounds, size, memory = (270, 8000, 256) if campaign else (25, 4000, 96)
    topic = topics.create("uploads-many", 4)
    made = texts(rounds * PARTITIONS, size)
    for start in range(0, rounds, 10):
        numbers = [n * PARTITIONS + p for n in range(start, min(start + 10, rounds)) for p in range(PARTITIONS)]
        # Rows come in no order of their partitions.
        rows = [f'{{"id": {i}, "p": {i * 7919 % PARTITIONS}, "text": "{text}"}}'
                for i, text in zip(numbers, made)]  # fmt: skip
        produce(broker.bootstrap, topic, [Record(row.encode(), partition=n % 4) for n, row in enumerate(rows)], "lz4")
    lake.create_table("db.t", "id bigint, p int, text string", "p")
    lake.calve_properties = {"s3.multipart.part-size-bytes": PART}
    job = Job(lake, broker, "db.t", topic, value="json", memory=f"{memory} MiB")
    with job.start("--available-now") as running:
        status, peak = running.finish(800)
        assert status == 0, running.log()[-3000:]
    written = [b for b in job.batches() if b["numInputRows"]]
    print(f"{rounds * PARTITIONS * size >> 20} MiB in {[b['durationMs']['addBatch'] for b in written]} ms, peak "
          f"{peak >> 20} of {memory} MiB, {written[0]['calve']}")  # fmt: skip
    assert peak <= memory << 20, f"{peak >> 20} MiB of {memory} MiB"
    assert len(written) == 1
    assert written[0]["calve"]["rowsSpilled"] > 0, "the budget was felt"
    files = live_files(lake, "db.t")
    assert PARTITIONS <= len(files) <= 2 * PARTITIONS
    ids = [i for file in files for i in pq.ParquetFile(local(file.file_path)).read(["id"])["id"].to_pylist()]
    assert sorted(ids) == list(range(rounds * PARTITIONS))
    check_table(lake, "db.t")


def test_an_upload_that_is_killed_is_found(lake, broker, topic):
    """Nothing of it is visible, the next run makes the batch anew, and doctor reports what the store still keeps."""
    lake.only("rest", why="it is about uploads to S3")
    name = f"{lake.name}.db.t"
    properties = {"write.parquet.row-group-size-bytes": 1 << 20}
    lake.create_table("db.t", "id bigint, text string", properties=properties)
    faults = Faults().stand_before(lake)
    lake.calve_properties = {"s3.multipart.part-size-bytes": PART, "s3.multipart.threshold": "1.0"}
    rows = [{"id": n, "text": text} for n, text in enumerate(texts(4000, 8000))]
    produce(broker.bootstrap, topic, rows)
    faults.reset({("s3 put part of data", 1): "time-out"})
    job = Job(lake, broker, "db.t", topic, value="json")
    with job.start("--available-now") as running:
        running.wait_for(lambda: faults.met, 60, "the second part")
        running.signal(signal.SIGKILL)
        running.wait(10)
    faults.close()
    assert read_pyiceberg(lake, "db.t").num_rows == 0
    client = SERVERS.get("s3").client()
    keys = [item["Key"] for item in client.list_objects_v2(Bucket=lake.bucket, Prefix="warehouse/").get("Contents", [])]
    assert not [key for key in keys if key.endswith(".parquet")], "nothing is visible"
    upload = client.list_multipart_uploads(Bucket=lake.bucket)["Uploads"]
    assert len(upload) == 1 and upload[0]["Key"].endswith(".parquet")
    lake.calve_endpoint = lake.calve_uri = None
    lake.calve_properties = {}
    config = lake.config_file()
    young = run_calve("doctor", name, "--json", "--config", config)
    assert young.status in (0, 1), young
    assert "open-uploads" not in young.out, "it may be somebody's who is at work"

    Job(lake, broker, "db.t", topic, value="json", name=job.name).run().check()
    assert sorted(read_pyiceberg(lake, "db.t")["id"].to_pylist()) == list(range(4000))

    age(upload[0]["UploadId"], lake.bucket, 2 * DAY_S)
    found = run_calve("doctor", name, "--json", "--config", config)
    assert '"open-uploads"' in found.out and "1 uploads" in found.out, found
    fixed = run_calve("doctor", name, "--fix", "--yes", "--config", config)
    assert fixed.status in (0, 1), fixed
    assert "Uploads" not in client.list_multipart_uploads(Bucket=lake.bucket)
    assert sorted(read_pyiceberg(lake, "db.t")["id"].to_pylist()) == list(range(4000))
    check_table(lake, "db.t")


def age(upload, bucket, seconds):
    """Makes an open upload older: its time is that of its folder in the server's own part of the bucket."""
    then = time.time() - seconds
    folders = [path for path in local(f"s3://{bucket}/").rglob(upload) if path.is_dir()]
    assert len(folders) == 1
    os.utime(folders[0], (then, then))
