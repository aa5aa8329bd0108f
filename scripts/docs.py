#!/usr/bin/env python3
"""Writes what is generated from the tables: the tables of docs/CONFIGURATION.md,
docs/MAINTENANCE.md and docs/SQL.md, and the man page docs/calve.1."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/src/cli/calve"
MARK = "<!-- the tables below are made by `make docs` -->\n"


def output(*arguments):
    return subprocess.run([BINARY, *arguments], check=True, capture_output=True, text=True).stdout


def write_tables(name, flag):
    document = ROOT / "docs" / name
    head = document.read_text().split(MARK)[0]
    document.write_text(head + MARK + "\n" + output("config", flag))


def main():
    write_tables("CONFIGURATION.md", "--markdown")
    write_tables("MAINTENANCE.md", "--procedures")
    write_tables("SQL.md", "--functions")
    (ROOT / "docs/calve.1").write_text(output("config", "--man"))


if __name__ == "__main__":
    main()
