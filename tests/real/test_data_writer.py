# SPDX-License-Identifier: Apache-2.0
"""What the data writer puts into files, read back by PyArrow: both ways, all budgets, the same rows in the same order.

The rows come from the unit test of data/, which writes them without a table around when called with arguments.
"""

import collections
import pathlib
import subprocess
import urllib.parse

import pyarrow.parquet as pq
import pytest

MIB = 1 << 20


def expected(rows, partitions):
    """The rows of tests/unit/data/writer.c by partition, in order of writing."""
    table = collections.defaultdict(list)
    for row in range(rows):
        partition = None if row % 97 == 0 or not partitions else (row * 2654435761) % partitions
        if not partitions:
            partition = None if row % 97 == 0 else 0
        name = f"name {row * 7919}"
        tags = [name[: 4 + i] for i in range(row % 3)]
        table[partition].append((row, None if row % 11 == 0 else name, tags))
    return table


def write(calve, folder, way, rows, partitions, memory, target):
    places = [build / "tests" / "unit" / "test_data_writer" for build in pathlib.Path(calve).parents]
    program = next((place for place in places if place.exists()), None)
    if program is None:
        pytest.skip("tests/unit/test_data_writer was not built beside the program")
    command = [program, way, folder, *map(str, (rows, partitions, memory, target))]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(int(count), path) for count, path in (line.split(" ", 1) for line in answer.stdout.splitlines())]


def read(files):
    """Rows by partition in the order of the files; checks what the files say about themselves."""
    table = collections.defaultdict(list)
    for count, path in files:
        data = pq.ParquetFile(path).read()
        assert data.num_rows == count
        columns = [data.column(name).to_pylist() for name in ("id", "p", "name", "tags")]
        partitions = set(columns[1])
        folder = pathlib.Path(path).parent.name
        if folder.startswith("p="):
            assert len(partitions) == 1, "a file holds rows of one partition"
            value = urllib.parse.unquote_plus(folder[2:])
            assert value == ("null" if None in partitions else str(*partitions))
        for row, partition, name, tags in zip(*columns):
            table[partition].append((row, name, tags))
    return table


@pytest.mark.parametrize("way", ["fanout", "clustered"])
@pytest.mark.parametrize(
    "rows, partitions, memory, target",
    [
        (50_000, 0, 64 * MIB, 512 * MIB),
        (50_000, 20, 64 * MIB, 512 * MIB),
        (100_000, 3, 64 * MIB, 100_000),  # files roll
        (150_000, 50, 4 * MIB, 512 * MIB),  # over the budget: row groups closed early, rows spilled
        (60_000, 700, 4 * MIB, 512 * MIB),  # more partitions than files may be open
    ],
)
def test_rows_come_back_in_order(calve, tmp_path, way, rows, partitions, memory, target):
    files = write(calve, tmp_path, way, rows, partitions, memory, target)
    got, wanted = read(files), expected(rows, partitions)
    assert got.keys() == wanted.keys()
    for partition in wanted:
        assert got[partition] == wanted[partition], partition
    if target == 512 * MIB:
        assert len(files) == (len(wanted) if partitions else 1), "one file for each partition"
