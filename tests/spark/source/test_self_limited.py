"""Limits for a Spark that asks only how far it can read: called as Spark 4.0 and 4.1 call it, against a real broker."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.datasource", reason="Spark has data sources in Python since 4.0")

from support.filled_topics import FilledTopics

from tidelog.spark.source.options import stream_options
from tidelog.spark.source.readers import StreamReader
from tidelog.spark.source.self_limited import SelfLimitedReader
from tidelog.spark.versions.refusals import StartUnknown
from tidelog.testing.broker_thread import BrokerThread

NewReader = Callable[..., SelfLimitedReader]


class Spark:
    """A query of Spark 4.0: `log` is its offset log, which survives its restarts."""

    def __init__(self, reader: SelfLimitedReader, log: list[str] | None = None) -> None:
        self.reader = reader
        self.log = [] if log is None else log
        if self.log:
            last = json.loads(self.log[-1])
            assert list(reader.partitions(last, last)) == []

    def next_batch(self) -> list[str]:
        """The rows of one trigger; none where there is nothing new."""
        end = json.dumps(self.reader.latestOffset())
        if self.log and self.log[-1] == end:
            return []
        self.log.append(end)
        return self.run_last()

    def run_last(self) -> list[str]:
        start = json.loads(self.log[-2]) if len(self.log) > 1 else self.reader.initialOffset()
        rows: list[str] = []
        for partition in self.reader.partitions(start, json.loads(self.log[-1])):
            for batch in self.reader.read(partition):
                rows += [value.decode() for value in batch.column("value").to_pylist()]
        return rows


@pytest.fixture
def new_reader(broker: BrokerThread) -> Iterator[NewReader]:
    made: list[SelfLimitedReader] = []

    def make(topic: str, **options: Any) -> SelfLimitedReader:
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, "startingOffsets": "earliest"}
        reader = SelfLimitedReader(StreamReader(stream_options({**given, **{k: str(v) for k, v in options.items()}})))
        made.append(reader)
        return reader

    yield make
    for reader in made:
        reader.stop()


def words(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


def test_every_batch_keeps_the_limit_and_no_record_is_skipped(topics: FilledTopics, new_reader: NewReader) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 23))
    query = Spark(new_reader(topic, maxOffsetsPerTrigger=10))

    batches = [query.next_batch() for _ in range(4)]

    assert batches == [words(0, 10), words(10, 20), words(20, 23), []]


def test_asking_twice_moves_nothing(topics: FilledTopics, new_reader: NewReader) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 23))
    query = Spark(new_reader(topic, maxOffsetsPerTrigger=10))

    query.reader.latestOffset()
    query.reader.latestOffset()

    assert query.next_batch() == words(0, 10)


def test_limit_counts_from_the_checkpoint_after_a_restart(topics: FilledTopics, new_reader: NewReader) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 25))
    query = Spark(new_reader(topic, maxOffsetsPerTrigger=10))
    query.next_batch()

    again = Spark(new_reader(topic, maxOffsetsPerTrigger=10), query.log)

    assert [again.next_batch() for _ in range(3)] == [words(10, 20), words(20, 25), []]


def test_planned_batch_is_run_again_before_the_next_one(topics: FilledTopics, new_reader: NewReader) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 25))
    query = Spark(new_reader(topic, maxOffsetsPerTrigger=10))
    query.next_batch()
    query.next_batch()

    again = Spark(new_reader(topic, maxOffsetsPerTrigger=10), query.log)

    assert again.run_last() == words(10, 20)
    assert again.next_batch() == words(20, 25)


def test_query_that_starts_at_the_end_misses_nothing(topics: FilledTopics, new_reader: NewReader) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 5))
    query = Spark(new_reader(topic, startingOffsets="latest"))

    assert query.next_batch() == []
    topics.fill(topic, words(5, 7))

    assert query.next_batch() == words(5, 7)


def test_limit_is_refused_where_spark_says_too_late_where_the_query_is(
    topics: FilledTopics, new_reader: NewReader
) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 25))
    query = Spark(new_reader(topic, maxOffsetsPerTrigger=10))
    query.next_batch()
    query.next_batch()
    wrapped = new_reader(topic, maxOffsetsPerTrigger=10)

    wrapped.latestOffset()
    with pytest.raises(StartUnknown, match=r"triggerAvailableNowWrapper\.enabled=true"):
        Spark(wrapped, query.log)

    unlimited = new_reader(topic)
    unlimited.latestOffset()
    assert Spark(unlimited, query.log).next_batch() == words(20, 25)


def test_limited_first_batch_is_logged_because_it_may_be_the_only_one(
    topics: FilledTopics, new_reader: NewReader, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create()
    topics.fill(topic, words(0, 25))

    with caplog.at_level(logging.WARNING):
        Spark(new_reader(topic, maxOffsetsPerTrigger=100)).next_batch()
        assert "availableNow" not in caplog.text
        Spark(new_reader(topic, maxOffsetsPerTrigger=10)).next_batch()

    assert "Leave out the limit with these triggers" in caplog.text
