"""The session that tests and local jobs get."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def test_spark_listens_on_loopback_only(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.ui.enabled") == "false"


def test_workers_run_on_the_python_of_the_driver(spark: SparkSession) -> None:
    def interpreter(batches: object) -> object:
        import pyarrow as pa

        for _ in batches:  # type: ignore[attr-defined]
            yield pa.RecordBatch.from_pydict({"path": [sys.executable]})

    found = spark.range(1).mapInArrow(interpreter, "path string").collect()

    assert {row.path for row in found} == {sys.executable}
