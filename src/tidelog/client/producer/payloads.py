"""What users may give as key, value and headers of a record, and the bytes that become of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.records.record import Header

Payload = bytes | bytearray | memoryview | str | None
Headers = Mapping[str, Payload] | Iterable[tuple[str, Payload]]


def as_bytes(what: str, payload: object) -> bytes | None:
    if payload is None:
        return None
    if type(payload) is bytes:
        return payload
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)
    raise TypeError(f"a record's {what} must be bytes, str or None, not {type(payload).__name__}")


def as_headers(headers: object) -> tuple[Header, ...]:
    pairs: Any = headers.items() if isinstance(headers, Mapping) else headers
    listed: list[Header] = []
    for name, value in pairs:
        if not isinstance(name, str):
            raise TypeError(f"the name of a header must be str, not {type(name).__name__}")
        listed.append((name, as_bytes(f"header {name!r}", value)))
    return tuple(listed)
