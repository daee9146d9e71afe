"""What a running query tells about itself, made into what people want to know; and how it is shown.

On a terminal one line is kept up to date. Elsewhere (a log file, spark-submit) every batch with rows prints one line.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tidelog.model.ids import TopicPartition
from tidelog.spark.source.progress import source_lag


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
    partition_lag: Mapping[TopicPartition, int] = field(default_factory=dict)
    # Of the record batches that were written; None where the target does not tell.
    bytes_written: int | None = None


@dataclass(slots=True)
class Totals:
    batches: int = 0
    rows: int = 0
    last: BatchReport | None = None

    def add(self, report: BatchReport) -> bool:
        """Whether this one is news: Spark repeats the last batch while it waits for rows.

        A query that finds nothing when it is started reports an empty batch, and later rows under the same number.
        """
        last = self.last
        if last is not None and (report.batch, report.rows > 0) <= (last.batch, last.rows > 0):
            return False
        if last is None or report.batch > last.batch:
            self.batches += 1
        self.rows += report.rows
        self.last = report
        return True


def read_report(progress: Mapping[str, Any]) -> BatchReport:
    """From Spark's StreamingQueryProgress, as a dictionary."""
    durations = progress.get("durationMs") or {}
    lags = [known for source in progress.get("sources") or () if (known := source_lag(source)) is not None]
    behind = {partition: number for known in lags for partition, number in known.items()}
    # What the sink says in its metrics (`tidelog.spark.session.query_progress`).
    written = str(((progress.get("sink") or {}).get("metrics") or {}).get("bytes"))
    return BatchReport(
        batch=int(progress["batchId"]),
        rows=int(progress.get("numInputRows") or 0),
        rows_per_second=_number(progress.get("processedRowsPerSecond")),
        seconds=_number(durations.get("triggerExecution")) / 1000,
        write_seconds=_number(durations.get("addBatch")) / 1000,
        lag=sum(behind.values()) if lags else None,
        partition_lag=behind,
        bytes_written=int(written) if written.isdigit() else None,
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

    def tell(self, text: str) -> None:
        """Something that should still be there when the next line comes."""
        if self._live is not None:
            self._live.console.print(Text(f"{self._name}: {text}"), soft_wrap=True)
        else:
            self.say(text)

    def show(self, progress: Mapping[str, Any]) -> BatchReport | None:
        """Returns the report if it is news."""
        report = read_report(progress)
        if not self.totals.add(report):
            return None
        if report.rows or self._live is not None:
            self.say(describe(report, self.totals))
        return report


def _number(value: Any) -> float:
    """Spark writes NaN and Infinity as text, and leaves out what it does not know."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0
