"""Acts on decisions: completes what was decided, and aborts what was not and never can be.

The order is what makes it safe (`decision.plan_recovery`): list what is open, get the fence, read the decision, list
again, end. Each end names the transaction that it means by its producer id and epoch, so that a driver
that was stopped at any of these steps and goes on much later does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from tidelog.client.admin import Admin, TransactionDescription
from tidelog.client.cluster.cluster import Cluster
from tidelog.client.config import client_config
from tidelog.client.errors import FatalError, FencedError, OutcomeUnknown
from tidelog.client.transactions.coordinator_requests import ProducerIdAndEpoch
from tidelog.client.transactions.handover import OpenTransaction, TransactionHandover
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.spark.sink.errors import CannotTellIfPublished, InvalidSinkOptions, PublishFailed
from tidelog.spark.sink.event_loop import do_each
from tidelog.spark.sink.note import PREPARED, Note
from tidelog.spark.sink.note_store import ensure_note_topic, fetch_note, fetch_noted
from tidelog.spark.sink.options import MissingNote, SinkOptions
from tidelog.spark.sink.prepared.decision import (
    Begun,
    CommitDecision,
    Fence,
    PreparedPlan,
    Slot,
    UnreadableDecision,
    join_parts,
    parts_group,
    plan_recovery,
    read_part,
    slot_name,
    slot_of_name,
    slots_pattern,
)

logger = logging.getLogger(__name__)

_ONGOING = "Ongoing"
# Somebody else may take over a transaction between our taking it over and our ending it.
_TRIES = 5


async def recover_query(
    options: SinkOptions, query: str, *, batch: int | None, myself: Fence | None = None
) -> PreparedPlan:
    """Get the fence, and end everything that earlier drivers and tasks have left.

    `batch` is the micro-batch that is planned, if that is known. With `myself` nothing is done unless that is the fence
    still: raises FencedError.
    """
    async with (
        Cluster(client_config(options.connection())) as cluster,
        TransactionHandover(options.client) as handover,
        Admin(config=options.connection()) as admin,
    ):
        await ensure_note_topic(cluster, options)
        seen_before = await open_transactions(admin, query)
        fence = await _take_fence(handover, query, myself)
        note = await fetch_note(cluster, options, query)
        decision = await _read_decision(cluster, options, query, note)
        open_now = await open_transactions(admin, query)
        found = plan_recovery(seen_before=seen_before, decision=decision, open_now=open_now)
        if found.abort and note is None:
            _refuse_without_note(options, query, batch, len(found.abort))
        await commit_all(handover, query, found.commit)
        await abort_all(handover, query, found.abort)
        if found.commit or found.abort:
            logger.warning(
                "%s: completed %d and aborted %d transactions left by earlier drivers",
                query,
                len(found.commit),
                len(found.abort),
            )
    return PreparedPlan(query=query, fence=fence, decided=None if note is None else note.batch)


async def commit_all(
    handover: TransactionHandover,
    query: str,
    transactions: Collection[Begun],
    holders: dict[Begun, OpenTransaction] | None = None,
) -> None:
    """Commit what is decided. What is not open any more has been committed by somebody else.

    `holders` says for some who may end them, which saves a request if nobody has taken them over since.
    """
    known = holders or {}

    async def commit(one: Begun) -> None:
        holder = known.get(one)
        if holder is not None:
            try:
                await handover.end(holder, commit=True)
                return
            except (FencedError, OutcomeUnknown):
                # Somebody else completes it as well, or nobody has answered.
                pass
        await _end(handover, query, one, commit=True)

    await do_each(sorted(transactions), commit)


async def abort_all(handover: TransactionHandover, query: str, transactions: Collection[Begun]) -> None:
    await do_each(sorted(transactions), lambda one: _end(handover, query, one, commit=False))


async def _end(handover: TransactionHandover, query: str, one: Begun, *, commit: bool) -> None:
    """End this transaction and no other one of the same id."""
    name = slot_name(query, one.slot)
    for _ in range(_TRIES):
        kept = await handover.keep(name)
        if kept.begun_by != ProducerIdAndEpoch(one.producer_id, one.epoch):
            return
        try:
            await handover.end(kept.holder, commit=commit)
            return
        except (FencedError, OutcomeUnknown):
            continue
    raise PublishFailed(
        f"transaction {name!r} could not be {'committed' if commit else 'aborted'} in {_TRIES} attempts, because "
        "another driver took it over each time. Start the query again, and only once"
    )


async def open_transactions(admin: Admin, query: str, besides: Collection[Slot] = ()) -> frozenset[Begun]:
    """What is open of the query's tasks, except under these ids."""
    listed = await admin.list_transactions(states=(_ONGOING,), pattern=slots_pattern(query))
    slots = {one.transactional_id: slot_of_name(query, one.transactional_id) for one in listed}
    wanted = {name: slot for name, slot in slots.items() if slot is not None and slot not in besides}
    if not wanted:
        return frozenset()
    found = set()
    for name, described in (await admin.describe_transactions(list(wanted))).items():
        # One that ends at this moment is somebody else's business.
        if isinstance(described, TransactionDescription) and described.state == _ONGOING:
            found.add(Begun(wanted[name], described.producer_id, described.producer_epoch))
        elif isinstance(described, ApiError):
            if described.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                # Of a coordinator that does not answer nobody knows what is open.
                raise described
            logger.info("transaction %s is gone: %s", name, described)
    return frozenset(found)


async def _take_fence(handover: TransactionHandover, query: str, myself: Fence | None) -> Fence:
    if myself is not None:
        return Fence(*await handover.renew_fence(query, ProducerIdAndEpoch(*myself)))
    try:
        return Fence(*await handover.take_fence(query))
    except FatalError as error:
        if isinstance(error, FencedError) or not isinstance(error.cause, (ApiError, UnsupportedByBroker)):
            raise
        raise InvalidSinkOptions(
            "atomicity=prepared needs brokers with prepared transactions (KIP-939) that allow them with "
            f"transaction.two.phase.commit.enable=true, as tidelog's brokers do: {error}. "
            "Use atomicity=batch, or enable them"
        ) from error


async def _read_decision(
    cluster: Cluster, options: SinkOptions, query: str, note: Note | None
) -> CommitDecision | None:
    """The decision that belongs to the note, if it was a micro-batch with this atomicity."""
    if note is None or not note.division.startswith(PREPARED):
        return None

    async def read(part: int) -> str | None:
        found = await fetch_noted(cluster, options, parts_group(query, part))
        return None if found is None or found.offset != note.batch else found.metadata

    try:
        first = await read(0)
        if first is None:
            raise UnreadableDecision(f"group {parts_group(query, 0)!r} has no offset {note.batch}")
        head = read_part(note.batch, first)
        others = await asyncio.gather(*(read(part) for part in range(1, head.parts)))
        return join_parts([head, *(None if text is None else read_part(note.batch, text) for text in others)])
    except UnreadableDecision as error:
        raise CannotTellIfPublished(
            f"micro-batch {note.batch} of {query!r} was decided with atomicity=prepared, but the list of its "
            f"transactions cannot be read: {error}. Look at those that are open with `tidelog transactions list "
            f"--transactional-id-pattern '{slots_pattern(query)}'`"
        ) from error


def _refuse_without_note(options: SinkOptions, query: str, batch: int | None, count: int) -> None:
    """Without a note nobody knows whether open transactions were decided, except before the first micro-batch."""
    if batch == 0 or options.missing_note is MissingNote.PUBLISH:
        return
    raise CannotTellIfPublished(
        f"{count} transactions of tasks of {query!r} are open, but there is no note that says whether they were "
        "decided: Kafka forgets the offsets of groups without members after offsets.retention.minutes (7 days "
        "by default). If you know that no micro-batch was being committed when the query ended, start it once with the "
        f"option missingMarker=publish, which aborts them. `tidelog transactions list --transactional-id-pattern "
        f"'{slots_pattern(query)}'` shows them"
    )
