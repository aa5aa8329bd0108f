# SPDX-License-Identifier: Apache-2.0
"""What servers ask of a client, as watchers of the proxies in faults.py: a REST catalog with tokens, rights, warehouses
and a prefix, before the fixture that has none of them; an S3 service whose clock is elsewhere."""

import email.utils
import json
import time
import urllib.parse


def _json(status, reason, answer):
    return status, reason, [("Content-Type", "application/json")], json.dumps(answer).encode()


def _error(status, reason, kind, message):
    return _json(status, reason, {"error": {"message": message, "type": kind, "code": status}})


def _header(head, name):
    for line in head[1:]:
        key, _, value = line.decode("latin-1").partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return ""


class Gate:
    """`client`: (id, secret) that a token is given for. Whoever holds `token` may do all, whoever holds `reader` may ask
    for the configuration only."""

    def __init__(self, client, token, reader, warehouse, prefix):
        self.client, self.token, self.reader = client, token, reader
        self.warehouse, self.prefix = warehouse, prefix

    def ask(self, request, head, body):
        head = [line for line in head if not line.lower().startswith(b"accept-encoding:")]
        path, _, query = request.path.partition("?")
        base, _, rest = path.partition("/v1/")
        if rest == "oauth/tokens":
            return self._give_token(urllib.parse.parse_qs(body.decode())), head
        bearer = _header(head, "authorization").removeprefix("Bearer ")
        if bearer not in (self.token, self.reader):
            return _error(401, "Unauthorized", "NotAuthorizedException", "the token is not known"), head
        if rest == "config":
            wanted = urllib.parse.parse_qs(query).get("warehouse", [""])[0]
            if wanted != self.warehouse:
                return _error(404, "Not Found", "NotFoundException", f"Unable to find warehouse {wanted}"), head
            return None, head
        if bearer == self.reader:
            return _error(403, "Forbidden", "ForbiddenException", "not allowed to list namespaces"), head
        prefix, _, inner = rest.partition("/")
        if prefix != self.prefix:
            return _error(404, "Not Found", "NotFoundException", f"Unable to find catalog {prefix}"), head
        method, _, version = head[0].split(b" ")
        target = f"{base}/v1/{inner}" + (f"?{query}" if query else "")
        return None, [b" ".join((method, target.encode(), version)), *head[1:]]

    def _give_token(self, form):
        if (form.get("client_id", [""])[0], form.get("client_secret", [""])[0]) != self.client:
            return _json(401, "Unauthorized", {"error": "invalid_client", "error_description": "Client not known"})
        answer = {"access_token": self.token, "token_type": "bearer", "expires_in": 3600}
        return _json(200, "OK", answer)

    def answer(self, request, status, headers, text):
        if request.kind == "rest config" and status == 200:
            answer = json.loads(text)
            answer.setdefault("defaults", {})["prefix"] = self.prefix
            text = json.dumps(answer).encode()
        return status, headers, text


class WrongClock:
    """Refuses every request as S3 does whose clock differs by that many seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def ask(self, request, head, body):
        text = "<?xml version=\"1.0\"?><Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the "
        text += "request time and the server's time is too large.</Message></Error>"
        date = email.utils.formatdate(time.time() + self.seconds, usegmt=True)
        headers = [("Content-Type", "application/xml"), ("Date", date)]
        return (403, "Forbidden", headers, b"" if request.method == "HEAD" else text.encode()), head

    def answer(self, request, status, headers, text):
        return status, headers, text
