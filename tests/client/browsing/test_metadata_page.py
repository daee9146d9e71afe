"""What a page of the metadata log shows, from batches alone."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tidelog.client.browsing.image_parts import HIDDEN
from tidelog.client.browsing.metadata_page import (
    MetadataEntry,
    MetadataPosition,
    beginning_of,
    position_of_snapshot,
    read_entries,
    skip,
)
from tidelog.metadata.image import ResourceType
from tidelog.metadata.records import FRAME_VERSION, encode_record
from tidelog.metadata.snapshot_file import encode_snapshot
from tidelog.protocol.codec import encode, encode_uvarint
from tidelog.protocol.messages.abort_transaction_record import AbortTransactionRecord
from tidelog.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from tidelog.protocol.messages.begin_transaction_record import BeginTransactionRecord
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.leader_change_message import LeaderChangeMessage, Voter
from tidelog.protocol.messages.no_op_record import NoOpRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.remove_topic_record import RemoveTopicRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.protocol.schema import Message
from tidelog.records.control import ControlType, encode_control_batch
from tidelog.records.record import encode_batch

TOPIC_ID = b"t" * 16
TOPIC = TopicRecord(name="orders", topic_id=TOPIC_ID)
PARTITION = PartitionRecord(
    topic_id=TOPIC_ID,
    partition_id=0,
    replicas=[1, 2],
    isr=[1, 2],
    leader=1,
    leader_epoch=0,
    partition_epoch=0,
    directories=[b"d" * 16, b"e" * 16],
)
UNKNOWN = encode_uvarint(FRAME_VERSION) + encode_uvarint(99) + encode_uvarint(3) + b"abc"


def batch(values: Sequence[Message | bytes], base_offset: int = 0, epoch: int = 1) -> bytes:
    encoded = [each if isinstance(each, bytes) else encode_record(each) for each in values]
    return encode_batch(
        [(1_000 + number, None, value, ()) for number, value in enumerate(encoded)],
        base_offset=base_offset,
        leader_epoch=epoch,
    )


def read(*values: Message | bytes) -> tuple[list[MetadataEntry], MetadataPosition]:
    entries, position = read_entries(beginning_of("c"), batch(values), end_offset=1_000, max_entries=1_000)
    json.dumps([[entry.fields, entry.before, entry.after] for entry in entries])
    return entries, position


def test_the_life_of_a_topic() -> None:
    (topic, partition, config, change, removal), position = read(
        TOPIC,
        PARTITION,
        ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="orders", name="retention.ms", value="7"),
        PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=0, isr=[2], leader=2),
        RemoveTopicRecord(topic_id=TOPIC_ID),
    )
    assert (topic.type, topic.type_number, topic.version, topic.offset) == ("TopicRecord", 2, 0, 0)
    assert (topic.entity_kind, topic.entity_name, topic.before) == ("topic", "orders", None)
    assert topic.after == {"name": "orders", "topic_id": "dHR0dHR0dHR0dHR0dHR0dA", "partitions": {}, "configs": {}}
    assert (partition.entity_name, partition.before) == ("orders-0", None)
    assert partition.after is not None
    assert partition.after["leader"] == 1
    assert (config.entity_name, config.before, config.after) == ("topic orders", None, {"retention.ms": "7"})
    assert change.before == partition.after
    assert change.after is not None
    assert [change.after[name] for name in ("leader", "leader_epoch", "isr", "partition_epoch")] == [2, 1, [2], 1]
    assert change.fields["replicas"] is None
    assert removal.before is not None
    assert removal.before["partitions"] == {"0": change.after}
    assert removal.before["configs"] == {"retention.ms": "7"}
    assert removal.after is None
    assert [entry.timestamp_ms for entry in (topic, removal)] == [1_000, 1_004]
    assert (position.offset, position.epoch, position.image.offset) == (5, 1, 4)
    assert not position.image.topics


def test_other_entities() -> None:
    quota = ClientQuotaRecord(
        entity=[EntityData(entity_type="user", entity_name=None)], key="producer_byte_rate", value=5
    )
    acl = AccessControlEntryRecord(
        id=b"a" * 16,
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:a",
        host="*",
        operation=3,
        permission_type=3,
    )
    feature = FeatureLevelRecord(name="group.version", feature_level=1)
    (quotas, acls, features, nothing), _ = read(quota, acl, feature, NoOpRecord())
    assert (quotas.entity_name, quotas.after) == ("user <default>", {"producer_byte_rate": 5.0})
    assert acls.after is not None
    assert (acls.after["operation"], acls.after["principal"]) == ("READ", "User:a")
    assert (features.before, features.after) == (None, {"level": 1})
    assert (nothing.type, nothing.entity_kind, nothing.before, nothing.problem) == ("NoOpRecord", None, None, None)


def test_secrets_are_hidden() -> None:
    def of_broker(name: str, value: str) -> ConfigRecord:
        return ConfigRecord(resource_type=ResourceType.BROKER, resource_name="1", name=name, value=value)

    user = UserScramCredentialRecord(
        name="alice", mechanism=1, salt=b"secret", stored_key=b"secret", server_key=b"secret", iterations=4096
    )
    entries, _ = read(
        user,
        of_broker("ssl.keystore.password", "secret"),
        of_broker("listener.name.external.ssl.key.password", "secret"),
        of_broker("a.plugin.token", "secret"),
        of_broker("log.retention.ms", "7"),
    )
    shown = repr([(entry.fields, entry.before, entry.after) for entry in entries])
    assert "secret" not in shown
    assert b"secret".hex() not in shown
    assert entries[0].after is not None
    assert entries[0].after["stored_key"] == entries[0].fields["salt"] == HIDDEN
    assert entries[0].after["iterations"] == 4096
    assert entries[-1].after is not None
    assert entries[-1].after["log.retention.ms"] == entries[-1].fields["value"] == "7"


def test_unknown_and_broken_records_do_not_end_the_page() -> None:
    (unknown, empty, impossible, topic), position = read(UNKNOWN, b"", RemoveTopicRecord(topic_id=b"x" * 16), TOPIC)
    assert (unknown.type, unknown.type_number, unknown.version, unknown.size_bytes) == ("type 99", 99, 3, len(UNKNOWN))
    assert unknown.problem is not None
    assert (empty.type, empty.type_number) == ("unreadable", None)
    assert impossible.problem is not None
    assert "unknown topic id" in impossible.problem
    assert topic.problem is None
    assert list(position.image.topics) == ["orders"]


def test_control_records_are_shown_as_such() -> None:
    value = encode(LeaderChangeMessage(version=0, leader_id=2, voters=[Voter(voter_id=1)], granting_voters=[]), 0)
    data = encode_control_batch(ControlType.LEADER_CHANGE, value, timestamp=5, leader_epoch=3)
    (entry,), position = read_entries(beginning_of("c"), data, end_offset=9, max_entries=9)
    assert (entry.is_control, entry.type, entry.fields["leader_id"]) == (True, "LEADER_CHANGE", 2)
    assert (position.offset, position.epoch) == (1, 3)


def test_an_aborted_metadata_transaction_is_taken_back() -> None:
    records = (FeatureLevelRecord(name="f", feature_level=1), BeginTransactionRecord(), TOPIC, AbortTransactionRecord())
    _, read_position = read(*records)
    skipped = skip(beginning_of("c"), batch(records), end_offset=1_000)
    for position in (read_position, skipped):
        assert not position.image.topics
        assert dict(position.image.features) == {"f": 1}
        assert position.transaction_began is None
    assert skipped == read_position


@pytest.mark.parametrize("end", range(7))
def test_skipping_leads_to_the_same_image_as_reading(end: int) -> None:
    values = (TOPIC, PARTITION, UNKNOWN, RemoveTopicRecord(topic_id=b"x" * 16), NoOpRecord())
    data = batch(values[:2]) + batch(values[2:], base_offset=2, epoch=2)
    _, position = read_entries(beginning_of("c"), data, end_offset=end, max_entries=100)
    assert skip(beginning_of("c"), data, end_offset=end) == position
    assert position.offset == min(end, 5)


def test_nothing_behind_the_end_or_before_the_position_is_read() -> None:
    data = batch((TOPIC, PARTITION, NoOpRecord(), NoOpRecord()))
    first, position = read_entries(beginning_of("c"), data, end_offset=3, max_entries=1)
    rest, _ = read_entries(position, data, end_offset=3, max_entries=100)
    assert [entry.offset for entry in (*first, *rest)] == [0, 1, 2]


def test_a_snapshot_is_where_reading_can_begin() -> None:
    data = b"".join(encode_snapshot([TOPIC, PARTITION], epoch=4, timestamp_ms=1, now_ms=2))
    position = position_of_snapshot("c", data, end_offset=20, epoch=4)
    assert (position.offset, position.epoch, position.image.offset) == (20, 4, 19)
    (entry,), _ = read_entries(
        position, batch([RemoveTopicRecord(topic_id=TOPIC_ID)], base_offset=20), end_offset=21, max_entries=1
    )
    assert entry.before is not None
    assert entry.after is None
