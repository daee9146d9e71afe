"""Which open transactions records are behind: producers of some partitions, and what coordinators know of them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tidelog.client.admin import Admin, TransactionDescription
from tidelog.console.findings.holding_back import (
    HoldingBack,
    KnownTransaction,
    OpenInPartition,
    PartitionReading,
    who_holds_back,
)
from tidelog.console.findings.lag import LogMarks
from tidelog.console.replies import EXPECTED_FAILURES
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

# More are not looked at: each may have many producers.
MOST_HELD = 50
# While the same offsets are held back, the same transactions do it.
_SLOW_SECONDS = 10.0
_PATIENCE_MS = 3_000


class HoldingReader:
    """It asks again when a last stable offset has moved, and now and then."""

    def __init__(self) -> None:
        self._of: Mapping[TopicPartition, int] = {}
        self._read_at = 0.0
        self._holding: list[HoldingBack] | None = []

    async def read(self, admin: Admin, held: Mapping[TopicPartition, LogMarks]) -> list[HoldingBack] | None:
        """None where producers or transactions may not be seen."""
        asked = dict(sorted(held.items())[:MOST_HELD])
        of = {partition: marks.stable for partition, marks in asked.items()}
        now = time.monotonic()
        if of != self._of or now - self._read_at >= _SLOW_SECONDS:
            self._of, self._read_at = of, now
            self._holding = await _holding(admin, asked) if asked else []
        return self._holding


async def _holding(admin: Admin, held: Mapping[TopicPartition, LogMarks]) -> list[HoldingBack] | None:
    try:
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
        return who_holds_back(readings, await _transactions(admin, holders), ())
    except EXPECTED_FAILURES:
        return None


async def _transactions(admin: Admin, producer_ids: set[int]) -> dict[int, KnownTransaction]:
    if not producer_ids:
        return {}
    listed = await admin.list_transactions(producer_ids=sorted(producer_ids))
    described = await admin.describe_transactions([each.transactional_id for each in listed])
    return {
        found.producer_id: KnownTransaction(
            transactional_id=found.transactional_id, start_ms=found.start_ms, partitions=frozenset(found.partitions)
        )
        for found in described.values()
        if isinstance(found, TransactionDescription)
    }
