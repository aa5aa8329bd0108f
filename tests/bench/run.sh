#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the bench with the components of tests/support/fetch.sh; arguments go to bench.py.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/tests/support/fetch.sh" python kafka registry spark
if [ ! -x "$root/.cache/venv/bin/python" ]; then
    echo "bench: SKIP, no Python environment"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
PYTHONDONTWRITEBYTECODE=1 exec "$root/.cache/venv/bin/python" "$root/tests/bench/bench.py" "$@"
