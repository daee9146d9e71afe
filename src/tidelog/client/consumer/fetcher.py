"""Fetches records for assigned partitions, ahead of whoever reads them. One request at a time per broker.

What the replies hold is taken apart in `tidelog.client.consumer.fetched`; where the reader is, is known by
`tidelog.client.consumer.positions`; what is said in requests is decided in `tidelog.client.consumer.fetch_session`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field

from tidelog.client.cluster.cluster import FETCHING, Cluster
from tidelog.client.consumer.fetch_session import FetchRequestData, FetchSessionHandler, WantedPartition
from tidelog.client.consumer.fetched import FetchedPartition
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.positioning import Positioning
from tidelog.client.consumer.positions import PartitionPosition, Positions
from tidelog.client.errors import ClientError, LogTruncated, api_error
from tidelog.client.options import ConsumerConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import AuthenticationError, ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.fetch_response import FetchResponse, PartitionData

logger = logging.getLogger(__name__)

# How long a closing consumer waits for brokers to take note.
_CLOSING_MS = 1_000


@dataclass(slots=True, eq=False)
class RecordFetcher:
    cluster: Cluster
    config: ConsumerConfig
    positions: Positions
    positioning: Positioning
    on_news: Callable[[], None]
    metrics: ConsumerMetrics
    # What the reader has to be told, such as that a position is out of range and may not be reset.
    failure: Exception | None = None
    _sessions: dict[int, FetchSessionHandler] = field(init=False, default_factory=dict)
    _tasks: dict[int, asyncio.Task[None]] = field(init=False, default_factory=dict)
    _leader_search: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _closed: bool = False

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        busy = set(self._tasks)
        tasks = [*self._tasks.values(), *((self._leader_search,) if self._leader_search else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Replies come in order: behind a fetch that waits, the farewell would wait too.
        await asyncio.gather(
            *(self._close_session(node, session) for node, session in self._sessions.items() if node not in busy),
            return_exceptions=True,
        )

    def check_invariants(self) -> None:
        for session in self._sessions.values():
            session.check_invariants()

    def fetch_what_is_wanted(self) -> None:
        """Ask each broker that is not being asked already for the partitions that want more.

        A request that may wait for news holds up all partitions of its broker. So while something of that broker is
        still to be read, only partitions are asked for that are known to have more, and without waiting.
        """
        if self._closed:
            return
        now = self.cluster.clock.monotonic_ms()
        wanted: dict[int, list[PartitionPosition]] = defaultdict(list)
        unread = {
            node
            for entry in self.positions
            if entry.has_records and not entry.paused
            for node in self._nodes(entry, now)
        }
        leaderless = False
        wait_until: float | None = None
        for entry in self.positions:
            if not entry.may_fetch():
                continue
            if entry.not_before_ms > now:
                wait_until = entry.not_before_ms if wait_until is None else min(wait_until, entry.not_before_ms)
                continue
            leader = self.cluster.metadata.leader_of(entry.partition)
            if leader is None:
                leaderless = True
                continue
            if self._is_of_another_topic(entry):
                continue
            if entry.needs_check(leader):
                self.positioning.find_what_is_missing()
                continue
            for node in self._nodes(entry, now):
                if node not in self._tasks and (node not in unread or self._has_more(entry)):
                    wanted[node].append(entry)
        for node, entries in wanted.items():
            task = asyncio.create_task(self._fetch(node, entries, may_wait=node not in unread))
            self._tasks[node] = task
            task.add_done_callback(lambda task, node=node: self._done(node, task))  # type: ignore[misc]
        if leaderless and self._leader_search is None:
            self._leader_search = asyncio.create_task(self._look_for_leaders())
            self._leader_search.add_done_callback(lambda _: self._search_done())
        self._set_timer(now, wait_until)

    def _nodes(self, entry: PartitionPosition, now: float) -> Iterable[int]:
        """Where to read the partition from: the replica that the leader has named (KIP-392), or the leader."""
        if entry.preferred_replica is not None:
            if entry.preferred_until_ms > now and entry.preferred_replica in self.cluster.metadata.brokers:
                return (entry.preferred_replica,)
            entry.preferred_replica = None
        leader = self.cluster.metadata.leader_of(entry.partition)
        return () if leader is None else (leader.leader,)

    def _has_more(self, entry: PartitionPosition) -> bool:
        end = entry.last_stable_offset if self.config.read_committed else entry.high_watermark
        return end is not None and entry.fetch_offset < end

    def _set_timer(self, now: float, wait_until: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wait_until is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later((wait_until - now) / 1000, self.fetch_what_is_wanted)

    def _done(self, node: int, task: asyncio.Task[None]) -> None:
        self._tasks.pop(node, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(repr(error)))
            return
        self.fetch_what_is_wanted()

    def _search_done(self) -> None:
        self._leader_search = None
        self.fetch_what_is_wanted()

    async def _look_for_leaders(self) -> None:
        await asyncio.sleep(self.cluster.retry_pause_ms(1) / 1000)
        try:
            await self.cluster.refresh()
        except (ConnectionProblem, ApiError, ClientError) as error:
            logger.info("looking for leaders: %s", error)

    # -- one request ---------------------------------------------------------------------------------------------

    async def _fetch(self, node: int, entries: list[PartitionPosition], *, may_wait: bool) -> None:
        await self._refresh_if_stale()
        entries = [entry for entry in entries if self._still_wanted(entry)]
        if not entries:
            return
        session = self._sessions.setdefault(node, FetchSessionHandler())
        plan = session.plan({entry.partition: self._wanted(entry) for entry in entries})
        asked = {entry.partition: (entry, entry.fetch_offset, entry.jumps) for entry in entries}
        started_ms = self.cluster.clock.monotonic_ms()
        try:
            reply = await self._ask(node, plan, self.config.fetch_max_wait_ms if may_wait else 0)
        except (AuthenticationError, UnsupportedByBroker) as error:
            session.failed()
            self._fail(error)
            return
        except (ConnectionProblem, ApiError, ClientError) as error:
            logger.info("fetching from broker %d: %s", node, error)
            session.failed()
            self._forget_replica(entries, node)
            self._try_later(entries)
            return
        if reply.error_code != ErrorCode.NONE:
            logger.info("fetching from broker %d: %s", node, api_error(reply.error_code))
            session.refused(reply.error_code)
            if reply.error_code not in _SESSION_ERRORS:
                self._try_later(entries)
            return
        session.succeeded(reply.session_id)
        size = sum(len(answer.records or b"") for topic in reply.responses for answer in topic.partitions)
        self.metrics.fetched(started_ms, size, reply.throttle_time_ms)
        names = self.cluster.metadata.topic_names
        for topic in reply.responses:
            name = topic.topic or names.get(Uuid(topic.topic_id), "")
            for answer in topic.partitions:
                entry, offset, jumps = asked.pop(TopicPartition(name, answer.partition_index), (None, 0, 0))
                # A seek or a rebalance in the meantime makes the answer worthless. So does a new leader that has
                # given the records while this one, the old leader, was slow to answer.
                if (
                    entry is not None
                    and self.positions.current(entry)
                    and (entry.fetch_offset, entry.jumps) == (offset, jumps)
                ):
                    self._take(entry, offset, answer)
        if asked and plan.full:
            # Nothing was said about these although all were asked for: their topic has another id than we think.
            session.failed()
            self._try_later(entry for entry, _, _ in asked.values())

    def _still_wanted(self, entry: PartitionPosition) -> bool:
        """While the metadata was looked at, a seek, a rebalance or a new leader may have come first."""
        leader = self.cluster.metadata.leader_of(entry.partition)
        ready = leader is not None and not self._is_of_another_topic(entry) and not entry.needs_check(leader)
        return ready and self.positions.current(entry) and entry.may_fetch()

    async def _refresh_if_stale(self) -> None:
        try:
            await self.cluster.refresh_if_stale()
        except (ConnectionProblem, ApiError, ClientError) as error:
            logger.info("metadata could not be refreshed: %s", error)

    def _wanted(self, entry: PartitionPosition) -> WantedPartition:
        metadata = self.cluster.metadata
        topic = metadata.topics.get(entry.partition.topic)
        leader = metadata.leader_of(entry.partition)
        return WantedPartition(
            topic_id=ZERO_UUID if topic is None else topic.topic_id,
            fetch_offset=entry.fetch_offset,
            leader_epoch=-1 if leader is None else leader.leader_epoch,
            max_bytes=self.config.max_partition_fetch_bytes,
        )

    async def _ask(
        self, node: int, plan: FetchRequestData, max_wait_ms: int, timeout_ms: float | None = None
    ) -> FetchResponse:
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=self.config.fetch_min_bytes,
            max_bytes=self.config.fetch_max_bytes,
            isolation_level=int(self.config.read_committed),
            session_id=plan.session_id,
            session_epoch=plan.session_epoch,
            topics=plan.topics,
            forgotten_topics_data=plan.forgotten,
            rack_id=self.config.client_rack,
        )
        return await self.cluster.ask_node(
            node,
            request,
            FetchResponse,
            purpose=FETCHING,
            at_most=plan.at_most,
            timeout_ms=timeout_ms or self.config.request_timeout_ms + max_wait_ms,
        )

    async def _close_session(self, node: int, session: FetchSessionHandler) -> None:
        if session.open and self.cluster.open_connection_to(node, FETCHING) is not None:
            await self._ask(node, session.close(), 0, timeout_ms=_CLOSING_MS)

    # -- one partition of a reply --------------------------------------------------------------------------------

    def _take(self, entry: PartitionPosition, offset: int, answer: PartitionData) -> None:
        code = answer.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(entry, offset)
        elif code != ErrorCode.NONE:
            self._failed(entry, answer)
        else:
            self._take_records(entry, offset, answer)

    def _take_records(self, entry: PartitionPosition, offset: int, answer: PartitionData) -> None:
        # An incremental reply may leave out what it knows nothing new about.
        if answer.high_watermark >= 0:
            entry.high_watermark = answer.high_watermark
        if answer.last_stable_offset >= 0:
            entry.last_stable_offset = answer.last_stable_offset
        if answer.log_start_offset >= 0:
            entry.log_start_offset = answer.log_start_offset
        if answer.preferred_read_replica >= 0:
            now = self.cluster.clock.monotonic_ms()
            entry.preferred_replica = answer.preferred_read_replica
            entry.preferred_until_ms = now + self.config.metadata_max_age_ms
        if answer.records:
            aborted = None
            if self.config.read_committed:
                aborted = [(one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()]
            entry.add_fetched(
                FetchedPartition(
                    entry.partition, offset, answer.records, aborted=aborted, check_crcs=self.config.check_crcs
                )
            )
            self.on_news()
        elif answer.preferred_read_replica < 0 and self._has_more(entry):
            # Not a single batch although there is one: ask again, but not in a tight loop.
            self._pause((entry,))

    def _failed(self, entry: PartitionPosition, answer: PartitionData) -> None:
        error = api_error(answer.error_code, f"partition {entry.partition}")
        leader = answer.current_leader
        self.cluster.note_leader(entry.partition, leader.leader_id, leader.leader_epoch)
        entry.preferred_replica = None
        if error.code.retriable or error.code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.BROKER_NOT_AVAILABLE):
            logger.info("fetching: %s", error)
            self._try_later((entry,))
        else:
            self._pause((entry,))
            self._fail(error)

    def _out_of_range(self, entry: PartitionPosition, offset: int) -> None:
        if entry.preferred_replica is not None:
            # The replica may lag behind; the leader has the last word.
            entry.preferred_replica = None
            return
        if entry.has_records or entry.lent:
            # What has been fetched is read first.
            self._pause((entry,))
            return
        if self.positioning.reset(entry):
            logger.warning("offset %d of %s is out of range: resetting", offset, entry.partition)
            return
        self._fail(
            ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"partition {entry.partition} has no offset {offset} (any longer), and auto.offset.reset=none",
            )
        )

    def _is_of_another_topic(self, entry: PartitionPosition) -> bool:
        """Whether the topic was deleted and recreated. Then the position says nothing, and is found or told."""
        topic = self.cluster.metadata.topics.get(entry.partition.topic)
        if topic is None or entry.position is None or entry.belongs_to(topic.topic_id):
            return False
        position = entry.position
        if self.positioning.reset(entry):
            logger.warning("topic %r was deleted and recreated: resetting", topic.name)
            return True
        self._fail(
            LogTruncated(
                f"topic {topic.name!r} was deleted and recreated while the reader was at offset {position} of "
                f"{entry.partition}, and auto.offset.reset=none. seek() to go on",
                partition=entry.partition,
                offset=position,
                diverged_at=0,
            )
        )
        return True

    def _forget_replica(self, entries: Iterable[PartitionPosition], node: int) -> None:
        for entry in entries:
            if entry.preferred_replica == node:
                entry.preferred_replica = None

    def _try_later(self, entries: Iterable[PartitionPosition]) -> None:
        """With a look at the metadata before."""
        self.cluster.mark_stale()
        self._pause(entries)

    def _pause(self, entries: Iterable[PartitionPosition]) -> None:
        again_at = self.cluster.clock.monotonic_ms() + self.cluster.retry_pause_ms(1)
        for entry in entries:
            entry.not_before_ms = again_at

    def _fail(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error
        self.on_news()


# After these the next request begins a new session, and nothing else is wrong.
_SESSION_ERRORS = frozenset({ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH})
