"""What is decided about the transactions of a micro-batch, and how that is written down and read again. Pure.

A *fence* is the producer id and epoch that a driver has got for the query's own transactional id when it planned a
micro-batch. Only its holder can write a decision, and only about transactions that its tasks have begun since. So a
transaction that was open before somebody else got a fence, and is in no decision by then, can never be in one.

Transactional ids are used again by later micro-batches: brokers remember each for a week. A transaction is therefore
known by its id together with the producer id and epoch with which it was begun, and nothing is ended by its id alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.spark.sink.note import MAX_METADATA

# Room for what is around the list in the metadata of an offset.
_LIST_BYTES = 3900
# Each part is the offset of one more group. An entry takes about 20 bytes: this is for some 20,000 tasks.
MAX_PARTS = 100
# How many ids a task tries that are in use; its earlier attempts and zombies hold them.
MAX_SLOTS = 32


class Fence(NamedTuple):
    """Whose turn it is to decide for a query: what the query's own transactional id was given to."""

    producer_id: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.producer_id}.{self.epoch}"


class Slot(NamedTuple):
    """A transactional id of a task, of which it has several for its attempts."""

    task: int
    number: int


class Begun(NamedTuple):
    """One transaction: its slot, and the producer id and epoch that its records have."""

    slot: Slot
    producer_id: int
    epoch: int


class UnreadableDecision(Exception):
    """The decision is not complete, or not in a form that is known here. Nothing may be ended because of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitDecision:
    """The transactions of micro-batch `batch` that are to be committed, whatever happens."""

    batch: int
    fence: Fence
    transactions: tuple[Begun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPlan:
    """What a driver fixes before tasks run: its fence, and the last micro-batch that is decided, which is completed."""

    query: str
    fence: Fence
    decided: int | None


# Names


def slot_name(query: str, slot: Slot) -> str:
    return f"{query}-p-{slot.task}-{slot.number}"


def slots_pattern(query: str) -> str:
    """A regular expression for the transactional ids of the query's tasks, and no others."""
    return rf"{re.escape(query)}-p-[0-9]+-[0-9]+"


def slot_of_name(query: str, name: str) -> Slot | None:
    found = re.fullmatch(rf"{re.escape(query)}-p-([0-9]+)-([0-9]+)", name)
    return None if found is None else Slot(int(found[1]), int(found[2]))


def parts_group(query: str, part: int) -> str:
    """The group that holds a part of the decision. Its offset and the note are committed in one transaction."""
    return f"{query}-p-{part}"


# Written down


def write_parts(decision: CommitDecision) -> list[str]:
    """The metadata of each part, at least one. Raises ValueError if there are more tasks than can be written down."""
    pieces: list[str] = [""]
    for one in decision.transactions:
        entry = f"{one.slot.task}.{one.slot.number}.{one.producer_id}.{one.epoch}"
        separator = "," if pieces[-1] else ""
        if len(pieces[-1]) + len(separator) + len(entry) > _LIST_BYTES:
            pieces.append(entry)
        else:
            pieces[-1] += separator + entry
    if len(pieces) > MAX_PARTS:
        raise ValueError(
            f"{len(decision.transactions)} tasks are too many for one decision: make them fewer with coalesce(), or "
            "use atomicity=batch"
        )
    texts = [
        json.dumps({"fence": str(decision.fence), "parts": len(pieces), "tasks": piece}, separators=(",", ":"))
        for piece in pieces
    ]
    assert all(len(text) <= MAX_METADATA for text in texts)
    return texts


class Part(NamedTuple):
    """One part as it was read: the micro-batch is the offset."""

    batch: int
    fence: Fence
    parts: int
    transactions: tuple[Begun, ...]


def read_part(batch: int, metadata: str) -> Part:
    """Raises UnreadableDecision."""
    try:
        noted = json.loads(metadata)
        producer_id, _, epoch = str(noted["fence"]).partition(".")
        listed = tuple(map(_read_entry, filter(None, str(noted["tasks"]).split(","))))
        return Part(batch, Fence(int(producer_id), int(epoch)), int(noted["parts"]), listed)
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableDecision(f"{metadata[:200]!r} is not a part of a decision: {error}") from error


def join_parts(parts: Sequence[Part | None]) -> CommitDecision:
    """Raises UnreadableDecision if one is missing or does not belong to the others."""
    first = parts[0]
    assert first is not None
    found = [part for part in parts if part is not None and part[:3] == first[:3]]
    if len(found) != first.parts:
        raise UnreadableDecision(f"of micro-batch {first.batch} {len(found)} of {first.parts} parts are there")
    transactions = tuple(one for part in found for one in part.transactions)
    return CommitDecision(batch=first.batch, fence=first.fence, transactions=transactions)


def _read_entry(entry: str) -> Begun:
    task, number, producer_id, epoch = map(int, entry.split("."))
    return Begun(Slot(task, number), producer_id, epoch)


# What follows


class RecoveryPlan(NamedTuple):
    """What is to be ended, and how."""

    commit: frozenset[Begun]
    abort: frozenset[Begun]


def plan_recovery(
    *, seen_before: Collection[Begun], decision: CommitDecision | None, open_now: Collection[Begun]
) -> RecoveryPlan:
    """What a driver ends that has just got the query's fence.

    `seen_before` were open *before* it got the fence: no later driver's tasks can be among them, so that those that are
    in no decision never will be. `decision` was read *after* it got the fence: an earlier driver cannot write another
    one. `open_now` are open now; what was decided and is not among them has been committed by somebody else.
    """
    decided = frozenset() if decision is None else frozenset(decision.transactions)
    there = frozenset(open_now)
    return RecoveryPlan(commit=decided & there, abort=(frozenset(seen_before) & there) - decided)
