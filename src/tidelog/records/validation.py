"""What a broker checks and changes in the records of a Produce request before they are appended.

The usual batch costs one parsed header and its CRC: records are looked at only where a rule of the topic asks for it
(compaction needs keys, `message.timestamp.before.max.ms`, another codec), and then without keeping them. Epochs and
sequence numbers against what the log holds are checked in `tidelog.partition.producers`.

The refusals and their order are Kafka's: first the request's shape, then size and CRC, then the header's fields, then
the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import (
    ATTRIBUTES_AT,
    BATCH_LENGTH_AT,
    CREATE_TIME,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
    compute_crc,
    parse_header,
    restamp_crc,
)
from tidelog.records.compression import Compression, compress
from tidelog.records.record import SMALLEST_RECORD, assemble_batch, outline_records, read_payload

NO_LIMIT_MS: Final = (1 << 63) - 1
# message.timestamp.after.max.ms since Kafka 4.0 (KIP-1030).
DEFAULT_TIMESTAMP_AFTER_MAX_MS: Final = 3_600_000
# message.max.bytes
DEFAULT_MAX_MESSAGE_BYTES: Final = 1_048_588
# While a batch is unpacked and walked over, this process does nothing else.
DEFAULT_MAX_CHECKED_BYTES: Final = 64 * 1024 * 1024

# More are counted but not listed: a reply must not grow with what a client did wrong.
MAX_RECORD_ERRORS: Final = 100

FIRST_VERSION_WITH_ZSTD: Final = 7
_LATEST_VERSION: Final = 1 << 15

# No entry of any format, not even of the ancient ones, is shorter than this behind its offset and length.
_SMALLEST_ENTRY: Final = 14

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRules:
    """The part of a topic's configuration that decides what may be produced. Made once per change of it."""

    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    # cleanup.policy contains "compact".
    compacted: bool = False
    timestamp_type: int = CREATE_TIME
    timestamp_before_max_ms: int = NO_LIMIT_MS
    timestamp_after_max_ms: int = DEFAULT_TIMESTAMP_AFTER_MAX_MS
    # compression.type; None is "producer": whatever comes.
    compression: Compression | None = None
    compression_level: int | None = None
    max_decompressed_bytes: int = DEFAULT_MAX_CHECKED_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """One record that is to blame, counted from the start of its batch."""

    batch_index: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRejection:
    """Nothing is appended."""

    code: ErrorCode
    message: str
    record_errors: tuple[RecordError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBatches:
    """May be appended. `data` is what was given, perhaps changed in place, or a new batch if it had to be."""

    headers: tuple[BatchHeader, ...]
    data: Buffer
    # What the reply tells the producer: -1 unless the topic stamps records itself.
    log_append_time_ms: int = NO_TIMESTAMP


def check_produced(
    data: Buffer | None, rules: ProduceRules, now_ms: int, *, produce_version: int = _LATEST_VERSION
) -> CheckedBatches | ProduceRejection:
    """Check the records that a Produce request has for one partition."""
    shape_problem = _shape_problem(data)
    if shape_problem is not None:
        return shape_problem
    assert data is not None
    header = parse_header(data)
    problem = _header_problem(header, data, rules, produce_version)
    if problem is not None:
        return problem
    try:
        return _apply_rules(header, data, rules, now_ms)
    except CorruptBatch as error:
        return _invalid(f"the records of the batch cannot be read: {error.reason}")


def _shape_problem(data: Buffer | None) -> ProduceRejection | None:
    """Whether this is anything but exactly one whole batch of the current format."""
    if data is None or len(data) <= MAGIC_AT:
        return _invalid("the request must have a record batch for the partition, but has none")
    length: int = _INT32.unpack_from(data, BATCH_LENGTH_AT)[0]
    if length < _SMALLEST_ENTRY:
        return _corrupt(f"{length} is too short for the length of a batch")
    magic = data[MAGIC_AT]
    if magic > CURRENT_MAGIC:
        return _corrupt(f"magic {magic} is no format of records")
    rest = len(data) - LOG_OVERHEAD - length
    if rest < 0:
        return _invalid(f"the batch should have {LOG_OVERHEAD + length} bytes, but only {len(data)} were sent")
    if magic != CURRENT_MAGIC:
        return _invalid(f"records of format {magic} are not accepted, only record batches (format 2)")
    if length < HEADER_SIZE - LOG_OVERHEAD:
        return _corrupt(f"{length} is too short for the length of a batch")
    if rest > 0:
        return _invalid(f"{rest} bytes follow the batch; exactly one batch per partition is accepted")
    return None


def _header_problem(
    header: BatchHeader, data: Buffer, rules: ProduceRules, produce_version: int
) -> ProduceRejection | None:
    codec = header.compression
    if codec > Compression.ZSTD or (codec == Compression.ZSTD and produce_version < FIRST_VERSION_WITH_ZSTD):
        return ProduceRejection(
            code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            message=f"compression type {codec} cannot be used with version {produce_version} of Produce",
        )
    if header.base_offset != 0:
        return _invalid(f"the batch must have base offset 0, as the broker assigns offsets, not {header.base_offset}")
    if header.size > rules.max_message_bytes:
        return _too_large(header.size, rules)
    if header.crc != compute_crc(data):
        return _corrupt(f"the checksum of the batch is not {header.crc:#010x}")
    count = header.record_count
    if header.last_offset_delta < 0 or count <= 0 or count != header.last_offset_delta + 1:
        return _invalid(f"the batch claims {count} records and a last offset delta of {header.last_offset_delta}")
    if codec == Compression.NONE and count * SMALLEST_RECORD > header.size - HEADER_SIZE:
        return _invalid(f"{header.size - HEADER_SIZE} bytes cannot hold the {count} records that the batch claims")
    if header.is_control:
        return _invalid("control records are written by brokers, not by clients")
    if header.producer_id >= 0:
        if header.base_sequence < 0 or header.producer_epoch < 0:
            return _invalid(
                f"producer {header.producer_id} sent epoch {header.producer_epoch} and sequence "
                f"{header.base_sequence}; neither may be negative"
            )
    elif header.is_transactional:
        return _invalid("a transactional batch must have a producer id")
    return None


def _apply_rules(
    header: BatchHeader, data: Buffer, rules: ProduceRules, now_ms: int
) -> CheckedBatches | ProduceRejection:
    stamps = rules.timestamp_type == LOG_APPEND_TIME
    if stamps and header.timestamp_type == LOG_APPEND_TIME:
        return ProduceRejection(
            code=ErrorCode.INVALID_TIMESTAMP,
            message="the batch says that the broker has set its timestamps, which only the broker may say",
        )
    recompress = rules.compression is not None and rules.compression != header.compression
    too_late = header.max_timestamp - now_ms > rules.timestamp_after_max_ms
    limits_time = not stamps and (rules.timestamp_before_max_ms != NO_LIMIT_MS or too_late)
    max_timestamp = header.max_timestamp
    payload = b""
    if recompress or limits_time or rules.compacted:
        payload = read_payload(header, data, rules.max_decompressed_bytes, check_crc=False)
        walked = _walk_records(header, payload, rules, now_ms)
        if isinstance(walked, ProduceRejection):
            return walked
        max_timestamp = walked
    if stamps:
        max_timestamp = now_ms
    attributes = header.attributes & ~TIMESTAMP_TYPE_MASK | rules.timestamp_type << 3
    log_append_time_ms = now_ms if stamps else NO_TIMESTAMP
    if recompress:
        assert rules.compression is not None
        return _recompressed(
            header._replace(
                attributes=attributes & ~header.compression | rules.compression, max_timestamp=max_timestamp
            ),
            payload,
            rules,
            log_append_time_ms,
        )
    if attributes != header.attributes or max_timestamp != header.max_timestamp:
        data = _restamped(data, attributes, max_timestamp)
        header = parse_header(data)
    return CheckedBatches(headers=(header,), data=data, log_append_time_ms=log_append_time_ms)


def _walk_records(header: BatchHeader, payload: bytes, rules: ProduceRules, now_ms: int) -> int | ProduceRejection:
    """The largest timestamp of the records, or why they are refused."""
    errors: list[RecordError] = []
    failed = 0
    any_timestamp = False
    needs_key = rules.compacted
    limits_time = rules.timestamp_type == CREATE_TIME
    earliest = now_ms - rules.timestamp_before_max_ms
    latest = now_ms + rules.timestamp_after_max_ms
    base_timestamp = header.base_timestamp
    max_timestamp = NO_TIMESTAMP
    for index, (_, timestamp_delta, has_key) in enumerate(outline_records(header, payload)):
        timestamp = base_timestamp + timestamp_delta
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        if needs_key and not has_key:
            message = "a record in a compacted topic must have a key"
        elif limits_time and timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            message = f"timestamp {timestamp} is not within [{earliest}, {latest}]"
            any_timestamp = True
        else:
            continue
        failed += 1
        if failed <= MAX_RECORD_ERRORS:
            errors.append(RecordError(batch_index=index, message=message))
    if failed:
        return ProduceRejection(
            code=ErrorCode.INVALID_TIMESTAMP if any_timestamp else ErrorCode.INVALID_RECORD,
            message=f"{failed} of {header.record_count} records are not acceptable; the first: {errors[0].message}",
            record_errors=tuple(errors),
        )
    return max_timestamp


def _recompressed(
    header: BatchHeader, payload: bytes, rules: ProduceRules, log_append_time_ms: int
) -> CheckedBatches | ProduceRejection:
    """The same records in the topic's codec. The encoded records do not change, so they need not be taken apart."""
    codec = Compression(header.compression)
    batch = bytearray(assemble_batch(header, compress(codec, payload, rules.compression_level)))
    if len(batch) > rules.max_message_bytes:
        return _too_large(len(batch), rules)
    return CheckedBatches(headers=(parse_header(batch),), data=batch, log_append_time_ms=log_append_time_ms)


def _restamped(data: Buffer, attributes: int, max_timestamp: int) -> bytearray | memoryview:
    """Attributes and largest timestamp, in place where that is possible, and the CRC that covers them."""
    if isinstance(data, memoryview) and not data.readonly:
        writable: bytearray | memoryview = data
    else:
        writable = data if isinstance(data, bytearray) else bytearray(data)
    _INT16.pack_into(writable, ATTRIBUTES_AT, attributes)
    _INT64.pack_into(writable, MAX_TIMESTAMP_AT, max_timestamp)
    restamp_crc(writable, 0, len(writable))
    return writable


def _too_large(size: int, rules: ProduceRules) -> ProduceRejection:
    return ProduceRejection(
        code=ErrorCode.MESSAGE_TOO_LARGE,
        message=f"the batch has {size} bytes, more than max.message.bytes allows ({rules.max_message_bytes})",
    )


def _invalid(message: str) -> ProduceRejection:
    return ProduceRejection(code=ErrorCode.INVALID_RECORD, message=message)


def _corrupt(message: str) -> ProduceRejection:
    return ProduceRejection(code=ErrorCode.CORRUPT_MESSAGE, message=message)
