"""The log of a coordinator on top of this broker's replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.record_format import EncodedRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.later import Later
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.records.batch import parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch
from tidelog.server.coordination.port import CommitWait
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import OffsetOutOfRange


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorReplicaLog:
    """A `CoordinatorLog`."""

    topic: str
    replicas: Replicas
    compression: Compression = Compression.NONE

    def append(self, partition: int, records: Sequence[EncodedRecord], producer: ProducerIdentity | None = None) -> int:
        replica = self._leader(partition)
        now_ms = self.replicas.clock.now_ms()
        batch = bytearray(
            encode_batch(
                [(now_ms, key, value, ()) for key, value in records],
                compression=self.compression,
                producer_id=NO_PRODUCER_ID if producer is None else producer.producer_id,
                producer_epoch=NO_PRODUCER_EPOCH if producer is None else producer.producer_epoch,
                transactional=producer is not None,
            )
        )
        limit = replica.settings.config.max_message_bytes
        if len(batch) > limit:
            raise ApiError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{len(records)} records take {len(batch)} bytes, max.message.bytes of {self.topic} is {limit}",
            )
        try:
            result = replica.append(batch, [parse_header(batch)], origin=AppendOrigin.COORDINATOR, all_in_sync=True)
        except StorageFailure as failure:
            self.replicas.storage_failed(replica, failure)
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)) from failure
        if isinstance(result, AppendRefusal):
            raise ApiError(result.code, result.message)
        return result.base_offset

    def start_offset(self, partition: int) -> int:
        return self._leader(partition).log.log_start_offset

    def end_offset(self, partition: int) -> int:
        return self._leader(partition).log.log_end_offset

    def commit_wait(self, partition: int) -> CommitWait | None:
        replica = self._leader(partition)
        if replica.all_committed():
            return None

        def check(code: ErrorCode) -> None:
            if code:
                raise ApiError(code, f"what was written to {replica.topic_partition} is not known to be committed")

        return Later[ErrorCode](replica.when_committed(replica.log.log_end_offset)).then(check)

    async def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        # On this loop and not in a thread: between two of its steps the cleaner replaces files, and topics are deleted.
        await asyncio.sleep(0)
        replica = self._leader(partition)
        try:
            # To the end of the log and not only to the watermark: what a leader has it will commit.
            found = read_records(replica.log, offset, max_bytes=max_bytes)
        except StorageFailure as failure:
            self.replicas.storage_failed(replica, failure)
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)) from failure
        if isinstance(found, OffsetOutOfRange):
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.topic}-{partition} has no offset {offset}")
        return found.records

    def _leader(self, partition: int) -> Replica:
        replica = self.replicas.leader(self.topic, partition)
        if isinstance(replica, ErrorCode):
            raise ApiError(replica, f"{self.topic}-{partition} is not led by this broker")
        return replica
