"""A coordinator's log in memory: it can be told to hold back commits, and to refuse or break."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.record_format import EncodedRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.later import Later
from tidelog.records.batch import parse_header, stamp_offset_and_epoch
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import encode_batch
from tidelog.server.coordination.port import CommitWait


class MemoryCoordinatorLog:
    """One partition, whatever number is asked for."""

    def __init__(self) -> None:
        self.batches: list[bytearray] = []
        self.batch_sizes: list[int] = []
        self.end = 0
        # While True, nothing becomes committed.
        self.holds_back = False
        self.refusal: ApiError | None = None
        self.bug: Exception | None = None
        self.reads = 0
        self._committed = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def append(self, partition: int, records: Sequence[EncodedRecord], producer: ProducerIdentity | None = None) -> int:
        if self.bug is not None:
            raise self.bug
        if self.refusal is not None:
            raise self.refusal
        batch = encode_batch(
            [(0, key, value, ()) for key, value in records],
            producer_id=producer.producer_id if producer else -1,
            producer_epoch=producer.producer_epoch if producer else -1,
            transactional=producer is not None,
        )
        return self._add(bytearray(batch))

    def append_marker(self, producer_id: int, *, commit: bool) -> None:
        marker = EndTransactionMarker(commit=commit, coordinator_epoch=0)
        self._add(
            bytearray(encode_end_transaction_marker(marker, producer_id=producer_id, producer_epoch=0, timestamp=0))
        )

    def commit(self) -> None:
        """Let everything become committed that is in the log."""
        self._committed = self.end
        ready = [future for end, future in self._waiting if end <= self._committed]
        self._waiting = [(end, future) for end, future in self._waiting if end > self._committed]
        for future in ready:
            if not future.done():
                future.set_result(None)

    def stop_leading(self) -> None:
        self.refusal = ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for _, future in self._waiting:
            if not future.done():
                future.set_exception(self.refusal)
        self._waiting = []

    def start_offset(self, partition: int) -> int:
        return 0

    def end_offset(self, partition: int) -> int:
        return self.end

    def commit_wait(self, partition: int) -> CommitWait | None:
        if self._committed >= self.end:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self.end, future))
        return Later(future)

    async def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        self.reads += 1
        await asyncio.sleep(0)
        found = bytearray()
        for batch in self.batches:
            if parse_header(batch).last_offset >= offset:
                if found and len(found) + len(batch) > max_bytes:
                    # As a real log does: the last batch may be cut short.
                    found += batch[: max_bytes - len(found)]
                    break
                found += batch
        return bytes(found)

    def _add(self, batch: bytearray) -> int:
        base_offset = self.end
        stamp_offset_and_epoch(batch, 0, base_offset, 0)
        self.batches.append(batch)
        self.end = parse_header(batch).next_offset
        if not self.holds_back:
            self.commit()
        return base_offset
