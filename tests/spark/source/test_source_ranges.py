"""Which ranges a batch reads. Properties of the arithmetic, and tables of what counts as a loss."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tidelog.model.ids import TopicPartition
from tidelog.spark.source.offsets import offsets_from_json, offsets_to_json, parse_offsets
from tidelog.spark.source.ranges import OffsetRange, lag, limit_offsets, new_offsets, plan_ranges, split_ranges

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)

partitions = st.builds(TopicPartition, st.sampled_from(["a", "b", "long-topic.name"]), st.integers(0, 40))
offsets = st.integers(0, 2**62)
partition_offsets = st.dictionaries(partitions, offsets, max_size=12)


@st.composite
def some_ranges(draw: st.DrawFn) -> list[OffsetRange]:
    starts = draw(partition_offsets)
    sizes = st.one_of(st.integers(0, 30), st.integers(0, 10_000))
    return [OffsetRange(partition=part, start=at, end=at + draw(sizes)) for part, at in starts.items()]


@given(partition_offsets)
def test_offsets_survive_sparks_checkpoint(offsets: dict[TopicPartition, int]) -> None:
    text = json.dumps(offsets_to_json(offsets))

    assert offsets_from_json(json.loads(text)) == offsets
    if offsets:
        assert parse_offsets(text) == offsets


@given(partition_offsets)
def test_equal_offsets_are_equal_text(offsets: dict[TopicPartition, int]) -> None:
    turned = dict(reversed(offsets.items()))

    assert json.dumps(offsets_to_json(turned)) == json.dumps(offsets_to_json(offsets))


@given(some_ranges(), st.none() | st.integers(1, 60), st.none() | st.integers(1, 500))
def test_pieces_cover_the_ranges_once_and_in_order(
    ranges: list[OffsetRange], min_partitions: int | None, max_records: int | None
) -> None:
    pieces = split_ranges(ranges, min_partitions=min_partitions, max_records=max_records)

    for whole in ranges:
        own = [piece for piece in pieces if piece.partition == whole.partition]
        position = whole.start
        for piece in own:
            assert piece.start == position
            assert piece.size > 0
            position = piece.end
        assert position == whole.end
    if max_records is not None:
        assert all(piece.size <= max_records for piece in pieces)
    if min_partitions is not None:
        assert len(pieces) >= min(min_partitions, sum(whole.size for whole in ranges))


@given(some_ranges(), st.integers(1, 60))
def test_ranges_are_not_cut_without_need(ranges: list[OffsetRange], min_partitions: int) -> None:
    not_empty = sum(1 for whole in ranges if whole.size)

    pieces = split_ranges(ranges, min_partitions=min_partitions)

    assert len(pieces) <= max(not_empty, min_partitions)


def test_the_longest_range_is_cut_first() -> None:
    ranges = [OffsetRange(partition=A0, start=0, end=10), OffsetRange(partition=A1, start=5, end=95)]

    pieces = split_ranges(ranges, min_partitions=4)

    assert [(piece.partition, piece.start, piece.end) for piece in pieces] == [
        (A0, 0, 10),
        (A1, 5, 35),
        (A1, 35, 65),
        (A1, 65, 95),
    ]


@given(st.integers(1, 10_000), st.dictionaries(partitions, st.tuples(offsets, st.integers(0, 5_000)), max_size=12))
def test_a_limit_gives_each_partition_its_share(limit: int, backlog: dict[TopicPartition, tuple[int, int]]) -> None:
    start = {partition: at for partition, (at, _) in backlog.items()}
    latest = {partition: at + size for partition, (at, size) in backlog.items()}

    end = limit_offsets(limit, start, latest, {})

    assert end.keys() == latest.keys()
    for partition, (_, size) in backlog.items():
        taken = end[partition] - start[partition]
        assert 0 <= taken <= size
        assert (taken > 0) == (size > 0)
    total = new_offsets(start, end, {})
    assert total <= limit + len(backlog)
    if new_offsets(start, latest, {}) <= limit:
        assert end == latest


@given(st.integers(1, 50), st.dictionaries(partitions, st.integers(0, 500), max_size=8))
def test_batches_under_a_limit_come_to_the_end(limit: int, latest: dict[TopicPartition, int]) -> None:
    position = dict.fromkeys(latest, 0)
    for _ in range(sum(latest.values()) + 1):
        if position == latest:
            break
        position = limit_offsets(limit, position, latest, {})

    assert position == latest


def test_a_partition_that_is_new_counts_from_its_beginning() -> None:
    assert limit_offsets(10, {A0: 100}, {A0: 200, A1: 120}, {A1: 20}) == {A0: 105, A1: 25}
    assert new_offsets({A0: 100}, {A0: 200, A1: 120}, {A1: 20}) == 200


def test_a_partition_that_ends_before_its_start_does_not_go_forward() -> None:
    assert limit_offsets(10, {A0: 100, A1: 0}, {A0: 50, A1: 100}, {}) == {A0: 50, A1: 10}
    assert lag({A0: 100}, {A0: 50, A1: 7}) == {A0: 0, A1: 7}


def test_a_batch_reads_what_lies_between_two_offsets() -> None:
    plan = plan_ranges({A0: 5, A1: 7}, {A0: 9, A1: 7}, {})

    assert plan.ranges == (OffsetRange(partition=A0, start=5, end=9),)
    assert plan.losses == ()


def test_a_new_partition_is_read_from_its_beginning() -> None:
    plan = plan_ranges({A0: 5}, {A0: 5, A1: 3}, {A1: 0})

    assert plan.ranges == (OffsetRange(partition=A1, start=0, end=3),)
    assert plan.losses == ()


def test_a_new_partition_that_has_lost_records_already_is_told() -> None:
    plan = plan_ranges({}, {A1: 9}, {A1: 4})

    assert plan.ranges == (OffsetRange(partition=A1, start=4, end=9),)
    assert plan.losses == ("the new partition a-1 begins at offset 4, not at 0",)


def test_a_partition_that_is_gone_is_told() -> None:
    plan = plan_ranges({A0: 5, B0: 8}, {A0: 6}, {})

    assert plan.ranges == (OffsetRange(partition=A0, start=5, end=6),)
    assert plan.losses == ("partition b-0 is gone; the query had read it up to offset 8",)


def test_a_log_that_has_become_shorter_is_told() -> None:
    plan = plan_ranges({A0: 50}, {A0: 20}, {})

    assert plan.ranges == ()
    assert plan.losses == ("partition a-0 ends at offset 20, but the query had read it up to offset 50",)


def test_a_topic_that_was_recreated_is_read_from_its_beginning() -> None:
    plan = plan_ranges({A0: 50, B0: 1}, {A0: 60, B0: 2}, {A0: 0}, recreated={"a"})

    assert plan.ranges == (
        OffsetRange(partition=A0, start=0, end=60),
        OffsetRange(partition=B0, start=1, end=2),
    )


def test_a_first_batch_that_is_run_again_later_is_empty_where_the_query_begins_at_the_end() -> None:
    plan = plan_ranges({A0: 50}, {A0: 20}, {}, started_at_end={A0})

    assert plan == plan_ranges({}, {}, {})
