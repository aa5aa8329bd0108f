#!/bin/sh
# Installs the Debian packages that calve is built with (build), and those that its tests need
# besides (test). As root it installs what is missing; otherwise it prints the one line to type.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config librdkafka-dev libcurl4-openssl-dev libssl-dev
 libzstd-dev libsnappy-dev liblz4-dev libbrotli-dev zlib1g-dev libjansson-dev libyaml-dev
 libpq-dev libsqlite3-dev libxxhash-dev libpcre2-dev libexpat1-dev"
test="$build clang libclang-rt-14-dev llvm libcmocka-dev python3 python3-venv openssl
 default-jdk-headless maven postgresql"

case "${1:-build}" in
build) packages=$build ;;
test) packages=$test ;;
*) echo "usage: scripts/deps.sh build|test" >&2; exit 2 ;;
esac

missing=
for package in $packages; do
    case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" in
    "install ok installed") ;;
    *) missing="$missing $package" ;;
    esac
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    echo "installing:$missing"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "These packages are missing. Type:" >&2
    echo "  sudo apt-get install -y$missing" >&2
    exit 1
fi
