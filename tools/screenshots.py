"""Takes the pictures of the console in docs/images, of a cluster with three nodes in which something happens.

    PYTHONPATH=tests python tools/screenshots.py        (make screenshots)

The cluster and most of what is in it are those of the console's tests. Beside that, records, transactions and commits
come all the time, so that rates are not zero. What differs from run to run is what does on a real cluster: addresses,
times, ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from PIL import Image
from support.browser import expect, open_context, running_chromium
from support.console_clusters import Cluster, three_tidelog_nodes
from support.console_content import AUDIT, OPEN_ID, ORDERS, PAYMENTS, fill, release
from support.console_process import ConsoleProcess
from support.eventually import eventually
from support.processes import HANG_SECONDS
from support.tidelog_process import tidelog_command

from tidelog import Admin, Consumer, Producer, TopicPartition
from tidelog.client.admin import ElectionType, NewTopic
from tidelog.sync.background import Background

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1280, 860
# Until the plots have something to show.
TRAFFIC_SECONDS = 75
CLICKS, SHIPMENTS = "clicks", "shipments"
DASHBOARD = "dashboard"


def _at_gauges(page: Page) -> None:
    page.get_by_role("region", name="Partition 0").evaluate("(card) => window.scrollTo(0, card.offsetTop - 12)")


def _open_first(page: Page) -> None:
    page.locator(".record-line").first.click()
    expect(page.get_by_role("heading", name="What it changes")).to_be_visible()
    page.evaluate("window.scrollTo(0, 0)")


class Picture(NamedTuple):
    name: str
    place: str
    prepare: Callable[[Page], None] = lambda page: None
    colours: Literal["light", "dark"] = "light"


OVERVIEW = Picture("overview", "/")
PICTURES = (
    OVERVIEW,
    Picture("topic", f"/topics/{ORDERS}?partition=0", _at_gauges),
    Picture("messages", f"/topics/{PAYMENTS}?view=messages"),
    Picture("groups", f"/groups/{AUDIT}"),
    Picture("transactions", f"/transactions/{OPEN_ID}"),
    Picture("metadata", "/metadata", _open_first),
    Picture("dark", "/transactions", colours="dark"),
)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidelog-pictures-")))
        cluster = stack.enter_context(three_tidelog_nodes(directory / "cluster"))
        fill(cluster, hostile=False)
        stack.callback(release, cluster)
        stack.enter_context(traffic(cluster))
        command = (tidelog_command(), "console", "--bootstrap-server", cluster.bootstrap_servers, "--port", "0")
        console = ConsoleProcess(command, directory / "console")
        stack.callback(console.kill)
        browser = stack.enter_context(stack.enter_context(running_chromium()).used())
        begun = time.monotonic()
        # Plots begin when somebody looks.
        pages = [(picture, shown(browser, console.address, picture)) for picture in PICTURES]
        pages[0][1].wait_for_timeout(max(0.0, TRAFFIC_SECONDS - (time.monotonic() - begun)) * 1000)
        for picture, page in pages:
            picture.prepare(page)
            save(page.screenshot(animations="disabled"), IMAGES / f"console-{picture.name}.png")


def save(screenshot: bytes, path: Path) -> None:
    """With 256 colours, none of which is one that people could tell from what it stands for: a third of the bytes."""
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def shown(browser: Browser, address: str, picture: Picture) -> Page:
    context = open_context(browser, width=WIDTH, height=HEIGHT, color_scheme=picture.colours)
    page = context.new_page()
    page.goto(address + picture.place)
    expect(page.locator("main:not([aria-busy=true]) h1")).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    return page


# -- what happens in the cluster -----------------------------------------------------------------------------------


@contextlib.contextmanager
def traffic(cluster: Cluster) -> Iterator[None]:
    background = Background()

    async def begin() -> list[asyncio.Task[None]]:
        servers = cluster.bootstrap_servers
        async with Admin(servers) as admin:
            new = [NewTopic(name=name, partitions=3, replication_factor=3) for name in (CLICKS, SHIPMENTS)]
            Admin.raise_any(await admin.create_topics(new))
            await _move_leader(admin, TopicPartition(CLICKS, 0))
        works = (_click(servers), _order(servers), _invoice(servers), _ship(servers), _watch(servers))
        return [asyncio.create_task(work) for work in works]

    async def end() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    tasks = background.run(begin(), HANG_SECONDS)
    try:
        yield
    finally:
        background.run(end(), HANG_SECONDS)


async def _move_leader(admin: Admin, partition: TopicPartition) -> None:
    """The newest records of the metadata log say so."""

    async def begun() -> None:
        """Brokers learn of a new topic a moment later."""
        described = Admin.raise_any(await admin.describe_topics([partition.topic]))[partition.topic]
        first, *others = described.partitions[partition.partition].replicas
        Admin.raise_any(await admin.alter_partition_reassignments({partition: [*others, first]}))

    await eventually(begun)

    async def moved() -> None:
        assert not await admin.list_partition_reassignments([partition])

    await eventually(moved)
    Admin.raise_any(await admin.elect_leaders(ElectionType.PREFERRED, [partition]))


async def _click(servers: str) -> None:
    """As many as people make: never the same."""
    draw = random.Random(1)
    async with Producer(servers, linger_ms=20) as producer:
        for tick in itertools.count():
            for _ in range(int(12 + 6 * math.sin(tick / 40) + draw.random() * 6)):
                click = {"page": f"/articles/{draw.randrange(300)}", "visitor": draw.randrange(5_000)}
                await producer.send(CLICKS, json.dumps(click), key=str(click["visitor"]))
            await asyncio.sleep(0.1)


async def _order(servers: str) -> None:
    async with Producer(servers, linger_ms=20) as producer:
        for number in itertools.count(1_800):
            order = {"order": number, "state": "placed"}
            await producer.send(ORDERS, json.dumps(order), key=f"customer-{number % 40}", partition=number % 3)
            await asyncio.sleep(0.2)


async def _invoice(servers: str) -> None:
    """Its transaction stays open, so that orders wait behind it."""
    async with Producer(servers, transactional_id="invoicing-1", transaction_timeout_ms=600_000) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await asyncio.sleep(TRAFFIC_SECONDS / 2)
            await producer.send(ORDERS, json.dumps({"invoice": 1}), key="customer-1", partition=0)
            await asyncio.Event().wait()


async def _ship(servers: str) -> None:
    async with Producer(servers, transactional_id="shipping-1") as producer:
        await producer.init_transactions()
        for number in itertools.count():
            async with producer.transaction():
                await producer.send(SHIPMENTS, json.dumps({"shipment": number}), key=f"customer-{number % 40}")
            await asyncio.sleep(0.5)


async def _watch(servers: str) -> None:
    async with Consumer(
        bootstrap_servers=servers, group_id=DASHBOARD, group_protocol="consumer", client_id="dashboard-web"
    ) as consumer:
        consumer.subscribe([CLICKS])
        while True:
            await consumer.poll(timeout_ms=500)


if __name__ == "__main__":
    main()
