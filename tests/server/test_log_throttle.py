from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from support.processes import HANG_SECONDS

from tidelog.server.observability import log_throttle
from tidelog.server.observability.log_throttle import SHOWN, SHOWN_TOGETHER, WINDOW_SECONDS, LogThrottle


class Log(logging.Handler):
    """What an operator sees."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.lines: list[str] = []
        self.addFilter(LogThrottle(lambda: self.now, self.emit))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def say(self, message: str, *values: Any, name: str = "tidelog.server.x", level: int = logging.WARNING) -> None:
        self.handle(logging.LogRecord(name, level, "x.py", 1, message, values, None))


def test_repeated_lines_are_shown_a_few_times_and_then_counted() -> None:
    log = Log()
    for number in range(790):
        log.say("%s cannot be written to: %s", f"__consumer_offsets-{number % 7}", "NOT_ENOUGH_REPLICAS")
        log.now += WINDOW_SECONDS / 800
    assert len(log.lines) == SHOWN
    log.now = WINDOW_SECONDS
    log.say("something else")
    assert log.lines[SHOWN:] == [
        "__consumer_offsets-5 cannot be written to: NOT_ENOUGH_REPLICAS (this or similar 790 times in the last minute)",
        "something else",
    ]


def test_other_lines_are_not_held_up_and_the_next_minute_begins_afresh() -> None:
    log = Log()
    for _ in range(50):
        log.say("the same")
    log.say("another one")
    log.now = WINDOW_SECONDS
    log.say("the same")
    assert log.lines.count("another one") == 1
    assert log.lines.count("the same") == SHOWN + 1


@pytest.mark.parametrize(
    ("name", "level"), [("tidelog.server.x", logging.INFO), ("tidelog.storage.recovery.recovery", logging.WARNING)]
)
def test_what_nobody_can_cause_at_will_is_always_shown(name: str, level: int) -> None:
    log = Log()
    for number in range(100):
        log.say("%d", number, name=name, level=level)
    assert len(log.lines) == 100


async def test_the_count_comes_also_if_nothing_else_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_throttle, "WINDOW_SECONDS", 0.01)
    log = Log()
    for _ in range(20):
        log.say("the same")
    log.now = 1.0
    async with asyncio.timeout(HANG_SECONDS):
        while len(log.lines) == SHOWN:
            await asyncio.sleep(0.005)
    assert log.lines[-1] == "the same (this or similar 20 times in the last minute)"


def test_lines_that_say_what_they_have_in_common_are_counted_together_whatever_they_say() -> None:
    log = Log()

    def denied(client: str, topic: int) -> None:
        record = logging.LogRecord("kafka.authorizer.logger", logging.INFO, "x.py", 1, "no %s", (topic,), None)
        record.throttled_as = client
        log.handle(record)

    for number in range(500):
        denied("User:mallory", number)
    assert len(log.lines) == SHOWN_TOGETHER
    denied("User:alice", 1)
    assert log.lines[-1] == "no 1"
    log.now = WINDOW_SECONDS
    log.say("something else")
    assert log.lines[-2] == "no 499 (this or similar 500 times in the last minute)"
