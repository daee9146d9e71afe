# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHeaderRecord(Message):
    version: int = 0
    last_contained_log_timestamp: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("version", "int16", (0, LAST)),
            Field("last_contained_log_timestamp", "int64", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}
