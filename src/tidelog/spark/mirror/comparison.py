"""Are two partitions the same record by record? Fed with the records of both sides, in their order. Pure.

Offsets differ between clusters and are not compared; keys, values, headers and timestamps are. After a difference the
two sides are brought into step again by looking ahead, so that one missing record is reported as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.model.ids import TopicPartition

LOOK_AHEAD = 256
MOST_DIFFERENCES = 20
_SHOWN_BYTES = 40

Latest = Mapping[bytes | None, ConsumerRecord]


@dataclass(slots=True, kw_only=True)
class PartitionResult:
    """`waiting` are records of the source that the mirror has not reached yet; they are no difference."""

    partition: TopicPartition
    equal: int = 0
    waiting: int = 0
    # Records that one side has deleted by its retention or compaction, and that were not compared therefore.
    left_out: int = 0
    differences: list[str] = field(default_factory=list)
    more_differences: int = 0

    @property
    def is_equal(self) -> bool:
        return not self.differences

    def differs(self, what: str) -> None:
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(f"{self.partition}: {what}")
        else:
            self.more_differences += 1


class RecordCounts:
    """How many records lie before given offsets: learned while the records of a partition pass by.

    The first `skipped` records do not count, because the other side has deleted them.
    """

    def __init__(self, offsets: Iterable[int], *, skipped: int = 0) -> None:
        self._coming = sorted(set(offsets), reverse=True)
        self._before: dict[int, int] = {}
        self._records = -skipped

    def pass_by(self, offset: int) -> None:
        while self._coming and self._coming[-1] <= offset:
            self._before[self._coming.pop()] = self._records
        self._records += 1

    def before(self, offset: int) -> int:
        """Behind the last record are all; below 0 among those that are skipped."""
        return self._before.get(offset, self._records)


class Comparison:
    """Two sequences that should be the same. Records are added to either side as they come."""

    def __init__(self, result: PartitionResult, *, timestamps: bool = True) -> None:
        self._result = result
        self._compared = ("key", "value", "headers", *(("timestamp_ms",) if timestamps else ()))
        self._source: list[ConsumerRecord] = []
        self._target: list[ConsumerRecord] = []

    @property
    def wants_source(self) -> bool:
        return len(self._source) < 2 * LOOK_AHEAD

    @property
    def wants_target(self) -> bool:
        return len(self._target) < 2 * LOOK_AHEAD

    def add(self, source: Sequence[ConsumerRecord], target: Sequence[ConsumerRecord]) -> None:
        self._source += source
        self._target += target
        # Something is kept to look ahead to.
        self._advance(keep=LOOK_AHEAD)

    def finish(self) -> None:
        self._advance(keep=0)
        self._miss(self._source)
        self._surplus(self._target)

    def _advance(self, keep: int) -> None:
        source, target = self._source, self._target
        here = there = 0
        while len(source) - here > keep and len(target) - there > keep:
            if not self._unlike(source[here], target[there]):
                self._result.equal += 1
                here, there = here + 1, there + 1
                continue
            here, there = self._step_over(here, there)
        self._source, self._target = source[here:], target[there:]

    def _step_over(self, here: int, there: int) -> tuple[int, int]:
        """Tell the difference, and where the two sides are in step again."""
        source, target = self._source, self._target
        one, other = source[here], target[there]
        for distance in range(1, LOOK_AHEAD):
            later_here, later_there = here + distance, there + distance
            both = later_here < len(source) and later_there < len(target)
            if distance == 1 and both and not self._unlike(source[later_here], target[later_there]):
                break
            if later_here < len(source) and not self._unlike(source[later_here], other):
                self._miss(source[here:later_here])
                return later_here, there
            if later_there < len(target) and not self._unlike(one, target[later_there]):
                self._surplus(target[there:later_there])
                return here, later_there
        what = " and ".join(name.removesuffix("_ms") for name in self._unlike(one, other))
        self._result.differs(
            f"source offset {one.offset} and target offset {other.offset} differ in {what} "
            f"({_shown(one)} / {_shown(other)})"
        )
        return here + 1, there + 1

    def _unlike(self, one: ConsumerRecord, other: ConsumerRecord) -> list[str]:
        return [name for name in self._compared if getattr(one, name) != getattr(other, name)]

    def _miss(self, records: Sequence[ConsumerRecord]) -> None:
        for record in records:
            self._result.differs(f"the target lacks source offset {record.offset} ({_shown(record)})")

    def _surplus(self, records: Sequence[ConsumerRecord]) -> None:
        for record in records:
            self._result.differs(f"the target has offset {record.offset}, which the source lacks ({_shown(record)})")


def compare_latest(result: PartitionResult, source: Latest, target: Latest, *, timestamps: bool = True) -> None:
    """What compacted partitions say: the last record of each key. Either side may have forgotten older ones."""
    for key in {**source, **target}:
        one, other = source.get(key), target.get(key)
        if _content(one, timestamps) == _content(other, timestamps):
            result.equal += 1
            continue
        result.differs(f"the last record of key {_bytes(key)} differs ({_shown(one)} / {_shown(other)})")


def check_group(
    result: PartitionResult,
    group: str,
    source: RecordCounts,
    target: RecordCounts,
    *,
    committed: int,
    translated: int,
) -> None:
    """A group at the target may read records again, but must not miss one."""
    ahead = target.before(translated) - max(0, source.before(committed))
    if ahead > 0:
        result.differs(
            f"group {group!r} is {ahead} records ahead at the target (offset {translated}) "
            f"than at the source (offset {committed}): it would miss them, unless it has read them there"
        )


def describe(results: Sequence[PartitionResult]) -> list[str]:
    """One line for each partition, then what differs."""
    lines = []
    for result in results:
        notes = [f"{result.equal:,} records are equal"]
        if result.left_out:
            notes.append(f"{result.left_out:,} are on one side only, after retention")
        if result.waiting:
            notes.append(f"{result.waiting:,} are not mirrored yet")
        count = len(result.differences) + result.more_differences
        if count:
            notes.append(f"{count:,} differences")
        lines.append(f"{result.partition}: {', '.join(notes)}")
    for result in results:
        lines += result.differences
        if result.more_differences:
            lines.append(f"{result.partition}: {result.more_differences:,} more differences")
    return lines


def _content(record: ConsumerRecord | None, timestamps: bool) -> object:
    # A deleted key is the same as one that was never there: compaction forgets it in the end.
    if record is None or record.value is None:
        return None
    return record.value, record.headers, record.timestamp_ms if timestamps else 0


def _shown(record: ConsumerRecord | None) -> str:
    return "nothing" if record is None else f"key {_bytes(record.key)}, value {_bytes(record.value)}"


def _bytes(content: bytes | None) -> str:
    if content is None:
        return "null"
    return repr(content[:_SHOWN_BYTES])[1:] + ("..." if len(content) > _SHOWN_BYTES else "")
