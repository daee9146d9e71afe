"""What is read from a write-ahead log, and when a replication slot can still give it: the decisions.

A position is the place behind the commit record of the last transaction that was read. Transactions come in the order
of their commits, as a whole, so that this one number says everything: a transaction is new if its commit record begins
at the position or behind it. The slot keeps the log from `confirmed` on. It is moved on only when Spark has committed a
batch, so it is never ahead of the checkpoint. After a crash of the server it may be behind; what it then gives again is
passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Nothing of ours was written, but as much of other things: the slot is moved on, so that the server can remove its log.
IDLE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPosition:
    lsn: int
    slot: str
    # Which entry of which publication lets the changes through; another one may have been absent for a while.
    publication: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotState:
    """What the server says of a slot. `lost` says that the log behind it was removed."""

    confirmed: int
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A transaction with events: where its commit record ends, how many they are, and by what they are routed."""

    ends: int
    events: int
    routes: tuple[Any, ...] = ()


def is_log_position(stored: Mapping[str, int | str]) -> bool:
    return "lsn" in stored


def log_position_from(stored: Mapping[str, int | str]) -> LogPosition:
    return LogPosition(lsn=int(stored["lsn"]), slot=str(stored["slot"]), publication=int(stored["publication"]))


def is_new(start: LogPosition, begins: int) -> bool:
    return begins >= start.lsn


def is_within(end_lsn: int, begins: int) -> bool:
    return begins < end_lsn


def take(transactions: Iterable[Found], limit: int | None) -> list[Found]:
    """A batch: as many whole transactions as fit, and one at least. Looks at no more than the first that does not."""
    taken: list[Found] = []
    events = 0
    for transaction in transactions:
        events += transaction.events
        if taken and limit is not None and events > limit:
            break
        taken.append(transaction)
    return taken


def slot_problem(start: LogPosition, slot: SlotState | None, table: str) -> str | None:
    """Why the slot cannot give what comes behind a position; None if it can."""
    if slot is None:
        return (
            f"the replication slot {start.slot} does not exist: it was dropped, or a replica without it took over. "
            f"What was committed since is not in the log for this pipeline. {remedy(start.slot, table)}"
        )
    if slot.lost:
        return (
            f"the replication slot {start.slot} was invalidated: the server removed log that it still needed (see "
            f"max_slot_wal_keep_size). {remedy(start.slot, table)}"
        )
    if slot.confirmed > start.lsn:
        return (
            f"the replication slot {start.slot} begins at {shown(slot.confirmed)}, and the checkpoint ends at "
            f"{shown(start.lsn)}: the slot was dropped and recreated, something else advanced it, or "
            f"the checkpoint is an older copy. {remedy(start.slot, table)}"
        )
    return None


def remedy(slot: str, table: str) -> str:
    return (
        f'Nothing was read. If rows are still in {table}, relay them with mode = "poll" and a checkpoint of its own. '
        f"Then drop the slot (SELECT pg_drop_replication_slot('{slot}')), delete the checkpoint and start with "
        "--create-table"
    )


def shown(lsn: int) -> str:
    """As PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFF_FFFF:X}"
