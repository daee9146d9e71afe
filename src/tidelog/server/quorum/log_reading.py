"""What a broker shows of its own copy of the metadata log to clients that browse it: what is committed, and snapshots.

Not for replicas of the quorum: these read from the leader (`tidelog.consensus.leading`), uncommitted records included,
and their progress counts. A reader here has no id, and only gets what no leader can take back. So neither its leader
epoch nor the epoch of its last record is compared with anything, and every broker can answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from tidelog.consensus.messages import Answer, Fetch, FetchAnswer, FetchSnapshot, FetchSnapshotAnswer
from tidelog.consensus.wire_answers import METADATA_TOPIC_ID
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.fetch_response import FetchResponse
from tidelog.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from tidelog.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from tidelog.records.batch import CorruptBatch
from tidelog.security.acls import Operation
from tidelog.server.access.access import Access
from tidelog.server.access.audit import Caller
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.storage.files.filesystem import StorageFailure

# Before it, a reply has no room for the snapshot that stands for the beginning of the log.
_SNAPSHOTS_FROM = 12

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogReading:
    """Answers at once: whoever follows the log asks again."""

    log: QuorumLog
    quorum: QuorumRuntime
    access: Access

    def is_asked(self, request: FetchRequest, version: int) -> bool:
        """Whether a client without a session wants to read the metadata log, and nothing else."""
        if version < _SNAPSHOTS_FROM or max(request.replica_id, request.replica_state.replica_id) >= 0:
            return False
        topics = request.topics
        return len(topics) == 1 and (
            topics[0].topic_id == METADATA_TOPIC_ID or topics[0].topic == CLUSTER_METADATA_TOPIC
        )

    async def fetch(self, message: FetchRequest, caller: Caller) -> FetchResponse:
        # The metadata holds credentials and addresses: whoever reads it here needs what controllers ask for.
        if not self.access.allows_cluster(caller, Operation.CLUSTER_ACTION):
            return FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        wire = self.quorum.talks.wire
        request = wire.read_request(message)
        if not isinstance(request, Fetch):
            return cast(FetchResponse, request)
        answer = await self._between_steps(lambda: self._read(request), self._failed_read)
        return cast(FetchResponse, wire.write_answer(answer))

    async def fetch_snapshot(self, message: FetchSnapshotRequest, caller: Caller) -> FetchSnapshotResponse:
        """Whoever may ask was checked before, as on controllers."""
        wire = self.quorum.talks.wire
        request = wire.read_request(message)
        if not isinstance(request, FetchSnapshot):
            return cast(FetchSnapshotResponse, request)
        answer = await self._between_steps(lambda: self._read_piece(request), self._failed_piece)
        return cast(FetchSnapshotResponse, wire.write_answer(answer))

    async def _between_steps(self, read: Callable[[], A], failed: Callable[[], A]) -> A:
        """A snapshot that arrives replaces the whole log, in a thread: nothing is read meanwhile."""
        answers: list[A] = []

        def work() -> None:
            try:
                answers.append(read())
            except (StorageFailure, CorruptBatch):
                # The quorum itself will find out, and decide what that means for this node.
                answers.append(failed())

        await self.quorum.between_steps(work)
        return answers[0]

    def _read(self, request: Fetch) -> FetchAnswer:
        start, (_, high_watermark) = self.log.start_offset, self.quorum.progress
        replica = self.quorum.replica
        snapshot_id, records = None, b""
        if request.offset < start:
            snapshot_id = self.log.earliest_snapshot
        elif request.offset < high_watermark:
            records = self.log.read_bytes(request.offset, high_watermark, request.max_bytes)
        # Else there is nothing to read yet; a reader that has asked another broker before may be ahead of this one.
        return FetchAnswer(
            epoch=replica.epoch,
            leader_id=replica.leader_id,
            high_watermark=high_watermark,
            log_start_offset=start,
            snapshot_id=snapshot_id,
            records=records,
        )

    def _failed_read(self) -> FetchAnswer:
        return FetchAnswer(epoch=self.quorum.replica.epoch, error=ErrorCode.KAFKA_STORAGE_ERROR)

    def _read_piece(self, request: FetchSnapshot) -> FetchSnapshotAnswer:
        replica = self.quorum.replica
        error = ErrorCode.POSITION_OUT_OF_RANGE if request.position < 0 else ErrorCode.NONE
        answer = FetchSnapshotAnswer(
            epoch=replica.epoch,
            leader_id=replica.leader_id,
            error=error,
            snapshot_id=request.snapshot_id,
            position=request.position,
            max_bytes=request.max_bytes,
            to_be_read=error == ErrorCode.NONE,
        )
        return cast(FetchSnapshotAnswer, self.log.with_bytes(answer))

    def _failed_piece(self) -> FetchSnapshotAnswer:
        return FetchSnapshotAnswer(epoch=self.quorum.replica.epoch, error=ErrorCode.KAFKA_STORAGE_ERROR)
