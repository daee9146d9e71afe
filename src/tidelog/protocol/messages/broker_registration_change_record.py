# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BrokerRegistrationChangeRecord(Message):
    __slots__ = (
        "broker_id",
        "broker_epoch",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("fenced", "int8", (0, LAST), tagged=(0, LAST), tag=0, default=0),
            Field("in_controlled_shutdown", "int8", (1, LAST), tagged=(1, LAST), tag=1, default=0),
            Field("log_dirs", "[]uuid", (2, LAST), tagged=(2, LAST), tag=2, default=()),
            Field("cordoned_log_dirs", "[]uuid", (3, LAST), nullable=(3, LAST), tagged=(3, LAST), tag=3),
        ), valid=(0, 3), flexible=(0, LAST), api_key=17
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id: Final = broker_id
        self.broker_epoch: Final = broker_epoch
        self.fenced: Final = fenced
        self.in_controlled_shutdown: Final = in_controlled_shutdown
        self.log_dirs: Final = log_dirs
        self.cordoned_log_dirs: Final = cordoned_log_dirs
