# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReplicaLogDirTopic(Message):
    name: str = ''
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReplicaLogDir(Message):
    path: str = ''
    topics: Sequence[AlterReplicaLogDirTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("path", "string", (0, LAST)),
            Field("topics", "[]AlterReplicaLogDirTopic", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDirTopic": AlterReplicaLogDirTopic}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReplicaLogDirsRequest(Message):
    dirs: Sequence[AlterReplicaLogDir] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("dirs", "[]AlterReplicaLogDir", (0, LAST)),
        ), valid=(1, 2), flexible=(2, LAST), api_key=34
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDir": AlterReplicaLogDir}
