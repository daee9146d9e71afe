"""Log lines that clients or other nodes can cause at will: the first ones are shown, the rest are counted.

A client that asks nine times a second, or one that sends garbage, must not fill the log and hide what matters.
Lines are the same if they come from the same place in the code, whatever values they name; or, where whoever logs says
what they have in common (`throttled_as`), if that is the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tidelog.model.lazy_dataclasses import dataclass

WINDOW_SECONDS = 60.0
# So many of the same in a window are shown, the rest is counted.
SHOWN = 10
# Of those that say what they have in common, such as all that one client is denied.
SHOWN_TOGETHER = 100
# What happens on the disk or in the quorum cannot be caused at will, and each line of it counts.
THROTTLED = ("tidelog.server", "tidelog.network")


@dataclass(slots=True)
class _Window:
    started: float
    shown: int = 0
    hidden: int = 0
    last: logging.LogRecord | None = None


class LogThrottle(logging.Filter):
    """A filter for a handler; `emit` writes a line without asking it again. The clock counts seconds."""

    def __init__(self, clock: Callable[[], float], emit: Callable[[logging.LogRecord], object]) -> None:
        super().__init__()
        self._clock = clock
        self._emit = emit
        self._windows: dict[tuple[str, str], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        self._close_old(now)
        common = getattr(record, "throttled_as", None) if record.levelno >= logging.INFO else None
        if common is None and (record.levelno < logging.WARNING or not record.name.startswith(THROTTLED)):
            return True
        key = (record.name, str(record.msg) if common is None else common)
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(started=now)
        if window.shown < (SHOWN if common is None else SHOWN_TOGETHER):
            window.shown += 1
            return True
        if not window.hidden:
            self._look_again()
        window.hidden += 1
        window.last = record
        return False

    def _close_old(self, now: float) -> None:
        for key, window in list(self._windows.items()):
            if now - window.started < WINDOW_SECONDS:
                # In the order in which they began, so the others are younger.
                break
            del self._windows[key]
            if window.last is not None:
                self._emit(_summary(window.last, window.shown + window.hidden))

    def _look_again(self) -> None:
        """When the window closes, also if nothing is logged then."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # In a thread: the next line does it.
            return
        loop.call_later(WINDOW_SECONDS, lambda: self._close_old(self._clock()))


def _summary(last: logging.LogRecord, count: int) -> logging.LogRecord:
    text = f"{last.getMessage()} (this or similar {count} times in the last minute)"
    return logging.LogRecord(last.name, last.levelno, last.pathname, last.lineno, text, None, None)
