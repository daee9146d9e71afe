"""What a reset of committed offsets would change, and whether it may still be done as it was shown. No I/O.

An offset that is wanted may not be in the log: then the nearest one that is takes its place, and the plan says so. What
is shown is what is done: a reset comes with the offsets that the plan has seen, and is refused if they are others now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidelog.console.findings.lag import LogMarks
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

# So many are in a sentence.
_NAMED = 3
# No cluster has a partition with a larger number.
_LARGEST_PARTITION = 1_000_000
# Of what somebody has typed, in a sentence about it.
_SHOWN_CHARACTERS = 60


class ResetTarget(StrEnum):
    EARLIEST = "earliest"
    LATEST = "latest"
    # The first record with this timestamp or a later one.
    TIME = "time"
    OFFSET = "offset"
    # By so many offsets, back if it is negative.
    SHIFT = "shift"
    # Where another group is.
    GROUP = "group"


class ResetClamp(StrEnum):
    """The offset that was wanted is not in the log."""

    TO_START = "start"
    TO_END = "end"
    # No record is that late.
    NONE_SO_LATE = "none so late"


class ResetKept(StrEnum):
    """Why a committed offset would stay as it is."""

    NOTHING_COMMITTED = "nothing committed"
    NOT_IN_OTHER_GROUP = "not in other group"
    NO_LEADER = "no leader"
    # Which offset the time has: the leader has not answered.
    NOT_TOLD = "not told"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOffset:
    """`now` is None where nothing is committed, `then` where nothing would be. If `kept` says why, they are equal."""

    partition: TopicPartition
    now: int | None
    then: int | None
    wanted: int | None = None
    clamp: ResetClamp | None = None
    kept: ResetKept | None = None

    @property
    def changes(self) -> bool:
        return self.kept is None and self.now != self.then


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWish:
    """`value` is that of OFFSET and SHIFT; `found` are the offsets of TIME, -1 where no record is that late, and those
    of the other group of GROUP."""

    target: ResetTarget
    value: int
    found: Mapping[TopicPartition, int]


class CheckedOffset(NamedTuple):
    """What a reset wants to commit, and what the plan has seen."""

    expected: int | None
    offset: int


def plan_reset(
    wish: ResetWish,
    partitions: Collection[TopicPartition],
    committed: Mapping[TopicPartition, int],
    marks: Mapping[TopicPartition, LogMarks],
) -> list[PlannedOffset]:
    """In the order of topics and partitions."""
    return [
        _planned(wish, partition, committed.get(partition), marks.get(partition)) for partition in sorted(partitions)
    ]


def _planned(wish: ResetWish, partition: TopicPartition, now: int | None, marks: LogMarks | None) -> PlannedOffset:
    def kept(why: ResetKept) -> PlannedOffset:
        return PlannedOffset(partition=partition, now=now, then=now, kept=why)

    def moved(wanted: int, clamp: ResetClamp | None = None) -> PlannedOffset:
        return PlannedOffset(partition=partition, now=now, then=wanted, wanted=wanted, clamp=clamp)

    if marks is None:
        return kept(ResetKept.NO_LEADER)
    match wish.target:
        case ResetTarget.EARLIEST:
            return moved(marks.start)
        case ResetTarget.LATEST:
            return moved(marks.end)
        case ResetTarget.TIME:
            found = wish.found.get(partition)
            if found is None:
                # It would be wrong to take no answer for "no record is that late": that moves to the end.
                return kept(ResetKept.NOT_TOLD)
            if found < 0:
                return moved(marks.end, ResetClamp.NONE_SO_LATE)
            wanted = found
        case ResetTarget.OFFSET:
            wanted = wish.value
        case ResetTarget.SHIFT:
            if now is None:
                return kept(ResetKept.NOTHING_COMMITTED)
            wanted = now + wish.value
        case ResetTarget.GROUP:
            if partition not in wish.found:
                return kept(ResetKept.NOT_IN_OTHER_GROUP)
            wanted = wish.found[partition]
    if wanted < marks.start:
        clamp, then = ResetClamp.TO_START, marks.start
    elif wanted > marks.end:
        clamp, then = ResetClamp.TO_END, marks.end
    else:
        clamp, then = None, wanted
    return PlannedOffset(partition=partition, now=now, then=then, wanted=wanted, clamp=clamp)


def who_is_there(state: str, members: Sequence[str]) -> str | None:
    """Why the offsets of a group cannot be changed now, and what to do about it; None if they can be."""
    if members:
        one = len(members) == 1
        return (
            f"The group has {len(members):,} {'member' if one else 'members'}: {_some(members)}. Only a group without "
            f"members can be changed: stop {'it' if one else 'them'} first. A member that was killed leaves when its "
            "session times out."
        )
    if state not in ("Empty", "Dead"):
        return f"The group is in the state {state}. Only a group without members, in the state Empty, can be changed."
    return None


def other_offsets(expected: Mapping[TopicPartition, int | None], committed: Mapping[TopicPartition, int]) -> str | None:
    """Which committed offsets are others than those that somebody has seen, as a sentence."""
    moved = [
        f"{partition} was at {_shown(offset)} and is at {_shown(committed.get(partition))}"
        for partition, offset in sorted(expected.items())
        if committed.get(partition) != offset
    ]
    if not moved:
        return None
    return f"The committed offsets are others than those that were shown: {_some(moved)}. Nothing was changed."


def what_has_changed(
    reset: Mapping[TopicPartition, CheckedOffset],
    committed: Mapping[TopicPartition, int],
    marks: Mapping[TopicPartition, LogMarks],
) -> str | None:
    """Why a reset cannot be done as it was shown, as a sentence; None if it can be."""
    moved = other_offsets({partition: wanted.expected for partition, wanted in reset.items()}, committed)
    if moved is not None:
        return f"{moved} Preview again."
    outside = [
        f"{partition} has {at.start} to {at.end} instead of {wanted.offset}"
        for partition, wanted in sorted(reset.items())
        if (at := marks.get(partition)) is not None and not at.start <= wanted.offset <= at.end
    ]
    if outside:
        return f"The logs are others than those that were shown: {_some(outside)}. Nothing was changed. Preview again."
    unknown = [str(partition) for partition in sorted(reset) if partition not in marks]
    if unknown:
        return f"There is no leader, or no such partition, of {_some(unknown)}. Nothing was changed."
    return None


def _shown(offset: int | None) -> str:
    return "no offset" if offset is None else str(offset)


def _some(parts: Sequence[str]) -> str:
    more = len(parts) - _NAMED
    return "; ".join(parts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def parse_partitions(text: str) -> list[range] | None:
    """ "0-2, 5" as ranges that do not overlap, in their order; None, if it is empty, stands for all partitions.

    Their numbers are not written out here: a topic has fewer of them than a text can name. Raises ValueError with a
    sentence.
    """
    if not text.strip():
        return None
    named: list[tuple[int, int]] = []
    for part in text.split(","):
        first, dash, last = (each.strip() for each in part.partition("-"))
        begin, end = _number(first), _number(last if dash else first)
        if begin is None or end is None or end < begin:
            raise ValueError(f"{_cut(part.strip())} is neither the number of a partition nor a range such as 0-2")
        named.append((begin, end + 1))
    ranges: list[range] = []
    for begin, behind in sorted(named):
        if ranges and begin <= ranges[-1].stop:
            ranges[-1] = range(ranges[-1].start, max(ranges[-1].stop, behind))
        else:
            ranges.append(range(begin, behind))
    return ranges


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} ...")


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(_LARGEST_PARTITION)):
        return None
    return int(text)
