# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Message):
    name: str = ''
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionFeature(Message):
    min_supported_version: int = 0
    max_supported_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("min_supported_version", "int16", (0, LAST)),
            Field("max_supported_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRaftVoterRequest(Message):
    cluster_id: str | None = ''
    current_leader_epoch: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = b'\0' * 16
    listeners: Sequence[Listener] = ()
    k_raft_version_feature: KRaftVersionFeature = field(default_factory=KRaftVersionFeature)
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("current_leader_epoch", "int32", (0, LAST)),
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (0, LAST)),
            Field("listeners", "[]Listener", (0, LAST)),
            Field("k_raft_version_feature", "KRaftVersionFeature", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=82
    )
    STRUCTS: ClassVar[Structs] = {"Listener": Listener, "KRaftVersionFeature": KRaftVersionFeature}
