"""The reader against a real broker, called as Spark calls it but without Spark: quick, and close to the edges."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows
from support.filled_topics import FilledTopics, new_topic_name

from tidelog.client.arrow import arrow_schema
from tidelog.spark.source.cluster import SourceProblem
from tidelog.spark.source.fetch import DataLost, ReadTimedOut
from tidelog.spark.source.readers import BatchReader, StreamReader, batch_reader, stream_reader
from tidelog.spark.source.schema import source_columns
from tidelog.testing.broker_thread import BrokerThread

EVERYTHING = ReadAllAvailable()


class Query:
    """What Spark does with a streaming reader, one batch after another."""

    def __init__(self, reader: StreamReader, position: dict[str, Any] | None = None) -> None:
        self.reader = reader
        self.position = position

    def next_batch(self, limit: ReadLimit | None = None) -> list[dict[str, Any]]:
        start = self.reader.initialOffset() if self.position is None else self.position
        end = self.reader.latestOffset(start, limit if limit is not None else self.reader.getDefaultReadLimit())
        return self.run(start, end)

    def run(self, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
        # Through JSON and pickle, as on the way to the checkpoint and to the workers.
        start, end = json.loads(json.dumps(start)), json.loads(json.dumps(end))
        rows = read_all(self.reader, pickle.loads(pickle.dumps(list(self.reader.partitions(start, end)))))
        self.position = end
        return rows


def read_all(reader: StreamReader | BatchReader, partitions: list[InputPartition]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for partition in partitions:
        for batch in reader.read(partition):
            rows += batch.to_pylist()
    return rows


def values(rows: list[dict[str, Any]]) -> list[str]:
    return [row["value"].decode() for row in rows]


@pytest.fixture
def readers(broker: BrokerThread) -> Iterator[Any]:
    made: list[StreamReader] = []

    def make(**options: Any) -> StreamReader:
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "startingOffsets": "earliest"}
        given |= {name.replace("__", "."): str(value) for name, value in options.items()}
        columns = source_columns(include_headers=given.get("includeHeaders") == "true")
        reader = stream_reader(given, columns)
        assert isinstance(reader, StreamReader)
        made.append(reader)
        return reader

    yield make
    for reader in made:
        reader.stop()


def batch_rows(broker: BrokerThread, **options: Any) -> list[dict[str, Any]]:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    given |= {name.replace("__", "."): str(value) for name, value in options.items()}
    reader = batch_reader(given, source_columns(include_headers=given.get("includeHeaders") == "true"))
    return read_all(reader, list(reader.partitions()))


@pytest.mark.parametrize("include_headers", [False, True])
def test_arrow_batches_have_exactly_the_types_that_spark_expects(include_headers: bool) -> None:
    columns = source_columns(include_headers=include_headers)

    assert to_arrow_schema(columns, timezone="UTC") == arrow_schema(with_headers=include_headers)


def test_rows_have_the_columns_of_sparks_connector(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create(partitions=2)
    topics.fill(topic, ["a"], partition=1, key=b"k", headers=[("h", b"1"), ("h", None)], timestamp=1_700_000_000_123)
    topics.fill(topic, ["b"], partition=1, timestamp=1_700_000_000_124)

    first, second = batch_rows(broker, subscribe=topic, includeHeaders="true")

    assert first["key"] == b"k"
    assert first["value"] == b"a"
    assert (first["topic"], first["partition"], first["offset"]) == (topic, 1, 0)
    assert first["timestamp"].timestamp() == pytest.approx(1_700_000_000.123)
    assert first["timestampType"] == 0
    assert first["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert (second["key"], second["offset"], second["headers"]) == (None, 1, None)


def test_time_of_append_is_told_by_the_type(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create(config={"message.timestamp.type": "LogAppendTime"})
    topics.fill(topic, ["a"], timestamp=1000)

    (row,) = batch_rows(broker, subscribe=topic)

    assert row["timestampType"] == 1
    assert row["timestamp"].timestamp() > 1_700_000_000


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_read(broker: BrokerThread, topics: FilledTopics, compression: str) -> None:
    topic = topics.create(config={"compression.type": compression})
    topics.fill(topic, [f"value {number}" for number in range(200)])

    assert values(batch_rows(broker, subscribe=topic)) == [f"value {number}" for number in range(200)]


def test_a_tombstone_is_a_null_value(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, [None], key=b"k")  # type: ignore[list-item]

    (row,) = batch_rows(broker, subscribe=topic)

    assert (row["key"], row["value"]) == (b"k", None)


def test_only_the_range_that_is_asked_for_is_read(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, [str(number) for number in range(100)])
    given = {"startingOffsets": f'{{"{topic}":{{"0":37}}}}', "endingOffsets": f'{{"{topic}":{{"0":42}}}}'}

    rows = batch_rows(broker, subscribe=topic, **given)

    assert [row["offset"] for row in rows] == [37, 38, 39, 40, 41]


def test_many_small_fetches_and_tasks_give_the_same_rows(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create(partitions=2)
    for partition in range(2):
        topics.fill(topic, [f"{partition}-{number}-{'x' * 50}" for number in range(500)], partition=partition)
    few = batch_rows(broker, subscribe=topic)

    many = batch_rows(broker, subscribe=topic, minPartitions=7, kafka__max__partition__fetch__bytes=3000)
    capped = batch_rows(broker, subscribe=topic, maxRecordsPerPartition=90)

    assert len(few) == 1000
    assert many == few
    assert capped == few


def test_a_range_of_times_is_read(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    for second in range(10):
        topics.fill(topic, [str(second)], timestamp=1_700_000_000_000 + second * 1000)

    rows = batch_rows(broker, subscribe=topic, startingTimestamp=1_700_000_002_500, endingTimestamp=1_700_000_006_000)
    each = batch_rows(broker, subscribe=topic, startingOffsetsByTimestamp=f'{{"{topic}":{{"0":1700000008000}}}}')

    assert values(rows) == ["3", "4", "5"]
    assert values(each) == ["8", "9"]


def test_a_time_after_the_last_record_is_an_error_or_the_end(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a"], timestamp=1_700_000_000_000)

    with pytest.raises(SourceProblem, match="startingOffsetsByTimestampStrategy=latest"):
        batch_rows(broker, subscribe=topic, startingTimestamp=1_800_000_000_000)
    at_end = {"startingTimestamp": 1_800_000_000_000, "startingOffsetsByTimestampStrategy": "latest"}
    assert batch_rows(broker, subscribe=topic, **at_end) == []
    assert values(batch_rows(broker, subscribe=topic, endingTimestamp=1_800_000_000_000)) == ["a"]


def test_topics_are_found_by_pattern_and_partitions_by_number(broker: BrokerThread, topics: FilledTopics) -> None:
    stem = new_topic_name("pattern")
    for suffix in ("one", "two", "three"):
        topics.create(name=f"{stem}.{suffix}", partitions=2)
        topics.fill(f"{stem}.{suffix}", [suffix], partition=1)

    assert sorted(values(batch_rows(broker, subscribePattern=f"{stem}\\.t.*"))) == ["three", "two"]
    assert values(batch_rows(broker, assign=f'{{"{stem}.one":[0]}}')) == []
    assert values(batch_rows(broker, assign=f'{{"{stem}.one":[0,1]}}')) == ["one"]


def test_an_offset_beyond_the_end_is_named_with_the_option_that_has_it(
    broker: BrokerThread, topics: FilledTopics, readers: Any
) -> None:
    topic = topics.create()
    topics.fill(topic, ["a", "b"], partition=0)
    beyond = {"fetchOffset__retryIntervalMs": 1, "subscribe": topic}
    place = f'{{"{topic}":{{"0":7}}}}'

    for options in ({"startingOffsets": place}, {"endingOffsets": place}):
        message = f"{next(iter(options))} names offset 7 of partition {topic}-0, which ends at 2. Name an offset up to"
        with pytest.raises(SourceProblem, match=message):
            batch_rows(broker, **beyond, **options)
    with pytest.raises(SourceProblem, match=f"startingOffsets names offset 7 of partition {topic}-0"):
        readers(**beyond, startingOffsets=place).initialOffset()


def test_without_fail_on_data_loss_an_offset_beyond_the_end_means_the_end(
    broker: BrokerThread, topics: FilledTopics, readers: Any
) -> None:
    topic = topics.create()
    topics.fill(topic, ["a", "b"], partition=0)
    options = {"fetchOffset__retryIntervalMs": 1, "subscribe": topic, "failOnDataLoss": "false"}
    place = f'{{"{topic}":{{"0":7}}}}'

    assert values(batch_rows(broker, **options, endingOffsets=place)) == ["a", "b"]
    query = Query(readers(**options, startingOffsets=place))
    assert values(query.next_batch()) == []
    topics.fill(topic, ["c"], partition=0)
    assert values(query.next_batch()) == ["c"]


def test_what_does_not_exist_is_named(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()

    with pytest.raises(SourceProblem, match="no topic 'no-such-topic'"):
        batch_rows(broker, subscribe="no-such-topic")
    with pytest.raises(SourceProblem, match=f"partition {topic}-7, which does not exist"):
        batch_rows(broker, assign=f'{{"{topic}":[0,7]}}')
    with pytest.raises(SourceProblem, match=f"does not name {topic}-0; it names other-3"):
        batch_rows(broker, subscribe=topic, startingOffsets='{"other":{"3":1}}')


def test_a_schema_of_ones_own_is_refused(broker: BrokerThread) -> None:
    from pyspark.sql.types import StringType, StructField, StructType

    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "orders"}
    with pytest.raises(SourceProblem, match="fixed columns"):
        batch_reader(options, StructType([StructField("name", StringType())]))


# -- streaming -------------------------------------------------------------------------------------------------------


def test_batches_follow_each_other_without_gap_or_overlap(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create(partitions=2)
    query = Query(readers(subscribe=topic))
    seen = []
    for round_number in range(3):
        topics.fill(topic, [f"{round_number}a"], partition=0)
        topics.fill(topic, [f"{round_number}b"], partition=1)
        seen.append(values(query.next_batch()))

    assert seen == [["0a", "0b"], ["1a", "1b"], ["2a", "2b"]]
    assert query.next_batch() == []


def test_the_limit_of_a_batch_is_kept_and_the_lag_is_told(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, [str(number) for number in range(10)])
    reader = readers(subscribe=topic, maxOffsetsPerTrigger=4)
    query = Query(reader)

    assert reader.getDefaultReadLimit() == ReadMaxRows(4)
    assert values(query.next_batch()) == ["0", "1", "2", "3"]
    assert reader.reportLatestOffset() == {topic: {"0": 10}}
    assert values(query.next_batch()) == ["4", "5", "6", "7"]
    assert values(query.next_batch(EVERYTHING)) == ["8", "9"]


def test_a_batch_waits_for_enough_records_but_not_for_ever(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    reader = readers(subscribe=topic, minOffsetsPerTrigger=3, maxTriggerDelay="1h")
    query = Query(reader)
    assert reader.getDefaultReadLimit() == ReadMinRows(3)
    topics.fill(topic, ["first"])
    # The first batch of a query comes at once.
    assert values(query.next_batch()) == ["first"]

    topics.fill(topic, ["a", "b"])
    assert query.next_batch() == []
    topics.fill(topic, ["c"])
    assert values(query.next_batch()) == ["a", "b", "c"]

    impatient = Query(readers(subscribe=topic, minOffsetsPerTrigger=100, maxTriggerDelay="0ms"), query.position)
    topics.fill(topic, ["d"])
    assert values(impatient.next_batch()) == ["d"]


def test_both_limits_can_be_set(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    query = Query(readers(subscribe=topic, minOffsetsPerTrigger=2, maxOffsetsPerTrigger=3))
    topics.fill(topic, ["a", "b", "c", "d"])

    assert values(query.next_batch()) == ["a", "b", "c"]
    assert query.next_batch() == []


def test_available_now_stops_at_what_was_there_when_it_began(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a", "b", "c"])
    reader = readers(subscribe=topic, maxOffsetsPerTrigger=2, minOffsetsPerTrigger=2)
    reader.prepareForTriggerAvailableNow()
    query = Query(reader)

    assert values(query.next_batch()) == ["a", "b"]
    topics.fill(topic, ["later"])
    assert values(query.next_batch()) == ["c"]
    assert query.next_batch() == []


def test_new_partitions_are_found_and_read_from_their_beginning(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    query = Query(readers(subscribe=topic, startingOffsets="latest", maxOffsetsPerTrigger=100))
    query.next_batch()
    topics.grow(topic, 3)
    topics.fill(topic, ["in the new one"], partition=2)

    assert values(query.next_batch()) == ["in the new one"]
    assert query.position == {topic: {"0": 0, "1": 0, "2": 1}}


def test_a_topic_that_matches_later_is_found(readers: Any, topics: FilledTopics) -> None:
    stem = new_topic_name("late")
    query = Query(readers(subscribePattern=f"{stem}.*"))
    assert query.next_batch() == []
    topics.create(name=f"{stem}-x")
    topics.fill(f"{stem}-x", ["a"])

    assert values(query.next_batch()) == ["a"]


def test_a_query_that_begins_at_the_end_reads_what_comes_later(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["before"])
    query = Query(readers(subscribe=topic, startingOffsets="latest"))

    assert query.next_batch() == []
    assert query.next_batch() == []
    topics.fill(topic, ["after"])
    assert values(query.next_batch()) == ["after"]


def test_a_query_that_begins_at_the_end_loses_nothing_if_its_first_batch_is_run_again(
    readers: Any, topics: FilledTopics
) -> None:
    topic = topics.create()
    topics.fill(topic, ["before"])
    crashed = readers(subscribe=topic, startingOffsets="latest")
    start = crashed.initialOffset()
    topics.fill(topic, ["meanwhile"])
    # Spark has kept this end in its checkpoint, and crashed. It does not keep the start.
    planned_end = crashed.latestOffset(start, EVERYTHING)
    topics.fill(topic, ["after"])

    restarted = Query(readers(subscribe=topic, startingOffsets="latest"))
    assert restarted.run(restarted.reader.initialOffset(), planned_end) == []
    assert values(restarted.next_batch()) == ["meanwhile", "after"]


# -- transactions ----------------------------------------------------------------------------------------------------


def test_scenario_26_aborted_transactions_and_markers_neither_show_nor_stall(
    readers: Any, topics: FilledTopics
) -> None:
    topic = topics.create()
    query = Query(readers(subscribe=topic, kafkaConsumer__pollTimeoutMs=20_000))
    topics.transaction(topic, ["kept 1", "kept 2"], commit=True)
    topics.transaction(topic, ["gone 1", "gone 2"], commit=False)
    topics.fill(topic, ["plain"])
    topics.transaction(topic, ["gone 3"], commit=False, name="other")

    first = query.next_batch()
    # What was planned ends with an aborted record and its marker. Then nothing but those.
    topics.transaction(topic, ["gone 4"], commit=False)
    second = query.next_batch()
    topics.transaction(topic, ["kept 3"], commit=True)
    third = query.next_batch()

    assert values(first) == ["kept 1", "kept 2", "plain"]
    assert second == []
    assert values(third) == ["kept 3"]
    assert query.next_batch() == []


def test_records_of_an_open_transaction_wait_for_its_end(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    query = Query(readers(subscribe=topic))
    topics.fill(topic, ["before"])
    open_one = topics.open_transaction(topic, ["inside"])
    topics.fill(topic, ["behind"])

    assert values(query.next_batch()) == ["before"]
    open_one.commit_transaction(60)
    assert values(query.next_batch()) == ["inside", "behind"]


def test_tasks_that_begin_inside_of_transactions_hide_what_was_aborted(
    broker: BrokerThread, topics: FilledTopics
) -> None:
    topic = topics.create()
    expected = []
    for number in range(12):
        kept = number % 3 != 1
        words = [f"{number}.{part}" for part in range(5)]
        topics.transaction(topic, words, commit=kept)
        expected += words if kept else []

    assert values(batch_rows(broker, subscribe=topic, minPartitions=30)) == expected


def test_uncommitted_records_are_read_on_demand(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.transaction(topic, ["aborted"], commit=False)
    open_one = topics.open_transaction(topic, ["open"])
    try:
        rows = batch_rows(broker, subscribe=topic, kafka__isolation__level="read_uncommitted")
    finally:
        open_one.abort_transaction(60)

    assert values(rows) == ["aborted", "open"]


# -- losses ----------------------------------------------------------------------------------------------------------


def test_records_that_have_aged_out_are_a_loss(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, [str(number) for number in range(10)])
    strict, lenient = Query(readers(subscribe=topic)), Query(readers(subscribe=topic, failOnDataLoss="false"))
    for query in (strict, lenient):
        query.position = {topic: {"0": 2}}
    topics.delete_records(topic, 0, 6)

    with pytest.raises(DataLost, match="begins at offset 6: 2 to 5 are gone"):
        strict.next_batch()
    assert values(lenient.next_batch()) == ["6", "7", "8", "9"]


def test_a_topic_that_was_deleted_is_a_loss(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a"])
    strict, lenient = Query(readers(subscribe=topic)), Query(readers(subscribe=topic, failOnDataLoss="false"))
    for query in (strict, lenient):
        query.next_batch()
    topics.delete(topic)

    with pytest.raises(DataLost, match="no longer exists"):
        strict.next_batch()
    assert lenient.next_batch() == []
    topics.create(name=topic)
    topics.fill(topic, ["new"])
    assert values(lenient.next_batch()) == ["new"]


@pytest.mark.parametrize("records", [1, 5])
def test_a_topic_that_was_recreated_is_a_loss_even_if_it_is_longer(
    readers: Any, topics: FilledTopics, records: int
) -> None:
    topic = topics.create()
    topics.fill(topic, ["a", "b", "c"])
    strict, lenient = Query(readers(subscribe=topic)), Query(readers(subscribe=topic, failOnDataLoss="false"))
    for query in (strict, lenient):
        assert values(query.next_batch()) == ["a", "b", "c"]
    topics.delete(topic)
    topics.create(name=topic)
    topics.fill(topic, [f"new {number}" for number in range(records)])

    with pytest.raises(DataLost, match="deleted and recreated"):
        strict.next_batch()
    assert values(lenient.next_batch()) == [f"new {number}" for number in range(records)]
    topics.fill(topic, ["more"])
    assert values(lenient.next_batch()) == ["more"]


def test_a_task_does_not_read_from_a_topic_that_was_recreated_after_planning(
    readers: Any, topics: FilledTopics
) -> None:
    topic = topics.create()
    topics.fill(topic, ["a"])
    reader = readers(subscribe=topic)
    tasks = list(reader.partitions(reader.initialOffset(), {topic: {"0": 1}}))
    topics.delete(topic)
    topics.create(name=topic)
    topics.fill(topic, ["other"])

    with pytest.raises(DataLost, match="deleted or recreated"):
        read_all(reader, tasks)


def test_a_checkpoint_beyond_the_end_of_the_log_is_a_loss(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a"])
    options = {"subscribe": topic, "fetchOffset__numRetries": 1, "fetchOffset__retryIntervalMs": 10}
    strict = Query(readers(**options), {topic: {"0": 500}})
    lenient = Query(readers(**options, failOnDataLoss="false"), {topic: {"0": 500}})

    with pytest.raises(DataLost, match="ends at offset 1, but the query had read it up to offset 500"):
        strict.next_batch()
    assert lenient.next_batch() == []
    topics.fill(topic, ["b"])
    assert values(lenient.next_batch()) == ["b"]


def test_records_that_do_not_come_end_in_an_error_that_names_them(readers: Any, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a"])
    reader = readers(subscribe=topic, kafkaConsumer__pollTimeoutMs=1200)
    tasks = list(reader.partitions(reader.initialOffset(), {topic: {"0": 5}}))

    with pytest.raises(ReadTimedOut, match=r"from offset 1 to 5 .* within 1200 ms"):
        read_all(reader, tasks)


def test_an_abandoned_read_does_not_disturb_the_next_one(broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, [str(number) + "x" * 100 for number in range(500)])
    given = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "subscribe": topic,
        "kafka.max.partition.fetch.bytes": "2000",
    }
    reader = batch_reader(given, source_columns(include_headers=False))
    (task,) = reader.partitions()
    reading = reader.read(task)
    first: pa.RecordBatch = next(reading)
    reading.close()  # type: ignore[attr-defined]

    rows = read_all(reader, [task])

    assert rows[: first.num_rows] == first.to_pylist()
    assert [row["offset"] for row in rows] == list(range(500))
