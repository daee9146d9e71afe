"""The pipeline `transform`: topics through SQL or a function into topics, each record once."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.spark.pipelines.records import parse_values, read_topics
from tidelog.spark.pipelines.run import Job, start_batches, start_query
from tidelog.spark.pipelines.settings import InvalidSettings, Query, Target, Transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "records"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def plan_transform(session: SparkSession, pipeline: Transform) -> Job:
    query = pipeline.query
    if query.state_store == "rocksdb":
        session.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    records = parse_values(read_topics(session, pipeline.source), pipeline.value)
    rows = apply_query(session, with_watermark(records, query.watermark), query)
    options = target_options(pipeline.target, pipeline.run.name)
    if query.output_mode == "update":
        from tidelog.spark.sink.foreach_batch import exactly_once_batch

        each = exactly_once_batch(options)
        return Job(start=lambda: start_batches(rows, each, pipeline.run, query.output_mode))
    return Job(start=lambda: start_query(rows, "tidelog", pipeline.run, options, query.output_mode))


def target_options(target: Target, name: str) -> dict[str, str]:
    """For the exactly-once sink. The name makes transactions recognisable in `tidelog transactions --list`."""
    options = {"kafka.bootstrap.servers": target.bootstrap_servers, "transactionalIdPrefix": f"tidelog-{name}"}
    if target.topic:
        options["topic"] = target.topic
    return {**options, **dict(target.options)}


def with_watermark(records: DataFrame, watermark: str) -> DataFrame:
    """SQL has no words for a watermark, so that it is a setting: `column delay`.

    Spark takes only columns, not fields of them: `record.timestamp` becomes the column `record_timestamp`.
    """
    if not watermark:
        return records
    from pyspark.errors import AnalysisException

    column, _, delay = watermark.partition(" ")
    name = column.replace(".", "_")
    try:
        if name != column:
            records = records.selectExpr("*", f"{column} AS {name}")
        return records.withWatermark(name, delay.strip())
    except AnalysisException as error:
        first = str(error).strip().splitlines()[0]
        raise InvalidSettings(f"[query] watermark = {watermark!r}: {first}") from error


def apply_query(session: SparkSession, records: DataFrame, query: Query) -> DataFrame:
    if query.sql:
        records.createOrReplaceTempView(VIEW)
        return session.sql(query.sql)
    return load_function(query)(records)


def load_function(query: Query) -> Callable[[DataFrame], DataFrame]:
    module_name, _, function_name = query.function.partition(":")
    # Workers import it again, so that the place has to be on their path as well.
    for place in (query.path, os.getcwd()):
        if place and place not in sys.path:
            sys.path.insert(0, place)
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH"))))
    try:
        found = importlib.import_module(module_name)
        for part in function_name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise InvalidSettings(
            f"[query] function = {query.function!r}: {error}; set path to the directory of the module"
        ) from error
    except AttributeError as error:
        raise InvalidSettings(f"[query] function = {query.function!r}: {error}") from error
    if not callable(found):
        raise InvalidSettings(f"[query] function = {query.function!r} is not a function")
    function: Callable[[DataFrame], DataFrame] = found
    return function
