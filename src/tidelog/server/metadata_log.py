"""The cluster metadata log, `__cluster_metadata-0`, of a node that is its own quorum.

Records are durable before anybody learns of them: an append returns after the fsync. Each start begins a new leader
epoch with a LeaderChange record, as a quorum of several nodes does, so that such a quorum can take the log over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from tidelog.metadata.records import decode_record, encode_record
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.ports import Clock
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.partition.producers import AppendOrigin
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.leader_change_message import LeaderChangeMessage, Voter
from tidelog.protocol.schema import Message
from tidelog.records.batch import iterate_headers, parse_header
from tidelog.records.control import ControlType, encode_control_batch
from tidelog.records.record import decode_batch, encode_batch
from tidelog.storage.log import Log
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_directory import LogDirectory
from tidelog.storage.log_results import AppendRefusal, OffsetOutOfRange

# The id that Kafka gives to the metadata topic.
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")
METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)

READ_CHUNK_BYTES = 1 << 20
# Bounds the batch that a replica has to take whole.
MAX_RECORDS_PER_BATCH = 2_000


class MetadataLog:
    def __init__(self, log: Log, node_id: int, clock: Clock) -> None:
        self._log = log
        self._node_id = node_id
        self._clock = clock
        self._epoch = max(0, log.latest_epoch) + 1

    @classmethod
    def open(cls, directory: LogDirectory, node_id: int, clock: Clock) -> MetadataLog:
        config = LogConfig(retention_ms=-1, retention_bytes=-1)
        log = directory.open_log(METADATA_PARTITION, METADATA_TOPIC_ID, config, clock.now_ms())
        # A quorum of one commits what it has written; everything that survived was written.
        log.update_high_watermark(log.log_end_offset)
        return cls(log, node_id, clock)

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def epoch(self) -> int:
        return self._epoch

    def read(self) -> Iterator[tuple[int, list[Message]]]:
        """(last offset, records) for each batch, from the start. Control batches have no records for the image."""
        offset = self._log.log_start_offset
        while offset < self._log.log_end_offset:
            result = self._log.read(offset, READ_CHUNK_BYTES, min_one_batch=True)
            if isinstance(result, OffsetOutOfRange) or not result.records:
                return
            for position, header in iterate_headers(result.records):
                offset = header.next_offset
                if header.is_control or header.record_count == 0:
                    yield header.last_offset, []
                    continue
                batch = result.records[position : position + header.size]
                values = [record.value for record in decode_batch(batch) if record.value is not None]
                yield header.last_offset, [decode_record(value).message for value in values]

    async def begin_epoch(self) -> None:
        voters = [Voter(voter_id=self._node_id)]
        change = LeaderChangeMessage(leader_id=self._node_id, voters=voters, granting_voters=voters)
        batch = encode_control_batch(
            ControlType.LEADER_CHANGE, encode(change, 0), timestamp=self._clock.now_ms(), leader_epoch=self._epoch
        )
        self._append(batch)
        await self._sync()

    async def append(self, records: Sequence[Message]) -> int:
        """Write the records and bring them to the device; the offset of the last one. Raises StorageFailure."""
        now_ms = self._clock.now_ms()
        for start in range(0, len(records), MAX_RECORDS_PER_BATCH):
            chunk = records[start : start + MAX_RECORDS_PER_BATCH]
            self._append(encode_batch([(now_ms, None, encode_record(record), ()) for record in chunk]))
        await self._sync()
        return self._log.log_end_offset - 1

    def _append(self, batch: bytes) -> None:
        data = bytearray(batch)
        result = self._log.append_as_leader(
            data, [parse_header(data)], self._epoch, self._clock.now_ms(), origin=AppendOrigin.COORDINATOR
        )
        assert not isinstance(result, AppendRefusal), result
        self._log.update_high_watermark(self._log.log_end_offset)

    async def _sync(self) -> None:
        flush = self._log.start_flush(self._clock.now_ms(), everything=True)
        if flush is not None:
            await asyncio.get_running_loop().run_in_executor(None, flush.run)
            self._log.finish_flush(flush)
