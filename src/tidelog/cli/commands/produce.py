"""`tidelog produce`: lines of standard input become records, with the options of Kafka's console producer."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.line_reader import (
    InvalidReaderProperty,
    LineReader,
    UnreadableLine,
    make_line_reader,
)
from tidelog.cli.properties import split_properties
from tidelog.cli.session import BootstrapServer, client_properties, run
from tidelog.client.config import Options
from tidelog.client.errors import DeliveryFailed
from tidelog.client.options import PRODUCER_OPTIONS
from tidelog.client.producer.producer import Delivery, Producer
from tidelog.records.record import Header

_READ_BYTES = 256 * 1024


def produce(
    topic: Annotated[str, typer.Option("--topic", help="The topic to send to.")],
    bootstrap_server: BootstrapServer = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", help="Separates key and value of a line. Sets parse.key=true.")
    ] = None,
    headers: Annotated[
        bool, typer.Option("--headers", help="Lines begin with name:value,... and a tab. Sets parse.headers=true.")
    ] = False,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME:VALUE", help="A header for every record. Repeatable.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", min=0, help="Send everything to this partition.")
    ] = None,
    reader_property: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            "--reader-property",
            metavar="NAME=VALUE",
            help="How lines are read: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
            "headers.key.separator, null.marker, ignore.error. Repeatable.",
        ),
    ] = None,
    producer_config: Annotated[
        Path | None,
        typer.Option(
            "--producer.config", "--command-config", metavar="FILE", help="A file with properties of the producer."
        ),
    ] = None,
    producer_property: Annotated[
        list[str] | None,
        typer.Option(
            "--producer-property",
            "--command-property",
            metavar="NAME=VALUE",
            help="A property of the producer, such as linger.ms=50. Repeatable.",
        ),
    ] = None,
    compression_codec: Annotated[
        str | None, typer.Option("--compression-codec", help="none, gzip, snappy, lz4 or zstd.")
    ] = None,
    request_required_acks: Annotated[
        str | None, typer.Option("--request-required-acks", help="Which replicas must store a record: all, 1 or 0.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="The producer's batch.size.")] = None,
    linger: Annotated[int | None, typer.Option("--timeout", help="The producer's linger.ms.")] = None,
    sync: Annotated[bool, typer.Option("--sync", help="Wait after each record until it is stored.")] = False,
) -> None:
    """Send each line of standard input as a record. Ctrl-D ends the input.

    \b
    Examples:
      echo hello | tidelog produce --topic greetings
      tidelog produce --topic users --key-separator :           (then type  42:Ada)
      tidelog produce --topic t --property parse.key=true --property key.separator=,
      tidelog produce --topic t --producer.config producer.properties --compression-codec zstd
    """
    reader = _reader(split_properties("--property", reader_property or ()), key_separator, headers)
    options = {
        **client_properties(producer_config, bootstrap_server, PRODUCER_OPTIONS),
        **split_properties("--producer-property", producer_property or ()),
    }
    for name, value in (
        ("compression.type", compression_codec),
        ("acks", request_required_acks),
        ("batch.size", batch_size),
        ("linger.ms", linger),
    ):
        if value is not None:
            options[name] = str(value)
    run(_produce(options, topic, partition, reader, _fixed_headers(header or ()), sync))


def _reader(properties: dict[str, str], key_separator: str | None, headers: bool) -> LineReader:
    if key_separator is not None:
        properties = {**properties, "parse.key": "true", "key.separator": key_separator}
    if headers:
        properties = {**properties, "parse.headers": "true"}
    try:
        return make_line_reader(properties)
    except InvalidReaderProperty as error:
        raise typer.BadParameter(str(error), param_hint="--property") from error


def _fixed_headers(pairs: list[str] | tuple[()]) -> tuple[Header, ...]:
    fixed: list[Header] = []
    for pair in pairs:
        name, colon, value = pair.partition(":")
        if not colon:
            raise typer.BadParameter(f"{pair!r} is not of the form name:value", param_hint="--header")
        fixed.append((name, value.encode()))
    return tuple(fixed)


async def _produce(
    options: Options,
    topic: str,
    partition: int | None,
    reader: LineReader,
    fixed_headers: tuple[Header, ...],
    sync: bool,
) -> None:
    failures = 0
    pending: deque[Delivery] = deque()

    async def await_delivery(delivery: Delivery) -> None:
        nonlocal failures
        try:
            await delivery
        except DeliveryFailed as error:
            failures += 1
            sys.stderr.write(f"tidelog: {error}\n")

    async with Producer(config=options) as producer:
        number = 0
        async for lines in _lines(sys.stdin.fileno(), prompt=sys.stdin.isatty()):
            for line in lines:
                number += 1
                try:
                    parsed = reader.parse(line, number)
                except UnreadableLine as error:
                    await producer.flush()
                    raise CommandFailure(f"{error}. The lines before it were sent") from error
                delivery = await producer.send(
                    topic,
                    parsed.value,
                    key=parsed.key,
                    headers=parsed.headers + fixed_headers,
                    partition=partition,
                )
                pending.append(delivery)
                if sync:
                    await await_delivery(pending.pop())
            while pending and pending[0].done():
                await await_delivery(pending.popleft())
        while pending:
            await await_delivery(pending.popleft())
    if failures:
        raise CommandFailure(f"{failures} of {number} records were not delivered")


async def _lines(descriptor: int, *, prompt: bool) -> AsyncIterator[list[bytes]]:
    """Whole lines as they come in: a pipe that is slow is not waited for, one that is fast is read in large pieces."""
    loop = asyncio.get_running_loop()
    rest = b""
    while True:
        if prompt:
            sys.stdout.write(">")
            sys.stdout.flush()
        data = await loop.run_in_executor(None, os.read, descriptor, _READ_BYTES)
        if not data:
            if rest:
                yield [rest]
            return
        *lines, rest = (rest + data).split(b"\n")
        yield [line.removesuffix(b"\r") for line in lines]
