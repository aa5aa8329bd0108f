#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests with real components: fetches what they need (once), then pytest. Most of their time is waiting, so three
# files run at a time, each with servers of its own; then, one by one, those marked `alone`, which look at times.
# Arguments go to pytest, which then runs what they select one by one. A piece that can't be had makes its tests say SKIP;
# without Python there is nothing to run and the line says so.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 2
tests/support/fetch.sh
if [ ! -x .cache/venv/bin/python ]; then
    echo "tests/real: no Python environment, nothing was run"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
pytest() {
    PYTHONDONTWRITEBYTECODE=1 .cache/venv/bin/python -m pytest -c tests/real/pytest.ini -p no:cacheprovider \
        -q -rsfE --tb=short "$@" tests/real
}

if [ $# -gt 0 ]; then
    pytest "$@"
    exit
fi
status=0
pytest -n 3 --dist loadfile -m "not alone" || status=$?
pytest -m alone || status=$?
exit $status
