# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ListedGroup(Message):
    __slots__ = (
        "group_id",
        "protocol_type",
        "group_state",
        "group_type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("protocol_type", "string", (0, LAST)),
            Field("group_state", "string", (4, LAST)),
            Field("group_type", "string", (5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        group_id: str = '',
        protocol_type: str = '',
        group_state: str = '',
        group_type: str = '',
    ) -> None:
        self.group_id: Final = group_id
        self.protocol_type: Final = protocol_type
        self.group_state: Final = group_state
        self.group_type: Final = group_type


class ListGroupsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "groups",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("groups", "[]ListedGroup", (0, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=16
    )
    STRUCTS: ClassVar[Structs] = {"ListedGroup": ListedGroup}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: Sequence[ListedGroup] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.groups: Final = groups
