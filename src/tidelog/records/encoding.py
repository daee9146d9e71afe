"""The loop that encodes records. It runs for each record that a client sends.

Compiled where a C compiler is available: `encoding.pxd` beside this file gives the variables their C types, and
`tidelog.records.implementation` decides which of the two runs. Reading is in `tidelog.records.decoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.records.batch import NO_TIMESTAMP, Buffer
from tidelog.records.varint import SMALL_VARINTS, SMALL_VARINTS_COUNT, encode_varint


def encode_records(
    records: Sequence[tuple[int, Buffer | None, Buffer | None, Sequence[tuple[str, Buffer | None]]]],
    base_timestamp: int,
    offset_deltas: Sequence[int] | None = None,
) -> tuple[bytes, int]:
    """(payload, largest timestamp) of records at these offsets after the base, or at consecutive ones."""
    small = SMALL_VARINTS
    limit = SMALL_VARINTS_COUNT
    join = b"".join
    parts: list[Any] = []
    max_timestamp = NO_TIMESTAMP
    offset_delta = -1
    for timestamp, key, value, headers in records:
        offset_delta += 1
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        delta = timestamp - base_timestamp
        if key is None:
            key = b""
            key_head = b"\x01"
        else:
            length = len(key)
            key_head = small[length] if length < limit else encode_varint(length)
        if value is None:
            value = b""
            value_head = b"\x01"
        else:
            length = len(value)
            value_head = small[length] if length < limit else encode_varint(length)
        place = offset_delta if offset_deltas is None else offset_deltas[offset_delta]
        body = join(
            (
                b"\x00",
                small[delta] if 0 <= delta < limit else encode_varint(delta),
                small[place] if 0 <= place < limit else encode_varint(place),
                key_head,
                key,
                value_head,
                value,
                _encode_headers(headers) if headers else b"\x00",
            )
        )
        length = len(body)
        parts.append(small[length] if length < limit else encode_varint(length))
        parts.append(body)
    return join(parts), max_timestamp


def _encode_headers(headers: Sequence[tuple[str, Buffer | None]]) -> bytes:
    parts: list[Buffer] = [encode_varint(len(headers))]
    for name, value in headers:
        key = name.encode("utf-8")
        parts.append(encode_varint(len(key)))
        parts.append(key)
        if value is None:
            parts.append(b"\x01")
        else:
            parts.append(encode_varint(len(value)))
            parts.append(value)
    return b"".join(parts)
