"""The three indexes: Kafka's bytes, and searches that agree with a plain list."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.partition.transactions import AbortedTransaction
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.indexes.offset_index import OffsetIndex
from tidelog.storage.indexes.time_index import TimeIndex
from tidelog.storage.indexes.transaction_index import TransactionIndex

FILESYSTEM = LocalFileSystem()


def test_offset_index_has_kafkas_bytes(tmp_path: Path) -> None:
    index = OffsetIndex(FILESYSTEM, str(tmp_path / "i"), 1000, file_size=0)
    index.append_offset(1004, position=4200)
    index.append_offset(1009, position=9000)
    index.write_pending()
    assert (tmp_path / "i").read_bytes() == struct.pack(">iiii", 4, 4200, 9, 9000)


def test_time_index_has_kafkas_bytes_and_only_growing_timestamps(tmp_path: Path) -> None:
    index = TimeIndex(FILESYSTEM, str(tmp_path / "i"), 1000, file_size=0)
    for timestamp, offset in [(50, 1001), (50, 1002), (40, 1003), (60, 1004)]:
        index.append_timestamp(timestamp, offset=offset)
    index.write_pending()
    assert (tmp_path / "i").read_bytes() == struct.pack(">qiqi", 50, 1, 60, 4)


def test_transaction_index_has_kafkas_bytes(tmp_path: Path) -> None:
    index = TransactionIndex(FILESYSTEM, str(tmp_path / "i"), 0, file_size=0)
    index.append(AbortedTransaction(7, 10, 20, 15))
    assert (tmp_path / "i").read_bytes() == struct.pack(">hqqqq", 0, 7, 10, 20, 15)
    assert index.transactions() == [AbortedTransaction(7, 10, 20, 15)]


@settings(max_examples=60)
@given(
    gaps=st.lists(st.integers(1, 5), max_size=1500),
    written=st.integers(0, 1500),
    target=st.integers(-2, 4000),
)
def test_searches_agree_with_a_list(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int], written: int, target: int
) -> None:
    path = str(tmp_path_factory.mktemp("index") / "i")
    index = OffsetIndex(FILESYSTEM, path, 0, file_size=0)
    entries = []
    value = 0
    for number, gap in enumerate(gaps):
        value += gap
        entries.append((value, value * 10))
        index.append(value, value * 10)
        if number == written:
            index.write_pending()
    assert len(index) == len(entries)
    assert index.last() == (entries[-1] if entries else None)
    assert index.floor(target) == max((entry for entry in entries if entry[0] <= target), default=None)
    assert index.ceiling(target, field=1) == min((entry for entry in entries if entry[1] >= target), default=None)
    kept = index.count_up_to(target)
    index.truncate(kept)
    assert len(index) == kept
    assert index.last() == (entries[kept - 1] if kept else None)
    index.append(9999, 99990)
    index.write_pending()
    assert OffsetIndex(FILESYSTEM, path, 0, file_size=FILESYSTEM.size(path)).entries() == [
        *entries[:kept],
        (9999, 99990),
    ]


def test_offset_before_the_first_entry_is_searched_from_the_beginning(tmp_path: Path) -> None:
    index = OffsetIndex(FILESYSTEM, str(tmp_path / "i"), 100, file_size=0)
    assert index.position_before(150) == (100, 0)
    index.append_offset(120, position=5000)
    assert index.position_before(119) == (100, 0)
    assert index.position_before(120) == (120, 5000)
    assert index.offset_at_or_after_position(5001) is None
    assert index.offset_at_or_after_position(5000) == 120


@pytest.mark.parametrize(
    ("content", "log_size"),
    [
        (struct.pack(">ii", 5, 100)[:7], 1000),
        (struct.pack(">iiii", 5, 100, 0, 0), 1000),
        (struct.pack(">ii", 5, 1000), 1000),
        (struct.pack(">ii", -5, 100), 1000),
        (struct.pack(">iiii", 5, 100, 9, 90), 1000),
        (struct.pack(">ii", 5, 100) + bytes(800), 1000),
    ],
    ids=["part of an entry", "zeroes", "behind the log", "negative", "falling position", "preallocated"],
)
def test_offset_index_that_cannot_be_is_found(tmp_path: Path, content: bytes, log_size: int) -> None:
    (tmp_path / "i").write_bytes(content)
    with pytest.raises(CorruptIndex):
        OffsetIndex(FILESYSTEM, str(tmp_path / "i"), 0, file_size=len(content)).check(len(content), log_size=log_size)


@pytest.mark.parametrize(
    "content",
    [struct.pack(">qi", 5, 1)[:11], struct.pack(">qiqi", 5, 1, 0, 0), struct.pack(">qi", 5, -1)],
    ids=["part of an entry", "zeroes", "negative"],
)
def test_time_index_that_cannot_be_is_found(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "i").write_bytes(content)
    with pytest.raises(CorruptIndex):
        TimeIndex(FILESYSTEM, str(tmp_path / "i"), 0, file_size=len(content)).check(len(content))


@pytest.mark.parametrize(
    "content", [bytes(33), struct.pack(">hqqqq", 1, 7, 10, 20, 15), struct.pack(">hqqqq", 0, 7, 10, 99, 15)]
)
def test_transaction_index_that_cannot_be_is_found(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "i").write_bytes(content)
    with pytest.raises(CorruptIndex):
        TransactionIndex(FILESYSTEM, str(tmp_path / "i"), 100, file_size=len(content)).check(len(content))


def test_aborted_transactions_are_found_by_the_offsets_they_touch(tmp_path: Path) -> None:
    index = TransactionIndex(FILESYSTEM, str(tmp_path / "i"), 0, file_size=0)
    first, second, third = (
        AbortedTransaction(1, 0, 10, 5),
        AbortedTransaction(2, 5, 20, 12),
        AbortedTransaction(3, 30, 40, 41),
    )
    for transaction in (first, second, third):
        index.append(transaction)
    assert index.collect(0, upper_bound=50) == ([first, second, third], False)
    assert index.collect(11, upper_bound=25) == ([second], True)
    assert index.collect(0, upper_bound=12) == ([first, second], True)
    assert index.collect(21, upper_bound=29) == ([], True)


def test_transaction_index_forgets_markers_that_were_cut_off(tmp_path: Path) -> None:
    index = TransactionIndex(FILESYSTEM, str(tmp_path / "i"), 0, file_size=0)
    index.append(AbortedTransaction(1, 0, 10, 5))
    index.append(AbortedTransaction(2, 5, 20, 12))
    index.truncate_to_offset(20)
    assert index.transactions() == [AbortedTransaction(1, 0, 10, 5)]
    index.replace_all([])
    assert len(index) == 0
    assert not (tmp_path / "i").exists()
