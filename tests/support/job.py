# SPDX-License-Identifier: Apache-2.0
"""Job files and runs of the program under test.

A Job is one job file on a lake (lakes.py). Job.run() waits for the end and returns what was printed; Job.start()
leaves the process running.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import yaml
from components import ROOT, Ended, wait_until
from lakes import Lake, local, next_number  # noqa: F401 (tests take both from here)


def calve_binary():
    wanted = os.environ.get("CALVE_BIN")
    candidates = [wanted] if wanted else [ROOT / "build/calve", ROOT / "build/src/cli/calve"]
    for path in candidates:
        if os.access(path, os.X_OK) and pathlib.Path(path).is_file():
            return str(pathlib.Path(path).resolve())
    raise FileNotFoundError(f"no calve at {', '.join(map(str, candidates))}; build it or set CALVE_BIN")


class Run:
    """What a finished process left."""

    def __init__(self, command, status, out, err, progress, seconds=0.0):
        self.command = command
        self.status = status
        self.out = out
        self.err = err
        self.progress = progress
        self.seconds = seconds

    @property
    def text(self):
        return self.out + self.err

    def check(self):
        assert self.status == 0, self
        return self

    def __repr__(self):
        return f"{' '.join(self.command)}: exit {self.status}\n{self.out[-3000:]}\n{self.err[-5000:]}"


def run_calve(*arguments, timeout=60, env=None, cwd=None, stdin=None):
    command = [calve_binary(), *map(str, arguments)]
    begun = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, timeout=timeout, env=os.environ | (env or {}), cwd=cwd, input=stdin, check=False
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return Run(command, done.returncode, out, err, [], time.monotonic() - begun)


class Job:
    """A job file; `config` is its content and may be changed until write(). Sections are given as dicts and override
    what the helper fills in: source options, value, select, sink options."""

    def __init__(
        self, lake, broker, table, topic=None, source=None, value=None, select=None, sink=None, name=None, **top
    ):
        self.lake = lake
        self.name = name or f"job{next_number()}"
        self.folder = lake.folder / self.name
        self.folder.mkdir(exist_ok=True)
        self.file = self.folder / "job.yaml"
        self.checkpoint = self.folder / "checkpoint"
        self.progress_file = self.folder / "progress.jsonl"
        self.table = table
        bootstrap = broker if isinstance(broker, str) else broker.bootstrap
        self.config = {
            "job": self.name,
            "catalogs": {lake.name: lake.job_entry()},
            "source": {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest"},
            "sink": {
                "table": f"{lake.name}.{table}",
                "outputMode": "append",
                "checkpointLocation": str(self.checkpoint),
            },
            **top,
        }
        if topic:
            self.config["source"]["subscribe"] = topic
        self.config["source"] |= source or {}
        self.config["sink"] |= sink or {}
        for key in [k for section in ("source", "sink") for k, v in self.config[section].items() if v is None]:
            self.config["source"].pop(key, None)
            self.config["sink"].pop(key, None)
        if value is not None:
            self.config["value"] = value if isinstance(value, dict) else {"format": value}
        if select is not None:
            self.config["select"] = select
        self.write()

    def write(self):
        self.file.write_text(yaml.safe_dump(self.config, sort_keys=False, allow_unicode=True))
        return self

    def command(self, *arguments):
        return [calve_binary(), "run", str(self.file), "--progress-json", str(self.progress_file), *arguments]

    @staticmethod
    def environment(fault=None, env=None):
        extra = {"CALVE_FAULT": fault} if fault else {}
        return os.environ | extra | (env or {})

    def start(self, *arguments, fault=None, env=None):
        log = open(self.folder / "run.log", "ab")
        process = subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=self.environment(fault, env), start_new_session=True  # fmt: skip
        )
        log.close()
        return Running(self, process)

    def run(self, *arguments, fault=None, env=None, timeout=60):
        """`calve run --available-now` unless other arguments say when to end."""
        before = len(self.progress())
        command = self.command(*(arguments or ("--available-now",)))
        begun = time.monotonic()
        done = subprocess.run(
            command, capture_output=True, timeout=timeout, env=self.environment(fault, env), check=False,
            stdin=subprocess.DEVNULL  # fmt: skip
        )
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return Run(command, done.returncode, out, err, self.progress()[before:], time.monotonic() - begun)

    def progress(self):
        if not self.progress_file.exists():
            return []
        lines = self.progress_file.read_text().splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    def batches(self):
        """Progress of batches that ran, idle reports left out."""
        return [p for p in self.progress() if "addBatch" in p["durationMs"]]

    def log_ids(self, kind):
        """The batch ids in offsets/ or commits/."""
        folder = self.checkpoint / kind
        return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit()) if folder.exists() else []

    def offsets(self, batch):
        """The end offsets of a batch as the checkpoint has them."""
        return json.loads((self.checkpoint / "offsets" / str(batch)).read_text().split("\n")[2])


class Running:
    """A job that runs; it is killed at the end of the with block."""

    def __init__(self, job, process):
        self.job = job
        self.process = process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def log(self):
        return (self.job.folder / "run.log").read_text(errors="replace")

    def alive(self):
        if self.process.poll() is not None:
            raise Ended(f"calve ended with {self.process.returncode}:\n{self.log()[-5000:]}")
        return True

    def wait_for(self, condition, seconds, what):
        return wait_until(lambda: self.alive() and condition(), seconds, what)

    def signal(self, how):
        self.process.send_signal(how)

    def wait(self, seconds):
        return self.process.wait(seconds)

    def stop(self, seconds=30):
        """SIGTERM; returns the exit status."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def finish(self, seconds):
        """Waits for the end; the exit status and the largest resident set that was seen."""
        peak, deadline = 0, time.monotonic() + seconds
        while self.process.poll() is None:
            peak = max(peak, peak_memory(self.process.pid))
            if time.monotonic() > deadline:
                raise TimeoutError(f"calve did not end within {seconds} s:\n{self.log()[-3000:]}")
            time.sleep(0.02)
        return self.process.returncode, peak


def peak_memory(pid):
    """Bytes of the largest resident set of a process so far; 0 when it has gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def pause(seconds):
    """For tests in which time itself is the subject."""
    time.sleep(seconds)
