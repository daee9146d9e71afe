"""Small requests: what a broker does for each request counts here, not what it does for each byte."""

from __future__ import annotations

import time

from confluent_kafka import Producer

from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import create_topic, spending
from benchmarks.comparison.scenario import Measured, Scenario, Turn

CONNECTIONS = 16
PARTITIONS = 4
SECONDS = 4.0
VALUE = b"x" * 100

RATE = Figure(name=f"small requests, {CONNECTIONS} connections, one in flight each", unit="/s", goal=1.0)
CPU = Figure(name="broker CPU per small request", unit="µs", more_is_better=False, goal=1.0)


def scenarios() -> list[Scenario]:
    return [Scenario(name="small-requests", figures=(RATE, CPU), measure=_measure, quick=True, plain=True)]


def _measure(turn: Turn) -> Measured:
    create_topic(turn.server, turn.label, partitions=PARTITIONS)
    options = {"linger.ms": 0, "batch.num.messages": 1, "max.in.flight": 1, "acks": "all", "log_level": 0}
    producers = [Producer({**options, "bootstrap.servers": turn.server.bootstrap_servers}) for _ in range(CONNECTIONS)]
    for producer in producers:
        producer.produce(turn.label, VALUE)
    for producer in producers:
        if producer.flush(60):
            raise RuntimeError("the first records were not acknowledged within 60 s")
    answered = 0
    free = set(range(CONNECTIONS))
    problems: list[str] = []

    def report(number: int, error: object) -> None:
        nonlocal answered
        answered += 1
        free.add(number)
        if error is not None:
            problems.append(str(error))

    reports = [lambda error, _, number=number: report(number, error) for number in range(CONNECTIONS)]
    with spending(turn.server) as spent:
        end = time.perf_counter() + SECONDS * turn.scale
        while time.perf_counter() < end:
            for number, producer in enumerate(producers):
                producer.poll(0)
                if number in free:
                    free.remove(number)
                    producer.produce(turn.label, VALUE, on_delivery=reports[number])
        for producer in producers:
            producer.flush(60)
    if problems:
        raise RuntimeError(f"{len(problems)} requests failed: {problems[0]}")
    return {RATE.name: answered / spent.seconds, CPU.name: spent.cpu_seconds / answered * 1e6}
