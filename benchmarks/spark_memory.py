"""How much memory a streaming job takes, from topic to topic, on one machine: the driver's JVM, and Python beside it.

`python -m benchmarks.spark_memory FORMAT SERVERS FROM TO JARS` prints both in MB; `benchmarks.spark` runs it, once
for each connector, so that both begin in a JVM of their own. With `local[2]` the driver does all the work.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import psutil

from tidelog.spark.session.session import spark_session

_TIMEOUT_SECONDS = 600
_ROWS_OF_A_BATCH = 300_000
_SAMPLE_SECONDS = 0.25


class Peak(NamedTuple):
    """The most memory that was resident, in MB."""

    jvm: float
    python: float


def measured(connector: str, servers: str, source: str, target: str, jars: Sequence[Path]) -> Peak:
    """In a process of its own."""
    command = (sys.executable, "-m", "benchmarks.spark_memory", connector, servers, source, target)
    done = subprocess.run(
        (*command, ",".join(map(str, jars))), stdout=subprocess.PIPE, timeout=2 * _TIMEOUT_SECONDS, check=True
    )
    return Peak(*map(float, done.stdout.split()[-2:]))


def main(connector: str, servers: str, source: str, target: str, jars: str) -> None:
    spark = spark_session(
        "memory", master="local[2]", settings={"spark.log.level": "ERROR", **({"spark.jars": jars} if jars else {})}
    )
    with _Sampling() as sampling, tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        records = (
            spark.readStream.format(connector)
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", _ROWS_OF_A_BATCH)
            .load()
        )
        query = (
            records.select("key", "value")
            .writeStream.format(connector)
            .option("kafka.bootstrap.servers", servers)
            .option("topic", target)
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        try:
            if not query.awaitTermination(_TIMEOUT_SECONDS):
                raise TimeoutError(f"the job did not end within {_TIMEOUT_SECONDS} s")
        finally:
            query.stop()
    spark.stop()
    print(*sampling.peak)


class _Sampling:
    """Looks now and then, on a thread of its own. Memory that processes share counts once."""

    def __init__(self) -> None:
        self._jvm = self._python = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_until_ended)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def peak(self) -> Peak:
        return Peak(self._jvm, self._python)

    def _look_until_ended(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            self._look()

    def _look(self) -> None:
        """At this process and at all that it has started."""
        jvm = python = 0.0
        this = psutil.Process()
        for process in (this, *this.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                used = process.memory_full_info().pss / 1e6
                if process.name() == "java":
                    jvm += used
                else:
                    python += used
        self._jvm, self._python = max(self._jvm, jvm), max(self._python, python)


if __name__ == "__main__":
    main(*sys.argv[1:])
