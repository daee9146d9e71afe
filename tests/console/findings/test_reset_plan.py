"""What a reset of committed offsets would change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.lag import LogMarks
from tidelog.console.findings.reset_plan import (
    CheckedOffset,
    PlannedOffset,
    ResetClamp,
    ResetKept,
    ResetTarget,
    ResetWish,
    parse_partitions,
    plan_reset,
    what_has_changed,
    who_is_there,
)
from tidelog.model.ids import TopicPartition

HERE = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
MARKS = LogMarks(start=10, stable=80, end=100)


def planned(target: ResetTarget, value: int = 0, *, now: int | None = 50, found: int | None = None) -> PlannedOffset:
    wish = ResetWish(target=target, value=value, found={} if found is None else {HERE: found})
    committed = {} if now is None else {HERE: now}
    (plan,) = plan_reset(wish, [HERE], committed, {HERE: MARKS})
    return plan


@pytest.mark.parametrize(
    ("plan", "then", "clamp"),
    [
        (planned(ResetTarget.EARLIEST), 10, None),
        (planned(ResetTarget.LATEST), 100, None),
        (planned(ResetTarget.LATEST, now=None), 100, None),
        (planned(ResetTarget.TIME, found=70), 70, None),
        (planned(ResetTarget.TIME, found=-1), 100, ResetClamp.NONE_SO_LATE),
        (planned(ResetTarget.OFFSET, 60), 60, None),
        (planned(ResetTarget.OFFSET, 5), 10, ResetClamp.TO_START),
        (planned(ResetTarget.OFFSET, 101), 100, ResetClamp.TO_END),
        (planned(ResetTarget.SHIFT, -20), 30, None),
        (planned(ResetTarget.SHIFT, -45), 10, ResetClamp.TO_START),
        (planned(ResetTarget.SHIFT, 60), 100, ResetClamp.TO_END),
        (planned(ResetTarget.GROUP, found=90), 90, None),
        (planned(ResetTarget.GROUP, found=3), 10, ResetClamp.TO_START),
    ],
)
def test_targets(plan: PlannedOffset, then: int, clamp: ResetClamp | None) -> None:
    assert (plan.then, plan.clamp, plan.kept, plan.changes) == (then, clamp, None, True)


@pytest.mark.parametrize(
    ("plan", "kept"),
    [
        (planned(ResetTarget.SHIFT, 5, now=None), ResetKept.NOTHING_COMMITTED),
        (planned(ResetTarget.GROUP), ResetKept.NOT_IN_OTHER_GROUP),
        (planned(ResetTarget.TIME), ResetKept.NOT_TOLD),
    ],
)
def test_what_stays_as_it_is(plan: PlannedOffset, kept: ResetKept) -> None:
    assert (plan.then, plan.kept, plan.changes) == (plan.now, kept, False)


def test_an_offset_that_is_there_already_does_not_change() -> None:
    assert not planned(ResetTarget.OFFSET, 50).changes


def test_partitions_come_in_order_and_those_without_a_leader_stay() -> None:
    wish = ResetWish(target=ResetTarget.EARLIEST, value=0, found={})
    plan = plan_reset(wish, [OTHER, HERE], {OTHER: 4}, {HERE: MARKS})
    assert [(each.partition, each.then, each.kept) for each in plan] == [
        (HERE, 10, None),
        (OTHER, 4, ResetKept.NO_LEADER),
    ]


@given(
    target=st.sampled_from(ResetTarget),
    value=st.integers(-300, 300),
    now=st.none() | st.integers(0, 300),
    found=st.none() | st.integers(-1, 300),
    offsets=st.tuples(*[st.integers(0, 200)] * 3).map(sorted),
)
def test_what_is_planned_is_in_the_log(
    target: ResetTarget, value: int, now: int | None, found: int | None, offsets: list[int]
) -> None:
    marks = LogMarks(*offsets)
    wish = ResetWish(target=target, value=value, found={} if found is None else {HERE: found})
    (plan,) = plan_reset(wish, [HERE], {} if now is None else {HERE: now}, {HERE: marks})
    if plan.kept is None:
        assert plan.then is not None
        assert marks.start <= plan.then <= marks.end
        assert (plan.clamp is None) == (plan.wanted == plan.then and not (target is ResetTarget.TIME and found == -1))
        checked = {HERE: CheckedOffset(now, plan.then)}
        assert what_has_changed(checked, {} if now is None else {HERE: now}, {HERE: marks}) is None
    else:
        assert not plan.changes


@pytest.mark.parametrize(
    ("checked", "committed", "marks", "part"),
    [
        (CheckedOffset(5, 20), {HERE: 6}, {HERE: MARKS}, "orders-0 was at 5 and is at 6"),
        (CheckedOffset(5, 20), {}, {HERE: MARKS}, "orders-0 was at 5 and is at no offset"),
        (CheckedOffset(None, 20), {HERE: 6}, {HERE: MARKS}, "orders-0 was at no offset and is at 6"),
        (CheckedOffset(6, 9), {HERE: 6}, {HERE: MARKS}, "orders-0 has 10 to 100 instead of 9"),
        (CheckedOffset(6, 101), {HERE: 6}, {HERE: MARKS}, "orders-0 has 10 to 100 instead of 101"),
        (CheckedOffset(6, 20), {HERE: 6}, {}, "no leader, or no such partition, of orders-0"),
    ],
)
def test_what_was_previewed_is_what_is_done(
    checked: CheckedOffset,
    committed: dict[TopicPartition, int],
    marks: dict[TopicPartition, LogMarks],
    part: str,
) -> None:
    said = what_has_changed({HERE: checked}, committed, marks)
    assert said is not None
    assert part in said
    assert "Nothing was changed" in said


def test_many_changes_are_counted() -> None:
    checked = {TopicPartition("orders", number): CheckedOffset(1, 20) for number in range(5)}
    said = what_has_changed(checked, {}, {})
    assert said is not None
    assert said.count("was at 1") == 3
    assert "and 2 more" in said


@pytest.mark.parametrize(
    ("state", "members", "part"),
    [
        ("Stable", ["worker at /10.0.0.7"], "has 1 member: worker at /10.0.0.7. Only"),
        ("Stable", ["a", "b", "c", "d", "e"], "has 5 members: a; b; c; and 2 more. Only"),
        ("PreparingRebalance", [], "in the state PreparingRebalance"),
    ],
)
def test_a_group_with_members_is_not_changed(state: str, members: list[str], part: str) -> None:
    said = who_is_there(state, members)
    assert said is not None
    assert part in said


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_without_members_may_be_changed(state: str) -> None:
    assert who_is_there(state, []) is None


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("", None),
        ("  ", None),
        ("3", [range(3, 4)]),
        ("0-2, 5", [range(3), range(5, 6)]),
        ("5,0-2", [range(3), range(5, 6)]),
        (" 7 - 8,7", [range(7, 9)]),
        ("4-4", [range(4, 5)]),
        ("1-5,2-3", [range(1, 6)]),
        ("1,2,3", [range(1, 4)]),
    ],
)
def test_partitions_as_text(text: str, ranges: list[range] | None) -> None:
    assert parse_partitions(text) == ranges


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1))
def test_ranges_have_each_number_once(named: list[tuple[int, int]]) -> None:
    ranges = parse_partitions(",".join(f"{begin}-{begin + more}" for begin, more in named))
    assert ranges is not None
    numbers = [number for each in ranges for number in each]
    assert numbers == sorted({number for begin, more in named for number in range(begin, begin + more + 1)})


def test_large_ranges_are_not_written_out() -> None:
    assert parse_partitions(",".join(["0-999999"] * 5000)) == [range(1_000_000)]


def test_a_long_text_is_not_repeated_whole() -> None:
    with pytest.raises(ValueError, match="neither") as refused:
        parse_partitions("x" * 50_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "1,,2", "0-99999999999", "9" * 5000, "²", "1;2"])
def test_what_is_no_partition_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="neither the number of a partition nor a range"):
        parse_partitions(text)
