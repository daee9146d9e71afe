"""The longest time that a producer waits for an acknowledgement when the leader of its partition is killed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Final

GIVE_UP_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.02
# Enough for a connection that works, and for one that has found the next leader.
RECORDS_BEFORE: Final = 100
RECORDS_AFTER: Final = 500


def longest_silence(bootstrap_servers: str, topic: str, kill: Callable[[], None]) -> float:
    """In seconds, of records that are sent every 20 ms with acks=all. Raises RuntimeError if one is not delivered.

    A client tries again after a pause of its own, which is part of what is measured.
    """
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap_servers, "acks": "all", "linger.ms": 0, "log_level": 0})
    acknowledged: list[float] = []
    problems: list[str] = []

    def report(error: object, _: object) -> None:
        if error is None:
            acknowledged.append(time.monotonic())
        else:
            problems.append(str(error))

    def send_until(count: int) -> None:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while len(acknowledged) < count and time.monotonic() < deadline:
            producer.produce(topic, b"x", on_delivery=report)
            producer.poll(PAUSE_SECONDS)

    send_until(RECORDS_BEFORE)
    killed_at = time.monotonic()
    kill()
    send_until(len(acknowledged) + RECORDS_AFTER)
    producer.flush(GIVE_UP_SECONDS)
    if problems:
        raise RuntimeError(f"{len(problems)} records were not delivered: {problems[0]}")
    times = [killed_at, *(each for each in acknowledged if each > killed_at)]
    if len(times) == 1:
        raise RuntimeError(f"nothing was acknowledged within {GIVE_UP_SECONDS:.0f} s of the kill")
    return max(after - before for before, after in itertools.pairwise(times))
