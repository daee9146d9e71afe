"""Spark Connect: source, sink and exactly_once_batch in a session that is remote to its driver."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyspark
import pytest
from support.filled_topics import FilledTopics, committed_values

from tidelog.testing.broker_thread import BrokerThread

JOB = Path(__file__).parents[2] / "support" / "spark_connect_job.py"
JOB_SECONDS = 400

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark-drivers"),
    pytest.mark.timeout(500),
    pytest.mark.skipif(pyspark.__version__ < "4", reason="pyspark brings the server of Spark Connect since 4.0"),
    pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio"),
]


def test_source_sink_and_exactly_once_batch_work_remotely(
    broker: BrokerThread, topics: FilledTopics, tmp_path: Path
) -> None:
    source, target, counts = topics.create(partitions=2), topics.create(), topics.create()
    values = [f"v{number % 7}-" for number in range(40)]
    topics.fill(source, values[:25], partition=0)
    topics.fill(source, values[25:], partition=1)

    done = subprocess.run(
        [sys.executable, str(JOB), broker.bootstrap_servers, source, target, counts, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=JOB_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-5000:]
    assert done.stdout.splitlines()[-2:] == ["refused: True", "rows: 40"]
    assert sorted(committed_values(broker.bootstrap_servers, target)) == sorted(values)
    expected = [f"{value}{count}" for value, count in Counter(values).items()]
    assert sorted(committed_values(broker.bootstrap_servers, counts)) == sorted(expected)
