"""Which DataFrames can be written."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidelog.spark.sink.columns import SinkColumns, sink_columns
from tidelog.spark.sink.errors import InvalidColumns
from tidelog.spark.sink.options import SinkOptions, sink_options

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))


def options(**given: str) -> SinkOptions:
    return sink_options({"kafka.bootstrap.servers": "127.0.0.1:9092", **given})


def schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def test_value_alone_is_enough_where_the_topic_is_an_option() -> None:
    assert sink_columns(schema(value=StringType()), options(topic="t")) == SinkColumns(value=0)


def test_columns_are_found_by_name_and_others_left_alone() -> None:
    found = sink_columns(
        schema(
            offset=LongType(),
            headers=HEADERS,
            partition=IntegerType(),
            Key=BinaryType(),
            topic=StringType(),
            timestamp=TimestampType(),
            value=BinaryType(),
        ),
        options(),
    )

    assert found == SinkColumns(value=6, key=3, headers=1, topic=4, partition=2)


def test_option_wins_over_the_column_topic_which_then_may_be_anything() -> None:
    found = sink_columns(schema(value=StringType(), topic=LongType()), options(topic="t"))

    assert found == SinkColumns(value=0)


def test_time_is_taken_where_it_is_asked_for() -> None:
    found = sink_columns(
        schema(value=StringType(), timestamp=TimestampType()), options(topic="t", includeTimestamp="true")
    )

    assert found.timestamp == 1


@pytest.mark.parametrize(
    ("columns", "given", "problem"),
    [
        ({"key": StringType(), "body": StringType()}, {"topic": "t"}, "no column `value` (the columns are: key, body)"),
        ({"value": LongType()}, {"topic": "t"}, "column 'value' is bigint, and must be string or binary"),
        ({"value": StringType(), "key": IntegerType()}, {"topic": "t"}, "column 'key' is int"),
        ({"value": StringType(), "partition": LongType()}, {"topic": "t"}, "'partition' is bigint, and must be int"),
        ({"value": StringType(), "headers": StringType()}, {"topic": "t"}, "array<struct<key:string,value:binary>>"),
        ({"value": StringType()}, {}, "neither the option `topic` nor a column `topic`"),
        ({"value": StringType(), "topic": IntegerType()}, {}, "column 'topic' is int, and must be string"),
        ({"value": StringType()}, {"topic": "t", "includeTimestamp": "true"}, "needs a column `timestamp`"),
    ],
)
def test_other_dataframes_are_refused(columns: dict[str, DataType], given: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidColumns) as refused:
        sink_columns(schema(**columns), options(**given))

    assert problem in str(refused.value)
