"""What is read: the partitions of a topic, their first and last offsets, and where reading begins."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from tidelog.client.admin import Admin
from tidelog.console.findings.positions import ALL, chosen_partitions, parse_positions
from tidelog.console.replies import ConsoleRefusal
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import EARLIEST, LATEST

T = TypeVar("T")


class Start(StrEnum):
    BEGINNING = "beginning"
    OFFSET = "offset"
    TIME = "time"
    END = "end"
    # At positions, one for each partition.
    AT = "at"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlace:
    """`starts` and `ends` have the partitions that are read. `silent` says of others why they are not. So many of all
    partitions are beyond the bound of what is read together: `left_out`."""

    topic: str
    internal: bool
    partition_count: int
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    silent: Mapping[int, str]
    left_out: int = 0

    @property
    def partitions(self) -> tuple[int, ...]:
        return tuple(sorted(self.ends))


async def topic_partitions(admin: Admin, topic: str) -> tuple[bool, dict[int, bool]]:
    """Whether the topic is internal, and of each partition whether it has a leader. Raises ApiError."""
    metadata = await admin.cluster.fetch_metadata([topic])
    found = metadata.topics.get(topic)
    if found is None:
        code = metadata.topic_errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        raise ApiError(code, f"topic {topic!r}")
    return found.internal, {each.partition: each.leader in metadata.brokers for each in found.partitions}


async def look_at(admin: Admin, topic: str, partitions: str, *, timeout_ms: float | None = None) -> ReadPlace:
    """`partitions` as in addresses. Partitions without a leader do not keep the others from being read, nor do those
    whose leader does not answer within the timeout.

    Raises ConsoleRefusal, and ApiError if none of them can be read.
    """
    internal, led = await topic_partitions(admin, topic)
    try:
        chosen = chosen_partitions(partitions, sorted(led))
    except ValueError as problem:
        raise ConsoleRefusal(str(problem)) from problem
    silent = {each: "it has no leader" for each in chosen if not led[each]}
    asked = [TopicPartition(topic, each) for each in chosen if led[each]]
    if not asked:
        raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"no partition of {topic!r} that was asked for has a leader")
    first, last = await asyncio.gather(
        admin.list_offsets(dict.fromkeys(asked, EARLIEST), timeout_ms=timeout_ms),
        admin.list_offsets(dict.fromkeys(asked, LATEST), timeout_ms=timeout_ms),
    )
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for each in asked:
        start, end = first[each], last[each]
        if isinstance(start, ApiError) or isinstance(end, ApiError):
            failure = start if isinstance(start, ApiError) else end
            assert isinstance(failure, ApiError)
            if len(asked) == 1 or partitions != ALL:
                raise failure
            silent[each.partition] = str(failure)
        else:
            starts[each.partition], ends[each.partition] = start.offset, max(start.offset, end.offset)
    return ReadPlace(
        topic=topic,
        internal=internal,
        partition_count=len(led),
        starts=starts,
        ends=ends,
        silent=silent,
        left_out=len(led) - len(chosen) if partitions == ALL else 0,
    )


async def positions_at(
    admin: Admin, place: ReadPlace, start: Start, *, offset: int | None, time_ms: int | None, at: str | None
) -> dict[int, int]:
    """Where reading begins; instead of what is not there the nearest that is. Raises ConsoleRefusal."""
    match start:
        case Start.BEGINNING:
            return dict(place.starts)
        case Start.END:
            return dict(place.ends)
        case Start.OFFSET:
            wanted = dict.fromkeys(place.partitions, _given(offset, "offset", start))
        case Start.TIME:
            wanted = await _offsets_at(admin, place, _given(time_ms, "time", start))
        case Start.AT:
            try:
                wanted = parse_positions(_given(at, "at", start))
            except ValueError as problem:
                raise ConsoleRefusal(str(problem)) from problem
    return {
        each: min(max(wanted.get(each, place.starts[each]), place.starts[each]), place.ends[each])
        for each in place.partitions
    }


async def _offsets_at(admin: Admin, place: ReadPlace, time_ms: int) -> dict[int, int]:
    """Of the first record that is not older; the end where there is none."""
    asked = {TopicPartition(place.topic, each): time_ms for each in place.partitions}
    found = await admin.list_offsets(asked)
    positions = {}
    for partition, answer in found.items():
        if isinstance(answer, ApiError):
            raise answer
        none_so_new = answer.offset < 0
        positions[partition.partition] = place.ends[partition.partition] if none_so_new else answer.offset
    return positions


def _given(value: T | None, name: str, start: Start) -> T:
    if value is None:
        raise ConsoleRefusal(f"to read from {start.value}, `{name}` has to be given")
    return value
