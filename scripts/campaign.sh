#!/bin/sh
# `make campaign`: all tests at full length, then the tests with real components again with the lakes on a REST catalog
# and S3, and on PostgreSQL and S3, then the fuzz targets. A part that fails does not keep the next from running.
set -u
cd "$(dirname "$0")/.." || exit 2
failed=
part() {
    name=$1
    shift
    echo "=== $name"
    "$@" || failed="$failed $name"
}

part check env CALVE_CAMPAIGN=1 python3 scripts/check.py
for lake in rest postgres; do
    part "$lake" env CALVE_LAKE="$lake" tests/real/run.sh
done
part fuzz env FUZZ_SECONDS="${FUZZ_SECONDS:-600}" scripts/fuzz.sh
if [ -n "$failed" ]; then
    echo "=== failed:$failed"
    exit 1
fi
echo "=== all parts passed"
