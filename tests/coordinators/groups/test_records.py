"""Records of `__consumer_offsets`. The bytes were written by Apache Kafka's own classes."""

from __future__ import annotations

import pytest

from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.groups.records import (
    decode_record,
    encode_record,
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
)
from tidelog.coordinators.record_format import UnknownRecordType
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from tidelog.protocol.messages.offset_commit_key import OffsetCommitKey
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue

_MEMBER = MemberMetadata(
    member_id="m-1",
    group_instance_id="i",
    client_id="c",
    client_host="/127.0.0.1",
    rebalance_timeout=60000,
    session_timeout=10000,
    subscription=b"sub",
    assignment=b"asg",
)
_GROUP = GroupMetadataValue(
    protocol_type="consumer",
    generation=3,
    protocol="range",
    leader="m-1",
    current_state_timestamp=1700000000000,
    members=[_MEMBER],
)
_OFFSET = OffsetCommitValue(offset=42, leader_epoch=5, metadata="meta", commit_timestamp=1700000000000)

_GROUP_BYTES = (
    "00030008636f6e73756d657200000003000572616e676500036d2d310000018bcfe568000000000100036d2d31"
    "000169000163000a2f3132372e302e302e310000ea60000027100000000373756200000003617367"
)

RECORDS = [
    group_record("g", _GROUP),
    group_record("g", GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=1, members=[])),
    group_tombstone("g"),
    offset_record("g", "orders", 7, _OFFSET),
    offset_record("g", "orders", 7, OffsetCommitValue(offset=1, commit_timestamp=2, expire_timestamp=3)),
    offset_record("그룹", "orders", 7, OffsetCommitValue(offset=1, topic_id=bytes(range(16)))),
    offset_tombstone("g", "orders", 7),
]


@pytest.mark.parametrize("record", RECORDS)
def test_what_is_written_can_be_read(record: CoordinatorRecord) -> None:
    key, value = encode_record(record)
    assert decode_record(key, value) == record
    # The same from memory that is not ours.
    assert decode_record(memoryview(key), None if value is None else memoryview(value)) == record


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (RECORDS[3], "000100016700066f726465727300000007", "0004000000000000002a00000005056d6574610000018bcfe5680000"),
        (RECORDS[4], "000100016700066f726465727300000007", "00010000000000000001000000000000000000020000000000000003"),
        (
            RECORDS[0],
            "0002000167",
            _GROUP_BYTES,
        ),
    ],
)
def test_bytes_are_those_of_kafka(record: CoordinatorRecord, key: str, value: str) -> None:
    written_key, written_value = encode_record(record)
    assert written_key.hex() == key
    assert written_value is not None
    assert written_value.hex() == value


def test_offsets_of_very_old_brokers_can_be_read() -> None:
    key, value = encode_record(RECORDS[4])
    assert decode_record(b"\0\0" + key[2:], value).key == OffsetCommitKey(group="g", topic="orders", partition=7)


@pytest.mark.parametrize("key", [b"", b"\0"])
def test_a_key_that_is_too_short_is_refused(key: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_record(key, None)


def test_an_unknown_type_has_an_error_of_its_own() -> None:
    with pytest.raises(UnknownRecordType, match="record type 99"):
        decode_record(b"\0\x63rest", b"\0\0")


def test_trailing_bytes_are_refused() -> None:
    key, value = encode_record(RECORDS[3])
    with pytest.raises(ProtocolError):
        decode_record(key + b"x", value)
