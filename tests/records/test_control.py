"""Control records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import CorruptBatch, parse_header
from tidelog.records.control import (
    ControlType,
    EndTransactionMarker,
    QuorumControl,
    UnknownControl,
    decode_control_record,
    encode_control_batch,
    encode_control_key,
    encode_end_transaction_marker,
    encode_marker_value,
    read_end_transaction_marker,
)
from tidelog.records.record import decode_batch, encode_batch, encode_retained


@given(st.booleans(), st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 32_767))
def test_markers_survive_a_round_trip(commit: bool, coordinator_epoch: int, producer_id: int, epoch: int) -> None:
    marker = EndTransactionMarker(commit=commit, coordinator_epoch=coordinator_epoch)

    batch = encode_end_transaction_marker(marker, producer_id=producer_id, producer_epoch=epoch, timestamp=5)

    assert read_end_transaction_marker(batch) == marker
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (producer_id, epoch, -1)
    assert header.record_count == 1


@pytest.mark.parametrize(
    ("control_type", "number"),
    [
        (ControlType.ABORT, 0),
        (ControlType.COMMIT, 1),
        (ControlType.LEADER_CHANGE, 2),
        (ControlType.SNAPSHOT_HEADER, 3),
        (ControlType.SNAPSHOT_FOOTER, 4),
        (ControlType.KRAFT_VERSION, 5),
        (ControlType.KRAFT_VOTERS, 6),
    ],
)
def test_keys_hold_kafkas_numbers(control_type: ControlType, number: int) -> None:
    assert encode_control_key(control_type) == bytes((0, 0, 0, number))


def test_quorum_control_records_keep_their_message() -> None:
    batch = encode_control_batch(ControlType.LEADER_CHANGE, b"message", timestamp=9, base_offset=3, leader_epoch=2)

    (record,) = decode_batch(batch)
    assert decode_control_record(record.key, record.value) == QuorumControl(
        type=ControlType.LEADER_CHANGE, version=0, value=b"message"
    )
    header = parse_header(batch)
    assert header.is_control
    assert not header.is_transactional
    assert header.partition_leader_epoch == 2


def test_types_of_a_newer_version_are_known_to_be_unknown() -> None:
    assert decode_control_record(bytes.fromhex("00010063"), b"") == UnknownControl(type=99, version=1)


def test_newer_versions_of_markers_may_be_longer() -> None:
    value = bytes.fromhex("00010000000c") + b"more"

    assert decode_control_record(encode_control_key(ControlType.COMMIT), value) == EndTransactionMarker(
        commit=True, coordinator_epoch=12
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\x00" * 6),
        (b"", b"\x00" * 6),
        (b"\x00\x00\x00", b"\x00" * 6),
        (b"\xff\xff\x00\x00", b"\x00" * 6),
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", b"\x00" * 5),
        (b"\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x00"),
    ],
)
def test_what_is_too_short_or_of_a_negative_version_is_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        decode_control_record(key, value)


def test_a_marker_that_compaction_has_taken_is_gone() -> None:
    marker = EndTransactionMarker(commit=True, coordinator_epoch=1)
    header = parse_header(encode_end_transaction_marker(marker, producer_id=1, producer_epoch=1, timestamp=5))

    assert read_end_transaction_marker(encode_retained(header, [])) is None


def test_other_control_records_are_no_markers() -> None:
    with pytest.raises(CorruptBatch, match="not a transaction marker"):
        read_end_transaction_marker(encode_control_batch(ControlType.LEADER_CHANGE, b"", timestamp=0))


def test_a_marker_batch_of_many_records_is_read_by_its_first() -> None:
    commit = encode_control_key(ControlType.COMMIT)
    value = encode_marker_value(EndTransactionMarker(commit=True, coordinator_epoch=3))
    batch = encode_batch([(1, commit, value, ()), (1, b"", b"", ())], control=True)

    assert read_end_transaction_marker(batch) == EndTransactionMarker(commit=True, coordinator_epoch=3)
