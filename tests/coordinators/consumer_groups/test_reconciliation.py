"""One step of a member, state by state."""

from __future__ import annotations

import pytest

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import CurrentAssignment
from tidelog.coordinators.consumer_groups.reconciliation import Goal, reconcile
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.model.ids import Uuid

TOPIC = Uuid(b"orders".ljust(16, b"."))
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def _partitions(numbers: dict[int, int] | set[int] | frozenset[int], epoch: int = 1) -> dict[TopicIdPartition, int]:
    epochs = numbers if isinstance(numbers, dict) else dict.fromkeys(numbers, epoch)
    return {TopicIdPartition(TOPIC, number): value for number, value in epochs.items()}


def _current(
    state: MemberState, epoch: int, assigned: dict[int, int], pending: dict[int, int] | None = None
) -> CurrentAssignment:
    return CurrentAssignment(
        epoch=epoch,
        previous_epoch=epoch - 1,
        state=state,
        assigned=_partitions(assigned),
        pending_revocation=_partitions(pending or {}),
    )


@pytest.mark.parametrize(
    ("current", "target", "others", "reported", "expected"),
    [
        # Nothing to do: the target has the member's epoch.
        (_current(STABLE, 5, {0: 1}), {0}, set(), None, _current(STABLE, 5, {0: 1})),
        # More, and free.
        (_current(STABLE, 4, {0: 1}), {0, 1}, set(), None, _current(STABLE, 5, {0: 1, 1: 5})),
        # More, but somebody else still has it.
        (_current(STABLE, 4, {0: 1}), {0, 1}, {1}, None, _current(UNRELEASED, 5, {0: 1})),
        (_current(STABLE, 4, {0: 1}), {0, 1, 2}, {1}, None, _current(UNRELEASED, 5, {0: 1, 2: 5})),
        # Less: in the old epoch, until the member no longer reports it.
        (_current(STABLE, 4, {0: 1, 1: 2}), {0}, set(), None, _current(UNREVOKED, 4, {0: 1}, {1: 2})),
        (_current(STABLE, 4, {0: 1, 1: 2}), {0}, set(), {0, 1}, _current(UNREVOKED, 4, {0: 1}, {1: 2})),
        # It says that it does not have it anyway.
        (_current(STABLE, 4, {0: 1, 1: 2}), {0}, set(), {0}, _current(STABLE, 5, {0: 1})),
        # First give up, then take.
        (_current(STABLE, 4, {0: 1}), {1}, set(), None, _current(UNREVOKED, 4, {}, {0: 1})),
        (_current(UNREVOKED, 4, {}, {0: 1}), {1}, set(), None, _current(UNREVOKED, 4, {}, {0: 1})),
        (_current(UNREVOKED, 4, {}, {0: 1}), {1}, set(), {0}, _current(UNREVOKED, 4, {}, {0: 1})),
        (_current(UNREVOKED, 4, {}, {0: 1}), {1}, set(), set(), _current(STABLE, 5, {1: 5})),
        # What was given up can come back.
        (_current(UNREVOKED, 4, {}, {0: 1}), {0}, set(), set(), _current(STABLE, 5, {0: 5})),
        # Meanwhile the target has changed again: there is more to give up.
        (_current(UNREVOKED, 4, {1: 1}, {0: 1}), {2}, set(), {1}, _current(UNREVOKED, 4, {}, {1: 1})),
        # Released by the others, or still not.
        (_current(UNRELEASED, 5, {0: 1}), {0, 1}, set(), None, _current(STABLE, 5, {0: 1, 1: 5})),
        (_current(UNRELEASED, 5, {0: 1}), {0, 1}, {1}, None, _current(UNRELEASED, 5, {0: 1})),
        (_current(UNRELEASED, 4, {0: 1}), {0}, set(), None, _current(STABLE, 5, {0: 1})),
        (_current(UNRELEASED, 4, {0: 1}), {1}, {1}, None, _current(UNREVOKED, 4, {}, {0: 1})),
    ],
)
def test_steps(
    current: CurrentAssignment,
    target: set[int],
    others: set[int],
    reported: set[int] | None,
    expected: CurrentAssignment,
) -> None:
    group = ConsumerGroup("group")
    group.put_current("me", current)
    group.put_current("other", CurrentAssignment(assigned=_partitions(others)))
    found = reconcile(
        group,
        current,
        Goal(epoch=5, target=frozenset(_partitions(target)), subscribed={TOPIC}),
        known_as=["me"],
        reported=None if reported is None else set(_partitions(reported)),
        subscription_changed=False,
    )
    assert (found.epoch, found.state) == (expected.epoch, expected.state)
    assert (found.assigned, found.pending_revocation) == (expected.assigned, expected.pending_revocation)
    assert found.previous_epoch == (current.previous_epoch if found.epoch == current.epoch else current.epoch)


@pytest.mark.parametrize(
    ("current", "reported", "expected"),
    [
        (_current(STABLE, 5, {0: 1}), None, _current(UNREVOKED, 5, {}, {0: 1})),
        (_current(STABLE, 5, {0: 1}), set(), _current(STABLE, 5, {})),
        (_current(UNREVOKED, 4, {0: 1}, {1: 1}), None, _current(UNREVOKED, 4, {}, {0: 1, 1: 1})),
        (_current(UNREVOKED, 4, {}, {1: 1}), None, _current(UNREVOKED, 4, {}, {1: 1})),
    ],
)
def test_what_is_no_longer_subscribed_to_goes_even_if_the_target_is_not_new(
    current: CurrentAssignment, reported: set[int] | None, expected: CurrentAssignment
) -> None:
    found = reconcile(
        ConsumerGroup("group"),
        current,
        Goal(epoch=5, target=frozenset(_partitions({0})), subscribed=frozenset()),
        known_as=["me"],
        reported=None if reported is None else set(_partitions(reported)),
        subscription_changed=True,
    )
    assert found == expected


def test_the_successor_of_a_static_member_has_what_its_predecessor_had() -> None:
    group = ConsumerGroup("group")
    group.put_current("old", CurrentAssignment(assigned=_partitions({0})))
    found = reconcile(
        group,
        CurrentAssignment(),
        Goal(epoch=5, target=frozenset(_partitions({0})), subscribed={TOPIC}),
        known_as=["new", "old"],
        reported=set(),
        subscription_changed=False,
    )
    assert found.state is STABLE
    assert found.assigned == _partitions({0: 5})
