"""Fetches records for assigned partitions, ahead of whoever reads them. One request at a time per leader.

What the replies hold is taken apart in `tidelog.client.fetched`; where the reader is, is known by
`tidelog.client.consumer.positions`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

from tidelog.client.cluster import Cluster
from tidelog.client.config import ConsumerConfig
from tidelog.client.consumer.positioning import RESETS
from tidelog.client.consumer.positions import PartitionPosition, Positions
from tidelog.client.errors import ClientError, api_error
from tidelog.client.fetched import FetchedPartition
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import FetchResponse, PartitionData

logger = logging.getLogger(__name__)

FETCHING = "fetching"

# Up to this version a Fetch request names topics; from the next on it has their ids.
_NAMED_TOPICS = 12
# A full request each time: no session (KIP-227).
_NO_SESSION = 0
_SESSIONLESS_EPOCH = -1


class Fetcher:
    def __init__(self, cluster: Cluster, config: ConsumerConfig, positions: Positions, on_news: Callable[[], None]):
        self._cluster = cluster
        self._config = config
        self._positions = positions
        self._on_news = on_news
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._leader_search: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        # What the reader has to be told, such as that a position is out of range and may not be reset.
        self.failure: Exception | None = None

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._tasks.values(), *((self._leader_search,) if self._leader_search else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def fetch_what_is_wanted(self) -> None:
        """Ask each leader that is not being asked already for the partitions that have nothing fetched.

        A request that may wait for news holds up all partitions of its leader. So while something of that leader is
        still to be read, only partitions are asked for that are known to have more, and without waiting.
        """
        if self._closed:
            return
        now = self._cluster.clock.monotonic_ms()
        wanted: dict[int, list[PartitionPosition]] = defaultdict(list)
        unread = self._leaders_with_unread_records()
        leaderless = False
        wait_until: float | None = None
        for entry in self._positions:
            if entry.position is None or entry.paused or entry.fetched is not None:
                continue
            if entry.not_before_ms > now:
                wait_until = entry.not_before_ms if wait_until is None else min(wait_until, entry.not_before_ms)
                continue
            leader = self._cluster.metadata.leader_of(entry.partition)
            if leader is None:
                leaderless = True
            elif leader.leader not in self._tasks and (leader.leader not in unread or self._has_more(entry)):
                wanted[leader.leader].append(entry)
        for node, entries in wanted.items():
            task = asyncio.create_task(self._fetch(node, entries, may_wait=node not in unread))
            self._tasks[node] = task
            task.add_done_callback(lambda _, node=node: self._done(node))  # type: ignore[misc]
        if leaderless and self._leader_search is None:
            self._leader_search = asyncio.create_task(self._look_for_leaders())
            self._leader_search.add_done_callback(lambda _: self._search_done())
        self._set_timer(now, wait_until)

    def _leaders_with_unread_records(self) -> set[int]:
        leaders = (
            self._cluster.metadata.leader_of(entry.partition)
            for entry in self._positions
            if entry.fetched is not None and not entry.paused
        )
        return {leader.leader for leader in leaders if leader is not None}

    def _has_more(self, entry: PartitionPosition) -> bool:
        end = entry.last_stable_offset if self._config.read_committed else entry.high_watermark
        return end is not None and entry.position is not None and entry.position < end

    def _set_timer(self, now: float, wait_until: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wait_until is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later((wait_until - now) / 1000, self.fetch_what_is_wanted)

    def _done(self, node: int) -> None:
        self._tasks.pop(node, None)
        self.fetch_what_is_wanted()

    def _search_done(self) -> None:
        self._leader_search = None
        self.fetch_what_is_wanted()

    async def _look_for_leaders(self) -> None:
        await asyncio.sleep(self._cluster.retry_pause_ms(1) / 1000)
        try:
            await self._cluster.refresh()
        except (ConnectionProblem, ApiError, ClientError) as error:
            logger.info("looking for leaders: %s", error)

    async def _fetch(self, node: int, entries: list[PartitionPosition], *, may_wait: bool) -> None:
        asked = {entry.partition: (entry, entry.position) for entry in entries}
        try:
            await self._cluster.refresh_if_stale()
            request, at_most = self._request(entries, self._config.fetch_max_wait_ms if may_wait else 0)
            reply = await self._cluster.ask_node(
                node,
                request,
                FetchResponse,
                purpose=FETCHING,
                at_most=at_most,
                timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
            )
            if reply.error_code != ErrorCode.NONE:
                raise api_error(reply.error_code, f"fetching from broker {node}")
        except (ConnectionProblem, ApiError, ClientError) as error:
            logger.info("fetching from broker %d: %s", node, error)
            self._cluster.mark_stale()
            self._pause(entries)
            return
        except UnsupportedByBroker as error:
            self._fail(error)
            return
        names = self._cluster.metadata.topic_names
        for topic in reply.responses:
            name = topic.topic or names.get(Uuid(topic.topic_id), "")
            for answer in topic.partitions:
                entry, position = asked.pop(TopicPartition(name, answer.partition_index), (None, None))
                # A seek or a rebalance in the meantime makes the answer worthless.
                if entry is not None and self._positions.current(entry) and entry.position == position:
                    assert position is not None
                    self._take(entry, position, answer)
        # Nothing was said about these: their topic has another id than we think.
        if asked:
            self._cluster.mark_stale()
            self._pause([entry for entry, _ in asked.values()])

    def _request(self, entries: list[PartitionPosition], max_wait_ms: int) -> tuple[FetchRequest, int | None]:
        by_topic: dict[str, list[FetchPartition]] = defaultdict(list)
        metadata = self._cluster.metadata
        for entry in entries:
            leader = metadata.leader_of(entry.partition)
            assert entry.position is not None
            by_topic[entry.partition.topic].append(
                FetchPartition(
                    partition=entry.partition.partition,
                    current_leader_epoch=-1 if leader is None else leader.leader_epoch,
                    fetch_offset=entry.position,
                    partition_max_bytes=self._config.max_partition_fetch_bytes,
                )
            )
        ids = {name: metadata.topics[name].topic_id if name in metadata.topics else ZERO_UUID for name in by_topic}
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=self._config.fetch_max_bytes,
            isolation_level=int(self._config.read_committed),
            session_id=_NO_SESSION,
            session_epoch=_SESSIONLESS_EPOCH,
            topics=[FetchTopic(topic=name, topic_id=ids[name], partitions=parts) for name, parts in by_topic.items()],
            rack_id=self._config.client_rack,
        )
        return request, _NAMED_TOPICS if ZERO_UUID in ids.values() else None

    def _take(self, entry: PartitionPosition, position: int, answer: PartitionData) -> None:
        code = answer.error_code
        if code == ErrorCode.NONE:
            entry.high_watermark = answer.high_watermark
            entry.last_stable_offset = answer.last_stable_offset
            entry.log_start_offset = answer.log_start_offset
            if answer.records:
                aborted = None
                if self._config.read_committed:
                    aborted = [(one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()]
                entry.fetched = FetchedPartition(
                    entry.partition, position, answer.records, aborted=aborted, check_crcs=self._config.check_crcs
                )
                self._on_news()
            elif self._has_more(entry):
                # Not a single batch although there is one: ask again, but not in a tight loop.
                self._pause([entry])
            return
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(entry, position)
            return
        error = api_error(code, f"partition {entry.partition}")
        self._cluster.note_leader(entry.partition, answer.current_leader.leader_id, answer.current_leader.leader_epoch)
        if error.code.retriable or error.code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.BROKER_NOT_AVAILABLE):
            logger.info("fetching: %s", error)
            self._cluster.mark_stale()
            self._pause([entry])
        else:
            self._fail(error)

    def _out_of_range(self, entry: PartitionPosition, position: int) -> None:
        reset = RESETS.get(self._config.auto_offset_reset)
        if reset is None:
            self._fail(
                ApiError(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"partition {entry.partition} has no offset {position} (any more), and auto.offset.reset=none",
                )
            )
            entry.not_before_ms = float("inf")
            return
        logger.warning("offset %d of %s is out of range: resetting", position, entry.partition)
        entry.lose(reset)
        self._on_news()

    def _pause(self, entries: list[PartitionPosition]) -> None:
        again_at = self._cluster.clock.monotonic_ms() + self._cluster.retry_pause_ms(1)
        for entry in entries:
            entry.not_before_ms = again_at

    def _fail(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error
        self._on_news()
