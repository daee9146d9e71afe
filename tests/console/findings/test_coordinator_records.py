"""Records of coordinators as sentences and fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.present import present

from tidelog.console.findings.coordinator_records import ReadableRecord, UnknownRecord, readable
from tidelog.coordinators.consumer_groups import records as consumer_group_records
from tidelog.coordinators.decision import CoordinatorRecord, ProducerIdentity
from tidelog.coordinators.groups.records import (
    encode_record,
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
)
from tidelog.coordinators.transactions import records as transaction_records
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue

COMMIT = OffsetCommitValue(offset=417, leader_epoch=3, metadata="<b>", commit_timestamp=1, expire_timestamp=-1)


def of_group(record: CoordinatorRecord) -> ReadableRecord:
    found = readable(CONSUMER_OFFSETS_TOPIC, *encode_record(record))
    assert isinstance(found, ReadableRecord)
    return found


def of_transaction(transaction: Transaction) -> ReadableRecord:
    record = transaction_records.transaction_record(transaction)
    found = readable(TRANSACTION_STATE_TOPIC, *transaction_records.encode_record(record))
    assert isinstance(found, ReadableRecord)
    return found


def fields(text: str | None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(present(text))
    return document


def test_a_committed_offset() -> None:
    found = of_group(offset_record("billing", "orders", 2, COMMIT))
    assert found.summary == "group billing commits offset 417 of orders-2"
    assert (found.type, found.group, found.transactional_id) == ("OffsetCommit", "billing", None)
    assert fields(found.key) == {"type": "OffsetCommit", "group": "billing", "topic": "orders", "partition": 2}
    value = fields(found.value)
    assert (value["offset"], value["metadata"], value["leader_epoch"]) == (417, "<b>", 3)


def test_a_deleted_offset() -> None:
    found = of_group(offset_tombstone("billing", "orders", 2))
    assert found.summary == "the offset of group billing for orders-2 is deleted"
    assert found.value is None


def test_a_classic_group_with_what_its_consumers_have_written() -> None:
    subscription = ConsumerProtocolSubscription(topics=["orders"])
    assignment = ConsumerProtocolAssignment(assigned_partitions=[AssignedPartitions(topic="orders", partitions=[0, 2])])
    members = [
        MemberMetadata(
            member_id="member-1",
            subscription=b"\x00\x01" + encode(subscription, 1),
            assignment=b"\x00\x01" + encode(assignment, 1),
        ),
        MemberMetadata(member_id="of-connect", subscription=b"\xff", assignment=b"\x01\x02"),
    ]
    found = of_group(
        group_record("billing", GroupMetadataValue(generation=7, protocol_type="consumer", members=members))
    )
    assert found.summary == "group billing is in generation 7 with 2 members"
    first, second = fields(found.value)["members"]
    assert (first["subscription"], first["assignment"]) == ({"topics": ["orders"]}, {"orders": [0, 2]})
    assert (second["subscription"], second["assignment"]) == ("ff", "0102")


def test_a_deleted_group() -> None:
    assert of_group(group_tombstone("billing")).summary == "group billing is deleted"


def test_records_of_the_consumer_protocol() -> None:
    found = of_group(consumer_group_records.group_record("audit", 5, 9))
    assert (found.summary, found.group) == ("ConsumerGroupMetadata of group audit", "audit")
    tombstones = consumer_group_records.member_tombstones("audit", "m-1")
    assert {of_group(each).summary.partition(" of ")[2] for each in tombstones} == {
        "group audit, member m-1 is deleted"
    }


@pytest.mark.parametrize(
    ("state", "partitions", "summary"),
    [
        (TransactionState.EMPTY, [], "pay is Empty: producer 4, epoch 1"),
        (TransactionState.ONGOING, [0, 1], "pay is Ongoing: producer 4, epoch 1, orders-0, orders-1"),
        (
            TransactionState.PREPARE_ABORT,
            range(5),
            "pay is PrepareAbort: producer 4, epoch 1, orders-0, orders-1, orders-2 and 2 more",
        ),
    ],
)
def test_transactions(state: TransactionState, partitions: list[int], summary: str) -> None:
    found = of_transaction(
        Transaction(
            transactional_id="pay",
            producer=ProducerIdentity(4, 1),
            timeout_ms=60_000,
            state=state,
            partitions=frozenset(TopicPartition("orders", each) for each in partitions),
            last_update_ms=1,
        )
    )
    assert found.summary == summary
    assert (found.transactional_id, found.group) == ("pay", None)
    assert fields(found.value)["transaction_status"] == state.label


def test_a_deleted_transactional_id() -> None:
    record = transaction_records.transaction_tombstone("pay")
    found = readable(TRANSACTION_STATE_TOPIC, *transaction_records.encode_record(record))
    assert isinstance(found, ReadableRecord)
    assert found.summary == "pay is deleted"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, None, "it has no key"),
        (b"", None, "only 0 bytes"),
        (b"\x00\x63", b"", "record type 99 of __consumer_offsets is not known"),
        (b"\x00\x01\xff\xff", b"", ""),
        (encode_record(offset_tombstone("g", "t", 0))[0], b"\x00\x63garbage", ""),
        (encode_record(offset_tombstone("g", "t", 0))[0], b"", "only 0 bytes"),
    ],
)
def test_what_cannot_be_read_says_why(key: bytes | None, value: bytes | None, reason: str) -> None:
    found = readable(CONSUMER_OFFSETS_TOPIC, key, value)
    assert isinstance(found, UnknownRecord)
    assert reason in found.reason
    assert found.reason


def test_other_topics_have_records_of_their_own() -> None:
    assert readable("orders", *encode_record(offset_tombstone("g", "t", 0))) is None
