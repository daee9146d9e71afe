"""Is the database still the one that a position was taken from? Marks that prove it.

Ids of transactions, sequence numbers and places in the write-ahead log mean something within one history only. A crash
takes back ids that were given to transactions of which nothing was on disk; a restored backup and a replica that takes
over take back much more. What was counted before then counts other rows.

Before a position is used, the reader writes a mark in a transaction of its own and commits it durably: a row with a
random token. The position carries the token. Whoever comes back to the position looks for the row. If it is there, so
is everything that was written before it: log records are replayed in order, and none is replayed without those before
it. If it is absent, history was taken back behind the position, and nothing may be read, relayed or deleted.

A dump that is loaded elsewhere copies the mark's row into a database with other ids. In PostgreSQL every row says which
transaction wrote it (`xmin`), so that such a copy is recognised. This module decides; `postgresql_marks` and
`sqlite_table` keep the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MARKS_TABLE = "tidelog_outbox_marks"
OWNERS_TABLE = "tidelog_outbox_owners"

# Spark keeps the positions of its last 100 batches. A mark that was removed ends in a stop, never in a guess.
MARKS_KEPT = 100

_LOW_BITS = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which server this is, on which of its timelines, and which table. SQLite has no servers and no timelines."""

    system: str
    timeline: int
    table: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a position carries: the token, the checkpoint that reads, and where and by which transaction it was made."""

    token: str
    reader: str
    transaction: int
    place: Place

    def as_dict(self) -> dict[str, int | str]:
        return {"mark": self.token, "reader": self.reader, "transaction": self.transaction, **asdict(self.place)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMark:
    """What the database has under a token. `written_by` is the row's `xmin`: the lower 32 bits of an id."""

    reader: str
    transaction: int
    written_by: int


def mark_from(stored: Mapping[str, Any]) -> Mark | None:
    """The mark of a position; None for the position at which a reader begins."""
    if "mark" not in stored:
        return None
    place = Place(system=str(stored["system"]), timeline=int(stored["timeline"]), table=int(stored["table"]))
    return Mark(
        token=str(stored["mark"]), reader=str(stored["reader"]), transaction=int(stored["transaction"]), place=place
    )


def why_lost(mark: Mark, stored: StoredMark | None, here: Place, table: str) -> str | None:
    """Why something that was written before the mark may not be in the history of this database; None if all of it is.

    A timeline that differs is no reason to stop: a replica that has the mark has all of what came before it. A lower
    one is, because timelines only grow.
    """
    if mark.place.system != here.system:
        return (
            f"this is another PostgreSQL server: its system identifier is {here.system}, and the checkpoint was "
            f"written for {mark.place.system} (a dump was loaded, pg_upgrade was run, or the address has changed)"
        )
    lost = (
        f"this database has lost what was committed at transaction {mark.transaction} of timeline "
        f"{mark.place.timeline} (it is on timeline {here.timeline} now): it was restored from a backup, a "
        "replica took over that lacked it, or the checkpoint is an old copy (marks of the last "
        f"{MARKS_KEPT} batches are kept)"
    )
    if stored is None or stored.transaction != mark.transaction or stored.reader != mark.reader:
        return lost
    if stored.written_by != mark.transaction & _LOW_BITS:
        return (
            f"table {MARKS_TABLE} was loaded from a dump, and transaction ids of a dump mean nothing in another "
            "database"
        )
    if here.timeline < mark.place.timeline:
        return lost
    if mark.place.table != here.table:
        return f"table {table} was dropped and recreated since the checkpoint was written"
    return None


def explain_unproved(table: str) -> str:
    return (
        "the checkpoint was written by a version that kept no mark in the database, so it cannot be proved that no "
        f"transaction id came twice since. {remedy(table)}"
    )


def remedy(table: str) -> str:
    return (
        f"Nothing was read or deleted. Remove the rows of {table} whose events are already in the "
        "topics, delete the checkpoint and start again: every row that is then in the table is relayed"
    )


def not_the_owner(table: str) -> str:
    return (
        f"another pipeline, or another checkpoint of this one, deletes the rows of {table} that it has relayed, so "
        "this one would miss events. Let only one of them run with this table"
    )
