"""Transactions: the ids of all coordinators, and which of them hold back whom. One of them is in `transaction`, and the
search for those that hang in `hanging_transactions`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.admin import Admin, TransactionDescription, TransactionListing
from tidelog.console.feeds import Pace
from tidelog.console.findings.holding_back import KnownTransaction, is_gone, not_described
from tidelog.console.listings import listed_transactions
from tidelog.console.pages.open_transactions import MOST_PARTITIONS, OpenTransactionsReader, holding_document
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import Json, reply
from tidelog.coordinators.transactions.states import TRANSACTION
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

router = APIRouter()

_PACE = Pace(seconds=1.5)
# What does not change the state, such as the epoch of the second of two quick transactions, is seen after this time.
_SLOW_SECONDS = 15.0
MOST_IDS = 1000
# Those that have been open for longest.
MOST_HOLDING = 30
# In the row of one id; its page has all of them.
_PARTITIONS_SHOWN = 5
OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")


@router.get("/transactions/live")
async def transactions(parts: Parts, named: str = "") -> Response:
    """The ids with `named` in them."""
    return parts.feeds.stream(("transactions", named), lambda: TransactionsReader(parts, named).read, _PACE)


@router.get("/transactions/machine")
async def machine() -> Response:
    """The table that the coordinator itself looks up its steps in, for the drawing."""
    return reply(
        {
            "name": TRANSACTION.name,
            "meaning": TRANSACTION.meaning,
            "initial": [state.label for state in TRANSACTION.initial],
            "states": [{"name": state.label, "meaning": meaning} for state, meaning in TRANSACTION.states.items()],
            "steps": [
                {"from": before.label, "to": after.label, "name": step.name, "label": step.value}
                for (before, step), after in TRANSACTION.steps.items()
            ],
        }
    )


class TransactionsReader:
    """It remembers descriptions: what is idle is described again when its state changes, and now and then."""

    def __init__(self, parts: ConsoleParts, named: str = "") -> None:
        self._parts = parts
        self._named = named.lower()
        self._open = OpenTransactionsReader(parts)
        self._described: dict[str, tuple[TransactionListing, TransactionDescription]] = {}
        # The ids whose coordinators have not described them, although they know them.
        self._unanswered: frozenset[str] = frozenset()
        self._slow_at: float | None = None

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        transactions = await listed_transactions(admin)
        listed = sorted(transactions.found, key=lambda each: (each.state not in OPEN_STATES, each.transactional_id))
        found_by_name = [each for each in listed if self._named in each.transactional_id.lower()]
        shown = found_by_name[:MOST_IDS]
        # Whoever holds readers back is told, whatever is searched for.
        wanted = {each.transactional_id: each for each in listed if each.state in OPEN_STATES}
        wanted |= {each.transactional_id: each for each in shown}
        descriptions = await self._describe(admin, list(wanted.values()))
        partitions = sorted({partition for found in descriptions.values() for partition in found.partitions})
        known = {each.producer_id: _without_open_transaction(each) for each in listed}
        known |= {each.producer_id: not_described(each) for each in listed if each.transactional_id in self._unanswered}
        known |= {found.producer_id: known_transaction(found) for found in descriptions.values()}
        found = await self._open.read(
            admin,
            known,
            partitions[:MOST_PARTITIONS],
            silent=transactions.silent,
            leaderless=transactions.leaderless,
        )
        return {
            "now_ms": int(time.time() * 1000),
            "transactions": [_row(listing, descriptions.get(listing.transactional_id)) for listing in shown],
            "left_out": len(found_by_name) - len(shown),
            "holding": [holding_document(each, found) for each in found.holding[:MOST_HOLDING]],
            "holding_left_out": max(0, len(found.holding) - MOST_HOLDING),
            "partitions_left_out": max(0, len(partitions) - MOST_PARTITIONS),
            "partitions_unknown": [str(partition) for partition in found.problems],
            "groups_told": found.groups_told,
            "silent": list(transactions.silent),
            "leaderless": transactions.leaderless,
        }

    async def _describe(self, admin: Admin, listed: Sequence[TransactionListing]) -> dict[str, TransactionDescription]:
        now = time.monotonic()
        if self._slow_at is None or now - self._slow_at >= _SLOW_SECONDS:
            self._slow_at = now
            self._described.clear()
        kept = {
            listing.transactional_id: known
            for listing in listed
            if listing.state not in OPEN_STATES
            and (known := self._described.get(listing.transactional_id)) is not None
            and known[0] == listing
        }
        wanted = {listing.transactional_id: listing for listing in listed if listing.transactional_id not in kept}
        described = await admin.describe_transactions(list(wanted))
        kept |= {name: (wanted[name], found) for name, found in described.items() if not isinstance(found, ApiError)}
        self._described = kept
        self._unanswered = frozenset(
            name for name, found in described.items() if isinstance(found, ApiError) and not is_gone(found)
        )
        return {name: found for name, (_, found) in kept.items()}


def open_since(found: TransactionDescription) -> int | None:
    """Coordinators still tell when the last transaction began after it has ended."""
    return found.start_ms if found.state in OPEN_STATES else None


def known_transaction(found: TransactionDescription) -> KnownTransaction:
    return KnownTransaction(
        transactional_id=found.transactional_id,
        start_ms=open_since(found),
        partitions=frozenset(found.partitions),
    )


def _without_open_transaction(listing: TransactionListing) -> KnownTransaction:
    """What is known of an id that was not described: those with an open transaction are."""
    return KnownTransaction(transactional_id=listing.transactional_id, start_ms=None, partitions=frozenset())


def _row(listing: TransactionListing, found: TransactionDescription | None) -> dict[str, Json]:
    """Without a description it has ended, or has moved to another coordinator, since it was listed."""
    partitions: Sequence[TopicPartition] = () if found is None else sorted(found.partitions)
    return {
        "id": listing.transactional_id,
        "state": listing.state if found is None else found.state,
        "coordinator": listing.coordinator if found is None else found.coordinator,
        "producer_id": listing.producer_id if found is None else found.producer_id,
        "producer_epoch": None if found is None else found.producer_epoch,
        "start_ms": None if found is None else open_since(found),
        "timeout_ms": None if found is None else found.timeout_ms,
        "partitions": len(partitions),
        "names": [str(partition) for partition in partitions[:_PARTITIONS_SHOWN]],
    }
