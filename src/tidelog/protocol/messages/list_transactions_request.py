# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ListTransactionsRequest(Message):
    __slots__ = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",
        "transactional_id_pattern",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("state_filters", "[]string", (0, LAST)),
            Field("producer_id_filters", "[]int64", (0, LAST)),
            Field("duration_filter", "int64", (1, LAST)),
            Field("transactional_id_pattern", "string", (2, LAST), nullable=(2, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=66
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        state_filters: Sequence[str] = (),
        producer_id_filters: Sequence[int] = (),
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters: Final = state_filters
        self.producer_id_filters: Final = producer_id_filters
        self.duration_filter: Final = duration_filter
        self.transactional_id_pattern: Final = transactional_id_pattern
