"""Whether a history was allowed: the invariants I1 to I9, each a pure function over what clients saw.

I1 one value per partition and offset, whoever reads it, whenever.
I2 an acknowledged record is never lost; a transaction with one visible record is visible whole.
I3 a read_committed reader never sees a record of an aborted or open transaction.
I4 no value at two offsets when the producer is idempotent.
I5 a reader never skips or goes back within its assignment.
I6 one producer's records in one partition keep their order.
I7 after faults heal, every replica converges and every reader reaches the end within a bound.
I8 consume-process-produce: the output equals the input exactly, per partition in order.
I9 what was answered to an administrator holds on every node: topics that are created, changed or deleted.

I10, that no broker which is alive is fenced as gone, is not about what clients saw: the world checks it as it happens.
I11, that nobody waits for what is there already, is in `tidelog.simulation.checks.stalls`.
I12, that no client costs another one its coordinator, is in `tidelog.simulation.checks.disturbance`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.checks.history import (
    Acknowledged,
    Administered,
    Ended,
    Ending,
    FinalState,
    Guarantee,
    History,
    Isolation,
    Outcome,
    Positioned,
    Read,
    ReplicaLog,
    Sent,
    TopicState,
)

# Of each invariant so many violations are reported; the first ones say most.
MAX_REPORTED = 5

_Position = tuple[TopicPartition, int]


class Violation(NamedTuple):
    invariant: str
    message: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.message}"


@dataclass(slots=True)
class _Transaction:
    values: list[bytes] = field(default_factory=list)
    # The position in the history at which the client began to commit.
    commit_began: int | None = None
    outcome: Outcome = Outcome.UNKNOWN


class _Facts:
    """The history, looked up by what the checkers need."""

    def __init__(self, history: History, final: FinalState) -> None:
        self.final = final
        self.sent: dict[bytes, Sent] = {}
        self.acknowledged: dict[bytes, Acknowledged] = {}
        self.transactions: dict[str, _Transaction] = defaultdict(_Transaction)
        # Reads and positions with their index in the history.
        self.reading: list[tuple[int, Read | Positioned]] = []
        # The last word on each topic of an administrator.
        self.administered: dict[str, Administered] = {}
        for index, event in enumerate(history.events):
            if isinstance(event, Read | Positioned):
                self.reading.append((index, event))
            elif isinstance(event, Sent):
                self.sent[event.value] = event
                if event.transaction is not None:
                    self.transactions[event.transaction].values.append(event.value)
            elif isinstance(event, Administered):
                self.administered[event.topic] = event
            elif isinstance(event, Acknowledged):
                self.acknowledged[event.value] = event
            elif isinstance(event, Ending):
                if event.commit:
                    self.transactions[event.transaction].commit_began = index
            elif isinstance(event, Ended):
                self.transactions[event.transaction].outcome = event.outcome
        # Whether the end was reached, so that what is not there can be called lost.
        self.complete = not final.unfinished

    def observations(self) -> Iterator[tuple[_Position, bytes, str]]:
        """Everything that says which value is at which offset."""
        for _, event in self.reading:
            if isinstance(event, Read):
                yield (event.partition, event.offset), event.value, f"{event.reader} at {event.time:.3f} s"
        for read in (*self.final.uncommitted, *self.final.committed):
            yield (read.partition, read.offset), read.value, f"{read.reader} at the end"
        for replica in self.final.replicas:
            for record in replica.records:
                if record.offset < replica.high_watermark and record.value is not None:
                    yield (replica.partition, record.offset), record.value, f"the log of {replica.node} at the end"
        for value, answer in self.acknowledged.items():
            sent = self.sent.get(value)
            if answer.offset >= 0 and sent is not None and sent.guarantee is not Guarantee.NONE:
                yield (answer.partition, answer.offset), value, f"the answer to {sent.producer} at {answer.time:.3f} s"

    def start_of(self, partition: TopicPartition) -> int:
        """Below this offset records were deleted on purpose."""
        return max((each.start_offset for each in self.final.replicas if each.partition == partition), default=0)


def check(history: History, final: FinalState) -> list[Violation]:
    """All violations, a bounded number of each invariant."""
    facts = _Facts(history, final)
    found: list[Violation] = []
    for name, checker in CHECKERS.items():
        for number, message in enumerate(checker(facts)):
            if number == MAX_REPORTED:
                found.append(Violation(name, "and more of them"))
                break
            found.append(Violation(name, message))
    return found


def _one_value_per_offset(facts: _Facts) -> Iterator[str]:
    seen: dict[_Position, tuple[bytes, str]] = {}
    for position, value, source in facts.observations():
        first, first_source = seen.setdefault(position, (value, source))
        if first != value:
            partition, offset = position
            yield f"{partition} offset {offset} is {_show(first)} for {first_source} and {_show(value)} for {source}"


def _nothing_lost(facts: _Facts) -> Iterator[str]:
    if not facts.complete:
        return
    stored_at: dict[bytes, set[_Position]] = defaultdict(set)
    for read in facts.final.uncommitted:
        stored_at[read.value].add((read.partition, read.offset))
    for value, answer in facts.acknowledged.items():
        sent = facts.sent.get(value)
        if sent is None or sent.guarantee is Guarantee.NONE:
            continue
        if 0 <= answer.offset < facts.start_of(answer.partition):
            continue
        found = stored_at.get(value, set())
        where = f"offset {answer.offset}" if answer.offset >= 0 else "some offset"
        if not found or (answer.offset >= 0 and (answer.partition, answer.offset) not in found):
            yield f"{_show(value)} was acknowledged at {answer.time:.3f} s for {answer.partition} {where} and is lost"
    yield from _transactions_whole(facts)


def _transactions_whole(facts: _Facts) -> Iterator[str]:
    visible = {read.value for read in facts.final.committed}
    for name, transaction in facts.transactions.items():
        stored = [value for value in transaction.values if value in facts.acknowledged]
        missing = [value for value in stored if value not in visible]
        if not missing:
            continue
        if transaction.outcome is Outcome.COMMITTED:
            yield f"transaction {name} was committed, but {_show(missing[0])} is not visible"
        elif len(missing) < len(stored):
            yield f"transaction {name} is visible in part: {_show(missing[0])} is missing"


def _only_committed_seen(facts: _Facts) -> Iterator[str]:
    readings = [*facts.reading, *((None, read) for read in facts.final.committed)]
    for index, event in readings:
        if not isinstance(event, Read) or event.isolation is not Isolation.COMMITTED:
            continue
        sent = facts.sent.get(event.value)
        if sent is None or sent.transaction is None:
            continue
        transaction = facts.transactions[sent.transaction]
        if transaction.outcome is Outcome.ABORTED:
            yield f"{event.reader} saw {_show(event.value)} of transaction {sent.transaction}, which was aborted"
        elif transaction.commit_began is None or (index is not None and index < transaction.commit_began):
            yield f"{event.reader} saw {_show(event.value)} of transaction {sent.transaction}, which was still open"


def _nothing_twice(facts: _Facts) -> Iterator[str]:
    first_seen: dict[bytes, tuple[_Position, str]] = {}
    reported: set[bytes] = set()
    for position, value, source in facts.observations():
        sent = facts.sent.get(value)
        if sent is None or sent.guarantee is not Guarantee.EXACTLY_ONCE or value in reported:
            continue
        first = first_seen.setdefault(value, (position, source))
        if first[0] != position:
            reported.add(value)
            yield (
                f"{_show(value)} is at {first[0][0]} offset {first[0][1]} ({first[1]}) and at "
                f"{position[0]} offset {position[1]} ({source})"
            )


def _readers_go_on(facts: _Facts) -> Iterator[str]:
    visible = {
        Isolation.UNCOMMITTED: _offsets(facts.final.uncommitted),
        Isolation.COMMITTED: _offsets(facts.final.committed),
    }
    expected: dict[tuple[str, TopicPartition], int] = {}
    for _, event in facts.reading:
        key = (event.reader, event.partition)
        if isinstance(event, Positioned):
            if event.offset >= 0:
                expected[key] = event.offset
            else:
                expected.pop(key, None)
            continue
        before = expected.get(key)
        expected[key] = event.offset + 1
        if before is None:
            continue
        where = f"{event.reader} in {event.partition} at {event.time:.3f} s"
        if event.offset < before:
            yield f"{where} went back: offset {event.offset} came when {before} was next"
        elif facts.complete:
            offsets = visible[event.isolation].get(event.partition, [])
            at = bisect_left(offsets, before)
            if at < len(offsets) and offsets[at] < event.offset:
                yield f"{where} skipped offset {offsets[at]}: {event.offset} came when {before} was next"


def _offsets(reads: Sequence[Read]) -> dict[TopicPartition, list[int]]:
    by_partition: dict[TopicPartition, list[int]] = defaultdict(list)
    for read in reads:
        by_partition[read.partition].append(read.offset)
    return {partition: sorted(offsets) for partition, offsets in by_partition.items()}


def _order_kept(facts: _Facts) -> Iterator[str]:
    last: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
    for read in sorted(facts.final.uncommitted, key=lambda read: (read.partition, read.offset)):
        sent = facts.sent.get(read.value)
        if sent is None or sent.guarantee is not Guarantee.EXACTLY_ONCE:
            continue
        key = (sent.producer, read.partition)
        before = last.get(key)
        if before is not None and sent.number < before[0]:
            yield (
                f"record {sent.number} of {sent.producer} in {read.partition} is at offset {read.offset}, "
                f"behind record {before[0]} at offset {before[1]}"
            )
        last[key] = (sent.number, read.offset)


def _all_converged(facts: _Facts) -> Iterator[str]:
    yield from facts.final.unfinished
    by_partition: dict[TopicPartition, list[ReplicaLog]] = defaultdict(list)
    for replica in facts.final.replicas:
        by_partition[replica.partition].append(replica)
    for partition, replicas in by_partition.items():
        first = replicas[0]
        for other in replicas[1:]:
            if other.end_offset != first.end_offset:
                yield (
                    f"{partition} ends at {first.end_offset} on {first.node} and at {other.end_offset} on {other.node}"
                )
                continue
            if other.high_watermark != first.high_watermark:
                yield (
                    f"the high watermark of {partition} is {first.high_watermark} on {first.node} and "
                    f"{other.high_watermark} on {other.node}"
                )
            start = max(first.start_offset, other.start_offset)
            one = [record for record in first.records if record.offset >= start]
            another = [record for record in other.records if record.offset >= start]
            if one != another:
                differing = next((pair for pair in zip(one, another, strict=False) if pair[0] != pair[1]), None)
                yield f"{partition} differs between {first.node} and {other.node}: {differing}"


def _output_equals_input(facts: _Facts) -> Iterator[str]:
    if not facts.complete:
        return
    committed: dict[TopicPartition, list[bytes]] = defaultdict(list)
    for read in sorted(facts.final.committed, key=lambda read: (read.partition, read.offset)):
        committed[read.partition].append(read.value)
    for output, source in facts.final.derived.items():
        partitions = {each for each in committed if each.topic == source}
        partitions |= {TopicPartition(source, each.partition) for each in committed if each.topic == output}
        for partition in sorted(partitions):
            expected = [derive(value) for value in committed.get(partition, [])]
            found = committed.get(TopicPartition(output, partition.partition), [])
            if found != expected:
                yield _difference(output, partition, expected, found)


def _answers_to_administrators_hold(facts: _Facts) -> Iterator[str]:
    for event in facts.administered.values():
        if not event.known:
            continue
        for node, topics in facts.final.topics.items():
            found = topics.get(event.topic)
            if found != event.state:
                yield (
                    f"{event.topic} is {_describe(found)} on {node}, but the answer to {event.administrator} at "
                    f"{event.time:.3f} s was that it is {_describe(event.state)} ({event.request})"
                )


def _describe(state: TopicState | None) -> str:
    if state is None:
        return "not there"
    return f"there with {state.partitions} partitions and {dict(state.configs)}"


def derive(value: bytes) -> bytes:
    """What consume-process-produce makes of a record."""
    return b"from " + value


def _difference(output: str, partition: TopicPartition, expected: list[bytes], found: list[bytes]) -> str:
    at = next((i for i, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        at = min(len(expected), len(found))
    wanted = _show(expected[at]) if at < len(expected) else "nothing"
    got = _show(found[at]) if at < len(found) else "nothing"
    return f"{output} differs from {partition} at record {at}: {got} instead of {wanted}"


def _show(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


CHECKERS: dict[str, Callable[[_Facts], Iterator[str]]] = {
    "I1": _one_value_per_offset,
    "I2": _nothing_lost,
    "I3": _only_committed_seen,
    "I4": _nothing_twice,
    "I5": _readers_go_on,
    "I6": _order_kept,
    "I7": _all_converged,
    "I8": _output_equals_input,
    "I9": _answers_to_administrators_hold,
}
