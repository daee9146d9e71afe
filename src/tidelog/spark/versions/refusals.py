"""What a version of Spark cannot do at all, and what to do instead."""

from __future__ import annotations


class NoDataSources(ImportError):
    """This Spark is too old for sources and sinks in Python."""


def without_data_sources(version: str) -> str:
    return (
        f"format('tidelog') needs Spark 4.0 or newer, and pyspark {version} is installed: data sources in Python are "
        "new in 4.0. To write exactly once with this version, use "
        ".writeStream.foreachBatch(tidelog.spark.exactly_once_batch(...)); to read, use Spark's own Kafka connector"
    )


class StartUnknown(Exception):
    """Spark asked how far to read before it said where the query is."""


def limit_without_start(version: str) -> str:
    return (
        "a limit such as maxOffsetsPerTrigger cannot be applied here: with "
        "spark.sql.streaming.triggerAvailableNowWrapper.enabled=true, pyspark "
        f"{version} asks how far to read before it says where the query is. Leave out the limit, leave out that "
        "setting, or use Spark 4.2 or newer"
    )
