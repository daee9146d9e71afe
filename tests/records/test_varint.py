"""Zigzag varints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import CorruptBatch
from tidelog.records.varint import SMALL_SIGNED, SMALL_VARINTS, encode_varint, read_varint


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_numbers_have_kafkas_bytes(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded
    assert read_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_numbers_survive_a_round_trip_anywhere_in_a_buffer(value: int, before: bytes, after: bytes) -> None:
    encoded = encode_varint(value)

    assert read_varint(before + encoded + after, len(before)) == (value, len(before) + len(encoded))


def test_tables_agree_with_the_functions() -> None:
    assert all(encoded == encode_varint(value) for value, encoded in enumerate(SMALL_VARINTS))
    assert all(
        read_varint(bytes((folded & 0x7F | 0x80, folded >> 7)), 0)[0] == value
        for folded, value in enumerate(SMALL_SIGNED)
    )


@pytest.mark.parametrize("data", [b"\xff" * 10, b"\x80" * 11 + b"\x00", b"\xff" * 9 + b"\x7f"])
def test_numbers_beyond_64_bits_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        read_varint(data, 0)


def test_a_number_cut_short_runs_off_the_end() -> None:
    with pytest.raises(IndexError):
        read_varint(b"\x80\x80", 0)
