"""The header of a record batch (format v2, `magic` 2): where its fields are and what follows from them.

Parsing a header never touches the records behind it: on the hot path a batch is its header and undecoded bytes.
Decoding and encoding of records lives in `tidelog.records.record`, checks on produce in `tidelog.records.validation`.

    offset  field                       offset  field
    0       baseOffset            i64   23      lastOffsetDelta  i32
    8       batchLength           i32   27      baseTimestamp    i64
    12      partitionLeaderEpoch  i32   35      maxTimestamp     i64
    16      magic                 i8    43      producerId       i64
    17      crc                   u32   51      producerEpoch    i16
    21      attributes            i16   53      baseSequence     i32
                                        57      recordCount      i32
                                        61      records

The CRC (CRC-32C) covers everything from `attributes` on, so a broker can stamp the base offset and the leader epoch
into a producer's bytes without recomputing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from mypy_extensions import mypyc_attr

from tidelog.records.checksum import crc32c

Buffer = bytes | bytearray | memoryview

HEADER_SIZE = 61
# baseOffset and batchLength, which batchLength itself does not count.
LOG_OVERHEAD = 12
CURRENT_MAGIC = 2

BATCH_LENGTH_AT = 8
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
MAX_TIMESTAMP_AT = 35
PRODUCER_ID_AT = 43

COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40

CREATE_TIME = 0
LOG_APPEND_TIME = 1

NO_TIMESTAMP = -1
SEQUENCE_MODULUS = 1 << 31

HEADER = Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = Struct(">qi")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")

assert HEADER.size == HEADER_SIZE


class BatchHeader(NamedTuple):
    """A named tuple and not a dataclass: one is created for every batch that is produced, replicated or scanned."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch on disk and on the wire."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence numbers wrap from 2^31-1 to 0."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) % SEQUENCE_MODULUS

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> int:
        return (self.attributes & TIMESTAMP_TYPE_MASK) >> 3

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_MASK != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_MASK != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Then `base_timestamp` is the time from which the cleaner may remove tombstones and markers (KIP-534)."""
        return self.attributes & DELETE_HORIZON_MASK != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0


@mypyc_attr(allow_interpreted_subclasses=True)
class CorruptBatch(Exception):
    """Bytes that are not a whole, valid record batch. Says at which position of the given bytes, and why."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"at byte {position}: {reason}")
        self.position = position
        self.reason = reason


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`. Raises CorruptBatch if there are not enough bytes for one."""
    if len(buffer) - position < HEADER_SIZE:
        raise CorruptBatch(position, f"{len(buffer) - position} bytes are too few for a batch header")
    return BatchHeader._make(HEADER.unpack_from(buffer, position))


def compute_crc(batch: Buffer, position: int = 0, size: int | None = None) -> int:
    """CRC-32C over one batch, from `attributes` to its end."""
    end = len(batch) if size is None else position + size
    return crc32c(memoryview(batch)[position + ATTRIBUTES_AT : end])


def iterate_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) for each whole batch in `buffer`; a batch that is cut short ends the iteration.

    Fetch responses are cut at a byte limit, so an incomplete last batch is normal for readers. Lengths that cannot
    be a batch raise CorruptBatch.
    """
    position = 0
    end = len(buffer)
    while end - position >= LOG_OVERHEAD:
        length: int = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1]
        if length < HEADER_SIZE - LOG_OVERHEAD:
            raise CorruptBatch(position, f"batch length {length} is less than the size of a header")
        if position + LOG_OVERHEAD + length > end:
            return
        yield position, BatchHeader._make(HEADER.unpack_from(buffer, position))
        position += LOG_OVERHEAD + length


def stamp_offset_and_epoch(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Write what a leader assigns. Both fields lie outside of the CRC."""
    _BASE_OFFSET.pack_into(buffer, position, base_offset)
    _LEADER_EPOCH.pack_into(buffer, position + LEADER_EPOCH_AT, leader_epoch)


def restamp_crc(buffer: bytearray | memoryview, position: int, size: int) -> None:
    """Recompute the CRC after a change behind `attributes`."""
    _CRC.pack_into(buffer, position + CRC_AT, compute_crc(buffer, position, size))
