"""The last five batches of a producer are known after a restart and a truncation, wherever the segments end.

A snapshot keeps only one batch of each producer; the others are found in the log before it.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.model.errors import ErrorCode
from tidelog.partition.producers import AppendRefusal
from tidelog.storage.log.results import AppendResult
from tidelog.storage.log.truncation import truncate_to

PRODUCER: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
OTHER: dict[str, Any] = {"producer_id": 8, "producer_epoch": 0}


def fill(harness: Harness, count: int) -> None:
    """Batches of two records each, of one producer."""
    for number in range(count):
        result = harness.append(b"a", b"b", base_sequence=2 * number, **PRODUCER)
        assert isinstance(result, AppendResult)


def repeat(harness: Harness, number: int) -> AppendResult | AppendRefusal:
    return harness.offer(b"a", b"b", base_sequence=2 * number, **PRODUCER)


# One batch per segment, a few, and all in one.
SEGMENT_BYTES = (100, 250, 100_000)


@pytest.mark.parametrize("segment_bytes", SEGMENT_BYTES)
@pytest.mark.parametrize("end", ["reopen", "crash_and_reopen"])
def test_duplicates_of_the_last_five_batches_are_known_after_a_restart(
    harness: MakeHarness, segment_bytes: int, end: str
) -> None:
    one = harness(log_config(segment_bytes=segment_bytes))
    one.open()
    fill(one, 9)
    log = getattr(one, end)()
    for number in range(4, 9):
        result = repeat(one, number)
        assert isinstance(result, AppendResult)
        assert result.duplicate
        assert result.base_offset == 2 * number
    assert log.log_end_offset == 18
    older = repeat(one, 3)
    assert isinstance(older, AppendRefusal)
    assert older.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("segment_bytes", SEGMENT_BYTES)
def test_duplicates_are_known_after_a_truncation(harness: MakeHarness, segment_bytes: int) -> None:
    one = harness(log_config(segment_bytes=segment_bytes))
    log = one.open()
    fill(one, 9)
    truncate_to(log, 14, now_ms=one.now)
    for number in range(2, 7):
        result = repeat(one, number)
        assert isinstance(result, AppendResult)
        assert result.duplicate
    fresh = repeat(one, 7)
    assert isinstance(fresh, AppendResult)
    assert not fresh.duplicate


def test_batches_of_an_earlier_epoch_are_not_recalled(harness: MakeHarness) -> None:
    one = harness(log_config(segment_bytes=100))
    one.open()
    for sequence in range(3):
        one.append(b"a", base_sequence=sequence, producer_id=7, producer_epoch=0)
    for sequence in range(2):
        one.append(b"b", base_sequence=sequence, producer_id=7, producer_epoch=1)
    one.crash_and_reopen()
    assert one.append(b"b", base_sequence=0, producer_id=7, producer_epoch=1).duplicate
    stale = one.offer(b"a", base_sequence=2, producer_id=7, producer_epoch=0)
    assert isinstance(stale, AppendRefusal)
    assert stale.code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_producers_are_not_mixed_up(harness: MakeHarness) -> None:
    one = harness(log_config(segment_bytes=250))
    one.open()
    for number in range(6):
        one.append(b"a", b"b", base_sequence=2 * number, **PRODUCER)
        one.append(b"c", base_sequence=number, **OTHER)
    one.crash_and_reopen()
    for number in range(1, 6):
        assert one.append(b"a", b"b", base_sequence=2 * number, **PRODUCER).base_offset == 3 * number
        assert one.append(b"c", base_sequence=number, **OTHER).base_offset == 3 * number + 2


@pytest.mark.parametrize("field", [23, 57, 53], ids=["last offset delta", "record count", "base sequence"])
@pytest.mark.parametrize("truncated", [False, True])
def test_nothing_is_learned_from_a_damaged_batch(harness: MakeHarness, field: int, truncated: bool) -> None:
    """A log that was closed cleanly is not checked when it is opened."""
    one = harness(log_config(segment_bytes=100_000))
    one.open()
    fill(one, 9)
    path = one.log.segments.active.log_path
    one.close()
    with open(path, "r+b") as file:
        size = len(file.read()) // 9
        file.seek(6 * size + field)
        damaged = file.read(1)[0] ^ 0x20
        file.seek(6 * size + field)
        file.write(bytes([damaged]))
    log = one.open()
    if truncated:
        truncate_to(log, 16, now_ms=one.now)
    repeat(one, 4)
    log.producer_states.check_invariants()
    entry = log.producer_states.get(7)
    assert entry is not None
    assert all(batch.last_sequence < 18 and batch.offset_delta == 1 for batch in entry.batches)
