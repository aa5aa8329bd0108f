# SPDX-License-Identifier: Apache-2.0
"""Random histories of one table, written by PyIceberg and calve in turn: appends, deletes, compaction, rewritten
manifests, expiry, orphan removal, branches, tags and rollbacks. After each step a reader of the test's own walks every
snapshot: each file that one reaches is there, and every ref has the rows that a model in Python says."""

import collections
import json
import random
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from job import local, run_calve
from readers import open_table, read_avro, read_calve, read_duckdb

SCHEMA = pa.schema([pa.field("n", pa.int64()), pa.field("p", pa.int32())])
DAY_MS = 86_400_000
# Each ends the process there, as kill -9 does.
FAULTS = ["manifest-written", "manifest-list-written", "metadata-written", "commit-sent", "commit-done", "delete-half",
          "rewrite-half", "file-half"]  # fmt: skip


class History:
    """The table, what is in each of its refs and snapshots, and the steps that change both."""

    def __init__(self, lake, seed, version):
        self.lake = lake
        self.random = random.Random(seed)
        self.name = "db.t"
        self.steps = []
        self.next_row = 0
        lake.create_table(
            self.name, "n bigint, p int", "p",
            {"format-version": version, "commit.manifest.target-size-bytes": self.random.choice([6000, 8388608])},
        )  # fmt: skip
        self.refs = {}  # name: rows
        self.tags = set()
        self.rows_of = {}  # snapshot id: rows
        self.files = {}  # path: rows, read once

    def calve(self, procedure, *arguments, branch="main", may_die=False):
        """The rows of a procedure's result; None when it was killed at a random step."""
        name = f"{self.lake.name}.{self.name}" + ("" if branch == "main" else f".branch_{branch}")
        fault = self.random.choice(FAULTS) if may_die and self.random.random() < 0.5 else None
        words = ["maintain", procedure, name, "--config", self.lake.config_file(), "--json", *arguments]
        done = run_calve(*words, env={"CALVE_FAULT": fault} if fault else None)
        if fault and done.status == -9:
            self.steps[-1] += f" killed at {fault}"
            return None
        return json.loads(done.check().out)

    def table(self):
        return open_table(self.lake, self.name)

    # --- Steps

    def append(self, branch):
        rows = []
        for _ in range(self.random.randint(1, 5)):
            rows.append((self.next_row, self.random.randint(0, 2)))
            self.next_row += 1
        data = pa.table({"n": [r[0] for r in rows], "p": [r[1] for r in rows]}, SCHEMA)
        self.table().append(data, branch=branch)
        self.refs[branch] = sorted(self.refs.get(branch, []) + rows)

    def delete(self, branch):
        if not self.refs[branch]:
            return
        wanted = self.random.choice(self.refs[branch])
        if self.random.random() < 0.5:
            self.table().delete(f"n == {wanted[0]}", branch=branch)
            self.refs[branch] = [r for r in self.refs[branch] if r != wanted]
        else:
            self.table().delete(f"p == {wanted[1]}", branch=branch)
            self.refs[branch] = [r for r in self.refs[branch] if r[1] != wanted[1]]

    def compact(self, branch):
        how = self.random.choice([["--min-input-files", "2"], ["--rewrite-all"]])
        self.calve("rewrite-data-files", *how, branch=branch, may_die=True)

    def rewrite_manifests(self, branch):
        self.calve("rewrite-manifests", branch=branch, may_die=True)

    def expire(self, _):
        older = int(time.time() * 1000) + self.random.choice([0, DAY_MS])
        arguments = ["--older-than", older, "--retain-last", self.random.randint(1, 4)]
        if self.random.random() < 0.3:
            arguments.append("--clean-expired-metadata")
        self.calve("expire-snapshots", *arguments, may_die=True)

    def remove_orphans(self, _):
        found = self.calve("remove-orphan-files", "--older-than", int(time.time() * 1000) + DAY_MS, "--table-is-idle")
        for row in found:
            assert not local(row["orphan_file_location"]).exists()

    def create_branch(self, branch):
        name = f"b{len(self.steps)}"
        self.calve("create-branch", "--branch", name, "--snapshot-id", self.head(branch))
        self.refs[name] = self.refs[branch]

    def create_tag(self, branch):
        name = f"t{len(self.steps)}"
        self.calve("create-tag", "--tag", name, "--snapshot-id", self.head(branch))
        self.refs[name] = self.refs[branch]
        self.tags.add(name)

    def drop(self, _):
        names = sorted(set(self.refs) - {"main"})
        if not names:
            return
        name = self.random.choice(names)
        kind = "tag" if name in self.tags else "branch"
        self.calve(f"drop-{kind}", f"--{kind}", name)
        del self.refs[name]
        self.tags.discard(name)

    def roll_back(self, _):
        ancestors = [row["snapshot_id"] for row in self.calve("ancestors-of")]
        chosen = self.random.choice(ancestors[:4])
        moved = self.calve("rollback-to-snapshot", "--snapshot-id", chosen)
        assert moved == [{"previous_snapshot_id": ancestors[0], "current_snapshot_id": chosen}]
        self.refs["main"] = self.rows_of[chosen]

    def set_current(self, _):
        name = self.random.choice(sorted(self.refs))
        self.calve("set-current-snapshot", "--ref", name)
        self.refs["main"] = self.refs[name]

    def step(self):
        branches = sorted(set(self.refs) - self.tags)
        work = [self.append] * 6 + [self.delete] * 3 + [self.compact] * 3 + [self.rewrite_manifests] * 2
        work += [self.expire] * 3 + [self.remove_orphans, self.create_branch, self.create_tag, self.drop]
        work += [self.roll_back, self.set_current]
        branch = self.random.choice(branches)
        what = self.random.choice(work)
        self.steps.append(f"{what.__name__} {branch}")
        what(branch)
        self.check()

    # --- What must hold

    def head(self, ref):
        return self.lake.metadata(self.name)["refs"][ref]["snapshot-id"]

    def check(self):
        metadata = self.lake.metadata(self.name)
        assert set(metadata["refs"]) == set(self.refs)
        found = {s["snapshot-id"]: self.read_snapshot(s) for s in metadata["snapshots"]}
        for name, ref in metadata["refs"].items():
            assert found[ref["snapshot-id"]] == self.refs[name], name
            self.rows_of[ref["snapshot-id"]] = self.refs[name]
        for snapshot_id, rows in found.items():
            assert rows == self.rows_of.setdefault(snapshot_id, rows), snapshot_id
        for snapshot in metadata["snapshots"]:
            self.check_totals(snapshot, found[snapshot["snapshot-id"]])

    def clean_up(self):
        """After all, what is on disk is what the table names; whatever was killed left nothing that stays."""
        self.calve("expire-snapshots", "--older-than", int(time.time() * 1000) + DAY_MS, "--retain-last", 1)
        self.remove_orphans(None)
        self.check()
        metadata = self.lake.metadata(self.name)
        named = {local(e["metadata-file"]) for e in metadata["metadata-log"]}
        named.add(local(self.table().metadata_location))
        for snapshot in metadata["snapshots"]:
            named.add(local(snapshot["manifest-list"]))
            for manifest in read_once(snapshot["manifest-list"]):
                named.add(local(manifest["manifest_path"]))
                named |= {local(e["data_file"]["file_path"]) for e in read_once(manifest["manifest_path"])}
        found = {p for p in local(metadata["location"]).rglob("*") if p.is_file()}
        assert found - named == set()

    def check_totals(self, snapshot, rows):
        total = snapshot["summary"].get("total-records")
        assert total is None or int(total) == len(rows), snapshot

    def read_snapshot(self, snapshot):
        """The rows that a snapshot reaches; everything that it names has to be there."""
        rows, paths = [], collections.Counter()
        for manifest in read_once(snapshot["manifest-list"]):
            for entry in read_once(manifest["manifest_path"]):
                if entry["status"] == 2:
                    continue
                file = entry["data_file"]
                assert file.get("content", 0) == 0
                paths[file["file_path"]] += 1
                rows += self.read_file(file)
        assert not [p for p, n in paths.items() if n > 1], "live twice"
        return sorted(rows)

    def read_file(self, file):
        path = file["file_path"]
        assert local(path).stat().st_size == file["file_size_in_bytes"], path
        if path not in self.files:
            table = pq.ParquetFile(local(path)).read()
            self.files[path] = list(zip(table["n"].to_pylist(), table["p"].to_pylist()))
            assert len(self.files[path]) == file["record_count"]
        return self.files[path]


_avro = {}


def read_once(path):
    """Manifests and lists never change, so that each is parsed once; but it has to be there each time."""
    assert local(path).exists(), path
    if path not in _avro:
        _avro[path] = read_avro(path)
    return _avro[path]


def seeds(campaign):
    return range(40) if campaign else range(3)


@pytest.mark.parametrize("version", [2, 1])
def test_random_histories(lake, duckdb, campaign, tmp_path, version):
    from job import Lake

    for seed in seeds(campaign):
        history = History(Lake(tmp_path / f"lake{seed}"), seed * 2 + version, version)
        history.steps.append("append main")
        history.append("main")
        history.check()
        try:
            for _ in range(60 if campaign else 18):
                history.step()
            history.clean_up()
        except Exception as e:
            raise AssertionError(f"seed {seed}: {history.steps}") from e
        check_readers(history)


def check_readers(history):
    """In the end other readers see the same main."""
    for read in (read_duckdb, read_calve):
        table = read(history.lake, history.name)
        assert sorted(zip(table["n"].to_pylist(), table["p"].to_pylist())) == history.refs["main"], read
    for name in history.refs:
        found = history.table().scan(snapshot_id=history.head(name)).to_arrow()
        assert sorted(zip(found["n"].to_pylist(), found["p"].to_pylist())) == history.refs[name], name
