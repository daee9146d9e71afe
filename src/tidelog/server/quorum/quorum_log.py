"""The cluster metadata log, `__cluster_metadata-0`, as the quorum sees it: offsets, epochs, batches, snapshots.

When something is appended, flushed or truncated is decided in `tidelog.consensus`; what the records mean is in
`tidelog.metadata`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tidelog.consensus.effects import FetchedAppend, LeaderChangeAppend, SnapshotChunk
from tidelog.consensus.messages import Answer, FetchAnswer, FetchSnapshotAnswer, SnapshotId
from tidelog.consensus.snapshots import RestartLog, SnapshotRules, next_log_start, plan_opening
from tidelog.metadata.records import METADATA_VERSION, decode_record, encode_record
from tidelog.metadata.snapshot_file import SnapshotContent
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.ports import Clock
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.protocol.codec import encode
from tidelog.protocol.schema import Message
from tidelog.records.batch import CorruptBatch, iterate_headers, parse_header
from tidelog.records.control import ControlType, encode_control_batch
from tidelog.records.record import decode_batch, encode_batch
from tidelog.server.quorum.snapshot_files import SnapshotFiles
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.file_names import QUORUM_STATE_FILE
from tidelog.storage.files.filesystem import DiskFull, FileSystem, StorageFailure, failing_as
from tidelog.storage.log.appending import append_as_follower, append_as_leader, roll
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import OffsetOutOfRange, UnexpectedOffset
from tidelog.storage.log.retention import delete_old_segments

logger = logging.getLogger(__name__)

# The id that Kafka gives to the metadata topic.
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")
METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)

READ_CHUNK_BYTES = 1 << 20
# However much a follower asks for, an answer must fit into a frame.
MAX_PIECE_BYTES = 8 * 1024 * 1024
# Bounds the batch that a replica has to accept whole.
MAX_RECORDS_PER_BATCH = 2_000


class MetadataBatch(NamedTuple):
    """A batch of the log. Control batches have no records for the image."""

    last_offset: int
    epoch: int
    timestamp_ms: int
    size: int
    records: list[Message]


class QuorumLog:
    """Implements the `LogView` of the consensus, and carries out its effects on the log.

    The log begins with offset 0 or where a snapshot ends.
    """

    def __init__(
        self, log: Log, directory: LogDirectory, filesystem: FileSystem, clock: Clock, snapshots: SnapshotFiles
    ) -> None:
        self._log = log
        self._filesystem = filesystem
        self._directory = directory
        self._clock = clock
        # One that is written in a thread counts from `snapshot_written` on.
        self.snapshots = snapshots

    @classmethod
    def open(cls, directory: LogDirectory, filesystem: FileSystem, clock: Clock, config: LogConfig) -> QuorumLog:
        """Recovered if need be, and flushed, as the consensus expects it.

        Raises StorageFailure, and QuorumInvariantBroken if log and snapshots do not fit together.
        """
        log = directory.open_log(METADATA_PARTITION, METADATA_TOPIC_ID, config, clock.now_ms())
        snapshots = SnapshotFiles.open(filesystem, log.directory)
        opened = cls(log, directory, filesystem, clock, snapshots)
        opened._begin_at_snapshot()
        log.flush(clock.now_ms())
        return opened

    def _begin_at_snapshot(self) -> None:
        """Finish what a crash has interrupted, so that the log begins where a snapshot ends."""
        log = self._log
        plan = plan_opening(
            self.snapshots.ids,
            start_offset=log.log_start_offset,
            end_offset=log.log_end_offset,
            epoch_at=log.leader_epochs.epoch_for_offset,
        )
        if isinstance(plan, RestartLog):
            self._restart_at(plan.at)
            return
        if self.latest_snapshot is not None:
            log.update_high_watermark(self.latest_snapshot.end_offset)
        if plan.start is not None:
            self._start_at(plan.start)

    @property
    def directory(self) -> str:
        return self._log.directory

    @property
    def state_problem(self) -> str | None:
        """What is wrong with the quorum state next to the log, if it is not as the clean shutdown left it."""
        return self._log.differences.get(QUORUM_STATE_FILE)

    # -- what the consensus reads --------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def latest_epoch(self) -> int:
        return self._log.latest_epoch

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        return self._log.leader_epochs.end_offset_for(epoch, log_end_offset=self._log.log_end_offset)

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        start_offset = self._log.log_start_offset
        return next((each for each in self.snapshots.ids if each.end_offset == start_offset), None)

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self.snapshots.stored[-1].id if self.snapshots.stored else None

    # -- effects -------------------------------------------------------------------------------------------------

    def append_leader_change(self, effect: LeaderChangeAppend) -> None:
        batch = encode_control_batch(
            ControlType.LEADER_CHANGE,
            encode(effect.message, 0),
            timestamp=self._clock.now_ms(),
            leader_epoch=effect.epoch,
        )
        self._append(batch, effect.epoch)

    def append_fetched(self, effect: FetchedAppend) -> bool:
        """Whether the records were whole and continued the log."""
        try:
            return append_as_follower(self._log, effect.records, self._clock.now_ms()) is not None
        except (UnexpectedOffset, CorruptBatch):
            return False
        except DiskFull as full:
            logger.error("fetched metadata cannot be appended: %s", full)
            return False

    def chunks(self, records: Sequence[Message]) -> list[Sequence[Message]]:
        """As many as fit into one batch at a time."""
        return [
            records[start : start + MAX_RECORDS_PER_BATCH] for start in range(0, len(records), MAX_RECORDS_PER_BATCH)
        ]

    def append_records(self, records: Sequence[Message], epoch: int, metadata_version: int = METADATA_VERSION) -> int:
        """One chunk, as the leader of `epoch`, in the versions of this level; the offset of the last record.

        Raises DiskFull if there is no space, and nothing was appended.
        """
        now_ms = self._clock.now_ms()
        values = [(now_ms, None, encode_record(record, metadata_version), ()) for record in records]
        self._append(encode_batch(values), epoch)
        return self._log.log_end_offset - 1

    def truncate(self, offset: int) -> None:
        self._remove(self._directory.truncate(METADATA_PARTITION, offset, now_ms=self._clock.now_ms()))

    async def flush(self) -> int:
        """The end of what is durable now. Raises StorageFailure."""
        flush = self._log.start_flush(self._clock.now_ms(), everything=True)
        if flush is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(None, flush.run)
            except StorageFailure as failure:
                if failure.is_shortage:
                    self._log.flusher.disregard_running()
                raise
            self._log.finish_flush(flush)
        return self._log.recovery_point

    def committed(self, high_watermark: int) -> None:
        self._log.update_high_watermark(high_watermark)

    # -- snapshots -----------------------------------------------------------------------------------------------

    def snapshot_written(self, snapshot_id: SnapshotId, rules: SnapshotRules) -> None:
        """Use it from now on, and drop what the rules allow. Raises StorageFailure."""
        with failing_as(f"reading the snapshot {snapshot_id}"):
            self.snapshots.add(snapshot_id)
        # Only whole segments can be dropped: the active one is rolled where the snapshot ends.
        roll(self._log, self._clock.now_ms())
        while start := next_log_start(
            rules, self.snapshots.stored, log_bytes=self._log.size, now_ms=self._clock.now_ms()
        ):
            logger.info("dropping the metadata log before offset %d", start.end_offset)
            self._start_at(start)

    def store_chunk(self, chunk: SnapshotChunk) -> SnapshotContent | None:
        """Keep a piece of a fetched snapshot. After the last one the log continues, empty, where the snapshot ends, and
        the content is returned. Raises CorruptSnapshot if the pieces are not a snapshot, StorageFailure."""
        self.snapshots.write_fetched(chunk)
        if not chunk.is_last:
            return None
        content = self.snapshots.finish_fetched(chunk.snapshot_id)
        self._restart_at(chunk.snapshot_id)
        return content

    def _restart_at(self, snapshot_id: SnapshotId) -> None:
        now_ms = self._clock.now_ms()
        self._remove(self._directory.truncate_fully(METADATA_PARTITION, snapshot_id.end_offset, now_ms=now_ms))
        self.snapshots.remove_before(snapshot_id)

    def _start_at(self, snapshot_id: SnapshotId) -> None:
        """Drop what the snapshot contains. First the log, then older snapshots: one that fits is always there.

        Segment by segment, each removal durable before the next: recovery would take a gap between two of them for the
        end of the log.
        """
        log, now_ms = self._log, self._clock.now_ms()
        for segment in list(log.segments)[1:]:
            if segment.base_offset > snapshot_id.end_offset:
                break
            log.advance_log_start(segment.base_offset)
            self._remove(delete_old_segments(log, now_ms))
        log.advance_log_start(snapshot_id.end_offset)
        self.snapshots.remove_before(snapshot_id)

    def _remove(self, removals: Sequence[FileRemoval]) -> None:
        """At once: nobody else reads these files. They have other names already, which must survive a crash."""
        if not removals:
            return
        with failing_as(f"removing segments in {self._log.directory}"):
            self._filesystem.sync_directory(self._log.directory)
            for removal in removals:
                removal.run(self._filesystem)

    def _append(self, batch: bytes, epoch: int) -> None:
        data = bytearray(batch)
        result = append_as_leader(
            self._log, data, [parse_header(data)], epoch, now_ms=self._clock.now_ms(), origin=AppendOrigin.COORDINATOR
        )
        assert not isinstance(result, AppendRefusal), result

    # -- reading -------------------------------------------------------------------------------------------------

    def with_bytes(self, answer: Answer) -> Answer:
        """The answer with what a follower gets of the log, or of a snapshot. Raises StorageFailure."""
        if isinstance(answer, FetchAnswer) and answer.read_from is not None:
            # At least one batch if there is any.
            result = read_records(self._log, answer.read_from, max_bytes=answer.max_bytes)
            return replace(answer, records=b"" if isinstance(result, OffsetOutOfRange) else result.records)
        if isinstance(answer, FetchSnapshotAnswer) and answer.to_be_read:
            return self._with_piece(answer)
        return answer

    def _with_piece(self, answer: FetchSnapshotAnswer) -> FetchSnapshotAnswer:
        max_bytes = min(answer.max_bytes, MAX_PIECE_BYTES)
        found = self.snapshots.read(answer.snapshot_id, answer.position, max_bytes)
        if found is None:
            return replace(answer, error=ErrorCode.SNAPSHOT_NOT_FOUND, to_be_read=False)
        size, data = found
        if answer.position >= size:
            return replace(answer, error=ErrorCode.POSITION_OUT_OF_RANGE, to_be_read=False)
        return replace(answer, size=size, data=data, to_be_read=False)

    def read_bytes(self, offset: int, end_offset: int, max_bytes: int) -> bytes:
        """Batches in between, undecoded, at least one if there is any. Raises StorageFailure, CorruptBatch."""
        limit = min(max_bytes, MAX_PIECE_BYTES)
        result = read_records(self._log, offset, max_bytes=limit, upper_bound=end_offset)
        return b"" if isinstance(result, OffsetOutOfRange) else bytes(result.records)

    def read_records(self, first_offset: int, end_offset: int) -> Iterator[MetadataBatch]:
        """Each batch in between."""
        offset = first_offset
        while offset < end_offset:
            result = read_records(self._log, offset, max_bytes=READ_CHUNK_BYTES, upper_bound=end_offset)
            if isinstance(result, OffsetOutOfRange) or not result.records:
                return
            for position, header in iterate_headers(result.records):
                if header.base_offset >= end_offset:
                    return
                offset = header.next_offset
                records: list[Message] = []
                if not header.is_control and header.record_count:
                    batch = result.records[position : position + header.size]
                    values = [record.value for record in decode_batch(batch) if record.value is not None]
                    records = [decode_record(value).message for value in values]
                yield MetadataBatch(
                    last_offset=header.last_offset,
                    epoch=header.partition_leader_epoch,
                    timestamp_ms=header.max_timestamp,
                    size=header.size,
                    records=records,
                )
