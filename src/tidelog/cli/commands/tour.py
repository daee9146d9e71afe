"""`tidelog tour` and `make tour`: a broker at work, in a page of text.

Starts a broker in this process, produces some thousands of records, reads them back in a group of two members, and
looks at offsets and files. Fails if what was read is not exactly what was sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule

from tidelog.cli.commands.dump_log import dump
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.session import run
from tidelog.cli.topics_description import PartitionReport, describe_lines
from tidelog.client.admin import Admin, ConfigResource, ResourceType
from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import ConsumerClosed
from tidelog.client.producer.producer import Delivery, Producer
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST
from tidelog.server.broker import Broker

TOPIC = "orders"
GROUP = "billing"
PARTITIONS = 3
MEMBERS = 2
DEFAULT_RECORDS = 20_000

# Long enough for the slowest machine; nobody waits for it unless something is broken.
_READ_TIMEOUT_SECONDS = 60
_SHOWN_DUMP_LINES = 6

Take = Callable[[str, list[ConsumerRecord]], None]
# (offset, value) of each record, in order.
Stored = dict[TopicPartition, list[tuple[int, bytes]]]


def tour(
    records: Annotated[int, typer.Option("--records", min=1, help="How many records to send.")] = DEFAULT_RECORDS,
) -> None:
    """See a broker at work: it is started, written to, read from, and looked into. Takes a few seconds.

    \b
    Examples:
      tidelog tour
      tidelog tour --records 200000
    """
    run(_tour(records, Console(highlight=False)))


async def _tour(count: int, console: Console) -> None:
    began = time.perf_counter()
    console.print(Rule("[bold]tidelog[/bold]: Kafka in Python", align="left"))
    async with Broker(port=0) as broker:
        started_ms = (time.perf_counter() - began) * 1000
        servers = broker.bootstrap_servers
        console.print(f"1. A broker listens on [bold]{servers}[/bold] after {started_ms:.0f} ms.")
        async with Admin(servers) as admin:
            await _create(admin, console)
            sent = await _produce(servers, count, console)
            received = await _consume(servers, sent, console)
            await _show_offsets(admin, console)
            _show_files(Path(broker.data_dir), console)
            _compare(sent, received, console)
    console.print(f"Done in {time.perf_counter() - began:.1f} s. Now try [bold]tidelog up[/bold].")


async def _create(admin: Admin, console: Console) -> None:
    await admin.create_topic(TOPIC, partitions=PARTITIONS, configs={"segment.bytes": "1048576"})
    resource = ConfigResource(ResourceType.TOPIC, TOPIC)
    described = Admin.raise_any(await admin.describe_topics([TOPIC]))[TOPIC]
    configs = Admin.raise_any(await admin.describe_configs([resource]))[resource]
    console.print(f"2. Topic [bold]{TOPIC}[/bold] has {PARTITIONS} partitions (tidelog topics --describe):")
    _print_block(describe_lines(described, configs, PartitionReport(), {1}), console)


async def _produce(servers: str, count: int, console: Console) -> Stored:
    """What was stored where: (offset, value) in the order in which it was sent."""
    console.print("3. An idempotent producer sends; equal keys go to equal partitions.")
    deliveries: list[tuple[bytes, Delivery]] = []
    began = time.perf_counter()
    with _progress(console) as progress:
        task = progress.add_task("   sent", total=count)
        async with Producer(servers, compression_type="lz4", linger_ms=5) as producer:
            for number in range(count):
                customer = f"customer-{number % 97}"
                value = f'{{"order": {number}, "customer": "{customer}", "amount": {number * 7 % 1000}}}'.encode()
                delivery = await producer.send(TOPIC, value, key=customer, headers={"source": "tour"})
                deliveries.append((value, delivery))
                if number % 500 == 0:
                    progress.update(task, completed=number)
            await producer.flush()
        progress.update(task, completed=count)
    seconds = time.perf_counter() - began
    stored: Stored = {}
    for value, delivery in deliveries:
        place = await delivery
        stored.setdefault(TopicPartition(place.topic, place.partition), []).append((place.offset, value))
    console.print(f"   {count} records are stored and acknowledged, {count / seconds:,.0f} a second.")
    return stored


async def _consume(servers: str, sent: Stored, console: Console) -> Stored:
    """Read everything in a group, until as much has come as was sent, or nothing comes any more."""
    count = sum(map(len, sent.values()))
    console.print(f"4. Group [bold]{GROUP}[/bold] reads them with {MEMBERS} members, who divide the partitions:")
    received: Stored = {}
    shares: Counter[str] = Counter()
    complete = asyncio.Event()
    began = time.perf_counter()
    with _progress(console) as progress:
        task = progress.add_task("   read", total=count)

        def take(member: str, records: list[ConsumerRecord]) -> None:
            for record in records:
                received.setdefault(record.topic_partition, []).append((record.offset, record.value or b""))
            shares[member] += len(records)
            progress.update(task, completed=shares.total())
            if shares.total() >= count:
                complete.set()

        consumers = [
            Consumer(
                TOPIC,
                bootstrap_servers=servers,
                group_id=GROUP,
                auto_offset_reset="earliest",
                client_id=f"member-{number}",
                fetch_max_wait_ms=100,
                # Members learn of a rebalance with their next heartbeat.
                heartbeat_interval_ms=200,
            )
            for number in range(MEMBERS)
        ]
        for consumer in consumers:
            await consumer.start()
        await _join_all(consumers, take)
        readers = [
            asyncio.create_task(_read(consumer, f"member-{number}", take)) for number, consumer in enumerate(consumers)
        ]
        try:
            async with asyncio.timeout(_READ_TIMEOUT_SECONDS):
                await asyncio.wait(
                    (asyncio.create_task(complete.wait()), *readers), return_when=asyncio.FIRST_COMPLETED
                )
        except TimeoutError:
            console.print("   [red]nothing more comes[/red]")
        assignments = [", ".join(map(str, sorted(consumer.assignment()))) for consumer in consumers]
        for consumer in consumers:
            await consumer.close()
        await asyncio.gather(*readers)
    for number, assignment in enumerate(assignments):
        console.print(f"   member-{number} read {shares[f'member-{number}']} records of {assignment or 'nothing'}.")
    seconds = time.perf_counter() - began
    console.print(f"   {shares.total()} records in {seconds:.1f} s; offsets are committed on leaving.")
    return received


async def _join_all(consumers: list[Consumer], take: Take) -> None:
    """Let everybody join before anybody reads on, so that the shares are even."""

    async def join(number: int, consumer: Consumer) -> None:
        take(f"member-{number}", await consumer.poll(timeout_ms=100, max_records=1))
        consumer.pause(*consumer.assignment())

    async with asyncio.timeout(_READ_TIMEOUT_SECONDS):
        while not all(consumer.assignment() for consumer in consumers):
            await asyncio.gather(*(join(number, consumer) for number, consumer in enumerate(consumers)))
    for consumer in consumers:
        consumer.resume(*consumer.assignment())


async def _read(consumer: Consumer, member: str, take: Take) -> None:
    try:
        while True:
            take(member, await consumer.poll(timeout_ms=200))
    except ConsumerClosed:
        return


async def _show_offsets(admin: Admin, console: Console) -> None:
    partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    ends = Admin.raise_any(await admin.list_offsets(dict.fromkeys(partitions, LATEST)))
    committed = await admin.list_group_offsets(GROUP, partitions)
    console.print("5. Offsets (tidelog get-offsets, tidelog groups --describe):")
    lines = [
        f"{partition.topic}:{partition.partition}:{ends[partition].offset}  "
        f"committed by {GROUP}: {committed[partition].offset if partition in committed else '-'}"
        for partition in partitions
    ]
    _print_block(lines, console)


def _show_files(data_dir: Path, console: Console) -> None:
    directory = data_dir / f"{TOPIC}-0"
    log = min(directory.glob("*.log"))
    console.print("6. The files are Kafka's, byte for byte (tidelog dump-log --print-data-log):")
    _print_block([f"{path.name}  {path.stat().st_size} bytes" for path in sorted(directory.iterdir())], console)
    lines: list[str] = []
    dump([str(log)], DumpOptions(print_data_log=True), write=lines.append, write_error=lines.append)
    _print_block([*lines[:_SHOWN_DUMP_LINES], f"... {len(lines) - _SHOWN_DUMP_LINES} more lines"], console)


def _compare(
    sent: Stored,
    received: Stored,
    console: Console,
) -> None:
    for partition in sorted({*sent, *received}):
        if sent.get(partition, []) != received.get(partition, []):
            raise CommandFailure(
                f"partition {partition}: {len(sent.get(partition, []))} records were sent, but "
                f"{len(received.get(partition, []))} came back, or not the same, or in another order"
            )
    digest = hashlib.sha256(b"".join(value for part in sorted(received) for _, value in received[part])).hexdigest()
    console.print(f"7. Read equals sent: each record once, in order. [dim]sha256 {digest[:16]}[/dim]")


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=not console.is_terminal,
    )


def _print_block(lines: list[str], console: Console) -> None:
    width = console.width if console.is_terminal else None
    for line in lines:
        text = "     " + line.expandtabs(4)
        console.print(f"[dim]{escape(text[:width])}[/dim]", soft_wrap=True)


if __name__ == "__main__":
    from tidelog.cli.main import main

    sys.argv = ["tidelog", "tour", *sys.argv[1:]]
    main()
