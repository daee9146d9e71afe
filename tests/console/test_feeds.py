"""Live data: who watches the same thing shares one reading, and nothing is read that nobody watches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from support.processes import HANG_SECONDS

from tidelog.client.errors import NoBrokerAvailable
from tidelog.console.feeds import MOST_FEEDS, Feeds, FeedTimes, FirstPart, Pace, Read
from tidelog.console.replies import ConsoleRefusal, Json


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(HANG_SECONDS):
            while not condition():
                await asyncio.sleep(0.001)
    except TimeoutError as error:
        raise AssertionError(f"{what} did not come") from error


QUICK = Pace(seconds=0.001)
AWAY = "no broker answers at 127.0.0.1:1"


class Counting:
    """A reader that counts, and fails where it is told to."""

    def __init__(self, **failures: Exception) -> None:
        self.readings = 0
        self._failures = {int(name.removeprefix("at_")): failure for name, failure in failures.items()}

    async def __call__(self) -> Json:
        self.readings += 1
        if self.readings in self._failures:
            raise self._failures[self.readings]
        return {"number": self.readings}


class Watcher:
    """A browser: what it gets of a reply, as server-sent events."""

    def __init__(self, feeds: Feeds, key: str, read: Read, pace: Pace = QUICK) -> None:
        self._reply = feeds.stream(key, lambda: read, pace)
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._gone = asyncio.Event()
        self.task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        async def receive() -> dict[str, Any]:
            await self._gone.wait()
            return {"type": "http.disconnect"}

        await self._reply({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, self._take)

    async def _take(self, message: Any) -> None:
        await self._sent.put(message)

    async def message(self) -> bytes:
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                message = await self._sent.get()
                if message["type"] == "http.response.body":
                    body: bytes = message["body"]
                    return body

    async def event(self) -> tuple[str, Any]:
        name, data = (await self.message()).decode().removesuffix("\n\n").split("\n")
        return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    async def leave(self) -> None:
        self._gone.set()
        await self.task


@pytest.fixture
async def feeds() -> AsyncGenerator[Feeds, None]:
    running = Feeds(FeedTimes(linger=0.05))
    yield running
    await running.close()


async def test_who_watches_gets_each_reading(feeds: Feeds) -> None:
    watcher = Watcher(feeds, "topics", Counting())
    assert [await watcher.event() for _ in range(3)] == [("reading", {"number": n}) for n in (1, 2, 3)]


async def test_what_is_known_soon_is_sent_while_the_rest_is_read(feeds: Feeds) -> None:
    may_end = asyncio.Event()

    async def rest() -> Json:
        await may_end.wait()
        raise NoBrokerAvailable(AWAY)

    async def read() -> FirstPart:
        return FirstPart(document={"lag": None}, rest=rest)

    watcher = Watcher(feeds, "topics", read)
    assert await watcher.event() == ("reading", {"lag": None})
    may_end.set()
    name, problem = await watcher.event()
    assert (name, problem["message"]) == ("problem", AWAY)


async def test_who_comes_later_gets_the_latest_reading_at_once(feeds: Feeds) -> None:
    read = Counting()
    first = Watcher(feeds, "topics", read, Pace(seconds=HANG_SECONDS))
    assert await first.event() == ("reading", {"number": 1})
    second = Watcher(feeds, "topics", read, Pace(seconds=HANG_SECONDS))
    assert await second.event() == ("reading", {"number": 1})
    assert (read.readings, len(feeds)) == (1, 1)


async def test_each_thing_has_a_feed_of_its_own(feeds: Feeds) -> None:
    topics, groups = Counting(), Counting()
    watchers = [Watcher(feeds, "topics", topics), Watcher(feeds, "groups", groups)]
    for watcher in watchers:
        await watcher.event()
    assert len(feeds) == 2


async def test_a_feed_ends_some_time_after_its_last_watcher(feeds: Feeds) -> None:
    read = Counting()
    first, second = Watcher(feeds, "topics", read), Watcher(feeds, "topics", read)
    await first.event()
    await second.event()
    await first.leave()
    seen = read.readings
    await until(lambda: read.readings > seen + 2, "readings for the other one")
    await second.leave()
    await until(lambda: len(feeds) == 0, "the end of the feed")
    seen = read.readings
    await asyncio.sleep(0.05)
    assert read.readings == seen


async def test_who_comes_back_soon_finds_what_the_reader_remembers() -> None:
    feeds = Feeds(FeedTimes(linger=HANG_SECONDS))
    read = Counting()
    before = Watcher(feeds, "topics", read)
    await before.event()
    await before.leave()
    after = Watcher(feeds, "topics", Counting())
    assert await after.event() == ("reading", {"number": read.readings})
    await feeds.close()


async def test_who_comes_after_the_end_gets_a_new_feed(feeds: Feeds) -> None:
    before = Watcher(feeds, "topics", Counting())
    await before.event()
    await before.leave()
    await until(lambda: len(feeds) == 0, "the end of the feed")
    after = Watcher(feeds, "topics", Counting())
    assert await after.event() == ("reading", {"number": 1})


async def test_a_reply_that_is_never_sent_leaves_nothing(feeds: Feeds) -> None:
    """The browser has gone before the reply begins."""
    for _ in range(MOST_FEEDS + 1):
        feeds.stream("topics", lambda: Counting(), QUICK)
    assert len(feeds) == 0


async def test_a_reader_that_fails_is_shown_and_asked_again() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0.001)

    feeds = Feeds(FeedTimes(sleep=sleep))
    watcher = Watcher(feeds, "topics", Counting(at_2=NoBrokerAvailable(AWAY), at_3=ConsoleRefusal("not like this")))
    events = [await watcher.event() for _ in range(4)]
    await feeds.close()
    assert events == [
        ("reading", {"number": 1}),
        ("problem", {"problem": "unavailable", "code": None, "message": AWAY}),
        ("problem", {"problem": "refused", "code": None, "message": "not like this"}),
        ("reading", {"number": 4}),
    ]
    assert pauses[1:3] == [QUICK.pause_after_failure()] * 2


async def test_a_cluster_that_is_away_is_asked_again_soon_whatever_that_costs() -> None:
    """Who looks at the page waits for the cluster to come back."""
    now, pauses = [0.0], list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0.001)

    async def away() -> Json:
        now[0] += 10.0
        raise NoBrokerAvailable(AWAY)

    feeds = Feeds(FeedTimes(work=lambda: now[0], sleep=sleep))
    watcher = Watcher(feeds, "topics", away, Pace(seconds=2.0))
    assert (await watcher.event())[0] == "problem"
    await until(lambda: bool(pauses), "the pause")
    await feeds.close()
    assert pauses[0] <= 3.0


async def test_an_unexpected_failure_is_logged_once(feeds: Feeds, caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> Json:
        raise ZeroDivisionError("a mistake of ours")

    feeds = Feeds(FeedTimes(sleep=lambda _: asyncio.sleep(0.001)))
    watcher = Watcher(feeds, "topics", broken)
    for _ in range(3):
        assert await watcher.event() == (
            "problem",
            {"problem": "refused", "code": None, "message": "a mistake of ours"},
        )
    await feeds.close()
    assert len(caplog.records) == 1


async def test_the_pace_follows_what_a_reading_costs() -> None:
    """A reading that costs 0.2 s is followed by ten seconds without one, so that readings take 2 % of the time."""
    now, pauses = [0.0], list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds
        await asyncio.sleep(0.001)

    costs = [0.0, 0.01, 0.04, 0.1, 0.2, 1.0, 9.0, 0.0]

    async def read() -> Json:
        now[0] += costs[min(len(pauses), len(costs) - 1)]
        return None

    feeds = Feeds(FeedTimes(work=lambda: now[0], sleep=sleep))
    watcher = Watcher(feeds, "topics", read, Pace(seconds=2.0))
    await until(lambda: len(pauses) >= len(costs), "as many readings")
    await watcher.leave()
    await feeds.close()
    assert pauses[: len(costs)] == pytest.approx([2.0, 2.0, 2.0, 5.0, 10.0, 30.0, 30.0, 2.0])


async def test_something_comes_while_nothing_changes() -> None:
    feeds = Feeds(FeedTimes(heartbeat=0.01))
    watcher = Watcher(feeds, "topics", Counting(), Pace(seconds=HANG_SECONDS))
    assert (await watcher.event())[0] == "reading"
    assert [await watcher.message() for _ in range(2)] == [b": still here\n\n"] * 2
    await feeds.close()


async def test_a_slow_watcher_misses_readings_and_gets_the_latest(feeds: Feeds) -> None:
    read = Counting()
    reply = feeds.stream("topics", lambda: read, QUICK)
    got: list[int] = []
    going_on = asyncio.Event()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            got.append(json.loads(message["body"].split(b"data: ")[1])["number"])
            await going_on.wait()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(HANG_SECONDS)
        raise AssertionError

    task = asyncio.create_task(reply({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send))
    await until(lambda: read.readings > 20, "more readings than are taken")
    assert got == [1]
    going_on.set()
    await until(lambda: len(got) > 1, "the next one")
    assert got[1] > 20
    task.cancel()
    await asyncio.wait({task})


async def test_who_goes_away_in_the_middle_of_a_message_does_not_watch_any_more(feeds: Feeds) -> None:
    reply = feeds.stream("topics", lambda: Counting(), QUICK)
    stuck = asyncio.Event()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            stuck.set()
            await asyncio.sleep(HANG_SECONDS)

    async def receive() -> dict[str, Any]:
        await stuck.wait()
        return {"type": "http.disconnect"}

    await reply({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    await until(lambda: len(feeds) == 0, "the end of the feed")


async def test_the_end_ends_all_replies_and_there_are_no_new_ones(feeds: Feeds) -> None:
    reading = asyncio.Event()

    async def never() -> Json:
        reading.set()
        await asyncio.sleep(HANG_SECONDS)
        return None

    watchers = [Watcher(feeds, "topics", Counting()), Watcher(feeds, "topics", Counting()), Watcher(feeds, "x", never)]
    pending = feeds.stream("topics", lambda: Counting(), QUICK)
    await reading.wait()
    await feeds.close()
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*(watcher.task for watcher in watchers))
    assert len(feeds) == 0
    with pytest.raises(ConsoleRefusal, match="this console is stopping"):
        feeds.stream("y", lambda: Counting(), QUICK)
    # One that was granted before.
    (event,) = [message async for message in pending.body_iterator]
    assert "this console is stopping" in str(event)


async def test_the_number_of_feeds_has_a_bound(feeds: Feeds) -> None:
    watchers = [Watcher(feeds, str(number), Counting(), Pace(seconds=HANG_SECONDS)) for number in range(MOST_FEEDS)]
    for watcher in watchers:
        await watcher.event()
    with pytest.raises(ConsoleRefusal, match="200 different things are watched already") as refused:
        feeds.stream("one more", lambda: Counting(), QUICK)
    assert refused.value.status == 503
    # Watchers of what is watched already cost nothing more.
    again = Watcher(feeds, "7", Counting())
    assert await again.event() == ("reading", {"number": 1})


async def test_readings_cannot_break_the_frame_of_events(feeds: Feeds) -> None:
    hostile = "a\n\nevent: problem\ndata: {}\r\n\r\n\x00\u2028\ud800\x85"

    async def read() -> Json:
        return {"name": hostile}

    watcher = Watcher(feeds, "topics", read)
    message = await watcher.message()
    assert message.count(b"\n") == 3
    assert b"\r" not in message
    assert json.loads(message.split(b"data: ", 1)[1]) == {"name": hostile}
