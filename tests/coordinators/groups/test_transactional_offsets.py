"""Offsets that are part of a transaction."""

from __future__ import annotations

import pytest
from support.group_driver import GROUP, Driver

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
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

PRODUCER = 1000


def _commit(
    driver: Driver,
    offset: int,
    *,
    producer_id: int = PRODUCER,
    partition: int = 0,
    group: str = GROUP,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    metadata: str = "",
) -> int:
    partitions = [
        TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata)
    ]
    message = TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=group,
        producer_id=producer_id,
        producer_epoch=0,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance,
        topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=partitions)],
    )
    return int(driver.ask(message, 5).topics[0].partitions[0].error_code)


def test_offsets_appear_with_the_commit_and_never_before() -> None:
    """Scenario 19."""
    driver = Driver()
    driver.commit(10)
    assert _commit(driver, 20) == 0
    assert driver.fetch() == (10, 0)
    driver.end_transaction(PRODUCER, commit=True)
    assert driver.fetch() == (20, 0)
    driver.fail_over()
    assert driver.fetch() == (20, 0)


def test_offsets_never_appear_after_an_abort() -> None:
    """Scenario 19."""
    driver = Driver()
    driver.commit(10)
    _commit(driver, 20)
    driver.end_transaction(PRODUCER, commit=False)
    assert driver.fetch() == (10, 0)
    driver.end_transaction(PRODUCER, commit=True)
    assert driver.fetch() == (10, 0)
    driver.fail_over()
    assert driver.fetch() == (10, 0)


def test_an_open_transaction_survives_a_change_of_coordinator() -> None:
    driver = Driver()
    _commit(driver, 20)
    driver.fail_over()
    assert driver.fetch(require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    driver.end_transaction(PRODUCER, commit=True)
    assert driver.fetch(require_stable=True) == (20, 0)


def test_who_requires_stable_offsets_is_told_to_wait_for_that_partition_only() -> None:
    driver = Driver()
    driver.commit(1)
    driver.commit(2, partition=1)
    _commit(driver, 20)
    assert driver.fetch(require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert driver.fetch(require_stable=False) == (1, 0)
    assert driver.fetch(partition=1, require_stable=True) == (2, 0)


def test_a_plain_commit_after_the_transactional_one_wins() -> None:
    driver = Driver()
    _commit(driver, 20)
    driver.commit(30)
    driver.end_transaction(PRODUCER, commit=True)
    assert driver.fetch() == (30, 0)
    driver.fail_over()
    assert driver.fetch() == (30, 0)


def test_transactions_of_two_producers_are_kept_apart() -> None:
    driver = Driver()
    _commit(driver, 20, producer_id=1)
    _commit(driver, 30, producer_id=2)
    driver.end_transaction(1, commit=False)
    assert driver.fetch(require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    driver.end_transaction(2, commit=True)
    assert driver.fetch(require_stable=True) == (30, 0)


@pytest.mark.parametrize(
    ("known", "options", "expected"),
    [
        (True, {"generation": 1}, ErrorCode.NONE),
        (True, {"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        (True, {"generation": -1}, ErrorCode.ILLEGAL_GENERATION),
        (False, {"generation": 1, "member_id": "zombie"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (False, {"generation": 1, "instance": "zombie"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (False, {}, ErrorCode.NONE),
        (False, {"group": "unknown"}, ErrorCode.NONE),
        (False, {"group": "unknown", "generation": 1}, ErrorCode.ILLEGAL_GENERATION),
        (False, {"group": ""}, ErrorCode.INVALID_GROUP_ID),
        (True, {"generation": 1, "metadata": "x" * 5000}, ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_the_generation_is_checked(known: bool, options: dict[str, object], expected: ErrorCode) -> None:
    """Scenario 21: a consumer that was left behind by a rebalance cannot commit through its producer either."""
    driver = Driver()
    (member,), _ = driver.stable_group(1)
    if known:
        options = {**options, "member_id": member}
    assert _commit(driver, 5, **options) == expected  # type: ignore[arg-type]


def test_deleting_an_offset_takes_it_out_of_open_transactions() -> None:
    driver = Driver()
    _commit(driver, 20)
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    topics = [OffsetDeleteRequestTopic(name="orders", partitions=partitions)]
    driver.ask(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
    driver.end_transaction(PRODUCER, commit=True)
    assert driver.fetch() == (-1, 0)
    driver.fail_over()
    assert driver.fetch() == (-1, 0)


def test_deleting_a_group_takes_its_offsets_out_of_open_transactions() -> None:
    driver = Driver()
    driver.commit(10)
    _commit(driver, 20)
    _commit(driver, 21, partition=1)
    assert driver.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2).results[0].error_code == 0
    driver.end_transaction(PRODUCER, commit=True)
    assert driver.shard.list_groups() == []
    assert driver.fetch() == driver.fetch(partition=1) == (-1, 0)


def test_nothing_expires_under_an_open_transaction() -> None:
    driver = Driver(offsets_retention_minutes=1)
    driver.commit(10)
    _commit(driver, 20)
    driver.advance(3_600_000)
    assert driver.fetch() == (10, 0)
    driver.end_transaction(PRODUCER, commit=False)
    driver.advance(600_000)
    assert driver.shard.list_groups() == []


def test_the_decision_names_the_producer_whose_transaction_the_records_belong_to() -> None:
    driver = Driver()
    _commit(driver, 20)
    (entry,) = driver.log
    assert entry[-1] == PRODUCER
