"""A record that a user has written down, as the bytes that it shall have. No I/O.

Each part comes as text with its encoding: null, text, json (which has to be valid, and stays as it is written), hex or
base64.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from tidelog.console.findings import json_text
from tidelog.model.lazy_dataclasses import dataclass

MOST_HEADERS = 100
_LARGEST_INT64 = (1 << 63) - 1
_HEX_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2})*")
_SPACE = re.compile(r"\s+")


class Encoding(StrEnum):
    NULL = "null"
    TEXT = "text"
    JSON = "json"
    HEX = "hex"
    BASE64 = "base64"


class BadDraft(ValueError):
    """A sentence for whoever wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDraft:
    """Without a partition the producer's partitioner chooses, without a timestamp it is the time of sending."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None


def read_draft(document: object) -> RecordDraft:
    """Raises BadDraft."""
    fields = _object(document, "the record")
    topic = fields.get("topic")
    if not isinstance(topic, str) or not topic:
        raise BadDraft("the record has no topic")
    _encoded(topic, f"the topic's name {topic!r}")
    headers = fields.get("headers") or []
    if not isinstance(headers, list) or len(headers) > MOST_HEADERS:
        raise BadDraft(f"headers must be a list of at most {MOST_HEADERS}")
    return RecordDraft(
        topic=topic,
        partition=_number(fields.get("partition"), "partition"),
        key=_payload(fields.get("key"), "the key"),
        value=_payload(fields.get("value"), "the value"),
        headers=tuple(_header(each, number) for number, each in enumerate(headers, 1)),
        timestamp_ms=_number(fields.get("timestamp_ms"), "timestamp_ms"),
    )


def _object(document: object, what: str) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise BadDraft(f"{what} must be an object")
    return document


def _number(value: object, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_INT64:
        raise BadDraft(f"{name} must be a number from 0 on, not {value!r}")
    return value


def _header(document: object, number: int) -> tuple[str, bytes | None]:
    fields = _object(document, f"header {number}")
    name = fields.get("name")
    if not isinstance(name, str):
        raise BadDraft(f"header {number} has no name")
    _encoded(name, f"the name of header {number}")
    return name, _payload(fields, f"the value of header {number}")


def _payload(document: object, what: str) -> bytes | None:
    """Nothing given is null."""
    if document is None:
        return None
    fields = _object(document, what)
    encoding, text = fields.get("encoding", Encoding.TEXT.value), fields.get("text", "")
    if not isinstance(text, str):
        raise BadDraft(f"{what} must be text")
    match encoding:
        case Encoding.NULL:
            return None
        case Encoding.TEXT:
            return _encoded(text, what)
        case Encoding.JSON:
            try:
                json_text.check(text)
            except json_text.NotJson as problem:
                raise BadDraft(f"{what} is not JSON: {problem}") from problem
            return _encoded(text, what)
        case Encoding.HEX:
            return _from_hex(text, what)
        case Encoding.BASE64:
            return _from_base64(text, what)
        case _:
            raise BadDraft(f"{what} has the encoding {encoding!r}; it must be one of {', '.join(Encoding)}")


def _encoded(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as problem:
        raise BadDraft(
            f"{what} has half a surrogate pair at character {problem.start + 1}, which has no bytes in UTF-8"
        ) from problem


def _from_hex(text: str, what: str) -> bytes:
    digits = _SPACE.sub("", text).removeprefix("0x")
    good = _HEX_PAIRS.match(digits)
    assert good is not None
    if good.end() < len(digits):
        rest = digits[good.end() : good.end() + 2]
        raise BadDraft(f"{what} is not hex: behind {good.end() // 2} bytes come {rest!r}, not two digits")
    return bytes.fromhex(digits)


def _from_base64(text: str, what: str) -> bytes:
    """Also with the letters of addresses, and without padding."""
    letters = _SPACE.sub("", text).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
    except (binascii.Error, ValueError) as problem:
        raise BadDraft(f"{what} is not base64: {problem}") from problem
