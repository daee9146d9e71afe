"""The session that tests and local jobs get."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def test_spark_listens_on_loopback_only(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.ui.enabled") == "false"


def test_workers_run_on_the_python_of_the_driver(spark: SparkSession) -> None:
    def interpreter(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": [sys.executable]})

    found = spark.range(1).mapInArrow(interpreter, "path string").collect()

    assert {row.path for row in found} == {sys.executable}


def test_workers_load_spark_from_files_and_not_from_its_archive(spark: SparkSession) -> None:
    """Python compiles what is in an archive each time that it starts."""

    def place(batches: Iterator[Any]) -> Iterator[Any]:
        import py4j
        import pyarrow as pa
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": [pyspark.__file__, py4j.__file__]})

    found = spark.range(1).mapInArrow(place, "path string").collect()

    assert all(Path(row.path).is_file() for row in found), found
