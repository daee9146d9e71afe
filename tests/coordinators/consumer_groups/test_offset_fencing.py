"""Offsets of consumer groups: who may commit, fetch and delete them, and when they expire."""

from __future__ import annotations

import pytest
from support.consumer_group_driver import Consumer, ConsumerDriver, settle
from support.group_driver import GROUP

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

DAY_MS = 86_400_000


def _commit_in_transaction(driver: ConsumerDriver, member_id: str, epoch: int, instance: str | None = None) -> int:
    partitions = [TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
    message = TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=GROUP,
        producer_id=9,
        producer_epoch=0,
        generation_id=epoch,
        member_id=member_id,
        group_instance_id=instance,
        topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=partitions)],
    )
    return int(driver.ask(message, 3).topics[0].partitions[0].error_code)


def _in_epoch_four() -> ConsumerDriver:
    """Member a has partition 0 since epoch 2 and partition 1 since epoch 4."""
    driver = ConsumerDriver({"orders": 1})
    member = Consumer(driver, "a", topics=["orders", "returns"])
    member.join()
    driver.set_topics(orders=1, returns=1)
    settle([member])
    driver.set_topics(orders=2, returns=1)
    settle([member])
    assert member.epoch == 4
    return driver


@pytest.mark.parametrize(
    ("member_id", "epoch", "partition", "version", "code"),
    [
        ("a", 4, 0, 9, ErrorCode.NONE),
        ("a", 4, 1, 10, ErrorCode.NONE),
        ("a", 5, 0, 9, ErrorCode.STALE_MEMBER_EPOCH),
        # Behind, but nobody else can have had this partition since (KIP-1251).
        ("a", 3, 0, 9, ErrorCode.NONE),
        ("a", 3, 1, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 3, 5, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 4, 0, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("b", 4, 0, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, 0, 9, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit(member_id: str, epoch: int, partition: int, version: int, code: ErrorCode) -> None:
    driver = _in_epoch_four()
    assert driver.commit(5, member_id=member_id, generation=epoch, partition=partition, version=version) == code
    assert driver.fetch(partition=partition) == (5 if code == 0 else -1, 0)


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        ("a", 4, ErrorCode.NONE),
        ("a", 3, ErrorCode.NONE),
        ("a", 0, ErrorCode.ILLEGAL_GENERATION),
        ("a", 5, ErrorCode.ILLEGAL_GENERATION),
        ("b", 4, ErrorCode.UNKNOWN_MEMBER_ID),
        # A producer that does not say for whom it commits.
        ("", -1, ErrorCode.NONE),
    ],
)
def test_who_may_commit_in_a_transaction(member_id: str, epoch: int, code: ErrorCode) -> None:
    assert _commit_in_transaction(_in_epoch_four(), member_id, epoch) == code


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        (None, -1, ErrorCode.NONE),
        ("a", 4, ErrorCode.NONE),
        ("a", 3, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 5, ErrorCode.STALE_MEMBER_EPOCH),
        ("b", 4, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 4, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_fetch(member_id: str | None, epoch: int, code: ErrorCode) -> None:
    driver = _in_epoch_four()
    driver.commit(5, member_id="a", generation=4)
    assert driver.fetch_as(member_id, epoch) == (code, 5 if code is ErrorCode.NONE else -1)


def test_a_partition_that_is_being_given_up_can_still_be_committed() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a"), Consumer(driver, "b")
    first.join()
    second.join()
    first.beat()
    assert driver.consumer_group().members["a"].current.pending_revocation
    for number in range(4):
        assert driver.commit(number, member_id="a", generation=2, partition=number) == 0
    settle([first, second])
    assert driver.commit(9, member_id="a", generation=2, partition=3) == ErrorCode.STALE_MEMBER_EPOCH


def test_anybody_may_commit_for_an_empty_group() -> None:
    driver = _in_epoch_four()
    driver.heartbeat_as("a", -1)
    assert driver.commit(5) == 0
    assert driver.fetch() == (5, 0)


def _delete(driver: ConsumerDriver, topic: str) -> int:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    message = OffsetDeleteRequest(group_id=GROUP, topics=[OffsetDeleteRequestTopic(name=topic, partitions=partitions)])
    return int(driver.ask(message, 0).topics[0].partitions[0].error_code)


def test_offsets_of_subscribed_topics_cannot_be_deleted() -> None:
    driver = _in_epoch_four()
    driver.commit(5, member_id="a", generation=4)
    driver.commit(5, topic="other", member_id="a", generation=4)
    assert _delete(driver, "orders") == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert _delete(driver, "other") == 0
    assert driver.fetch(topic="other") == (-1, 0)
    assert driver.fetch() == (5, 0)


def test_offsets_expire_unless_somebody_is_subscribed() -> None:
    driver = ConsumerDriver(group_consumer_session_timeout_ms=100 * DAY_MS)
    driver.join_as("a")
    driver.commit(5, member_id="a", generation=2)
    driver.commit(5, topic="other", member_id="a", generation=2)
    driver.advance(8 * DAY_MS)
    assert driver.fetch() == (5, 0)
    assert driver.fetch(topic="other") == (-1, 0)
    driver.heartbeat_as("a", -1)
    driver.advance(DAY_MS)
    assert driver.fetch() == (-1, 0)
    assert list(driver.shard.consumer_groups) == []
    assert list(driver.reloaded().consumer_groups) == []
