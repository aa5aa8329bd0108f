#!/usr/bin/env python3
"""Checks what a compiler does not: the include rule of src/LAYERS, sizes of functions and files,
file heads, banned calls, and that the generated documentation is up to date. There is no list of
exceptions. Exit status 1 with one line per finding."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 1000
LINE_COLUMNS_MAX = 100
BANNED = {
    "strcpy": "snprintf or memcpy",
    "strcat": None,  # allowed in base/error.c only by its fixed buffers
    "sprintf": "snprintf",
    "gets": "fgets",
    "strtok": "cv_split",
    "atoi": "cv_parse_i64",
    "atol": "cv_parse_i64",
    "localtime": "base/time.h (UTC)",
    "mktime": "base/time.h (UTC)",
    "strncpy": "snprintf or memcpy",
    "alloca": "an arena",
}
findings = []


def find(path, line, text):
    findings.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def read_layers():
    allowed, extern = {}, []
    for line in (ROOT / "src/LAYERS").read_text().splitlines():
        if match := re.match(r"(\d+) (\w+): ?(.*)$", line):
            allowed[match[2]] = set(match[3].split())
        elif match := re.match(r"extern (\S+): (\S+)$", line):
            extern.append((match[1], match[2]))
    return allowed, extern


def check_includes(path, lines, allowed, extern):
    folder = path.relative_to(ROOT / "src").parts[0]
    for number, line in enumerate(lines, 1):
        if match := re.match(r'#include "([^"]+)"', line):
            target = match[1].split("/")[0]
            if "/" not in match[1] or target not in allowed:
                find(path, number, f'"{match[1]}": write the path from src/')
            elif target != folder and target not in allowed.get(folder, set()):
                find(path, number, f"{folder}/ may not include {target}/ (src/LAYERS)")
        elif match := re.match(r"#include <([^>]+)>", line):
            for name, owner in extern:
                if match[1].startswith(name) and not str(path.relative_to(ROOT / "src")).startswith(owner):
                    find(path, number, f"<{match[1]}> stays behind {owner}/ (src/LAYERS)")


def check_functions(path, lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            if number - start + 1 > FUNCTION_LINES_MAX:
                find(path, start, f"function of {number - start + 1} lines, at most {FUNCTION_LINES_MAX}")
            start = None


def check_text(path, lines, banned):
    if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
        find(path, 1, "the first line is the SPDX line")
    if len(lines) > FILE_LINES_MAX:
        find(path, len(lines), f"file of {len(lines)} lines, at most {FILE_LINES_MAX}")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS_MAX:
            find(path, number, f"line of {len(line)} columns, at most {LINE_COLUMNS_MAX}")
        if "\t" in line or line.rstrip() != line:
            find(path, number, "tab or blank at the end")
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        if re.search(r"(^|\s)//", code):
            find(path, number, "comments are /* */")
        for name, instead in banned.items():
            if re.search(rf"\b{name}\(", code) and not (instead is None and path.name == "error.c"):
                find(path, number, f"{name}() is banned; use {instead or 'snprintf'}")


def check_documents():
    binary = ROOT / "build/src/cli/calve"
    for name, flag in (("CONFIGURATION.md", "--markdown"), ("MAINTENANCE.md", "--procedures"), ("SQL.md", "--functions")):
        document = ROOT / "docs" / name
        if not binary.exists() or not document.exists():
            continue
        tables = subprocess.run([binary, "config", flag], capture_output=True, text=True).stdout
        if tables not in document.read_text():
            find(document, 1, "differs from the option tables; run `make docs`")


def main():
    allowed, extern = read_layers()
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        lines = path.read_text().splitlines()
        check_includes(path, lines, allowed, extern)
        check_functions(path, lines)
        check_text(path, lines, BANNED)
    for path in sorted((ROOT / "tests").rglob("*.[ch]")):
        lines = path.read_text().splitlines()
        check_functions(path, lines)
        check_text(path, lines, {})
    check_documents()
    for line in findings:
        print(line)
    print(f"lint: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
