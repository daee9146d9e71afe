"""Runs one shard of the group coordinator: one partition of `__consumer_offsets` that this broker leads.

Deciding, appending to the local log and replaying happen in one go on the event loop: there is no moment at which
another request could see half of it. Only the answers wait, until the records they rest on are committed. Answers that
rest on no new record wait as well while older records are on their way, so nobody learns of what may still be lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.coordinators.decision import Answer, Decision, Moment, Request, Token
from tidelog.coordinators.groups.records import UnknownRecordType, decode_record, encode_record
from tidelog.coordinators.groups.replies import refuse
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.offset_commit_request import OffsetCommitRequest
from tidelog.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tidelog.protocol.schema import Message
from tidelog.records.record import Record
from tidelog.server.coordination.loading import load
from tidelog.server.coordination.port import CoordinatorLog, EncodedRecord, Settling, meaning_for_clients
from tidelog.server.coordination.shard_work import (
    ShardTasks,
    ShardTimer,
    log_failed_decision,
    log_failed_load,
    written_end,
)

logger = logging.getLogger(__name__)

# A decision whose records need not be in one batch is written in batches of about this size.
MAX_BATCH_BYTES = 256 * 1024


class Sender(Protocol):
    """Who asks, and in which version of the API: the context of a request knows it."""

    @property
    def version(self) -> int: ...

    @property
    def client_id(self) -> str | None: ...

    @property
    def client_host(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardLimits:
    """How long answers may wait for replicas, how long for the end of the transaction before, and how much is read at
    a time while loading."""

    commit_timeout_ms: int = 5000
    completion_wait_ms: int = 100
    load_buffer_bytes: int = 5 << 20


class GroupShardRuntime:
    """Begins to load when it is made; `close` when the broker stops leading the partition."""

    def __init__(
        self,
        partition: int,
        *,
        log: CoordinatorLog,
        settings: GroupSettings,
        topics: Topics,
        limits: ShardLimits,
        clock: Clock,
        broken: Callable[[GroupShardRuntime], None],
    ) -> None:
        self.partition = partition
        self.shard = GroupShard(settings, topics)
        # What requests are told instead of an answer; NONE once the shard is loaded.
        self.unavailable = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self._log = log
        self._limits = limits
        self._clock = clock
        self._broken = broken
        self._tokens = 0
        # Requests without an answer yet: all of them, those whose caller waits, and the one being decided on.
        self._messages: dict[Token, Message] = {}
        self._futures: dict[Token, asyncio.Future[Message]] = {}
        self._asking: Token | None = None
        self._answer: Message | None = None
        self._timer = ShardTimer(clock, self._on_time)
        self._tasks = ShardTasks("the group coordinator")
        self._tasks.spawn(self._load())

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(self, message: Message, sender: Sender, fresh_id: str = "") -> Message | Later[Message]:
        """The reply, or what to await for it. `fresh_id` is random text for the id of a new member."""
        if self.unavailable:
            if isinstance(message, HeartbeatRequest) and self.unavailable is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # Its member is about to be known again. Any error would only make it look for a coordinator.
                return refuse(message, ErrorCode.NONE)
            return refuse(message, self.unavailable)
        self._tokens += 1
        token = Token(self._tokens)
        self._messages[token] = message
        self._asking, self._answer = token, None
        request = Request(
            token=token,
            message=message,
            version=sender.version,
            client_id=sender.client_id or "",
            client_host=sender.client_host,
            fresh_id=fresh_id,
        )
        self._act(lambda: self.shard.decide(request, self._now()), request)
        self._asking = None
        if self._answer is not None:
            answer, self._answer = self._answer, None
            return answer
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._futures[token] = future
        # The caller may give up first, because its client has gone.
        future.add_done_callback(lambda _: self._forget(token))
        return Later(future)

    def partitions_deleted(self, partitions: Collection[TopicPartition]) -> None:
        if not self.unavailable:
            self._act(lambda: self.shard.on_partitions_deleted(partitions))

    def settling(self) -> Settling | None:
        """When what the shard says now is committed; None if it is. Raises ApiError."""
        return self._log.settling(self.partition)

    async def settle(self, settling: Settling) -> None:
        """Wait for it within a bound. Raises ApiError and TimeoutError."""
        async with asyncio.timeout(self._limits.commit_timeout_ms / 1000):
            await settling

    def transaction_ended(self, producer_id: int, *, commit: bool) -> None:
        """A marker was appended to the partition. While loading, it will be read from there."""
        if not self.unavailable:
            self.shard.replay_marker(producer_id, commit=commit)

    def close(self, code: ErrorCode) -> None:
        """Tell everybody who waits `code`, and from now on everybody who asks."""
        self.unavailable = code
        self._timer.cancel()
        self._tasks.cancel()
        for token in list(self._messages):
            self._deliver(token, refuse(self._messages[token], code))

    # -- decisions -----------------------------------------------------------------------------------------------

    def _act(self, decide: Callable[[], Decision], request: Request | None = None) -> None:
        """Decide, append, replay, answer.

        A decision that raises, or whose records cannot be written, costs its own request and changes nothing. Only if
        the log has taken something that the shard does not know, the shard is discarded and loaded from the log.
        """
        end_before = written_end(self._log, self.partition)
        try:
            self._carry_out(decide())
        except Exception:
            if written_end(self._log, self.partition) != end_before:
                self._give_up()
                return
            self._decision_failed(request)
        self._set_timer()

    def _decision_failed(self, request: Request | None) -> None:
        if request is None:
            asked = "a decision that no request asked for"
        else:
            asked = (
                f"{type(request.message).__name__} version {request.version} of client {request.client_id!r} "
                f"from {request.client_host}"
            )
        log_failed_decision(f"the coordinator of __consumer_offsets-{self.partition}", asked)
        self.shard.roll_back(self._now())
        if request is not None:
            self._deliver(request.token, refuse(request.message, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _give_up(self) -> None:
        logger.exception("the coordinator of __consumer_offsets-%d is broken and will be reloaded", self.partition)
        self.close(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._broken(self)

    def _carry_out(self, decision: Decision) -> None:
        # All of it before the first append: a record that cannot be encoded must not leave half of a decision behind.
        encoded = [encode_record(record) for record in decision.records]
        try:
            self._append(decision, encoded)
            settling = self.settling() if decision.answers else None
        except ApiError as error:
            if decision.records:
                logger.warning("__consumer_offsets-%d takes no records: %s", self.partition, error)
            self._refuse(decision.answers, error.code)
            return
        if settling is None:
            for token, response in decision.answers:
                self._deliver(token, response)
        else:
            self._tasks.spawn(self._answer_when_settled(settling, decision.answers))

    def _append(self, decision: Decision, encoded: Sequence[EncodedRecord]) -> None:
        first = 0
        while first < len(encoded):
            end = len(encoded) if decision.atomic else _end_of_batch(encoded, first)
            offset = self._log.append(self.partition, encoded[first:end], decision.producer)
            producer_id = None if decision.producer is None else decision.producer.producer_id
            for record in decision.records[first:end]:
                self.shard.replay(record, offset=offset, producer_id=producer_id)
                offset += 1
            first = end

    async def _answer_when_settled(self, settling: Settling, answers: Sequence[Answer]) -> None:
        try:
            await self.settle(settling)
        except TimeoutError:
            self._refuse(answers, ErrorCode.REQUEST_TIMED_OUT)
        except ApiError as error:
            self._refuse(answers, error.code)
        else:
            for token, response in answers:
                self._deliver(token, response)

    def _refuse(self, answers: Sequence[Answer], code: ErrorCode) -> None:
        for token, _ in answers:
            message = self._messages.get(token)
            if message is not None:
                self._deliver(token, refuse(message, _told(message, code)))

    def _deliver(self, token: Token, response: Message) -> None:
        if self._messages.pop(token, None) is None:
            return
        if token == self._asking:
            self._answer = response
            return
        future = self._futures.pop(token, None)
        if future is not None and not future.done():
            future.set_result(response)

    def _forget(self, token: Token) -> None:
        self._messages.pop(token, None)
        self._futures.pop(token, None)

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
            log_failed_load(f"__consumer_offsets-{self.partition}", problem)
            self.close(ErrorCode.NOT_COORDINATOR)
            return
        self.unavailable = ErrorCode.NONE
        logger.info(
            "loaded %d groups and %d offsets from %d records of __consumer_offsets-%d in %.0f ms",
            self.shard.group_count(),
            self.shard.committed_offset_count(),
            count,
            self.partition,
            self._clock.monotonic_ms() - started_ms,
        )
        self._act(lambda: self.shard.on_loaded(self._now()))

    def record_read(self, record: Record, producer_id: int | None) -> None:
        assert record.key is not None
        try:
            decoded = decode_record(record.key, record.value)
        except UnknownRecordType as unknown:
            logger.warning("offset %d of __consumer_offsets-%d is skipped: %s", record.offset, self.partition, unknown)
            return
        self.shard.replay(decoded, offset=record.offset, producer_id=producer_id)

    def marker_read(self, producer_id: int, *, commit: bool) -> None:
        self.shard.replay_marker(producer_id, commit=commit)


def _end_of_batch(encoded: Sequence[EncodedRecord], first: int) -> int:
    size = 0
    for index in range(first, len(encoded)):
        key, value = encoded[index]
        size += len(key) + len(value or b"")
        if size > MAX_BATCH_BYTES and index > first:
            return index
    return len(encoded)


def _told(message: Message, code: ErrorCode) -> ErrorCode:
    too_large = code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
    if too_large and isinstance(message, OffsetCommitRequest | TxnOffsetCommitRequest):
        # Says which request was too large; "unknown server error" would not.
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return meaning_for_clients(code)
