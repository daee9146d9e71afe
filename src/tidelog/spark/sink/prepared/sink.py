"""Exactly once with atomicity=prepared: tasks write to the brokers, the driver only decides.

1. Planning, in the driver: `recover_query` gets the fence and ends what others have left.
2. Each task writes in a transaction of its own, with a timeout as usual. When all its rows are stored it *prepares* the
   transaction: from then on it has no timeout (KIP-939). Which transaction it is, is its message to the driver.
3. The driver writes the note of the micro-batch together with the list of these transactions, in one transaction of
   the query's own id, which only the holder of the fence can. That is the decision. Before it, nothing of the
   micro-batch can become visible; after it, everything will.
4. It commits them all. If it dies meanwhile, its successor does that at 1, before any task of it runs.

In the second run of a micro-batch that was decided, tasks only read their rows, to see whether they are the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark import TaskContext

from tidelog.client.admin import Admin
from tidelog.client.errors import FencedError
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.producer.producer import Producer
from tidelog.client.transactions.coordinator_requests import ProducerIdAndEpoch
from tidelog.client.transactions.handover import Kept, OpenTransaction, TransactionHandover
from tidelog.spark.sink.crash_points import crash_point
from tidelog.spark.sink.errors import CannotTellIfPublished, PublishFailed, PublishFenced, SinkError
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.modes import (
    Messages,
    SinkMode,
    all_tasks,
    discard,
    encode_rows,
    finish_batch,
    identity_of,
)
from tidelog.spark.sink.note import PREPARED, Refuse, Skip, decide, note_of
from tidelog.spark.sink.note_store import fetch_note, note_partition, send_note
from tidelog.spark.sink.options import ChangedBatch, MissingNote, SinkOptions
from tidelog.spark.sink.plan import SinkPlan, TaskMessage, TaskPlace
from tidelog.spark.sink.prepared.decision import (
    MAX_SLOTS,
    Begun,
    CommitDecision,
    Fence,
    PreparedPlan,
    Slot,
    parts_group,
    slot_name,
    write_parts,
)
from tidelog.spark.sink.prepared.recovery import abort_all, commit_all, open_transactions, recover_query
from tidelog.spark.sink.publish_errors import BROKER_ERRORS, explain, explained, may_be_repeated
from tidelog.spark.sink.sending import TaskProducer

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.2
_ABORT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPrepared(TaskMessage):
    """The rows are in a prepared transaction: `begun` says which, `holder` who can end it.

    Both are None if the task had no rows, or if the micro-batch was decided before (`verified_only`).
    """

    fence: Fence
    begun: Begun | None = None
    holder: OpenTransaction | None = None
    verified_only: bool = False


class PreparedMode(SinkMode):
    # In a task

    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> TaskPrepared:
        prepared = plan.prepared
        assert prepared is not None
        if prepared.decided is not None and prepared.decided > place.batch:
            raise CannotTellIfPublished(
                f"micro-batch {place.batch} is to be published, but {prepared.decided} is already "
                "decided: the checkpoint is older than what was written"
            )
        verifies_only = prepared.decided == place.batch
        transaction = _TaskTransaction(plan.options, prepared.query, place)
        with explained(str(place), plan.options), transaction:
            written = encode_rows(plan, place, rows, discard if verifies_only else transaction.emit)
            begun, holder = transaction.prepare()
        crash_point("after-prepare", place.batch)
        return TaskPrepared(
            written=written, fence=prepared.fence, begun=begun, holder=holder, verified_only=verifies_only
        )

    # In the driver

    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        tasks = all_tasks(TaskPrepared, messages, batch)
        if len({task.fence for task in tasks}) != 1:
            raise PublishFailed(f"tasks of several plans of micro-batch {batch} are among the results")
        started = time.monotonic()
        try:
            run(_commit(options, options.query_name(tasks[0].written.place.query_id), batch, tasks))
        except FencedError as error:
            raise PublishFenced(
                f"micro-batch {batch} stops, because another driver runs the same query, or another job has the same "
                f"jobId: it has planned a micro-batch since ({error})"
            ) from error
        except BROKER_ERRORS as error:
            raise explain(f"micro-batch {batch}", options, error) from error
        took_ms = 1000 * (time.monotonic() - started)
        skipped = any(task.verified_only for task in tasks)
        finish_batch(batch, tasks, skipped=skipped, commit_ms=took_ms)

    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        """Let readers go on. A commit that failed may have been decided: then it is completed here."""
        tasks = [task for task in messages if isinstance(task, TaskPrepared)]
        if not tasks:
            return
        place, fence = tasks[0].written.place, tasks[0].fence
        query = options.query_name(place.query_id)
        try:
            run(asyncio.wait_for(recover_query(options, query, batch=place.batch, myself=fence), _ABORT_SECONDS))
        except (*BROKER_ERRORS, SinkError, TimeoutError) as error:
            logger.warning("open transactions of %s are left to the next start of the query: %s", query, error)


async def plan_prepared(options: SinkOptions, query_id: str, batch: int | None) -> PreparedPlan:
    """For the driver, before tasks run. `batch` is the micro-batch that is planned, if that is known."""
    with explained("the plan of a micro-batch", options):
        return await recover_query(options, options.query_name(query_id), batch=batch)


# The task's part


@dataclass
class _TaskTransaction:
    """The transaction of a task. It begins with the first rows, since a task without rows needs none."""

    _options: SinkOptions
    _query: str
    _place: TaskPlace
    _slot: Slot | None = None
    _sender: TaskProducer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._sender is None:
            return
        if error is not None:
            # Its timeout would end it as well, but readers need not wait for that.
            with contextlib.suppress(*BROKER_ERRORS):
                self._sender.call(self._sender.producer.abort_transaction())
        self._sender.__exit__(kind, error, trace)

    def emit(self, topic: str, partition: int, count: int, content: bytes) -> None:
        sender = self._sender if self._sender is not None else self._begin()
        sender.emit(topic, partition, count, content)

    def prepare(self) -> tuple[Begun | None, OpenTransaction | None]:
        """When all rows are stored: from then on only the driver, or its successor, ends the transaction."""
        if self._sender is None or self._slot is None:
            return None, None
        handed_over = self._sender.call(self._sender.producer.hand_over_transaction())
        crash_point("before-prepare", self._place.batch)
        kept = self._sender.call(_keep(self._options, handed_over.transactional_id))
        if kept.begun_by != ProducerIdAndEpoch(handed_over.producer_id, handed_over.epoch):
            raise PublishFailed(
                f"the transaction of {self._place} is no longer open: writing took longer than kafka.transaction."
                f"timeout.ms={self._options.transaction_timeout_ms}, or another driver runs the same query. Raise it, "
                "or make tasks smaller"
            )
        return Begun(self._slot, handed_over.producer_id, handed_over.epoch), kept.holder

    def _begin(self) -> TaskProducer:
        self._slot, myself = run(_take_slot(self._options, self._query, self._place.task))
        sender = TaskProducer({**self._options.client, "transactional.id": slot_name(self._query, self._slot)})
        sender.__enter__()
        self._sender = sender
        sender.call(sender.producer.init_transactions(myself=myself))
        sender.call(sender.producer.begin_transaction())
        return sender


async def _take_slot(options: SinkOptions, query: str, task: int) -> tuple[Slot, ProducerIdAndEpoch]:
    """A transactional id under which nothing is open. A task never aborts what it finds: it may have been decided."""
    # Attempts that run at the same time begin with different ids, and so do not get in each other's way.
    context = TaskContext.get()
    first = 0 if context is None else context.attemptNumber()
    async with TransactionHandover(options.client) as handover:
        for number in range(first, first + MAX_SLOTS):
            slot = Slot(task, number)
            kept = await handover.keep(slot_name(query, slot))
            if kept.begun_by is None:
                return slot, ProducerIdAndEpoch(kept.holder.producer_id, kept.holder.epoch)
    raise PublishFailed(f"{MAX_SLOTS} attempts of task {task} have left transactions open. Start the query again")


async def _keep(options: SinkOptions, name: str) -> Kept:
    async with TransactionHandover(options.client) as handover:
        return await handover.keep(name)


# The driver's part


async def _commit(options: SinkOptions, query: str, batch: int, tasks: Sequence[TaskPrepared]) -> None:
    transactions = tuple(task.begun for task in tasks if task.begun is not None)
    holders = {task.begun: task.holder for task in tasks if task.begun is not None and task.holder is not None}
    # Before the fence is renewed: what is open by now and not of these is of losing attempts, and never decided.
    async with Admin(config=options.connection()) as admin:
        others = await open_transactions(admin, query, besides={one.slot for one in transactions})
    crash_point("before-decision", batch)
    decision = CommitDecision(batch=batch, fence=tasks[0].fence, transactions=transactions)
    is_new = await _DecisionWriter(options, query, decision, tasks).write()
    crash_point("after-decision", batch)
    async with TransactionHandover(options.client) as handover:
        if is_new:
            half = (len(transactions) + 1) // 2
            await commit_all(handover, query, transactions[:half], holders)
            crash_point("after-half-of-the-tasks", batch)
            await commit_all(handover, query, transactions[half:], holders)
        else:
            others |= frozenset(transactions)
        await abort_all(handover, query, others)
    crash_point("after-all-tasks", batch)


class _DecisionWriter:
    def __init__(
        self, options: SinkOptions, query: str, decision: CommitDecision, tasks: Sequence[TaskPrepared]
    ) -> None:
        self._options = options
        self._query = query
        self._decision = decision
        self._identity = identity_of([task.written for task in tasks])
        self._verified_only = any(task.verified_only for task in tasks)
        self._note = note_of(self._identity, tasks=len(tasks), division=f"{PREPARED}{decision.fence}")
        self._parts = write_parts(decision)
        # As what we have got the fence last: whoever gets it in between fences us.
        self._myself = ProducerIdAndEpoch(*decision.fence)

    async def write(self) -> bool:
        """Write the decision; False if there was one already. Raises FencedError if another driver has the fence."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._write_once()
            except BROKER_ERRORS as error:
                if isinstance(error, FencedError) or not may_be_repeated(error) or attempt == _ATTEMPTS:
                    raise
                batch = self._decision.batch
                logger.warning("the decision on micro-batch %d of %s is retried: %s", batch, self._query, error)
            await asyncio.sleep(_FIRST_PAUSE_SECONDS * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _write_once(self) -> bool:
        options = self._options
        async with Producer(config={**options.client, "transactional.id": self._query}) as producer:
            self._myself = await producer.init_transactions(myself=self._myself)
            found = await fetch_note(producer.cluster, options, self._query)
            if found is not None and (found.batch, found.division) == (self._note.batch, self._note.division):
                # Written by an attempt of ours whose outcome was not known.
                return True
            verdict = decide(
                self._identity,
                found,
                group=self._query,
                atomicity=PREPARED.strip(),
                publish_without_note=options.missing_note is MissingNote.PUBLISH,
                skip_changed=options.changed_batch is ChangedBatch.SKIP,
            )
            if isinstance(verdict, Refuse):
                raise CannotTellIfPublished(verdict.problem)
            if isinstance(verdict, Skip):
                return False
            if self._verified_only:
                raise PublishFailed(
                    f"micro-batch {self._decision.batch} was decided when it was planned, but its note is "
                    "gone: start the query again"
                )
            async with producer.transaction():
                await self._leave(producer)
        return True

    async def _leave(self, producer: Producer) -> None:
        partition, batch = note_partition(self._options), self._decision.batch
        for part, text in enumerate(self._parts):
            position = OffsetAndMetadata(offset=batch, metadata=text)
            await producer.send_offsets({partition: position}, parts_group(self._query, part))
        crash_point("in-decision", batch)
        await send_note(producer, self._options, self._note, self._query)
