"""`tidelog groups --reset-offsets` and `--delete-offsets`: what a group has committed, changed by hand."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from enum import Enum

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.output import columns
from tidelog.cli.topic_selection import partitions_of
from tidelog.client.admin import Admin
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import EARLIEST, LATEST

_INACTIVE = ("Empty", "Dead")


class ResetScenario(Enum):
    """Where to reset to; the value is the option."""

    EARLIEST = "--to-earliest"
    LATEST = "--to-latest"
    CURRENT = "--to-current"
    OFFSET = "--to-offset"
    SHIFT = "--shift-by"
    DURATION = "--by-duration"
    DATETIME = "--to-datetime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """`number` is an offset, a shift, or a time in milliseconds (for a duration: how long ago)."""

    scenario: ResetScenario
    number: int = 0


def parse_topic(text: str) -> tuple[str, tuple[int, ...]]:
    """The name, and the partitions if any are named. Raises ValueError."""
    name, colon, numbers = text.partition(":")
    if not colon:
        return name, ()
    try:
        return name, tuple(int(number) for number in numbers.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is not a topic, or a topic with partitions such as orders:0,1") from None


# ----------------------------------------------------------------------------------------------------------------
# Reset.


async def reset_offsets(
    cluster: ClusterOptions, names: Collection[str] | None, topics: Sequence[str], reset: Reset, *, execute: bool
) -> None:
    """Show what groups would be reset to, and with `execute` do it. Groups with members are left alone.

    `topics` are names, or names with partitions such as orders:0,1; all topics with committed offsets if empty.
    """
    active: dict[str, str] = {}
    planned: dict[str, dict[TopicPartition, int]] = {}
    async with cluster.admin() as admin:
        wanted = list(names) if names else [one.group_id for one in await admin.list_groups()]
        for group_id, state in (await _states(admin, wanted)).items():
            if state not in _INACTIVE:
                active[group_id] = state
                continue
            planned[group_id] = await _plan(admin, group_id, topics, reset)
            if execute and planned[group_id]:
                offsets = {part: OffsetAndMetadata(offset=offset) for part, offset in planned[group_id].items()}
                await admin.alter_group_offsets(group_id, offsets)
    rows = [
        (group_id, partition.topic, partition.partition, offset)
        for group_id, offsets in planned.items()
        for partition, offset in sorted(offsets.items())
    ]
    header = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
    cluster.show(_as_json(planned, execute=execute), ["", *columns(header, rows, least=(15, 15, 10, 0))])
    if active:
        listed = ", ".join(f"'{group_id}' is {state}" for group_id, state in active.items())
        raise CommandFailure(f"offsets can only be reset while a group has no members, but {listed}; stop its members")


async def _states(admin: Admin, group_ids: Collection[str]) -> dict[str, str]:
    """A group that does not exist can be reset as well: that makes it."""
    states: dict[str, str] = {}
    for group_id, described in (await admin.describe_groups(group_ids)).items():
        if isinstance(described, ApiError):
            if described.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise described
            states[group_id] = "Dead"
        else:
            states[group_id] = described.state
    return states


async def _plan(admin: Admin, group_id: str, topics: Sequence[str], reset: Reset) -> dict[TopicPartition, int]:
    committed = await admin.list_group_offsets(group_id)
    current = {partition: offset.offset for partition, offset in committed.items()}
    partitions = await _partitions(admin, topics) if topics else sorted(current)
    if not partitions:
        return {}
    match reset.scenario:
        case ResetScenario.EARLIEST:
            return await _offsets_at(admin, partitions, EARLIEST)
        case ResetScenario.LATEST:
            return await _offsets_at(admin, partitions, LATEST)
        case ResetScenario.CURRENT:
            missing = [partition for partition in partitions if partition not in current]
            ends = await _offsets_at(admin, missing, LATEST) if missing else {}
            return {partition: current.get(partition, ends.get(partition, 0)) for partition in partitions}
        case ResetScenario.OFFSET:
            return await _within_logs(admin, dict.fromkeys(partitions, reset.number))
        case ResetScenario.SHIFT:
            unknown = [partition for partition in partitions if partition not in current]
            if unknown:
                raise CommandFailure(
                    f"group {group_id!r} has committed nothing for {', '.join(map(str, unknown))}, so there is "
                    f"nothing to shift; name other partitions with --topic"
                )
            return await _within_logs(admin, {partition: current[partition] + reset.number for partition in partitions})
        case ResetScenario.DURATION:
            return await _offsets_since(admin, partitions, int(time.time() * 1000) - reset.number)
        case ResetScenario.DATETIME:
            return await _offsets_since(admin, partitions, reset.number)


async def _partitions(admin: Admin, topics: Sequence[str]) -> list[TopicPartition]:
    named = [parse_topic(topic) for topic in topics]
    described = Admin.raise_any(await admin.describe_topics({name for name, _ in named}))
    found: dict[TopicPartition, None] = {}
    for name, numbers in named:
        there = [entry.partition for entry in described[name].partitions]
        for number in numbers or there:
            if number not in there:
                raise CommandFailure(f"topic {name!r} has no partition {number}, only 0 to {len(there) - 1}")
            found[TopicPartition(name, number)] = None
    return sorted(found)


async def _offsets_at(admin: Admin, partitions: Collection[TopicPartition], when: int) -> dict[TopicPartition, int]:
    found = Admin.raise_any(await admin.list_offsets(dict.fromkeys(partitions, when)))
    return {partition: result.offset for partition, result in found.items()}


async def _offsets_since(
    admin: Admin, partitions: Collection[TopicPartition], when_ms: int
) -> dict[TopicPartition, int]:
    """The first record since then; the end of the log where there has been none."""
    found = await _offsets_at(admin, partitions, when_ms)
    without = [partition for partition, offset in found.items() if offset < 0]
    return found | (await _offsets_at(admin, without, LATEST) if without else {})


async def _within_logs(admin: Admin, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    starts = await _offsets_at(admin, wanted, EARLIEST)
    ends = await _offsets_at(admin, wanted, LATEST)
    found: dict[TopicPartition, int] = {}
    for partition, offset in wanted.items():
        found[partition] = min(max(offset, starts[partition]), ends[partition])
        if found[partition] != offset:
            bounds = f"{starts[partition]} to {ends[partition]}"
            sys.stderr.write(
                f"{partition} has the offsets {bounds}, so {found[partition]} is taken instead of {offset}\n"
            )
    return found


def _as_json(planned: Mapping[str, Mapping[TopicPartition, int]], *, execute: bool) -> object:
    return [
        {
            "group": group_id,
            "executed": execute,
            "partitions": [
                {"topic": partition.topic, "partition": partition.partition, "newOffset": offset}
                for partition, offset in sorted(offsets.items())
            ],
        }
        for group_id, offsets in planned.items()
    ]


# ----------------------------------------------------------------------------------------------------------------
# Delete.


async def delete_offsets(cluster: ClusterOptions, group_id: str, topics: Sequence[str]) -> None:
    async with cluster.admin() as admin:
        partitions: dict[TopicPartition, None] = {}
        for text in topics:
            name, numbers = parse_topic(text)
            named = [TopicPartition(name, number) for number in numbers]
            partitions |= dict.fromkeys(named or await partitions_of(admin, [name]))
        results = sorted((await admin.delete_group_offsets(group_id, list(partitions))).items())
    failed = [partition for partition, error in results if error is not None]
    rows = [
        (part.topic, part.partition, "Successful" if error is None else f"Error: {error}") for part, error in results
    ]
    done = [] if failed else [f"Request succeeded for deleting offsets from group {group_id}."]
    cluster.show(
        [
            {"topic": part.topic, "partition": part.partition, "error": None if error is None else str(error)}
            for part, error in results
        ],
        [*done, "", *columns(("TOPIC", "PARTITION", "STATUS"), rows, least=(15, 10, 15))],
    )
    if failed:
        raise CommandFailure(f"offsets of {len(failed)} of {len(results)} partitions could not be deleted")
