# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests: a Kafka broker and a schema registry, started and stopped on free ports of 127.0.0.1.

Each class takes a folder of its own, starts in start() and is ready when a real request was answered; nothing
waits by sleeping for a fixed time. fetch.sh brings the programs; missing() names the reason where they are absent.
"""

import base64
import contextlib
import datetime
import http.client
import http.server
import ipaddress
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("CALVE_TEST_CACHE", ROOT / ".cache"))

USER, PASSWORD = "alice", "alice-secret"
REGISTRY_USER, REGISTRY_PASSWORD = "admin", "admin"


def missing(piece):
    """The reason why a piece of fetch.sh cannot be used, or None."""
    if (CACHE / "stamps" / piece).exists():
        return None
    return f"{piece} was not fetched (tests/support/fetch.sh {piece})"


def free_port():
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Ended(RuntimeError):
    """A process is gone that should run: no use in waiting on."""


def wait_until(condition, seconds, what, every=0.05):
    """Calls condition until it gives something true; the last exception is part of the failure."""
    deadline = time.monotonic() + seconds
    last = None
    while True:
        try:
            value = condition()
            if value:
                return value
        except Ended:
            raise
        except Exception as e:  # noqa: BLE001 (whatever a half-started server answers)
            last = e
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds} s" + (f" ({last!r})" if last else ""))
        time.sleep(every)


class Certificates:
    """A certificate authority and one server key for 127.0.0.1 and localhost, as PEM files."""

    def __init__(self, folder):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        folder.mkdir(parents=True, exist_ok=True)
        now = datetime.datetime.now(datetime.timezone.utc)

        def build(name, issuer, key, signer, is_authority):
            names = x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            )
            return (
                x509.CertificateBuilder()
                .subject_name(name)
                .issuer_name(issuer)
                .public_key(key.public_key())
                .serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(days=1))
                .not_valid_after(now + datetime.timedelta(days=30))
                .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
                .add_extension(names, critical=False)
                .sign(signer, hashes.SHA256())
            )

        def name_of(text):
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

        def key_text(key):
            return key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ).decode()

        pem = serialization.Encoding.PEM
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca = build(name_of("calve tests"), name_of("calve tests"), ca_key, ca_key, True)
        key = ec.generate_private_key(ec.SECP256R1())
        cert = build(name_of("localhost"), ca.subject, key, ca_key, False)
        self.authority = folder / "ca.pem"
        self.certificate = folder / "server.pem"
        self.key = folder / "server.key"
        self.bundle = folder / "server-bundle.pem"
        self.authority.write_text(ca.public_bytes(pem).decode())
        self.certificate.write_text(cert.public_bytes(pem).decode())
        self.key.write_text(key_text(key))
        self.bundle.write_text(key_text(key) + cert.public_bytes(pem).decode() + ca.public_bytes(pem).decode())


class Process:
    """A child process with its log file; stop() ends it politely, kill() at once."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / f"{name}.log"
        self.process = None

    def spawn(self, command, env=None, user=None, cwd=None):
        log = open(self.log, "ab")
        self.process = subprocess.Popen(
            command, cwd=cwd or self.folder, env=env, user=user, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,  # fmt: skip
        )
        log.close()

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def check_alive(self):
        if not self.is_alive():
            tail = self.log.read_text(errors="replace")[-2000:]
            raise Ended(f"{self.log.name}: ended with {self.process.returncode}:\n{tail}")

    def kill(self):
        self._end(signal.SIGKILL)

    def stop(self):
        self._end(signal.SIGTERM)

    def discard(self):
        """Stops it and removes its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how):
        if not self.is_alive():
            return
        self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)


class Broker(Process):
    """One KRaft broker. It always listens in plain text; `tls` adds a TLS listener, `sasl` one with PLAIN and
    SCRAM-SHA-256 for the user alice. Ports stay the same over a restart. `piece` names the fetched version."""

    def __init__(self, folder, tls=False, sasl=False, auto_create=False, heap="400m", settings=None, piece="kafka"):
        super().__init__(folder, "broker")
        self.piece = piece
        self.heap = heap
        self.port = free_port()
        self.controller_port = free_port()
        self.listeners = {"PLAINTEXT": self.port}
        if tls:
            self.listeners["SSL"] = free_port()
        if sasl:
            self.listeners["SASL_PLAINTEXT"] = free_port()
        self.certificates = Certificates(self.folder / "tls") if tls else None
        self.settings = self._settings(auto_create) | (settings or {})

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def address(self, listener):
        return f"127.0.0.1:{self.listeners[listener]}"

    def _settings(self, auto_create):
        listeners = [f"{name}://127.0.0.1:{port}" for name, port in self.listeners.items()]
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners + [f"CONTROLLER://127.0.0.1:{self.controller_port}"]),
            "advertised.listeners": ",".join(listeners),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "true" if auto_create else "false",
            "num.partitions": "3",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "message.max.bytes": str(16 << 20),
            "replica.fetch.max.bytes": str(16 << 20),
            # Compaction within the seconds that a test can wait.
            "log.cleaner.backoff.ms": "200",
            "log.initial.task.delay.ms": "100",
            "log.segment.delete.delay.ms": "100",
        }
        if "SSL" in self.listeners:
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.certificates.bundle)}
        if "SASL_PLAINTEXT" in self.listeners:
            prefix = "listener.name.sasl_plaintext."
            settings |= {
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
                prefix + "plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
                f'required user_{USER}="{PASSWORD}";',
                prefix + "scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram."
                "ScramLoginModule required;",
            }
        return settings

    def _java(self, *words):
        lib = CACHE / self.piece / "lib"
        return ["java", f"-Xmx{self.heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{lib}/*", *words]  # fmt: skip

    def _format(self, properties):
        java = self._java("kafka.tools.StorageTool")
        cluster = subprocess.run(java + ["random-uuid"], check=True, capture_output=True, text=True).stdout.strip()
        command = java + ["format", "-t", cluster, "-c", str(properties)]
        if "SASL_PLAINTEXT" in self.listeners:
            command += ["--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"]
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder)

    def start(self, seconds=120):
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{k}={v}\n" for k, v in self.settings.items()))
        if not (self.folder / "data").exists():
            self._format(properties)
        java = self._java("kafka.Kafka", str(properties))
        # C2 pays off for a broker that a bench loads.
        if os.environ.get("CALVE_BROKER_FAST"):
            java.remove("-XX:TieredStopAtLevel=1")
        self.spawn(java)
        wait_until(self._answers, seconds, "broker")
        return self

    def _answers(self):
        self.check_alive()
        from confluent_kafka.admin import AdminClient

        metadata = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=2)
        return len(metadata.brokers) == 1

    def restart(self):
        self.stop()
        return self.start()


class RegistryProxy:
    """Stands before the registry: asks for basic auth, speaks TLS if wanted, and fails as a test wants.

    mode: ok · refuse (the port is closed) · 401 · 500 · any other status · delay (answers after `delay` seconds).
    `requests` lists the paths that were asked for."""

    def __init__(self, target_port, user=REGISTRY_USER, password=REGISTRY_PASSWORD, certificates=None):
        self.target_port = target_port
        self.credentials = f"{user}:{password}" if user else None
        self.certificates = certificates
        self.port = free_port()
        self.mode = "ok"
        self.delay = 2.0
        self.requests = []
        self._server = None
        self._open()

    @property
    def url(self):
        return f"{'https' if self.certificates else 'http'}://127.0.0.1:{self.port}"

    def set_mode(self, mode):
        self.mode = mode
        if mode == "refuse":
            self.close()
        elif self._server is None:
            self._open()

    @contextlib.contextmanager
    def failing(self, mode):
        self.set_mode(mode)
        try:
            yield self
        finally:
            self.set_mode("ok")

    def _open(self):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                proxy.handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = answer

        class Server(http.server.ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", self.port), Handler)
        if self.certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificates.certificate, self.certificates.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def is_authorized(self, headers):
        if self.credentials is None:
            return True
        want = "Basic " + base64.b64encode(self.credentials.encode()).decode()
        return headers.get("Authorization") == want

    def handle(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length) if length else None
        self.requests.append(request.path)
        if self.mode == "delay":
            time.sleep(self.delay)
        if self.mode.isdigit():
            return self.reply(request, int(self.mode), b'{"error_code":50001,"message":"set by the test"}')
        if self.mode == "refuse":
            request.close_connection = True
            return None
        if not self.is_authorized(request.headers):
            return self.reply(request, 401, b'{"error_code":401,"message":"Unauthorized"}')
        upstream = http.client.HTTPConnection("127.0.0.1", self.target_port, timeout=30)
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json"), "Accept": "*/*"}
        upstream.request(request.command, "/apis/ccompat/v7" + request.path, body, headers)
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        return self.reply(request, answer.status, data, answer.getheader("Content-Type"))

    def reply(self, request, status, data, kind="application/vnd.schemaregistry.v1+json"):
        request.send_response(status)
        request.send_header("Content-Type", kind or "application/json")
        request.send_header("Content-Length", str(len(data)))
        if status == 401:
            request.send_header("WWW-Authenticate", 'Basic realm="registry"')
        request.end_headers()
        request.wfile.write(data)


class Registry(Process):
    """Apicurio, in memory, with its proxies: `proxy` asks for basic auth; open_proxy() makes further ones."""

    def __init__(self, folder):
        super().__init__(folder, "registry")
        self.port = free_port()
        self.proxies = []
        self.proxy = None

    def start(self, seconds=180):
        jar = next((CACHE / "registry").glob("*-runner.jar"))
        self.spawn(
            ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dquarkus.http.port={self.port}",
             "-Dquarkus.http.host=127.0.0.1", "-Dapicurio.storage.kind=sql", "-Dapicurio.storage.sql.kind=h2",
             "-Dquarkus.log.level=WARN", "-jar", str(jar)]  # fmt: skip
        )
        wait_until(self._answers, seconds, "registry", every=0.2)
        self.proxy = self.open_proxy()
        return self

    def open_proxy(self, **options):
        self.proxies.append(RegistryProxy(self.port, **options))
        return self.proxies[-1]

    def _answers(self):
        self.check_alive()
        return self.request("GET", "/subjects") is not None

    def request(self, method, path, body=None):
        import requests

        url = f"http://127.0.0.1:{self.port}/apis/ccompat/v7{path}"
        answer = requests.request(method, url, json=body, timeout=30)
        if answer.status_code >= 400:
            raise RuntimeError(f"registry: {method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer.json()

    def register(self, subject, schema, references=()):
        """Returns the id of an Avro schema given as JSON text or as a Python value."""
        import json

        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = {"schema": text, "schemaType": "AVRO"}
        if references:
            body["references"] = list(references)
        return self.request("POST", f"/subjects/{subject}/versions", body)["id"]

    def stop(self):
        for proxy in self.proxies:
            proxy.close()
        self.proxies = []
        super().stop()
