"""What open transactions do to the partitions that they have written to: read for the pages of transactions.

Only partitions with an open transaction are looked at, all of them in a few requests. Groups and their offsets are
asked for only while a transaction holds something back, and less often.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from tidelog.client.admin import Admin, GroupListing, ProducerState
from tidelog.client.offsets.listing import OffsetAndTimestamp
from tidelog.console.findings.holding_back import (
    GroupPlaces,
    HoldingBack,
    KnownTransaction,
    OpenInPartition,
    PartitionReading,
    Suspicions,
    next_visible,
    who_holds_back,
)
from tidelog.console.hidden_ids import ids_may_be_hidden
from tidelog.console.listings import listed_groups
from tidelog.console.parts import ConsoleParts
from tidelog.console.replies import EXPECTED_FAILURES, Json
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import LATEST

V = TypeVar("V")

# More than people look through, and less than a broker notices.
MOST_PARTITIONS = 500
MOST_GROUPS = 500
# Of what one transaction holds back.
_PARTITIONS_TOLD = 100
_GROUPS_TOLD = 100
_GROUPS_SECONDS = 5.0
# A partition without a leader is not waited for longer.
_PATIENCE_MS = 2_000
# A group that is so close before a transaction may have nothing but control records in front of it, which is looked up
# in the log for so many groups and partitions at each reading.
_NEAR = 50
_MOST_LOOKS = 20
_LOOK_BYTES = 64 << 10

_NO_MEMBERS = ("Empty", "Dead")
_WITH_OFFSETS = ("consumer", "streams")

# A group's committed offset in a partition, and where the transaction begins that it may wait for.
_Look = tuple[TopicPartition, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransactions:
    """`producers` and `readings` are those of the partitions that have answered, `problems` of the others."""

    holding: list[HoldingBack]
    # The partitions in which transactions hang, as it seems.
    hanging: frozenset[TopicPartition]
    # What no id is known of may belong to one that this client does not see.
    ids_may_be_hidden: bool
    # Coordinators that have not answered, and partitions without one: what no id is known of may be theirs.
    silent: tuple[int, ...]
    leaderless: int
    producers: Mapping[TopicPartition, tuple[ProducerState, ...]]
    readings: Mapping[TopicPartition, PartitionReading]
    problems: Mapping[TopicPartition, ApiError]
    # False if this client may not see groups, or some of their offsets.
    groups_told: bool


class OpenTransactionsReader:
    """It remembers the places of groups between readings, and what no coordinator knew."""

    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._groups_at: float | None = None
        self._groups_of: frozenset[TopicPartition] = frozenset()
        self._groups: list[_CommittedOffsets] = []
        self._groups_told = True
        self._looks: dict[_Look, int] = {}
        self._suspicions = Suspicions()

    async def read(
        self,
        admin: Admin,
        transactions: Mapping[int, KnownTransaction],
        partitions: Collection[TopicPartition],
        *,
        silent: tuple[int, ...] = (),
        leaderless: int = 0,
    ) -> OpenTransactions:
        """`silent` are coordinators whose transactions are not known, `leaderless` is how many partitions have no
        coordinator. Raises UnsupportedByBroker where brokers do not describe producers."""
        if not partitions:
            self._suspicions.note((), ids_may_be_hidden=False)
            return OpenTransactions(
                holding=[],
                hanging=frozenset(),
                ids_may_be_hidden=False,
                silent=silent,
                leaderless=leaderless,
                producers={},
                readings={},
                problems={},
                groups_told=True,
            )
        producers, stable, ends = await asyncio.gather(
            admin.describe_producers(partitions, timeout_ms=_PATIENCE_MS),
            admin.list_offsets(dict.fromkeys(partitions, LATEST), read_committed=True, timeout_ms=_PATIENCE_MS),
            admin.list_offsets(dict.fromkeys(partitions, LATEST), timeout_ms=_PATIENCE_MS),
        )
        readings = _readings(producers, stable, ends)
        holding = who_holds_back(readings, transactions, ())
        held = {each.partition: each.offset for one in holding for each in one.partitions}
        if held:
            await self._read_groups(admin, frozenset(held))
            holding = who_holds_back(readings, transactions, await self._places(held))
        hidden = any(one.transaction is None for one in holding) and await ids_may_be_hidden(admin)
        self._suspicions.note(holding, ids_may_be_hidden=hidden or bool(silent) or leaderless > 0)
        return OpenTransactions(
            holding=holding,
            hanging=self._suspicions.hanging,
            ids_may_be_hidden=hidden,
            silent=silent,
            leaderless=leaderless,
            producers={
                partition: found
                for partition, found in producers.items()
                if partition in readings and not isinstance(found, ApiError)
            },
            readings=readings,
            problems=_problems(partitions, producers, stable, ends),
            groups_told=self._groups_told or not held,
        )

    async def _read_groups(self, admin: Admin, partitions: frozenset[TopicPartition]) -> None:
        now = time.monotonic()
        recent = self._groups_at is not None and now - self._groups_at < _GROUPS_SECONDS
        if recent and partitions <= self._groups_of:
            return
        try:
            groups = await listed_groups(admin)
            listed = [group for group in groups.found if _reads_topics(group)]
            shown = listed[:MOST_GROUPS]
            offsets = await admin.list_offsets_of_groups([group.group_id for group in shown], partitions)
        except EXPECTED_FAILURES:
            self._groups, self._groups_told = [], False
        else:
            self._groups = [
                _CommittedOffsets(
                    group_id=group.group_id,
                    has_members=group.state not in _NO_MEMBERS,
                    offsets={partition: place.offset for partition, place in theirs.items()},
                )
                for group in shown
                if not isinstance(theirs := offsets[group.group_id], ApiError)
            ]
            self._groups_told = len(self._groups) == len(listed) and groups.is_whole
        self._groups_at, self._groups_of = now, partitions

    async def _places(self, held: Mapping[TopicPartition, int]) -> list[GroupPlaces]:
        """Where the groups go on: at the transaction, if there is nothing to read in front of it."""
        wanted = {
            (partition, committed, held[partition])
            for group in self._groups
            for partition, committed in group.offsets.items()
            if partition in held and 0 < held[partition] - committed <= _NEAR
        }
        looks = {look: self._looks[look] for look in wanted if look in self._looks}
        for look in sorted(wanted - looks.keys())[:_MOST_LOOKS]:
            try:
                looks[look] = await self._look(look)
            except EXPECTED_FAILURES:
                # Who may not read the topic sees fewer groups wait.
                looks[look] = look[1]
        self._looks = looks
        return [
            GroupPlaces(
                group_id=group.group_id,
                has_members=group.has_members,
                offsets={
                    partition: looks.get((partition, committed, held.get(partition, committed)), committed)
                    for partition, committed in group.offsets.items()
                },
            )
            for group in self._groups
        ]

    async def _look(self, look: _Look) -> int:
        partition, committed, offset = look
        browser = await self._parts.cluster.log_browser()
        page = await browser.page(partition, committed, max_entries=_NEAR + 1, max_bytes=_LOOK_BYTES)
        return next_visible(committed, offset, page.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommittedOffsets:
    group_id: str
    has_members: bool
    offsets: Mapping[TopicPartition, int]


def holding_document(holding: HoldingBack, opened: OpenTransactions) -> dict[str, Json]:
    known = holding.transaction
    partitions: list[Json] = [
        {
            "topic": held.partition.topic,
            "partition": held.partition.partition,
            "offset": held.offset,
            "high_watermark": held.high_watermark,
            "queue": len(held.queue),
            "waiting": [group.group_id for group in held.waiting[:_GROUPS_TOLD]],
        }
        for held in holding.partitions[:_PARTITIONS_TOLD]
    ]
    waiting: list[Json] = [
        {"id": group.group_id, "has_members": group.has_members} for group in holding.waiting[:_GROUPS_TOLD]
    ]
    return {
        "producer_id": holding.producer_id,
        "id": None if known is None else known.transactional_id,
        "start_ms": None if known is None else known.start_ms,
        "partitions": partitions,
        "hangs": any(held.partition in opened.hanging for held in holding.partitions),
        "hidden": known is None and opened.ids_may_be_hidden,
        "silent": list(opened.silent) if known is None else [],
        "leaderless": opened.leaderless if known is None else 0,
        "partitions_left_out": len(holding.partitions) - len(partitions),
        "waiting": waiting,
        "waiting_left_out": len(holding.waiting) - len(waiting),
    }


def _reads_topics(group: GroupListing) -> bool:
    """Others, such as Kafka Connect's workers, have no offsets."""
    return group.protocol_type in _WITH_OFFSETS or group.kind in _WITH_OFFSETS or not group.protocol_type


def _readings(
    producers: Mapping[TopicPartition, tuple[ProducerState, ...] | ApiError],
    stable: Mapping[TopicPartition, OffsetAndTimestamp | ApiError],
    ends: Mapping[TopicPartition, OffsetAndTimestamp | ApiError],
) -> dict[TopicPartition, PartitionReading]:
    readings: dict[TopicPartition, PartitionReading] = {}
    for partition, found in producers.items():
        first, end = stable.get(partition), ends.get(partition)
        if isinstance(found, ApiError) or not isinstance(first, OffsetAndTimestamp):
            continue
        if isinstance(end, OffsetAndTimestamp):
            readings[partition] = PartitionReading(
                last_stable_offset=first.offset, high_watermark=end.offset, transactions=tuple(_opened(found))
            )
    return readings


def _opened(producers: Iterable[ProducerState]) -> Iterable[OpenInPartition]:
    for producer in producers:
        if producer.transaction_start is not None:
            yield OpenInPartition(producer_id=producer.producer_id, start_offset=producer.transaction_start)


def _problems(
    partitions: Collection[TopicPartition], *answers: Mapping[TopicPartition, V | ApiError]
) -> dict[TopicPartition, ApiError]:
    found: dict[TopicPartition, ApiError] = {}
    for partition in partitions:
        for answer in answers:
            problem = answer.get(partition)
            if isinstance(problem, ApiError):
                found.setdefault(partition, problem)
    return found
