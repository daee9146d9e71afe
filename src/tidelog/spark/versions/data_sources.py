"""Spark's interface for data sources in Python as Spark 4.2 has it, whichever version from 4.0 on is installed.

Importing this on an older Spark raises NoDataSources.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyspark

try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
        InputPartition,
    )
except ImportError as error:
    from tidelog.spark.versions.refusals import NoDataSources, without_data_sources

    raise NoDataSources(without_data_sources(pyspark.__version__)) from error

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:

    class DataSourceStreamArrowWriter(DataSourceStreamWriter, DataSourceArrowWriter):  # type: ignore[no-redef,misc]
        """Spark 4.0 hands Arrow batches to whatever is a DataSourceArrowWriter, writers of streams included."""


try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )

    HAS_READ_LIMITS = True
except ImportError:
    HAS_READ_LIMITS = False

    class ReadLimit:  # type: ignore[no-redef]
        """How much a batch reads."""

    @dataclass
    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """All that there is."""

    @dataclass
    class ReadMinRows(ReadLimit):  # type: ignore[no-redef]
        """Not before there is so much."""

        min_rows: int

    @dataclass
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """About so much at most."""

        max_rows: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Spark 4.0 and 4.1 do not ask for it: they run a single batch instead."""


__all__ = [
    "HAS_READ_LIMITS",
    "DataSource",
    "DataSourceArrowWriter",
    "DataSourceReader",
    "DataSourceStreamArrowWriter",
    "DataSourceStreamReader",
    "DataSourceStreamWriter",
    "DataSourceWriter",
    "InputPartition",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
]
