#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches the DuckDB library that jobs with SQL load at run time: an npm package of the project's own builds, whose
# version and checksum stand here, unpacked to .cache/duckdb (libduckdb.so and its licence). Fetches nothing when that
# version is there. npm comes from Debian where the machine has none (installed as root, else the line to type).
set -eu

version=1.5.6-r.1
case "$(uname -m)" in
x86_64)
    package=@duckdb/node-bindings-linux-x64
    sha512=21772b64913a904a8cd19e30c1d5671811d7fdface4b7dd53cd0300d743f43e16cf386f4e7c41ef78721ac208870d2651bc6375072145387817824315b998dd5
    ;;
aarch64)
    package=@duckdb/node-bindings-linux-arm64
    sha512=de39d46838a5d41ac5ffabc067055a227275c6805a5861c1e0f0e2527cc958a0a8f1af132f1f63eff80fc8f97f5064417edad822e4e28516527c5e2658c82d58
    ;;
*)
    echo "DuckDB has no build for $(uname -m); name a libduckdb.so of your own by CALVE_DUCKDB" >&2
    exit 1
    ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/.cache/duckdb
stamp="$package $version"
if [ -f "$folder/libduckdb.so" ] && [ "$(cat "$folder/version" 2>/dev/null)" = "$stamp" ]; then
    exit 0
fi
if ! command -v npm >/dev/null; then
    if [ "$(id -u)" != 0 ]; then
        echo "npm is missing. Type:" >&2
        echo "  sudo apt-get install -y npm" >&2
        exit 1
    fi
    echo "installing: npm"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm >/dev/null
fi

echo "fetching DuckDB $version"
mkdir -p "$folder"
[ -f "$root/.cache/.gitignore" ] || echo "*" >"$root/.cache/.gitignore"
new=$(mktemp -d "$folder/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
# Away from the project, whose files npm has no business with.
(cd "$new" && npm pack --silent --ignore-scripts "$package@$version" >/dev/null)
archive=$(ls "$new"/*.tgz)
if ! echo "$sha512  $archive" | sha512sum --check --status; then
    echo "$package@$version is not the package that is expected: another checksum" >&2
    exit 1
fi
tar -xzf "$archive" -C "$new" package/libduckdb.so package/LICENSE
# By names that appear at once and whole: a program may be loading the library.
mv -f "$new/package/LICENSE" "$folder/LICENSE"
mv -f "$new/package/libduckdb.so" "$folder/libduckdb.so"
echo "$stamp" >"$folder/version"
