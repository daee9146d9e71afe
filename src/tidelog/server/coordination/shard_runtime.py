"""Runs one shard of a coordinator: one partition of its topic that this broker leads.

Deciding, appending to the local log and replaying happen in one step of the event loop: there is no moment at which
another request could see half of it. Only the answers, and what follows from a decision, wait until the records they
depend on are committed. Answers without new records wait as well while older ones are uncommitted, so nobody learns of
what may still be lost.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from tidelog.coordinators.decision import (
    Answer,
    CoordinatorShard,
    Moment,
    ShardDecision,
    ShardRequest,
    Token,
    Undecided,
)
from tidelog.coordinators.record_format import EncodedRecord, RecordFormat
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.schema import Message
from tidelog.records.batch import CorruptBatch
from tidelog.server.coordination.lifecycle import REFUSAL_AFTER, SHARD_LIFECYCLE, ShardStage, ShardStep
from tidelog.server.coordination.loading import load
from tidelog.server.coordination.port import CommitWait, CoordinatorLog, meaning_for_clients
from tidelog.server.coordination.shard_work import ShardTasks, ShardTimer

logger = logging.getLogger(__name__)

# A decision whose records need not be in one batch is written in batches of about this size.
MAX_BATCH_BYTES = 256 * 1024
# How long a failed shard waits before it is reloaded, so that a recurring fault does not keep the broker busy.
RELOAD_DELAY_SECONDS = 1.0

S = TypeVar("S", bound=CoordinatorShard)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardLimits:
    """How long answers may wait for replicas, and how much is read at a time while loading."""

    commit_timeout_ms: int
    load_buffer_bytes: int


class ShardOwner(ABC, Generic[S]):
    """The coordinator that a shard belongs to: what differs between coordinators."""

    format: ClassVar[RecordFormat]

    @abstractmethod
    def new_shard(self, leader_epoch: int) -> S: ...

    @abstractmethod
    def refuse(self, request: ShardRequest, code: ErrorCode) -> Message:
        """The reply that has only `code`."""

    def refusal_by_log(self, request: ShardRequest, code: ErrorCode) -> ErrorCode:
        """What the client learns if the log refuses the records, or does not commit them in time."""
        return meaning_for_clients(code)

    def follow_up(self, shard: ShardRuntime[S]) -> Callable[[], None] | None:
        """Called when a decision has been replayed: what to do when it is committed, if anything."""
        return None

    def on_undecided(self, shard: ShardRuntime[S], request: ShardRequest, reason: Undecided) -> None:
        """Get what is missing, then `decide` or `refuse` the request."""
        raise TypeError(f"nothing resolves {type(reason).__name__} of {shard.name}")

    def on_shard_gone(self) -> None:
        """A shard was closed or has failed."""
        return


@dataclass(slots=True)
class _WaitingRequest:
    """A request without an answer yet. The future is created if its own decision does not answer it."""

    request: ShardRequest
    answer: Message | None = None
    future: asyncio.Future[Message] | None = None


class ShardRuntime(Generic[S]):
    """Begins to load when it is created; `close` when the broker stops leading the partition."""

    def __init__(
        self,
        partition: int,
        leader_epoch: int,
        *,
        owner: ShardOwner[S],
        log: CoordinatorLog,
        limits: ShardLimits,
        clock: Clock,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.name = f"{owner.format.topic}-{partition}"
        self.stage = ShardStage.LOADING
        # What requests are answered with unless the shard is active.
        self.unavailable = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self.shard = owner.new_shard(leader_epoch)
        # They end with the shard.
        self.tasks = ShardTasks(self.name)
        self._owner = owner
        self._log = log
        self._limits = limits
        self._clock = clock
        self._pending: dict[Token, _WaitingRequest] = {}
        self._commit_waits: dict[asyncio.Future[object], None] = {}
        self._timer = ShardTimer(clock, self._on_time)
        self._reload: asyncio.TimerHandle | None = None
        self.tasks.spawn(self._load())

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(self, request: ShardRequest) -> Message | Later[Message]:
        """The reply, or what to await for it."""
        if self.stage is not ShardStage.ACTIVE:
            return self._owner.refuse(request, self.unavailable)
        pending = self._pending[request.token] = _WaitingRequest(request)
        self._act(lambda: self.shard.decide(request, self._now()), request)
        if pending.answer is not None:
            return pending.answer
        pending.future = asyncio.get_running_loop().create_future()
        # The caller may give up first, because its client has gone.
        pending.future.add_done_callback(lambda _: self._pending.pop(request.token, None))
        return Later(pending.future)

    def decide(self, request: ShardRequest) -> None:
        """Decide a request that could not be decided before, unless nobody waits for the answer any more."""
        if request.token in self._pending:
            self._act(lambda: self.shard.decide(request, self._now()), request)

    def refuse(self, request: ShardRequest, code: ErrorCode) -> None:
        """Because of the log, or of something else that the decision needs."""
        self._deliver(request.token, self._owner.refuse(request, self._owner.refusal_by_log(request, code)))

    def act(self, decide: Callable[[S, Moment], ShardDecision]) -> bool:
        """Carry out a decision that no request asked for; whether it was appended."""
        return self.stage is ShardStage.ACTIVE and self._act(lambda: decide(self.shard, self._now()))

    def commit_wait(self) -> CommitWait | None:
        """Done when the shard's current state is committed; None if it is. Raises ApiError."""
        return self._log.commit_wait(self.partition)

    # -- lifecycle -----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """From now on all requests, also waiting ones, are sent to another coordinator."""
        self._leave(ShardStep.CLOSE)

    def _step(self, step: ShardStep) -> None:
        self.stage = SHARD_LIFECYCLE.after(self.stage, step, of=self.name)
        self.unavailable = REFUSAL_AFTER[step]

    def _leave(self, step: ShardStep) -> None:
        """The shard is no longer active: what it began ends, and waiting requests are refused."""
        self._step(step)
        self._timer.cancel()
        self.tasks.cancel()
        if self._reload is not None:
            self._reload.cancel()
        for wait in list(self._commit_waits):
            wait.cancel()
        for token, pending in list(self._pending.items()):
            self._deliver(token, self._owner.refuse(pending.request, self.unavailable))
        self._owner.on_shard_gone()

    def _give_up(self) -> None:
        """Called while an exception is handled: the shard is discarded and loaded from the log."""
        logger.exception("the coordinator of %s is broken and will be reloaded", self.name)
        self._leave(ShardStep.BROKEN)
        self._reload = asyncio.get_running_loop().call_later(RELOAD_DELAY_SECONDS, self._load_again)

    def _load_again(self) -> None:
        self._step(ShardStep.RELOAD)
        self.shard = self._owner.new_shard(self.leader_epoch)
        self.tasks.spawn(self._load())

    async def _load(self) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            read_bytes = self._limits.load_buffer_bytes
            count = await load(self.shard, self._log, self.partition, self._owner.format, read_bytes=read_bytes)
        except Exception as problem:
            if self.stage is ShardStage.CLOSED:
                # The read has found that the disk fails, and that has ended the leadership before it was raised here.
                return
            # Whatever it is, clients must not be answered for ever that the shard is loading. Only what a log cannot
            # contain is worth a traceback.
            expected = isinstance(problem, ApiError | CorruptBatch | ProtocolError)
            logger.error("%s cannot be loaded: %s", self.name, problem, exc_info=not expected)
            self._leave(ShardStep.UNREADABLE)
            return
        self._step(ShardStep.LOADED)
        duration_ms = self._clock.monotonic_ms() - started_ms
        logger.info("loaded %s from %d records of %s in %.0f ms", self.shard.size(), count, self.name, duration_ms)
        self._act(lambda: self.shard.on_loaded(self._now()))

    # -- decisions -----------------------------------------------------------------------------------------------

    def _act(self, decide: Callable[[], ShardDecision | Undecided], request: ShardRequest | None = None) -> bool:
        """Decide, append, replay, answer; whether it was appended.

        A decision that raises, or whose records cannot be written, fails its own request and changes nothing. Only if
        the log contains something that the shard does not know, the shard is discarded and loaded from the log.
        """
        end_before = self._end_of_log()
        taken = False
        try:
            decision = decide()
            if isinstance(decision, ShardDecision):
                taken = self._carry_out(decision)
            else:
                assert request is not None, "only requests can wait for something"
                self._owner.on_undecided(self, request, decision)
        except Exception:
            if self.stage is not ShardStage.ACTIVE:
                logger.exception("a decision of %s failed after the shard was closed", self.name)
            elif self._end_of_log() != end_before:
                self._give_up()
            else:
                self._decision_failed(request)
        self._set_timer()
        return taken

    def _end_of_log(self) -> int | None:
        """None if this broker does not lead the partition, so that nothing can be written either."""
        try:
            return self._log.end_offset(self.partition)
        except ApiError:
            return None

    def _decision_failed(self, request: ShardRequest | None) -> None:
        """Called while the exception is handled. It failed one request, or one timer, and nothing else."""
        if request is None:
            asked = "a decision that no request asked for"
        else:
            asked = f"{type(request.message).__name__} version {request.version}"
            if request.client_host:
                asked += f" of client {request.client_id!r} from {request.client_host}"
        logger.exception("the coordinator of %s: %s failed and changed nothing", self.name, asked)
        self.shard.roll_back(self._now())
        if request is not None:
            self._deliver(request.token, self._owner.refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _carry_out(self, decision: ShardDecision) -> bool:
        try:
            if decision.records:
                self._append(decision)
            follow_up = self._owner.follow_up(self)
            wait = self.commit_wait() if decision.answers or follow_up is not None else None
        except ApiError as error:
            if decision.records:
                logger.warning("%s cannot be written to: %s", self.name, error)
            self._refuse_all(decision.answers, error.code)
            return False
        if wait is None:
            self._committed(decision.answers, follow_up)
        else:
            self._wait_for_commit(wait, decision.answers, follow_up)
        return True

    def _append(self, decision: ShardDecision) -> None:
        # All of it before the first append: a record that cannot be encoded must not leave half of a decision behind.
        encode = self._owner.format.encode
        encoded = [encode(record) for record in decision.records]
        first = 0
        producer_id = None if decision.producer is None else decision.producer.producer_id
        while first < len(encoded):
            end = len(encoded) if decision.atomic else _end_of_batch(encoded, first)
            offset = self._log.append(self.partition, encoded[first:end], decision.producer)
            for record in decision.records[first:end]:
                self.shard.replay(record, offset=offset, producer_id=producer_id)
                offset += 1
            first = end

    # -- answers -------------------------------------------------------------------------------------------------

    def _wait_for_commit(
        self, wait: CommitWait, answers: Sequence[Answer], follow_up: Callable[[], None] | None
    ) -> None:
        """Answers wait within a bound. What follows waits as long as it takes, since the records stay in the log."""
        timeout = asyncio.get_running_loop().call_later(
            self._limits.commit_timeout_ms / 1000, self._refuse_all, answers, ErrorCode.REQUEST_TIMED_OUT
        )

        def done(future: asyncio.Future[object]) -> None:
            timeout.cancel()
            self._commit_waits.pop(future, None)
            if future.cancelled():
                return
            try:
                wait.take()
            except ApiError as error:
                self._refuse_all(answers, error.code)
            else:
                self._committed(answers, follow_up)

        self._commit_waits[wait.future] = None
        wait.future.add_done_callback(done)

    def _committed(self, answers: Sequence[Answer], follow_up: Callable[[], None] | None) -> None:
        if follow_up is not None:
            follow_up()
        for token, response in answers:
            self._deliver(token, response)

    def _refuse_all(self, answers: Sequence[Answer], code: ErrorCode) -> None:
        for token, _ in answers:
            pending = self._pending.get(token)
            if pending is not None:
                self.refuse(pending.request, code)

    def _deliver(self, token: Token, response: Message) -> None:
        pending = self._pending.pop(token, None)
        if pending is None:
            return
        if pending.future is None:
            pending.answer = response
        elif not pending.future.done():
            pending.future.set_result(response)

    # -- time ----------------------------------------------------------------------------------------------------

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.now_ms())

    def _set_timer(self) -> None:
        deadline_ms = self.shard.next_deadline()
        if deadline_ms is not None and self.stage is ShardStage.ACTIVE:
            self._timer.set(deadline_ms)

    def _on_time(self) -> None:
        self._act(lambda: self.shard.on_time(self._now()))


def _end_of_batch(encoded: Sequence[EncodedRecord], first: int) -> int:
    size = 0
    for index in range(first, len(encoded)):
        key, value = encoded[index]
        size += len(key) + len(value or b"")
        if size > MAX_BATCH_BYTES and index > first:
            return index
    return len(encoded)
