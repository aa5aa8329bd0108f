#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs a bench with the components of tests/support/fetch.sh; arguments go to bench.py, behind the
# word "maintain" to bench_maintain.py.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
program=bench.py
pieces="python kafka registry spark s3 rest"
if [ "${1:-}" = maintain ]; then
    shift
    program=bench_maintain.py
    pieces="python spark"
fi
# shellcheck disable=SC2086
"$root/tests/support/fetch.sh" $pieces
"$root/scripts/duckdb.sh"
if [ ! -x "$root/.cache/venv/bin/python" ]; then
    echo "bench: SKIP, no Python environment"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
PYTHONDONTWRITEBYTECODE=1 exec "$root/.cache/venv/bin/python" "$root/tests/bench/$program" "$@"
