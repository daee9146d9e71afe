"""The producers that the leader of a partition remembers: their sequences, and their open transactions."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from tidelog.client.admin import Admin, ProducerState
from tidelog.client.errors import raise_any
from tidelog.client.offsets.listing import OffsetAndTimestamp
from tidelog.console.feeds import Pace
from tidelog.console.listings import listed_transactions
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import EXPECTED_FAILURES, Json
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST

router = APIRouter()

_PACE = Pace(seconds=1.5)
# A partition has one for each producer of the last day. Those with open transactions come first.
MOST_PRODUCERS = 200
# Producer ids keep their transactional id; those without one may get one later only if they are new.
_IDS_SECONDS = 10.0


@router.get("/producers/live")
async def producers(parts: Parts, topic: str, partition: Annotated[int, Query(ge=0)]) -> Response:
    place = TopicPartition(topic, partition)
    return parts.feeds.stream(("producers", place), lambda: ProducersReader(parts, place).read, _PACE)


class ProducersReader:
    """It remembers the transactional ids of producers."""

    def __init__(self, parts: ConsoleParts, partition: TopicPartition) -> None:
        self._parts = parts
        self._partition = partition
        self._ids: dict[int, str] = {}
        self._ids_of: frozenset[int] = frozenset()
        self._ids_at: float | None = None
        self._ids_told = True
        # Coordinators that have not answered.
        self._ids_silent: tuple[int, ...] = ()
        self._ids_leaderless = 0

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        answers = await admin.describe_producers([self._partition], include_batches=True)
        found = sorted(raise_any(answers)[self._partition], key=_order)
        shown = found[:MOST_PRODUCERS]
        await self._read_ids(admin, [each.producer_id for each in shown])
        return {
            "topic": self._partition.topic,
            "partition": self._partition.partition,
            "now_ms": int(time.time() * 1000),
            "last_stable_offset": await _end(admin, self._partition, read_committed=True),
            "high_watermark": await _end(admin, self._partition, read_committed=False),
            "producers": [self._producer(each) for each in shown],
            "left_out": len(found) - len(shown),
            # Only tidelog tells them.
            "batches_told": any(each.last_batches is not None for each in found),
            "ids_told": self._ids_told,
            "ids_silent": list(self._ids_silent),
            "ids_leaderless": self._ids_leaderless,
        }

    async def _read_ids(self, admin: Admin, producer_ids: Collection[int]) -> None:
        now = time.monotonic()
        unknown = frozenset(producer_ids) - self._ids.keys()
        recent = self._ids_at is not None and now - self._ids_at < _IDS_SECONDS
        if not unknown or (recent and unknown <= self._ids_of):
            return
        self._ids_at, self._ids_of = now, unknown
        try:
            listed = await listed_transactions(admin, producer_ids=sorted(unknown))
        except EXPECTED_FAILURES:
            self._ids_told = False
            return
        self._ids_told, self._ids_silent, self._ids_leaderless = True, listed.silent, listed.leaderless
        self._ids.update((each.producer_id, each.transactional_id) for each in listed.found)

    def _producer(self, producer: ProducerState) -> dict[str, Json]:
        batches: list[Json] | None = None
        if producer.last_batches is not None:
            batches = [
                {
                    "base_sequence": batch.base_sequence,
                    "last_sequence": batch.last_sequence,
                    "last_offset": batch.last_offset,
                    "at_ms": batch.timestamp,
                }
                for batch in producer.last_batches
            ]
        return {
            "id": producer.producer_id,
            "epoch": producer.producer_epoch,
            "last_sequence": None if producer.last_sequence < 0 else producer.last_sequence,
            "last_ms": producer.last_timestamp,
            "coordinator_epoch": producer.coordinator_epoch,
            "open_since": producer.transaction_start,
            "transactional_id": self._ids.get(producer.producer_id),
            "batches": batches,
        }


async def _end(admin: Admin, partition: TopicPartition, *, read_committed: bool) -> int | None:
    found = (await admin.list_offsets({partition: LATEST}, read_committed=read_committed))[partition]
    return found.offset if isinstance(found, OffsetAndTimestamp) else None


def _order(producer: ProducerState) -> tuple[bool, int, int, int]:
    """Open transactions in the order of the log, then those that have written last."""
    start = producer.transaction_start
    return (start is None, start or 0, -producer.last_timestamp, producer.producer_id)
