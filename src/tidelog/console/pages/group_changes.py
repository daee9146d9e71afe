"""What changes a group: a reset of its offsets, after a preview; its deletion; the deletion of its offsets of a topic.

A change comes with what the page has shown. What has changed since then refuses it, and the coordinator itself refuses
what a member that has joined in the meantime would be surprised by.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from tidelog.client.admin import Admin, GroupDescription, GroupListing
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import raise_any
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.console.findings.reset_plan import (
    CheckedOffset,
    PlannedOffset,
    ResetTarget,
    ResetWish,
    other_offsets,
    parse_partitions,
    plan_reset,
    what_has_changed,
    who_is_there,
)
from tidelog.console.lags.group_lags import SHARE
from tidelog.console.lags.log_marks import marks_of, places_at
from tidelog.console.pages.group import described_group
from tidelog.console.parts import Parts
from tidelog.console.replies import CONFLICT, NOT_FOUND, ConsoleRefusal, Json, reply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

router = APIRouter()

# Of one reset.
MOST_PARTITIONS = 5_000
# Characters that name them.
_LONGEST_PARTITIONS = 50_000
_LARGEST_OFFSET = (1 << 63) - 1
# Looking for a time, a leader may have to read. Somebody waits for the preview, so it may take longer than for a page.
_PATIENCE_MS = 10_000

_JOINED = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)

_Offset = Annotated[int, Field(ge=0, le=_LARGEST_OFFSET)]
_Number = Annotated[int, Field(ge=0, lt=1 << 31)]


@router.get("/group/reset")
async def preview(
    parts: Parts,
    id: str,
    to: ResetTarget,
    topic: str = "",
    partitions: Annotated[str, Query(max_length=_LONGEST_PARTITIONS)] = "",
    value: Annotated[int, Query(ge=-_LARGEST_OFFSET, le=_LARGEST_OFFSET)] = 0,
    other: str = "",
) -> Response:
    """What a reset would change. Without a topic it is about all partitions that the group has committed offsets of.
    `value` is a time in milliseconds, an offset or a number of offsets, `other` the group to follow."""
    admin = await parts.cluster.admin()
    described = await described_group(admin, id)
    committed = await _committed(admin, described)
    wanted, metadata = await _wanted(admin, topic, partitions, committed)
    if len(wanted) > MOST_PARTITIONS:
        raise ConsoleRefusal(
            f"{len(wanted):,} partitions are more than the {MOST_PARTITIONS:,} of one reset: choose some"
        )
    wish = ResetWish(target=to, value=value, found=await _found(admin, metadata, wanted, to, value, other))
    plan = plan_reset(wish, wanted, committed, await marks_of(admin, metadata, wanted))
    document: dict[str, Json] = {
        "rows": [_planned(each) for each in plan],
        "changes": sum(each.changes for each in plan),
        "blocked": _blocked(described),
        "at_ms": int(time.time() * 1000),
    }
    return reply(document)


class ResetOffset(BaseModel):
    topic: str
    partition: _Number
    # None if nothing is committed.
    expected: _Offset | None
    offset: _Offset


class ResetChange(BaseModel):
    id: str
    offsets: Annotated[list[ResetOffset], Field(min_length=1, max_length=MOST_PARTITIONS)]


@router.post("/group/reset")
async def reset(parts: Parts, change: ResetChange) -> Response:
    """What was previewed, if nothing has changed since then. Answers with the offsets that the group has now."""
    admin = await parts.cluster.admin()
    described = await described_group(admin, change.id)
    _check_members(described)
    wanted = {
        TopicPartition(each.topic, each.partition): CheckedOffset(each.expected, each.offset) for each in change.offsets
    }
    metadata = await admin.cluster.fetch_metadata(sorted({partition.topic for partition in wanted}))
    marks = await marks_of(admin, metadata, wanted)
    # Last, so that there is the least time for others to commit in between.
    refusal = what_has_changed(wanted, await _committed(admin, described), marks)
    if refusal is not None:
        raise ConsoleRefusal(refusal, CONFLICT)
    places = {partition: OffsetAndMetadata(offset=each.offset) for partition, each in wanted.items()}
    try:
        await admin.alter_group_offsets(change.id, places)
    except ApiError as error:
        raise _explained(error) from error
    now = await admin.list_group_offsets(change.id, list(wanted))
    return reply(
        {"done": _done(now, {partition: each.expected for partition, each in wanted.items()}), "at_ms": _now()}
    )


class GroupDeletion(BaseModel):
    id: str


@router.post("/group/delete")
async def delete(parts: Parts, deletion: GroupDeletion) -> Response:
    admin = await parts.cluster.admin()
    _check_members(await described_group(admin, deletion.id))
    refusal = (await admin.delete_groups([deletion.id]))[deletion.id]
    if refusal is not None:
        raise _explained(refusal)
    return reply({"deleted": deletion.id, "at_ms": _now()})


@router.get("/group/offsets")
async def offsets(parts: Parts, id: str, topic: str) -> Response:
    """All that the group has committed of a topic, also of one that is not there any more."""
    admin = await parts.cluster.admin()
    committed = await _committed(admin, await described_group(admin, id))
    found: list[Json] = [
        {"topic": topic, "partition": partition.partition, "committed": offset}
        for partition, offset in sorted(committed.items())
        if partition.topic == topic
    ]
    return reply({"offsets": found})


class SeenOffset(BaseModel):
    partition: _Number
    offset: _Offset


class OffsetsDeletion(BaseModel):
    """All offsets of a topic, as the page has shown them."""

    id: str
    topic: str
    offsets: Annotated[list[SeenOffset], Field(min_length=1, max_length=MOST_PARTITIONS)]


@router.post("/group/offsets/delete")
async def delete_offsets(parts: Parts, deletion: OffsetsDeletion) -> Response:
    """A group may have members if none of them is subscribed to the topic: the coordinator knows."""
    admin = await parts.cluster.admin()
    before = await admin.list_group_offsets(deletion.id)
    committed = {partition: place.offset for partition, place in before.items() if partition.topic == deletion.topic}
    seen = {TopicPartition(deletion.topic, each.partition): each.offset for each in deletion.offsets}
    refusal = other_offsets({**dict.fromkeys(committed), **seen}, committed)
    if refusal is not None:
        raise ConsoleRefusal(refusal, CONFLICT)
    try:
        raise_any(await admin.delete_group_offsets(deletion.id, list(committed)))
    except ApiError as error:
        raise _explained(error, topic=deletion.topic) from error
    now = await admin.list_group_offsets(deletion.id, list(committed))
    return reply({"done": _done(now, committed), "at_ms": _now()})


async def _committed(admin: Admin, described: GroupDescription | GroupListing) -> dict[TopicPartition, int]:
    if described.kind.lower() == SHARE:
        raise ConsoleRefusal("a share group has no committed offsets: its records are acknowledged one by one")
    return {
        partition: place.offset for partition, place in (await admin.list_group_offsets(described.group_id)).items()
    }


async def _wanted(
    admin: Admin, topic: str, numbers: str, committed: Mapping[TopicPartition, int]
) -> tuple[list[TopicPartition], ClusterMetadata]:
    if not topic:
        if not committed:
            raise ConsoleRefusal("the group has committed no offsets: choose a topic")
        return sorted(committed), await admin.cluster.fetch_metadata(sorted({each.topic for each in committed}))
    try:
        chosen = parse_partitions(numbers)
    except ValueError as error:
        raise ConsoleRefusal(str(error)) from error
    metadata = await admin.cluster.fetch_metadata([topic])
    count = metadata.partition_count(topic)
    if count is None:
        raise ConsoleRefusal(f"there is no topic {topic!r}", NOT_FOUND)
    if chosen is None:
        chosen = [range(count)]
    last = chosen[-1].stop - 1
    if last >= count:
        raise ConsoleRefusal(f"topic {topic!r} has the partitions 0 to {count - 1}: there is no {last}", NOT_FOUND)
    return [TopicPartition(topic, number) for each in chosen for number in each], metadata


async def _found(
    admin: Admin, metadata: ClusterMetadata, wanted: list[TopicPartition], to: ResetTarget, value: int, other: str
) -> dict[TopicPartition, int]:
    if to is ResetTarget.TIME:
        if value < 0:
            raise ConsoleRefusal("a time before 1970 is no time of a record: use the earliest offset")
        return await places_at(admin, metadata, wanted, value, patience_ms=_PATIENCE_MS)
    if to is ResetTarget.GROUP:
        found = {partition: place.offset for partition, place in (await admin.list_group_offsets(other)).items()}
        if not found:
            raise ConsoleRefusal(f"group {other!r} has committed no offsets, or there is no such group", NOT_FOUND)
        return found
    return {}


def _blocked(group: GroupDescription | GroupListing) -> str | None:
    members = group.members if isinstance(group, GroupDescription) else ()
    return who_is_there(group.state, [f"{each.client_id or each.member_id} at {each.host}" for each in members])


def _check_members(group: GroupDescription | GroupListing) -> None:
    blocked = _blocked(group)
    if blocked is not None:
        raise ConsoleRefusal(f"{blocked} Nothing was changed.", CONFLICT)


def _explained(error: ApiError, topic: str = "") -> Exception:
    """What a coordinator refuses because of members, as a sentence; other refusals as they are."""
    if error.code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
        return ConsoleRefusal(
            f"Members of the group are subscribed to topic {topic!r}: stop them first. Nothing was changed.", CONFLICT
        )
    if error.code in _JOINED:
        return ConsoleRefusal(
            "The group has got members in the meantime, so that its coordinator refuses the change: stop them first. "
            "Nothing was changed.",
            CONFLICT,
        )
    return error


def _planned(each: PlannedOffset) -> dict[str, Json]:
    return {
        "topic": each.partition.topic,
        "partition": each.partition.partition,
        "now": each.now,
        "then": each.then,
        "wanted": each.wanted,
        "clamp": None if each.clamp is None else each.clamp.value,
        "kept": None if each.kept is None else each.kept.value,
        "changes": each.changes,
    }


def _done(
    now: Mapping[TopicPartition, OffsetAndMetadata], before: Mapping[TopicPartition, int | None]
) -> list[dict[str, Json]]:
    return [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "before": offset,
            "now": now[partition].offset if partition in now else None,
        }
        for partition, offset in sorted(before.items())
    ]


def _now() -> int:
    return int(time.time() * 1000)
