"""`tidelog consume`: prints records, with the options of Kafka's console consumer."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.properties import split_properties
from tidelog.cli.record_format import Formatter, InvalidFormat, json_variant, make_formatter
from tidelog.cli.session import BootstrapServer, Json, client_properties, run
from tidelog.cli.topic_selection import compile_pattern
from tidelog.client.admin import Admin
from tidelog.client.config import Options, options_of_any_client
from tidelog.client.consumer import Consumer
from tidelog.client.options import CONSUMER_OPTIONS
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

# How long one poll waits, so that time limits are looked at often enough.
_POLL_MS = 500


def consume(
    topic: Annotated[str | None, typer.Option("--topic", help="The topic to read.")] = None,
    include: Annotated[
        str | None, typer.Option("--include", "--whitelist", help="Read all topics that match this expression.")
    ] = None,
    bootstrap_server: BootstrapServer = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start with the first record, unless the group has an offset.")
    ] = False,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Read only this partition.")] = None,
    offset: Annotated[
        str | None, typer.Option("--offset", help="With --partition: where to start: a number, earliest or latest.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Read as a member of this group, and commit offsets.")
    ] = None,
    isolation_level: Annotated[
        str,
        typer.Option(
            "--isolation-level", help="read_uncommitted, or read_committed, which leaves out aborted records."
        ),
    ] = "read_uncommitted",
    max_messages: Annotated[
        int | None, typer.Option("--max-messages", min=1, help="Stop after this many records.")
    ] = None,
    timeout_ms: Annotated[
        int | None, typer.Option("--timeout-ms", min=1, help="Stop when no record arrives for this long.")
    ] = None,
    formatter_property: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            "--formatter-property",
            metavar="NAME=VALUE",
            help="What is printed: print.key, print.value, print.timestamp, print.partition, print.offset, "
            "print.epoch, print.headers (true or false), key.separator, headers.separator, line.separator, "
            "null.literal. Repeatable.",
        ),
    ] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", help="Print keys, and this before values. Sets print.key=true.")
    ] = None,
    formatter: Annotated[
        str,
        typer.Option(
            "--formatter",
            help="How records are printed: default or json; for internal topics transaction-log, offsets or "
            "group-metadata. Kafka's class names work as well.",
        ),
    ] = "default",
    consumer_config: Annotated[
        Path | None,
        typer.Option(
            "--consumer.config", "--command-config", metavar="FILE", help="A file with properties of the consumer."
        ),
    ] = None,
    consumer_property: Annotated[
        list[str] | None,
        typer.Option(
            "--consumer-property",
            "--command-property",
            metavar="NAME=VALUE",
            help="A property of the consumer, such as fetch.max.wait.ms=100. Repeatable.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the records of a topic as they come. Press Ctrl-C to stop.

    \b
    Examples:
      tidelog consume --topic orders --from-beginning
      tidelog consume --topic orders --partition 0 --offset 42 --max-messages 10
      tidelog consume --topic orders --group billing --property print.key=true --property print.headers=true
      tidelog consume --topic orders --from-beginning --isolation-level read_committed --json
      tidelog consume --topic __transaction_state --from-beginning --formatter transaction-log
      tidelog consume --topic __consumer_offsets --from-beginning --formatter offsets
    """
    if (topic is None) == (include is None):
        raise typer.BadParameter("either --topic or --include is needed")
    if partition is None and offset is not None:
        raise typer.BadParameter("--offset needs --partition")
    if partition is not None and (group is not None or topic is None):
        raise typer.BadParameter("--partition needs --topic, and cannot be combined with --group")
    if partition is not None and from_beginning and offset is not None:
        raise typer.BadParameter("--from-beginning and --offset cannot be combined")
    properties = split_properties("--property", formatter_property or ())
    if key_separator is not None:
        properties |= {"print.key": "true", "key.separator": key_separator}
    try:
        chosen = make_formatter(json_variant(formatter) if as_json else formatter, properties)
    except InvalidFormat as error:
        raise typer.BadParameter(str(error), param_hint="--property, --formatter") from error
    options = {
        **client_properties(consumer_config, bootstrap_server, CONSUMER_OPTIONS),
        **split_properties("--consumer-property", consumer_property or ()),
        "isolation.level": isolation_level,
    }
    if group is not None:
        options["group.id"] = group
    if from_beginning:
        options["auto.offset.reset"] = "earliest"
    start = _parse_offset("earliest" if from_beginning and offset is None else offset or "latest")
    reading = _RecordReading(chosen, max_messages, timeout_ms)
    try:
        run(_consume(options, topic, include, partition, start, reading))
    except KeyboardInterrupt:
        # The usual end of a command that has none of its own.
        pass
    finally:
        sys.stderr.write(f"Processed a total of {reading.count} messages\n")


def _parse_offset(text: str) -> int | str:
    if text in ("earliest", "latest"):
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise typer.BadParameter(f"{text!r} is not a number, earliest or latest", param_hint="--offset")


@dataclass(slots=True)
class _RecordReading:
    """Prints what is read until there is a reason to stop."""

    formatter: Formatter
    max_messages: int | None
    timeout_ms: int | None
    count: int = 0

    async def read(self, consumer: Consumer) -> None:
        last_record = time.monotonic()
        write = sys.stdout.buffer.write
        while self.max_messages is None or self.count < self.max_messages:
            left = None if self.max_messages is None else min(self.max_messages - self.count, 500)
            records = await consumer.poll(timeout_ms=min(_POLL_MS, self.timeout_ms or _POLL_MS), max_records=left)
            for record in records:
                write(self.formatter(record))
            self.count += len(records)
            if records:
                sys.stdout.buffer.flush()
                last_record = time.monotonic()
            elif self.timeout_ms is not None and (time.monotonic() - last_record) * 1000 >= self.timeout_ms:
                return


async def _consume(
    options: Options,
    topic: str | None,
    include: str | None,
    partition: int | None,
    start: int | str,
    reading: _RecordReading,
) -> None:
    topics = [topic] if topic is not None else await _matching_topics(options, include or "")
    if partition is None:
        async with Consumer(*topics, config=options) as consumer:
            await reading.read(consumer)
        return
    assert topic is not None
    wanted = TopicPartition(topic, partition)
    async with Consumer(config=options) as consumer:
        known = await consumer.partitions_for(topic)
        if wanted not in known:
            raise CommandFailure(f"topic {topic!r} has the partitions 0 to {len(known) - 1}, not {partition}")
        consumer.assign([wanted])
        if isinstance(start, int):
            consumer.seek(wanted, start)
        elif start == "earliest":
            consumer.seek_to_beginning(wanted)
        else:
            consumer.seek_to_end(wanted)
        await reading.read(consumer)


async def _matching_topics(options: Options, pattern: str) -> list[str]:
    expression = compile_pattern(pattern, "--include")
    async with Admin(config=options_of_any_client(options)) as admin:
        names = [one.name for one in await admin.list_topics(internal=False) if expression.fullmatch(one.name)]
    if not names:
        raise CommandFailure(f"no topic matches {pattern!r}; `tidelog topics --list` shows those that exist")
    return names
