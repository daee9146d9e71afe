"""Record batches that were encoded elsewhere: checked before they are taken, and stamped before they are sent.

Whoever encodes them knows neither the producer's id and epoch nor the sequence number; those come in here, with the
mark of a transaction, and the CRC is recomputed. The records are not looked at: the broker does that.
"""

from __future__ import annotations

from struct import Struct

from tidelog.client.errors import WrongUse
from tidelog.client.producer.batches import PreencodedBatch
from tidelog.records.batch import (
    ATTRIBUTES_AT,
    CREATE_TIME,
    CURRENT_MAGIC,
    HEADER_SIZE,
    PRODUCER_ID_AT,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
    compute_crc,
    parse_header,
    restamp_crc,
)
from tidelog.records.compression import Compression

_ATTRIBUTES = Struct(">h")
_PRODUCER = Struct(">qhi")
_CODECS = frozenset(Compression)


def check_finished(batch: Buffer) -> BatchHeader:
    """The header of one whole, valid batch that nobody has numbered; WrongUse says what it is instead."""
    if len(batch) < HEADER_SIZE:
        raise WrongUse(f"{len(batch)} bytes are not a record batch: its header alone has {HEADER_SIZE}")
    header = parse_header(batch)
    problem = _problem(batch, header)
    if problem is not None:
        raise WrongUse(f"this is not an encoded record batch: {problem}")
    return header


def _problem(batch: Buffer, header: BatchHeader) -> str | None:
    if header.magic != CURRENT_MAGIC:
        return f"its format is {header.magic}, and only {CURRENT_MAGIC} can be numbered"
    if header.size != len(batch):
        return f"its header says {header.size} bytes, and there are {len(batch)}; publish one batch at a time"
    if header.is_control:
        return "it is a control batch, and only brokers write those"
    if header.compression not in _CODECS:
        return f"its compression {header.compression} is unknown"
    if header.timestamp_type != CREATE_TIME:
        return "its timestamp type is LogAppendTime, which only brokers set"
    if header.record_count < 1 or header.last_offset_delta != header.record_count - 1:
        return f"it has {header.record_count} records, the last one at offset delta {header.last_offset_delta}"
    if (header.producer_id, header.producer_epoch, header.base_sequence) != (-1, -1, -1):
        return (
            f"it belongs to producer {header.producer_id} already (epoch {header.producer_epoch}, sequence "
            f"{header.base_sequence}); encode it with -1 for all three"
        )
    crc = compute_crc(batch)
    if crc != header.crc:
        return f"its CRC is {header.crc:#010x}, and that of its bytes is {crc:#010x}"
    return None


def stamp(batch: PreencodedBatch, *, transactional: bool) -> bytearray | memoryview:
    """The batch's own bytes with its producer id, epoch and sequence number.

    In place: a batch is numbered again only when no request with it is on its way any more.
    """
    content = batch.content
    if batch.has_sequence:
        attributes = batch.header.attributes
        if transactional:
            attributes |= TRANSACTIONAL_MASK
        _ATTRIBUTES.pack_into(content, ATTRIBUTES_AT, attributes)
        _PRODUCER.pack_into(content, PRODUCER_ID_AT, batch.producer_id, batch.producer_epoch, batch.base_sequence)
        restamp_crc(content, 0, len(content))
    return content
