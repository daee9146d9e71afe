"""What a running query tells about itself, made into what people want to know; and how it is shown.

On a terminal one line is kept up to date. Elsewhere (a log file, spark-submit) every batch with rows prints one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tidelog.spark.source_offsets import offsets_from_json
from tidelog.spark.source_ranges import lag


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
    waiting = "" if report.lag is None else f" · lag {report.lag:,}"
    return (
        f"batch {report.batch} · {report.rows:,} rows · {report.rows_per_second:,.0f} rows/s · "
        f"took {report.seconds:.2f} s (writing {report.write_seconds:.2f} s){waiting} · {totals.rows:,} rows in all"
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
    """Of all sources whose offsets are those of topics."""
    lags = []
    for source in sources:
        # Spark gives offsets as JSON inside of a text; other sources have other shapes.
        with suppress(ValueError, TypeError, AttributeError):
            end, latest = (_parsed(source.get(name)) for name in ("endOffset", "latestOffset"))
            lags.append(sum(lag(offsets_from_json(end), offsets_from_json(latest)).values()))
    return sum(lags) if lags else None


def _parsed(offsets: Any) -> Any:
    return json.loads(offsets) if isinstance(offsets, str) else offsets
