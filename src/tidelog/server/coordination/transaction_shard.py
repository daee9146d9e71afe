"""Runs one shard of the transaction coordinator: one partition of `__transaction_state` that this broker leads.

Deciding, appending to the local log and replaying happen in one go on the event loop, as with groups. Answers wait
until the records they rest on are committed, and so do markers: what a coordinator may yet lose must not have been told
to anybody. Markers that could not be written are tried again until they are, or until the shard is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from tidelog.coordinators.decision import Decision, Moment, Request, Token
from tidelog.coordinators.transactions import replies
from tidelog.coordinators.transactions.markers import MarkerOutcome, MarkerWork, marker_outcome
from tidelog.coordinators.transactions.records import UnknownRecordType, decode_record, encode_record
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.coordinators.transactions.shard import TransactionShard
from tidelog.coordinators.transactions.state import ProducerIdNeeded
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.protocol.schema import Message
from tidelog.records.record import Record
from tidelog.server.coordination.completions import Completions
from tidelog.server.coordination.group_shard import ShardLimits
from tidelog.server.coordination.loading import load
from tidelog.server.coordination.port import CoordinatorLog, Settling, meaning_for_clients
from tidelog.server.coordination.shard_work import (
    ShardTasks,
    ShardTimer,
    log_failed_decision,
    log_failed_load,
    written_end,
)

logger = logging.getLogger(__name__)

# Tombstones of expired ids, which need not be in one batch.
RECORDS_PER_BATCH = 500
# Between two attempts to write a marker; doubled up to the longest.
FIRST_MARKER_RETRY_SECONDS = 0.02
LONGEST_MARKER_RETRY_SECONDS = 1.0

# A request is answered by its own decision, so one token does for all.
_TOKEN = Token(0)

MarkerCodes = Mapping[TopicPartition, ErrorCode]


class MarkerWriter(Protocol):
    """Brings markers to the leaders of partitions, wherever they are."""

    def write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> MarkerCodes | Later[MarkerCodes]:
        """What became of each; NONE once the marker is committed. At once if nothing has to be waited for."""
        ...


class ProducerIdSource(Protocol):
    async def next(self) -> int:
        """Raises ApiError."""
        ...


class TransactionShardRuntime:
    """Begins to load when it is made; `close` when the broker stops leading the partition."""

    def __init__(
        self,
        partition: int,
        *,
        coordinator_epoch: int,
        log: CoordinatorLog,
        markers: MarkerWriter,
        producer_ids: ProducerIdSource,
        settings: TransactionSettings,
        limits: ShardLimits,
        clock: Clock,
        broken: Callable[[int], None],
    ) -> None:
        self.partition = partition
        self.shard = TransactionShard(settings, coordinator_epoch=coordinator_epoch)
        # What requests are told instead of an answer; NONE once the shard is loaded.
        self.unavailable = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self._log = log
        self._markers = markers
        self._producer_ids = producer_ids
        self._limits = limits
        self._clock = clock
        self._broken = broken
        self._timer = ShardTimer(clock, self._on_time)
        self._completions = Completions(self.shard.is_completing)
        self._tasks = ShardTasks("the transaction coordinator")
        self._tasks.spawn(self._load())

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(self, message: Message, version: int) -> Message | Later[Message]:
        """The reply, or what to await for it."""
        outcome = self._ask(message, version, None)
        if isinstance(outcome, ProducerIdNeeded):
            return Later.run(self._ask_with_producer_id(message, version))
        return outcome

    def ask_patiently(self, transactional_id: str, message: Message, version: int) -> Message | Later[Message]:
        """As `ask`, but where the markers of the last transaction are still on their way, wait for them first."""
        completed = self._completions.of(transactional_id)
        if completed is None:
            return self.ask(message, version)
        return Later.run(self._ask_when_completed(completed, message, version))

    async def _ask_when_completed(self, completed: asyncio.Future[None], message: Message, version: int) -> Message:
        await asyncio.wait((completed,), timeout=self._limits.completion_wait_ms / 1000)
        outcome = self.ask(message, version)
        return outcome if isinstance(outcome, Message) else await outcome

    async def _ask_with_producer_id(self, message: Message, version: int) -> Message:
        try:
            producer_id = await self._producer_ids.next()
        except ApiError as error:
            return replies.refused(message, meaning_for_clients(error.code), version)
        outcome = self._ask(message, version, producer_id)
        assert not isinstance(outcome, ProducerIdNeeded), "it has one"
        return outcome if isinstance(outcome, Message) else await outcome

    def _ask(
        self, message: Message, version: int, fresh_producer_id: int | None
    ) -> Message | Later[Message] | ProducerIdNeeded:
        if self.unavailable:
            return replies.refused(message, self.unavailable, version)
        request = Request(token=_TOKEN, message=message, version=version)
        end_before = written_end(self._log, self.partition)
        try:
            decision = self.shard.decide(request, self._now(), fresh_producer_id)
            if isinstance(decision, ProducerIdNeeded):
                return decision
            settled = self._carry_out(decision)
        except ApiError as error:
            logger.warning("__transaction_state-%d takes no records: %s", self.partition, error)
            return replies.refused(message, meaning_for_clients(error.code), version)
        except Exception:
            self._decision_failed(end_before, f"{type(message).__name__} version {version}")
            return replies.refused(message, ErrorCode.UNKNOWN_SERVER_ERROR, version)
        ((_, response),) = decision.answers
        if settled is None:
            return response
        return Later.run(self._answer_when_settled(settled, message, response, version))

    async def _answer_when_settled(
        self, settled: asyncio.Task[None], message: Message, response: Message, version: int
    ) -> Message:
        """The records get committed, or lost, whether or not the client waits for it: hence the shield."""
        try:
            async with asyncio.timeout(self._limits.commit_timeout_ms / 1000):
                await asyncio.shield(settled)
        except TimeoutError:
            return replies.refused(message, meaning_for_clients(ErrorCode.REQUEST_TIMED_OUT), version)
        except ApiError as error:
            return replies.refused(message, meaning_for_clients(error.code), version)
        except asyncio.CancelledError:
            if settled.cancelled():
                return replies.refused(message, self.unavailable or ErrorCode.NOT_COORDINATOR, version)
            raise
        return response

    def close(self, code: ErrorCode) -> None:
        """From now on everybody who asks, or still waits, is told `code`."""
        self.unavailable = code
        self._timer.cancel()
        self._tasks.cancel()
        self._completions.close()

    # -- decisions -----------------------------------------------------------------------------------------------

    def _carry_out(self, decision: Decision) -> asyncio.Task[None] | None:
        """Append and replay; markers follow when that is committed. What to wait for, if not nothing.

        Raises ApiError if the log takes no records, and then nothing has changed.
        """
        records = decision.records
        # All of it before the first append: a record that cannot be encoded must not leave half of a decision behind.
        encoded = [encode_record(record) for record in records]
        step = len(records) if decision.atomic else RECORDS_PER_BATCH
        for first in range(0, len(records), step or 1):
            self._log.append(self.partition, encoded[first : first + step])
            for record in records[first : first + step]:
                self.shard.replay(record)
        self._set_timer()
        self._completions.changed()
        work = self.shard.take_marker_work()
        if not work and not decision.answers:
            return None
        settling = self._log.settling(self.partition)
        if settling is None:
            for each in work:
                self._mark(each)
            return None
        return self._tasks.spawn(self._settle(settling, work))

    async def _settle(self, settling: Settling, work: list[MarkerWork]) -> None:
        """As long as it takes: the records stay in the log, and the markers must follow them."""
        await settling
        for each in work:
            self._mark(each)

    def _act(self, decide: Callable[[], Decision]) -> bool:
        """For decisions that nobody asked for; whether the log took them."""
        end_before = written_end(self._log, self.partition)
        try:
            self._carry_out(decide())
        except ApiError as error:
            logger.warning("__transaction_state-%d takes no records: %s", self.partition, error)
            self._set_timer()
            return False
        except Exception:
            self._decision_failed(end_before, "a decision that no request asked for")
            return False
        return True

    def _decision_failed(self, end_before: int | None, asked: str) -> None:
        """It costs the one who asked and changes nothing, unless the log has taken what the shard does not know."""
        if written_end(self._log, self.partition) != end_before:
            self._give_up()
            return
        log_failed_decision(f"the coordinator of __transaction_state-{self.partition}", asked)
        self.shard.roll_back(self._now())
        self._set_timer()

    def _give_up(self) -> None:
        """Called while an exception is handled: the shard is discarded and loaded from the log."""
        logger.exception("the coordinator of __transaction_state-%d is broken and will be reloaded", self.partition)
        self.close(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._broken(self.partition)

    # -- markers -------------------------------------------------------------------------------------------------

    def _mark(self, work: MarkerWork) -> None:
        """Where nothing has to be waited for, the transaction is complete before its producer gets the answer."""
        left = work.partitions
        outcome = self._write_markers(work, left)
        if isinstance(outcome, Mapping):
            after = self._take_outcome(work, left, outcome, is_first=True)
            if after is None:
                return
            self._tasks.spawn(self._keep_marking(work, after))
        else:
            self._tasks.spawn(self._keep_marking(work, left, outcome))

    async def _keep_marking(
        self, work: MarkerWork, left: frozenset[TopicPartition], first: Later[MarkerCodes] | None = None
    ) -> None:
        delay = FIRST_MARKER_RETRY_SECONDS
        outcome: MarkerCodes | Later[MarkerCodes] | None = first
        while True:
            if outcome is None:
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_MARKER_RETRY_SECONDS)
                outcome = self._write_markers(work, left)
            codes = outcome if isinstance(outcome, Mapping) else await outcome
            after = self._take_outcome(work, left, codes, is_first=first is not None)
            if after is None:
                return
            left, outcome, first = after, None, None

    def _write_markers(self, work: MarkerWork, left: frozenset[TopicPartition]) -> MarkerCodes | Later[MarkerCodes]:
        """An attempt that raises is one that failed: a decided transaction is never left without its markers."""

        def failed(error: Exception) -> MarkerCodes:
            logger.error("the markers of %r could not be written", work.transactional_id, exc_info=error)
            return dict.fromkeys(left, ErrorCode.UNKNOWN_SERVER_ERROR)

        try:
            outcome = self._markers.write(work, left)
        except Exception as error:
            return failed(error)
        return outcome if isinstance(outcome, Mapping) else outcome.otherwise(failed)

    def _take_outcome(
        self, work: MarkerWork, left: frozenset[TopicPartition], codes: MarkerCodes, *, is_first: bool
    ) -> frozenset[TopicPartition] | None:
        """What is left to write; None if that is no longer this coordinator's affair."""
        told = {partition: codes.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR) for partition in sorted(left)}
        outcomes = {partition: marker_outcome(code) for partition, code in told.items()}
        if MarkerOutcome.DEPOSED in outcomes.values():
            logger.warning("another coordinator ends the transaction of %r", work.transactional_id)
            return None
        written = [partition for partition, outcome in outcomes.items() if outcome is MarkerOutcome.WRITTEN]
        if is_first:
            # Once: it may take long, and operators see the transaction in its state.
            for partition, outcome in outcomes.items():
                if outcome is MarkerOutcome.RETRY:
                    reason = told[partition].name
                    logger.info("the marker of %r cannot get to %s yet: %s", work.transactional_id, partition, reason)
        recorded = self._act(lambda: self.shard.on_markers_written(work, written, self._now()))
        rest = left.difference(written)
        return None if recorded and not rest else rest

    # -- time ----------------------------------------------------------------------------------------------------

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.now_ms())

    def _set_timer(self) -> None:
        deadline_ms = self.shard.next_deadline()
        if deadline_ms is not None and not self.unavailable:
            self._timer.set(deadline_ms)

    def _on_time(self) -> None:
        if not self.unavailable:
            self._act(lambda: self.shard.on_time(self._now()))

    # -- loading -------------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            count = await load(self._log, self.partition, self, read_bytes=self._limits.load_buffer_bytes)
        except Exception as problem:
            # Whatever it is, clients must not be told for ever that the shard is loading.
            log_failed_load(f"__transaction_state-{self.partition}", problem)
            self.close(ErrorCode.NOT_COORDINATOR)
            return
        self.unavailable = ErrorCode.NONE
        logger.info(
            "loaded %d transactional ids from %d records of __transaction_state-%d in %.0f ms",
            len(self.shard.transactions),
            count,
            self.partition,
            self._clock.monotonic_ms() - started_ms,
        )
        self.shard.on_loaded(self._now())
        # Transactions that were decided but not completed: their markers are written (again).
        self._act(Decision)

    def record_read(self, record: Record, producer_id: int | None) -> None:
        assert record.key is not None
        try:
            decoded = decode_record(record.key, record.value)
        except UnknownRecordType as unknown:
            logger.warning("offset %d of __transaction_state-%d is skipped: %s", record.offset, self.partition, unknown)
            return
        self.shard.replay(decoded, offset=record.offset)

    def marker_read(self, producer_id: int, *, commit: bool) -> None:
        """Nobody writes to this topic in a transaction."""
