"""`check_invariants` finds what must not be. That it finds nothing else, the drivers show after every decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.consumer_group_driver import ConsumerDriver
from support.group_driver import GROUP, Driver
from support.transaction_driver import ORDERS, REFUNDS, TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.consumer_groups.state import Awaited, MemberTimer
from tidelog.coordinators.groups.state import SessionTimer
from tidelog.coordinators.transactions.state import TimeoutTimer
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.model.invariants import InvariantBroken


def classic_member_without_a_session() -> Any:
    driver = Driver()
    members, _ = driver.stable_group(2)
    driver.shard._state.timers.cancel(SessionTimer(GROUP, members[0]))
    return driver.shard


def leader_that_is_no_member() -> Any:
    driver = Driver()
    driver.stable_group(1)
    driver.shard._state.groups[GROUP].leader = "somebody"
    return driver.shard


def empty_group_with_members() -> Any:
    driver = Driver()
    members, _ = driver.stable_group(1)
    driver.commit(1, group="other")
    groups = driver.shard._state.groups
    groups["other"].members[members[0]] = groups[GROUP].members[members[0]]
    return driver.shard


def offsets_of_nobody() -> Any:
    driver = Driver()
    driver.commit(1)
    del driver.shard._state.groups[GROUP]
    return driver.shard


def partition_with_two_owners() -> Any:
    driver = ConsumerDriver({"orders": 2})
    driver.join_as("a")
    driver.join_as("b")
    group = driver.consumer_group()
    group.members["b"] = replace(group.members["b"], current=group.members["a"].current)
    return driver.shard


def consumer_without_a_session() -> Any:
    driver = ConsumerDriver({"orders": 2})
    driver.join_as("a")
    driver.shard._state.consumer.timers.cancel(MemberTimer(GROUP, "a", Awaited.HEARTBEAT))
    return driver.shard


def _open_transaction() -> Coordinator:
    coordinator = Coordinator()
    coordinator.add(coordinator.producer(), ORDERS)
    return coordinator


def transaction_without_a_deadline() -> Any:
    coordinator = _open_transaction()
    coordinator.shard._state.timers.cancel(TimeoutTimer(TRANSACTIONAL_ID))
    return coordinator.shard


def complete_transaction_with_partitions() -> Any:
    coordinator = _open_transaction()
    complete = replace(coordinator.transaction, state=TransactionState.COMPLETE_COMMIT)
    coordinator.shard._state.transactions[TRANSACTIONAL_ID] = complete
    return coordinator.shard


def marker_for_a_partition_that_was_not_added() -> Any:
    coordinator = _open_transaction()
    coordinator.end(coordinator.transaction.producer, commit=True)
    coordinator.shard._state.unmarked[TRANSACTIONAL_ID].add(REFUNDS)
    return coordinator.shard


def timer_that_never_fires() -> Any:
    coordinator = _open_transaction()
    coordinator.shard._state.timers._heap.clear()
    return coordinator.shard


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (classic_member_without_a_session, "a member must be heard from in time"),
        (leader_that_is_no_member, "is led by a member"),
        (empty_group_with_members, "has no members"),
        (offsets_of_nobody, "belong to groups that exist"),
        (partition_with_two_owners, "a partition has one owner"),
        (consumer_without_a_session, "must be heard from in time"),
        (transaction_without_a_deadline, "an open transaction has a deadline"),
        (complete_transaction_with_partitions, "has no partitions without a transaction"),
        (marker_for_a_partition_that_was_not_added, "only its partitions lack markers"),
        (timer_that_never_fires, "is in the heap"),
    ],
)
def test_what_must_not_be_is_found(broken: Callable[[], Any], rule: str) -> None:
    shard = broken()
    with pytest.raises(InvariantBroken, match=rule):
        shard.check_invariants()
