"""Which open transactions hold back the last stable offset of which partitions, and which groups wait for them. No I/O.

Consumers with `isolation.level=read_committed` stop at the last stable offset, where the first open transaction of a
partition begins, whoever has written what is behind it. A group whose next offset is that one waits. One that is before
it has other records to read first, and one that is behind it reads uncommitted records and does not wait. Of a group
that has committed nothing in the partition nobody can tell: where it begins to read is the business of its members.

The questions that these readings come from are asked one after the other, so they may contradict each other: a
transaction may end, and the next one begin, between two of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tidelog.client.admin import TransactionListing
from tidelog.client.browsing import Entry, RecordEntry, TransactionOutcome
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInPartition:
    """A producer's open transaction, as the leader of a partition knows it. It began there at `start_offset`."""

    producer_id: int
    start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReading:
    last_stable_offset: int
    high_watermark: int
    transactions: tuple[OpenInPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTransaction:
    """What its coordinator knows of a producer id. It will end the transaction in these partitions, and no others.

    `partitions` is None if the coordinator has not told them."""

    transactional_id: str
    start_ms: int | None
    partitions: frozenset[TopicPartition] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlaces:
    """`offsets` are where the group goes on reading: committed offsets, moved past what no consumer sees."""

    group_id: str
    has_members: bool
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingGroup:
    group_id: str
    # A group without members would wait if it had some.
    has_members: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPartition:
    """Readers of committed records stop at `offset`, although there are records up to `high_watermark`.

    `queue` are the producers of other open transactions, which hold the partition back when this one has ended.
    `is_expected` is False if no coordinator was going to end the transaction here when it was asked: if that stays so,
    it hangs. It is True where the coordinator has not answered.
    """

    partition: TopicPartition
    offset: int
    high_watermark: int
    waiting: tuple[WaitingGroup, ...]
    queue: tuple[int, ...]
    is_expected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingBack:
    """One transaction. `transaction` is None if no transactional id that this client sees has the producer id."""

    producer_id: int
    transaction: KnownTransaction | None
    partitions: tuple[HeldPartition, ...]

    @property
    def waiting(self) -> tuple[WaitingGroup, ...]:
        """In any of the partitions, those with members first."""
        found = {group for held in self.partitions for group in held.waiting}
        return tuple(sorted(found, key=lambda group: (not group.has_members, group.group_id)))


def not_described(listing: TransactionListing) -> KnownTransaction:
    """What is known of an id that its coordinator has listed, and then not described."""
    return KnownTransaction(transactional_id=listing.transactional_id, start_ms=None, partitions=None)


def is_gone(problem: ApiError) -> bool:
    """Whether an id that was listed and could not be described has expired in between. Other problems, such as a
    coordinator that has not answered, tell nothing of its transaction."""
    return problem.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def who_holds_back(
    partitions: Mapping[TopicPartition, PartitionReading],
    transactions: Mapping[int, KnownTransaction],
    groups: Iterable[GroupPlaces],
) -> list[HoldingBack]:
    """By producer id in `transactions`. The one that has been open for longest comes first."""
    everyone = tuple(groups)
    held: dict[int, list[HeldPartition]] = defaultdict(list)
    for partition, reading in sorted(partitions.items()):
        opened = still_open(reading)
        if not opened or opened[0].start_offset >= reading.high_watermark:
            # What it has written is not committed itself yet: nobody could read further without the transaction.
            continue
        first, *others = opened
        known = transactions.get(first.producer_id)
        held[first.producer_id].append(
            HeldPartition(
                partition=partition,
                offset=first.start_offset,
                high_watermark=reading.high_watermark,
                waiting=tuple(_waiting(partition, first.start_offset, everyone)),
                queue=tuple(other.producer_id for other in others),
                is_expected=known is not None and (known.partitions is None or partition in known.partitions),
            )
        )
    found = [
        HoldingBack(producer_id=producer_id, transaction=transactions.get(producer_id), partitions=tuple(theirs))
        for producer_id, theirs in held.items()
    ]
    return sorted(found, key=_age)


class Suspicions:
    """Which transactions hang: those that no coordinator was going to end in two readings, one after the other. What
    has begun or ended between two questions of one reading is known in the next one.

    Coordinators list only the ids that a client may describe. If some may be hidden, nothing is known of a transaction
    that none of the others has.
    """

    def __init__(self) -> None:
        self._suspects: frozenset[tuple[TopicPartition, int, int]] = frozenset()
        self.hanging: frozenset[TopicPartition] = frozenset()

    @property
    def are_open(self) -> bool:
        """The next reading decides about some."""
        return any(partition not in self.hanging for partition, _, _ in self._suspects)

    def note(self, holding: Iterable[HoldingBack], *, ids_may_be_hidden: bool) -> None:
        suspects = frozenset(
            (held.partition, one.producer_id, held.offset)
            for one in holding
            if one.transaction is not None or not ids_may_be_hidden
            for held in one.partitions
            if not held.is_expected
        )
        self.hanging = frozenset(partition for partition, _, _ in suspects & self._suspects)
        self._suspects = suspects


def still_open(reading: PartitionReading) -> Sequence[OpenInPartition]:
    """In the order of the log, without those that have ended since the producers were asked for: the last stable offset
    has passed them."""
    opened = [each for each in reading.transactions if each.start_offset >= reading.last_stable_offset]
    return sorted(opened, key=lambda each: each.start_offset)


def next_visible(offset: int, end: int, entries: Iterable[Entry]) -> int:
    """Where a reader of committed records goes on that has committed `offset`: past control records, aborted records
    and gaps, at most to `end`. `entries` are those of the log from `offset` on."""
    position = offset
    for entry in entries:
        if entry.offset >= end:
            return end
        if isinstance(entry, RecordEntry) and entry.outcome is not TransactionOutcome.ABORTED:
            return entry.offset
        position = max(position, getattr(entry, "last_offset", entry.offset) + 1)
    return min(position, end)


def _waiting(partition: TopicPartition, offset: int, groups: Iterable[GroupPlaces]) -> Iterable[WaitingGroup]:
    for group in sorted(groups, key=lambda each: (not each.has_members, each.group_id)):
        if group.offsets.get(partition) == offset:
            yield WaitingGroup(group_id=group.group_id, has_members=group.has_members)


def _age(holding: HoldingBack) -> tuple[bool, int, int]:
    """Those that nobody knows come first: only an operator ends them."""
    known = holding.transaction
    start = known.start_ms if known is not None and known.start_ms is not None else 0
    return (known is not None, start, holding.producer_id)
