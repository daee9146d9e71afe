# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Listener(Message):
    __slots__ = (
        "name",
        "host",
        "port",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        host: str = '',
        port: int = 0,
    ) -> None:
        self.name: Final = name
        self.host: Final = host
        self.port: Final = port


class KRaftVersionFeature(Message):
    __slots__ = (
        "min_supported_version",
        "max_supported_version",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("min_supported_version", "int16", (0, LAST)),
            Field("max_supported_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version: Final = min_supported_version
        self.max_supported_version: Final = max_supported_version


class UpdateRaftVoterRequest(Message):
    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "k_raft_version_feature",
    )
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

    def __init__(
        self,
        *,
        cluster_id: str | None = '',
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = b'\0' * 16,
        listeners: Sequence[Listener] = (),
        k_raft_version_feature: KRaftVersionFeature = KRaftVersionFeature(),
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.current_leader_epoch: Final = current_leader_epoch
        self.voter_id: Final = voter_id
        self.voter_directory_id: Final = voter_directory_id
        self.listeners: Final = listeners
        self.k_raft_version_feature: Final = k_raft_version_feature
