"""The search for hanging transactions in all partitions (KIP-664), and an end to one in a partition.

All leaders are asked for all of their producers, a part of the partitions at each reading of the feed, so that the
search is no faster than the cluster can bear. The feed is of one search, and tells how far it is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from tidelog.client.admin import Admin, HangingOrNot, HangingTransaction
from tidelog.client.errors import raise_any
from tidelog.console.feeds import Pace
from tidelog.console.findings.hanging import Orphan, matching, orphans, silent_transactions
from tidelog.console.hidden_ids import ids_may_be_hidden
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import CONFLICT, ConsoleRefusal, Json, reply
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

router = APIRouter()

_PACE = Pace(seconds=0.3)
# Asked for together. The brokers' answers have all producers of these partitions.
AT_ONCE = 300
# More would not be looked through; whoever ends these finds the next ones.
MOST_FOUND = 200
_PATIENCE_MS = 5_000
_MINUTE_MS = 60_000
# Kafka's longest timeout of a transaction, `transaction.max.timeout.ms`, by default.
DEFAULT_MINUTES = 15


@router.get("/transactions/hanging/live")
async def hanging(
    parts: Parts,
    search: Annotated[str, Query(max_length=50)],
    minutes: Annotated[int, Query(ge=0, le=100_000)] = DEFAULT_MINUTES,
) -> Response:
    """`search` names this search: pages that ask for the same one share it."""
    return parts.feeds.stream(("hanging", search, minutes), lambda: HangingSearch(parts, minutes).read, _PACE)


class HangingEnd(BaseModel):
    """Which transaction is meant, as the search has shown it. `may_go_on`: who ends it knows that nobody can tell."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    start_offset: int
    may_go_on: bool = False


@router.post("/transactions/hanging/abort")
async def abort(parts: Parts, end: HangingEnd) -> Response:
    """Write an abort marker into the partition, if the transaction is still open there, and still hangs."""
    admin = await parts.cluster.admin()
    partition = TopicPartition(end.topic, end.partition)
    producers = raise_any(await admin.describe_producers([partition]))[partition]
    producer = matching(producers, end.producer_id, end.producer_epoch, end.start_offset)
    if producer is None:
        raise ConsoleRefusal(
            f"the transaction of producer {end.producer_id} is not open any more in {partition}", CONFLICT
        )
    found = await admin.hanging_or_not([HangingTransaction(partition=partition, producer=producer)])
    if found.unknown and found.coordinators.leaderless:
        raise ConsoleRefusal(
            f"nobody can tell whether the transaction of producer {end.producer_id} in {partition} hangs, because the "
            "coordinator that knows its transactional id may be away, and may still commit it: "
            f"{found.coordinators.words()} and look again",
            CONFLICT,
        )
    if not found.hanging and not found.unknown:
        raise ConsoleRefusal(
            f"the transaction of producer {end.producer_id} in {partition} does not hang: its coordinator will end it",
            CONFLICT,
        )
    (orphan,) = await _explained(admin, found)
    if orphan.may_go_on and not end.may_go_on:
        raise ConsoleRefusal(
            f"nobody can tell whether the transaction of producer {end.producer_id} in {partition} hangs: the client "
            "of this console may not see its transactional id, or whether its coordinator is away, for which it needs "
            f"Describe on them and on {found.coordinators.name}",
            CONFLICT,
        )
    epoch = -1 if producer.coordinator_epoch is None else producer.coordinator_epoch
    await admin.abort_transaction(
        partition, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, coordinator_epoch=epoch
    )
    return reply({"aborted": True})


class HangingSearch:
    """Each reading asks for some more partitions, the last one has all that was found."""

    def __init__(self, parts: ConsoleParts, minutes: int) -> None:
        self._parts = parts
        self._minutes = minutes
        self._places: list[TopicPartition] | None = None
        self._asked = 0
        self._silent_since_ms = 0
        self._unknown: list[str] = []
        self._found: list[Orphan] = []
        # Open transactions whose coordinators may be away, and why they are, as the last part of the search has it.
        self._undecided = 0
        self._away = ""
        self._done = False

    async def read(self) -> Json:
        if not self._done:
            admin = await self._parts.cluster.watcher()
            if self._places is None:
                self._places = await self._plan(admin)
            part = self._places[self._asked : self._asked + AT_ONCE]
            if part and len(self._found) < MOST_FOUND:
                await self._look_at(admin, part)
            else:
                self._done = True
        return {
            "done": self._done,
            "partitions": len(self._places or ()),
            "asked": self._asked,
            "minutes": self._minutes,
            "now_ms": int(time.time() * 1000),
            "unknown": len(self._unknown),
            "unknown_names": self._unknown[:10],
            "found": [_orphan(each) for each in self._found[:MOST_FOUND]],
            "undecided": self._undecided,
            "away": self._away,
            "is_cut": len(self._found) >= MOST_FOUND,
        }

    async def _plan(self, admin: Admin) -> list[TopicPartition]:
        metadata = await admin.cluster.fetch_metadata(None)
        self._silent_since_ms = int(time.time() * 1000) - self._minutes * _MINUTE_MS
        return [
            TopicPartition(name, each.partition)
            for name, topic in sorted(metadata.topics.items())
            for each in topic.partitions
        ]

    async def _look_at(self, admin: Admin, part: Sequence[TopicPartition]) -> None:
        """What it has found is kept if all questions were answered; otherwise the next reading asks again."""
        answers = await admin.describe_producers(part, timeout_ms=_PATIENCE_MS)
        silent = silent_transactions(answers, self._silent_since_ms)
        if silent:
            found = await admin.hanging_or_not(silent)
            self._found += await _explained(admin, found)
            if found.unknown and found.coordinators.leaderless:
                self._undecided += len(found.unknown)
                self._away = found.coordinators.words()
        self._unknown += [str(partition) for partition, answer in answers.items() if isinstance(answer, ApiError)]
        self._asked += len(part)


async def _explained(admin: Admin, found: HangingOrNot) -> list[Orphan]:
    """With those of which this client may not know enough. Others that are unknown may still be committed."""
    is_hidden = bool(found.unknown) and not found.coordinators.leaderless
    shown = [*found.hanging, *found.unknown] if is_hidden else found.hanging
    if not shown:
        return []
    ids = {each.producer.producer_id for each in shown}
    listed = await admin.list_transactions(producer_ids=sorted(ids))
    hidden = is_hidden or (bool(ids - {each.producer_id for each in listed}) and await ids_may_be_hidden(admin))
    return orphans(shown, listed, ids_may_be_hidden=hidden)


def _orphan(orphan: Orphan) -> dict[str, Json]:
    producer = orphan.hanging.producer
    return {
        "topic": orphan.hanging.partition.topic,
        "partition": orphan.hanging.partition.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "start_offset": producer.transaction_start,
        "last_ms": producer.last_timestamp,
        "id": orphan.transactional_id,
        "may_go_on": orphan.may_go_on,
        "why": orphan.why,
    }
