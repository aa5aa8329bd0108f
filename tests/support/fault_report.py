# SPDX-License-Identifier: Apache-2.0
"""docs/FAULTS.md: what a campaign of test_faults.py noted, one JSON file per part in build/faults. A campaign runs the parts
one by one and writes the page at its end; `python tests/support/fault_report.py` writes it from what is there."""

import json
import pathlib

from components import ROOT
from faults import FAULTS, OUTAGE, OUTAGE_AFTER

ALL = [*FAULTS, OUTAGE, OUTAGE_AFTER]
NOTES = ROOT / "build" / "faults"
PAGE = ROOT / "docs" / "FAULTS.md"

HEAD = """# What calve does when the network fails

Written by `make campaign` (tests/real/test_faults.py): between calve and both servers (Iceberg's REST catalog, an S3 server)
stands a proxy, and every request of a batch, of a start and of each procedure and command meets every fault in turn. After
each of these cases, and a restart where the run failed: no row lost or doubled, every file that metadata names is there,
leftover files are found by `remove-orphan-files`, leftover uploads by `calve doctor`. Where a kind of request comes more
than three times in a run (`× n`), the first, the second and the last of them meet the faults.

*reset before*: the connection is cut before the server hears of it; *reset after*: when the server has done it; *time-out*,
*500 after*, *truncated*, *garbage*, *slow body*: the server has done it and its answer does not arrive as it should;
*expired token*: ExpiredToken from S3, 419 from the catalog, for keys and a token that cannot be renewed; *outage*: this and
every later request is refused until the process has ended; *outage after*: the server has done it, the answer is lost, and
every later request is refused.

`·` the run goes on: the request was sent again, or was not needed, or a look told that it had been carried out · `S` the run
stops with an error that names the request, and goes on where it was when it is started again · `o` files (`u` uploads) are
left over until `remove-orphan-files` (the doctor's command): the server could not be asked any more, or nobody could know
whether a commit names them. A cell with several signs stands for several requests of the kind.
"""


class Notes:
    """What came of the cases of one part."""

    def __init__(self, part, requests):
        self.part = part
        self.kinds = {}  # kind → {"requests": how many, "cases": how many, "cells": {fault: [signs]}}
        for kind, _ in requests:
            self.kinds.setdefault(kind, {"requests": 0, "cases": 0, "cells": {}})["requests"] += 1

    def add(self, request, fault, stopped, left):
        kind = self.kinds[request[0]]
        kind["cases"] += 1
        found = kind["cells"].setdefault(fault, [])
        signs = " ".join(["S" if stopped else "·", *left])
        if signs not in found:
            found.append(signs)

    def save(self):
        NOTES.mkdir(parents=True, exist_ok=True)
        text = {"part": self.part, "kinds": self.kinds}
        (NOTES / f"{self.part.replace(' ', '-')}.json").write_text(json.dumps(text, ensure_ascii=False, indent=1))


def write_report(order, path=PAGE):
    """Parts in the order given; one that has no notes, or a fault without an outcome, is an error."""
    found = {}
    for file in NOTES.glob("*.json"):
        notes = json.loads(file.read_text())
        found[notes["part"]] = notes["kinds"]
    missing = [part for part in order if part not in found]
    if missing:
        raise RuntimeError(f"no notes of {', '.join(missing)}")
    cases = sum(kind["cases"] for part in order for kind in found[part].values())
    lines = [HEAD, f"{cases // len(ALL)} requests met {len(ALL)} faults each: {cases} cases."]
    for part in order:
        count = sum(kind["requests"] for kind in found[part].values())
        lines += [f"\n## {part[0].upper()}{part[1:]}: {count} requests\n", "| request | " + " | ".join(ALL) + " |"]
        lines.append("|---" * (len(ALL) + 1) + "|")
        for kind, of in found[part].items():
            times = f" × {of['requests']}" if of["requests"] > 1 else ""
            lines.append(f"| {kind}{times} | " + " | ".join(_cell(of["cells"][fault]) for fault in ALL) + " |")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def _cell(found):
    return ", ".join(sorted(found))


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(ROOT / "tests" / "real"))
    from test_faults import PARTS

    kept = {json.loads(file.read_text())["part"] for file in NOTES.glob("*.json")}
    print("without", ", ".join(part for part in PARTS if part not in kept) or "nothing")
    write_report([part for part in PARTS if part in kept])
