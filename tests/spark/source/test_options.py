"""Options of the source: what they mean, and what people are told about wrong ones."""

from __future__ import annotations

import pickle

import pytest

from tidelog.config.definitions import InvalidConfig
from tidelog.model.ids import TopicPartition
from tidelog.spark.source.offsets import AtOffsets, AtTimestamp, AtTimestamps, Earliest, Latest
from tidelog.spark.source.options import (
    NamedTopics,
    Partitions,
    TopicPattern,
    batch_options,
    check_options,
    parse_duration_ms,
    stream_options,
)

LEAST = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "orders"}


def problems_of(given: dict[str, str], *, batch: bool = False) -> str:
    with pytest.raises(InvalidConfig) as caught:
        (batch_options if batch else stream_options)(given)
    return str(caught.value)


def test_defaults_are_those_of_sparks_connector_but_only_committed_records_are_read() -> None:
    stream, batch = stream_options(LEAST), batch_options(LEAST)

    assert stream.selection == NamedTopics(names=frozenset({"orders"}))
    assert stream.starting == Latest()
    assert batch.starting == Earliest()
    assert batch.ending == Latest()
    assert stream.fail_on_data_loss is True
    assert stream.include_headers is False
    assert stream.max_trigger_delay_ms == 15 * 60 * 1000
    assert stream.consumer_config.read_committed is True


def test_names_of_options_do_not_care_about_case() -> None:
    given = {"KAFKA.BOOTSTRAP.SERVERS": "h:1", "SubscribePattern": "o.*", "STARTINGOFFSETS": "Earliest"}

    options = stream_options(given)

    assert options.selection == TopicPattern(pattern="o.*")
    assert options.starting == Earliest()
    assert options.consumer_config.bootstrap_servers == (("h", 1),)


def test_several_topics_and_single_partitions_can_be_read() -> None:
    several = stream_options({**LEAST, "subscribe": " a, b ,"})
    single = stream_options({"kafka.bootstrap.servers": "h:1", "assign": '{"a":[0,2]}'})

    assert several.selection == NamedTopics(names=frozenset({"a", "b"}))
    assert single.selection == Partitions(partitions=frozenset({TopicPartition("a", 0), TopicPartition("a", 2)}))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "none is given"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "given are subscribe and assign"),
        ({"subscribe": " , "}, "names no topic"),
        ({"subscribePattern": ""}, "subscribePattern is empty"),
        ({"subscribePattern": "("}, "not a regular expression"),
        ({"assign": "a"}, "not JSON"),
        ({"assign": "{}"}, "names no partition"),
        ({"assign": '{"a":[-1]}'}, "not the number of a partition"),
    ],
)
def test_exactly_one_selection_is_wanted(given: dict[str, str], said: str) -> None:
    assert said in problems_of({"kafka.bootstrap.servers": "h:1", **given})


def test_a_time_for_all_counts_more_than_times_for_each_and_those_more_than_offsets() -> None:
    offsets = {"startingOffsets": '{"orders":{"0":5,"1":-2}}'}
    times = {"startingOffsetsByTimestamp": '{"orders":{"0":1000}}'}

    assert stream_options({**LEAST, **offsets}).starting == AtOffsets(
        offsets={TopicPartition("orders", 0): 5, TopicPartition("orders", 1): -2}
    )
    assert stream_options({**LEAST, **offsets, **times}).starting == AtTimestamps(
        timestamps={TopicPartition("orders", 0): 1000}
    )
    assert stream_options({**LEAST, **offsets, **times, "startingTimestamp": "7"}).starting == AtTimestamp(timestamp=7)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("startingOffsets", "beginning", "not JSON"),
        ("startingOffsets", '{"a":{"0":-3}}', "not an offset"),
        ("startingOffsets", '{"a":{"x":1}}', "not the number of a partition"),
        ("startingOffsets", '{"a":[1]}', "which must be an object of partitions"),
        ("startingOffsets", "[1]", "not a JSON object"),
        ("startingTimestamp", "yesterday", "whole number"),
        ("startingOffsetsByTimestampStrategy", "earliest", "error or latest"),
        ("maxOffsetsPerTrigger", "0", "whole number from 1"),
        ("minPartitions", "many", "whole number"),
        ("failOnDataLoss", "maybe", "true or false"),
        ("maxTriggerDelay", "soon", "not a duration"),
    ],
)
def test_a_wrong_value_is_named_with_its_option(name: str, value: str, said: str) -> None:
    text = problems_of({**LEAST, name: value})

    assert name in text
    assert said in text


def test_all_problems_are_told_at_once() -> None:
    text = problems_of({"subscribe": "a", "minPartitions": "0", "includeHeaders": "x"})

    assert "kafka.bootstrap.servers is missing" in text
    assert "minPartitions" in text
    assert "includeHeaders" in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("startingOffset", "startingOffsets"),
        ("maxoffsetpertrigger", "maxOffsetsPerTrigger"),
        ("subscribes", "subscribe"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest_name(name: str, meant: str) -> None:
    assert f"did you mean {meant}?" in problems_of({**LEAST, name: "1"})


def test_an_unknown_kafka_option_is_answered_with_the_nearest_name() -> None:
    text = problems_of({**LEAST, "kafka.fetch.max.byte": "1"})

    assert "fetch.max.bytes" in text


@pytest.mark.parametrize(
    "name", ["auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes"]
)
def test_options_that_would_do_harm_are_refused_by_name(name: str) -> None:
    assert f"kafka.{name} is not supported" in problems_of({**LEAST, f"kafka.{name}": "x"})


def test_options_of_kafka_are_passed_on_and_checked() -> None:
    options = stream_options({**LEAST, "kafka.isolation.level": "read_uncommitted", "kafka.fetch.max.bytes": "1000"})

    assert options.consumer_config.read_committed is False
    assert options.consumer_config.fetch_max_bytes == 1000
    assert "kafka.isolation.level" in problems_of({**LEAST, "kafka.isolation.level": "all"})


def test_the_group_prefix_names_the_client_and_a_group_id_wins_over_it() -> None:
    assert stream_options({**LEAST, "groupIdPrefix": "mine"}).consumer_config.client_id == "mine"
    assert stream_options({**LEAST, "kafka.group.id": "g"}).consumer_config.client_id == "g"


def test_least_may_not_be_more_than_most() -> None:
    text = problems_of({**LEAST, "minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "5"})

    assert "minOffsetsPerTrigger=10 is higher than maxOffsetsPerTrigger=5" in text


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    assert f"{name} is for batch reads" in problems_of({**LEAST, name: '{"orders":{"0":1}}'})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingOffsets": "latest"}, "begins at the end"),
        ({"endingOffsets": "earliest"}, "ends at the beginning"),
        ({"startingOffsets": '{"orders":{"0":-1}}'}, "-1 (latest) for partition orders-0"),
        ({"endingOffsets": '{"orders":{"0":-2}}'}, "-2 (earliest) for partition orders-0"),
        ({"startingTimestamp": "9", "endingTimestamp": "8"}, "is after endingTimestamp"),
        (
            {"startingOffsets": '{"orders":{"0":9}}', "endingOffsets": '{"orders":{"0":8}}'},
            "partition orders-0 starts at 9, which is after its end 8",
        ),
        (
            {"startingOffsets": '{"orders":{"0":1}}', "endingOffsets": '{"orders":{"0":8,"1":8}}'},
            "only one of them names orders-1",
        ),
    ],
)
def test_a_batch_needs_something_between_its_start_and_its_end(given: dict[str, str], said: str) -> None:
    assert said in problems_of({**LEAST, **given}, batch=True)


def test_a_batch_may_end_at_the_latest_offset_of_a_partition() -> None:
    given = {"startingOffsets": '{"orders":{"0":5}}', "endingOffsets": '{"orders":{"0":-1}}'}

    assert batch_options({**LEAST, **given}).ending == AtOffsets(offsets={TopicPartition("orders", 0): -1})


def test_headers_are_read_where_they_are_asked_for() -> None:
    assert check_options({**LEAST, "INCLUDEHEADERS": "TRUE"}).include_headers is True
    assert check_options(LEAST).include_headers is False


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("15m", 900_000), ("500ms", 500), ("10s", 10_000), ("7", 7), ("1 h", 3_600_000)]
)
def test_durations_are_read_as_spark_reads_them(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


def test_options_travel_to_workers() -> None:
    options = stream_options(LEAST)

    assert pickle.loads(pickle.dumps(options)) == options
