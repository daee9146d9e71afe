"""Moves replicas between the log directories of this broker while they are in use (KIP-113).

A copy grows in the other directory, under a name that marks it as a future replica. Once it has everything, the
controller learns where the replica will be; when the metadata says so, the copy gets the replica's name and the last
records, and the log is replaced in one step of the event loop. A crash at any moment leaves a complete log: the old
one, the new one, or both, of which the one with the higher end offset is used at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import field

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.throttle import RateLimit
from tidelog.server.replicas.placement import ReplicaPlacement, directory_id
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.appending import append_as_follower
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import OffsetOutOfRange, UnexpectedOffset
from tidelog.storage.log.truncation import truncate_fully_and_start_at

logger = logging.getLogger(__name__)

# What is copied before other work gets its turn.
PIECE_BYTES = 256 * 1024
# How often to check whether the metadata names the new directory, or whether a compaction has finished.
LOOK_SECONDS = 0.05


@dataclass(slots=True, eq=False)
class Move:
    replica: Replica
    target: LogDirectory
    # The copy; None until its directory is created.
    future: Log | None = None
    task: asyncio.Task[None] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ReplicaMoves:
    """At most one for each replica."""

    replicas: Replicas
    placement: ReplicaPlacement
    # Reports to the controller which replicas of these topics are in another directory than the metadata says.
    compare_directories: Callable[[Iterable[str]], None]
    throttle: RateLimit
    is_compacted: Callable[[Log], bool]
    _moves: dict[Replica, Move] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.replicas.log_changed.listen(self._log_changed)
        self.replicas.role_changed.listen(self._role_changed)

    def under_way(self) -> list[Move]:
        return list(self._moves.values())

    def begin(self, replica: Replica, target: LogDirectory) -> None:
        """Move there, and nowhere else; if it is already there, only stop a running move."""
        current = self._moves.get(replica)
        if current is not None and current.target is target:
            return
        self.cancel(replica)
        if self.replicas.directory_of(replica) is target:
            return
        move = self._moves[replica] = Move(replica=replica, target=target)
        move.task = asyncio.get_running_loop().create_task(self._run(move), name=f"move {replica.topic_partition}")

    def prefer(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        """Create the replica there if it is assigned to this broker."""
        self.placement.preferred[topic_partition] = directory

    def cancel(self, replica: Replica) -> None:
        move = self._moves.pop(replica, None)
        if move is None:
            return
        if move.task is not None and move.task is not asyncio.current_task():
            move.task.cancel()
        self._drop(move)
        if self.placement.promised.pop(replica, None) is not None:
            # The metadata may already name the other directory.
            self._compare(replica)

    async def stop(self) -> None:
        """The copies stay; the next start restarts those moves."""
        moves, self._moves = list(self._moves.values()), {}
        self.placement.promised.clear()
        for move in moves:
            if move.task is not None:
                move.task.cancel()
        await asyncio.gather(*(move.task for move in moves if move.task is not None), return_exceptions=True)
        for move in moves:
            if move.future is not None:
                move.future.abandon()

    def _log_changed(self, replica: Replica) -> None:
        """The log was truncated, restarted elsewhere or deleted: the copy would no longer match."""
        move = self._moves.get(replica)
        if move is not None:
            self.cancel(replica)
            if self.replicas.get(*replica.topic_partition) is replica:
                self.begin(replica, move.target)

    def _role_changed(self, replica: Replica) -> None:
        if replica.log.closed or replica.offline:
            self.cancel(replica)

    def _drop(self, move: Move) -> None:
        if move.future is None:
            return
        try:
            now_ms = self.replicas.clock.now_ms()
            self.replicas.removals.append(move.target.futures.drop(move.replica.topic_partition, now_ms))
        except StorageFailure as failure:
            logger.warning("the copy of %s could not be removed: %s", move.replica.topic_partition, failure)
        move.future = None

    # -- one move ------------------------------------------------------------------------------------------------

    async def _run(self, move: Move) -> None:
        replica = move.replica
        try:
            await self._make_copy(move)
            await self._catch_up(move)
            self._promise(move)
            self._compare(replica)
            named = self._named_by_the_metadata(move)
            while not named:
                await asyncio.sleep(LOOK_SECONDS)
                named = self._named_by_the_metadata(move)
            await self._take_over(move)
        except StorageFailure as failure:
            self._forget(replica)
            if move.target.failure is not None:
                self.replicas.directory_failed(move.target, failure)
            else:
                self.replicas.storage_failed(replica, failure)
            self._compare(replica)
        except CorruptCheckpoint as problem:
            logger.error("%s could not be moved: %s", replica.topic_partition, problem)
            self.cancel(replica)
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.exception("%s could not be moved", replica.topic_partition)
            self.cancel(replica)

    def _promise(self, move: Move) -> None:
        """From now on the controller is asked to name the new directory."""
        target = directory_id(move.target)
        if target is not None:
            self.placement.promised[move.replica] = target

    def _forget(self, replica: Replica) -> None:
        self._moves.pop(replica, None)
        self.placement.promised.pop(replica, None)

    async def _make_copy(self, move: Move) -> None:
        replica = move.replica
        loop = asyncio.get_running_loop()
        move.future = await loop.run_in_executor(
            None,
            move.target.futures.create,
            replica.topic_partition,
            Uuid(replica.topic_id),
            replica.log.config,
            self.replicas.clock.now_ms(),
        )

    async def _catch_up(self, move: Move) -> None:
        assert move.future is not None
        throttle, monotonic_ms = self.throttle, self.replicas.clock.monotonic_ms
        while move.future.log_end_offset < move.replica.log.log_end_offset:
            if not throttle.exceeded(monotonic_ms()):
                throttle.record(self._copy_piece(move), monotonic_ms())
            # Other requests are served between two pieces.
            await asyncio.sleep(throttle.wait_ms(monotonic_ms()) / 1000)

    def _copy_piece(self, move: Move) -> int:
        """The bytes that were copied."""
        source, future, now_ms = move.replica.log, move.future, self.replicas.clock.now_ms()
        assert future is not None
        result = read_records(source, max(future.log_end_offset, source.log_start_offset), max_bytes=PIECE_BYTES)
        if isinstance(result, OffsetOutOfRange):
            raise RuntimeError(f"{result.offset} is not in the log that is being copied")
        try:
            append_as_follower(future, bytearray(result.records), now_ms)
        except UnexpectedOffset as problem:
            # Nothing is there yet, or retention has removed what would come next.
            self.replicas.removals.extend(truncate_fully_and_start_at(future, problem.first_offset, now_ms=now_ms))
            append_as_follower(future, bytearray(result.records), now_ms)
        return len(result.records)

    def _named_by_the_metadata(self, move: Move) -> bool:
        partition = self.replicas.image().partition(*move.replica.topic_partition)
        return partition is not None and partition.directory_of(self.replicas.broker_id) == directory_id(move.target)

    async def _take_over(self, move: Move) -> None:
        replica = move.replica
        await self._catch_up(move)
        loop = asyncio.get_running_loop()
        # From here on the copy has the name of the replica, in its own directory.
        move.future = await loop.run_in_executor(
            None, move.target.futures.name, replica.topic_partition, replica.log.config, self.replicas.clock.now_ms()
        )
        await self._catch_up(move)
        busy = self.is_compacted(replica.log)
        while busy:
            await asyncio.sleep(LOOK_SECONDS)
            await self._catch_up(move)
            busy = self.is_compacted(replica.log)
        # Nothing is awaited any more: no record can be appended in between.
        future, source = move.future, replica.log
        if source.latest_epoch > future.latest_epoch:
            future.assign_leader_epoch(source.latest_epoch)
        # In this order: a log does not start above its high watermark, and that of a copy is still 0.
        future.update_high_watermark(source.high_watermark)
        future.advance_log_start(source.log_start_offset)
        future.reconfigure(source.config)
        self._forget(replica)
        self.replicas.exchange_log(replica, move.target, future)
        logger.info("%s has moved to %s", replica.topic_partition, move.target.path)

    def _compare(self, replica: Replica) -> None:
        self.compare_directories([replica.topic_partition.topic])
