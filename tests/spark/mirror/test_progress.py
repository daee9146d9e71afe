from __future__ import annotations

import pytest

from tidelog.client.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.groups import translated
from tidelog.spark.mirror.progress import MirrorRefused, Offsets, Verdict, decide
from tidelog.spark.mirror.runs import Run
from tidelog.spark.mirror.topics import MirroredTopics

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


@pytest.mark.parametrize(
    ("batch", "spans", "committed", "expected"),
    [
        (0, {}, {}, Verdict.SKIP),
        (5, {}, {A: 3}, Verdict.SKIP),
        (0, {A: (0, 4)}, {}, Verdict.PUBLISH),
        # A new checkpoint counts from 0 again, and goes on where the target ends.
        (0, {A: (5, 9)}, {A: 5}, Verdict.PUBLISH),
        # Offsets of the source may have gaps, and partitions may be new.
        (3, {A: (7, 9), B: (0, 0)}, {A: 5}, Verdict.PUBLISH),
        (3, {A: (5, 9), B: (0, 1)}, {A: 10, B: 2}, Verdict.SKIP),
        (3, {A: (5, 9)}, {A: 20}, Verdict.SKIP),
        (3, {A: (5, 9)}, {}, None),
        (3, {A: (5, 9)}, {A: 7}, None),
        (3, {A: (5, 9), B: (3, 4)}, {A: 10, B: 3}, None),
    ],
)
def test_a_batch_is_mirrored_once_or_refused(
    batch: int,
    spans: dict[TopicPartition, tuple[int, int]],
    committed: dict[TopicPartition, int],
    expected: Verdict | None,
) -> None:
    offsets = {part: Offsets(first=first, last=last) for part, (first, last) in spans.items()}
    if expected is None:
        with pytest.raises(MirrorRefused, match="elete the checkpoint"):
            decide(batch, offsets, committed, group="g")
    else:
        assert decide(batch, offsets, committed, group="g") is expected


def test_offsets_of_groups_are_translated_where_something_is_mirrored() -> None:
    topics = MirroredTopics(source={}, names=("a", "b"), pattern="", prefix="backup.")
    runs = {TopicPartition("backup.a", 0): [Run(10, 0, 5)]}
    committed = {A: OffsetAndMetadata(offset=12, metadata="mine"), B: OffsetAndMetadata(offset=3)}
    there = translated(committed, runs, topics)
    assert there == {TopicPartition("backup.a", 0): OffsetAndMetadata(offset=2, metadata="mine")}
