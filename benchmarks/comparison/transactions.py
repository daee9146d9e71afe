"""Transactions one after the other, small and large, with librdkafka."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial

from confluent_kafka import Producer

from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import TIMEOUT_SECONDS, create_topic
from benchmarks.comparison.scenario import Measured, Scenario, Turn

VALUE = b"x" * 100
# Records of a transaction, and how many transactions are measured.
SIZES = {1: 300, 100: 200, 2_000: 100}
GOAL = 1.5
WARM_UP = 20


def scenarios() -> Iterator[Scenario]:
    yield scenario(SIZES, nodes=1, title="", quick=True)


def scenario(sizes: Mapping[int, int], *, nodes: int, title: str, quick: bool) -> Scenario:
    figures = {
        records: Figure(
            name=f"transactions of {records:,} record{'s' if records > 1 else ''}{title}", unit="/s", goal=GOAL
        )
        for records in sizes
    }
    return Scenario(
        name=f"transactions-{nodes}",
        figures=tuple(figures.values()),
        measure=partial(_measure, figures, sizes),
        nodes=nodes,
        quick=quick,
        plain=nodes == 1,
    )


def _measure(figures: Mapping[int, Figure], sizes: Mapping[int, int], turn: Turn) -> Measured:
    create_topic(turn.server, turn.label)
    return {
        figures[records].name: _rate(turn, records, turn.scaled(transactions))
        for records, transactions in sizes.items()
    }


def _rate(turn: Turn, records: int, transactions: int) -> float:
    producer = Producer(
        {
            "bootstrap.servers": turn.server.bootstrap_servers,
            "transactional.id": f"{turn.label}-{records}",
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    started = 0.0
    for number in range(WARM_UP + transactions):
        if number == WARM_UP:
            started = time.perf_counter()
        producer.begin_transaction()
        for _ in range(records):
            producer.produce(turn.label, VALUE)
        producer.commit_transaction(TIMEOUT_SECONDS)
    return transactions / (time.perf_counter() - started)
