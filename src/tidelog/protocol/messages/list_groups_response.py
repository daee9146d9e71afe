# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup(Message):
    group_id: str = ''
    protocol_type: str = ''
    group_state: str = ''
    group_type: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("protocol_type", "string", (0, LAST)),
            Field("group_state", "string", (4, LAST)),
            Field("group_type", "string", (5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    groups: Sequence[ListedGroup] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("groups", "[]ListedGroup", (0, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=16
    )
    STRUCTS: ClassVar[Structs] = {"ListedGroup": ListedGroup}
