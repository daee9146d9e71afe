"""The sink's distributed commit beside the driver's way and Spark's connector: rows/s on two executors, in turns.

Executors, driver and broker share this machine. On two cores they share all of its work as well, and what the driver
saves is only worth what the others can use: the ratio grows with the number of cores.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.broker_process import broker
from benchmarks.spark import OURS, THEIRS, Row, SparkBench, create_topic
from tidelog.spark.session.session import spark_session

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.download_cache import Unavailable
from support.spark_connector import connector_jars

TURNS = 2
BATCHES = 4
ROWS_PER_BATCH = 400_000
RATIO_GOAL = 1.5
EXECUTORS = 2

DRIVER, PREPARED, CONNECTOR = "through the driver", "prepared by tasks", "Spark's connector, at least once"
_WAYS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    DRIVER: (OURS, {}),
    PREPARED: (OURS, {"atomicity": "prepared"}),
    CONNECTOR: (THEIRS, {}),
}
_SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}


def run() -> Iterator[Row]:
    jars: list[Path] = []
    try:
        jars = connector_jars()
    except Unavailable as problem:
        yield ("Spark's own connector", f"cannot be had: {problem}", "")
    ways = {label: way for label, way in _WAYS.items() if jars or way[0] == OURS}
    settings = {**_SETTINGS, "spark.jars": ",".join(map(str, jars))}
    prepared = ("--override", "transaction.two.phase.commit.enable=true")
    with broker(None, *prepared) as server, tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        spark = spark_session(
            "benchmark", master=f"local-cluster[{EXECUTORS},1,1024]", settings=settings, driver_memory="512m"
        )
        try:
            bench = SparkBench(spark, server.bootstrap_servers, Path(folder), (OURS,), "")
            files = Path(folder) / "input"
            bench.write_files(files, batches=BATCHES, rows_per_batch=ROWS_PER_BATCH)
            rates: dict[str, list[float]] = {label: [] for label in ways}
            for turn in range(TURNS):
                for number, (label, (connector, options)) in enumerate(ways.items()):
                    target = f"written-{number}-{turn}"
                    create_topic(server.bootstrap_servers, target)
                    rates[label] += bench.write(connector, files, target, options)
        finally:
            spark.stop()
    typical = {label: statistics.median(values) for label, values in rates.items()}
    for label, rate in typical.items():
        yield (f"sink on {EXECUTORS} executors, {os.cpu_count()} cores: {label}", f"{rate:,.0f} rows/s", "")
    for label in (DRIVER, CONNECTOR):
        if label in typical:
            ratio = typical[PREPARED] / typical[label]
            yield (f"sink: {PREPARED} / {label}", f"{ratio:.2f}", f">= {RATIO_GOAL}")
