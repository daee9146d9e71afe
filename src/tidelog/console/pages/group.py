"""One group: its members, what they read, how far behind it is in each partition, and when it catches up.

What changes a group is in `group_changes`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.admin import Admin, GroupDescription, GroupListing, GroupMemberDescription
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.console.descriptions import described_groups
from tidelog.console.feeds import Pace
from tidelog.console.findings.differences import cut
from tidelog.console.findings.holding_back import HoldingBack
from tidelog.console.findings.lag import (
    CatchingUp,
    LogMarks,
    PartitionLag,
    catching_up,
    lag_of,
    total_lag,
    unread,
)
from tidelog.console.findings.rates import Rates
from tidelog.console.lags.group_lags import SHARE
from tidelog.console.lags.holding import Held, HoldingReader
from tidelog.console.lags.log_counts import LogCounts
from tidelog.console.lags.log_marks import marks_of
from tidelog.console.listings import listed_groups
from tidelog.console.pages.groups import DESCRIBED, total_document
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import Json
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, numbers_by_topic

router = APIRouter()

_PACE = Pace(seconds=1.5)
# A lag that is larger than this is shown with the control records in it.
MOST_COUNTED_OFFSETS = 100_000
COUNTED_BYTES = 1 << 20
# Rows of the page. Totals are of all partitions.
MOST_PARTITIONS = 1_000
MOST_MEMBERS = 500
# Consumers commit every five seconds if nobody says otherwise: rates are those of several commits.
_RATE_SECONDS = 30.0
_MEASURED_SECONDS = 6.0
# Of the plots: two minutes of a small cluster.
MOST_POINTS = 80
# What users have noted beside an offset.
MOST_METADATA_CHARACTERS = 10_000


@router.get("/group/live")
async def group(parts: Parts, id: str) -> Response:
    return parts.feeds.stream(("group", id), lambda: GroupReader(parts, id).read, _PACE)


class GroupReader:
    def __init__(self, parts: ConsoleParts, group_id: str) -> None:
        self._parts = parts
        self._id = group_id
        self._counts = LogCounts(most_offsets=MOST_COUNTED_OFFSETS, max_bytes=COUNTED_BYTES)
        self._holding = HoldingReader()
        self._consumed: Rates[TopicPartition] = Rates(_RATE_SECONDS)
        self._produced: Rates[TopicPartition] = Rates(_RATE_SECONDS)
        self._points: deque[dict[str, Json]] = deque(maxlen=MOST_POINTS)
        self._began = time.monotonic()

    async def read(self) -> Json:
        admin, browser = await asyncio.gather(self._parts.cluster.watcher(), self._parts.cluster.log_browser())
        described = await described_group(admin, self._id)
        committed = {} if described.kind.lower() == SHARE else await admin.list_group_offsets(self._id)
        members = described.members if isinstance(described, GroupDescription) else ()
        owners = {partition: member for member in members for partition in member.assignment}
        partitions = sorted({*committed, *owners})
        metadata = await admin.cluster.fetch_metadata(sorted({partition.topic for partition in partitions}))
        marks = await marks_of(admin, metadata, partitions)
        spans = self._counts.spans(
            (partition, unread(place.offset, marks[partition]))
            for partition, place in committed.items()
            if partition in marks
        )
        await self._counts.read(browser, metadata, spans)
        lags = {
            partition: lag_of(place.offset, marks[partition], self._counts.of(partition))
            if partition in marks
            else None
            for partition, place in committed.items()
        }
        self._note_rates(committed, marks)
        held = {partition: marks[partition] for partition, lag in lags.items() if lag is not None and lag.held}
        holding = await self._holding.read(admin, held)
        rows = [
            self._partition(partition, committed.get(partition), marks.get(partition), lags.get(partition), owners)
            for partition in _worst(partitions, lags)
        ]
        return {
            **_description(described, metadata),
            "now_ms": int(time.time() * 1000),
            "members": None if isinstance(described, GroupListing) else [_member(each) for each in _first(members)],
            "members_left_out": max(0, len(members) - MOST_MEMBERS),
            "total": self._total(lags) if committed else None,
            "points": list(self._points),
            "partitions": rows,
            "partitions_left_out": len(partitions) - len(rows),
            "holding": None if holding is None else [_holding(each, holding) for each in holding.holding],
            "not_readable": sorted({partition.topic for partition in self._counts.refused}),
            "counted_up_to": MOST_COUNTED_OFFSETS,
        }

    def _note_rates(
        self, committed: Mapping[TopicPartition, OffsetAndMetadata], marks: Mapping[TopicPartition, LogMarks]
    ) -> None:
        now = time.monotonic()
        self._consumed.note(now, {partition: place.offset for partition, place in committed.items()})
        # Only where something is committed: the two rates are compared.
        self._produced.note(now, {partition: marks[partition].end for partition in committed if partition in marks})

    def _consumed_per_second(self, rate: float | None) -> float | None:
        """Not known until a consumer that reads has had the time to commit."""
        return rate if time.monotonic() - self._began >= _MEASURED_SECONDS else None

    def _total(self, lags: Mapping[TopicPartition, PartitionLag | None]) -> dict[str, Json]:
        total = total_lag(lags.values())
        consumed, produced = self._consumed.total_per_second(), self._produced.total_per_second()
        trend = catching_up(
            total, consumed_per_second=self._consumed_per_second(consumed), produced_per_second=produced
        )
        known = [lag for lag in lags.values() if lag is not None]
        # The lag of some partitions only would look like that of a group which has caught up.
        records = None if total.unknown else total.records
        self._points.append({"at": time.time(), "lag": records, "consumed": consumed, "produced": produced})
        return {
            **total_document(total),
            "held": sum(lag.held for lag in known),
            "control": sum(lag.control for lag in known),
            "consumed": consumed,
            "produced": produced,
            **_trend(trend),
        }

    def _partition(
        self,
        partition: TopicPartition,
        place: OffsetAndMetadata | None,
        marks: LogMarks | None,
        lag: PartitionLag | None,
        owners: Mapping[TopicPartition, GroupMemberDescription],
    ) -> dict[str, Json]:
        consumed, produced = self._consumed.per_second(partition), self._produced.per_second(partition)
        owner = owners.get(partition)
        return {
            "topic": partition.topic,
            "partition": partition.partition,
            "committed": None if place is None else place.offset,
            "metadata": "" if place is None else cut(place.metadata, MOST_METADATA_CHARACTERS),
            "marks": None if marks is None else {"start": marks.start, "stable": marks.stable, "end": marks.end},
            "lag": None if lag is None else _lag(lag),
            "consumed": consumed,
            "produced": produced,
            "trend": None
            if lag is None
            else _trend(
                catching_up(lag, consumed_per_second=self._consumed_per_second(consumed), produced_per_second=produced)
            ),
            "owner": None
            if owner is None
            else {"id": owner.member_id, "client_id": owner.client_id, "host": owner.host},
        }


async def described_group(admin: Admin, group_id: str) -> GroupDescription | GroupListing:
    """Of a group that brokers do not describe to this client, such as a share group, what the list of groups tells."""
    found = (await described_groups(admin, [group_id]))[group_id]
    if not isinstance(found, ApiError):
        return found
    if found.code != ErrorCode.GROUP_ID_NOT_FOUND:
        raise found
    listed = next((each for each in (await listed_groups(admin)).found if each.group_id == group_id), None)
    if listed is None or listed.kind.lower() in DESCRIBED:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id!r}")
    return listed


def _description(group: GroupDescription | GroupListing, metadata: ClusterMetadata) -> dict[str, Json]:
    address = metadata.brokers.get(group.coordinator)
    document: dict[str, Json] = {
        "id": group.group_id,
        "kind": group.kind.lower(),
        "state": group.state,
        "protocol_type": group.protocol_type,
        "coordinator": group.coordinator,
        "coordinator_address": None if address is None else f"{address.host}:{address.port}",
    }
    if isinstance(group, GroupDescription):
        document |= {"assignor": group.assignor, "epoch": group.epoch, "target_epoch": group.target_epoch}
    return document


def _member(member: GroupMemberDescription) -> dict[str, Json]:
    return {
        "id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "assignment": _by_topic(member.assignment),
        "assignment_problem": member.assignment_problem,
        "target": _by_topic(member.target),
    }


def _first(members: Sequence[GroupMemberDescription]) -> list[GroupMemberDescription]:
    return sorted(members, key=lambda member: (member.client_id, member.member_id))[:MOST_MEMBERS]


def _by_topic(partitions: Iterable[TopicPartition]) -> list[Json]:
    return [
        {"topic": topic, "partitions": numbers}
        for topic, numbers in sorted(numbers_by_topic(sorted(partitions)).items())
    ]


def _worst(
    partitions: Sequence[TopicPartition], lags: Mapping[TopicPartition, PartitionLag | None]
) -> Sequence[TopicPartition]:
    """Those with the largest lags, if there are too many to show."""
    if len(partitions) <= MOST_PARTITIONS:
        return partitions

    def lag(partition: TopicPartition) -> int:
        found = lags.get(partition)
        return -1 if found is None else found.records

    return sorted(sorted(partitions, key=lag, reverse=True)[:MOST_PARTITIONS])


def _lag(lag: PartitionLag) -> dict[str, Json]:
    return {
        "records": lag.records,
        "exact": lag.exact,
        "held": lag.held,
        "control": lag.control,
        "gaps": lag.gaps,
        "aborted": lag.aborted,
        "lost": lag.lost,
        "beyond": lag.beyond,
        "waits": lag.waits,
    }


def _holding(holding: HoldingBack, held: Held) -> dict[str, Json]:
    """`hangs` if no coordinator will end it in one of these partitions; `hidden` if nobody can tell."""
    known = holding.transaction
    partitions = [held.partition for held in holding.partitions]
    return {
        "producer_id": holding.producer_id,
        "id": None if known is None else known.transactional_id,
        "start_ms": None if known is None else known.start_ms,
        "hangs": not held.hanging.isdisjoint(partitions),
        "hidden": known is None and held.ids_may_be_hidden,
        "silent": list(held.silent) if known is None else [],
        "leaderless": held.leaderless if known is None else 0,
        "partitions": [{"topic": each.topic, "partition": each.partition} for each in partitions],
    }


def _trend(found: CatchingUp) -> dict[str, Json]:
    return {"progress": found.trend.value, "in_ms": found.in_ms}
