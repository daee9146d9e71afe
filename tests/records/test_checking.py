"""The loop that checks produced records: plain and compiled, whole and in pieces, it says the same."""

from __future__ import annotations

import random
from importlib import import_module
from types import ModuleType

import pytest
from support.malformed_batches import Draft, at_random, every_field, make_record

from tidelog.records import checking, implementation
from tidelog.records.batch import HEADER_SIZE, LOG_APPEND_TIME, BatchHeader, CorruptBatch, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import decode_records

CASES = [
    case
    for case in [*every_field()[::3], *at_random(1500)]
    if len(case.data) > HEADER_SIZE and not case.data[22] & 7 and parse_header(case.data).record_count < 1000
]


def twin() -> ModuleType:
    if not implementation.COMPILED:
        pytest.skip(f"runs plain Python: {implementation.REASON}")
    return import_module("tidelog.records.native.checking")


def answer(module: ModuleType, header: BatchHeader, pieces: list[bytes]) -> object:
    check = module.RecordCheck(
        header.record_count,
        header.base_timestamp,
        stamped_ms=header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else None,
        needs_key=True,
        limits_time=True,
        now_ms=1_800_000_000_000,
        before_max_ms=10_000_000_000_000,
        after_max_ms=3_600_000,
        max_listed=5,
    )
    try:
        for piece in pieces:
            check.feed(piece)
        check.finish()
    except CorruptBatch:
        return "corrupt"
    return check.max_timestamp, check.refused, check.listed


def cut(payload: bytes, rng: random.Random) -> list[bytes]:
    """Small pieces, so that every field lies across two of them at times."""
    pieces = []
    while payload:
        size = rng.choice((1, 2, 3, 7, 50, 500))
        pieces.append(payload[:size])
        payload = payload[size:]
    return pieces


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_pieces_make_no_difference(compiled: bool) -> None:
    module = twin() if compiled else checking
    rng = random.Random(1)
    good = 0
    for case in CASES:
        header, payload = parse_header(case.data), case.data[HEADER_SIZE:]
        whole = answer(module, header, [payload])

        assert answer(module, header, cut(payload, rng)) == whole, case.name
        assert answer(checking, header, [payload]) == whole, case.name
        good += whole != "corrupt"
    assert 100 < good < len(CASES) - 100


def test_what_passes_can_be_decoded() -> None:
    """Our own reader is as strict as the check, so nothing that is stored makes it stop."""
    for case in CASES:
        header, payload = parse_header(case.data), case.data[HEADER_SIZE:]
        if header.record_count > 0 and answer(checking, header, [payload]) != "corrupt":
            header = header._replace(base_offset=0, last_offset_delta=header.record_count - 1)
            records = decode_records(header, payload)
            assert [record.offset for record in records] == list(range(header.record_count)), case.name


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_a_huge_value_is_skipped_and_not_kept(compiled: bool) -> None:
    module = twin() if compiled else checking
    batch = Draft(records=[make_record(0, value=bytes(3_000_000)), make_record(1)], codec=Compression.NONE).batch()
    payload = batch[HEADER_SIZE:]
    check = module.RecordCheck(2, 0)
    for at in range(0, len(payload), 65_536):
        check.feed(memoryview(payload)[at : at + 65_536])
    check.finish()

    assert check.max_timestamp == 1


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_timestamps_wrap_as_in_java(compiled: bool) -> None:
    module = twin() if compiled else checking
    payload = b"".join(
        Draft(records=[make_record(index)], codec=Compression.NONE).batch()[HEADER_SIZE:] for index in range(2)
    )
    check = module.RecordCheck(2, (1 << 63) - 1, limits_time=True, now_ms=5, before_max_ms=(1 << 63) - 1, max_listed=9)
    check.feed(payload)
    check.finish()

    assert [(index, timestamp) for index, _, timestamp, _, _ in check.listed] == [(0, (1 << 63) - 1), (1, -(1 << 63))]
