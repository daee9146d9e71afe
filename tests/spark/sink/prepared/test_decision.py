"""Decisions as they are written down, and what follows from them."""

from __future__ import annotations

import pytest

from tidelog.spark.sink.note import MAX_METADATA
from tidelog.spark.sink.prepared.decision import (
    MAX_PARTS,
    Begun,
    CommitDecision,
    Fence,
    Slot,
    UnreadableDecision,
    join_parts,
    plan_recovery,
    read_part,
    slot_name,
    slot_of_name,
    write_parts,
)

FENCE = Fence(17, 4)
LARGEST = Begun(Slot(99_999, 31), (1 << 63) - 1, 32_766)


def begun(task: int, epoch: int = 1) -> Begun:
    return Begun(Slot(task, 0), 1000 + task, epoch)


@pytest.mark.parametrize("count", [0, 1, 3, 500, 8_000])
def test_decisions_are_read_as_they_were_written(count: int) -> None:
    decision = CommitDecision(batch=7, fence=FENCE, transactions=tuple(begun(task) for task in range(count)))
    parts = write_parts(decision)
    assert all(len(part) <= MAX_METADATA for part in parts)
    assert (len(parts) > 1) == (count > 300)
    assert join_parts([read_part(7, part) for part in parts]) == decision


def test_decisions_that_are_too_long_are_refused() -> None:
    many = CommitDecision(batch=7, fence=FENCE, transactions=(LARGEST,) * 120 * MAX_PARTS)
    with pytest.raises(ValueError, match="tasks are too many for one decision"):
        write_parts(many)


def test_a_part_that_is_missing_or_of_another_decision_makes_it_unreadable() -> None:
    transactions = tuple(begun(task) for task in range(500))
    first, second = (
        [read_part(7, part) for part in write_parts(CommitDecision(batch=7, fence=fence, transactions=transactions))]
        for fence in (FENCE, Fence(17, 5))
    )
    for parts in ([first[0], None, *first[2:]], [first[0], second[1], *first[2:]], first[:1]):
        with pytest.raises(UnreadableDecision):
            join_parts(parts)


@pytest.mark.parametrize(
    "text", ["", "{}", "null", '{"fence":"x","parts":1,"tasks":""}', '{"fence":"1.2","parts":1,"tasks":"1.2"}']
)
def test_what_is_no_part_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableDecision):
        read_part(0, text)


def test_names_of_slots_are_found_again_and_no_others() -> None:
    assert slot_of_name("a.b-q", slot_name("a.b-q", Slot(3, 1))) == Slot(3, 1)
    for other in ("a.b-q", "a.b-q-p-3", "axb-q-p-3-1", "a.b-q-p-3-1-p-0-0", "a.b-q-p-x-1"):
        assert slot_of_name("a.b-q", other) is None


def test_what_is_decided_is_committed_and_what_never_can_be_is_aborted() -> None:
    decided, undecided, later, done = begun(0), begun(1), begun(2), begun(3)
    decision = CommitDecision(batch=7, fence=FENCE, transactions=(decided, done))
    found = plan_recovery(seen_before={decided, undecided}, decision=decision, open_now={decided, undecided, later})
    assert (found.commit, found.abort) == (frozenset({decided}), frozenset({undecided}))


def test_a_later_transaction_of_the_same_id_is_another_one() -> None:
    decision = CommitDecision(batch=7, fence=FENCE, transactions=(begun(0, epoch=1),))
    found = plan_recovery(seen_before={begun(0, epoch=1)}, decision=decision, open_now={begun(0, epoch=3)})
    assert found == (frozenset(), frozenset())
