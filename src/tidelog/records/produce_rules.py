"""What a topic requires of the records that are produced to it, and the possible results of the check."""

from __future__ import annotations

from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import NO_TIMESTAMP, BatchHeader, Buffer
from tidelog.records.compression import Compression

# How much the records of a compressed batch may take when decompressed. Text shrinks ten- to fifty-fold; what is beyond
# both of these is an attack or a mistake, and would cost each of its readers that much memory.
SMALLEST_UNPACKED_LIMIT: Final = 64 * 1024 * 1024
UNPACKED_RATIO: Final = 16

# More are counted but not listed: a reply must not grow with what a client did wrong.
MAX_RECORD_ERRORS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRules:
    """The part of a topic's configuration that decides what may be produced. Created once per change of it."""

    max_message_bytes: int
    # cleanup.policy contains "compact".
    compacted: bool
    timestamp_type: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    # compression.type; None is "producer": any codec is kept.
    compression: Compression | None
    compression_level: int | None

    @property
    def max_unpacked_bytes(self) -> int:
        return max(SMALLEST_UNPACKED_LIMIT, UNPACKED_RATIO * self.max_message_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """One refused record, by its index in the batch."""

    batch_index: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRejection:
    """Nothing is appended."""

    code: ErrorCode
    # What is wrong, with which value.
    reason: str
    # Kafka's own text, where it has one: about single records, and about lengths and formats that it cannot even skip.
    message: str | None = None
    record_errors: tuple[RecordError, ...] = ()
    # Whether the reply has the log start offset: Kafka's does once it has looked into a whole and undamaged batch.
    tells_log_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBatches:
    """May be appended. `data` is what was given, perhaps changed in place, or a new batch if it had to be."""

    headers: tuple[BatchHeader, ...]
    data: Buffer
    # What the reply says: -1 unless the topic has LogAppendTime.
    log_append_time_ms: int = NO_TIMESTAMP


def invalid(reason: str) -> ProduceRejection:
    return ProduceRejection(code=ErrorCode.INVALID_RECORD, reason=reason, tells_log_start=True)


def too_large(size: int, rules: ProduceRules) -> ProduceRejection:
    return ProduceRejection(
        code=ErrorCode.MESSAGE_TOO_LARGE,
        reason=f"the batch has {size} bytes, more than max.message.bytes allows ({rules.max_message_bytes})",
    )
