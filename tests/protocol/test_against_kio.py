"""The codec beside kio, which is generated from the same schemas by other people: same bytes for every message."""

from __future__ import annotations

import importlib
import io
from random import Random
from types import ModuleType
from typing import Any

import pytest
from support.message_samples import all_messages, sample

from tidelog.protocol.codec import encode
from tidelog.protocol.schema import Message

kio_serial = pytest.importorskip("kio.serial")


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _kio_class(kind: type[Message], version: int) -> Any:
    base, part = kind.__name__, "data"
    for suffix in ("Request", "Response"):
        if kind.__name__.endswith(suffix):
            base, part = kind.__name__.removesuffix(suffix), suffix.lower()
    try:
        module: ModuleType = importlib.import_module(f"kio.schema.{_snake_case(base)}.v{version}.{part}")
    except ModuleNotFoundError:
        return None
    return getattr(module, kind.__name__)


def test_kio_reads_and_writes_the_same_bytes() -> None:
    random = Random(3)
    compared = 0
    different = []
    for kind in all_messages():
        for version in range(kind.SCHEMA.valid[0], kind.SCHEMA.valid[1] + 1):
            theirs = _kio_class(kind, version)
            if theirs is None:
                continue
            data = encode(sample(kind, version, random, nulls=False), version)
            parsed, size = kio_serial.entity_reader(theirs)(memoryview(data).toreadonly(), 0)
            out = io.BytesIO()
            kio_serial.entity_writer(theirs)(out, parsed)
            if out.getvalue() != data or size != len(data):
                different.append((kind.__name__, version))
            compared += 1
    assert different == []
    assert compared > 400
