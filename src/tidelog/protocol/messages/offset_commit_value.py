# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OffsetCommitValue(Message):
    __slots__ = (
        "offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("offset", "int64", (0, LAST)),
            Field("leader_epoch", "int32", (3, LAST)),
            Field("metadata", "string", (0, LAST)),
            Field("commit_timestamp", "int64", (0, LAST)),
            Field("expire_timestamp", "int64", (1, 1)),
            Field("topic_id", "uuid", (4, LAST), tagged=(4, LAST), tag=0, default=b'\0' * 16),
        ), valid=(0, 4), flexible=(4, LAST), api_key=1
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = '',
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = b'\0' * 16,
    ) -> None:
        self.offset: Final = offset
        self.leader_epoch: Final = leader_epoch
        self.metadata: Final = metadata
        self.commit_timestamp: Final = commit_timestamp
        self.expire_timestamp: Final = expire_timestamp
        self.topic_id: Final = topic_id
