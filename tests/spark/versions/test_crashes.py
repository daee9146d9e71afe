"""The driver dies, and the next one goes on: every row arrives once, through both entrances into the sink.

What is behind the entrances does not depend on Spark, and dies at every point on the newest version. On the others the
driver dies once before a transaction is decided and once after.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest
from support.sink_crash_points import DRIVER_CRASH_POINTS
from support.sink_runs import Input, create_topic, sink_run, watching

from tidelog.spark.session.java import find_java
from tidelog.testing.broker_thread import BrokerThread

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark-drivers"),
    pytest.mark.timeout(1500),
    pytest.mark.skipif(find_java(dict(os.environ)) is None, reason="Spark needs Java 17 or newer"),
]

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
NEWEST = (4, 3)
SOME_POINTS = ("after-half-of-the-batches", "after-end-txn")
COMMITTED_FROM = DRIVER_CRASH_POINTS.index("after-end-txn")
MASTERS = ("local[2]", "local[3]", "local[1]")
COUNTS = ("--counts", "--foreach-batch")


def die(servers: str, directory: Path, points: tuple[str, ...], flags: tuple[str, ...]) -> None:
    source = Input(directory / "input", len(points) + 1)
    expected = source.expected_counts if "--counts" in flags else source.expected
    options = {"topic": "out", "kafka.batch.size": "200", "kafka.bootstrap.servers": servers}
    create_topic(servers, "out")
    with watching(servers, "out") as watcher:
        for number, point in enumerate(points):
            with sink_run(
                directory,
                point,
                master=MASTERS[number % len(MASTERS)],
                source=source,
                options={**options, "inlineBytes": str(100_000 * (number % 2))},
                halt_at=f"{point}:{number}",
                flags=flags,
            ) as run:
                run.wait_until_halted()
                run.kill()
            visible = number + (DRIVER_CRASH_POINTS.index(point) >= COMMITTED_FROM)
            watcher.expect(expected(visible), what=f"what is visible after a death {point}", in_order=False)
        with sink_run(directory, "last", master="local[2]", source=source, options=options, flags=flags) as run:
            run.wait_until_done()
        watcher.expect(expected(len(points) + 1), what="what is visible in the end", in_order=False)
    assert not list((directory / "checkpoint" / "tidelog-staging").iterdir()), "staged files are left behind"


def test_scenario_25_every_update_arrives_once_wherever_the_driver_dies(tmp_path: Path) -> None:
    points = DRIVER_CRASH_POINTS if VERSION >= NEWEST else SOME_POINTS
    with BrokerThread(data_dir=str(tmp_path / "data")) as broker:
        die(broker.bootstrap_servers, tmp_path, points, COUNTS)


@pytest.mark.skipif(
    VERSION < (4, 0) or VERSION >= NEWEST,
    reason="Spark 3.5 has no data sources in Python; for the newest Spark see test_sink_crashes",
)
def test_scenario_25_every_row_arrives_once_through_the_data_source(tmp_path: Path) -> None:
    with BrokerThread(data_dir=str(tmp_path / "data")) as broker:
        die(broker.bootstrap_servers, tmp_path, SOME_POINTS, ())
