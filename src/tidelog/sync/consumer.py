"""The synchronous `Consumer`. The loop's thread lends whole replies to the reader's, which decodes them.

So most calls of `poll`, and most steps of an iteration, do not cross between the threads, and records are decoded while
the next ones are received. What was lent but not handed out does not count as read: every call that has to do with
positions gives it back first. What is left after a while is given back, too, because rebalances, commits and failures
are looked after on the loop's thread only.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from time import monotonic
from typing import ParamSpec, TypeVar

from tidelog.client.config import Options, OptionValue, given_options
from tidelog.client.consumer import Consumer as AsyncConsumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import ConsumerClosed
from tidelog.client.offsets.committed import OffsetAndMetadata, OffsetToCommit
from tidelog.model.ids import TopicPartition
from tidelog.sync.background import Client, blocking, on_loop
from tidelog.sync.read_ahead import Iteration, ReadAhead

Listener = Callable[[Collection[TopicPartition]], None]
CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], Exception | None], None]
Parameters = ParamSpec("Parameters")
Taken = TypeVar("Taken")

# So long records are handed out at most without asking the loop's thread: short beside all intervals of a group.
_LEND_SECONDS = 0.1
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
        self._ahead = ReadAhead()
        self._iteration = Iteration(self._ahead, self.__next__)
        # When the loop's thread has to be asked again, whatever is left of what it has lent.
        self._lent_until = 0.0
        self._closed = False
        given = given_options(bootstrap_servers, config, options)
        super().__init__(lambda: AsyncConsumer(*topics, config=given), call_timeout)

    def _give_back(self) -> None:
        """On the loop's thread: positions are behind what was handed out, and the reader goes on from there."""
        removed = self._ahead.remove()
        self._wrapped._take_back(removed.lent, removed.unread)

    async def _borrow(self, timeout_ms: float) -> bool:
        """On the loop's thread, where nothing can come between lending and taking note of it, not even Ctrl-C."""
        removed = self._ahead.remove()
        self._wrapped._take_back(removed.lent, removed.unread)
        if removed.unreadable is not None:
            raise self._wrapped._unreadable(*removed.unreadable)
        lent = await self._wrapped._lend(timeout_ms)
        self._ahead.add(lent)
        self._lent_until = monotonic() + _LEND_SECONDS
        return bool(lent)

    start = blocking(AsyncConsumer.start)

    def close(self, *, leave_group: bool | None = None) -> None:
        """Commit (enable.auto.commit), leave the group, and let go of everything."""
        self._closed = True
        self._call(self._give_back)
        self._run(lambda: self._wrapped.close(leave_group=leave_group))

    # -- reading -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self._iteration

    def __next__(self) -> ConsumerRecord:
        """The next record, however long it takes; the iteration ends when the consumer is closed."""
        while (record := self._ahead.next_record()) is None:
            if self._closed:
                raise StopIteration
            try:
                self._taken(self._ahead.take_for_iteration, self._wrapped._limit(None), _LOOK_MS)
            except ConsumerClosed:
                if not self._closed:
                    raise
        return record

    def poll(self, *, timeout_ms: float = 1_000, max_records: int | None = None) -> list[ConsumerRecord]:
        """Some records as soon as there are any; an empty list when the time is over."""
        return self._taken(self._ahead.take, self._wrapped._limit(max_records), timeout_ms) or []

    def _taken(self, take: Callable[[int], Taken], limit: int, timeout_ms: float) -> Taken | None:
        """What `take` gets as soon as it gets anything; None when the time is over."""
        self._check_process()
        if monotonic() < self._lent_until and (taken := take(limit)):
            return taken
        deadline = monotonic() + timeout_ms / 1000
        while True:
            left_ms = max(deadline - monotonic(), 0) * 1000
            if not self._run(lambda left_ms=left_ms: self._borrow(left_ms)):  # type: ignore[misc]
                return None
            # A reply may hold nothing that the reader gets to see, or begin with what cannot be read.
            if taken := take(limit):
                return taken

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
        self._call(self._give_back)
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
    lag = on_loop(AsyncConsumer.lag, first=_give_back)

    position = blocking(AsyncConsumer.position, first=_give_back)

    # -- commits -------------------------------------------------------------------------------------------------

    commit = blocking(AsyncConsumer.commit, first=_give_back)

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetToCommit] | None = None, callback: CommitCallback | None = None
    ) -> None:
        """Commit without waiting. `callback(offsets, error)` is called on a thread of its own, inside of a later call
        of the reader.
        """
        self._call(self._give_back)
        self._call(self._wrapped.commit_async, offsets, _beside(callback))

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
