"""Exactly once with atomicity=task: every task writes in a transaction of its own, and the driver commits them all.

For micro-batches that are too large for the driver's bandwidth. Rows go from the tasks to the brokers; the driver only
ends transactions. They become visible one after the other, and if the driver dies in between, the micro-batch can be
completed only by the same tasks with the same rows. So the driver first writes down how it is divided (the note of
the query), and each task's transaction holds a note of its own. What follows from them is decided in
`tidelog.spark.sink.note`.

The price beside that: transactions are open until all tasks are done, so kafka.transaction.timeout.ms has to cover the
micro-batch, and tasks that a dead driver had beyond those of its successor hold back readers until that time is over.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark import TaskContext

from tidelog.client.errors import FencedError
from tidelog.client.producer.producer import Producer
from tidelog.client.transactions.handover import OpenTransaction, end_transaction
from tidelog.spark.sink.checkpoint import stop_if_overtaken
from tidelog.spark.sink.crash_points import crash_point
from tidelog.spark.sink.errors import CannotTellIfPublished, InvalidSinkOptions, PlanChanged, PublishFailed
from tidelog.spark.sink.event_loop import do_each, run
from tidelog.spark.sink.modes import (
    Messages,
    SinkMode,
    all_tasks,
    discard,
    encode_rows,
    finish_batch,
    identity_of,
)
from tidelog.spark.sink.note import Refuse, decide_tasks, note_of
from tidelog.spark.sink.note_store import ensure_note_topic, fetch_note, send_note
from tidelog.spark.sink.options import MissingNote, SinkOptions
from tidelog.spark.sink.plan import SinkPlan, TaskPlace, TaskTransaction
from tidelog.spark.sink.publish_errors import BROKER_ERRORS, explain, explained
from tidelog.spark.sink.sending import TaskProducer

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

_SPECULATION = "spark.speculation"
_ABORT_SECONDS = 10.0


class TaskMode(SinkMode):
    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> TaskTransaction:
        _refuse_speculation()
        options = plan.options
        name = _task_name(options.query_name(place.query_id), place.task)
        with explained(str(place), options), TaskProducer({**options.client, "transactional.id": name}) as sender:
            sender.call(ensure_note_topic(sender.producer.cluster, options))
            sender.call(sender.producer.init_transactions())
            note = sender.call(fetch_note(sender.producer.cluster, options, name))
            if note is not None and note.batch > place.batch:
                raise CannotTellIfPublished(
                    f"micro-batch {place.batch} is to be published, but task {place.task} of {note.batch} is "
                    "already in the topics: the checkpoint is older than what was written"
                )
            if note is not None and note.batch == place.batch:
                return TaskTransaction(written=encode_rows(plan, place, rows, discard), transaction=None)
            sender.call(sender.producer.begin_transaction())
            written = encode_rows(plan, place, rows, sender.emit)
            sender.call(send_note(sender.producer, options, note_of(identity_of([written]), tasks=1), name))
            transaction = sender.call(sender.producer.hand_over_transaction())
            return TaskTransaction(written=written, transaction=transaction)

    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        tasks = all_tasks(TaskTransaction, messages, batch)
        place = tasks[0].written.place
        stop_if_overtaken(place.planned)
        started = time.monotonic()
        try:
            run(_commit(options, options.query_name(place.query_id), batch, tasks))
        except FencedError as error:
            raise PublishFailed(
                f"a task's transaction of micro-batch {batch} is no longer open: it took longer than "
                f"kafka.transaction.timeout.ms={options.transaction_timeout_ms}, or the task has been run a second "
                f"time. Start the query again: what is in the topics is not published a second time ({error})"
            ) from error
        except BROKER_ERRORS as error:
            raise explain(f"micro-batch {batch}", options, error) from error
        took_ms = 1000 * (time.monotonic() - started)
        skipped = all(task.transaction is None for task in tasks)
        finish_batch(batch, tasks, skipped=skipped, commit_ms=took_ms)

    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        """Let readers go on. Transactions that are committed by now refuse, since they are not open any more."""
        open_ones = [task.transaction for task in messages if isinstance(task, TaskTransaction) and task.transaction]
        if open_ones:
            run(_abort_all(options, open_ones))


async def _commit(options: SinkOptions, name: str, batch: int, tasks: Sequence[TaskTransaction]) -> None:
    division = ";".join(f"{task.written.digest.rows}:{task.written.digest}" for task in tasks)
    current = note_of(
        identity_of([task.written for task in tasks]),
        tasks=len(tasks),
        division=hashlib.blake2b(division.encode(), digest_size=8).hexdigest(),
    )
    async with Producer(config={**options.client, "transactional.id": name}) as producer:
        await ensure_note_topic(producer.cluster, options)
        # An earlier driver cannot write down its division any more.
        await producer.init_transactions()
        planned = await fetch_note(producer.cluster, options, name)
        crash_point("after-offset-fetch", batch)
        committed = any(task.transaction is None for task in tasks)
        if planned is not None and planned.batch == batch and not committed:
            # Nobody has looked after tasks that the earlier division had beyond the current one.
            extra = [_task_name(name, number) for number in range(len(tasks), planned.tasks)]
            committed = any(await asyncio.gather(*(_fence(options, one, batch) for one in extra)))
        decision = decide_tasks(
            planned,
            current,
            any_committed=committed,
            group=name,
            publish_without_note=options.missing_note is MissingNote.PUBLISH,
        )
        if isinstance(decision, Refuse):
            raise (PlanChanged if committed else CannotTellIfPublished)(decision.problem)
        if planned != current:
            async with producer.transaction():
                await send_note(producer, options, current, name)
    crash_point("before-end-txn", batch)

    async def commit(transaction: OpenTransaction) -> None:
        await end_transaction(options.client, transaction, commit=True)

    open_ones = [task.transaction for task in tasks if task.transaction is not None]
    half = (len(open_ones) + 1) // 2
    await do_each(open_ones[:half], commit)
    crash_point("after-half-of-the-tasks", batch)
    await do_each(open_ones[half:], commit)
    crash_point("after-end-txn", batch)


async def _fence(options: SinkOptions, name: str, batch: int) -> bool:
    """Take over a task's transactional id, which settles its transaction, and see whether it is in the topics."""
    async with Producer(config={**options.client, "transactional.id": name}) as producer:
        await producer.init_transactions()
        note = await fetch_note(producer.cluster, options, name)
    return note is not None and note.batch == batch


async def _abort_all(options: SinkOptions, open_ones: Sequence[OpenTransaction]) -> None:
    try:
        async with asyncio.timeout(_ABORT_SECONDS):
            for transaction in open_ones:
                with suppress(FencedError):
                    await end_transaction(options.client, transaction, commit=False)
    except (*BROKER_ERRORS, TimeoutError) as error:
        logger.warning("open transactions are left to their timeout: %s", error)


def _refuse_speculation() -> None:
    """Both attempts of a task would use one transactional id, and fence each other for ever."""
    context = TaskContext.get()
    if context is not None and (context.getLocalProperty(_SPECULATION) or "false").lower() == "true":
        raise InvalidSinkOptions("atomicity=task does not work with spark.speculation=true; use atomicity=batch")


def _task_name(query_name: str, task: int) -> str:
    return f"{query_name}-task-{task}"
