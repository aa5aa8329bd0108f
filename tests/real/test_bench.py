# SPDX-License-Identifier: Apache-2.0
"""The bench, shrunk: it must read every row of its data sets; times are not looked at."""

import pathlib
import subprocess
import sys

from conftest import need


def test_smoke(calve):
    need("kafka", "registry")
    program = pathlib.Path(__file__).resolve().parents[1] / "bench" / "bench.py"
    command = [sys.executable, program, "--smoke"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    sets = 3 if "without SQL" in done.stdout else 5
    assert done.stdout.splitlines()[-1] == f"{2 * sets} passed, 0 failed", done.stdout
