from __future__ import annotations

from dataclasses import replace

import pytest

from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.groups import translated
from tidelog.spark.mirror.progress import MirrorRefused, is_last_batch, is_mirrored
from tidelog.spark.mirror.runs import OffsetRun
from tidelog.spark.mirror.topics import MirroredTopics
from tidelog.spark.sink.batch_identity import BEGINNING, Reads
from tidelog.spark.sink.note import Note

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


@pytest.mark.parametrize(
    ("batch", "spans", "committed", "expected"),
    [
        (0, {}, {}, True),
        (5, {}, {A: 3}, True),
        (0, {A: (0, 4)}, {}, False),
        # A new checkpoint counts from 0 again, and goes on where the target ends.
        (0, {A: (5, 9)}, {A: 5}, False),
        # Offsets of the source may have gaps, and partitions may be new.
        (3, {A: (7, 9), B: (0, 0)}, {A: 5}, False),
        (3, {A: (5, 9), B: (0, 1)}, {A: 10, B: 2}, True),
        (3, {A: (5, 9)}, {A: 20}, True),
        (3, {A: (5, 9)}, {}, None),
        (3, {A: (5, 9)}, {A: 7}, None),
        (3, {A: (5, 9), B: (3, 4)}, {A: 10, B: 3}, None),
    ],
)
def test_a_batch_is_mirrored_once_or_refused(
    batch: int,
    spans: dict[TopicPartition, tuple[int, int]],
    committed: dict[TopicPartition, int],
    expected: bool | None,
) -> None:
    offsets = {part: range(first, last + 1) for part, (first, last) in spans.items()}
    if expected is None:
        with pytest.raises(MirrorRefused, match="elete the checkpoint"):
            is_mirrored(batch, offsets, committed, group="g")
    else:
        assert is_mirrored(batch, offsets, committed, group="g") is expected


def test_offsets_of_groups_are_translated_where_something_is_mirrored() -> None:
    topics = MirroredTopics(source={}, names=("a", "b"), pattern="", prefix="backup.")
    runs = {TopicPartition("backup.a", 0): [OffsetRun(10, 0, 5)]}
    committed = {A: OffsetAndMetadata(offset=12, metadata="mine"), B: OffsetAndMetadata(offset=3)}
    there = translated(committed, runs, topics)
    assert there == {TopicPartition("backup.a", 0): OffsetAndMetadata(offset=2, metadata="mine")}


def reads(start: int | None, end: int) -> Reads:
    return Reads(start=BEGINNING if start is None else f"at {start}", end=f"at {end}", until=f"{{{end}}}")


LAST = Note(run="a", batch=4, reads=reads(30, 40))


@pytest.mark.parametrize(
    ("coming", "last", "outcome"),
    [
        # Nobody has noted anything: the offsets decide alone.
        (Note(run="a", batch=0, reads=reads(None, 0)), None, False),
        (Note(run="a", batch=7, reads=None), None, False),
        # The driver died after the commit.
        (LAST, LAST, True),
        # The next one.
        (Note(run="a", batch=5, reads=reads(40, 50)), LAST, False),
        (Note(run="a", batch=5, reads=reads(40, 50)), replace(LAST, reads=None), False),
        (Note(run="a", batch=5, reads=reads(39, 50)), LAST, "does not begin where"),
        (Note(run="a", batch=5, reads=None), LAST, "does not begin where"),
        (Note(run="a", batch=6, reads=reads(40, 50)), LAST, "is 4: the checkpoint is not the one"),
        # The checkpoint is old.
        (Note(run="a", batch=4, reads=reads(30, 41)), LAST, "with other input"),
        (Note(run="a", batch=4, reads=None), LAST, "with other input"),
        (Note(run="a", batch=4, reads=None), replace(LAST, reads=None), False),
        (Note(run="a", batch=3, reads=reads(20, 30)), LAST, "the checkpoint is not the one"),
        # A new checkpoint takes over, an old one of another run does not.
        (Note(run="b", batch=0, reads=reads(None, 50)), LAST, False),
        (Note(run="b", batch=5, reads=reads(40, 50)), LAST, "another run of this mirror is ahead"),
    ],
)
def test_batch_is_the_last_one_or_the_next_one_or_refused(coming: Note, last: Note | None, outcome: bool | str) -> None:
    if isinstance(outcome, bool):
        assert is_last_batch(coming, last, group="g") is outcome
        return
    with pytest.raises(MirrorRefused, match="Delete the checkpoint") as refused:
        is_last_batch(coming, last, group="g")
    assert outcome in str(refused.value)
