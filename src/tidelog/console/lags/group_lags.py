"""The lags of many groups, in few requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping

from tidelog.client.admin import Admin, GroupListing
from tidelog.client.browsing import LogBrowser
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.console.connection import ClusterConnection
from tidelog.console.findings.lag import LogMarks, PartitionLag, TopicLag, lag_by_topic, lag_of, unread
from tidelog.console.lags.log_counts import LogCounts
from tidelog.console.lags.log_marks import marks_from, places_at
from tidelog.console.listings import listed_groups
from tidelog.console.replies import EXPECTED_FAILURES
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import EARLIEST, LATEST

# In a list a lag that is larger than this is shown with the control records in it.
MOST_COUNTED_OFFSETS = 1_000
COUNTED_BYTES = 1 << 19
# The offsets of more groups are not read; these are the first by name.
MOST_GROUPS = 1_000
# Log starts and leaders change slowly.
_SLOW_SECONDS = 15.0
# Groups of this kind share records instead of partitions, and commit no offsets (KIP-932).
SHARE = "share"

Committed = Mapping[TopicPartition, OffsetAndMetadata]
Lags = Mapping[TopicPartition, PartitionLag | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLagReading:
    """By group. A lag of None is not known: the partition has no leader that answers, or is not there any more."""

    committed: Mapping[str, Committed | ApiError]
    lags: Mapping[str, Lags]


class GroupLags:
    """Reads them again and again. Between readings it remembers who leads which partition, where logs start, and what
    was counted."""

    def __init__(self) -> None:
        self._counts = LogCounts(most_offsets=MOST_COUNTED_OFFSETS, max_bytes=COUNTED_BYTES)
        self._metadata = ClusterMetadata()
        self._starts: dict[TopicPartition, int] = {}
        self._slow_at: float | None = None
        self._slow_of: frozenset[TopicPartition] = frozenset()

    async def read(self, admin: Admin, browser: LogBrowser, groups: Collection[GroupListing]) -> GroupLagReading:
        wanted = [group.group_id for group in groups if group.kind.lower() != SHARE][:MOST_GROUPS]
        committed = await admin.list_offsets_of_groups(wanted)
        known = {group: offsets for group, offsets in committed.items() if not isinstance(offsets, ApiError)}
        partitions = frozenset(partition for offsets in known.values() for partition in offsets)
        marks = await self._marks(admin, partitions, known)
        spans = self._counts.spans(
            (partition, unread(place.offset, marks[partition]))
            for offsets in known.values()
            for partition, place in offsets.items()
            if partition in marks
        )
        await self._counts.read(browser, self._metadata, spans)
        lags = {
            group: {partition: self._lag(place.offset, partition, marks) for partition, place in offsets.items()}
            for group, offsets in known.items()
        }
        return GroupLagReading(committed=committed, lags=lags)

    async def _marks(
        self, admin: Admin, partitions: frozenset[TopicPartition], groups: Mapping[str, Committed]
    ) -> dict[TopicPartition, LogMarks]:
        """The last stable offset matters only where there is something to read."""
        ends = await self._ends(admin, partitions)
        behind = {
            partition
            for offsets in groups.values()
            for partition, place in offsets.items()
            if place.offset < ends.get(partition, 0)
        }
        stable = await places_at(admin, self._metadata, behind, LATEST, read_committed=True)
        return marks_from(self._starts, stable, ends)

    async def _ends(self, admin: Admin, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, int]:
        """With a look at leaders and log starts if it is time. Whoever asks a broker that does not lead any more gets
        an error, and looks at the metadata again by himself."""
        now = time.monotonic()
        if self._slow_at is not None and now - self._slow_at < _SLOW_SECONDS and partitions <= self._slow_of:
            return await places_at(admin, self._metadata, partitions, LATEST)
        self._slow_at, self._slow_of = now, partitions
        self._metadata = await admin.cluster.fetch_metadata(sorted({partition.topic for partition in partitions}))
        self._starts, ends = await asyncio.gather(
            places_at(admin, self._metadata, partitions, EARLIEST), places_at(admin, self._metadata, partitions, LATEST)
        )
        return ends

    def _lag(
        self, offset: int, partition: TopicPartition, marks: Mapping[TopicPartition, LogMarks]
    ) -> PartitionLag | None:
        mark = marks.get(partition)
        return None if mark is None else lag_of(offset, mark, self._counts.of(partition))


class TopicLags:
    """For pages about topics: who is furthest behind in each."""

    def __init__(self, cluster: ClusterConnection) -> None:
        self._cluster = cluster
        self._lags = GroupLags()

    async def lag_by_topic(self) -> dict[str, TopicLag] | None:
        """Topics that no group has committed offsets of are left out. None where groups may not be seen."""
        admin, browser = await asyncio.gather(self._cluster.watcher(), self._cluster.log_browser())
        try:
            reading = await self._lags.read(admin, browser, (await listed_groups(admin)).found)
        except EXPECTED_FAILURES:
            return None
        return lag_by_topic(reading.lags)
