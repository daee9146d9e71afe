"""The console of a large cluster: how fast its pages are there, and what an open page costs the broker.

1,000 topics of 3 partitions, 200 groups with committed offsets, some of them with members, and transactional ids, two
of which hold readers back. A page is there when nothing on it says that it waits any more. Rounds go through all pages,
so that no page finds a feed that still runs from its last visit. Then each page stays open for a while; what the broker
does without a page is subtracted.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.broker_process import MeasuredBroker, broker
from tidelog import Admin, Consumer, OffsetAndMetadata, Producer, TopicPartition
from tidelog.client.admin import NewTopic
from tidelog.sync.background import Background

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

from support.browser import open_context, running_chromium
from support.download_cache import Unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOPICS = 1000
PARTITIONS = 3
GROUPS = 200
TOPICS_PER_GROUP = 5
MEMBERS = 10
RECORDS_PER_PARTITION = 5
TRANSACTIONAL_IDS = 50
OPEN_TRANSACTIONS = 2

STARTS = 5
LOADS = 5
OPEN_SECONDS = 20
FILL_SECONDS = 300

MOST_SECONDS = 1.0
MOST_CORE = 0.03
MOST_START_SECONDS = 2.0

PLACES = (
    "/",
    "/topics",
    "/topics/topic-0500",
    "/topics/topic-0500?view=messages",
    "/topics/topic-0500?view=producers",
    "/groups",
    "/groups/group-000",
    "/groups/group-100",
    "/transactions",
    "/transactions/open-0",
    "/brokers",
    "/brokers/1",
    "/metadata",
    "/configs",
    "/configs/topic/topic-0500",
    "/configs/broker/1",
    "/security",
    "/pipelines",
)
# When the page had last become complete, in milliseconds from the beginning of the navigation.
_WATCH = """
let complete = false;
window.completeAt = null;
new MutationObserver(() => {
  const before = complete;
  complete = document.querySelector('main:not([aria-busy=true]) h1') !== null && !document.querySelector('.waiting');
  if (complete && !before) window.completeAt = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
_SETTLED_MS = 300
_PAGE_TIMEOUT_MS = 60_000

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    with contextlib.ExitStack() as stack:
        try:
            chromium = stack.enter_context(running_chromium())
        except Unavailable as error:
            yield ("the console", f"not measured: {error}", "")
            return
        target = stack.enter_context(broker(None, "--override", "transaction.max.timeout.ms=7200000"))
        stack.enter_context(_filled(target))
        yield _starting(target)
        process, address = stack.enter_context(_console(target))
        idle = _core_of(target)
        yield ("without a page, the broker", f"{idle:.1%} of a core", "")
        with chromium.used() as browser, contextlib.closing(open_context(browser)) as context:
            context.add_init_script(_WATCH)
            page = context.new_page()
            took: dict[str, list[float]] = {place: [] for place in PLACES}
            for _ in range(LOADS):
                for place in PLACES:
                    took[place].append(_load(page, address + place))
            for place in PLACES:
                _load(page, address + place)
                core = max(0.0, _core_of(target) - idle)
                median = statistics.median(took[place])
                yield (
                    f"{place} until it is there, median of {LOADS}; the broker while it is open",
                    f"{median:.2f} s ({min(took[place]):.2f} to {max(took[place]):.2f}); {core:.1%} of a core",
                    f"at most {MOST_SECONDS:.0f} s; at most {MOST_CORE:.0%}",
                )
        yield ("memory of the console after all pages", f"{process.memory_info().rss / 1e6:.0f} MB", "")


def _load(page: Page, address: str) -> float:
    page.goto("about:blank")
    page.goto(address, wait_until="commit")
    page.locator("main:not([aria-busy=true]) h1").wait_for(timeout=_PAGE_TIMEOUT_MS)
    deadline = time.monotonic() + _PAGE_TIMEOUT_MS / 1000
    while time.monotonic() < deadline:
        page.wait_for_timeout(_SETTLED_MS)
        if page.locator(".waiting").count() == 0 and page.evaluate("window.completeAt") is not None:
            return float(page.evaluate("window.completeAt")) / 1000
    raise TimeoutError(f"{address} still waits after {_PAGE_TIMEOUT_MS / 1000:.0f} s")


def _core_of(target: MeasuredBroker) -> float:
    """The part of a core that the broker uses now."""
    before, began = target.cpu_seconds(), time.perf_counter()
    time.sleep(OPEN_SECONDS)
    return (target.cpu_seconds() - before) / (time.perf_counter() - began)


# -- the console ---------------------------------------------------------------------------------------------------


def _starting(target: MeasuredBroker) -> Row:
    took, memory = [], 0.0
    for _ in range(STARTS):
        began = time.perf_counter()
        with _console(target) as (process, address):
            urllib.request.urlopen(address + "/", timeout=10).read()
            took.append(time.perf_counter() - began)
            memory = process.memory_info().rss / 1e6
    return (
        f"the console starts, until it answers, median of {STARTS}; its memory then",
        f"{statistics.median(took):.2f} s; {memory:.0f} MB",
        f"at most {MOST_START_SECONDS:.0f} s",
    )


@contextlib.contextmanager
def _console(target: MeasuredBroker) -> Iterator[tuple[psutil.Process, str]]:
    command = [sys.executable, "-m", "tidelog.cli.main", "console", "--bootstrap-server", target.bootstrap_servers]
    process = subprocess.Popen(
        [*command, "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        announced = process.stdout.readline().decode()
        if "http://" not in announced:
            raise RuntimeError(f"the console ended with exit code {process.wait()}")
        yield psutil.Process(process.pid), announced.split()[-1].rstrip("/")
    finally:
        process.terminate()
        process.wait(60)


# -- what is in the cluster ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _filled(target: MeasuredBroker) -> Iterator[None]:
    """Members and open transactions stay until the block ends."""
    background = Background()

    async def begin() -> tuple[asyncio.Event, asyncio.Task[None]]:
        ready, leave = asyncio.Event(), asyncio.Event()
        holding = asyncio.create_task(_hold(target.bootstrap_servers, ready, leave))
        await asyncio.wait((asyncio.create_task(ready.wait()), holding), return_when=asyncio.FIRST_COMPLETED)
        if not ready.is_set():
            await holding
        return leave, holding

    async def end() -> None:
        leave.set()
        await holding

    leave, holding = background.run(begin(), FILL_SECONDS)
    try:
        yield
    finally:
        background.run(end(), FILL_SECONDS)


async def _hold(servers: str, ready: asyncio.Event, leave: asyncio.Event) -> None:
    async with contextlib.AsyncExitStack() as stack:
        admin = await stack.enter_async_context(Admin(servers))
        names = [f"topic-{number:04}" for number in range(TOPICS)]
        for first in range(0, TOPICS, 100):
            new = [NewTopic(name=name, partitions=PARTITIONS) for name in names[first : first + 100]]
            Admin.raise_any(await admin.create_topics(new))
        async with Producer(servers, linger_ms=20) as producer:
            for name in names:
                for partition in range(PARTITIONS):
                    for number in range(RECORDS_PER_PARTITION):
                        await producer.send(name, f'{{"number": {number}}}', key=f"k-{number}", partition=partition)
            await producer.flush()
        for number in range(GROUPS):
            await admin.alter_group_offsets(f"group-{number:03}", _places(names, number))
        for number in range(TRANSACTIONAL_IDS):
            async with _transactional(servers, f"committed-{number}") as producer, producer.transaction():
                await producer.send(names[number], "committed", partition=0)
        for number in range(OPEN_TRANSACTIONS):
            holder = await stack.enter_async_context(_transactional(servers, f"open-{number}"))
            await holder.begin_transaction()
            await (await holder.send(names[number], "open", partition=0))
        members = [
            await stack.enter_async_context(_member(servers, f"group-{number:03}", [*_places(names, number)]))
            for number in range(MEMBERS)
        ]
        ready.set()
        while not leave.is_set():
            for member in members:
                await member.poll(timeout_ms=0)
            await asyncio.sleep(1)


def _places(names: list[str], number: int) -> dict[TopicPartition, OffsetAndMetadata]:
    """What a group has committed: a part of what is there."""
    chosen = [names[(number * TOPICS_PER_GROUP + each) % TOPICS] for each in range(TOPICS_PER_GROUP)]
    return {
        TopicPartition(name, partition): OffsetAndMetadata(offset=number % RECORDS_PER_PARTITION)
        for name in chosen
        for partition in range(PARTITIONS)
    }


@contextlib.asynccontextmanager
async def _transactional(servers: str, name: str) -> AsyncIterator[Producer]:
    async with Producer(servers, transactional_id=name, transaction_timeout_ms=3_600_000) as producer:
        await producer.init_transactions()
        yield producer


@contextlib.asynccontextmanager
async def _member(servers: str, group: str, partitions: list[TopicPartition]) -> AsyncIterator[Consumer]:
    """It reads nothing."""
    async with Consumer(
        bootstrap_servers=servers, group_id=group, group_protocol="consumer", enable_auto_commit=False
    ) as consumer:
        topics = sorted({partition.topic for partition in partitions})
        consumer.subscribe(topics, on_partitions_assigned=lambda assigned: consumer.pause(*assigned))
        while consumer.assignment() != set(partitions):
            await consumer.poll(timeout_ms=50)
        yield consumer
