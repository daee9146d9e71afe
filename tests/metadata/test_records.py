"""The frame of records in the cluster metadata log."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.metadata.records import InvalidMetadataRecord, decode_record, encode_record, record_version
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.no_op_record import NoOpRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord
from tidelog.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message

TOPIC_ID = bytes(range(16))

RECORDS = [
    TopicRecord(name="orders", topic_id=TOPIC_ID),
    PartitionRecord(
        partition_id=3,
        topic_id=TOPIC_ID,
        replicas=(1, 2, 3),
        isr=(1, 2),
        leader=1,
        leader_epoch=4,
        partition_epoch=5,
        directories=(b"a" * 16, b"b" * 16, b"c" * 16),
        eligible_leader_replicas=(3,),
    ),
    PartitionChangeRecord(partition_id=3, topic_id=TOPIC_ID, isr=(1,), leader=2),
    ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value=None),
    RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=b"i" * 16,
        broker_epoch=7,
        end_points=(BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0),),
        features=(BrokerFeature(name="metadata.version", min_supported_version=1, max_supported_version=25),),
        rack=None,
        log_dirs=(b"d" * 16,),
    ),
    BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1),
    NoOpRecord(),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda each: type(each).__name__)
def test_records_are_read_as_they_were_written(record: Message) -> None:
    assert same(decode_record(encode_record(record)).message, record)


def same(decoded: Message, record: Message) -> bool:
    """Arrays are decoded as lists, so the comparison goes by what is in them."""
    return type(decoded) is type(record) and all(
        plain(getattr(decoded, name)) == plain(getattr(record, name))
        for name in (field.name for field in record.SCHEMA.fields)
    )


def plain(value: object) -> object:
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


# Written by the serializer of Apache Kafka 4.3.1.
WRITTEN_BY_APACHE_KAFKA = [
    (TopicRecord(name="orders", topic_id=TOPIC_ID), "010200076f7264657273000102030405060708090a0b0c0d0e0f00"),
    (NoOpRecord(), "01140000"),
    (ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"), "0104000202740261023100"),
    (
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=(1,), leader=2),
        "01050200000000000102030405060708090a0b0c0d0e0f0200050200000001010400000002",
    ),
    (
        PartitionRecord(
            partition_id=3,
            topic_id=TOPIC_ID,
            replicas=(1, 2),
            isr=(1, 2),
            leader=1,
            leader_epoch=4,
            partition_epoch=5,
            directories=(TOPIC_ID, TOPIC_ID),
        ),
        "01030200000003000102030405060708090a0b0c0d0e0f03000000010000000203000000010000000201010000000100000004"
        "0000000503000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f00",
    ),
    (
        RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=TOPIC_ID,
            broker_epoch=7,
            end_points=(BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0),),
            features=(BrokerFeature(name="metadata.version", min_supported_version=1, max_supported_version=25),),
            rack=None,
            log_dirs=(TOPIC_ID,),
        ),
        "0100030000000100000102030405060708090a0b0c0d0e0f0000000000000007020a504c41494e544558540a6c6f63616c686f73"
        "74238400000002116d657461646174612e76657273696f6e000100190000010001001102000102030405060708090a0b0c0d0e0f",
    ),
    (
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1),
        "011102000000010000000000000007010001ff",
    ),
    (
        ProducerIdsRecord(broker_id=1, broker_epoch=7, next_producer_id=1000),
        "010f0000000001000000000000000700000000000003e800",
    ),
    (
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        "010c00116d657461646174612e76657273696f6e001900",
    ),
]


@pytest.mark.parametrize(
    ("level", "expected"),
    # What Apache Kafka 4.3 says of its levels (MetadataVersion).
    [
        (7, (1, 0, 0)),
        (8, (2, 0, 0)),
        (16, (2, 0, 0)),
        (17, (3, 1, 1)),
        (22, (3, 1, 1)),
        (23, (3, 2, 2)),
        (29, (3, 2, 2)),
        (30, (4, 2, 2)),
    ],
)
def test_a_cluster_writes_the_versions_of_its_level(level: int, expected: tuple[int, int, int]) -> None:
    kinds = (RegisterBrokerRecord, PartitionRecord, PartitionChangeRecord)
    assert tuple(record_version(kind, level) for kind in kinds) == expected
    for kind in kinds:
        assert decode_record(encode_record(kind(), level)).version == record_version(kind, level)


@pytest.mark.parametrize(
    ("record", "value"), WRITTEN_BY_APACHE_KAFKA, ids=[type(each).__name__ for each, _ in WRITTEN_BY_APACHE_KAFKA]
)
def test_bytes_are_those_of_apache_kafka(record: Message, value: str) -> None:
    assert encode_record(record, 25).hex() == value
    assert same(decode_record(bytes.fromhex(value)).message, record)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "truncated"),
        ("01", "truncated"),
        ("ffffffffffff", "truncated"),
        ("000200", "frame version 0"),
        ("020200", "frame version 2"),
        ("017f00", "unknown type 127"),
        ("010263", "TopicRecord cannot be read"),
        ("0102000761", "TopicRecord cannot be read"),
        ("0114000000", "NoOpRecord cannot be read"),
    ],
)
def test_broken_records_are_refused(value: str, problem: str) -> None:
    with pytest.raises(InvalidMetadataRecord, match=problem):
        decode_record(bytes.fromhex(value))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(value: bytes) -> None:
    try:
        record = decode_record(value)
    except InvalidMetadataRecord:
        return
    assert record.message.SCHEMA.api_key == value[1]


@given(st.sampled_from(RECORDS), st.data())
def test_a_record_with_a_changed_byte_never_raises_anything_else(record: Message, data: st.DataObject) -> None:
    value = bytearray(encode_record(record))
    value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InvalidMetadataRecord):
        decode_record(bytes(value))
