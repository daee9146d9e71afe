"""How long a streaming query takes from `start()` to the end of its first micro-batch, in a session that has run none.

`python -m benchmarks.spark_start FORMAT SERVERS FROM TO JARS` prints the seconds; `benchmarks.spark` runs it, once for
each connector, so that both begin in a JVM of their own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from tidelog.spark.session.session import spark_session

_TIMEOUT_SECONDS = 180.0
_LOOK_SECONDS = 0.01


def measured(connector: str, servers: str, source: str, target: str, jars: Sequence[Path]) -> float:
    """In a process of its own."""
    command = (sys.executable, "-m", "benchmarks.spark_start", connector, servers, source, target)
    done = subprocess.run(
        (*command, ",".join(map(str, jars))), stdout=subprocess.PIPE, timeout=2 * _TIMEOUT_SECONDS, check=True
    )
    return float(done.stdout.split()[-1])


def main(connector: str, servers: str, source: str, target: str, jars: str) -> None:
    spark = spark_session(
        "start", master="local[2]", settings={"spark.log.level": "ERROR", **({"spark.jars": jars} if jars else {})}
    )
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        records = (
            spark.readStream.format(connector)
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .load()
        )
        writer = (
            records.select("key", "value")
            .writeStream.format(connector)
            .option("kafka.bootstrap.servers", servers)
            .option("topic", target)
            .option("checkpointLocation", folder)
        )
        started = time.perf_counter()
        query = writer.start()
        try:
            _wait_for_first_batch(query)
            print(time.perf_counter() - started)
        finally:
            query.stop()
    spark.stop()


def _wait_for_first_batch(query: StreamingQuery) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if any(progress.numInputRows for progress in query.recentProgress):
            return
        if not query.isActive:
            raise RuntimeError(str(query.exception()))
        time.sleep(_LOOK_SECONDS)
    raise TimeoutError("no batch has ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
