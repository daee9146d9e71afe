"""`Consumer`: reads records, alone or as a member of a group.

This is what users call; the work is done in the modules beside it: `subscription` (what to read), `classic_member` and
`reconciling_member` (the group), `positioning` (where to begin), `fetcher` (ahead of the reader), `reader` (handing
out) and `commits`. Rebalances happen inside of the reader's calls; heartbeats and fetching go on in the background.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.config import Options, OptionValue, consumer_config, given_options
from tidelog.client.consumer.classic_member import ClassicMember
from tidelog.client.consumer.commits import CommitCallback, Commits
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.consumer.fetcher import RecordFetcher
from tidelog.client.consumer.iteration import Iteration
from tidelog.client.consumer.listeners import Holdings, Listener, RebalanceListeners
from tidelog.client.consumer.member import GroupMember, MemberParts
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.positioning import Positioning
from tidelog.client.consumer.positions import Positions
from tidelog.client.consumer.questions import PartitionQuestions
from tidelog.client.consumer.reader import Lent, Reader
from tidelog.client.consumer.reconciling_member import ReconcilingMember
from tidelog.client.consumer.subscription import Kind, Subscription
from tidelog.client.errors import ApiTimeout, ClientError, ConsumerClosed, NoBrokerAvailable, WrongUse, is_retriable
from tidelog.client.offsets.committed import OffsetAndMetadata, OffsetToCommit, as_offset, as_offsets, fetch_committed
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.options import CONSUMER
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.model.ports import Clock, Randomness
from tidelog.network.client_connection import ConnectionProblem
from tidelog.network.port import Network

if TYPE_CHECKING:
    import pyarrow

logger = logging.getLogger(__name__)

# How long a call without records sleeps at most before it looks after commits and rebalances again.
_LONGEST_SLEEP_MS = 1_000.0

T = TypeVar("T")


class Consumer(PartitionQuestions):
    """`async with Consumer("topic", bootstrap_servers=..., group_id="g") as consumer: async for record in consumer:`

    Without `group_id` a consumer of topics reads all of their partitions by itself and commits nothing. One task at a
    time may read; commits and questions may come from others.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap_servers: OptionValue = None,
        config: Options | None = None,
        network: Network | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        **options: OptionValue,
    ) -> None:
        given = given_options(bootstrap_servers, config, options)
        self._config = consumer_config(given)
        self._cluster = Cluster(self._config, network=network, clock=clock, randomness=randomness)
        self._cluster.allow_auto_create = self._config.allow_auto_create_topics
        self._news = asyncio.Event()
        self._positions = Positions()
        self._subscription = Subscription(self._cluster, exclude_internal_topics=self._config.exclude_internal_topics)
        self._commits = Commits(self._cluster, self._config, self._positions)
        self._holdings = Holdings(self._positions, self._commits)
        self._positioning = Positioning(self._cluster, self._config, self._positions, self._disturb)
        self._metrics = ConsumerMetrics(
            self._cluster.clock, self._positions, read_committed=self._config.read_committed
        )
        self._fetcher = RecordFetcher(
            self._cluster, self._config, self._positions, self._positioning, self._disturb, self._metrics
        )
        self._reader = Reader(self._positions, self._config.max_poll_records, self._metrics.consumed)
        self._iteration = Iteration(self._reader, self._next_record, self._fetch_what_was_used_up)
        self._member: GroupMember | None = None
        # A part of a rebalance that has outlived the call that began it.
        self._step: asyncio.Task[None] | None = None
        self._look_around = True
        self._topics_at_start = topics
        self._started = False
        self._closed = False

    async def __aenter__(self) -> Consumer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        await self._cluster.start()
        self._started = True
        self._cluster.on_change(self._disturb)
        if self._topics_at_start and self._subscription.kind is Kind.NOTHING:
            self.subscribe(self._topics_at_start)

    async def close(self, *, leave_group: bool | None = None) -> None:
        """Commit (enable.auto.commit), leave the group, and let go of everything.

        `leave_group` says whether others get the partitions at once or when the session is over (KIP-1092). By default
        static members, those with a group.instance.id, stay members for their session.
        """
        if self._closed:
            return
        self._closed = True
        self._disturb()
        try:
            if self._started:
                await self._give_up_everything(leave_group)
                await self._commits.wait_for_pending()
        finally:
            await self._positioning.close()
            await self._fetcher.close()
            await self._cluster.close()

    # -- what to read --------------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_partitions_assigned: Listener | None = None,
        on_partitions_revoked: Listener | None = None,
        on_partitions_lost: Listener | None = None,
    ) -> None:
        """Read these topics, or those whose names match the pattern, divided among the members of the group.

        A compiled pattern is searched for here; a string is left to the broker where it can (group.protocol=consumer;
        then it has to match the whole name, in the syntax of RE2), and else compiled. The listeners, plain functions or
        coroutine functions, learn of rebalances inside of the reader's calls.
        """
        self._check_open()
        if (pattern is None) == (not topics):
            raise WrongUse("subscribe takes either topics or a pattern")
        by_broker = self._config.group_protocol == CONSUMER and self._config.group_id is not None
        if pattern is None:
            self._subscription.to_topics(topics)
        elif isinstance(pattern, str) and by_broker:
            self._subscription.to_broker_pattern(pattern)
        else:
            self._subscription.to_pattern(re.compile(pattern))
        self._holdings.listeners = RebalanceListeners(
            assigned=on_partitions_assigned, revoked=on_partitions_revoked, lost=on_partitions_lost
        )
        if self._config.group_id is not None:
            if self._member is None:
                kind = ReconcilingMember if by_broker else ClassicMember
                parts = MemberParts(
                    cluster=self._cluster,
                    config=self._config,
                    group_id=self._config.group_id,
                    subscription=self._subscription,
                    holdings=self._holdings,
                    on_news=self._disturb,
                )
                self._member = self._commits.member = kind(parts)
                self._iteration.keep_up = self._keep_up_with_group
            self._member.subscription_changed()
        self._disturb()

    async def unsubscribe(self) -> None:
        """Leave the group, or give up what was assigned by hand. Afterwards anything else may be read."""
        self._check_open()
        await self._give_up_everything(None)
        self._subscription.to_nothing()
        self._positions.assign(())

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, whatever others do."""
        self._check_open()
        self._subscription.to_partitions(partitions)
        self._positions.assign(partitions)
        self._disturb()

    def subscription(self) -> frozenset[str]:
        """The topics; with a pattern, those that have been found."""
        return frozenset(self._subscription.topics)

    def assignment(self) -> frozenset[TopicPartition]:
        return self._positions.assigned

    def enforce_rebalance(self) -> None:
        """Divide the partitions of the group again with the next call. In the new protocol the broker decides when."""
        self._group_member().rejoin()

    # -- where to read -------------------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: OffsetToCommit) -> None:
        """The next record from this partition is the one at `offset`, or the first behind it.

        With the leader epoch in an `OffsetAndMetadata`, it is found out whether the record before it is still there.
        """
        place = as_offset(offset)
        if place.offset < 0:
            raise WrongUse(f"{place.offset} is not an offset; use seek_to_beginning or seek_to_end")
        self._positions.of(partition).seek(place.offset, place.leader_epoch)
        self._disturb()

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._seek_to(partitions, EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._seek_to(partitions, LATEST)

    def pause(self, *partitions: TopicPartition) -> None:
        """Give no records of these partitions until `resume`. What has been fetched is kept."""
        for partition in partitions:
            self._reader.pause(partition)

    def resume(self, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self._positions.of(partition).paused = False
        self._disturb()

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(entry.partition for entry in self._positions if entry.paused)

    async def position(self, partition: TopicPartition, *, timeout_ms: float | None = None) -> int:
        """The offset of the next record that the reader gets."""
        limit_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self._cluster.clock.monotonic_ms() + limit_ms
        while True:
            self._check_open()
            entry = self._positions.of(partition)
            if entry.position is not None:
                return entry.position
            self._news.clear()
            self._raise_failures()
            self._positioning.find_what_is_missing()
            if not await self._sleep(deadline):
                raise ApiTimeout(f"partition {partition} got no position within {limit_ms:g} ms")

    def lag(self, partition: TopicPartition) -> int | None:
        """How many offsets are between the reader and the end, as far as is known from what was fetched last."""
        entry = self._positions.of(partition)
        end = entry.last_stable_offset if self._config.read_committed else entry.high_watermark
        return None if end is None or entry.position is None else max(end - entry.position, 0)

    # -- reading -------------------------------------------------------------------------------------------------

    async def poll(self, *, timeout_ms: float = 1_000, max_records: int | None = None) -> list[ConsumerRecord]:
        """Some records as soon as there are any; an empty list when the time is over.

        With the next call, and with `commit`, the records of this one count as processed.
        """
        limit = self._limit(max_records)
        return await self._taken(lambda: self._reader.take(limit), timeout_ms)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: float = 1_000, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Like `poll`, by partition; of these partitions only, if some are named."""
        limit = self._limit(max_records)
        found: dict[TopicPartition, list[ConsumerRecord]] = {}
        for record in await self._taken(lambda: self._reader.take(limit, partitions), timeout_ms):
            found.setdefault(record.topic_partition, []).append(record)
        return found

    async def fetch_arrow(
        self, *, max_rows: int = 65_536, timeout_ms: float = 1_000, with_headers: bool = True
    ) -> pyarrow.RecordBatch:
        """Up to `max_rows` records as columns, as soon as there are any; no rows when the time is over.

        The columns are those of Spark's Kafka source. Needs pyarrow (`pip install 'tidelog[arrow]'`); no Python object
        is made for a record.
        """
        from tidelog.client.consumer.columns import as_record_batch

        if max_rows <= 0:
            raise WrongUse(f"max_rows={max_rows}: it must be at least 1")
        taken = await self._taken(lambda: self._reader.take_batches(max_rows), timeout_ms)
        used = 0
        try:
            rows, used = as_record_batch(taken, with_headers=with_headers, check_crcs=self._config.check_crcs)
        finally:
            self._reader.return_batches(taken[used:])
            self._fetch_what_was_used_up()
        return rows

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        return self._iteration

    def __anext__(self) -> Coroutine[Any, Any, ConsumerRecord]:
        return self._iteration.__anext__()

    async def _next_record(self) -> ConsumerRecord:
        """For an iteration that cannot just go on."""
        reader = self._reader
        while True:
            if self._closed:
                raise StopAsyncIteration
            if reader.chunk_is_done:
                # Requests go out and replies come in only when the event loop gets a turn. Before the next record is
                # taken, because who is cancelled while it waits must not lose one.
                reader.chunk_is_done = False
                await asyncio.sleep(0)
                continue
            if self._member is not None:
                self._keep_up_with_group()
            if self._step is None and not self._news.is_set():
                reader.undisturbed = True
                record = reader.next_record()
                self._fetch_what_was_used_up()
                if record is not None:
                    return record
            await self._look_after_things(None)
            if not any(entry.has_records and not entry.paused for entry in self._positions):
                await self._sleep(None)

    # -- commits -------------------------------------------------------------------------------------------------

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetToCommit] | None = None, *, timeout_ms: float | None = None
    ) -> None:
        """Commit where the reader is, or these offsets: of the next records to read. Raises CommitFailed when the
        group has moved on without this member.
        """
        await self._commits.commit(None if offsets is None else as_offsets(offsets), timeout_ms)
        await self._commits.call_back()

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetToCommit] | None = None, callback: CommitCallback | None = None
    ) -> None:
        """Commit without waiting. `callback(offsets, error)` is called inside of a later call of the reader."""
        self._commits.commit_soon(None if offsets is None else as_offsets(offsets), callback)

    async def committed(
        self, *partitions: TopicPartition, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What the group has committed for these partitions; those without an offset are left out."""
        group_id = self._commits.group_metadata.group_id
        return await fetch_committed(self._cluster, group_id, partitions, require_stable=True, timeout_ms=timeout_ms)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """As whom this consumer commits now: for offsets that are sent with a transaction (KIP-447)."""
        return self._commits.group_metadata

    def metrics(self) -> dict[str, float]:
        """What this consumer has measured of itself, by Kafka's names: see `tidelog.client.consumer.metrics`."""
        return self._metrics.snapshot()

    async def _lend(self, timeout_ms: float) -> list[Lent]:
        """For `tidelog.sync`: like `poll`, but to be decoded on the thread of whoever reads."""
        return await self._taken(self._reader.lend, timeout_ms)

    def _take_back(self, lent: Collection[Lent], unread: Collection[ConsumerRecord]) -> None:
        """For `tidelog.sync`: what became of what was lent, see `Reader.take_back`."""
        self._reader.take_back(lent, unread)

    def _unreadable(self, lent: Lent, error: Exception) -> ClientError:
        """For `tidelog.sync`: what to raise about what was lent, is back, and cannot be read."""
        return self._reader.unreadable(lent, error)

    def _check_invariants(self) -> None:
        """For simulations: raises InvariantBroken if what this consumer holds in memory cannot be right."""
        self._fetcher.check_invariants()

    # -- inside --------------------------------------------------------------------------------------------------

    async def _taken(self, take: Callable[[], list[T]], timeout_ms: float) -> list[T]:
        """What `take` gets as soon as it gets anything; nothing when the time is over."""
        deadline = self._cluster.clock.monotonic_ms() + timeout_ms
        # The next fetch has to go out, and its reply to come in, while there is still something to read.
        await asyncio.sleep(0)
        while True:
            if await self._look_after_things(deadline) and (taken := take()):
                self._fetch_what_was_used_up()
                return taken
            if not await self._sleep(deadline):
                return []

    async def _look_after_things(self, deadline: float | None) -> bool:
        """What every call does first: failures, rebalances, commits, positions, fetching.

        Returns whether records may be handed out: not while a rebalance takes partitions away.
        """
        self._check_open()
        self._look_around = self._look_around or self._news.is_set() or self._reader.used_up
        self._news.clear()
        await self._commits.call_back()
        await self._keep_metadata()
        if self._member is not None:
            self._member.polled()
            if not await self._take_steps(self._member, deadline):
                return False
        self._raise_failures()
        self._commits.commit_if_due()
        if self._look_around:
            # Not with every call: with many partitions it would cost more than handing out records does.
            self._look_around = False
            if self._member is None and self._subscription.by_topics:
                partitions = self._subscription.all_partitions()
                if partitions != self._positions.assigned:
                    self._positions.assign(partitions)
            self._positioning.find_what_is_missing()
            self._fetcher.fetch_what_is_wanted()
        return True

    def _disturb(self) -> None:
        """There is something to be looked after before the next record."""
        self._news.set()
        self._reader.undisturbed = False

    def _fetch_what_was_used_up(self) -> None:
        """While the user processes what it has got, the next records are on their way."""
        if self._reader.used_up:
            self._reader.used_up = False
            self._fetcher.fetch_what_is_wanted()

    async def _take_steps(self, member: GroupMember, deadline: float | None) -> bool:
        """Do what the group wants before there are more records. A step that outlives the call goes on for the next."""
        while True:
            if self._step is None:
                coroutine = member.next_step()
                if coroutine is None:
                    return True
                self._step = asyncio.create_task(coroutine)
                self._reader.undisturbed = False
            timeout = None if deadline is None else max(deadline - self._cluster.clock.monotonic_ms(), 0) / 1000
            done, _ = await asyncio.wait((self._step,), timeout=timeout)
            if not done:
                return False
            task, self._step = self._step, None
            task.result()

    def _keep_up_with_group(self) -> None:
        """What was handed out before is processed now."""
        if self._step is None and self._member is not None:
            self._member.polled()
            self._commits.commit_if_due()

    def _raise_failures(self) -> None:
        for owner in (self._fetcher, self._positioning, self._member):
            if owner is not None and owner.failure is not None:
                failure, owner.failure = owner.failure, None
                raise failure

    async def _keep_metadata(self) -> None:
        try:
            if await self._subscription.look_for_topics() and self._member is not None:
                self._member.subscription_changed()
            missing = [topic for topic in self._subscription.topics if topic not in self._cluster.metadata.topics]
            for topic in missing:
                code = self._cluster.metadata.topic_errors.get(topic)
                if code in (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
                    raise ApiError(code, f"topic {topic!r}")
            if missing:
                # It may be created at any moment.
                self._cluster.mark_stale()
            await self._cluster.refresh_if_stale()
        except (ConnectionProblem, NoBrokerAvailable, ApiError) as error:
            if not (isinstance(error, NoBrokerAvailable) or is_retriable(error)):
                raise
            # Brokers come back. Until then there is nothing to read, which is not a failure of the reader.
            logger.warning("metadata could not be refreshed: %s", error)
            await asyncio.sleep(self._cluster.retry_pause_ms(1) / 1000)

    async def _give_up_everything(self, leave_group: bool | None) -> None:
        step, self._step = self._step, None
        if step is not None:
            # It is about to take something away or to give something: let it end, so that its calls are complete.
            await asyncio.wait((step,), timeout=self._config.request_timeout_ms / 1000)
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
        member, self._member = self._member, None
        self._iteration.keep_up = None
        if member is not None:
            try:
                await member.leave(leave_group)
            finally:
                self._commits.member = None

    def _seek_to(self, partitions: Collection[TopicPartition], place: int) -> None:
        for partition in partitions or self._positions.assigned:
            self._positions.of(partition).lose(place)
        self._disturb()

    async def _sleep(self, deadline: float | None) -> bool:
        """Wait for news; False when the time is over."""
        # Replies may have held nothing that the reader gets to see.
        self._fetch_what_was_used_up()
        pause_ms = _LONGEST_SLEEP_MS
        if deadline is not None:
            left_ms = deadline - self._cluster.clock.monotonic_ms()
            if left_ms <= 0:
                return False
            pause_ms = min(pause_ms, left_ms)
        try:
            async with asyncio.timeout(pause_ms / 1000):
                await self._news.wait()
        except TimeoutError:
            self._look_around = True
        return True

    def _limit(self, max_records: int | None) -> int:
        if max_records is not None and max_records <= 0:
            raise WrongUse(f"max_records={max_records}: it must be at least 1")
        return self._config.max_poll_records if max_records is None else max_records

    def _group_member(self) -> GroupMember:
        if self._member is None:
            raise WrongUse("this consumer is not a member of a group: give it a group_id, and subscribe")
        return self._member

    def _check_open(self) -> None:
        if self._closed:
            raise ConsumerClosed("the consumer is closed")
        if not self._started:
            raise ConsumerClosed("the consumer has not been started")
