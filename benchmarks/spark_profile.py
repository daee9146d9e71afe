"""Where the time of a micro-batch goes: what is Spark's own, what its interface for Python costs, and what is ours.

`python -m benchmarks.spark_profile sink [ROWS]` runs the same micro-batches into the exactly-once sink, into one in
Python that only reads its rows, into Spark's `noop`, and with Spark's own connector, in turns. The difference between
the first two is ours. `python -m benchmarks.spark_profile start` lists the processes of a query's first micro-batch:
when each was started, and the processor time that it took.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from benchmarks import spark_start
from benchmarks.broker_process import broker
from benchmarks.spark import OURS, THEIRS, SparkBench, create_topic, fill
from tidelog.spark.session.session import spark_session

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.download_cache import Unavailable
from support.spark_connector import connector_jars

_BATCHES = 6
_TURNS = 2
_PYTHON_ONLY = "reads-only"
_LABELS = {OURS: "tidelog, exactly once", _PYTHON_ONLY: "Python, rows read only", "noop": "noop", THEIRS: "Spark's"}
_SAMPLE_SECONDS = 0.05


class ReadingSink(DataSource):
    """Takes all rows and does nothing with them."""

    @classmethod
    def name(cls) -> str:
        return _PYTHON_ONLY

    def streamWriter(self, schema: object, overwrite: bool) -> DataSourceStreamArrowWriter:
        return ReadingWriter()


class ReadingWriter(DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[object]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: object, batchId: int) -> None:
        """Nothing was written."""

    def abort(self, messages: object, batchId: int) -> None:
        """Nothing was written."""


def profile_sink(rows: int) -> None:
    jars = _jars()
    with broker() as server, tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        settings = {"spark.log.level": "ERROR", "spark.jars": ",".join(map(str, jars))}
        spark = spark_session("profile", master="local[2]", settings=settings)
        try:
            spark.dataSource.register(ReadingSink)
            ways = [way for way in _LABELS if jars or way != THEIRS]
            bench = SparkBench(spark, server.bootstrap_servers, Path(folder), tuple(ways), "")
            files = Path(folder, "input")
            bench.write_files(files, batches=_BATCHES, rows_per_batch=rows)
            times: dict[str, list[dict[str, int]]] = defaultdict(list)
            for turn in range(_TURNS + 1):
                for way in ways:
                    target = f"profiled-{way}-{turn}"
                    create_topic(server.bootstrap_servers, target)
                    measured = bench.durations(way, files, target, {})
                    # The first turn is for compilers and caches to get warm.
                    times[way] += measured if turn else []
        finally:
            spark.stop()
    print(f"{rows:,} rows a micro-batch, local[2], medians in ms")
    for way in ways:
        typical = {step: statistics.median(one.get(step, 0) for one in times[way]) for step in times[way][0]}
        whole = typical.pop("triggerExecution")
        typical.pop("numInputRows")
        steps = ", ".join(f"{step} {took:.0f}" for step, took in sorted(typical.items()))
        print(f"{_LABELS[way]:24} {whole:5.0f}: {steps}")


@dataclass(slots=True)
class _Seen:
    name: str
    started: float
    cpu: float = 0.0


def profile_start() -> None:
    with broker() as server:
        servers = server.bootstrap_servers
        create_topic(servers, "read-first")
        fill(servers, "read-first", 1_000)
        for name in (OURS, THEIRS) if _jars() else (OURS,):
            create_topic(servers, f"written-first-{name}")
            with _watching() as seen:
                seconds = spark_start.measured(name, servers, "read-first", f"written-first-{name}", _jars())
            print(f"{_LABELS[name]}: {seconds:.1f} s from start() to the end of the first micro-batch")
            first = min(one.started for one in seen.values())
            for one in sorted(seen.values(), key=lambda one: one.started):
                print(f"  {one.started - first:6.2f} s  {one.cpu:6.2f} s of a processor  {one.name}")


@contextlib.contextmanager
def _watching() -> Iterator[dict[int, _Seen]]:
    """All processes that are started below this one meanwhile; but for the last moment of each."""
    seen: dict[int, _Seen] = {}
    others = {process.pid for process in psutil.Process().children(recursive=True)}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if process.pid not in others:
                        one = seen.setdefault(process.pid, _Seen("", process.create_time()))
                        # One that has just ended has no command any more.
                        one.name = _called(process.cmdline()) or one.name
                        one.cpu = sum(process.cpu_times()[:2])

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def _called(command: Sequence[str]) -> str:
    """A Python process by its module, and by what it is asked to do there."""
    if "-m" in command:
        return " ".join(command[command.index("-m") + 1 :][:2])
    return Path(command[0]).name if command else ""


def _jars() -> list[Path]:
    try:
        return connector_jars()
    except Unavailable:
        return []


if __name__ == "__main__":
    if sys.argv[1:2] == ["start"]:
        profile_start()
    else:
        profile_sink(int(sys.argv[2]) if len(sys.argv) > 2 else 200_000)
