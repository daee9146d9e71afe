"""The records of consumer groups are Kafka's, and those of Kafka are understood."""

from __future__ import annotations

from support.consumer_group_driver import Consumer, ConsumerDriver
from support.default_settings import group_settings

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.topics import Topic, TopicIdPartition, TopicTable, metadata_hash
from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.groups.records import decode_record, encode_record
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from tidelog.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tidelog.protocol.messages.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue

TOPIC = Uuid(b"t" * 16)


def test_the_first_member_writes_kafkas_records_in_kafkas_order() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    assert [record.key.SCHEMA.api_key for record in driver.records()] == [5, 3, 7, 6, 8]


def test_a_departure_writes_tombstones_and_a_new_epoch() -> None:
    driver = ConsumerDriver()
    Consumer(driver, "a").join()
    written = len(driver.log)
    driver.heartbeat_as("a", -1)
    tail = driver.records()[written:]
    assert [(record.key.SCHEMA.api_key, record.value is None) for record in tail] == [
        (8, True),
        (7, True),
        (5, True),
        (3, False),
    ]


def test_a_record_of_the_current_assignment_byte_for_byte() -> None:
    driver = ConsumerDriver({"orders": 2})
    driver.join_as("a")
    key, value = encode_record(driver.records()[-1])
    assert key == b"\0\x08" + b"\0\x06orders" + b"\0\x01a"
    topic = driver.topic_id("orders") + b"\x03\0\0\0\0\0\0\0\x01"
    epochs = b"\x01\0\x09" + b"\x03\0\0\0\x02\0\0\0\x02"
    assert value == b"\0\0" + b"\0\0\0\x02" + b"\0\0\0\0" + b"\0" + b"\x02" + topic + epochs + b"\x01" + b"\0"


def test_a_record_without_assignment_epochs_counts_as_of_the_members_epoch() -> None:
    """Kafka before 4.3 wrote such."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=7, assigned_partitions=[TopicPartitions(topic_id=TOPIC, partitions=[1], assignment_epochs=None)]
    )
    assert records.read_current(value).assigned == {TopicIdPartition(TOPIC, 1): 7}


def test_a_state_of_a_newer_version_is_unknown_and_such_members_begin_anew() -> None:
    assert (
        records.read_current(ConsumerGroupCurrentMemberAssignmentValue(member_epoch=1, state=99)).state
        is MemberState.UNKNOWN
    )
    driver = ConsumerDriver()
    driver.join_as("a")
    current = driver.consumer_group().members["a"].current
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        state=99,
        assigned_partitions=[TopicPartitions(topic_id=driver.topic_id("orders"), partitions=[0, 1, 2, 3])],
    )
    key = records.current_record("orders", "a", current).key
    driver.shard.replay(CoordinatorRecord(key, value), offset=99)
    assert driver.heartbeat_as("a", 2).error_code != 0
    assert driver.join_as("a").error_code == 0
    assert driver.consumer_group().members["a"].current.state is MemberState.STABLE


def test_the_topics_record_of_older_kafkas_is_removed_in_time() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    key = ConsumerGroupPartitionMetadataKey(group_id="orders")
    driver.shard.replay(CoordinatorRecord(key, ConsumerGroupPartitionMetadataValue()), offset=99)
    driver.set_topics(orders=5)
    driver.heartbeat_as("a", 2)
    assert [record.value for record in driver.records() if isinstance(record.key, type(key))] == [None]
    assert not driver.consumer_group().has_partition_metadata_record


def test_tombstones_of_what_is_not_known_do_no_harm() -> None:
    shard = GroupShard(group_settings())
    for record in (*records.member_tombstones("g", "m"), *records.group_tombstones(ConsumerGroup("g"))):
        shard.replay(decode_record(*encode_record(record)), offset=0)
    shard.replay(records.regex_tombstone("g", "x"), offset=0)
    shard.replay(records.partition_metadata_tombstone("g"), offset=0)
    assert shard.group_count() == 0


def test_the_hash_changes_with_what_members_would_notice() -> None:
    topics = TopicTable([Topic("orders", TOPIC, 3), Topic("other", Uuid(b"o" * 16), 1)])
    more = TopicTable([Topic("orders", TOPIC, 4)])
    again = TopicTable([Topic("orders", Uuid(b"u" * 16), 3)])
    first = metadata_hash(["orders"], topics)
    assert metadata_hash(["orders", "missing"], topics) == first
    assert len({first, metadata_hash(["orders"], more), metadata_hash(["orders"], again), 0}) == 4
    assert metadata_hash(["missing"], topics) == 0
