"""The cluster metadata log, `__cluster_metadata-0`, as the quorum sees it: offsets, epochs, batches, flushes.

When something is appended, flushed or cut is decided in `tidelog.consensus`; what the records mean is in
`tidelog.metadata`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from tidelog.consensus.effects import FetchedAppend, LeaderChangeAppend
from tidelog.consensus.messages import SnapshotId
from tidelog.metadata.records import decode_record, encode_record
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.ports import Clock
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.partition.producers import AppendOrigin
from tidelog.protocol.codec import encode
from tidelog.protocol.schema import Message
from tidelog.records.batch import CorruptBatch, iterate_headers, parse_header
from tidelog.records.control import ControlType, encode_control_batch
from tidelog.records.record import decode_batch, encode_batch
from tidelog.storage.filesystem import FileSystem
from tidelog.storage.log import Log
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_directory import LogDirectory
from tidelog.storage.log_results import AppendRefusal, OffsetOutOfRange, UnexpectedOffset

# The id that Kafka gives to the metadata topic.
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")
METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)

READ_CHUNK_BYTES = 1 << 20
# Bounds the batch that a replica has to take whole.
MAX_RECORDS_PER_BATCH = 2_000


class QuorumLog:
    """Implements the `LogView` of the consensus, and carries out its effects on the log."""

    def __init__(self, log: Log, directory: LogDirectory, filesystem: FileSystem, clock: Clock) -> None:
        self._log = log
        self._filesystem = filesystem
        self._directory = directory
        self._clock = clock

    @classmethod
    def open(cls, directory: LogDirectory, filesystem: FileSystem, clock: Clock) -> QuorumLog:
        """Recovered if need be, and flushed, as the consensus expects it."""
        config = LogConfig(retention_ms=-1, retention_bytes=-1)
        log = directory.open_log(METADATA_PARTITION, METADATA_TOPIC_ID, config, clock.now_ms())
        log.flush(clock.now_ms())
        return cls(log, directory, filesystem, clock)

    @property
    def directory(self) -> str:
        return self._log.directory

    # -- what the consensus looks at -----------------------------------------------------------------------------

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
        return self._log.leader_epochs.end_offset_for(epoch, self._log.log_end_offset)

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        # The log is kept whole: it begins at offset 0, so there is nothing that only a snapshot would have.
        return None

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return None

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
            return self._log.append_as_follower(effect.records, self._clock.now_ms()) is not None
        except (UnexpectedOffset, CorruptBatch):
            return False

    def append_records(self, records: Sequence[Message], epoch: int) -> int:
        """As the leader of `epoch`; the offset of the last record."""
        now_ms = self._clock.now_ms()
        for start in range(0, len(records), MAX_RECORDS_PER_BATCH):
            chunk = records[start : start + MAX_RECORDS_PER_BATCH]
            self._append(encode_batch([(now_ms, None, encode_record(record), ()) for record in chunk]), epoch)
        return self._log.log_end_offset - 1

    def truncate(self, offset: int) -> None:
        for removal in self._directory.truncate(METADATA_PARTITION, offset, self._clock.now_ms()):
            removal.run(self._filesystem)

    async def flush(self) -> int:
        """The end of what is durable now. Raises StorageFailure."""
        flush = self._log.start_flush(self._clock.now_ms(), everything=True)
        if flush is not None:
            await asyncio.get_running_loop().run_in_executor(None, flush.run)
            self._log.finish_flush(flush)
        return self._log.recovery_point

    def committed(self, high_watermark: int) -> None:
        self._log.update_high_watermark(high_watermark)

    def _append(self, batch: bytes, epoch: int) -> None:
        data = bytearray(batch)
        result = self._log.append_as_leader(
            data, [parse_header(data)], epoch, self._clock.now_ms(), origin=AppendOrigin.COORDINATOR
        )
        assert not isinstance(result, AppendRefusal), result

    # -- reading -------------------------------------------------------------------------------------------------

    def read_bytes(self, offset: int, max_bytes: int) -> bytes:
        """Undecoded batches for a follower, at least one if there is any."""
        result = self._log.read(offset, max_bytes, min_one_batch=True)
        return b"" if isinstance(result, OffsetOutOfRange) else result.records

    def read_records(self, first_offset: int, end_offset: int) -> Iterator[tuple[int, list[Message]]]:
        """(last offset, records) for each batch in between. Control batches have no records for the image."""
        offset = first_offset
        while offset < end_offset:
            result = self._log.read(offset, READ_CHUNK_BYTES, upper_bound=end_offset, min_one_batch=True)
            if isinstance(result, OffsetOutOfRange) or not result.records:
                return
            for position, header in iterate_headers(result.records):
                if header.base_offset >= end_offset:
                    return
                offset = header.next_offset
                if header.is_control or header.record_count == 0:
                    yield header.last_offset, []
                    continue
                batch = result.records[position : position + header.size]
                values = [record.value for record in decode_batch(batch) if record.value is not None]
                yield header.last_offset, [decode_record(value).message for value in values]
