"""Start, memory, and what a restart after kill -9 takes."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import create_topic, first_record, produce
from benchmarks.comparison.scenario import Measured, Scenario, Turn

# After the start; the JVM and the interpreter have settled by then.
IDLE_SECONDS = 3.0
LOAD_RECORDS = 300_000
RECORD = 1024
RESTART_BYTES = 10_000_000_000
RESTART_RECORD = 10_240

START = Figure(name="start to first produce", unit="s", more_is_better=False, goal=0.1)
IDLE = Figure(name="memory when idle", unit="MB", more_is_better=False, goal=0.15)
LOADED = Figure(name="memory after load", unit="MB", more_is_better=False, goal=0.07)
RESTART = Figure(name="restart after kill -9 with 10 GB, to first produce", unit="s", more_is_better=False)


def scenarios() -> list[Scenario]:
    start = Scenario(
        name="start",
        figures=(START, IDLE, LOADED),
        measure=_start,
        nodes=0,
        warm_up_rounds=0,
        quick=True,
        plain=True,
    )
    restart = Scenario(name="restart", figures=(RESTART,), measure=_restart, nodes=0, warm_up_rounds=0, rounds=1)
    return [start, restart]


def _start(turn: Turn) -> Measured:
    with turn.contestant.running() as server:
        first_record(server, "first")
        seconds = time.perf_counter() - server.started_at
        time.sleep(IDLE_SECONDS)
        idle = server.memory_megabytes()
        create_topic(server, "load")
        produce(server, "load", size=RECORD, count=turn.scaled(LOAD_RECORDS))
        return {START.name: seconds, IDLE.name: idle, LOADED.name: server.memory_megabytes()}


def _restart(turn: Turn) -> Measured:
    size = int(RESTART_BYTES * turn.scale)
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 1.4 * size:
        raise RuntimeError(f"the restart needs {1.4 * size / 1e9:.0f} GB of disk, only {free / 1e9:.0f} GB are free")
    directory = Path(tempfile.mkdtemp(prefix="tidelog-bench-"))
    try:
        with turn.contestant.running(directory=directory) as server:
            create_topic(server, "large")
            produce(server, "large", size=RESTART_RECORD, count=size // RESTART_RECORD)
            server.kill(1)
        with turn.contestant.running(directory=directory) as server:
            first_record(server, "large")
            return {RESTART.name: time.perf_counter() - server.started_at}
    finally:
        shutil.rmtree(directory, ignore_errors=True)
