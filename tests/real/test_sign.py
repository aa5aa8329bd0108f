# SPDX-License-Identifier: Apache-2.0
"""Signatures of requests compared with botocore's, for names that are easily encoded wrong.

The unit test of signing signs what it is told when called with arguments.
"""

import datetime
import hashlib
import pathlib
import subprocess
import urllib.parse

import pytest

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SAFE = "-._~"

NAMES = ["plain", "two words", "a+b", "100%", "day=2026-01-01", "naïve/日本/🧊", "a//b/../c", "quote'\"(x)*!", "%20",
         "tilde~-_.", "semi;colon:at@and&", "back\\slash", "\x01\x1f\x7f"]
QUERIES = [
    [],
    [("uploads", "")],
    [("list-type", "2"), ("prefix", "a b/ü+%="), ("continuation-token", "1/ab+c=="), ("max-keys", "1000")],
    [("partNumber", "10"), ("uploadId", "x~y.z-1"), ("partNumber", "9")],
    [("X", "1"), ("x", "2"), ("x-y", "3"), ("x%", "4"), ("", "")],
]
HEADERS = [
    [],
    [("Range", "bytes=0-9"), ("Content-Type", "application/xml; charset=utf-8"), ("If-None-Match", "*")],
    [("X-Meta", "  several   blanks  inside "), ("X-Amz-Acl", "private"), ("User-Agent", "calve")],
]


def our_headers(program, service, region, moment, token, method, url, body, headers):
    told = [service, region, str(int(moment.timestamp() * 1000)), token, method, url, body]
    told += [part for header in headers for part in header]
    answer = subprocess.run([program, *told], capture_output=True, text=True, check=True)
    return dict(line.split(": ", 1) for line in answer.stdout.splitlines())


def their_authorization(monkeypatch, service, region, moment, token, method, url, body, headers):
    auth = pytest.importorskip("botocore.auth", reason="botocore is not installed")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    monkeypatch.setattr(auth, "get_current_datetime", lambda: moment.replace(tzinfo=None))
    request = AWSRequest(method=method, url=url, data=body, headers=dict(headers))
    signer = auth.S3SigV4Auth if service == "s3" else auth.SigV4Auth
    if service == "s3":
        request.context["payload_signing_enabled"] = True
    else:
        request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body.encode()).hexdigest()
    signer(Credentials(KEY, SECRET, token or None), service, region).add_auth(request)
    return request.headers["Authorization"]


def compare(calve, monkeypatch, service, token, method, url, body, headers):
    places = [build / "tests" / "unit" / "test_storage_sign" for build in pathlib.Path(calve).parents]
    program = next((place for place in places if place.exists()), None)
    if program is None:
        pytest.skip("tests/unit/test_storage_sign was not built beside the program")
    moment = datetime.datetime(2026, 2, 28, 23, 59, 58, tzinfo=datetime.timezone.utc)
    told = (service, "eu-central-1", moment, token, method, url, body, headers)
    ours, theirs = our_headers(program, *told), their_authorization(monkeypatch, *told)
    assert ours["Authorization"] == theirs, f"{service} {method} {url}"


def url_of(host, name, query):
    path = urllib.parse.quote(name, safe=SAFE + "/")
    text = "&".join(f"{urllib.parse.quote(key, safe=SAFE)}={urllib.parse.quote(value, safe=SAFE)}" for key, value in query)
    return f"{host}/{path}" + (f"?{text}" if text else "")


@pytest.mark.parametrize("service", ["s3", "execute-api"])
def test_names(calve, monkeypatch, service):
    for name in NAMES:
        for token in ("", "tok/en+=="):
            url = url_of("https://bucket.example.com", name, [])
            compare(calve, monkeypatch, service, token, "GET", url, "", [])


@pytest.mark.parametrize("service", ["s3", "glue"])
def test_queries_headers_and_bodies(calve, monkeypatch, service):
    for query in QUERIES:
        for headers in HEADERS:
            url = url_of("http://127.0.0.1:9000", "bucket/a key", [part for part in query if any(part)])
            compare(calve, monkeypatch, service, "", "PUT" if headers else "POST", url, "body ü", headers)
