"""The synchronous `Consumer`. Iteration takes records from the loop's thread in bulk.

What was taken but not handed out yet does not count as read: `commit`, `position` and `close` know of it.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec

from tidelog.client.config import Options, OptionValue
from tidelog.client.consumer import Consumer as AsyncConsumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import ApiTimeout
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.sync.background import Client, blocking, on_loop, options_together

if TYPE_CHECKING:
    import pyarrow

OffsetToSet = OffsetAndMetadata | int
Listener = Callable[[Collection[TopicPartition]], None]
CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], Exception | None], None]
Parameters = ParamSpec("Parameters")

# How long one look for records waits while nothing comes: short enough that an interruption is noticed.
_LOOK_MS = 500.0


class Consumer(Client[AsyncConsumer]):
    """`with Consumer("topic", bootstrap_servers=..., group_id="g") as consumer: for record in consumer: ...`

    As `tidelog.Consumer`, with calls that wait.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap_servers: OptionValue = None,
        config: Options | None = None,
        call_timeout: float | None = None,
        **options: OptionValue,
    ) -> None:
        """`call_timeout`: seconds after which any call gives up with TimeoutError, whatever the options allow."""
        self._taken: deque[ConsumerRecord] = deque()
        self._closed = False
        given = options_together(config, options)
        super().__init__(
            lambda: AsyncConsumer(*topics, bootstrap_servers=bootstrap_servers, config=given), call_timeout
        )

    def __enter__(self) -> Consumer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    start = blocking(AsyncConsumer.start)

    def close(self, *, leave_group: bool | None = None) -> None:
        """Commit (enable.auto.commit), leave the group, and let go of everything."""
        self._closed = True
        self._run(lambda: self._close(leave_group))

    async def _close(self, leave_group: bool | None) -> None:
        self._give_back()
        await self._wrapped.close(leave_group=leave_group)

    # -- reading -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Consumer:
        return self

    def __next__(self) -> ConsumerRecord:
        """The next record, however long it takes; the iteration ends when the consumer is closed."""
        while not self._taken:
            if self._closed:
                raise StopIteration
            self._taken.extend(self._run(lambda: self._wrapped.poll(timeout_ms=_LOOK_MS)))
        return self._taken.popleft()

    def poll(self, *, timeout_ms: float = 1_000, max_records: int | None = None) -> list[ConsumerRecord]:
        """Some records as soon as there are any; an empty list when the time is over."""
        if self._taken:
            wanted = len(self._taken) if max_records is None else min(max_records, len(self._taken))
            return [self._taken.popleft() for _ in range(wanted)]
        return self._run(lambda: self._wrapped.poll(timeout_ms=timeout_ms, max_records=max_records))

    def getmany(
        self, *partitions: TopicPartition, timeout_ms: float = 1_000, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Like `poll`, by partition; of these partitions only, if some are named."""
        self._run(self._returned)
        return self._run(lambda: self._wrapped.getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records))

    def fetch_arrow(
        self, *, max_rows: int = 65_536, timeout_ms: float = 1_000, with_headers: bool = True
    ) -> pyarrow.RecordBatch:
        """Up to `max_rows` records as columns, as soon as there are any; no rows when the time is over."""
        self._run(self._returned)
        return self._run(
            lambda: self._wrapped.fetch_arrow(max_rows=max_rows, timeout_ms=timeout_ms, with_headers=with_headers)
        )

    # -- what to read and where ----------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_partitions_assigned: Listener | None = None,
        on_partitions_revoked: Listener | None = None,
        on_partitions_lost: Listener | None = None,
    ) -> None:
        """As `tidelog.Consumer.subscribe`. The listeners are called on a thread of their own while the reader waits,
        so they may commit and ask, but not read.
        """
        self._run(
            lambda: self._subscribe(
                topics,
                pattern,
                _beside(on_partitions_assigned),
                _beside(on_partitions_revoked),
                _beside(on_partitions_lost),
            )
        )

    async def _subscribe(
        self,
        topics: Iterable[str],
        pattern: str | re.Pattern[str] | None,
        assigned: Callable[[Collection[TopicPartition]], asyncio.Future[None]] | None,
        revoked: Callable[[Collection[TopicPartition]], asyncio.Future[None]] | None,
        lost: Callable[[Collection[TopicPartition]], asyncio.Future[None]] | None,
    ) -> None:
        self._wrapped.subscribe(
            topics,
            pattern=pattern,
            on_partitions_assigned=assigned,
            on_partitions_revoked=revoked,
            on_partitions_lost=lost,
        )

    def unsubscribe(self) -> None:
        """Leave the group, or give up what was assigned by hand."""
        self._run(self._returned)
        self._run(self._wrapped.unsubscribe)

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions, whatever others do."""
        self._run(self._returned)
        self._call(self._wrapped.assign, partitions)

    def seek(self, partition: TopicPartition, offset: OffsetToSet) -> None:
        """The next record from this partition is the one at `offset`, or the first behind it."""
        self._drop((partition,))
        self._call(self._wrapped.seek, partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._drop(partitions)
        self._call(self._wrapped.seek_to_beginning, *partitions)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._drop(partitions)
        self._call(self._wrapped.seek_to_end, *partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        """Give no records of these partitions until `resume`."""
        self._run(self._returned)
        self._call(self._wrapped.pause, *partitions)

    resume = on_loop(AsyncConsumer.resume)
    paused = on_loop(AsyncConsumer.paused)
    subscription = on_loop(AsyncConsumer.subscription)
    assignment = on_loop(AsyncConsumer.assignment)
    enforce_rebalance = on_loop(AsyncConsumer.enforce_rebalance)
    lag = on_loop(AsyncConsumer.lag)

    def position(self, partition: TopicPartition, *, timeout_ms: float | None = None) -> int:
        """The offset of the next record that the reader gets."""
        first = self._first_taken().get(partition)
        return self._run(lambda: self._wrapped.position(partition, timeout_ms=timeout_ms)) if first is None else first

    # -- commits -------------------------------------------------------------------------------------------------

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetToSet] | None = None, *, timeout_ms: float | None = None
    ) -> None:
        """Commit where the reader is, or these offsets: of the next records to read."""
        self._run(lambda: self._commit(offsets, timeout_ms))

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetToSet] | None, timeout_ms: float | None) -> None:
        if offsets is None and self._taken:
            offsets = await self._read_so_far()
        await self._wrapped.commit(offsets, timeout_ms=timeout_ms)

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetToSet] | None = None, callback: CommitCallback | None = None
    ) -> None:
        """Commit without waiting. `callback(offsets, error)` is called on a thread of its own, inside of a later call
        of the reader.
        """
        self._run(lambda: self._commit_soon(offsets, callback))

    async def _commit_soon(
        self, offsets: Mapping[TopicPartition, OffsetToSet] | None, callback: CommitCallback | None
    ) -> None:
        if offsets is None and self._taken:
            offsets = await self._read_so_far()
        self._wrapped.commit_async(offsets, _beside(callback))

    async def _read_so_far(self) -> dict[TopicPartition, OffsetToSet]:
        positions: dict[TopicPartition, OffsetToSet] = dict(self._first_taken())
        for partition in self._wrapped.assignment():
            if partition not in positions:
                try:
                    positions[partition] = await self._wrapped.position(partition, timeout_ms=0)
                except ApiTimeout:
                    continue
        return positions

    metrics = on_loop(AsyncConsumer.metrics)
    committed = blocking(AsyncConsumer.committed)
    group_metadata = on_loop(AsyncConsumer.group_metadata)

    # -- asking about topics and partitions ----------------------------------------------------------------------

    topics = blocking(AsyncConsumer.topics)
    partitions_for = blocking(AsyncConsumer.partitions_for)
    offsets_for_times = blocking(AsyncConsumer.offsets_for_times)
    beginning_offsets = blocking(AsyncConsumer.beginning_offsets)
    end_offsets = blocking(AsyncConsumer.end_offsets)

    # -- inside --------------------------------------------------------------------------------------------------

    def _call(self, function: Callable[Parameters, None], *args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        async def called() -> None:
            function(*args, **kwargs)

        self._run(called)

    def _first_taken(self) -> dict[TopicPartition, int]:
        """Of each partition with records that are not handed out yet, the offset of the first."""
        first: dict[TopicPartition, int] = {}
        for record in self._taken:
            first.setdefault(record.topic_partition, record.offset)
        return first

    def _drop(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was taken of these partitions, or of all if none is named."""
        self._taken = deque(record for record in self._taken if partitions and record.topic_partition not in partitions)

    async def _returned(self) -> None:
        self._give_back()

    def _give_back(self) -> None:
        """The reader goes on where the records that were handed out end."""
        assigned = self._wrapped.assignment()
        for partition, offset in self._first_taken().items():
            if partition in assigned:
                self._wrapped.seek(partition, offset)
        self._taken.clear()


def _beside(
    function: Callable[Parameters, None] | None,
) -> Callable[Parameters, asyncio.Future[None]] | None:
    """The same function on a thread of its own, where it may call what waits; the loop goes on meanwhile."""
    if function is None:
        return None
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{function} is a coroutine function; tidelog.sync calls plain ones")

    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> asyncio.Future[None]:
        return asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))

    return call
