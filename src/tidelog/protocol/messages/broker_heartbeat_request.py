# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest(Message):
    broker_id: int = 0
    broker_epoch: int = -1
    current_metadata_offset: int = 0
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: Sequence[bytes] = ()
    cordoned_log_dirs: Sequence[bytes] | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("current_metadata_offset", "int64", (0, LAST)),
            Field("want_fence", "bool", (0, LAST)),
            Field("want_shut_down", "bool", (0, LAST)),
            Field("offline_log_dirs", "[]uuid", (1, LAST), tagged=(1, LAST), tag=0, default=()),
            Field("cordoned_log_dirs", "[]uuid", (2, LAST), nullable=(2, LAST), tagged=(2, LAST), tag=1),
        ), valid=(0, 2), flexible=(0, LAST), api_key=63
    )
    STRUCTS: ClassVar[Structs] = {}
