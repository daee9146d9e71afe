# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


class LegacyOffsetCommitValue(Message):
    __slots__ = (
        "offset",
        "metadata",
        "commit_timestamp",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("offset", "int64", (0, 0)),
            Field("metadata", "string", (0, 0)),
            Field("commit_timestamp", "int64", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=0
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        offset: int = 0,
        metadata: str = '',
        commit_timestamp: int = 0,
    ) -> None:
        self.offset: Final = offset
        self.metadata: Final = metadata
        self.commit_timestamp: Final = commit_timestamp
