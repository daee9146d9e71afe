"""`Consumer`: reads records, alone or as a member of a group.

Rebalances happen inside of `poll` and of the iteration, never behind the reader's back: when partitions are given up,
the records that were handed out before have been processed, and their offsets can be committed. Heartbeats and fetching
go on in the background (`tidelog.client.consumer.classic_member`, `tidelog.client.consumer.fetcher`).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from types import TracebackType

from tidelog.client.cluster import Cluster
from tidelog.client.committed import OffsetAndMetadata, commit_offsets, fetch_committed
from tidelog.client.config import Options, OptionValue, consumer_config
from tidelog.client.consumer.classic_member import GroupMember
from tidelog.client.consumer.fetcher import Fetcher
from tidelog.client.consumer.positioning import find_positions
from tidelog.client.consumer.positions import PartitionPosition, Positions
from tidelog.client.errors import (
    ClientError,
    CommitFailed,
    ConsumerClosed,
    NoBrokerAvailable,
    NoOffsetForPartition,
    WrongUse,
)
from tidelog.client.fetched import Chunk, ConsumerRecord
from tidelog.client.group_metadata import ConsumerGroupMetadata
from tidelog.client.offsets import EARLIEST, LATEST, OffsetAndTimestamp, list_offsets
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.client_connection import ConnectionProblem
from tidelog.network.port import Network
from tidelog.records.batch import CorruptBatch

logger = logging.getLogger(__name__)

RebalanceListener = Callable[[Collection[TopicPartition]], Awaitable[None] | None]

# How long a call without records sleeps at most before it looks after commits and rebalances again.
_LONGEST_SLEEP_MS = 1_000.0

_MEMBER_IS_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID})


class Consumer:
    """`async with Consumer("topic", bootstrap_servers=..., group_id="g") as consumer: async for record in consumer:`

    Without `group_id` a consumer of topics reads all of their partitions by itself and commits nothing.
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
        given = {**(config or {}), **options}
        if bootstrap_servers is not None:
            given["bootstrap.servers"] = bootstrap_servers
        self._config = consumer_config(given)
        self._cluster = Cluster(self._config, network=network, clock=clock, randomness=randomness)
        self._cluster.allow_auto_create = self._config.allow_auto_create_topics
        self._positions = Positions()
        self._topics: tuple[str, ...] = topics
        self._on_assigned: RebalanceListener | None = None
        self._on_revoked: RebalanceListener | None = None
        self._fetcher: Fetcher | None = None
        self._member: GroupMember | None = None
        self._joining: asyncio.Task[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._next_commit_ms = 0.0
        # Records that the iteration has taken but not handed out yet, with the position behind each.
        self._ahead: deque[tuple[PartitionPosition, ConsumerRecord, int]] = deque()
        self._news = asyncio.Event()
        self._closed = False

    async def __aenter__(self) -> Consumer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        await self._cluster.start()
        self._fetcher = Fetcher(self._cluster, self._config, self._positions, self._news.set)
        self._cluster.on_change(self._news.set)
        if self._topics:
            self.subscribe(self._topics, on_assigned=self._on_assigned, on_revoked=self._on_revoked)

    async def close(self) -> None:
        """Commit (enable.auto.commit), leave the group, and let go of everything."""
        if self._closed:
            return
        self._closed = True
        self._news.set()
        tasks = [task for task in (self._joining, self._committing) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            if self._member is not None:
                if not self._member.lost:
                    await self._commit_quietly(timeout_ms=self._config.request_timeout_ms)
                await self._member.leave()
        finally:
            if self._fetcher is not None:
                await self._fetcher.close()
            await self._cluster.close()

    # -- what to read --------------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str],
        *,
        on_assigned: RebalanceListener | None = None,
        on_revoked: RebalanceListener | None = None,
    ) -> None:
        """Read these topics, divided among the members of the group; the listeners hear of rebalances."""
        self._check_open()
        self._topics = tuple(dict.fromkeys(topics))
        self._on_assigned, self._on_revoked = on_assigned, on_revoked
        self._cluster.unwatch_all()
        self._cluster.watch(self._topics)
        if self._config.group_id is not None:
            if self._member is None:
                self._member = GroupMember(self._cluster, self._config, self._config.group_id, self._news.set)
            self._member.rejoin()
        self._cluster.mark_stale()
        self._news.set()

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, whatever others do."""
        self._check_open()
        if self._topics:
            raise WrongUse("assign() cannot be mixed with topics to subscribe to: use a consumer of its own")
        self._ahead.clear()
        self._positions.assign(partitions)
        self._cluster.unwatch_all()
        self._cluster.watch({partition.topic for partition in partitions})
        self._cluster.mark_stale()
        self._news.set()

    def assignment(self) -> frozenset[TopicPartition]:
        return self._positions.assigned

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The next record from this partition is the one at `offset`, or the first behind it."""
        if offset < 0:
            raise WrongUse(f"{offset} is not an offset; use seek_to_beginning or seek_to_end")
        self._positions.of(partition).seek(offset)
        self._drop_ahead({partition})

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._seek_later(partitions, EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._seek_later(partitions, LATEST)

    def pause(self, *partitions: TopicPartition) -> None:
        """Give no records of these partitions until `resume`."""
        for partition in partitions:
            self._positions.of(partition).paused = True
            self._give_back(partition)

    def resume(self, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self._positions.of(partition).paused = False
        self._news.set()

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that the reader gets."""
        entry = self._positions.of(partition)
        if entry.position is None:
            await find_positions(self._cluster, self._config, self._positions)
        if entry.position is None:
            raise NoOffsetForPartition(f"partition {partition} has no position yet")
        return entry.position

    # -- reading -------------------------------------------------------------------------------------------------

    async def poll(self, *, timeout_ms: float = 1_000, max_records: int | None = None) -> list[ConsumerRecord]:
        """Some records as soon as there are any; an empty list when the time is over.

        With the next call, and with `commit`, the records of this one count as processed.
        """
        deadline = self._cluster.clock.monotonic_ms() + timeout_ms
        limit = self._config.max_poll_records if max_records is None else max_records
        taken = self._take_ahead(limit)
        while not taken:
            await self._look_after_things(deadline)
            taken = self._take_some(limit)
            if not taken and not await self._sleep(deadline):
                break
        return taken

    def __aiter__(self) -> Consumer:
        return self

    async def __anext__(self) -> ConsumerRecord:
        while True:
            while self._ahead and not (self._member is not None and self._member.needs_join):
                entry, record, next_offset = self._ahead.popleft()
                if self._positions.current(entry):
                    if self._member is not None:
                        # What was handed out before counts as processed now that the reader has come back.
                        self._member.polled()
                        self._commit_if_due()
                    entry.position, entry.leader_epoch = next_offset, record.leader_epoch
                    return record
            if self._closed:
                raise StopAsyncIteration
            await self._look_after_things(None)
            if not self._read_ahead():
                await self._sleep(None)

    # -- commits -------------------------------------------------------------------------------------------------

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit where the reader is, or these offsets: of the next records to read. Raises CommitFailed when the
        group has moved on without this member.
        """
        group_id = self._group_id()
        if offsets is None:
            wanted = self._positions.to_commit()
        else:
            wanted = {
                partition: OffsetAndMetadata(offset=value) if isinstance(value, int) else value
                for partition, value in offsets.items()
            }
        try:
            await commit_offsets(self._cluster, self.group_metadata(), wanted, timeout_ms=timeout_ms)
        except ApiError as error:
            if error.code not in _MEMBER_IS_OUT and error.code != ErrorCode.REBALANCE_IN_PROGRESS:
                raise
            if self._member is not None:
                self._member.rejoin()
            raise CommitFailed(
                f"group {group_id!r} did not take the offsets ({error}): it has rebalanced, and the partitions may "
                "have been given to another member. What was read since the last commit may be read again"
            ) from error

    async def committed(self, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
        """What the group has committed for these partitions; those without an offset are left out."""
        return await fetch_committed(self._cluster, self._group_id(), partitions)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """As whom this consumer commits now: for offsets that are sent with a transaction (KIP-447)."""
        if self._member is not None:
            return self._member.group_metadata
        return ConsumerGroupMetadata(group_id=self._group_id(), instance_id=self._config.group_instance_id)

    # -- asking about partitions ---------------------------------------------------------------------------------

    async def partitions_for(self, topic: str) -> tuple[TopicPartition, ...]:
        found = await self._cluster.topic(topic, timeout_ms=self._config.default_api_timeout_ms)
        return tuple(TopicPartition(topic, entry.partition) for entry in found.partitions)

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
        """The first records at or after these times; partitions without one are left out."""
        found = await self._offsets(times)
        return {partition: entry for partition, entry in found.items() if entry.offset >= 0}

    async def beginning_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        found = await self._offsets(dict.fromkeys(partitions, EARLIEST))
        return {partition: entry.offset for partition, entry in found.items()}

    async def end_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """The ends as this reader sees them: of committed records only, if it reads only those."""
        found = await self._offsets(dict.fromkeys(partitions, LATEST))
        return {partition: entry.offset for partition, entry in found.items()}

    # -- inside: the things that have to be looked after ---------------------------------------------------------

    async def _look_after_things(self, deadline: float | None) -> None:
        """What every call does first: failures, rebalances, commits, positions, fetching."""
        self._check_open()
        assert self._fetcher is not None
        self._news.clear()
        await self._keep_metadata()
        for owner in (self._fetcher, self._member):
            if owner is not None and owner.failure is not None:
                failure, owner.failure = owner.failure, None
                raise failure
        if self._member is not None:
            self._member.polled()
            if not await self._join_if_needed(deadline):
                return
        elif self._topics:
            self._assign_everything()
        self._commit_if_due()
        await find_positions(self._cluster, self._config, self._positions)
        self._fetch()

    async def _keep_metadata(self) -> None:
        missing = [topic for topic in self._topics if topic not in self._cluster.metadata.topics]
        for topic in missing:
            code = self._cluster.metadata.topic_errors.get(topic)
            if code in (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
                raise ApiError(code, f"topic {topic!r}")
        if missing:
            # It may be created at any moment.
            self._cluster.mark_stale()
        try:
            await self._cluster.refresh_if_stale()
        except (ConnectionProblem, NoBrokerAvailable, ApiError) as error:
            # Brokers come back. Until then there is nothing to read, which is not a failure of the reader.
            logger.warning("no news about the cluster: %s", error)
            await asyncio.sleep(self._cluster.retry_pause_ms(1) / 1000)

    def _assign_everything(self) -> None:
        """Outside of a group: all partitions that the topics have now."""
        metadata = self._cluster.metadata
        partitions = {
            TopicPartition(topic, entry.partition)
            for topic in self._topics
            if topic in metadata.topics
            for entry in metadata.topics[topic].partitions
        }
        if partitions != self._positions.assigned:
            self._positions.assign(partitions)

    async def _join_if_needed(self, deadline: float | None) -> bool:
        """Whether the consumer has its assignment. A rebalance that outlives the call goes on for the next one."""
        assert self._member is not None
        if self._joining is None:
            if not self._member.needs_join:
                return True
            self._joining = asyncio.create_task(self._rebalance(self._member))
        timeout = None if deadline is None else max(deadline - self._cluster.clock.monotonic_ms(), 0) / 1000
        done, _ = await asyncio.wait((self._joining,), timeout=timeout)
        if not done:
            return False
        task, self._joining = self._joining, None
        await task
        return True

    async def _rebalance(self, member: GroupMember) -> None:
        before = self._positions.assigned
        if before:
            if not member.lost:
                await self._commit_quietly(timeout_ms=self._config.request_timeout_ms)
            await _tell(self._on_revoked, before)
        self._ahead.clear()
        self._positions.assign(())
        partitions = await member.join(self._topics, ())
        logger.info("group %r assigned %s", member.group_id, ", ".join(map(str, partitions)) or "nothing")
        self._cluster.watch({partition.topic for partition in partitions})
        self._positions.assign(partitions)
        self._next_commit_ms = self._cluster.clock.monotonic_ms() + self._config.auto_commit_interval_ms
        await _tell(self._on_assigned, self._positions.assigned)

    def _commit_if_due(self) -> None:
        """Auto-commit goes beside the reading: it need not wait for the reply."""
        if not self._config.enable_auto_commit or self._member is None or self._committing is not None:
            return
        now = self._cluster.clock.monotonic_ms()
        if now < self._next_commit_ms or not len(self._positions):
            return
        self._next_commit_ms = now + self._config.auto_commit_interval_ms
        offsets = self._positions.to_commit()
        self._committing = asyncio.create_task(self._commit_beside(self._member.group_metadata, offsets))
        self._committing.add_done_callback(self._commit_done)

    def _commit_done(self, _: asyncio.Task[None]) -> None:
        self._committing = None

    async def _commit_beside(
        self, group: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        try:
            await commit_offsets(self._cluster, group, offsets)
        except (ApiError, ClientError, ConnectionProblem) as error:
            logger.warning("auto-commit of group %r: %s", group.group_id, error)
            if isinstance(error, ApiError) and error.code in _MEMBER_IS_OUT and self._member is not None:
                self._member.rejoin()

    async def _commit_quietly(self, *, timeout_ms: float) -> None:
        """The last commit before partitions are given up."""
        if not self._config.enable_auto_commit or self._member is None:
            return
        if self._committing is not None:
            # Else an older commit could arrive after this one.
            await asyncio.wait((self._committing,))
        try:
            await self.commit(timeout_ms=timeout_ms)
        except (ApiError, ClientError, ConnectionProblem) as error:
            logger.warning("the last commit before giving up partitions: %s", error)

    def _fetch(self) -> None:
        assert self._fetcher is not None
        self._fetcher.fetch_what_is_wanted()

    # -- inside: records -----------------------------------------------------------------------------------------

    def _take(self, entry: PartitionPosition, limit: int) -> Chunk | None:
        fetched = entry.fetched
        if fetched is None or entry.paused:
            return None
        try:
            chunk = fetched.take(limit)
        except (CorruptBatch, ClientError) as error:
            # Fetched again with the next call, in case the damage happened on the way.
            entry.fetched = None
            raise ClientError(
                f"partition {entry.partition} cannot be read at offset {entry.position}: {error}. "
                "seek() past it to go on without it"
            ) from error
        if fetched.exhausted:
            entry.fetched = None
        return chunk

    def _take_some(self, limit: int) -> list[ConsumerRecord]:
        """Records from as many partitions as it takes; their positions move at once."""
        taken: list[ConsumerRecord] = []
        for entry in self._positions:
            chunk = self._take(entry, limit - len(taken))
            if chunk is not None:
                entry.position, entry.leader_epoch = chunk.next_offset, chunk.leader_epoch
                self._positions.rotate(entry)
                taken += chunk.records
                if len(taken) >= limit:
                    break
        self._fetch()
        return taken

    def _read_ahead(self) -> bool:
        """Take records for the iteration. Their positions move when they are handed out, not before."""
        for entry in self._positions:
            chunk = self._take(entry, self._config.max_poll_records)
            if chunk is None:
                continue
            self._positions.rotate(entry)
            if not chunk.records:
                entry.position = chunk.next_offset
                continue
            last = len(chunk.records) - 1
            for index, record in enumerate(chunk.records):
                self._ahead.append((entry, record, chunk.next_offset if index == last else record.offset + 1))
            break
        self._fetch()
        return bool(self._ahead)

    def _take_ahead(self, limit: int) -> list[ConsumerRecord]:
        """What an iteration has left over belongs to the next poll."""
        taken: list[ConsumerRecord] = []
        while self._ahead and len(taken) < limit:
            entry, record, next_offset = self._ahead.popleft()
            if self._positions.current(entry):
                entry.position, entry.leader_epoch = next_offset, record.leader_epoch
                taken.append(record)
        return taken

    def _drop_ahead(self, partitions: Collection[TopicPartition]) -> None:
        self._ahead = deque(item for item in self._ahead if item[0].partition not in partitions)
        self._news.set()

    def _give_back(self, partition: TopicPartition) -> None:
        """Records that were taken but not handed out are fetched again when the partition is resumed."""
        if any(entry.partition == partition for entry, _, _ in self._ahead):
            self._positions.of(partition).fetched = None
            self._drop_ahead({partition})

    def _seek_later(self, partitions: Collection[TopicPartition], time: int) -> None:
        chosen = partitions or self._positions.assigned
        for partition in chosen:
            self._positions.of(partition).lose(time)
        self._drop_ahead(chosen)

    async def _sleep(self, deadline: float | None) -> bool:
        """Wait for news; False when the time is over."""
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
            pass
        return True

    async def _offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
        found = await list_offsets(self._cluster, times, read_committed=self._config.read_committed)
        good: dict[TopicPartition, OffsetAndTimestamp] = {}
        for partition, result in found.items():
            if isinstance(result, ApiError):
                raise result
            good[partition] = result
        return good

    def _group_id(self) -> str:
        if self._config.group_id is None:
            raise WrongUse("offsets are committed for a group: give the consumer a group_id")
        return self._config.group_id

    def _check_open(self) -> None:
        if self._closed:
            raise ConsumerClosed("the consumer is closed")
        if self._fetcher is None:
            raise ConsumerClosed("the consumer has not been started")


async def _tell(listener: RebalanceListener | None, partitions: Collection[TopicPartition]) -> None:
    if listener is not None:
        result = listener(partitions)
        if inspect.isawaitable(result):
            await result
