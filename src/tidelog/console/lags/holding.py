"""Which open transactions records are behind: producers of some partitions, and what coordinators know of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from tidelog.client.admin import Admin, TransactionDescription, TransactionListing
from tidelog.console.findings.holding_back import (
    HoldingBack,
    KnownTransaction,
    OpenInPartition,
    PartitionReading,
    Suspicions,
    is_gone,
    not_described,
    who_holds_back,
)
from tidelog.console.findings.lag import LogMarks
from tidelog.console.hidden_ids import ids_may_be_hidden
from tidelog.console.listings import Listed, listed_transactions
from tidelog.console.replies import EXPECTED_FAILURES
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

# More are not looked at: each may have many producers.
MOST_HELD = 50
# While the same offsets are held back, the same transactions do it.
_SLOW_SECONDS = 10.0
_PATIENCE_MS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    holding: list[HoldingBack]
    # The partitions in which transactions hang, as it seems.
    hanging: frozenset[TopicPartition]
    # What no id is known of may belong to one that this client does not see.
    ids_may_be_hidden: bool
    # Coordinators that have not answered, and partitions without one: what no id is known of may be theirs.
    silent: tuple[int, ...] = ()
    leaderless: int = 0


_NOTHING_LISTED: Listed[TransactionListing] = Listed(found=[], silent=(), leaderless=0)
_NOTHING = Held(holding=[], hanging=frozenset(), ids_may_be_hidden=False)


class HoldingReader:
    """It asks again when a last stable offset has moved, when something seems to hang, and now and then."""

    def __init__(self) -> None:
        self._of: Mapping[TopicPartition, int] = {}
        self._read_at = 0.0
        self._suspicions = Suspicions()
        self._held: Held | None = None

    async def read(self, admin: Admin, held: Mapping[TopicPartition, LogMarks]) -> Held | None:
        """None where producers or transactions may not be seen."""
        asked = dict(sorted(held.items())[:MOST_HELD])
        of = {partition: marks.stable for partition, marks in asked.items()}
        now = time.monotonic()
        if of != self._of or now - self._read_at >= _SLOW_SECONDS or self._suspicions.are_open:
            self._of, self._read_at = of, now
            try:
                self._held = await self._look_at(admin, asked)
            except EXPECTED_FAILURES:
                self._held = None
        return self._held if asked else _NOTHING

    async def _look_at(self, admin: Admin, held: Mapping[TopicPartition, LogMarks]) -> Held:
        holding, listed = await _holding(admin, held) if held else ([], _NOTHING_LISTED)
        hidden = any(one.transaction is None for one in holding) and await ids_may_be_hidden(admin)
        self._suspicions.note(holding, ids_may_be_hidden=hidden or not listed.is_whole)
        return Held(
            holding=holding,
            hanging=self._suspicions.hanging,
            ids_may_be_hidden=hidden,
            silent=listed.silent,
            leaderless=listed.leaderless,
        )


async def _holding(
    admin: Admin, held: Mapping[TopicPartition, LogMarks]
) -> tuple[list[HoldingBack], Listed[TransactionListing]]:
    """And the transactional ids of their producers."""
    producers = await admin.describe_producers(list(held), timeout_ms=_PATIENCE_MS)
    readings = {
        partition: PartitionReading(
            last_stable_offset=held[partition].stable,
            high_watermark=held[partition].end,
            transactions=tuple(
                OpenInPartition(producer_id=each.producer_id, start_offset=each.transaction_start)
                for each in found
                if each.transaction_start is not None
            ),
        )
        for partition, found in producers.items()
        if not isinstance(found, ApiError)
    }
    holders = {each.producer_id for each in who_holds_back(readings, {}, ())}
    if not holders:
        return [], _NOTHING_LISTED
    listed = await listed_transactions(admin, producer_ids=sorted(holders))
    described = await admin.describe_transactions([each.transactional_id for each in listed.found])
    return who_holds_back(readings, _transactions(listed.found, described), ()), listed


def _transactions(
    listed: Iterable[TransactionListing], described: Mapping[str, TransactionDescription | ApiError]
) -> dict[int, KnownTransaction]:
    known = {
        each.producer_id: not_described(each)
        for each in listed
        if isinstance(problem := described[each.transactional_id], ApiError) and not is_gone(problem)
    }
    return known | {
        found.producer_id: KnownTransaction(
            transactional_id=found.transactional_id, start_ms=found.start_ms, partitions=frozenset(found.partitions)
        )
        for found in described.values()
        if isinstance(found, TransactionDescription)
    }
