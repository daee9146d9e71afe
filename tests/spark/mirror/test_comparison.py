from __future__ import annotations

import random

import pytest

from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.comparison import (
    LOOK_AHEAD,
    MOST_DIFFERENCES,
    Comparison,
    PartitionResult,
    RecordCounts,
    check_group,
    compare_latest,
    describe,
)

PARTITION = TopicPartition("orders", 0)


def record(
    offset: int,
    value: bytes | None = None,
    *,
    key: bytes | None = b"k",
    headers: tuple[tuple[str, bytes | None], ...] = (),
    timestamp: int = 5,
) -> ConsumerRecord:
    return ConsumerRecord(
        topic="orders",
        partition=0,
        offset=offset,
        timestamp_ms=timestamp,
        timestamp_type=0,
        key=key,
        value=value,
        headers=headers,
        leader_epoch=0,
    )


def numbered(count: int, *, first: int = 0) -> list[ConsumerRecord]:
    return [record(first + number, b"%d" % number) for number in range(count)]


def compare(
    source: list[ConsumerRecord], target: list[ConsumerRecord], *, step: int = 100, timestamps: bool = True
) -> PartitionResult:
    result = PartitionResult(partition=PARTITION)
    comparison = Comparison(result, timestamps=timestamps)
    for begin in range(0, max(len(source), len(target)), step):
        comparison.add(source[begin : begin + step], target[begin : begin + step])
    comparison.finish()
    return result


def test_offsets_may_differ_and_nothing_else() -> None:
    result = compare(numbered(1000), numbered(1000, first=17))
    assert result.is_equal
    assert result.equal == 1000


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": b"x"}, "differ in value"),
        ({"value": None}, "differ in value"),
        ({"key": None}, "differ in key"),
        ({"headers": (("h", b""),)}, "differ in headers"),
        ({"timestamp_ms": 6}, "differ in timestamp"),
        ({"value": b"x", "key": b"y"}, "differ in key and value"),
    ],
)
def test_a_record_that_was_changed_is_told_as_one(change: dict[str, object], told: str) -> None:
    target = numbered(50, first=3)
    target[20] = target[20]._replace(**change)  # type: ignore[arg-type]
    result = compare(numbered(50), target)
    (difference,) = result.differences
    assert told in difference
    assert "source offset 20 and target offset 23" in difference
    assert result.equal == 49


def test_timestamps_count_only_where_the_target_keeps_them() -> None:
    assert compare([record(0, b"a")], [record(0, b"a", timestamp=9)], timestamps=False).is_equal


def test_missing_and_additional_records_are_told_once_and_the_rest_is_compared() -> None:
    source = numbered(2000)
    missing = [one for one in source if one.offset not in (100, 101, 1500)]
    result = compare(source, missing)
    assert [line.partition(" (")[0] for line in result.differences] == [
        "orders-0: the target lacks source offset 100",
        "orders-0: the target lacks source offset 101",
        "orders-0: the target lacks source offset 1500",
    ]
    assert result.equal == 1997
    result = compare(missing, source)
    assert [line.partition(",")[0] for line in result.differences] == [
        "orders-0: the target has offset 100",
        "orders-0: the target has offset 101",
        "orders-0: the target has offset 1500",
    ]


def test_an_end_that_is_missing_is_told() -> None:
    result = compare(numbered(10), numbered(7))
    assert len(result.differences) == 3
    assert result.equal == 7


def test_of_many_differences_the_first_are_told_and_the_others_counted() -> None:
    target = [one._replace(value=b"x%d" % one.offset) for one in numbered(100)]
    result = compare(numbered(100), target)
    assert len(result.differences) == MOST_DIFFERENCES
    assert result.more_differences == 100 - MOST_DIFFERENCES
    assert "orders-0: 0 records are equal, 100 differences" in describe([result])
    assert describe([result])[-1] == "orders-0: 80 more differences"


@pytest.mark.parametrize("seed", range(20))
def test_any_change_is_found_however_records_arrive(seed: int) -> None:
    chance = random.Random(seed)
    source = numbered(chance.randrange(1, 4 * LOOK_AHEAD))
    assert compare(source, list(source), step=chance.randrange(1, 300)).is_equal
    target = list(source)
    place = chance.randrange(len(source))
    match chance.randrange(3):
        case 0:
            target[place] = target[place]._replace(key=b"other")
        case 1:
            target.insert(place, record(-1, b"additional"))
        case 2:
            target[place] = target[place]._replace(headers=(("h", None),))
    assert len(compare(source, target, step=chance.randrange(1, 300)).differences) == 1
    assert not compare(source, source[:-1], step=chance.randrange(1, 300)).is_equal


def test_compacted_partitions_are_equal_if_the_last_of_each_key_is() -> None:
    source = [
        record(0, b"old", key=b"a"),
        record(1, b"new", key=b"a"),
        record(2, None, key=b"b"),
        record(3, b"1", key=b"c"),
    ]
    # A deleted key may be forgotten already.
    target = [record(0, b"new", key=b"a"), record(3, b"2", key=b"c")]
    result = PartitionResult(partition=PARTITION)
    compare_latest(result, {one.key: one for one in source}, {one.key: one for one in target})
    assert result.equal == 2
    (difference,) = result.differences
    assert "the last record of key 'c' differs" in difference


@pytest.mark.parametrize(
    ("committed", "translated", "ahead"),
    [(10, 20, 0), (13, 20, 0), (13, 22, 0), (14, 22, 0), (14, 24, 1), (11, 20, 0), (99, 99, 0), (13, 99, 2)],
)
def test_a_group_may_read_again_and_must_not_miss(committed: int, translated: int, ahead: int) -> None:
    source, target = RecordCounts([committed]), RecordCounts([translated])
    # The same four records, with gaps that differ.
    for offset in (10, 12, 14, 15):
        source.pass_by(offset)
    for offset in (20, 21, 22, 30):
        target.pass_by(offset)
    result = PartitionResult(partition=PARTITION)
    check_group(result, "g", source, target, committed=committed, translated=translated)
    assert [f"group 'g' is {ahead} records ahead" in one for one in result.differences] == [True] * bool(ahead)


def test_nothing_is_told_of_what_is_well() -> None:
    result = PartitionResult(partition=PARTITION, equal=1234, waiting=5, left_out=7)
    assert describe([result]) == [
        "orders-0: 1,234 records are equal, 7 are on one side only, after retention, 5 are not mirrored yet"
    ]
