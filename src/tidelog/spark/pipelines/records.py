"""Topics as rows: reading them, and taking values apart.

Whatever the format, `record` holds the record as it is: record.key, record.value, record.topic, record.partition,
record.offset, record.timestamp, record.headers. Beside it are the fields of the JSON value, or with `raw` the columns
of the source themselves.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.client.admin import Admin
from tidelog.client.config import options_of_any_client
from tidelog.spark.pipelines.settings import InvalidSettings, Source, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORD = "record"
EARLIEST_OFFSET = -2

_CORRUPT = "_tidelog_corrupt"
_PARSED = "_tidelog_parsed"
_FIELDS = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")


def client_options(servers: str, options: Mapping[str, str]) -> dict[str, str]:
    """What a client of ours needs to reach the cluster, from the options for Spark.

    Only that: whoever looks at topics knows no options of producers and consumers, such as compression.type.
    """
    named = {name.removeprefix("kafka."): text for name, text in options.items() if name.startswith("kafka.")}
    return {**options_of_any_client(named), "bootstrap.servers": servers}


def read_topics(session: SparkSession, source: Source, starting_offsets: str | None = None) -> DataFrame:
    reader = (
        session.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", source.bootstrap_servers)
        .option("includeHeaders", "true")
        .option("startingOffsets", starting_offsets or source.starting_offsets)
        .option("maxOffsetsPerTrigger", str(source.max_records_per_batch))
    )
    if source.topics:
        reader = reader.option("subscribe", ",".join(source.topics))
    else:
        reader = reader.option("subscribePattern", source.topic_pattern)
    return reader.options(**dict(source.options)).load()


def parse_values(records: DataFrame, value: Value) -> DataFrame:
    """The view that settings speak of: fields of the value, and `record`."""
    with_record = records.selectExpr("*", f"struct({', '.join(_FIELDS)}) AS {RECORD}")
    if value.format == "raw":
        return with_record
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import col, expr, from_json
    from pyspark.sql.types import StringType, StructType

    try:
        schema = StructType.fromDDL(value.schema)
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise InvalidSettings(
            f"[value] schema = {value.schema!r} is not a list of columns with types: {first}"
        ) from error
    if not isinstance(schema, StructType):
        raise InvalidSettings(f"[value] schema = {value.schema!r} names a type, not columns with types")
    if RECORD in schema.fieldNames():
        raise InvalidSettings(f"[value] schema: a field cannot be called {RECORD}, which is the record itself")
    with_corrupt = StructType(schema.fields).add(_CORRUPT, StringType())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = with_record.withColumn(_PARSED, from_json(col("value").cast("string"), with_corrupt, options))
    if value.malformed == "skip":
        parsed = parsed.where(f"{_PARSED}.{_CORRUPT} IS NULL")
    else:
        told = (
            "concat('the value of ', topic, '-', partition, ' at offset ', offset, ' does not fit the schema. Correct"
            ' the schema, or leave such records out with malformed = "skip"\')'
        )
        checked = f"IF({_PARSED}.{_CORRUPT} IS NULL, {_PARSED}, raise_error({told}))"
        parsed = parsed.withColumn(_PARSED, expr(checked))
    fields = [f"{_PARSED}.`{name}`" for name in schema.fieldNames()]
    return parsed.selectExpr(*fields, RECORD)


def header(name: str) -> str:
    """An expression that gives the last header with this name, as text."""
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST(get(filter({RECORD}.headers, one -> one.key = '{quoted}'), 0).value AS STRING)"


def starting_from(source: Source, next_offsets: Mapping[tuple[str, int], int]) -> str:
    """`startingOffsets` that go on where something ended. Partitions that are new since then are read as a whole."""
    partitions = asyncio.run(_partitions(source))
    offsets = {
        topic: {str(number): next_offsets.get((topic, number), EARLIEST_OFFSET) for number in range(count)}
        for topic, count in sorted(partitions.items())
    }
    return json.dumps(offsets)


async def _partitions(source: Source) -> dict[str, int]:
    async with Admin(config=client_options(source.bootstrap_servers, source.options)) as admin:
        names = source.topics
        if not names:
            pattern = re.compile(source.topic_pattern)
            names = tuple(one.name for one in await admin.list_topics(internal=False) if pattern.fullmatch(one.name))
        described = Admin.raise_any(await admin.describe_topics(names))
    return {name: len(topic.partitions) for name, topic in described.items()}
