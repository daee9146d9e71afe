"""The records of one produced batch: unpacked, checked, and packed again if the topic has another codec.

The work can be done in parts, in any thread: `run` stops after so many bytes and continues when it is called again.
Nothing but the packed result is kept, so memory does not grow with what a batch unpacks to. The loop over the records
is in `tidelog.records.checking`; what is checked before it, in `tidelog.records.validation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_MASK,
    CREATE_TIME,
    DELETE_HORIZON_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAX_TIMESTAMP_AT,
    NO_TIMESTAMP,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
    parse_header,
    restamp_crc,
)
from tidelog.records.compression import Packer
from tidelog.records.implementation import checking
from tidelog.records.produce_rules import (
    MAX_RECORD_ERRORS,
    CheckedBatches,
    ProduceRejection,
    ProduceRules,
    RecordError,
    invalid,
    too_large,
)
from tidelog.records.record import assemble_batch
from tidelog.records.unpacking import ANNOUNCED_BYTES, PIECE_BYTES, UnpacksTooLarge, unpack

NO_BOUND: Final = 1 << 62

_KEPT_ATTRIBUTES: Final = COMPRESSION_MASK | TRANSACTIONAL_MASK | CONTROL_MASK | DELETE_HORIZON_MASK
_LONG_MODULUS: Final = 1 << 64
_LEAST_LONG: Final = -(1 << 63)
# Packing is far slower than checking.
_PACKING_COST: Final = 16

_INT16 = Struct(">h")
_INT64 = Struct(">q")


class RecordsWork:
    """The remaining work for one batch whose header is valid."""

    def __init__(
        self, header: BatchHeader, data: Buffer, rules: ProduceRules, now_ms: int, topic_partition: object
    ) -> None:
        self._header = header
        self._data = data
        self._rules = rules
        self._now_ms = now_ms
        self._topic_partition = topic_partition
        self._packer: Packer | None = None
        self._packed: list[bytes] = []
        self._packed_size = HEADER_SIZE
        if rules.compression is not None and rules.compression != header.compression:
            self._packer = Packer(rules.compression, rules.compression_level)
        self._pieces = self._iterate_pieces()
        self._check = checking.RecordCheck(
            header.record_count,
            header.base_timestamp,
            stamped_ms=header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else None,
            needs_key=rules.compacted,
            limits_time=rules.timestamp_type == CREATE_TIME,
            now_ms=now_ms,
            before_max_ms=rules.timestamp_before_max_ms,
            after_max_ms=rules.timestamp_after_max_ms,
            max_listed=MAX_RECORD_ERRORS,
        )

    def run(self, max_bytes: int = NO_BOUND) -> CheckedBatches | ProduceRejection | None:
        """Continue for about so many unpacked bytes. None means unfinished: call it again.

        Records that need neither unpacking nor packing are checked in one go, at memory speed.
        """
        check, packer = self._check, self._packer
        if packer is None and not self._header.compression:
            max_bytes = NO_BOUND
        done = 0
        try:
            for piece in self._pieces:
                if not piece and max_bytes <= ANNOUNCED_BYTES:
                    return None
                check.feed(piece)
                done += len(piece)
                if packer is not None:
                    self._keep(packer.add(piece))
                    if self._packed_size > self._rules.max_message_bytes:
                        return too_large(self._packed_size, self._rules)
                    done += len(piece) * _PACKING_COST
                if done >= max_bytes:
                    return None
            check.finish()
        except UnpacksTooLarge as error:
            return _unpacks_too_large(error.max_bytes)
        except CorruptBatch as error:
            return invalid(f"the records of the batch cannot be read: {error.reason}")
        if check.refused:
            return self._refused()
        return self._accepted()

    def _iterate_pieces(self) -> Iterator[Buffer]:
        payload = memoryview(self._data)[HEADER_SIZE:]
        if self._header.compression:
            return unpack(self._header.compression, payload, self._rules.max_unpacked_bytes)
        if self._packer is None:
            return iter((payload,))
        return (payload[at : at + PIECE_BYTES] for at in range(0, len(payload), PIECE_BYTES))

    def _keep(self, packed: bytes) -> None:
        self._packed.append(packed)
        self._packed_size += len(packed)

    def _accepted(self) -> CheckedBatches | ProduceRejection:
        rules, header, data = self._rules, self._header, self._data
        stamps = rules.timestamp_type == LOG_APPEND_TIME
        max_timestamp = self._now_ms if stamps else self._check.max_timestamp
        log_append_time_ms = self._now_ms if stamps else NO_TIMESTAMP
        attributes = header.attributes & _KEPT_ATTRIBUTES | rules.timestamp_type << 3
        if self._packer is not None:
            self._keep(self._packer.finish())
            if self._packed_size > rules.max_message_bytes:
                return too_large(self._packed_size, rules)
            assert rules.compression is not None
            attributes = attributes & ~COMPRESSION_MASK | rules.compression
            rewritten = header._replace(attributes=attributes, max_timestamp=max_timestamp)
            data = bytearray(assemble_batch(rewritten, b"".join(self._packed)))
            header = parse_header(data)
        elif rules.timestamp_type != header.timestamp_type or max_timestamp != header.max_timestamp:
            data = _restamped(data, attributes, max_timestamp)
            header = parse_header(data)
        return CheckedBatches(headers=(header,), data=data, log_append_time_ms=log_append_time_ms)

    def _refused(self) -> ProduceRejection:
        """The texts are Kafka's: producers show them to users, and some parse them."""
        check = self._check
        errors = tuple(
            RecordError(batch_index=index, message=self._explain(index, why, timestamp, key_length, value_length))
            for index, why, timestamp, key_length, value_length in check.listed
        )
        by_time = any(why != checking.NO_KEY for _, why, _, _, _ in check.listed)
        if by_time:
            message = "One or more records have been rejected due to invalid timestamp"
        else:
            shown = ", ".join(
                f"RecordError(batchIndex={each.batch_index}, message='{each.message}')" for each in errors[:3]
            )
            message = (
                f"One or more records have been rejected due to {check.refused} record errors in total, "
                f"and only showing the first three errors at most: [{shown}]"
            )
        return ProduceRejection(
            code=ErrorCode.INVALID_TIMESTAMP if by_time else ErrorCode.INVALID_RECORD,
            reason=f"{check.refused} of {self._header.record_count} records are refused: {errors[0].message}",
            message=message,
            record_errors=errors,
            tells_log_start=True,
        )

    def _explain(self, index: int, why: int, timestamp: int, key_length: int, value_length: int) -> str:
        if why == checking.NO_KEY:
            return f"Compacted topic cannot accept message without key in topic partition {self._topic_partition}"
        if why == checking.TIME_OUT_OF_RANGE:
            earliest = _wrapped(self._now_ms - self._rules.timestamp_before_max_ms)
            latest = _wrapped(self._now_ms + self._rules.timestamp_after_max_ms)
            return (
                f"Timestamp {timestamp} of message with offset {index} is out of range. "
                f"The timestamp should be within [{earliest}, {latest}]"
            )
        in_place = self._header.compression and self._packer is None
        return (
            f"Invalid timestamp type in message {'Partial' if in_place else ''}DefaultRecord(offset={index}, "
            f"timestamp={timestamp}, key={max(key_length, 0)} bytes, value={max(value_length, 0)} bytes). "
            "Producer should not set timestamp type to LogAppendTime."
        )


def _wrapped(value: int) -> int:
    """Wraps like a sum of two longs in Java."""
    return (value - _LEAST_LONG) % _LONG_MODULUS + _LEAST_LONG


def _unpacks_too_large(max_bytes: int) -> ProduceRejection:
    reason = (
        f"the records of the batch take more than {max_bytes} bytes when decompressed, the most that is accepted; "
        "send smaller batches, or raise max.message.bytes, which also raises this limit"
    )
    return ProduceRejection(code=ErrorCode.MESSAGE_TOO_LARGE, reason=reason, message=reason)


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
