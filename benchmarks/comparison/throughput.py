"""Bytes per second in and out of one node, and the broker's CPU for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import Spent, consume, create_topic, produce
from benchmarks.comparison.scenario import Measured, Scenario, Turn

SIZES = {100: 800_000, 1024: 300_000, 10_240: 40_000}
MANY_PARTITIONS = 16
COUNT = 200_000
SIZE = 1024
# About 400 MB of records: in the page cache, in the queue of the producer, in that of the consumer.
TOUCHED_MEGABYTES = 1500


def scenarios() -> Iterator[Scenario]:
    for size, count in SIZES.items():
        yield _scenario(
            f"{size} B",
            goals=(1.5, 0.7, 1.1, 1.0),
            quick=True,
            size=size,
            count=count,
        )
    yield _scenario(
        f"{SIZE} B, {MANY_PARTITIONS} partitions", goals=(2, 0.7, 1.1, 1.0), quick=True, partitions=MANY_PARTITIONS
    )
    yield _scenario(f"{SIZE} B, lz4", goals=(1.2, None, None, None), options={"compression.type": "lz4"})
    yield _scenario(f"{SIZE} B, zstd", goals=(None, None, None, None), options={"compression.type": "zstd"})
    unsafe = {"acks": 1, "enable.idempotence": False}
    yield _scenario(f"{SIZE} B, acks=1", goals=(None, None, None, None), options=unsafe)


def _scenario(
    title: str,
    *,
    goals: tuple[float | None, float | None, float | None, float | None],
    quick: bool = False,
    size: int = SIZE,
    count: int = COUNT,
    partitions: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Scenario:
    """The goals: bytes per second in, CPU for them, bytes per second out, CPU for them."""
    figures = (
        Figure(name=f"produce, {title}", unit="MB/s", goal=goals[0]),
        Figure(name=f"broker CPU per GB in, {title}", unit="s", more_is_better=False, goal=goals[1]),
        Figure(name=f"consume, {title}", unit="MB/s", goal=goals[2]),
        Figure(name=f"broker CPU per GB out, {title}", unit="s", more_is_better=False, goal=goals[3]),
    )
    measure = partial(_measure, figures, size=size, count=count, partitions=partitions, options=options or {})
    return Scenario(
        name=_name(title),
        figures=figures,
        measure=measure,
        quick=quick,
        plain=True,
        empty=True,
        touched_megabytes=TOUCHED_MEGABYTES,
    )


def _name(title: str) -> str:
    return "throughput-" + title.replace(", ", "-").replace("=", "").replace(" ", "")


def _measure(
    figures: tuple[Figure, ...], turn: Turn, *, size: int, count: int, partitions: int, options: Mapping[str, Any]
) -> Measured:
    count = turn.scaled(count)
    create_topic(turn.server, turn.label, partitions=partitions)
    into = produce(turn.server, turn.label, size=size, count=count, options=options)
    out = consume(turn.server, turn.label, count=count, partitions=partitions)
    values = (*rates(into, size * count), *rates(out, size * count))
    return {figure.name: value for figure, value in zip(figures, values, strict=True)}


def rates(spent: Spent, size: int) -> tuple[float, float]:
    return size / 1e6 / spent.seconds, spent.cpu_seconds / (size / 1e9)
