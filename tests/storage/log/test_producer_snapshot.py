"""Snapshots of producer states: Kafka's bytes, damage found, and which files are kept."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from tidelog.partition.producer_entry import SnapshotEntry
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.log.producer_snapshot import (
    CorruptProducerSnapshot,
    ProducerSnapshotFiles,
    decode_snapshot,
    encode_snapshot,
)

FILESYSTEM = LocalFileSystem()
ENTRY = SnapshotEntry(13, 2, 41, 63, 4, 1_700_726_837_407, 0, 59)


def test_snapshot_has_kafkas_bytes() -> None:
    body = struct.pack(">i qhiqiqiq", 1, 13, 2, 41, 63, 4, 1_700_726_837_407, 0, 59)
    assert encode_snapshot([ENTRY]) == struct.pack(">hI", 1, crc32c(body)) + body
    assert decode_snapshot(encode_snapshot([ENTRY])) == [ENTRY]


def test_snapshot_without_producers_is_read_back() -> None:
    assert decode_snapshot(encode_snapshot([])) == []


def test_every_flipped_byte_is_found() -> None:
    content = encode_snapshot([ENTRY])
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptProducerSnapshot):
            decode_snapshot(bytes(damaged))


def test_every_cut_is_found() -> None:
    content = encode_snapshot([ENTRY])
    for size in range(len(content)):
        with pytest.raises(CorruptProducerSnapshot):
            decode_snapshot(content[:size])


def test_newest_readable_snapshot_is_used_and_unreadable_ones_are_removed(tmp_path: Path) -> None:
    files = ProducerSnapshotFiles(FILESYSTEM, str(tmp_path))
    for offset in (10, 20, 30):
        files.write(offset, [ENTRY._replace(last_offset=offset)], sync=True)
    Path(files.path(20)).write_bytes(b"")
    found = files.newest(25)
    assert found is not None
    assert found[0] == 10
    assert files.offsets == [10, 30]
    assert not Path(files.path(20)).exists()
    assert files.newest(9) is None
    assert files.newest(25, above=10) is None


def test_strays_go_except_the_newest_above_all_segments(tmp_path: Path) -> None:
    files = ProducerSnapshotFiles(FILESYSTEM, str(tmp_path))
    for offset in (5, 10, 15, 20, 22, 25):
        files.write(offset, [], sync=False)
    files.remove_strays([0, 10, 20])
    assert files.offsets == [10, 20, 25]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{offset:020d}.snapshot" for offset in (10, 20, 25)]
