"""How the broker's log lines look: for people by default, one JSON object a line for programs."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime

from tidelog.server.observability.log_throttle import LogThrottle

# Kafka's own name for the log of leadership changes, which people search for.
STATE_CHANGE_LOGGER = "state.change.logger"

# What must never happen but does no harm beyond itself, such as a wake-up that got lost. The simulation takes every
# line for a violation; on a real broker each is worth a report.
INVARIANT_LOGGER = "tidelog.invariants"

# Kafka's own name for the log of decisions about access.
AUTHORIZER_LOGGER = "kafka.authorizer.logger"

# Below DEBUG, as in Kafka. Python has no name for it.
TRACE = 5

FORMATS = ("text", "json")


class TextFormatter(logging.Formatter):
    """Kafka's layout: [2023-11-17 00:29:12,210] INFO message (logger)."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%d %H:%M:%S")
        line = f"[{moment},{int(record.msecs):03d}] {record.levelname} {record.getMessage()} ({record.name})"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


def configure(level: str = "INFO", layout: str = "text") -> None:
    """Send the log to standard error. Raises ValueError that names a level or layout that does not exist."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"unknown log level {level!r}; it must be DEBUG, INFO, WARNING or ERROR")
    if layout not in FORMATS:
        raise ValueError(f"unknown log format {layout!r}; it must be one of {', '.join(FORMATS)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter() if layout == "text" else JsonFormatter())
    handler.addFilter(LogThrottle(time.monotonic, handler.emit))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(number)
