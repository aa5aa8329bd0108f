# SPDX-License-Identifier: Apache-2.0
"""Credentials that a REST catalog vends and that end: watchers of the proxies in faults.py. The catalog's answers get
session credentials for the table's own files; the S3 side takes no others, refuses them when their time is over as S3
does, checks their signature, and signs anew for the server behind."""

import hashlib
import hmac
import json
import re
import secrets
import time
import urllib.parse

from stores import ACCESS_KEY, REGION, SECRET_KEY


class Vended:
    def __init__(self, prefix, seconds):
        self.prefix = prefix
        self.key = "ASIA" + secrets.token_hex(8).upper()
        self.secret = secrets.token_hex(20)
        self.token = secrets.token_hex(32)
        self.ends = time.time() + seconds
        self.uses = 0


class Vending:
    """`seconds`: how long credentials live. `told`: whether the catalog says when they end. `endpoint`: whether it has
    the route that only gives credentials."""

    def __init__(self, faults, seconds, told=True, endpoint=False):
        self.seconds, self.told, self.endpoint = seconds, told, endpoint
        self.issued = {}  # token → Vended
        self.refused = []  # (why, method, path)
        faults.watchers = {"rest": _Catalog(self), "s3": _Store(self)}

    def issue(self, location):
        vended = Vended(location.rstrip("/") + "/", self.seconds)
        self.issued[vended.token] = vended
        config = {
            "s3.access-key-id": vended.key,
            "s3.secret-access-key": vended.secret,
            "s3.session-token": vended.token,
        }
        if self.told:
            config["s3.session-token-expires-at-ms"] = str(int(vended.ends * 1000))
        return [{"prefix": vended.prefix, "config": config}]

    def prefixes(self):
        return {v.prefix for v in self.issued.values() if v.uses}


CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"


class _Catalog:
    def __init__(self, vending):
        self.vending = vending
        self.locations = {}  # path of a table → its location

    def ask(self, request, head, body):
        # An answer that is to be changed must not be compressed.
        head = [line for line in head if not line.lower().startswith(b"accept-encoding:")]
        if request.kind == "rest credentials" and self.vending.endpoint:
            table = request.path.partition("?")[0].removesuffix("/credentials")
            text = json.dumps({"storage-credentials": self.vending.issue(self.locations[table])}).encode()
            return (200, "OK", [("Content-Type", "application/json")], text), head
        return None, head

    def answer(self, request, status, headers, text):
        if status != 200 or request.kind not in ("rest config", "rest load table", "rest create table", "rest commit"):
            return status, headers, text
        answer = json.loads(text)
        if request.kind == "rest config":
            if self.vending.endpoint:
                answer["endpoints"].append(CREDENTIALS)
        else:
            location = answer["metadata"]["location"]
            self.locations[request.path.partition("?")[0]] = location
            if request.kind != "rest commit":
                answer["storage-credentials"] = self.vending.issue(location)
        return status, headers, json.dumps(answer).encode()


def _refusal(status, reason, code):
    text = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>set by the test</Message></Error>'
    return status, reason, [("Content-Type", "application/xml")], text.encode()


class _Store:
    def __init__(self, vending):
        self.vending = vending

    def ask(self, request, head, body):
        refusal = self.judge(request, head)
        if refusal:
            self.vending.refused.append((refusal[2], request.method, request.path))
            return _refusal(*refusal), head
        return None, sign_anew(request.method, request.path, head)

    def judge(self, request, head):
        headers = _headers(head)
        vended = self.vending.issued.get(headers.get("x-amz-security-token"))
        if vended is None:
            return 403, "Forbidden", "AccessDenied"
        if time.time() > vended.ends:
            return 400, "Bad Request", "ExpiredToken"
        if signature(request.method, request.path, headers, vended.secret) != headers["authorization"].split("Signature=")[1]:
            return 403, "Forbidden", "SignatureDoesNotMatch"
        bucket, _, key = urllib.parse.unquote(request.path.partition("?")[0])[1:].partition("/")
        if key and not f"s3://{bucket}/{key}".startswith(vended.prefix):
            return 403, "Forbidden", "AccessDenied"
        vended.uses += 1
        return None

    def answer(self, request, status, headers, text):
        return status, headers, text


def _headers(head):
    pairs = [line.decode("latin-1").partition(":") for line in head[1:]]
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def signature(method, path, headers, secret):
    """SigV4 of what an Authorization header says is signed."""
    scope, names = re.search(r"Credential=[^/]+/([^,]+),\s*SignedHeaders=([^,]+)", headers["authorization"]).groups()
    path, _, query = path.partition("?")
    pairs = sorted(pair if "=" in pair else pair + "=" for pair in query.split("&") if pair)
    canonical = "\n".join(
        [method, path, "&".join(pairs)]
        + [f"{n}:{' '.join(headers[n].split())}" for n in names.split(";")]
        + ["", names, headers["x-amz-content-sha256"]]
    )
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def sign_anew(method, path, head):
    """With the server's own key in place of the session's."""
    headers = _headers(head)
    names = re.search(r"SignedHeaders=([^,]+)", headers["authorization"])[1].split(";")
    names = ";".join(n for n in names if n != "x-amz-security-token")
    scope = f"{headers['x-amz-date'][:8]}/{REGION}/s3/aws4_request"
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature="
    headers["authorization"] += signature(method, path, headers, SECRET_KEY)
    kept = [line for line in head if not line.lower().startswith((b"authorization:", b"x-amz-security-token:"))]
    return [*kept, f"Authorization: {headers['authorization']}".encode()]
