#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (60) each, starting from its corpus. Crashes go to
# tests/fuzz/corpus/<target>/, where the ordinary tests replay them; other new inputs stay in
# build-fuzz/corpus/ for the next run.
set -eu
cd "$(dirname "$0")/.."
test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz --buildtype=debugoptimized \
    -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
    -Dc_args=-fsanitize=fuzzer-no-link >/dev/null
ninja -C build-fuzz --quiet
for program in build-fuzz/tests/fuzz/fuzz_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=$(basename "$program")
    corpus=tests/fuzz/corpus/${name#fuzz_}
    [ -d "$corpus" ] || corpus=tests/fuzz/corpus/$name
    found=build-fuzz/corpus/$name
    mkdir -p "$corpus" "$found"
    echo "$name"
    "$program" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=4096 \
        -artifact_prefix="$corpus/crash-" -print_final_stats=1 "$found" "$corpus" 2>&1 | tail -3
done
