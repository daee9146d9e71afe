"""Finding a record of a batch by its timestamp, without decoding or keeping the records.

Can be done in parts and in any thread, like the check of produced records (`tidelog.records.produced_records`): a batch
may unpack to far more than its size suggests.
"""

from __future__ import annotations

from typing import Final

from tidelog.records.batch import HEADER_SIZE, LOG_APPEND_TIME, BatchHeader, Buffer, CorruptBatch
from tidelog.records.implementation import checking
from tidelog.records.unpacking import ANNOUNCED_BYTES, unpack

NO_BOUND: Final = 1 << 62
# A batch in the log was accepted, perhaps by another broker with other limits.
_MAX_BYTES: Final = 1 << 62

# (timestamp, offset) of the record; (-1, -1) if there is none.
Found = tuple[int, int]
NOT_THERE: Final[Found] = (-1, -1)


class TimestampSearch:
    """Searches for the first record that is not older than `timestamp`, from `first_offset` on."""

    def __init__(self, header: BatchHeader, batch: Buffer, timestamp: int, first_offset: int) -> None:
        self._base_offset = header.base_offset
        self._pieces = unpack(header.compression, memoryview(batch)[HEADER_SIZE:], _MAX_BYTES)
        self._check = checking.RecordCheck(
            header.record_count,
            header.base_timestamp,
            stamped_ms=header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else None,
            sought_ms=timestamp,
            sought_from=max(first_offset - header.base_offset, 0),
        )

    def run(self, max_bytes: int = NO_BOUND) -> Found | None:
        """Continue for about so many unpacked bytes. None means unfinished: call it again.

        A damaged batch counts as having no such record: whoever fetches it will learn of the damage.
        """
        check = self._check
        done = 0
        try:
            for piece in self._pieces:
                if not piece and max_bytes <= ANNOUNCED_BYTES:
                    return None
                check.feed(piece)
                if check.found:
                    return check.found_timestamp, self._base_offset + check.found_delta
                done += len(piece)
                if done >= max_bytes:
                    return None
        except CorruptBatch:
            return NOT_THERE
        return NOT_THERE
