# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that stands before a PostgreSQL server and breaks chosen statements: it reads what a client sends
in plain text (sslmode=disable) and does one thing to the first message that holds a text."""

import contextlib
import socket
import threading

READY = b"Z\x00\x00\x00\x05"  # ReadyForQuery: the transaction before it is over


class Cutter:
    """`plan` = [(text, action)], each done once, in order: "before" cuts before the server gets the statement, "after"
    when the server has answered it (and after_cut() has run), "hold" never passes its answer on, "late" only lets the server have it after the
    client went away."""

    def __init__(self, port):
        self.target = port
        self.plan = []
        self.done = []
        self.after_cut = None
        self.connections = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _next(self, data):
        with self.lock:
            if self.plan and self.plan[0][0].encode() in data:
                self.done.append(self.plan[0])
                return self.plan.pop(0)[1]
        return None

    def _serve(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.target)) as server:
            answers = threading.Event()
            answers.set()
            threading.Thread(target=self._answer, args=(server, client, answers), daemon=True).start()
            while data := client.recv(65536):
                action = self._next(data)
                if action is None:
                    server.sendall(data)
                    continue
                answers.clear()
                if action in ("after", "hold"):
                    server.sendall(data)
                if action == "after":
                    self._wait_ready(server)
                    if self.after_cut:
                        self.after_cut()
                if action in ("hold", "late"):
                    client.settimeout(60)
                    client.recv(1)
                if action == "late":
                    server.sendall(data)
                    self._wait_ready(server)
                client.shutdown(socket.SHUT_RDWR)
                return

    def _answer(self, server, client, answers):
        """While `answers` is set the server's bytes go on; afterwards they are left for _wait_ready()."""
        with contextlib.suppress(OSError):
            while True:
                data = server.recv(65536, socket.MSG_PEEK)
                if not answers.is_set():
                    return
                if not data:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(server.recv(len(data)))

    @staticmethod
    def _wait_ready(server):
        server.settimeout(30)
        seen = b""
        while READY not in seen:
            data = server.recv(65536)
            if not data:
                return
            seen += data
