# SPDX-License-Identifier: Apache-2.0
"""calve maintain remove-orphan-files: beside Spark's on the same table; spellings, other tables' files (case 49), age."""

import json
import os
import signal
import subprocess
import time

import fastavro
import pytest
from checks import referenced_files, stray_files
from job import Lake, calve_binary, local
from readers import comparable, open_table, read_duckdb, read_pyiceberg
from test_maintain_expire import make, numbers
from twins import HISTORY, Twins, call, files_below, maintain, result_rows, spark_history

FUTURE = "2100-01-01 00:00:00"
IDLE = ("--older-than", FUTURE, "--table-is-idle")


def make_old(folder, days=10):
    """All files below were last changed that long ago."""
    then = time.time() - days * 86400
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


def stray(folder, name, days=10):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"stray")
    then = time.time() - days * 86400
    os.utime(path, (then, then))
    return path


def found_paths(rows):
    assert all(list(row) == ["orphan_file_location"] for row in rows)
    return sorted(str(local(row["orphan_file_location"])) for row in rows)


STRAYS = ["data/a.parquet", "data/day=2026-01-01/b.parquet", "metadata/c-m0.avro", "metadata/d.metadata.json",
          "data/day=2026-01-01/x y%20z.parquet", "elsewhere/deep/er/e.bin", "data/_hid=1/f.parquet"]  # fmt: skip
HIDDEN = ["data/_SUCCESS", "data/.g.parquet", "_tmp/h.parquet", "data/.staging/i.parquet"]


def test_same_as_spark(spark, duckdb, tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.create_table("db.none", "id bigint")
    more = ["ALTER TABLE {t} ADD COLUMN _hid int", "ALTER TABLE {t} ADD PARTITION FIELD _hid"]
    spark_history(spark, lake, "db.t", 2, [*HISTORY[:4], HISTORY[8], *more])
    folder = lake.folder_of("db.t")
    make_old(folder)
    strays = sorted(str(stray(folder, name)) for name in STRAYS)
    kept = [stray(folder, name) for name in HIDDEN] + [stray(folder, "data/young.parquet", days=2)]
    twins = Twins(lake)  # modification times are kept
    before = comparable(read_pyiceberg(lake, "db.t"))
    dry = call(spark, lake, "remove_orphan_files", "db.t", "dry_run => true")
    expected = found_paths(call(spark, lake, "remove_orphan_files", "db.t"))
    theirs = files_below(folder)
    assert found_paths(dry) == expected == strays
    twins.back()
    for flags in (["--dry-run"], ["--dry_run=true"], []):
        assert found_paths(result_rows(maintain(lake, "remove-orphan-files", "db.t", *flags))) == expected
        assert len(files_below(folder)) == len(theirs) + (len(strays) if flags else 0)
    assert files_below(folder) == theirs
    assert all(path.exists() for path in kept)
    assert comparable(read_pyiceberg(lake, "db.t")) == before == comparable(read_duckdb(lake, "db.t"))
    assert all(path.exists() for path in referenced_files(lake, "db.t"))
    assert result_rows(maintain(lake, "remove-orphan-files", "db.t")) == []


@pytest.mark.lakes("sql", "rest")
def test_age(lake):
    """Three days by default; less than 24 hours only where the table is idle; an unknown age stays."""
    make(lake, commits=1)
    folder = lake.folder_of("db.t")
    ages = {days: stray(folder, f"data/{days}.parquet", days) for days in (0, 2, 4)}
    assert found_paths(result_rows(maintain(lake, "remove-orphan-files", "db.t", "--dry-run"))) == [str(ages[4])]
    hour = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - 23 * 3600))
    refused = maintain(lake, "remove-orphan-files", "db.t", "--older-than", hour)
    assert refused.status == 2 and "less than 24 hours" in refused.err and "--table-is-idle" in refused.err
    day = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - 25 * 3600))
    found = result_rows(maintain(lake, "remove-orphan-files", "db.t", "--older-than", day))
    assert found_paths(found) == sorted(str(ages[n]) for n in (2, 4))
    assert ages[0].exists() and not ages[2].exists()
    listing = lake.folder / "list.csv"
    named = lake.location(ages[0])
    other = named.replace("file://", "") if lake.storage == "local" else named.replace("s3://", "s3a://")
    listing.write_text(f"file_path,last_modified\n{other},\n{named},2020-01-01 00:00:00\n")
    run = maintain(lake, "remove-orphan-files", "db.t", "--file-list-view", listing)
    assert found_paths(result_rows(run)) == [str(ages[0])] and "1 of unknown age" in run.err
    assert result_rows(maintain(lake, "remove-orphan-files", "db.t", *IDLE)) == []
    assert stray_files(lake, "db.t") == set()


def test_file_list_as_json(lake):
    make(lake, commits=1)
    folder = lake.folder_of("db.t")
    one, other = stray(folder, "data/1,2.parquet"), stray(folder, "data/b.parquet")
    live = next(iter(sorted(folder.glob("data/*.parquet"), key=lambda p: p.stat().st_size, reverse=True)))
    rows = [
        {"file_path": lake.location(one), "last_modified": 1},
        {"file_path": lake.location(live), "last_modified": 1},
        {"file_path": lake.location(other), "last_modified": None},
        {"file_path": lake.location(lake.warehouse / "not-below.parquet"), "last_modified": 1},
    ]
    listing = lake.folder / "list.jsonl"
    listing.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = result_rows(maintain(lake, "remove-orphan-files", "db.t", "--file-list-view", listing))
    assert found_paths(found) == [str(one)]
    assert not one.exists() and other.exists() and live.exists()
    listing.write_text("file_path\nno comma\n")
    failed = maintain(lake, "remove-orphan-files", "db.t", "--file-list-view", listing)
    assert failed.status == 3 and "list.jsonl:1" in failed.err


def start_with_pipe(lake):
    """calve with a pipe as its list, so that it waits between its first look at the table and the end of the list."""
    pipe = lake.folder / "pipe"
    os.mkfifo(pipe)
    command = [calve_binary(), "maintain", "remove-orphan-files", f"{lake.name}.db.t", "--config", lake.config_file(),
               "--file-list-view", pipe, "--json"]  # fmt: skip
    return pipe, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_stopped(lake):
    """SIGTERM ends the run before anything is deleted."""
    make(lake, commits=1)
    orphan = stray(lake.folder_of("db.t"), "data/a.parquet")
    pipe, running = start_with_pipe(lake)
    with running as process:
        with open(pipe, "w") as listing:
            listing.write(f"{lake.location(orphan)},2020-01-01 00:00:00\n")
            listing.flush()
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
    assert process.returncode == 3 and b"stopped before the end" in err and not out
    assert orphan.exists()


@pytest.mark.lakes("sql", "rest")
def test_commit_during_the_listing(lake):
    """The files of a commit between the first look at the table and the end of the listing are no orphans."""
    make(lake, commits=1)
    orphan = stray(lake.folder_of("db.t"), "data/a.parquet")
    pipe, running = start_with_pipe(lake)
    with running as process:
        with open(pipe, "w") as listing:  # waits for calve to open it
            before = files_below(lake.folder_of("db.t"))
            open_table(lake, "db.t").append(numbers(2))
            new = files_below(lake.folder_of("db.t")) - before
            assert len(new) == 4
            for path in [orphan, *(lake.folder_of("db.t") / name for name in new)]:
                listing.write(f"{lake.location(path)},2020-01-01 00:00:00\n")
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert found_paths(json.loads(out)) == [str(orphan)]
    assert comparable(read_pyiceberg(lake, "db.t")) == [(1,), (2,)]


def respell(lake, change):
    """Writes the data files' paths in the newest manifest anew; returns the paths of the files before."""
    table = open_table(lake, "db.t")
    manifest = local(table.current_snapshot().manifests(table.io)[0].manifest_path)
    with open(manifest, "rb") as file:
        reader = fastavro.reader(file)
        entries, schema, metadata = list(reader), reader.writer_schema, reader.metadata
    old = [entry["data_file"]["file_path"] for entry in entries]
    for entry in entries:
        entry["data_file"]["file_path"] = change(entry["data_file"]["file_path"])
    keys = {k: v for k, v in metadata.items() if not k.startswith("avro.")}
    with open(manifest, "wb") as file:
        fastavro.writer(file, schema, entries, metadata=keys)
    return [local(path) for path in old]


@pytest.mark.parametrize("spelling", ["file:/", "/", "file:////", "double", "dot"])
def test_other_spelling_of_a_live_file(lake, spelling):
    """Case 49: the same file in another spelling is no orphan."""
    lake.only_local("it is about spellings of paths")

    def change(path):
        bare = str(local(path))
        if spelling == "double":
            return "file://" + bare.replace("/data/", "//data//")
        if spelling == "dot":
            return "file://" + bare.replace("/data/", "/./x/../data/")
        return spelling + bare[1:]

    make(lake, commits=1)
    (live,) = respell(lake, change)
    assert result_rows(maintain(lake, "remove-orphan-files", "db.t", *IDLE)) == []
    assert live.exists()


def test_schemes_and_authorities(lake):
    """Case 49: s3a and s3 are one; another authority stops the run before anything is deleted."""
    lake.only_local("the listing must say file:")
    make(lake, commits=1)
    (live,) = respell(lake, lambda path: "s3a://bucket" + str(local(path)))
    orphan = stray(lake.folder_of("db.t"), "data/a.parquet")
    listing = lake.folder / "list.csv"

    def run(prefix, *flags):
        listing.write_text(f"file_path,last_modified\n{prefix}{live},2020-01-01 00:00:00\n{orphan},2020-01-01 00:00:00\n")
        return maintain(lake, "remove-orphan-files", "db.t", "--file-list-view", listing, "--dry-run", *flags)

    for prefix in ("s3://bucket", "s3n://bucket", "S3A://bucket"):
        assert found_paths(result_rows(run(prefix))) == [str(orphan)]
    for prefix, named in (("s3://other", "--equal-authorities"), ("gs://bucket", "--equal-schemes")):
        refused = run(prefix)
        assert refused.status == 3 and f"{prefix}{live}" in refused.err and "nothing is deleted" in refused.err
        assert found_paths(result_rows(run(prefix, "--prefix-mismatch-mode", "ignore"))) == [str(orphan)]
        found = result_rows(run(prefix, "--prefix-mismatch-mode", "DELETE"))
        assert {row["orphan_file_location"] for row in found} == {str(orphan), f"{prefix}{live}"}
        equal = "other=bucket" if "auth" in named else "gs=s3"
        assert found_paths(result_rows(run(prefix, named, equal))) == [str(orphan)]
    # the listing of the folder says file:, the table s3a:
    refused = maintain(lake, "remove-orphan-files", "db.t", *IDLE)
    assert refused.status == 3 and str(live) in refused.err
    assert live.exists() and orphan.exists()


def test_another_table_below(lake):
    """Case 49: a table at T1/sub, and one in T1's own folder that a foreign catalog made."""
    make(lake)
    folder = lake.folder_of("db.t")
    orphan = stray(folder, "data/a.parquet")
    catalog = lake.pyiceberg()
    schema = open_table(lake, "db.t").schema()
    other = catalog.create_table("db.below", schema, location=f"{lake.location(folder)}/sub")
    other.append(numbers(7))
    files = files_below(folder)
    for flags in (["--dry-run"], []):
        stopped = maintain(lake, "remove-orphan-files", "db.t", *IDLE, *flags)
        assert stopped.status == 3 and "db.below" in stopped.err and "nothing is deleted" in stopped.err
    catalog.drop_table("db.below")  # its files stay
    stopped = maintain(lake, "remove-orphan-files", "db.t", *IDLE)
    assert stopped.status == 3 and str(other.metadata.table_uuid) in stopped.err
    assert files_below(folder) == files
    found = result_rows(maintain(lake, "remove-orphan-files", "db.t", *IDLE, "--location", f"{lake.location(folder)}/data"))
    assert found_paths(found) == [str(orphan)]


def test_two_tables_with_one_location(lake):
    """Case 49: also after a table was dropped and made anew."""
    make(lake, commits=2)
    folder = lake.folder_of("db.t")
    catalog = lake.pyiceberg()
    schema = open_table(lake, "db.t").schema()
    twin = catalog.create_table("db.twin", schema, location=lake.location(folder))
    twin.append(numbers(7))
    files = files_below(folder)
    for name in ("db.t", "db.twin"):
        stopped = maintain(lake, "remove-orphan-files", name, *IDLE)
        assert stopped.status == 3 and "another table has files" in stopped.err
    catalog.drop_table("db.t")
    stopped = maintain(lake, "remove-orphan-files", "db.twin", *IDLE)
    assert stopped.status == 3 and "another table has files" in stopped.err
    assert files_below(folder) == files
    assert comparable(read_pyiceberg(lake, "db.twin")) == [(7,)]


def test_location(lake):
    """A link to the folder makes every name another: stopped. Links below are neither followed nor removed."""
    lake.only_local("it is about links")
    make(lake, commits=1)
    folder = lake.folder_of("db.t")
    link = lake.folder / "link"
    link.symlink_to(folder)
    orphan = stray(folder, "data/a.parquet")
    outside = stray(lake.folder, "outside/b.parquet")
    (folder / "data" / "elsewhere").symlink_to(outside.parent)
    (folder / "data" / "c.parquet").symlink_to(outside)
    stopped = maintain(lake, "remove-orphan-files", "db.t", *IDLE, "--location", link)
    assert stopped.status == 2 and "names none of the" in stopped.err
    assert found_paths(result_rows(maintain(lake, "remove-orphan-files", "db.t", *IDLE))) == [str(orphan)]
    assert outside.exists() and (folder / "data" / "c.parquet").is_symlink()
    assert maintain(lake, "remove-orphan-files", "db.t", *IDLE, "--location", "/").status == 2


def test_hadoop_catalog(tmp_path):
    """Numbered metadata files and the version hint are the table's."""
    lake = Lake(tmp_path / "lake", kind="hadoop")
    lake.create_table("db.t", "id bigint")
    lake.create_table("db.other", "id bigint")
    folder = lake.warehouse / "db" / "t"
    orphan = stray(folder, "data/a.parquet")
    make_old(folder)
    assert found_paths(result_rows(maintain(lake, "remove-orphan-files", "db.t"))) == [str(orphan)]
    assert files_below(folder) == {"metadata/v1.metadata.json", "metadata/version-hint.text"}
    stopped = maintain(lake, "remove-orphan-files", "db.t", *IDLE, "--location", lake.warehouse / "db")
    assert stopped.status == 3 and "db.other" in stopped.err
    file = folder / "metadata" / "v1.metadata.json"
    refused = maintain(lake, "register-table", "db.new", "--metadata-file", file)
    assert refused.status == 2 and "a hadoop catalog has no register_table" in refused.err


@pytest.mark.lakes("sql", "rest")
def test_killed(lake):
    """Killed half-way: the next run does the rest."""
    make(lake, commits=1)
    folder = lake.folder_of("db.t")
    count, nth = (20, 5) if lake.storage == "local" else (600, 400)  # one request deletes many objects
    for n in range(count):
        stray(folder, f"data/{n}.parquet")
    one = ("--max-concurrent-deletes", "1")
    killed = maintain(lake, "remove-orphan-files", "db.t", *IDLE, *one, env={"CALVE_FAULT": f"delete-half:{nth}"})
    assert killed.status == -9
    left = len(stray_files(lake, "db.t"))
    assert 0 < left < count
    run = maintain(lake, "remove-orphan-files", "db.t", *IDLE, "--max-concurrent-deletes", "8")
    assert len(result_rows(run)) == left and f"deleted {left} of {left} orphan files" in run.err
    assert stray_files(lake, "db.t") == set()
    assert comparable(read_pyiceberg(lake, "db.t")) == [(1,)]


def test_memory(lake):
    """More paths than the set holds in 16 MiB: done in shares of them, within the memory."""
    make(lake, commits=1)
    location = lake.location(lake.folder_of("db.t"))
    listing = lake.folder / "list.csv"
    count = 900000
    with open(listing, "w") as file:
        file.write("file_path,last_modified\n")
        for n in range(count):
            file.write(f"{location}/data/day={n % 365}/{n}.parquet,2020-01-01 00:00:00\n")
    run = maintain(lake, "remove-orphan-files", "db.t", "--file-list-view", listing, "--dry-run", "--memory", "16MiB")
    assert f"would delete {count} orphan files" in run.check().err
    assert "more orphan files are not listed here" in run.err
    found = result_rows(run)
    assert len({row["orphan_file_location"] for row in found}) == len(found) > 5000
