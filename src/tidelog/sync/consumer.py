"""The synchronous `Consumer`. Iteration takes records from the loop's thread in bulk.

What was taken but not handed out yet does not count as read: `commit`, `position` and `close` know of it.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ParamSpec

from tidelog.client.config import Options, OptionValue, given_options
from tidelog.client.consumer import Consumer as AsyncConsumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import ApiTimeout
from tidelog.client.offsets.committed import OffsetAndMetadata, OffsetToCommit
from tidelog.model.ids import TopicPartition
from tidelog.sync.background import Client, blocking, on_loop

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
        given = given_options(bootstrap_servers, config, options)
        super().__init__(lambda: AsyncConsumer(*topics, config=given), call_timeout)

    def _first_taken(self) -> dict[TopicPartition, int]:
        """Of each partition with records that are not handed out yet, the offset of the first."""
        first: dict[TopicPartition, int] = {}
        for record in self._taken:
            first.setdefault(record.topic_partition, record.offset)
        return first

    def _give_back(self) -> None:
        """The reader goes on where the records that were handed out end."""
        assigned = self._wrapped.assignment()
        for partition, offset in self._first_taken().items():
            if partition in assigned:
                self._wrapped.seek(partition, offset)
        self._taken.clear()

    start = blocking(AsyncConsumer.start)

    def close(self, *, leave_group: bool | None = None) -> None:
        """Commit (enable.auto.commit), leave the group, and let go of everything."""
        self._closed = True
        self._call(self._give_back)
        self._run(lambda: self._wrapped.close(leave_group=leave_group))

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

    getmany = blocking(AsyncConsumer.getmany, first=_give_back)
    fetch_arrow = blocking(AsyncConsumer.fetch_arrow, first=_give_back)

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
        self._call(
            self._wrapped.subscribe,
            topics,
            pattern=pattern,
            on_partitions_assigned=_beside(on_partitions_assigned),
            on_partitions_revoked=_beside(on_partitions_revoked),
            on_partitions_lost=_beside(on_partitions_lost),
        )

    unsubscribe = blocking(AsyncConsumer.unsubscribe, first=_give_back)
    assign = on_loop(AsyncConsumer.assign, first=_give_back)
    seek = on_loop(AsyncConsumer.seek, first=_give_back)
    seek_to_beginning = on_loop(AsyncConsumer.seek_to_beginning, first=_give_back)
    seek_to_end = on_loop(AsyncConsumer.seek_to_end, first=_give_back)
    pause = on_loop(AsyncConsumer.pause, first=_give_back)
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
        self, offsets: Mapping[TopicPartition, OffsetToCommit] | None = None, *, timeout_ms: float | None = None
    ) -> None:
        """Commit where the reader is, or these offsets: of the next records to read."""
        chosen = self._run(lambda: self._read_so_far(offsets))
        self._run(lambda: self._wrapped.commit(chosen, timeout_ms=timeout_ms))

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetToCommit] | None = None, callback: CommitCallback | None = None
    ) -> None:
        """Commit without waiting. `callback(offsets, error)` is called on a thread of its own, inside of a later call
        of the reader.
        """
        chosen = self._run(lambda: self._read_so_far(offsets))
        self._call(self._wrapped.commit_async, chosen, _beside(callback))

    async def _read_so_far(
        self, offsets: Mapping[TopicPartition, OffsetToCommit] | None
    ) -> Mapping[TopicPartition, OffsetToCommit] | None:
        """What the user wants to commit: the positions are behind what was taken, which is not handed out yet."""
        if offsets is not None or not self._taken:
            return offsets
        positions: dict[TopicPartition, OffsetToCommit] = dict(self._first_taken())
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
