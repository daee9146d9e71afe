"""What a broker checks in the records of a Produce request before they are appended, and what it changes.

Every record is checked, as in Kafka: otherwise every later reader would fail on a bad one. This module checks what is
around them (one whole batch, its checksum, its header); the records themselves are checked in
`tidelog.records.produced_records`, in parts where they are compressed. Epochs and sequence numbers against what the
log holds are checked in `tidelog.partition.producers`.

The refusals, their order and their codes are Kafka's; `docs/decisions/0022-every-record-is-checked.md` has the few
differences. First comes the request's shape, then size and CRC, then the header's fields, then the records.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import (
    BATCH_LENGTH_AT,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    BatchHeader,
    Buffer,
    compute_crc,
    parse_header,
)
from tidelog.records.compression import Compression
from tidelog.records.produce_rules import CheckedBatches, ProduceRejection, ProduceRules, invalid, too_large
from tidelog.records.produced_records import RecordsWork
from tidelog.records.record import SMALLEST_RECORD

FIRST_VERSION_WITH_ZSTD: Final = 7
_LATEST_VERSION: Final = 1 << 15

# No entry of any format, not even of the oldest, is shorter than this after its offset and length.
_SMALLEST_ENTRY: Final = 14

# What unpacks to more than this is finished elsewhere. It takes about a millisecond.
PROMPT_BYTES: Final = 256 * 1024

_INT32 = Struct(">i")


def begin_check(
    data: Buffer | None,
    rules: ProduceRules,
    now_ms: int,
    *,
    produce_version: int = _LATEST_VERSION,
    topic_partition: object = "",
) -> CheckedBatches | ProduceRejection | RecordsWork:
    """Check what can be checked promptly. Work that is returned must be run to its end, in any thread."""
    size = _first_batch_size(data)
    if isinstance(size, ProduceRejection):
        return size
    assert data is not None
    if size != len(data):
        data = memoryview(data)[:size]
    header = parse_header(data)
    problem = _header_problem(header, data, rules, produce_version)
    if problem is not None:
        return problem
    work = RecordsWork(header, data, rules, now_ms, topic_partition)
    return work.run(PROMPT_BYTES) or work


def _first_batch_size(data: Buffer | None) -> int | ProduceRejection:
    """The size of the batch that the bytes begin with; a refusal if it is not the only one, or not whole.

    An incomplete batch that follows it is cut off, as in Kafka.
    """
    if data is None or len(data) <= MAGIC_AT:
        return _misshapen("the request must have a record batch for the partition, but has none")
    problem = _entry_problem(data, 0, told=True)
    if problem is not None:
        return problem
    length: int = _INT32.unpack_from(data, BATCH_LENGTH_AT)[0]
    size = LOG_OVERHEAD + length
    if size > len(data):
        return _misshapen(f"the batch should have {size} bytes, but only {len(data)} were sent")
    if data[MAGIC_AT] != CURRENT_MAGIC:
        return _misshapen(f"records of format {data[MAGIC_AT]} are not accepted, only record batches (format 2)")
    if size < HEADER_SIZE:
        return _corrupt(f"{length} is too small for the length of a batch")
    rest = len(data) - size
    if rest >= LOG_OVERHEAD:
        problem = _entry_problem(data, size, told=False)
        if problem is not None:
            return problem
        following: int = _INT32.unpack_from(data, size + BATCH_LENGTH_AT)[0]
        if rest > MAGIC_AT and rest >= LOG_OVERHEAD + following:
            return _misshapen("a second batch follows; exactly one batch per partition is accepted")
    return size


def _entry_problem(data: Buffer, position: int, *, told: bool) -> ProduceRejection | None:
    """Whether no entry of any format can be at `position`."""
    length: int = _INT32.unpack_from(data, position + BATCH_LENGTH_AT)[0]
    if length < _SMALLEST_ENTRY:
        return _corrupt(f"Record size {length} is less than the minimum record overhead ({_SMALLEST_ENTRY})", told=told)
    if len(data) > position + MAGIC_AT and data[position + MAGIC_AT] > CURRENT_MAGIC:
        magic = data[position + MAGIC_AT]
        return _corrupt(f"Invalid magic found in record: {magic if magic < 0x80 else magic - 0x100}", told=told)
    return None


def _header_problem(
    header: BatchHeader, data: Buffer, rules: ProduceRules, produce_version: int
) -> ProduceRejection | None:
    codec = header.compression
    if codec == Compression.ZSTD and produce_version < FIRST_VERSION_WITH_ZSTD:
        return _unknown_codec(codec, produce_version)
    if header.base_offset != 0:
        return invalid(f"the batch must have base offset 0, as the broker assigns offsets, not {header.base_offset}")
    if header.size > rules.max_message_bytes:
        return too_large(header.size, rules)
    if header.crc != compute_crc(data):
        return _corrupt(f"the batch does not match its checksum, {header.crc:#010x}")
    if codec > Compression.ZSTD:
        return _unknown_codec(codec, produce_version)
    count = header.record_count
    if header.last_offset_delta < 0 or count <= 0 or count != header.last_offset_delta + 1:
        return invalid(f"the batch claims {count} records and a last offset delta of {header.last_offset_delta}")
    if codec == Compression.NONE and count * SMALLEST_RECORD > header.size - HEADER_SIZE:
        return invalid(f"{header.size - HEADER_SIZE} bytes cannot hold the {count} records that the batch claims")
    if header.is_control:
        return invalid("control records are written by brokers, not by clients")
    if header.producer_id >= 0:
        if header.base_sequence < 0:
            return invalid(f"producer {header.producer_id} sent the negative sequence {header.base_sequence}")
    elif header.is_transactional:
        return invalid("a transactional batch must have a producer id")
    return None


def _unknown_codec(codec: int, produce_version: int) -> ProduceRejection:
    return ProduceRejection(
        code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        reason=f"compression type {codec} cannot be used with version {produce_version} of Produce",
    )


def _misshapen(reason: str) -> ProduceRejection:
    return ProduceRejection(code=ErrorCode.INVALID_RECORD, reason=reason)


def _corrupt(reason: str, *, told: bool = False) -> ProduceRejection:
    return ProduceRejection(code=ErrorCode.CORRUPT_MESSAGE, reason=reason, message=reason if told else None)
