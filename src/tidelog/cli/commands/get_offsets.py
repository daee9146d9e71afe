"""`tidelog get-offsets`: the offsets of partitions at a time, in the lines of Kafka's kafka-get-offsets."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.session import run
from tidelog.cli.topic_selection import compile_pattern, partitions_of
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)

_TIMES = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}
_PATTERN = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")

Filter = Callable[[TopicPartition], bool]


@with_groups
def get_offsets(
    topic: Annotated[
        str | None, typer.Option("--topic", help="The topic, or a regular expression. All topics if left out.")
    ] = None,
    partitions: Annotated[
        str | None, typer.Option("--partitions", metavar="0,1,...", help="Only partitions with these numbers.")
    ] = None,
    topic_partitions: Annotated[
        str | None,
        typer.Option(
            "--topic-partitions",
            metavar="PATTERN,...",
            help="Patterns topic:partition, topic:0-3, topic:5-, topic:-3 (the upper number is not included).",
        ),
    ] = None,
    time: Annotated[
        str,
        typer.Option(
            "--time", help="A timestamp in ms, or -1/latest, -2/earliest, -3/max-timestamp, -4/earliest-local."
        ),
    ] = "latest",
    exclude_internal: Annotated[
        bool, typer.Option("--exclude-internal-topics", help="Leave out internal topics.")
    ] = False,
    *,
    cluster: ClusterOptions,
) -> None:
    """Show the offset that each partition has at a time: topic:partition:offset.

    \b
    Examples:
      tidelog get-offsets --topic orders
      tidelog get-offsets --topic orders --time earliest
      tidelog get-offsets --topic-partitions 'orders:0-2,payments' --time 1700000000000
    """
    if topic_partitions is not None and (topic is not None or partitions is not None):
        raise typer.BadParameter("--topic-partitions cannot be combined with --topic and --partitions")
    wanted = _by_patterns(topic_partitions) if topic_partitions is not None else _by_topic(topic, partitions)
    run(_show(cluster, wanted, _parse_time(time), not exclude_internal))


def _parse_time(text: str) -> int:
    if text.lower() in _TIMES:
        return _TIMES[text.lower()]
    try:
        number = int(text)
    except ValueError:
        number = EARLIEST_PENDING_UPLOAD - 1
    if number < EARLIEST_PENDING_UPLOAD:
        known = ", ".join(_TIMES)
        raise typer.BadParameter(f"{text!r} is neither a timestamp in ms nor one of {known}", param_hint="--time")
    return number


def _by_topic(topic: str | None, partitions: str | None) -> Filter:
    expression = compile_pattern(topic if topic is not None else ".*", "--topic")
    try:
        numbers = None if partitions is None else {int(number) for number in partitions.split(",")}
    except ValueError:
        raise typer.BadParameter(
            f"{partitions!r} is not a list of numbers such as 0,1", param_hint="--partitions"
        ) from None
    return lambda partition: (
        bool(expression.fullmatch(partition.topic)) and (numbers is None or partition.partition in numbers)
    )


def _by_patterns(text: str) -> Filter:
    filters: list[Filter] = []
    for pattern in text.split(","):
        match = _PATTERN.fullmatch(pattern)
        if match is None:
            raise typer.BadParameter(f"{pattern!r} is not of the form topic:partition", param_hint="--topic-partitions")
        topic, number, low, high = match.groups()
        expression = compile_pattern(topic or ".*", "--topic-partitions")
        first = int(number or low or 0)
        end = int(number) + 1 if number else int(high) if high else None
        filters.append(_in_range(expression, first, end))
    return lambda partition: any(matches(partition) for matches in filters)


def _in_range(expression: re.Pattern[str], first: int, end: int | None) -> Filter:
    return lambda partition: (
        bool(expression.fullmatch(partition.topic))
        and partition.partition >= first
        and (end is None or partition.partition < end)
    )


async def _show(cluster: ClusterOptions, wanted: Filter, time: int, internal: bool) -> None:
    async with cluster.admin() as admin:
        names = [topic.name for topic in await admin.list_topics(internal=internal)]
        partitions = [partition for partition in await partitions_of(admin, names) if wanted(partition)]
        if not partitions:
            raise CommandFailure("no partition matches; `tidelog topics --list` shows the topics that exist")
        found = await admin.list_offsets(dict.fromkeys(partitions, time))
    offsets: dict[TopicPartition, int] = {}
    failed: list[TopicPartition] = []
    for partition in partitions:
        result = found[partition]
        if isinstance(result, ApiError):
            sys.stderr.write(f"tidelog: no offset for {partition}: {result}\n")
            failed.append(partition)
        elif result.offset >= 0:
            offsets[partition] = result.offset
    cluster.show(
        [{"topic": part.topic, "partition": part.partition, "offset": offset} for part, offset in offsets.items()],
        (f"{part.topic}:{part.partition}:{offset}" for part, offset in offsets.items()),
    )
    if failed:
        raise CommandFailure(f"{len(failed)} of {len(partitions)} partitions could not be listed")
