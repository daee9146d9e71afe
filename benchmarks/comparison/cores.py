"""Bytes per second in and out of one machine that uses one core or several: `tidelog up --cores`.

Several clients, each a process with partitions of its own: a single one would be what is measured. Apache Kafka is one
process in either case. On a machine with few cores the clients take from the brokers what they measure, so these
figures mean something only where there are twice as many cores as clients.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

from benchmarks.comparison.contestants import Server
from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import TIMEOUT_SECONDS, Sending, create_topic, read_all
from benchmarks.comparison.scenario import Measured, Scenario, Turn

CORES = (1, 2)
CLIENTS = 4
PARTITIONS = 8
RECORD = 1024
# Of each client.
RECORDS = 100_000
TOPIC = "cores"

_IN = {cores: Figure(name=f"produce, {CLIENTS} clients, --cores {cores}", unit="MB/s") for cores in CORES}
_OUT = {cores: Figure(name=f"consume, {CLIENTS} clients, --cores {cores}", unit="MB/s") for cores in CORES}


def scenarios() -> Iterator[Scenario]:
    figures = tuple(figure for cores in CORES for figure in (_IN[cores], _OUT[cores]))
    # Servers are started for each round, so there is nothing to warm up but what the clients do themselves.
    yield Scenario(name="cores", figures=figures, measure=_measure, nodes=0, warm_up_rounds=0)


def _measure(turn: Turn) -> Measured:
    count = turn.scaled(RECORDS)
    megabytes = CLIENTS * count * RECORD / 1e6
    measured: dict[str, float] = {}
    for cores in CORES:
        with turn.contestant.running(cores=cores) as server:
            create_topic(server, TOPIC, partitions=PARTITIONS)
            measured[_IN[cores].name] = megabytes / _seconds(server, count, reading=False)
            measured[_OUT[cores].name] = megabytes / _seconds(server, count, reading=True)
    return measured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    """What one process does, on partitions that no other one uses."""

    servers: str
    number: int
    count: int
    reading: bool

    def work(self, together: Barrier, report: Any) -> None:
        partitions = range(self.number, PARTITIONS, CLIENTS)
        if self.reading:
            together.wait(TIMEOUT_SECONDS)
            begun = time.time()
            read_all(self.servers, TOPIC, count=self.count, partitions=partitions)
        else:
            sending = Sending(self.servers, TOPIC, size=RECORD, partitions=partitions)
            together.wait(TIMEOUT_SECONDS)
            begun = time.time()
            sending.send(self.count)
        report.put((begun, time.time()))


def _seconds(server: Server, count: int, *, reading: bool) -> float:
    """From the first client's first record to the last client's last one."""
    # librdkafka's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    together, report = context.Barrier(CLIENTS), context.Queue()
    clients = [
        _Client(servers=server.bootstrap_servers, number=number, count=count, reading=reading)
        for number in range(CLIENTS)
    ]
    processes = [context.Process(target=client.work, args=(together, report), daemon=True) for client in clients]
    for process in processes:
        process.start()
    for process in processes:
        process.join(2 * TIMEOUT_SECONDS)
    codes = [process.exitcode for process in processes]
    if any(codes):
        raise RuntimeError(f"the clients ended with {codes}")
    spans = [report.get(timeout=TIMEOUT_SECONDS) for _ in processes]
    return float(max(end for _, end in spans) - min(begun for begun, _ in spans))
