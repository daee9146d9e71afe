"""Drives a `QuorumReplica`: passes it one event at a time, and carries out its effects.

Everything goes through one queue and one task. A step's effects are complete, flushes included, before the next event
is handled. That costs a few milliseconds of waiting under load, which the metadata log can afford, and leaves no
interleavings to think about.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial

from tidelog.consensus.effects import NEVER, Effects, FetchedAppend, LeaderChangeAppend, Leadership, SnapshotChunk
from tidelog.consensus.messages import (
    Answer,
    Appended,
    AppendFailed,
    Event,
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
from tidelog.metadata.records import METADATA_VERSION
from tidelog.metadata.snapshot_file import CorruptSnapshot
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock, Randomness
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from tidelog.protocol.schema import Message
from tidelog.server.notice import Notice
from tidelog.server.quorum.commit_waits import CommitWaits, not_controller, refuse
from tidelog.server.quorum.election_memory import ElectionMemory
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.patience import await_patiently, patiently, patiently_in_thread
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.server.quorum.talks import QuorumTalks
from tidelog.storage.files.filesystem import DiskFull, StorageFailure

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 2.0


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


@dataclass(slots=True, kw_only=True, eq=False)
class QuorumRuntime:
    """`start` it, then `ask` for what other nodes send, and `append` as the leader.

    What this node knows of the quorum is in `replica`, which nobody else steps.
    """

    log: QuorumLog
    talks: QuorumTalks
    clock: Clock
    randomness: Randomness
    memory: ElectionMemory
    metadata: MetadataFollower
    leadership_changed: Notice[[Leadership]]
    # Called with the id of the node that has sent a request.
    heard: Notice[[int]]
    failed: Callable[[BaseException], None]
    replica: QuorumReplica = field(init=False)
    _forgetful: bool = field(init=False)
    _events: asyncio.Queue[Event | _AppendWanted | _Chore] = field(default_factory=asyncio.Queue, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _worker: asyncio.Task[None] | None = field(default=None, init=False)
    # Set when the others will not miss this node, or when it has failed anyway.
    _may_stop: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _stopping: bool = field(default=False, init=False)
    _tokens: Iterator[int] = field(default_factory=itertools.count, init=False)
    _waiting: dict[int, asyncio.Future[Answer]] = field(default_factory=dict, init=False)
    _commit_waits: CommitWaits = field(default_factory=CommitWaits, init=False)
    _leadership: Leadership = field(default=Leadership(epoch=0, leader_id=None), init=False)
    # Up to which commits have been reported.
    _high_watermark: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Raises DamagedQuorumState."""
        quorum_state = self.memory.read()
        self._forgetful = self.memory.is_forgetful(quorum_state)
        self.replica = QuorumReplica(
            settings=self.talks.settings,
            log=self.log,
            randomness=self.randomness,
            quorum_state=quorum_state,
            forgetful=self._forgetful,
        )

    # -- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        settings = self.talks.settings
        if self._forgetful and settings.is_voter and not settings.is_only_voter:
            # Before the first quorum state is written: with that alone the next start would take this voter for one
            # with a past, although it may have forgotten a vote.
            await asyncio.get_running_loop().run_in_executor(None, self.memory.write_forgetful)
        await self._carry_out(self.replica.start(self.clock.monotonic_ms()))
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Leave the quorum cleanly: a leader resigns and says so."""
        if self._worker is None:
            # The start was cancelled before this replica took part in anything.
            await self.abandon()
            return
        self._stopping = True
        self._events.put_nowait(ShutDown())
        endings = [asyncio.create_task(self._may_stop.wait()), asyncio.create_task(self.talks.deserted())]
        await asyncio.wait(endings, timeout=SHUTDOWN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for ending in endings:
            ending.cancel()
        await asyncio.gather(*endings, return_exceptions=True)
        await self.abandon()

    async def abandon(self) -> None:
        """Stop without notifying the others."""
        if self._timer is not None:
            self._timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        await self.talks.stop()
        self._fail_waiting()

    # -- for those around it -------------------------------------------------------------------------------------

    async def ask(self, message: Message) -> Message:
        """The answer to a request of another replica."""
        request = self.talks.wire.read_request(message)
        if isinstance(request, Message):
            return request
        self.heard(sender_of(request))
        token = next(self._tokens)
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiting
        self._events.put_nowait(Requested(token=token, request=request))
        try:
            return self.talks.wire.write_answer(await waiting)
        finally:
            self._waiting.pop(token, None)

    def describe(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        description = self.replica.describe(self.clock.monotonic_ms(), self.clock.now_ms())
        return self.talks.wire.write_description(request, description)

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
        if self._high_watermark <= offset:
            committed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._commit_waits.add(offset, committed)
            await committed

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
                if self._stopping and self.replica.may_stop:
                    self._may_stop.set()
        except asyncio.CancelledError:
            raise
        except BaseException as failure:
            # Continuing with a wrong view of the quorum would be worse than stopping.
            logger.exception("the metadata quorum of this node has failed")
            self.fail(failure)

    def fail(self, failure: BaseException) -> None:
        """This node cannot take part any more. Waiting callers are notified, and whoever runs the node."""
        self._fail_waiting()
        self._may_stop.set()
        if self._worker is not None and self._worker is not asyncio.current_task():
            self._worker.cancel()
        self.failed(failure)

    async def _handle(self, event: Event | _AppendWanted | _Chore) -> None:
        if isinstance(event, _Chore):
            await self._do(event)
            return
        if isinstance(event, _AppendWanted):
            if self._leadership.leading_from is None or self._leadership.epoch != event.epoch:
                refuse(event.committed, not_controller())
            elif await self._append(event):
                await self._step(Appended())
                await self._flush_and_report()
            return
        await self._step(event)

    async def _step(self, event: Event) -> None:
        await self._carry_out(self.replica.step(event, self.clock.monotonic_ms()))

    async def _append(self, event: _AppendWanted) -> bool:
        """Whether the records are in the log."""
        for number, chunk in enumerate(self.log.chunks(event.records)):
            try:
                await patiently(partial(self.log.append_records, chunk, event.epoch, event.metadata_version))
            except DiskFull as full:
                if number:
                    # Some of the records are in the log, and belong together with the rest.
                    raise StorageFailure(full.action, full.cause) from full
                refuse(event.committed, ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"nothing was changed: {full}"))
                return False
        # Before anything else can happen. If the leadership is lost, waiting callers learn of it; one that began to
        # wait after that would take the commit of another leader's record for that of its own.
        self._commit_waits.add(self.log.end_offset - 1, event.committed)
        return True

    async def _do(self, chore: _Chore) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, chore.work)
        except StorageFailure as failure:
            refuse(chore.done, failure)
        else:
            if not chore.done.done():
                chore.done.set_result(None)

    async def _flush_and_report(self) -> None:
        await self._step(Flushed(end_offset=await await_patiently(self.log.flush)))

    async def _carry_out(self, effects: Effects) -> None:
        """In the order of the fields. The last thing is the flush, whose report is a step of its own."""
        if effects.quorum_state is not None:
            await patiently_in_thread(partial(self.memory.write, effects.quorum_state))
        if effects.remembers:
            await patiently_in_thread(self.memory.remove_forgetful)
        changed = False
        failed = False
        if effects.truncate_to is not None:
            await patiently(partial(self.log.truncate, effects.truncate_to))
            changed = True
        if isinstance(effects.append, LeaderChangeAppend):
            await patiently(partial(self.log.append_leader_change, effects.append))
            changed = True
        elif isinstance(effects.append, FetchedAppend):
            failed = not await patiently(partial(self.log.append_fetched, effects.append))
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
                answer = await patiently(partial(self.log.with_bytes, reply.answer))
                # The caller may be gone by now.
                if not waiting.done():
                    waiting.set_result(answer)
        for request in effects.requests:
            self.talks.begin(request, self._events.put_nowait)
        self._set_timer(effects.deadline_ms)
        if failed:
            await self._step(AppendFailed())
        if installed is not None:
            await self._step(SnapshotInstalled(snapshot_id=installed))
        if changed:
            await self._flush_and_report()

    async def _store(self, chunk: SnapshotChunk) -> tuple[SnapshotId | None, bool]:
        """(the snapshot that is in place now, whether it has turned out to be damaged)."""
        try:
            content = await patiently_in_thread(partial(self.log.store_chunk, chunk))
        except CorruptSnapshot as problem:
            logger.warning("the fetched snapshot is damaged, trying again: %s", problem)
            return None, True
        if content is None:
            return None, False
        logger.info("fetched a snapshot of the metadata up to offset %d", chunk.snapshot_id.end_offset)
        self.metadata.installed(chunk.snapshot_id, content)
        return chunk.snapshot_id, False

    def _lead(self, leadership: Leadership) -> None:
        self._leadership = leadership
        if leadership.leading_from is None:
            self._commit_waits.depose()
        self.leadership_changed(leadership)

    @property
    def progress(self) -> tuple[int, int]:
        """The end of the log, and up to where it is committed and published."""
        return self.log.end_offset, self._high_watermark

    async def _commit(self, high_watermark: int) -> None:
        self.log.committed(high_watermark)
        # The image first: whoever waits for a commit expects to see its effect.
        await await_patiently(partial(self.metadata.committed, high_watermark))
        self._high_watermark = high_watermark
        self._commit_waits.advanced(high_watermark)

    def _set_timer(self, deadline_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms < NEVER:
            delay = max(0.0, deadline_ms - self.clock.monotonic_ms()) / 1000
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay, self._events.put_nowait, Tick())

    def _fail_waiting(self) -> None:
        self._commit_waits.depose()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.cancel()
        while not self._events.empty():
            event = self._events.get_nowait()
            if isinstance(event, _Chore):
                event.done.cancel()
            elif isinstance(event, _AppendWanted):
                refuse(event.committed, not_controller())
