"""Drives a `QuorumReplica`: hands it what happens, one event at a time, and carries out what it wants done.

Everything goes through one queue and one task. A step's effects are complete, flushes included, before the next event
is looked at. That costs a few milliseconds of waiting under load, which the metadata log can afford, and leaves no
order of events to think about.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from tidelog.consensus.effects import (
    NEVER,
    Effects,
    FetchedAppend,
    LeaderChangeAppend,
    Leadership,
    Send,
    SnapshotChunk,
)
from tidelog.consensus.messages import (
    Answer,
    Answered,
    Appended,
    AppendFailed,
    Event,
    Failed,
    FetchAnswer,
    FetchSnapshotAnswer,
    Flushed,
    Requested,
    Resign,
    ShutDown,
    SnapshotId,
    SnapshotInstalled,
    Tick,
    sender_of,
)
from tidelog.consensus.replica import QuorumReplica
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.wire import QuorumWire
from tidelog.metadata.records import METADATA_VERSION
from tidelog.metadata.snapshot_file import CorruptSnapshot, SnapshotContent
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ports import Clock, Randomness
from tidelog.network.client_connection import CannotConnect, ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from tidelog.protocol.schema import Message
from tidelog.server.notice import Notice
from tidelog.server.quorum.election_memory import ElectionMemory
from tidelog.server.quorum.peers import Peers, UnknownPeer
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, DiskFull, StorageFailure

logger = logging.getLogger(__name__)

T = TypeVar("T")

SHUTDOWN_SECONDS = 2.0
SHORTAGE_RETRY_SECONDS = 0.1
# Voters that are found gone twice in a row, so far apart, are not merely being started again.
LOOKS_BEFORE_DESERTED = 2
DESERTION_CHECK_SECONDS = 0.1
# However much a follower asks for, an answer must fit into a frame.
MAX_PIECE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _AppendWanted:
    """Records that the active controller has decided on."""

    records: Sequence[Message]
    epoch: int
    metadata_version: int
    # The offset of the last record, once it is committed.
    committed: asyncio.Future[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chore:
    """Work on the log's files that must not fall between a step and its effects."""

    work: Callable[[], None]
    done: asyncio.Future[None]


class StateMachine(Protocol):
    """Applies what the quorum has committed."""

    async def committed(self, high_watermark: int) -> None: ...

    def installed(self, snapshot_id: SnapshotId, content: SnapshotContent) -> None: ...


def _require_shortage(failure: StorageFailure | OSError) -> None:
    """Raises what is not merely a want of descriptors."""
    cause = failure.cause if isinstance(failure, StorageFailure) else failure
    if cause.errno not in TOO_MANY_OPEN_FILES:
        raise failure
    logger.warning("the metadata log waits for a descriptor: %s", failure)


class QuorumRuntime:
    """`start` it, then `ask` for what other nodes send, and `append` as the leader."""

    def __init__(
        self,
        *,
        settings: QuorumSettings,
        log: QuorumLog,
        wire: QuorumWire,
        peers: Peers,
        clock: Clock,
        randomness: Randomness,
        memory: ElectionMemory,
        state_machine: StateMachine,
        leadership_changed: Notice[[Leadership]],
        heard: Notice[[int]],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._log = log
        self._wire = wire
        self._peers = peers
        self._clock = clock
        self._memory = memory
        quorum_state = memory.read()
        self._forgetful = memory.is_forgetful(quorum_state)
        self._replica = QuorumReplica(
            settings=settings,
            log=log,
            randomness=randomness,
            quorum_state=quorum_state,
            forgetful=self._forgetful,
        )
        self._events: asyncio.Queue[Event | _AppendWanted | _Chore] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
        self._worker: asyncio.Task[None] | None = None
        # Set when the others will not miss this node, or when it has failed anyway.
        self._may_stop = asyncio.Event()
        self._stopping = False
        self._talks: dict[asyncio.Task[None], None] = {}
        self._tokens = itertools.count()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        # Nodes that did not answer the last request to them.
        self._silent: dict[int, None] = {}
        self._commit_waits: deque[tuple[int, asyncio.Future[int]]] = deque()
        self.leadership = Leadership(epoch=0, leader_id=None)
        self.high_watermark = 0
        # The same, once those who act on commits know of it.
        self._told_high_watermark = 0
        self._state_machine = state_machine
        self._leadership_changed = leadership_changed
        # Given with the number of the node that has sent a request.
        self._heard = heard
        self._failed = failed

    # -- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        if self._forgetful and self._settings.is_voter and not self._settings.is_only_voter:
            # Before the first quorum state is: with that alone the next start would take this voter for one with a
            # past, although it may have forgotten a vote.
            await asyncio.get_running_loop().run_in_executor(None, self._memory.write_forgetful)
        await self._carry_out(self._replica.start(self._clock.monotonic_ms()))
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Leave the quorum in order: a leader resigns and says so."""
        if self._worker is None:
            # The start was cancelled before this replica took part in anything.
            await self.abandon()
            return
        self._stopping = True
        self._events.put_nowait(ShutDown())
        endings = [asyncio.create_task(self._may_stop.wait()), asyncio.create_task(self.deserted())]
        await asyncio.wait(endings, timeout=SHUTDOWN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for ending in endings:
            ending.cancel()
        await asyncio.gather(*endings, return_exceptions=True)
        await self.abandon()

    async def abandon(self) -> None:
        """End without a word."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._talks, *([self._worker] if self._worker is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fail_waiting()
        self._peers.close()

    # -- for those around it -------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self._replica.epoch

    @property
    def leader_id(self) -> int | None:
        return self._replica.leader_id

    @property
    def is_forgetful(self) -> bool:
        """Whether this voter does not know yet what it may have promised."""
        return self._replica.is_forgetful

    @property
    def attached_leader_id(self) -> int | None:
        """The leader, as long as this node hears from it."""
        return self._replica.attached_leader_id

    def silent_voters(self) -> list[int]:
        """Those that did not answer what this node last asked them."""
        return [voter for voter in self._silent if voter in self._settings.voters]

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    async def ask(self, message: Message) -> Message:
        """The answer to a request of another replica."""
        request = self._wire.read_request(message)
        if isinstance(request, Message):
            return request
        self._heard(sender_of(request))
        token = next(self._tokens)
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiting
        self._events.put_nowait(Requested(token=token, request=request))
        try:
            return self._wire.write_answer(await waiting)
        finally:
            self._waiting.pop(token, None)

    def describe(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        description = self._replica.describe(self._clock.monotonic_ms(), self._clock.now_ms())
        return self._wire.write_description(request, description)

    async def append(self, records: Sequence[Message], epoch: int, metadata_version: int = METADATA_VERSION) -> int:
        """Append as the leader of `epoch` and wait until it is committed; the offset of the last record. Records are
        written in the versions of the cluster's `metadata_version`.

        Raises ApiError with NOT_CONTROLLER if the leadership is lost: the records may still be committed.
        """
        committed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._events.put_nowait(
            _AppendWanted(records=records, epoch=epoch, metadata_version=metadata_version, committed=committed)
        )
        return await committed

    async def committed(self, offset: int) -> None:
        """As the leader, until the record at `offset` is committed and those who act on commits know it.

        Raises ApiError with NOT_CONTROLLER if the leadership is lost.
        """
        if self._told_high_watermark <= offset:
            committed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._commit_waits.append((offset, committed))
            await committed

    async def deserted(self) -> None:
        """Until so many other voters are gone that those left are no majority. For a quorum of one that never comes.

        A voter is gone if no process listens where it did. One that says nothing may only be slow.
        """
        settings = self._settings
        spare = len(settings.voters) - settings.majority
        looks = 0
        while looks < LOOKS_BEFORE_DESERTED:
            refusals = await asyncio.gather(*(self._peers.refuses(voter) for voter in settings.other_voters))
            looks = looks + 1 if sum(refusals) > spare else 0
            await asyncio.sleep(DESERTION_CHECK_SECONDS)

    async def between_steps(self, work: Callable[[], None]) -> None:
        """Let a thread work on the log while nothing else does. Raises what the work raises."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._events.put_nowait(_Chore(work=work, done=done))
        await done

    def resign(self, epoch: int) -> None:
        self._events.put_nowait(Resign(epoch=epoch))

    # -- the one task --------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while True:
                event = await self._events.get()
                await self._handle(event)
                if self._stopping and self._replica.may_stop:
                    self._may_stop.set()
        except asyncio.CancelledError:
            raise
        except BaseException as failure:
            # Going on with a wrong picture of the quorum would be worse than stopping.
            logger.exception("the metadata quorum of this node has failed")
            self.fail(failure)

    def fail(self, failure: BaseException) -> None:
        """This node cannot take part any more. Those who wait are notified, and whoever runs the node."""
        self._fail_waiting()
        self._may_stop.set()
        if self._worker is not None and self._worker is not asyncio.current_task():
            self._worker.cancel()
        self._failed(failure)

    async def _handle(self, event: Event | _AppendWanted | _Chore) -> None:
        if isinstance(event, _Chore):
            await self._do(event)
            return
        if isinstance(event, _AppendWanted):
            if self.leadership.leading_from is None or self.leadership.epoch != event.epoch:
                if not event.committed.done():
                    event.committed.set_exception(_not_controller())
                return
            if not await self._append(event):
                return
            await self._carry_out(self._replica.step(Appended(), self._clock.monotonic_ms()))
            await self._flush_and_report()
            return
        await self._carry_out(self._replica.step(event, self._clock.monotonic_ms()))

    async def _append(self, event: _AppendWanted) -> bool:
        """Whether the records are in the log."""
        for number, chunk in enumerate(self._log.chunks(event.records)):
            try:
                await self._patiently(partial(self._log.append_records, chunk, event.epoch, event.metadata_version))
            except DiskFull as full:
                if number:
                    # Some of the records are in the log, and belong together with the rest.
                    raise StorageFailure(full.action, full.cause) from full
                if not event.committed.done():
                    refusal = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"nothing was changed: {full}")
                    event.committed.set_exception(refusal)
                return False
        # Before anything else can happen. Should the leadership be lost, those who wait learn of it; whoever began to
        # wait after that would take the commit of another leader's record for that of its own.
        self._commit_waits.append((self._log.end_offset - 1, event.committed))
        return True

    async def _do(self, chore: _Chore) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, chore.work)
        except StorageFailure as failure:
            if not chore.done.done():
                chore.done.set_exception(failure)
        else:
            if not chore.done.done():
                chore.done.set_result(None)

    async def _flush_and_report(self) -> None:
        end_offset = await self._await_patiently(self._log.flush)
        await self._carry_out(self._replica.step(Flushed(end_offset=end_offset), self._clock.monotonic_ms()))

    async def _carry_out(self, effects: Effects) -> None:
        """In the order of the fields. The last thing is the flush, whose report is a step of its own."""
        if effects.quorum_state is not None:
            await self._in_thread(partial(self._memory.write, effects.quorum_state))
        if effects.remembers:
            await self._in_thread(self._memory.remove_forgetful)
        changed = False
        failed = False
        if effects.truncate_to is not None:
            await self._patiently(partial(self._log.truncate, effects.truncate_to))
            changed = True
        if isinstance(effects.append, LeaderChangeAppend):
            await self._patiently(partial(self._log.append_leader_change, effects.append))
            changed = True
        elif isinstance(effects.append, FetchedAppend):
            failed = not await self._patiently(partial(self._log.append_fetched, effects.append))
            changed = changed or not failed
        installed: SnapshotId | None = None
        if effects.snapshot_chunk is not None:
            installed, failed = await self._store(effects.snapshot_chunk)
        if effects.leadership is not None:
            self._lead(effects.leadership)
        if effects.high_watermark is not None:
            await self._commit(effects.high_watermark)
        for reply in effects.replies:
            waiting = self._waiting.get(reply.token)
            if waiting is not None and not waiting.done():
                # Read now: the answer speaks of the log as this step has left it.
                waiting.set_result(await self._patiently(partial(self._with_bytes, reply.answer)))
        for request in effects.requests:
            talk = asyncio.create_task(self._talk(request))
            self._talks[talk] = None
            talk.add_done_callback(self._talks.pop)
        self._set_timer(effects.deadline_ms)
        if failed:
            await self._carry_out(self._replica.step(AppendFailed(), self._clock.monotonic_ms()))
        if installed is not None:
            event = SnapshotInstalled(snapshot_id=installed)
            await self._carry_out(self._replica.step(event, self._clock.monotonic_ms()))
        if changed:
            await self._flush_and_report()

    async def _patiently(self, work: Callable[[], T]) -> T:
        """Do it, and again as long as the process has no descriptor for it: a vote that cannot be written is not cast,
        but neither has the disk failed."""
        while True:
            try:
                return work()
            except (StorageFailure, OSError) as failure:
                _require_shortage(failure)
            await asyncio.sleep(SHORTAGE_RETRY_SECONDS)

    async def _await_patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await work()
            except (StorageFailure, OSError) as failure:
                _require_shortage(failure)
            await asyncio.sleep(SHORTAGE_RETRY_SECONDS)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """The same in a thread."""
        loop = asyncio.get_running_loop()
        return await self._await_patiently(lambda: loop.run_in_executor(None, work))

    async def _store(self, chunk: SnapshotChunk) -> tuple[SnapshotId | None, bool]:
        """(the snapshot that is in place now, whether it has turned out to be damaged)."""
        try:
            content = await self._in_thread(partial(self._log.store_chunk, chunk))
        except CorruptSnapshot as problem:
            logger.warning("the snapshot that was fetched is damaged, trying again: %s", problem)
            return None, True
        if content is None:
            return None, False
        logger.info("fetched a snapshot of the metadata up to offset %d", chunk.snapshot_id.end_offset)
        self._state_machine.installed(chunk.snapshot_id, content)
        return chunk.snapshot_id, False

    def _lead(self, leadership: Leadership) -> None:
        self.leadership = leadership
        if leadership.leading_from is None:
            while self._commit_waits:
                _, committed = self._commit_waits.popleft()
                if not committed.done():
                    committed.set_exception(_not_controller())
        self._leadership_changed(leadership)

    async def _commit(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark
        self._log.committed(high_watermark)
        # The image first: who waits for a commit expects to see its effect.
        await self._await_patiently(partial(self._state_machine.committed, high_watermark))
        self._told_high_watermark = high_watermark
        while self._commit_waits and self._commit_waits[0][0] < high_watermark:
            offset, committed = self._commit_waits.popleft()
            if not committed.done():
                committed.set_result(offset)

    async def _talk(self, send: Send) -> None:
        message = self._wire.write_request(send.destination, send.request)
        expected = response_class(message.SCHEMA.api_key)
        timeout_ms = self._settings.request_timeout_ms + getattr(send.request, "max_wait_ms", 0)
        event: Event = Failed(request_id=send.request_id)
        try:
            response = await self._peers.ask(send.destination, message, expected, timeout_ms)
            answer = self._wire.read_answer(response)
            self._silent.pop(send.destination, None)
            if answer is not None:
                event = Answered(request_id=send.request_id, answer=answer)
        except (ConnectionProblem, UnsupportedByBroker, UnknownPeer) as problem:
            self._silent[send.destination] = None
            logger.debug("node %d: %s", send.destination, problem)
            # Asked once more, because the failure does not tell how each address of the node has answered.
            if isinstance(problem, CannotConnect) and await self._peers.refuses(send.destination):
                event = Failed(request_id=send.request_id, refused=True)
        self._events.put_nowait(event)

    def _set_timer(self, deadline_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms < NEVER:
            delay = max(0.0, deadline_ms - self._clock.monotonic_ms()) / 1000
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay, self._events.put_nowait, Tick())

    def _with_bytes(self, answer: Answer) -> Answer:
        if isinstance(answer, FetchAnswer) and answer.read_from is not None:
            records = self._log.read_bytes(answer.read_from, answer.max_bytes)
            return dataclasses.replace(answer, records=records)
        if isinstance(answer, FetchSnapshotAnswer) and answer.to_be_read:
            return self._with_piece(answer)
        return answer

    def _with_piece(self, answer: FetchSnapshotAnswer) -> FetchSnapshotAnswer:
        found = self._log.read_snapshot(answer.snapshot_id, answer.position, min(answer.max_bytes, MAX_PIECE_BYTES))
        if found is None:
            return dataclasses.replace(answer, error=ErrorCode.SNAPSHOT_NOT_FOUND, to_be_read=False)
        size, data = found
        if answer.position >= size:
            return dataclasses.replace(answer, error=ErrorCode.POSITION_OUT_OF_RANGE, to_be_read=False)
        return dataclasses.replace(answer, size=size, data=data, to_be_read=False)

    def _fail_waiting(self) -> None:
        for _, committed in self._commit_waits:
            if not committed.done():
                committed.set_exception(_not_controller())
        self._commit_waits.clear()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.cancel()
        while not self._events.empty():
            event = self._events.get_nowait()
            if isinstance(event, _Chore):
                event.done.cancel()
            elif isinstance(event, _AppendWanted) and not event.committed.done():
                event.committed.set_exception(_not_controller())


def _not_controller() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "this node is not, or no longer, the active controller")
