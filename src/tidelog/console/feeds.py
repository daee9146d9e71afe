"""Live data: a feed reads something of the cluster again and again, as long as somebody watches it.

All who watch the same thing share one feed, and whoever comes later first gets what was read last. A feed that nobody
watches ends after a while, so that a console without an open page asks nothing.

**Pace.** A reading of a large cluster costs its brokers more than one of a small cluster. Between two readings a feed
waits for a multiple of the time that the last one took, so that all of it together stays below a fixed share of a core,
whatever the size of the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from starlette.responses import StreamingResponse

from tidelog.console.replies import EXPECTED_FAILURES, Json, ConsoleRefusal, encoded, problem_document
from tidelog.model.lazy_dataclasses import dataclass

logger = logging.getLogger(__name__)

Read = Callable[[], Awaitable[Json]]

# The time that readings take is at most this part of all time: 2 %.
_IDLE_FOR_EACH_BUSY = 50
_LONGEST_PAUSE_SECONDS = 60.0
# A page that is loaded again within this time goes on with the feed that it had.
_LINGER_SECONDS = 5.0
# Proxies and browsers give up connections on which nothing comes.
_HEARTBEAT_SECONDS = 15.0
# More would not be watched by people; each costs memory and readings.
MOST_FEEDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often something is read, if the cluster is small."""

    seconds: float

    def pause(self, reading_took: float) -> float:
        return max(self.seconds, min(reading_took * _IDLE_FOR_EACH_BUSY, _LONGEST_PAUSE_SECONDS))


class Feed:
    def __init__(self, read: Read, pace: Pace, ended: Callable[[], None]) -> None:
        self._read = read
        self._pace = pace
        self._ended = ended
        # The latest message as it is sent, and how many there have been.
        self._latest = b""
        self._count = 0
        self._changed = asyncio.Event()
        self._watchers = 0
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    async def messages(self) -> AsyncIterator[bytes]:
        """What was read last, then each new reading, as server-sent events. Slow watchers miss some."""
        seen = 0
        self._watchers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            while not self._closed:
                changed = self._changed
                if self._count > seen:
                    seen = self._count
                    yield self._latest
                    continue
                try:
                    async with asyncio.timeout(_HEARTBEAT_SECONDS):
                        await changed.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._watchers -= 1

    async def close(self) -> None:
        """End the replies of all who watch."""
        self._closed = True
        self._changed.set()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        unwatched_since: float | None = None
        try:
            while True:
                if self._watchers:
                    unwatched_since = None
                    began = time.monotonic()
                    await self._read_once()
                    await asyncio.sleep(self._pace.pause(time.monotonic() - began))
                else:
                    now = time.monotonic()
                    unwatched_since = now if unwatched_since is None else unwatched_since
                    if now - unwatched_since >= _LINGER_SECONDS:
                        return
                    await asyncio.sleep(min(self._pace.seconds, _LINGER_SECONDS))
        finally:
            self._ended()

    async def _read_once(self) -> None:
        try:
            message = _event("reading", await self._read())
        except (*EXPECTED_FAILURES, ConsoleRefusal) as error:
            message = _event("problem", problem_document(error))
        except Exception as error:
            logger.exception("a page of the console could not be read")
            message = _event("problem", problem_document(error))
        self._latest = message
        self._count += 1
        self._changed.set()
        self._changed = asyncio.Event()


class Feeds:
    """The feeds that somebody watches, by what they read."""

    def __init__(self) -> None:
        self._feeds: dict[Hashable, Feed] = {}

    def stream(self, key: Hashable, make_reader: Callable[[], Read], pace: Pace) -> StreamingResponse:
        """A reply that goes on until the browser goes away. `make_reader` is called if nobody watches `key` yet: what a
        reader remembers, for rates, lives as long as its feed."""
        feed = self._feeds.get(key)
        if feed is None:
            if len(self._feeds) >= MOST_FEEDS:
                raise ConsoleRefusal(f"{MOST_FEEDS} different things are watched already: close some pages", 503)
            feed = self._feeds[key] = Feed(make_reader(), pace, lambda: self._remove(key))
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(feed.messages(), media_type="text/event-stream", headers=headers)

    def __len__(self) -> int:
        return len(self._feeds)

    async def close(self) -> None:
        for feed in list(self._feeds.values()):
            await feed.close()

    def _remove(self, key: Hashable) -> None:
        self._feeds.pop(key, None)


def _event(name: str, document: Json) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encoded(document) + b"\n\n"
