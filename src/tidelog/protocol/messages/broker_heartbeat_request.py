# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BrokerHeartbeatRequest(Message):
    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )
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

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id: Final = broker_id
        self.broker_epoch: Final = broker_epoch
        self.current_metadata_offset: Final = current_metadata_offset
        self.want_fence: Final = want_fence
        self.want_shut_down: Final = want_shut_down
        self.offline_log_dirs: Final = offline_log_dirs
        self.cordoned_log_dirs: Final = cordoned_log_dirs
