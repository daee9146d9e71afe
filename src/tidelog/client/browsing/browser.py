"""`LogBrowser`: reads pages of a partition's log, or outlines of several, up to the high watermark.

Two kinds of Fetch make up a page. Up to the last stable offset it is a read_committed one, because only its answer
lists the aborted transactions. From there to the high watermark it is a read_uncommitted one. The client needs Read
and Describe on the topic, as a consumer does.

Pages are made on a thread of their own, one at a time, so that neither the loop nor memory suffers from what a few
kilobytes can unpack to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from tidelog.client.admin import Admin
from tidelog.client.browsing.outcomes import AbortedRange
from tidelog.client.browsing.outline import LogOutline, runs_of
from tidelog.client.browsing.page import PAGE_UNPACKED_BYTES, LogPage, end_of, entries_of
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.cluster.routing import ask_leaders
from tidelog.client.errors import outcome, raise_any, raise_for_code
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid, numbers_by_topic
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import FetchResponse, PartitionData

_NO_SESSION = 0
_SESSIONLESS_EPOCH = -1
_READ_UNCOMMITTED = 0
_READ_COMMITTED = 1
# Up to this version a Fetch request names topics; from the next on it has their ids.
_NAMED_TOPICS = 12
_DECODING = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tidelog-log-pages")

T = TypeVar("T")


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
        self,
        partition: TopicPartition,
        offset: int,
        *,
        max_entries: int = 100,
        max_bytes: int = 1 << 20,
        max_unpacked_bytes: int = PAGE_UNPACKED_BYTES,
    ) -> LogPage:
        """Up to `max_entries` entries from `offset` on. An offset that is no longer there stands for the first one that
        is, one that is not there yet for the end.

        `max_bytes` bounds what is fetched, but a single batch is always fetched whole. `max_unpacked_bytes` bounds what
        that is decompressed to, but there is one entry in any case if anything is left of the log. Raises ApiError.
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
        aborted = first.aborted
        entries, next_offset = await _decoded(
            lambda: entries_of(
                data,
                offset=offset,
                aborted=aborted,
                open_since=open_since,
                last_stable_offset=stable,
                max_entries=max_entries,
                max_unpacked_bytes=max_unpacked_bytes,
            )
        )
        return LogPage(
            entries=tuple(entries),
            next_offset=next_offset,
            log_start_offset=first.log_start_offset,
            last_stable_offset=stable,
            high_watermark=watermark,
        )

    async def outline(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        max_bytes: int = 1 << 20,
        max_partition_bytes: int = 1 << 18,
        timeout_ms: float | None = None,
        metadata: ClusterMetadata | None = None,
    ) -> dict[TopicPartition, LogOutline | ApiError]:
        """Which offsets from these on are records, as far as one Fetch for each leader gets.

        A partition for which nothing is left of `max_bytes` has nothing in its outline. An offset that is not there
        gives OFFSET_OUT_OF_RANGE. `metadata` of these topics, which the caller may have anyhow, says whom to ask first.
        """
        answers = await self._fetch_all(
            "outlining logs",
            offsets,
            _READ_UNCOMMITTED,
            max_bytes=max_bytes,
            max_partition_bytes=max_partition_bytes,
            timeout_ms=timeout_ms,
            metadata=metadata,
        )
        return await _decoded(
            lambda: {
                partition: answer if isinstance(answer, ApiError) else _outline(answer, offsets[partition])
                for partition, answer in answers.items()
            }
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
        answers = await self._fetch_all(
            f"reading {partition} at offset {offset}",
            {partition: offset},
            isolation,
            max_bytes=max_bytes,
            max_partition_bytes=max_bytes,
        )
        answer = answers[partition]
        if not isinstance(answer, ApiError):
            return answer
        if answer.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        raise answer

    async def _fetch_all(
        self,
        what: str,
        offsets: Mapping[TopicPartition, int],
        isolation: int,
        *,
        max_bytes: int,
        max_partition_bytes: int,
        timeout_ms: float | None = None,
        metadata: ClusterMetadata | None = None,
    ) -> dict[TopicPartition, _Fetched | ApiError]:
        asked: set[TopicPartition] = set()

        async def ask(node: int, partitions: list[TopicPartition]) -> Mapping[TopicPartition, _Fetched | ApiError]:
            by_topic = numbers_by_topic(partitions)
            # Whoever is asked again may have been asked for a topic that was recreated.
            known = metadata if asked.isdisjoint(partitions) else None
            asked.update(partitions)
            if known is None:
                known = await self._cluster.fetch_metadata(sorted(by_topic))
            gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answers: dict[TopicPartition, _Fetched | ApiError] = {
                partition: ApiError(gone, f"topic {partition.topic!r}") for partition in partitions
            }
            ids = {name: known.topics[name].topic_id for name in by_topic if name in known.topics}
            if not ids:
                return answers
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=max(max_bytes, 1),
                isolation_level=isolation,
                session_id=_NO_SESSION,
                session_epoch=_SESSIONLESS_EPOCH,
                topics=[
                    FetchTopic(
                        topic=name,
                        topic_id=topic_id,
                        partitions=[
                            FetchPartition(
                                partition=number,
                                fetch_offset=offsets[TopicPartition(name, number)],
                                partition_max_bytes=max(max_partition_bytes, 1),
                            )
                            for number in by_topic[name]
                        ],
                    )
                    for name, topic_id in ids.items()
                ],
            )
            at_most = _NAMED_TOPICS if ZERO_UUID in ids.values() else None
            reply = await self._cluster.ask_node(node, request, FetchResponse, at_most=at_most)
            raise_for_code(reply.error_code, f"broker {node}")
            names = {topic_id: name for name, topic_id in ids.items()}
            for topic in reply.responses:
                for entry in topic.partitions:
                    partition = TopicPartition(topic.topic or names[Uuid(topic.topic_id)], entry.partition_index)
                    answers[partition] = outcome(entry.error_code, f"partition {partition}", _fetched(entry))
            return answers

        return await ask_leaders(self._cluster, what, offsets, ask, timeout_ms=timeout_ms, metadata=metadata)


async def _decoded(decode: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_DECODING, decode)


def _fetched(entry: PartitionData) -> _Fetched:
    return _Fetched(
        data=bytes(entry.records or b""),
        aborted=[AbortedRange(each.producer_id, each.first_offset) for each in entry.aborted_transactions or ()],
        log_start_offset=entry.log_start_offset,
        last_stable_offset=entry.last_stable_offset,
        high_watermark=entry.high_watermark,
    )


def _outline(fetched: _Fetched, offset: int) -> LogOutline:
    runs, next_offset = runs_of(fetched.data, offset)
    return LogOutline(
        offset=offset,
        next_offset=next_offset,
        runs=runs,
        log_start_offset=fetched.log_start_offset,
        last_stable_offset=fetched.last_stable_offset,
        high_watermark=fetched.high_watermark,
    )
