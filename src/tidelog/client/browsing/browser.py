"""`LogBrowser`: reads pages of a partition's log, up to the high watermark.

Two kinds of Fetch make up a page. Up to the last stable offset it is a read_committed one, because only its answer
lists the aborted transactions. From there to the high watermark it is a read_uncommitted one. The client needs Read
and Describe on the topic, as a consumer does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.client.admin import Admin
from tidelog.client.browsing.outcomes import AbortedRange
from tidelog.client.browsing.page import LogPage, end_of, entries_of
from tidelog.client.cluster.routing import ask_leaders
from tidelog.client.errors import outcome, raise_any, raise_for_code
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import FetchResponse, PartitionData

_NO_SESSION = 0
_SESSIONLESS_EPOCH = -1
_READ_UNCOMMITTED = 0
_READ_COMMITTED = 1
# Up to this version a Fetch request names topics; from the next on it has their ids.
_NAMED_TOPICS = 12


class _Fetched(NamedTuple):
    data: bytes
    aborted: list[AbortedRange]
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


class LogBrowser:
    """`page = await LogBrowser(admin).page(TopicPartition("orders", 0), 41)`"""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._cluster = admin.cluster

    async def page(
        self, partition: TopicPartition, offset: int, *, max_entries: int = 100, max_bytes: int = 1 << 20
    ) -> LogPage:
        """Up to `max_entries` entries from `offset` on. An offset that is no longer there stands for the first one that
        is, one that is not there yet for the end.

        `max_bytes` bounds what is fetched, but a single batch is always fetched whole. Raises ApiError.
        """
        first = await self._fetch(partition, offset, _READ_COMMITTED, max_bytes)
        if first is None:
            offset = await self._nearest(partition, offset)
            first = await self._fetch(partition, offset, _READ_COMMITTED, max_bytes)
            if first is None:
                raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"partition {partition}, offset {offset}")
        data, stable, watermark = first.data, first.last_stable_offset, first.high_watermark
        end = end_of(data, offset)
        open_since: Mapping[int, int] = {}
        if stable < watermark:
            open_since = await self._open_since(partition)
            if end >= stable and len(data) < max_bytes:
                rest = await self._fetch(partition, end, _READ_UNCOMMITTED, max_bytes - len(data))
                data += rest.data if rest is not None else b""
        entries, next_offset = entries_of(
            data, offset=offset, aborted=first.aborted, open_since=open_since, last_stable_offset=stable
        )
        if len(entries) > max_entries:
            next_offset = entries[max_entries].offset
        return LogPage(
            entries=tuple(entries[:max_entries]),
            next_offset=next_offset,
            log_start_offset=first.log_start_offset,
            last_stable_offset=stable,
            high_watermark=watermark,
        )

    async def _nearest(self, partition: TopicPartition, offset: int) -> int:
        start = raise_any(await self._admin.list_offsets({partition: EARLIEST}))[partition].offset
        if offset < start:
            return start
        end = raise_any(await self._admin.list_offsets({partition: LATEST}))[partition].offset
        return min(offset, end)

    async def _open_since(self, partition: TopicPartition) -> Mapping[int, int]:
        producers = raise_any(await self._admin.describe_producers([partition]))[partition]
        return {each.producer_id: each.transaction_start for each in producers if each.transaction_start is not None}

    async def _fetch(self, partition: TopicPartition, offset: int, isolation: int, max_bytes: int) -> _Fetched | None:
        """None if there is no such offset."""

        async def ask(
            node: int, partitions: list[TopicPartition]
        ) -> Mapping[TopicPartition, _Fetched | ApiError | None]:
            metadata = await self._cluster.fetch_metadata([partition.topic])
            topic = metadata.topics.get(partition.topic)
            if topic is None:
                return {partition: ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {partition.topic!r}")}
            wanted = FetchPartition(
                partition=partition.partition, fetch_offset=offset, partition_max_bytes=max(max_bytes, 1)
            )
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=max(max_bytes, 1),
                isolation_level=isolation,
                session_id=_NO_SESSION,
                session_epoch=_SESSIONLESS_EPOCH,
                topics=[FetchTopic(topic=partition.topic, topic_id=topic.topic_id, partitions=[wanted])],
            )
            at_most = _NAMED_TOPICS if topic.topic_id == ZERO_UUID else None
            reply = await self._cluster.ask_node(node, request, FetchResponse, at_most=at_most)
            raise_for_code(reply.error_code, f"broker {node}")
            (answered,) = reply.responses
            (entry,) = answered.partitions
            if entry.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                return {partition: None}
            return {partition: outcome(entry.error_code, f"partition {partition}", _fetched(entry))}

        answers = await ask_leaders(self._cluster, f"reading {partition} at offset {offset}", [partition], ask)
        return raise_any(answers)[partition]


def _fetched(entry: PartitionData) -> _Fetched:
    return _Fetched(
        data=bytes(entry.records or b""),
        aborted=[AbortedRange(each.producer_id, each.first_offset) for each in entry.aborted_transactions or ()],
        log_start_offset=entry.log_start_offset,
        last_stable_offset=entry.last_stable_offset,
        high_watermark=entry.high_watermark,
    )
