"""Counting within bounds, from a log that says what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tidelog.client.browsing import LogBrowser, LogOutline, OutlineRun, RunKind
from tidelog.client.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from tidelog.client.errors import ApiTimeout
from tidelog.console.findings.lag import LogMarks, OffsetSpan, lag_of
from tidelog.console.lags import log_counts
from tidelog.console.lags.log_counts import LogCounts
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, Uuid

HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)


def metadata_of(topic_id: bytes = b"\1" * 16) -> ClusterMetadata:
    partitions = tuple(
        PartitionMetadata(partition=number, leader=1, leader_epoch=0, replicas=(1,), in_sync=(1,), offline=())
        for number in range(2)
    )
    topic = TopicMetadata(name="orders", topic_id=Uuid(topic_id), internal=False, partitions=partitions)
    return ClusterMetadata(topics={"orders": topic})


METADATA = metadata_of()


class ScriptedLogs(LogBrowser):
    """Each tenth offset is the end of a transaction. A fetch gets `step` offsets of each partition."""

    def __init__(self, ends: dict[TopicPartition, int], step: int = 10_000) -> None:
        self.ends = ends
        self.step = step
        self.asked: list[dict[TopicPartition, int]] = []
        self.failure: Exception | None = None
        self.answers: dict[TopicPartition, ApiError] = {}

    async def outline(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        max_bytes: int = 1,
        max_partition_bytes: int = 1,
        timeout_ms: float | None = None,
        metadata: ClusterMetadata | None = None,
    ) -> dict[TopicPartition, LogOutline | ApiError]:
        self.asked.append(dict(offsets))
        if self.failure is not None:
            raise self.failure
        return {
            partition: self.answers.get(partition) or self._outline(partition, offset)
            for partition, offset in offsets.items()
        }

    def _outline(self, partition: TopicPartition, offset: int) -> LogOutline:
        end = min(offset + self.step, self.ends[partition])
        runs = tuple(
            OutlineRun(each, each, RunKind.COMMIT if each % 10 == 9 else RunKind.RECORDS) for each in range(offset, end)
        )
        return LogOutline(
            offset=offset,
            next_offset=end,
            runs=runs,
            log_start_offset=0,
            last_stable_offset=self.ends[partition],
            high_watermark=self.ends[partition],
        )


def counts(*, most_offsets: int = 1_000, most_rounds: int = 8) -> LogCounts:
    return LogCounts(most_offsets=most_offsets, max_bytes=1 << 20, most_rounds=most_rounds)


def lag(counted: LogCounts, partition: TopicPartition, committed: int, end: int) -> tuple[int, bool]:
    found = lag_of(committed, LogMarks(0, end, end), counted.of(partition))
    return found.records, found.exact


async def test_what_was_read_is_not_read_again() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    assert lag(counted, HERE, 50, 100) == (45, True)
    logs.ends[HERE] = 120
    await counted.read(logs, METADATA, {HERE: OffsetSpan(60, 120)})
    assert lag(counted, HERE, 60, 120) == (54, True)
    await counted.read(logs, METADATA, {HERE: OffsetSpan(70, 120)})
    assert logs.asked == [{HERE: 50}, {HERE: 100}]


async def test_a_reading_fetches_so_often_and_the_next_one_goes_on() -> None:
    logs, counted = ScriptedLogs({HERE: 100}, step=10), counts(most_rounds=3)
    await counted.read(logs, METADATA, {HERE: OffsetSpan(0, 100)})
    assert lag(counted, HERE, 0, 100) == (97, False)
    for _ in range(3):
        await counted.read(logs, METADATA, {HERE: OffsetSpan(0, 100)})
    assert lag(counted, HERE, 0, 100) == (90, True)
    assert len(logs.asked) == 10


async def test_those_that_wait_for_longest_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_counts, "MOST_PARTITIONS_AT_ONCE", 1)
    logs, counted = ScriptedLogs({HERE: 100, THERE: 200}, step=10), counts(most_rounds=1)
    spans = {HERE: OffsetSpan(0, 100), THERE: OffsetSpan(0, 200)}
    for _ in range(4):
        await counted.read(logs, METADATA, spans)
    assert logs.asked == [{HERE: 0}, {THERE: 0}, {HERE: 10}, {THERE: 10}]


def test_what_is_far_from_the_end_is_not_counted() -> None:
    counted = counts(most_offsets=100)
    spans = counted.spans(
        [
            (HERE, OffsetSpan(0, 1_000)),
            (HERE, OffsetSpan(950, 1_000)),
            (HERE, OffsetSpan(920, 1_000)),
            (HERE, OffsetSpan(990, 1_001)),
            (THERE, OffsetSpan(7, 7)),
        ]
    )
    assert spans == {HERE: OffsetSpan(920, 1_001)}


async def test_a_group_that_was_set_back_is_counted_from_there() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    await counted.read(logs, METADATA, {HERE: OffsetSpan(20, 100)})
    assert lag(counted, HERE, 20, 100) == (72, True)


async def test_a_group_that_is_faster_than_counting_is_followed() -> None:
    logs, counted = ScriptedLogs({HERE: 1_000}, step=10), counts(most_rounds=1)
    await counted.read(logs, METADATA, {HERE: OffsetSpan(0, 1_000)})
    await counted.read(logs, METADATA, {HERE: OffsetSpan(990, 1_000)})
    assert lag(counted, HERE, 990, 1_000) == (9, True)


async def test_a_log_that_was_cut_is_counted_again() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    logs.ends[HERE] = 80
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 80)})
    assert lag(counted, HERE, 50, 80) == (27, True)
    assert logs.asked == [{HERE: 50}, {HERE: 50}]


async def test_a_topic_that_was_recreated_is_counted_again() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    await counted.read(logs, metadata_of(b"\2" * 16), {HERE: OffsetSpan(50, 100)})
    assert len(logs.asked) == 2
    await counted.read(logs, replace(METADATA, topics={}), {HERE: OffsetSpan(50, 100)})
    assert lag(counted, HERE, 50, 100) == (45, True)


async def test_what_nobody_asks_for_is_forgotten() -> None:
    counted = counts()
    await counted.read(ScriptedLogs({HERE: 100}), METADATA, {HERE: OffsetSpan(50, 100)})
    await counted.read(ScriptedLogs({}), METADATA, {})
    assert counted.of(HERE) is None


async def test_a_topic_that_may_not_be_read_is_told_and_not_asked_for_again() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    logs.answers[HERE] = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "orders")
    for _ in range(2):
        await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    assert counted.refused == {HERE: "this console may not read the topic"}
    assert lag(counted, HERE, 50, 100) == (50, False)
    assert len(logs.asked) == 1


async def test_an_offset_that_has_just_been_deleted_is_looked_at_next_time() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    logs.answers[HERE] = ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, "orders")
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    assert counted.of(HERE) is None
    logs.answers.clear()
    await counted.read(logs, METADATA, {HERE: OffsetSpan(60, 100)})
    assert lag(counted, HERE, 60, 100) == (36, True)


async def test_a_leader_that_does_not_answer_leaves_an_upper_bound() -> None:
    logs, counted = ScriptedLogs({HERE: 100}), counts()
    logs.failure = ApiTimeout("outlining logs did not succeed")
    await counted.read(logs, METADATA, {HERE: OffsetSpan(50, 100)})
    assert lag(counted, HERE, 50, 100) == (50, False)
    assert len(logs.asked) == 1


async def test_too_many_markers_are_not_read_again_and_again() -> None:
    """What is remembered is bounded: a group that is far behind keeps its upper bound until it is nearer."""
    logs, counted = ScriptedLogs({HERE: 400_000}, step=50_000), counts(most_offsets=1_000_000)
    span = {HERE: OffsetSpan(0, 400_000)}
    await counted.read(logs, METADATA, span)
    known = counted.of(HERE)
    assert known is not None
    assert (known.end, known.start > 0) == (400_000, True)
    assert lag(counted, HERE, 0, 400_000) == (400_000, False)
    await counted.read(logs, METADATA, span)
    assert len(logs.asked) == 8
    assert lag(counted, HERE, 399_990, 400_000) == (9, True)
