"""Counts the records that groups have not read yet, by reading the headers of batches.

Only whole batches can be fetched, so that counting costs as much as reading. It is bounded three times: what is further
from the end than `most_offsets` is not counted at all, one reading fetches at most `max_bytes` from each broker, and
what was read once is remembered for the next reading, which goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.client.browsing import LogBrowser, LogOutline
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import ApiTimeout
from tidelog.console.findings.counted_log import CountedLog
from tidelog.console.findings.lag import OffsetSpan
from tidelog.console.lags.log_marks import PATIENCE_MS
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem

# In one Fetch.
MOST_PARTITIONS_AT_ONCE = 200
# So often one reading fetches.
MOST_ROUNDS = 8
_PARTITION_BYTES = 1 << 18


class _Counted:
    """`begun_at` is where counting has begun: what is known may begin later if there is too much to remember."""

    def __init__(self, topic_id: bytes, begun_at: int) -> None:
        self.topic_id = topic_id
        self.begun_at = begun_at
        self.log = CountedLog(begun_at)
        # The reading that has fetched some of it last.
        self.turn = 0


class LogCounts:
    """Of one reader. What it is not asked for any more is forgotten."""

    def __init__(self, *, most_offsets: int, max_bytes: int, most_rounds: int = MOST_ROUNDS) -> None:
        self._most_offsets = most_offsets
        self._max_bytes = max_bytes
        self._most_rounds = most_rounds
        self._turn = 0
        self._counted: dict[TopicPartition, _Counted] = {}
        # Partitions that may not be read, and why.
        self.refused: dict[TopicPartition, str] = {}

    def of(self, partition: TopicPartition) -> CountedLog | None:
        found = self._counted.get(partition)
        return None if found is None else found.log

    def spans(self, wanted: Iterable[tuple[TopicPartition, OffsetSpan]]) -> dict[TopicPartition, OffsetSpan]:
        """What is worth counting, where several groups read the same partition: from the first of them that is near
        enough to the end."""
        spans: dict[TopicPartition, OffsetSpan] = {}
        for partition, span in wanted:
            if 0 < span.end - span.first <= self._most_offsets:
                known = spans.get(partition)
                spans[partition] = span if known is None else OffsetSpan(min(known.first, span.first), span.end)
        return spans

    async def read(
        self, browser: LogBrowser, metadata: ClusterMetadata, spans: Mapping[TopicPartition, OffsetSpan]
    ) -> None:
        """Get to know as much of these as the bounds allow."""
        self._turn += 1
        self._counted = {partition: each for partition, each in self._counted.items() if partition in spans}
        self.refused = {partition: why for partition, why in self.refused.items() if partition in spans}
        for partition, span in spans.items():
            self._begin(partition, span, metadata)
        for _ in range(self._most_rounds):
            left = self._left(spans)
            if not left or not await self._fetch(browser, metadata, left):
                return

    def _begin(self, partition: TopicPartition, span: OffsetSpan, metadata: ClusterMetadata) -> None:
        topic = metadata.topics.get(partition.topic)
        topic_id = b"" if topic is None else topic.topic_id
        known = self._counted.get(partition)
        if (
            known is None
            or known.topic_id != topic_id
            # The log was cut since then.
            or known.log.end > span.end
            # What has to be known lies before or behind what is.
            or not known.begun_at <= span.first <= known.log.end
        ):
            self._counted[partition] = _Counted(topic_id, span.first)

    def _left(self, spans: Mapping[TopicPartition, OffsetSpan]) -> dict[TopicPartition, int]:
        """Where to go on: first the partitions that were not read for longest, then those that are nearest to the
        end."""
        left = [
            (each.turn, spans[partition].end - each.log.end, partition)
            for partition, each in self._counted.items()
            if each.log.end < spans[partition].end and partition not in self.refused
        ]
        chosen = [partition for _, _, partition in sorted(left)[:MOST_PARTITIONS_AT_ONCE]]
        return {partition: self._counted[partition].log.end for partition in chosen}

    async def _fetch(
        self, browser: LogBrowser, metadata: ClusterMetadata, offsets: Mapping[TopicPartition, int]
    ) -> bool:
        """Whether anything has come."""
        try:
            outlines = await browser.outline(
                offsets,
                max_bytes=self._max_bytes,
                max_partition_bytes=_PARTITION_BYTES,
                timeout_ms=PATIENCE_MS,
                metadata=metadata,
            )
        except (ApiTimeout, ConnectionProblem):
            # What was not counted counts as records until the next reading.
            return False
        came = False
        for partition, outline in outlines.items():
            came = self._take(partition, outline) or came
        return came

    def _take(self, partition: TopicPartition, outline: LogOutline | ApiError) -> bool:
        if isinstance(outline, ApiError):
            if outline.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                self.refused[partition] = "this console may not read the topic"
            else:
                del self._counted[partition]
            return False
        counted = self._counted[partition]
        counted.turn = self._turn
        counted.log.extend(outline.runs)
        return bool(outline.runs)
