#!/usr/bin/env python3
"""`make check`: builds with gcc and clang, lints, runs the unit tests (also under ASan and UBSan),
replays the fuzz corpus and runs the tests with real components, quick ones first. The last line
is `N passed, N failed, N skipped`."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
totals = {"passed": 0, "failed": 0, "skipped": 0}


def say(text):
    print(text, flush=True)


def run(name, command, **options):
    """One step that passes or fails as a whole."""
    say(f"== {name}")
    began = time.monotonic()
    failed = subprocess.run(command, cwd=ROOT, **options).returncode != 0
    totals["failed" if failed else "passed"] += 1
    say(f"   {'FAILED' if failed else 'ok'}, {time.monotonic() - began:.0f} s")
    return not failed


def count_cmocka(output):
    """Counts of one test program's output, or None when it has none."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    found = False
    for word in ("PASSED", "FAILED", "SKIPPED"):
        for match in re.finditer(rf"\[\s+{word}\s+\] (\d+) test\(s\)", output):
            counts[word.lower()] += int(match[1])
            found = True
    return counts if found else None


def run_meson_tests(name, build, environment):
    say(f"== {name}")
    began = time.monotonic()
    subprocess.run(["meson", "test", "-C", build, "--quiet", "--print-errorlogs"], cwd=ROOT,
                   env={**os.environ, **environment})
    sums = {"passed": 0, "failed": 0, "skipped": 0}
    for line in (ROOT / build / "meson-logs/testlog.json").read_text().splitlines():
        result = json.loads(line)
        text = (result.get("stdout") or "") + (result.get("stderr") or "")
        counts = count_cmocka(text) or {"passed": 1, "failed": 0, "skipped": 0}
        if result["result"] not in ("OK", "SKIP") and not counts["failed"]:
            counts["failed"] = 1
        for word in sums:
            sums[word] += counts[word]
    for word in sums:
        totals[word] += sums[word]
    say(f"   {sums}, {time.monotonic() - began:.0f} s")


def run_real_tests():
    say("== tests with real components")
    process = subprocess.Popen(["tests/real/run.sh"], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    failed = 0
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        if re.search(r"\d+ (passed|failed|skipped|errors?)\b.*( in [\d.]+s|skipped$)", line):
            counts = {word: int(n) for n, word in
                      re.findall(r"(\d+) (passed|failed|skipped|errors?)", line)}
            totals["passed"] += counts.get("passed", 0)
            totals["skipped"] += counts.get("skipped", 0)
            failed += counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    totals["failed"] += failed or (1 if process.wait() else 0)


def main():
    sanitize = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "--buildtype=debugoptimized"]
    if subprocess.run(["make", "--no-print-directory", "deps-sql"], cwd=ROOT).returncode != 0:
        say("   without DuckDB the tests of SQL are skipped")
    built = run("build with gcc", ["make", "all"])
    run("lint", [sys.executable, "scripts/lint.py"])
    if built:
        run_meson_tests("unit tests and fuzz corpus", "build", {})
    if not (ROOT / "build-asan/build.ninja").exists():
        subprocess.run(["meson", "setup", "build-asan", *sanitize], cwd=ROOT,
                       env={**os.environ, "CC": "clang"}, stdout=subprocess.DEVNULL)
    if run("build with clang, ASan and UBSan", ["ninja", "-C", "build-asan", "--quiet"]):
        run_meson_tests("the same under ASan and UBSan", "build-asan",
                        {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"})
    if built:
        run_real_tests()
    say(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
