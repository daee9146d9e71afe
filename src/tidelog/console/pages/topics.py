"""Topics: all of them, with their rates and sizes, and the group that is furthest behind. One topic is in `topic`."""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.admin import Admin
from tidelog.client.cluster.metadata import ClusterMetadata, TopicMetadata
from tidelog.console.feeds import FirstPart, Pace
from tidelog.console.findings.lag import TopicLag
from tidelog.console.findings.rates import Rates
from tidelog.console.lags.group_lags import TopicLags
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import EXPECTED_FAILURES, Json
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST

router = APIRouter()

_PACE = Pace(seconds=3.0)
# Sizes and log starts change slowly, and a broker looks at every segment to tell sizes.
_SLOW_SECONDS = 20.0
# Lags concern all groups.
_LAG_SECONDS = 6.0


@router.get("/topics/live")
async def topics(parts: Parts) -> Response:
    return parts.feeds.stream("topics", lambda: TopicsReader(parts).read, _PACE)


class TopicsReader:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._rates: Rates[TopicPartition] = Rates()
        self._slow_at: float | None = None
        self._sizes: dict[TopicPartition, int] | None = None
        self._starts: dict[TopicPartition, int] = {}
        self._lag_reader = TopicLags(parts.cluster)
        # None if groups may not be seen.
        self._lags: dict[str, TopicLag] | None = None
        self._lags_at: float | None = None

    async def read(self) -> Json | FirstPart:
        """Lags take as long as all the rest: the first page does not wait for them."""
        admin = await self._parts.cluster.watcher()
        metadata = await admin.cluster.fetch_metadata(None)
        ends, _ = await asyncio.gather(offsets_at(admin, metadata, LATEST), self._read_slowly(admin, metadata))
        self._rates.note(time.monotonic(), ends)
        if self._lags_at is None:
            document = self._document(metadata, ends, lags_told=None)
            return FirstPart(document=document, rest=lambda: self._with_lags(metadata, ends))
        if time.monotonic() - self._lags_at >= _LAG_SECONDS:
            return await self._with_lags(metadata, ends)
        return self._document(metadata, ends, lags_told=self._lags is not None)

    async def _read_slowly(self, admin: Admin, metadata: ClusterMetadata) -> None:
        now = time.monotonic()
        if self._slow_at is None or now - self._slow_at >= _SLOW_SECONDS:
            self._slow_at = now
            self._starts, self._sizes = await asyncio.gather(
                offsets_at(admin, metadata, EARLIEST), sizes_of_leaders(admin, metadata)
            )

    async def _with_lags(self, metadata: ClusterMetadata, ends: dict[TopicPartition, int]) -> Json:
        self._lags_at = time.monotonic()
        self._lags = await self._lag_reader.lag_by_topic()
        return self._document(metadata, ends, lags_told=self._lags is not None)

    def _document(
        self, metadata: ClusterMetadata, ends: dict[TopicPartition, int], *, lags_told: bool | None
    ) -> dict[str, Json]:
        """Nobody knows yet whether lags are told if `lags_told` is None."""
        return {
            "topics": [self._topic(topic, metadata, ends) for topic in metadata.topics.values()],
            "lags_told": lags_told,
        }

    def _topic(
        self, topic: TopicMetadata, metadata: ClusterMetadata, ends: dict[TopicPartition, int]
    ) -> dict[str, Json]:
        partitions = [TopicPartition(topic.name, each.partition) for each in topic.partitions]
        rates = [rate for each in partitions if (rate := self._rates.per_second(each)) is not None]
        offline = [each for each in topic.partitions if each.leader not in metadata.brokers]
        records = sum(ends[each] - min(self._starts.get(each, 0), ends[each]) for each in partitions if each in ends)
        size = None
        if self._sizes is not None:
            size = sum(self._sizes.get(each, 0) for each in partitions)
        lag = (self._lags or {}).get(topic.name)
        return {
            "name": topic.name,
            "internal": topic.internal,
            "partitions": len(partitions),
            "replication": max((len(each.replicas) for each in topic.partitions), default=0),
            "offline": len(offline),
            # Partitions whose leader does not answer; offsets and sizes are those of the others.
            "silent": sum(each not in ends for each in partitions) - len(offline),
            "under_replicated": sum(
                len(each.in_sync) < len(each.replicas) for each in topic.partitions if each not in offline
            ),
            "offsets": records,
            "rate": sum(rates) if rates else None,
            "size": size,
            "lag": None if lag is None else lag._asdict(),
        }


async def offsets_at(admin: Admin, metadata: ClusterMetadata, at: int) -> dict[TopicPartition, int]:
    """Of the partitions that have a leader which answers."""
    led = {
        TopicPartition(topic.name, partition.partition): at
        for topic in metadata.topics.values()
        for partition in topic.partitions
        if partition.leader in metadata.brokers
    }
    found = await admin.list_offsets(led, metadata=metadata)
    return {partition: answer.offset for partition, answer in found.items() if not isinstance(answer, ApiError)}


async def sizes_of_leaders(admin: Admin, metadata: ClusterMetadata) -> dict[TopicPartition, int] | None:
    """The bytes of each leader's log; None if nobody tells, or the client may not know."""
    try:
        directories = await admin.describe_log_dirs()
    except EXPECTED_FAILURES:
        return None
    sizes: dict[TopicPartition, int] = {}
    told = False
    for node, answer in directories.items():
        if isinstance(answer, ApiError):
            continue
        told = True
        for directory in answer:
            for partition, size in directory.sizes.items():
                leader = metadata.leader_of(partition)
                if leader is not None and leader.leader == node:
                    sizes[partition] = size
    return sizes if told else None
