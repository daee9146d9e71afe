"""tidelog's client beside other libraries: records per second through the public interface of each, on one server.

The work is in `client_work.py`. Every library gets the same settings and a process of its own; a slow one gets fewer
records, so that all take about as long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.comparison.client_work import PARTITIONS, Rate
from benchmarks.comparison.contestants import Server
from benchmarks.comparison.figures import PLAIN, TIDELOG, Figure
from benchmarks.comparison.librdkafka import create_topic, produce
from benchmarks.comparison.scenario import Library, Measured, Scenario, Turn
from tidelog.records.implementation import SWITCH

SIZES = (100, 1024)
WORKS = ("produce", "consume", "consume in lists")
VARIANTS = ("asyncio", "sync")
GOALS = {"confluent-kafka": 0.7, "aiokafka": 3.0, "kafka-python": 3.0}
RECORDS = 600_000
FEWER_RECORDS = {"aiokafka": 100_000, "kafka-python": 40_000}
TIMEOUT_SECONDS = 300

_OURS = tuple(Library(name=f"tidelog {variant}", side=TIDELOG) for variant in VARIANTS)
_PLAIN = tuple(Library(name=ours.name, side=PLAIN, environment={SWITCH: "1"}) for ours in _OURS)
_OTHERS = tuple(Library(name=name, side=name) for name in GOALS)


def scenarios() -> Iterator[Scenario]:
    for size in SIZES:
        yield Scenario(
            name=f"clients-{size}B",
            figures=tuple(_figures(size)),
            measure=lambda turn, size=size: _measure(turn, size),  # type: ignore[misc]
            libraries=(*_OURS, *_OTHERS, *_PLAIN),
            # Each library warms itself up, in its own process.
            warm_up_rounds=0,
            quick=size == SIZES[0],
        )


def _figures(size: int) -> Iterator[Figure]:
    for work in WORKS:
        for variant in VARIANTS:
            for other, goal in GOALS.items():
                name = _rate_name(work, size, variant, other)
                yield Figure(name=name, unit="records/s", goal=goal, compared_with=other)
            name = _cpu_name(work, size, variant)
            yield Figure(name=name, unit="µs", more_is_better=False, compared_with="confluent-kafka")


def _rate_name(work: str, size: int, variant: str, other: str) -> str:
    return f"client {work}, {size} B, {variant}, beside {other}"


def _cpu_name(work: str, size: int, variant: str) -> str:
    return f"client CPU per record, {work}, {size} B, {variant}"


def _measure(turn: Turn, size: int) -> Measured:
    library = turn.library
    count = turn.scaled(FEWER_RECORDS.get(library.name, RECORDS))
    filled = _filled_topic(turn.server, size, turn.scaled(RECORDS))
    measured: dict[str, float] = {}
    for work in WORKS:
        topic = filled
        if work == "produce":
            topic = f"{turn.label}-{library.name}-{library.side}".replace(" ", "-").replace(",", "")
            create_topic(turn.server, topic, partitions=PARTITIONS)
        rate = _work(library, work, turn.server, topic, count, size)
        for variant in VARIANTS if library in _OTHERS else (library.name.removeprefix("tidelog "),):
            for other in GOALS if library not in _OTHERS else (library.name,):
                measured[_rate_name(work, size, variant, other)] = rate.records_per_second
            if library not in _OTHERS or library.name == "confluent-kafka":
                measured[_cpu_name(work, size, variant)] = rate.cpu_microseconds
    return measured


def _work(library: Library, work: str, server: Server, topic: str, count: int, size: int) -> Rate:
    command = [sys.executable, "-m", "benchmarks.comparison.client_work", work, library.name]
    done = subprocess.run(
        [*command, server.bootstrap_servers, topic, str(count), str(size)],
        env={**os.environ, **library.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{library.name} ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return Rate(*map(float, done.stdout.split()))


_filled: dict[tuple[str, int], str] = {}


def _filled_topic(server: Server, size: int, count: int) -> str:
    """What all of them read; made once on each server."""
    key = (server.bootstrap_servers, size)
    if key not in _filled:
        topic = f"to-read-{size}"
        create_topic(server, topic, partitions=PARTITIONS)
        # Batches as large as those that the libraries send.
        produce(server, topic, size=size, count=count, options={"batch.size": 64 * 1024})
        _filled[key] = topic
    return _filled[key]
