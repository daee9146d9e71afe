"""Offsets and leader epochs, which no checksum covers, are held against those of the neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import BatchHeader, CorruptBatch, parse_header
from tidelog.records.record import encode_batch
from tidelog.storage.segments.batch_order import in_order
from tidelog.storage.segments.batch_scan import GoodBatch

BATCH = encode_batch([(0, None, b"a", ()), (0, None, b"b", ())])


def batch(offset: int, epoch: int = 0, count: int = 2) -> BatchHeader:
    return parse_header(BATCH)._replace(base_offset=offset, partition_leader_epoch=epoch, last_offset_delta=count - 1)


def check(*headers: BatchHeader, **options: object) -> tuple[list[int], int | None]:
    """(base offsets that were passed on, number of the batch that was refused)."""
    passed = []
    try:
        for _, header, _ in in_order(
            [GoodBatch(number, header, memoryview(b"")) for number, header in enumerate(headers)],
            start_offset=0,
            **options,  # type: ignore[arg-type]
        ):
            passed.append(header.base_offset)
    except CorruptBatch as problem:
        return passed, problem.position
    return passed, None


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ([batch(0), batch(2), batch(4)], None),
        ([batch(3), batch(9), batch(20)], None),
        ([batch(0), batch(2, 1), batch(4, 1), batch(6, 5)], None),
        ([batch(0), batch(2, -1), batch(4)], None),
        # Goes back, or overlaps.
        ([batch(0), batch(2), batch(0)], 2),
        ([batch(0), batch(2), batch(3)], 2),
        # The second one stands out by the gap before it, so it is the one that lies.
        ([batch(0), batch(6), batch(4)], 1),
        ([batch(0), batch(2 + (1 << 40)), batch(4)], 1),
        # Epochs fall: the one that brought the higher epoch lies, or else the one with the lower.
        ([batch(0), batch(2, 4), batch(4)], 1),
        ([batch(0, 4), batch(2, 4), batch(4)], 2),
        ([batch(0), batch(2, -(1 << 31)), batch(4)], 1),
    ],
)
def test_batch_out_of_place_is_found(headers: list[BatchHeader], refused: int | None) -> None:
    passed, found = check(*headers)
    assert found == refused
    assert passed == [header.base_offset for header in headers[: len(headers) if refused is None else refused]]


def test_gap_is_refused_in_a_log_that_no_cleaner_has_touched() -> None:
    assert check(batch(0), batch(2), batch(5), gapless=True) == ([0, 2], 2)
    assert check(batch(1), batch(3), gapless=True) == ([], 0)


def test_what_follows_in_the_next_segment_counts() -> None:
    assert check(batch(0), batch(6), following=batch(4)) == ([0], 1)
    assert check(batch(0), batch(2, 9), following=batch(4, 0)) == ([0], 1)
    assert check(batch(0), batch(2), following=batch(4)) == ([0, 2], None)


def test_batch_before_an_unreadable_one_is_passed_on() -> None:
    def torn() -> Iterator[GoodBatch]:
        yield GoodBatch(0, batch(0), memoryview(b""))
        yield GoodBatch(1, batch(7, 3), memoryview(b""))
        raise CorruptBatch(2, "torn")

    batches = in_order(torn(), start_offset=0)
    assert [next(batches)[1].base_offset for _ in range(2)] == [0, 7]
    with pytest.raises(CorruptBatch, match="torn"):
        next(batches)


@given(
    count=st.integers(2, 8),
    victim=st.data(),
    bit=st.integers(0, 62),
    in_epoch=st.booleans(),
)
def test_any_flipped_bit_in_a_gapless_log_is_found_before_the_batch_is_passed_on(
    count: int, victim: st.DataObject, bit: int, in_epoch: bool
) -> None:
    headers = [batch(2 * number, epoch=2) for number in range(count)]
    number = victim.draw(st.integers(0, count - 2))
    bad = headers[number]
    if in_epoch:
        bad = bad._replace(partition_leader_epoch=_flip(bad.partition_leader_epoch, bit % 32, 32))
    else:
        bad = bad._replace(base_offset=_flip(bad.base_offset, bit, 64))
    given_headers = [*headers[:number], bad, *headers[number + 1 :]]
    passed, refused = check(*given_headers, gapless=True, start_epoch=2)
    assert refused is not None
    assert len(passed) <= number


def _flip(value: int, bit: int, width: int) -> int:
    flipped = value ^ (1 << bit)
    return flipped - (1 << width) if bit == width - 1 and value >= 0 else flipped
