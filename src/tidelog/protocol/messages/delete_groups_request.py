# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest(Message):
    groups_names: Sequence[str] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("groups_names", "[]string", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=42
    )
    STRUCTS: ClassVar[Structs] = {}
