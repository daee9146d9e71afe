"""Live data: a feed reads something of the cluster again and again, as long as somebody watches it.

All who watch the same thing share one feed, and whoever comes later first gets what was read last. A feed that nobody
watches ends after a while, so that a console without an open page asks nothing.

**Pace.** A reading of a large cluster costs its brokers more than one of a small cluster. Between two readings a feed
waits for a multiple of the work that the last one was, so that all of it together stays below a fixed share of a core,
whatever the size of the cluster. The work is taken by the processor time of the console, which decodes what brokers
encode; waiting for a broker that hangs is no work. A reading that failed costs nobody anything: who comes back is soon
asked again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import TypeAlias

from starlette.responses import StreamingResponse
from starlette.types import Send

from tidelog.console.replies import EXPECTED_FAILURES, ConsoleRefusal, Json, encoded, problem_document
from tidelog.model.lazy_dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPart:
    """What of a reading is known soon: pages show it while `rest` reads the whole."""

    document: Json
    rest: Callable[[], Awaitable[Json]]


Read: TypeAlias = "Callable[[], Awaitable[Json | FirstPart]]"

# The work of readings is at most this part of a core: 2 %.
_IDLE_FOR_EACH_BUSY = 50
_LONGEST_PAUSE_SECONDS = 30.0
_PAUSE_AFTER_FAILURE_SECONDS = 3.0
# A page that is loaded again within this time goes on with the feed that it had.
_LINGER_SECONDS = 5.0
# Proxies and browsers give up connections on which nothing comes.
_HEARTBEAT_SECONDS = 15.0
# More would not be watched by people; each costs memory and readings.
MOST_FEEDS = 200

_UNAVAILABLE = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often something is read, if the cluster is small."""

    seconds: float

    def pause(self, work: float) -> float:
        return max(self.seconds, min(work * _IDLE_FOR_EACH_BUSY, _LONGEST_PAUSE_SECONDS))

    def pause_after_failure(self) -> float:
        return max(self.seconds, _PAUSE_AFTER_FAILURE_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedTimes:
    """Bounds in seconds, how work is measured, and how pauses are made. Tests have others."""

    linger: float = _LINGER_SECONDS
    heartbeat: float = _HEARTBEAT_SECONDS
    work: Callable[[], float] = time.process_time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Feed:
    """Reads from its beginning on, until nobody has watched it for a while."""

    def __init__(self, read: Read, pace: Pace, times: FeedTimes, ended: Callable[[], None]) -> None:
        self._read = read
        self._pace = pace
        self._times = times
        self._ended = ended
        # The latest message as it is sent, and how many there have been.
        self._latest = b""
        self._count = 0
        self._changed = asyncio.Event()
        self._watchers = 0
        self._watched = asyncio.Event()
        self._closed = False
        self._last_failure = ""
        self._task = asyncio.create_task(self._run())

    async def messages(self) -> AsyncGenerator[bytes, None]:
        """What was read last, then each new reading, as server-sent events. Slow watchers miss some."""
        seen = 0
        self._watchers += 1
        self._watched.set()
        try:
            while not self._closed:
                changed = self._changed
                if self._count > seen:
                    seen = self._count
                    yield self._latest
                    continue
                try:
                    async with asyncio.timeout(self._times.heartbeat):
                        await changed.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._watched.clear()

    async def close(self) -> None:
        """End the replies of all who watch."""
        self._closed = True
        self._changed.set()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        try:
            while await self._is_watched():
                before = self._times.work()
                succeeded = await self._read_once()
                work = self._times.work() - before
                await self._times.sleep(self._pace.pause(work) if succeeded else self._pace.pause_after_failure())
        finally:
            # Whoever asks from now on gets a new feed, and nobody waits for this one.
            self._closed = True
            self._changed.set()
            self._ended()

    async def _is_watched(self) -> bool:
        """Wait for a watcher, but not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._times.linger):
                await self._watched.wait()
        return self._watchers > 0

    async def _read_once(self) -> bool:
        """Whether it succeeded."""
        failure: Exception | None = None
        try:
            reading = await self._read()
            if isinstance(reading, FirstPart):
                self._publish(_event("reading", reading.document))
                reading = await reading.rest()
            message = _event("reading", reading)
        except (*EXPECTED_FAILURES, ConsoleRefusal) as error:
            message, failure = _event("problem", problem_document(error)), error
        except Exception as error:
            # Once: it will fail again and again.
            if repr(error) != self._last_failure:
                logger.exception("a page of the console could not be read")
            message, failure = _event("problem", problem_document(error)), error
        self._last_failure = "" if failure is None else repr(failure)
        self._publish(message)
        return failure is None

    def _publish(self, message: bytes) -> None:
        self._latest = message
        self._count += 1
        self._changed.set()
        self._changed = asyncio.Event()


class Feeds:
    """The feeds that somebody watches, by what they read."""

    def __init__(self, times: FeedTimes | None = None) -> None:
        self._times = times or FeedTimes()
        self._feeds: dict[Hashable, Feed] = {}
        self._closed = False

    def stream(self, key: Hashable, make_reader: Callable[[], Read], pace: Pace) -> StreamingResponse:
        """A reply that goes on until the browser goes away. `make_reader` is called if nobody watches `key` yet: what a
        reader remembers, for rates, lives as long as its feed. Raises ConsoleRefusal."""
        if key not in self._feeds:
            self._require_room()

        async def messages() -> AsyncGenerator[bytes, None]:
            # Now that the reply is being sent: a feed that was looked up before could have ended.
            feed = self._feeds.get(key)
            if feed is None:
                try:
                    self._require_room()
                except ConsoleRefusal as refusal:
                    yield _event("problem", problem_document(refusal))
                    return
                feed = self._feeds[key] = Feed(make_reader(), pace, self._times, lambda: self._remove(key))
            async with contextlib.aclosing(feed.messages()) as found:
                async for message in found:
                    yield message

        return _LiveReply(messages())

    def __len__(self) -> int:
        return len(self._feeds)

    async def close(self) -> None:
        """End all replies. There are no new ones from now on."""
        self._closed = True
        for feed in list(self._feeds.values()):
            await feed.close()

    def _require_room(self) -> None:
        if self._closed:
            raise ConsoleRefusal("this console is stopping", _UNAVAILABLE)
        if len(self._feeds) >= MOST_FEEDS:
            raise ConsoleRefusal(f"{MOST_FEEDS} different things are watched already: close some pages", _UNAVAILABLE)

    def _remove(self, key: Hashable) -> None:
        self._feeds.pop(key, None)


class _LiveReply(StreamingResponse):
    def __init__(self, messages: AsyncGenerator[bytes, None]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(messages, media_type="text/event-stream", headers=headers)
        self._messages = messages

    async def stream_response(self, send: Send) -> None:
        """Who goes away while a message is being sent does not watch any more from that moment on."""
        async with contextlib.aclosing(self._messages):
            await super().stream_response(send)


def _event(name: str, document: Json) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encoded(document) + b"\n\n"
