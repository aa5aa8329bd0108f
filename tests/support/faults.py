# SPDX-License-Identifier: Apache-2.0
"""A network that fails: proxies that stand between calve and the S3 server and between calve and the REST catalog.

Every request gets a number and a kind ("s3 put data", "rest commit", …). A plan names a request by its kind and its
place among those of its kind, and what happens to it: one of FAULTS, once, or as often as it is sent again. Requests
are passed on as they came, Host included, because their signatures cover it.
"""

import http.client
import re
import socket
import socketserver
import struct
import threading
import time

from components import free_port
from lakes import SERVERS

# What happens to one request. Those of REACHED have done their work on the server.
FAULTS = [
    "reset before", "reset after", "time-out", "500", "500 after", "502", "503", "409", "truncated", "garbage",
    "slow body", "expired token",
]  # fmt: skip
REACHED = {"reset after", "time-out", "500 after", "truncated", "garbage", "slow body", "outage after"}
# The request and all that follow are refused: the process meets no server until the test brings it back.
OUTAGE = "outage"
# The request does its work, its answer is lost, and all that follow are refused.
OUTAGE_AFTER = "outage after"

HELD_S = 2.5  # longer than what tests set for calve's time-outs
SLOW_S = 20.0

_FILES = [
    (r"/metadata/snap-[^/]*\.avro$", "manifest list"),
    (r"/metadata/[^/]*\.avro$", "manifest"),
    (r"/metadata/[^/]*\.metadata\.json$", "metadata"),
    (r"version-hint", "hint"),
    (r"-deletes\.parquet$|/data/.*deletes[^/]*$", "deletes"),
    (r"\.(parquet|avro|orc)$", "data"),
    (r"/(offsets|commits|sources)/|/metadata$|calve\.json", "checkpoint"),
]


def s3_kind(method, path):
    path, _, query = path.partition("?")
    names = {pair.split("=")[0] for pair in query.split("&")}
    what = next((name for pattern, name in _FILES if re.search(pattern, path)), "object")
    if method == "POST":
        if "delete" in names:
            return "delete many"
        return f"begin upload of {what}" if "uploads" in names else f"complete upload of {what}"
    if method == "PUT" and "partNumber" in names:
        return f"put part of {what}"
    if method == "DELETE" and "uploadId" in names:
        return f"abort upload of {what}"
    if method == "GET" and ("list-type" in names or "uploads" in names or path.count("/") < 2):
        return "list uploads" if "uploads" in names else "list"
    return f"{method.lower()} {what}"


def rest_kind(method, path):
    path = path.partition("?")[0]
    if path.endswith("/config"):
        return "config"
    if path.endswith("/oauth/tokens"):
        return "token"
    for end in ("metrics", "credentials", "register", "rename", "commit"):
        if path.endswith("/" + end):
            return end
    table = re.search(r"/tables/[^/]+$", path)
    if path.endswith("/tables"):
        return "create table" if method == "POST" else "list tables"
    if table:
        return {"GET": "load table", "HEAD": "look for table", "POST": "commit", "DELETE": "drop table"}[method]
    return f"{method.lower()} namespace"


class Request:
    def __init__(self, number, kind, nth, method, path):
        self.number, self.kind, self.nth, self.method, self.path = number, kind, nth, method, path
        self.fault = None
        self.status = None  # of the server's answer; None = it never heard of it
        self.begun = time.monotonic()
        self.answered = None  # when the server had answered, before the proxy says so
        self.seconds = None
        self.sent = self.received = 0

    def __repr__(self):
        return f"#{self.number} {self.kind}[{self.nth}] {self.method} {self.path} → {self.status} {self.fault or ''}"


class Faults:
    """Numbers and plan of the proxies of one lake; close() ends them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.proxies = []
        # Proxy name → object with ask(request, head, body) → (a refusal or None, head), which sees every request, and
        # answer(request, status, headers, text) → (status, headers, text); see vending.py.
        self.watchers = {}
        self.reset()

    def reset(self, plan=None):
        """Forgets what was. `plan`: {(kind, nth): fault, or (fault, times)}, nth from 0; fault may be a function of
        (proxy connection, request, head, body) for what is not in FAULTS."""
        with self.lock:
            self.requests = []
            self.counts = {}
            self.plan = dict(plan or {})
            self.left = {}
            self.outage = False
            self.met = []
            self.chance = None  # (pattern of kinds, probability, faults, random.Random)
            self.ended = threading.Event()

    def proxy(self, name, port):
        """A proxy before a server; its port."""
        self.proxies.append(_Proxy(self, name, port))
        return self.proxies[-1].port

    def stand_before(self, lake):
        """calve reaches the lake's S3 server, and its catalog where that is REST, through proxies of these."""
        if lake.catalog == "rest":
            lake.calve_uri = f"http://127.0.0.1:{self.proxy('rest', SERVERS.get('rest').port)}/{lake.name}"
        lake.calve_endpoint = f"http://127.0.0.1:{self.proxy('s3', SERVERS.get('s3').port)}"
        return self

    def close(self):
        self.ended.set()
        for proxy in self.proxies:
            proxy.close()

    def enter(self, name, method, path):
        """A request has come: the request and its fault."""
        kind = f"{name} " + (s3_kind if name == "s3" else rest_kind)(method, path)
        with self.lock:
            nth = self.counts.get(kind, 0)
            self.counts[kind] = nth + 1
            request = Request(len(self.requests), kind, nth, method, path)
            self.requests.append(request)
            if self.outage:
                request.fault = OUTAGE
                return request
            if self.chance and re.search(self.chance[0], kind) and self.chance[3].random() < self.chance[1]:
                request.fault = self.chance[3].choice(self.chance[2])
                self.met.append(request)
                return request
            planned = self.plan.get((kind, nth))
            if planned is None:
                # Faults that strike more than once strike the next of their kind: what is sent again.
                planned = next((k for k, n in self.left.items() if k[0] == kind and n > 0), None)
                if planned is None:
                    return request
                self.left[planned] -= 1
                planned = self.plan[planned]
            elif isinstance(planned, tuple):
                self.left[kind, nth] = planned[1] - 1
            request.fault = planned[0] if isinstance(planned, tuple) else planned
            self.met.append(request)
            self.outage = request.fault in (OUTAGE, OUTAGE_AFTER)
            return request

    def kinds(self):
        """(kind, nth) of every request so far, in order."""
        with self.lock:
            return [(r.kind, r.nth) for r in self.requests]

    def sums(self):
        with self.lock:
            return dict(self.counts)

    def accepted(self):
        """Connections that were made to each proxy."""
        return {proxy.name: proxy.accepted for proxy in self.proxies}


_STATUS = {
    "500": (500, "Internal Server Error", "InternalError", "ServiceFailureException"),
    "500 after": (500, "Internal Server Error", "InternalError", "ServiceFailureException"),
    "502": (502, "Bad Gateway", None, None),
    "503": (503, "Service Unavailable", "SlowDown", "ServiceUnavailableException"),
    "409": (409, "Conflict", "OperationAborted", "CommitFailedException"),
}


def _refusal(name, fault, method):
    """Status, headers and body as the server would write them."""
    headers = {}
    if fault == "expired token":
        status = (400, "Bad Request", "ExpiredToken", None) if name == "s3" else (
            419, "Credentials have timed out", None, "AuthenticationTimeoutException")  # fmt: skip
    else:
        status = _STATUS[fault]
    if fault == "503":
        headers["Retry-After"] = "1"
    code, reason, s3_code, rest_type = status
    if name == "s3" and s3_code:
        body = f"<?xml version=\"1.0\"?><Error><Code>{s3_code}</Code><Message>set by the test</Message></Error>"
        headers["Content-Type"] = "application/xml"
    elif name == "rest" and rest_type:
        body = f'{{"error": {{"message": "set by the test", "type": "{rest_type}", "code": {code}}}}}'
        headers["Content-Type"] = "application/json"
    else:
        body = "<html><body>bad gateway</body></html>"
        headers["Content-Type"] = "text/html"
    return code, reason, headers, b"" if method == "HEAD" else body.encode()


class _Proxy:
    def __init__(self, faults, name, target):
        self.faults, self.name, self.target = faults, name, target
        self.port = free_port()
        self.accepted = 0  # connections so far
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            rbufsize = 1 << 16
            wbufsize = 0
            disable_nagle_algorithm = True

            def handle(self):
                proxy.accepted += 1
                upstream = Upstream(proxy.target)
                try:
                    while proxy.serve(self, upstream):
                        pass
                except (ConnectionError, TimeoutError, OSError):
                    pass
                finally:
                    upstream.close()

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 128

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def serve(self, connection, upstream):
        """One request; whether the connection goes on."""
        head = _read_head(connection.rfile)
        if head is None:
            return False
        method, path = head[0].split(b" ")[:2]
        method, path = method.decode(), path.decode()
        if any(line.lower().startswith(b"expect:") for line in head):
            connection.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = _read_body(connection.rfile, head)
        request = self.faults.enter(self.name, method, path)
        request.sent = len(body)
        fault = request.fault
        try:
            if callable(fault):
                return fault(self, connection, upstream, request, head, body)
            if fault in (OUTAGE, "reset before"):
                return _reset(connection)
            if fault in ("500", "502", "503", "409", "expired token"):
                code, reason, headers, text = _refusal(self.name, fault, method)
                return write_answer(connection, code, reason, headers.items(), text)
            watcher = self.faults.watchers.get(self.name)
            if watcher:
                refused, head = watcher.ask(request, head, body)
                if refused:
                    return write_answer(connection, *refused)
            status, reason, headers, text = upstream.exchange(head, body, method)
            if watcher:
                status, headers, text = watcher.answer(request, status, headers, text)
            request.status, request.received, request.answered = status, len(text), time.monotonic()
            return self.answer(connection, request, status, reason, headers, text)
        finally:
            request.seconds = time.monotonic() - request.begun

    def answer(self, connection, request, status, reason, headers, text):
        fault = request.fault
        if fault in ("reset after", OUTAGE_AFTER):
            return _reset(connection)
        if fault == "time-out":
            self.faults.ended.wait(HELD_S)
            return _reset(connection)
        if fault == "500 after":
            code, reason, extra, text = _refusal(self.name, fault, request.method)
            return write_answer(connection, code, reason, extra.items(), text)
        if fault == "truncated":
            return _truncate(connection, status, reason, headers, text)
        if fault == "garbage":
            text = b"" if request.method == "HEAD" else b"\x00\xff<<{not what was asked for" * 8
            headers = [(k, v) for k, v in headers if k.lower() not in ("content-encoding", "etag")]
            return write_answer(connection, status, reason, headers, text)
        if fault == "slow body":
            return self.trickle(connection, status, reason, headers, text)
        length = None
        if request.method == "HEAD":
            length = next((v for k, v in headers if k.lower() == "content-length"), "0")
        return write_answer(connection, status, reason, headers, text, length)

    def trickle(self, connection, status, reason, headers, text):
        data = _head(status, reason, headers, len(text)) + text
        deadline = time.monotonic() + SLOW_S
        while data and time.monotonic() < deadline and not self.faults.ended.is_set():
            connection.wfile.write(data[:1])
            data = data[1:]
            time.sleep(0.05)
        connection.wfile.write(data)
        return True


class Upstream:
    """A kept connection to the server, opened when needed."""

    def __init__(self, port):
        self.port = port
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def exchange(self, head, body, method):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = [line for line in head if not line.lower().startswith((b"expect:", b"connection:"))]
        self.connection.sock.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        answer = http.client.HTTPResponse(self.connection.sock, method=method)
        answer.begin()
        text = answer.read()
        headers = answer.getheaders()
        if answer.will_close:
            self.close()
        return answer.status, answer.reason, headers, text


def _read_head(stream):
    lines = []
    while True:
        line = stream.readline(65536)
        if not line:
            return None
        line = line.rstrip(b"\r\n")
        if line:
            lines.append(line)
        elif lines:
            return lines


def _read_body(stream, head):
    """The body as it came; a chunked one with its framing, for it is passed on with its header."""
    for line in head:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return stream.read(int(value))
        if name.strip().lower() == b"transfer-encoding":
            body = b""
            while True:
                size = stream.readline()
                body += size + stream.read(int(size.split(b";")[0], 16) + 2)
                if int(size.split(b";")[0], 16) == 0:
                    return body
    return b""


def _head(status, reason, headers, length):
    skipped = ("content-length", "transfer-encoding", "connection")
    lines = [f"HTTP/1.1 {status} {reason}"] + [f"{k}: {v}" for k, v in headers if k.lower() not in skipped]
    if status not in (204, 304):
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def write_answer(connection, status, reason, headers, text, length=None):
    connection.wfile.write(_head(status, reason, headers, len(text) if length is None else length) + text)
    return True


def _truncate(connection, status, reason, headers, text):
    """Ends in the middle of the body; of the headers where there is none."""
    data = _head(status, reason, headers, len(text))
    connection.wfile.write(data + text[: len(text) // 2] if len(text) > 1 else data[: len(data) // 2])
    connection.connection.shutdown(socket.SHUT_RDWR)
    return False


def _reset(connection):
    connection.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.connection.close()
    return False
