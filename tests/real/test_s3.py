# SPDX-License-Identifier: Apache-2.0
"""The S3 store against a real server, compared with an independent client: names, sizes, parts, ranges, listings, bulk
deletes, conditional puts, memory, and what is left of a writer that is killed.

tests/support/s3_tool.c makes the store's calls.
"""

import pathlib
import re
import signal
import subprocess
import uuid

import pytest

from components import Certificates
from stores import ACCESS_KEY, REGION, S3, SECRET_KEY

MIB = 1 << 20
BLOCK = 1 << 16
NAMES = ["plain", "with space", "a+b", "100%", "a=b&c", "per%20cent", "ü/é ∑.parquet", "q?x#y", "p'\"(a)*!~", "d//e",
         "semi;colon,@:$", "tail.", "[x]{y}|z^`\\"]  # fmt: skip


def content(size, start=0):
    """What s3_tool writes, block by block: a cycle of 251 bytes, shifted by the block's number."""
    cycle = bytes(at * 31 % 251 for at in range(251)) * 264
    first, whole = start // BLOCK, bytearray()
    for block in range(first, (start + size) // BLOCK + 1):
        shift = bytes((value + block) % 251 for value in range(256))
        phase = block * BLOCK % 251
        whole += cycle[phase : phase + BLOCK].translate(shift)
    return bytes(whole[start - first * BLOCK :][:size])


@pytest.fixture(scope="session")
def program(calve):
    places = [build / "tests" / "s3_tool" for build in pathlib.Path(calve).parents]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        pytest.skip("tests/s3_tool was not built beside the program")
    return found


@pytest.fixture
def bucket(s3):
    name = "store-" + uuid.uuid4().hex[:12]
    s3.bucket(name)
    return name


@pytest.fixture
def tool(program, s3):
    """Runs a command; its standard output, or the error line where it fails."""

    def run(*command, settings=None, text=True):
        properties = {**s3.properties(), **(settings or {})}
        line = [program, *(f"{k}={v}" for k, v in properties.items()), "--", *map(str, command)]
        done = subprocess.run(line, capture_output=True, text=text, timeout=600, check=False)
        errors = done.stderr if text else done.stderr.decode()
        assert SECRET_KEY not in errors
        if done.returncode:
            raise AssertionError(errors)
        return done.stdout

    return run


class S3OverTls(S3):
    """The same server with a certificate that only the tests' authority vouches for."""

    def __init__(self, folder):
        super().__init__(folder)
        self.certificates = Certificates(self.folder / "tls")

    @property
    def endpoint(self):
        return f"https://127.0.0.1:{self.port}"

    def spawn(self, command, *rest, **more):
        at = command.index("posix")
        tls = ["--cert", str(self.certificates.certificate), "--key", str(self.certificates.key)]
        super().spawn([*command[:at], *tls, *command[at:]], *rest, **more)

    def client(self):
        import boto3
        from botocore.config import Config

        return boto3.client("s3", endpoint_url=self.endpoint, aws_access_key_id=ACCESS_KEY,
                            aws_secret_access_key=SECRET_KEY, region_name=REGION,
                            verify=str(self.certificates.authority),
                            config=Config(s3={"addressing_style": "path"}))  # fmt: skip


def counts(line):
    return {key: int(value) for key, value in re.findall(r"([\w-]+)=(\d+)", line)}


def test_names_are_the_same_for_both_clients(tool, s3, bucket):
    client = s3.client()
    for name in NAMES:
        tool("put", f"s3://{bucket}/ours/{name}", "replace", name)
        client.put_object(Bucket=bucket, Key=f"theirs/{name}", Body=name.encode())
    for name in NAMES:
        # The server's folders make one slash of two; what matters is that both clients find it.
        assert client.get_object(Bucket=bucket, Key=f"ours/{name}")["Body"].read() == name.encode()
        assert tool("read", f"s3a://{bucket}/theirs/{name}") == name
        assert tool("size", f"s3://{bucket}/theirs/{name}") == f"{len(name.encode())}\n"
    listed = {line.split(" ", 2)[2] for line in tool("list", f"s3://{bucket}/ours").splitlines()}
    theirs = {item["Key"] for item in client.list_objects_v2(Bucket=bucket, Prefix="ours/")["Contents"]}
    assert listed == {f"s3://{bucket}/{key}" for key in theirs}
    assert len(listed) == len(NAMES)
    line = tool("remove", *(f"s3://{bucket}/ours/{name}" for name in NAMES))
    assert counts(line)["delete"] == 1
    assert "Contents" not in client.list_objects_v2(Bucket=bucket, Prefix="ours/")


@pytest.mark.parametrize("size", [0, 1, 5 * MIB, 8 * MIB, 8 * MIB + 1, 23 * MIB + 7])
def test_a_file_of_any_size(tool, s3, bucket, size):
    settings = {"s3.multipart.part-size-bytes": 5 * MIB, "s3.multipart.threshold": "1.6"}
    line = counts(tool("write", f"s3://{bucket}/file", size, 1000003, settings=settings))
    answer = s3.client().get_object(Bucket=bucket, Key="file")
    assert answer["Body"].read() == content(size)
    parts = 0 if size <= 8 * MIB else -(-size // (5 * MIB))
    assert line.get("put", 0) == (0 if parts else 1)
    assert line.get("multipart", 0) == (parts + 2 if parts else 0)
    assert line["held"] <= 30 * MIB
    assert "Uploads" not in s3.client().list_multipart_uploads(Bucket=bucket)


def test_checksums_and_headers_are_taken(tool, s3, bucket):
    settings = {"s3.checksum-enabled": "true", "s3.multipart.part-size-bytes": 5 * MIB}
    for size in (1000, 12 * MIB):
        tool("write", f"s3://{bucket}/file", size, MIB, settings=settings)
        assert s3.client().head_object(Bucket=bucket, Key="file")["ContentLength"] == size
        assert tool("read", f"s3://{bucket}/file", settings=settings, text=False) == content(size)


def test_ranges(tool, bucket):
    tool("write", f"s3://{bucket}/file", 100000, 1000)
    whole = content(100000)
    assert tool("read", f"s3://{bucket}/file", 99990, 10, text=False) == whole[-10:]
    assert tool("read", f"s3://{bucket}/file", 12345, 4096, text=False) == whole[12345 : 12345 + 4096]
    with pytest.raises(AssertionError, match="FORMAT: .*ends at byte 100000, 20 bytes wanted from 99990"):
        tool("read", f"s3://{bucket}/file", 99990, 20)
    with pytest.raises(AssertionError, match="FORMAT: .*"):
        tool("read", f"s3://{bucket}/file", 200000, 20)
    with pytest.raises(AssertionError, match="NOT_FOUND: cannot read s3://.*/absent: 404 NoSuchKey"):
        tool("read", f"s3://{bucket}/absent")


def test_errors_name_what_is_wrong(tool, bucket):
    with pytest.raises(AssertionError, match="CONFIG: .*NoSuchBucket.*\ncreate the bucket"):
        tool("read", "s3://no-such-bucket-here/file")
    with pytest.raises(AssertionError, match="AUTH: .*SignatureDoesNotMatch.*\ncheck s3.secret-access-key"):
        tool("read", f"s3://{bucket}/file", settings={"s3.secret-access-key": "wrong"})
    with pytest.raises(AssertionError, match="AUTH: .*(InvalidAccessKeyId|XAdminUserNotFound)"):
        tool("list", f"s3://{bucket}/", settings={"s3.access-key-id": "nobody"})
    quick = {"s3.endpoint": "http://127.0.0.1:1", "s3.retry.num-retries": 1, "s3.retry.min-wait-ms": 1}
    with pytest.raises(AssertionError, match="IO: cannot list s3://.*127.0.0.1:1"):
        tool("list", f"s3://{bucket}/", settings=quick)


def test_put_new_keeps_what_is_there(tool, s3, bucket):
    tool("put", f"s3://{bucket}/offsets/0", "new", "first")
    with pytest.raises(AssertionError, match="EXISTS: s3://.*/offsets/0 exists already"):
        tool("put", f"s3://{bucket}/offsets/0", "new", "first")
    tool("put", f"s3://{bucket}/offsets/1", "replace", "a")
    tool("put", f"s3://{bucket}/offsets/1", "replace", "b")
    assert tool("read", f"s3://{bucket}/offsets/0") == "first"
    assert tool("read", f"s3://{bucket}/offsets/1") == "b"
    keys = [item["Key"] for item in s3.client().list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == ["offsets/0", "offsets/1"], "the probe is gone"


def test_a_listing_of_thousands_and_their_deletion(tool, s3, bucket, campaign):
    many = 5200 if campaign else 1300
    line = counts(tool("many", f"s3://{bucket}/t/data", many, 100))
    assert line["put"] == many
    tool("put", f"s3://{bucket}/t-other/file", "replace", "stays")
    s3.client().put_object(Bucket=bucket, Key="t/marker/", Body=b"")
    listed = [line.split(" ", 2) for line in tool("list", f"s3://{bucket}/t").splitlines()]
    assert [name for _, _, name in listed] == [f"s3://{bucket}/t/data/{i:06}" for i in range(many)]
    assert {size for size, _, _ in listed} == {"100"}
    for start in range(0, many, 1000):
        tool("remove", *(name for _, _, name in listed[start : start + 1000]), f"s3://{bucket}/t/absent")
    assert tool("list", f"s3://{bucket}/t/") == ""
    assert tool("read", f"s3://{bucket}/t-other/file") == "stays"


def test_a_large_file_in_little_memory(tool, s3, bucket, campaign):
    size = (1 << 30) if campaign else 64 * MIB
    line = counts(tool("write", f"s3://{bucket}/large", size, 3 * MIB + 17))
    assert s3.local(f"s3://{bucket}/large").stat().st_size == size
    assert line["held"] <= 80 * MIB
    assert line["peak"] <= 112 * 1024, "KiB of resident memory"
    for at in (0, size // 2, size - 100000):
        assert tool("read", f"s3://{bucket}/large", at, 100000, text=False) == content(100000, at)


def test_a_killed_writer_leaves_nothing_visible(program, tool, s3, bucket):
    properties = {**s3.properties(), "s3.multipart.part-size-bytes": 5 * MIB}
    command = [program, *(f"{k}={v}" for k, v in properties.items()), "--", "half", f"s3://{bucket}/t/data/x", 23 * MIB]
    writer = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "waiting\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert tool("list", f"s3://{bucket}/t") == ""
    uploads = tool("uploads", f"s3://{bucket}/t").splitlines()
    theirs = s3.client().list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert len(uploads) == len(theirs) == 1
    begun, identity, location = uploads[0].split(" ", 2)
    assert location == f"s3://{bucket}/t/data/x"
    assert identity == theirs[0]["UploadId"]
    assert abs(int(begun) / 1000 - theirs[0]["Initiated"].timestamp()) < 2
    assert tool("uploads", f"s3://{bucket}/u") == ""
    tool("abort", f"s3://{bucket}/t")
    assert "Uploads" not in s3.client().list_multipart_uploads(Bucket=bucket)


def test_over_tls_bodies_are_not_signed(tool, s3, tmp_path):
    server = S3OverTls(tmp_path).start()
    try:
        server.bucket("tls")
        trusted = {"s3.endpoint": server.endpoint, "s3.ssl.ca.location": server.certificates.authority}
        line = counts(tool("write", "s3://tls/a b/large", 13 * MIB, MIB, settings=trusted))
        assert line["multipart"] == 4, "begin, two parts, complete"
        assert server.client().get_object(Bucket="tls", Key="a b/large")["Body"].read() == content(13 * MIB)
        assert tool("read", "s3://tls/a b/large", 5, 10, settings=trusted, text=False) == content(10, 5)
        with pytest.raises(AssertionError, match="AUTH: .*127.0.0.1.*certificate"):
            tool("read", "s3://tls/a b/large", settings={"s3.endpoint": server.endpoint})
    finally:
        server.stop()
