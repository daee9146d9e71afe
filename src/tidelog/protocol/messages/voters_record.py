# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Endpoint(Message):
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


class Voter(Message):
    __slots__ = (
        "voter_id",
        "voter_directory_id",
        "endpoints",
        "k_raft_version_feature",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (0, LAST)),
            Field("endpoints", "[]Endpoint", (0, LAST)),
            Field("k_raft_version_feature", "KRaftVersionFeature", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"Endpoint": Endpoint, "KRaftVersionFeature": KRaftVersionFeature}

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: bytes = b'\0' * 16,
        endpoints: Sequence[Endpoint] = (),
        k_raft_version_feature: KRaftVersionFeature = KRaftVersionFeature(),
    ) -> None:
        self.voter_id: Final = voter_id
        self.voter_directory_id: Final = voter_directory_id
        self.endpoints: Final = endpoints
        self.k_raft_version_feature: Final = k_raft_version_feature


class VotersRecord(Message):
    __slots__ = (
        "version",
        "voters",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("version", "int16", (0, LAST)),
            Field("voters", "[]Voter", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {"Voter": Voter}

    def __init__(
        self,
        *,
        version: int = 0,
        voters: Sequence[Voter] = (),
    ) -> None:
        self.version: Final = version
        self.voters: Final = voters
