"""What is loaded before workers are forked must not have started a thread."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

_LOOK = """
import os, sys
from tidelog.spark.daemon import load
load()
loaded = {"numpy", "pandas", "pyarrow", "tidelog.spark.sink.encode"} & sys.modules.keys()
print(len(os.listdir("/proc/self/task")), sorted(loaded))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted with Linux's /proc")
@pytest.mark.parametrize(
    ("threads_of_a_task", "loaded"), [("1", "['numpy', 'pandas', 'pyarrow', 'tidelog.spark.sink.encode']"), ("2", "[]")]
)
def test_loading_the_daemon_starts_no_thread(threads_of_a_task: str, loaded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOOK],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": threads_of_a_task},
    )

    assert done.stdout.split(maxsplit=1) == ["1", f"{loaded}\n"]


def test_workers_are_forked_with_the_client_in_them(spark: SparkSession) -> None:
    def loaded(batches: Iterator[Any]) -> Iterator[Any]:
        import sys

        import pyarrow as pa

        found = {"tidelog.client.producer.producer", "tidelog.spark.sink.encode"} <= sys.modules.keys()
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"found": [found]})

    rows = spark.range(1).mapInArrow(loaded, "found boolean").collect()

    assert {row.found for row in rows} == {True}


def test_garbage_collections_of_workers_leave_out_what_is_loaded(spark: SparkSession) -> None:
    def objects(batches: Iterator[Any]) -> Iterator[Any]:
        import gc

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"collected": [len(gc.get_objects())], "kept": [gc.get_freeze_count()]})

    (row,) = spark.range(1).coalesce(1).mapInArrow(objects, "collected long, kept long").collect()

    assert row.kept > 50_000
    assert row.collected < row.kept / 2
