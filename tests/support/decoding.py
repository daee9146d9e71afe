"""The records of a whole answer, as a reader sees them."""

from __future__ import annotations

from tidelog.records.batch import Buffer, iterate_headers
from tidelog.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from tidelog.records.record import Record, decode_batch


def decode_all(buffer: Buffer, *, max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """The records of all whole batches; control batches, which hold no records of users, are left out."""
    view = memoryview(buffer)
    records: list[Record] = []
    for position, header in iterate_headers(buffer):
        if not header.is_control:
            batch = view[position : position + header.size]
            records += decode_batch(batch, max_decompressed_bytes=max_decompressed_bytes)
    return records
