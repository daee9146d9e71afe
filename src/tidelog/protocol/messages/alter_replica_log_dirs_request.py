# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AlterReplicaLogDirTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[int] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class AlterReplicaLogDir(Message):
    __slots__ = (
        "path",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("path", "string", (0, LAST)),
            Field("topics", "[]AlterReplicaLogDirTopic", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDirTopic": AlterReplicaLogDirTopic}

    def __init__(
        self,
        *,
        path: str = '',
        topics: Sequence[AlterReplicaLogDirTopic] = (),
    ) -> None:
        self.path: Final = path
        self.topics: Final = topics


class AlterReplicaLogDirsRequest(Message):
    __slots__ = (
        "dirs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("dirs", "[]AlterReplicaLogDir", (0, LAST)),
        ), valid=(1, 2), flexible=(2, LAST), api_key=34
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDir": AlterReplicaLogDir}

    def __init__(
        self,
        *,
        dirs: Sequence[AlterReplicaLogDir] = (),
    ) -> None:
        self.dirs: Final = dirs
