#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches the real components that tests/real and tests/bench start: a Python environment with clients and
# independent readers, a Kafka broker, a schema registry, Spark with Iceberg, an S3 server, a REST catalog. Everything goes to .cache/ at the
# project root. A piece that is already there is left alone, so a second run fetches nothing; a piece that can't be
# had is named and left out, and the tests that need it say SKIP. Pieces can be named as arguments:
#   fetch.sh [python] [duckdb] [kafka] [kafka-old] [registry] [spark] [s3] [rest]
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$root/.cache
support=$root/tests/support
venv=$cache/venv
mkdir -p "$cache/stamps"
echo "*" >"$cache/.gitignore"

# A stamp holds the checksum of the file that lists the piece, so that a changed version is fetched again.
stamp_of() {
    cat "$@" | cksum | tr ' ' '-'
}

is_fetched() {
    [ -f "$cache/stamps/$1" ] && [ "$(cat "$cache/stamps/$1")" = "$2" ]
}

# piece NAME LIST-FILE FUNCTION
piece() {
    want=$(stamp_of "$2")
    if is_fetched "$1" "$want"; then
        return 0
    fi
    echo "fetching $1"
    if "$3" "$2" >"$cache/fetch-$1.log" 2>&1; then
        echo "$want" >"$cache/stamps/$1"
    else
        echo "fetch of $1 failed; tests that need it will be skipped (.cache/fetch-$1.log):"
        tail -3 "$cache/fetch-$1.log" | sed 's/^/    /'
        missing=1
    fi
}

pick_python() {
    for candidate in "${PYTHON:-}" python3.11 python3; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            command -v "$candidate"
            return 0
        fi
    done
    echo "no Python >= 3.11" >&2
    return 1
}

fetch_python() {
    if [ ! -x "$venv/bin/python" ]; then
        python=$(pick_python) || return 1
        "$python" -m venv "$venv" || return 1
    fi
    pip_install "$1"
}

pip_install() {
    [ -x "$venv/bin/python" ] || return 1
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-input -q -r "$1"
}

# copy_jars POM DIRECTORY
copy_jars() {
    rm -rf "$2"
    mvn -q -B -f "$1" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$2"
}

fetch_kafka() {
    copy_jars "$1" "$cache/kafka/lib" && [ -n "$(ls "$cache"/kafka/lib/kafka_2.13-*.jar)" ]
}

fetch_kafka_old() {
    copy_jars "$1" "$cache/kafka-old/lib" && [ -n "$(ls "$cache"/kafka-old/lib/kafka_2.13-*.jar)" ]
}

fetch_spark() {
    pip_install "$root/tests/requirements-spark.txt" &&
        copy_jars "$support/pom-spark.xml" "$cache/spark/jars" &&
        [ -n "$(ls "$cache"/spark/jars/iceberg-spark-runtime-*.jar)" ]
}

fetch_registry() {
    rm -rf "$cache/registry"
    mvn -q -B -f "$1" dependency:unpack -DoutputDirectory="$cache/registry" &&
        [ -n "$(find "$cache/registry" -name '*-runner.jar')" ]
}

fetch_s3() {
    command -v go >/dev/null || { echo "no Go compiler" && return 1; }
    rm -rf "$cache/s3"
    GOBIN=$cache/s3 go install "$(grep -v '^#' "$1")"
}

fetch_rest() {
    copy_jars "$1" "$cache/rest/lib" && [ -n "$(ls "$cache"/rest/lib/iceberg-open-api-*.jar)" ]
}

missing=0
for name in ${*:-python kafka kafka-old registry duckdb spark s3 rest}; do
    case $name in
    python) piece python "$root/tests/requirements.txt" fetch_python ;;
    duckdb) piece duckdb "$root/tests/requirements-duckdb.txt" pip_install ;;
    kafka) piece kafka "$support/pom-kafka.xml" fetch_kafka ;;
    kafka-old) piece kafka-old "$support/pom-kafka-old.xml" fetch_kafka_old ;;
    registry) piece registry "$support/pom-registry.xml" fetch_registry ;;
    s3) piece s3 "$support/s3-server.txt" fetch_s3 ;;
    rest) piece rest "$support/pom-rest.xml" fetch_rest ;;
    spark) piece spark "$support/pom-spark.xml" fetch_spark ;;
    *)
        echo "fetch.sh: no piece called $name" >&2
        exit 2
        ;;
    esac
done
exit $missing
