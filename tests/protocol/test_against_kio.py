"""The codec beside kio, which is generated from the same schemas by other people: same bytes for every message.

kio has all requests, responses and headers, and none of the records that brokers write into their own logs. Fields that
only tidelog knows have their defaults here: they are not sent then, and the bytes are Kafka's.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from random import Random
from typing import Any

from kio.serial import entity_reader, entity_writer
from support.message_samples import all_versions, sample

from tidelog.protocol.codec import encode
from tidelog.protocol.schema import Message


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _kio_class(kind: type[Message], version: int) -> Any:
    name = kind.__name__
    if name.endswith("Header"):
        base, part = name, "header"
    elif name.endswith(("Request", "Response")):
        part = "request" if name.endswith("Request") else "response"
        base = name[: -len(part)]
    else:
        base, part = name, "data"
    try:
        module = importlib.import_module(f"kio.schema.{_snake_case(base)}.v{version}.{part}")
    except ModuleNotFoundError:
        return None
    return getattr(module, name)


def test_kio_reads_and_writes_the_same_bytes(record_property: Callable[[str, object], None]) -> None:
    random = Random(3)
    compared: list[tuple[str, int]] = []
    different: list[tuple[str, int]] = []
    for kind, version in all_versions():
        theirs = _kio_class(kind, version)
        if theirs is None:
            continue
        data = encode(sample(kind, version, random, nulls=False, extensions=False), version)
        parsed, size = entity_reader(theirs)(memoryview(data).toreadonly(), 0)
        out = io.BytesIO()
        entity_writer(theirs)(out, parsed)
        if out.getvalue() != data or size != len(data):
            different.append((kind.__name__, version))
        compared.append((kind.__name__, version))
    messages = len({name for name, _ in compared})
    record_property("shown", f"{messages} messages in {len(compared)} versions have the bytes that kio gives them")
    assert different == []
    assert messages >= 150
    assert len(compared) >= 563
