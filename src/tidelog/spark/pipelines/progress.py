"""What a running query tells about itself, made into what people want to know; and how it is shown.

On a terminal one line is kept up to date. Elsewhere (a log file, spark-submit) every batch with rows prints one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """One micro-batch. `lag` is how many records were waiting when it ended; None where the source does not tell."""

    batch: int
    rows: int
    rows_per_second: float
    seconds: float
    # Running the tasks and committing at the target.
    write_seconds: float
    lag: int | None


@dataclass(slots=True)
class Totals:
    batches: int = 0
    rows: int = 0
    last: BatchReport | None = None

    def add(self, report: BatchReport) -> bool:
        """Whether this one is news: Spark repeats the last batch while it waits for rows."""
        if self.last is not None and report.batch <= self.last.batch:
            return False
        self.batches += 1
        self.rows += report.rows
        self.last = report
        return True


def read_report(progress: Mapping[str, Any]) -> BatchReport:
    """From Spark's StreamingQueryProgress, as a dictionary."""
    durations = progress.get("durationMs") or {}
    return BatchReport(
        batch=int(progress["batchId"]),
        rows=int(progress.get("numInputRows") or 0),
        rows_per_second=_number(progress.get("processedRowsPerSecond")),
        seconds=_number(durations.get("triggerExecution")) / 1000,
        write_seconds=_number(durations.get("addBatch")) / 1000,
        lag=_lag(progress.get("sources") or ()),
    )


def describe(report: BatchReport, totals: Totals) -> str:
    lag = "" if report.lag is None else f" · lag {report.lag:,}"
    return (
        f"batch {report.batch} · {report.rows:,} rows · {report.rows_per_second:,.0f} rows/s · "
        f"took {report.seconds:.2f} s (writing {report.write_seconds:.2f} s){lag} · {totals.rows:,} rows in all"
    )


class Display:
    """Shows reports as they come. Use as a context: the terminal is given back at its end."""

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        self._name = name
        self._console = Console(file=stream or sys.stderr, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        self.totals = Totals()

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
            self.say("starting")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        line = Text(f"{self._name}: {text}", no_wrap=self._live is not None, overflow="ellipsis")
        if self._live is not None:
            self._live.update(line, refresh=True)
        else:
            self._console.print(line, soft_wrap=True)

    def show(self, progress: Mapping[str, Any]) -> None:
        report = read_report(progress)
        if self.totals.add(report) and (report.rows or self._live is not None):
            self.say(describe(report, self.totals))


def _number(value: Any) -> float:
    """Spark writes NaN and Infinity as text, and leaves out what it does not know."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if number == number and abs(number) != float("inf") else 0.0


def _lag(sources: Iterable[Mapping[str, Any]]) -> int | None:
    lags = []
    for source in sources:
        end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        if isinstance(end, Mapping) and isinstance(latest, Mapping):
            lags.append(_distance(end, latest))
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known else None


def _offsets(value: Any) -> Any:
    """Spark gives them as JSON inside of a text."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _distance(end: Mapping[str, Any], latest: Mapping[str, Any]) -> int | None:
    """Offsets are by topic and partition; other sources have other shapes."""
    distance = 0
    for topic, partitions in latest.items():
        if not isinstance(partitions, Mapping):
            return None
        done = end.get(topic, {})
        for partition, offset in partitions.items():
            distance += max(0, int(offset) - int(done.get(partition, 0)))
    return distance
