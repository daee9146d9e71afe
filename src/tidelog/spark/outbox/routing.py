"""From a row of the outbox table to a message: Debezium's outbox event router, its options and defaults.

Names and meanings of the options are Debezium's, so that tables and configurations carry over. The value is the
payload as it is; Kafka Connect's converters and schemas have no place here.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any

ID_HEADER = "id"

FIELD_EVENT_ID = "table.field.event.id"
FIELD_EVENT_KEY = "table.field.event.key"
FIELD_EVENT_PAYLOAD = "table.field.event.payload"
FIELD_EVENT_TIMESTAMP = "table.field.event.timestamp"
ADDITIONAL_PLACEMENT = "table.fields.additional.placement"
ADDITIONAL_ERROR = "table.fields.additional.error.on.missing"
ROUTE_BY_FIELD = "route.by.field"
ROUTE_REGEX = "route.topic.regex"
ROUTE_REPLACEMENT = "route.topic.replacement"
INVALID_BEHAVIOR = "table.op.invalid.behavior"
TOMBSTONE = "route.tombstone.on.empty.payload"

DEFAULTS: Mapping[str, str] = {
    FIELD_EVENT_ID: "id",
    FIELD_EVENT_KEY: "aggregateid",
    FIELD_EVENT_PAYLOAD: "payload",
    FIELD_EVENT_TIMESTAMP: "",
    ADDITIONAL_PLACEMENT: "",
    ADDITIONAL_ERROR: "true",
    ROUTE_BY_FIELD: "aggregatetype",
    ROUTE_REGEX: "(?<routedByValue>.*)",
    ROUTE_REPLACEMENT: "outbox.event.${routedByValue}",
    TOMBSTONE: "false",
}

# Debezium has these for Kafka Connect's schemas and for tracing. What is done about updates is no matter of routing.
WITHOUT_EFFECT = frozenset(
    {
        "table.expand.json.payload",
        "table.json.payload.null.behavior",
        "table.field.event.schema.version",
        INVALID_BEHAVIOR,
        "tracing.span.context.field",
        "tracing.operation.name",
        "tracing.with.context.field.only",
    }
)


class InvalidRoute(ValueError):
    """An option, or a row, cannot be made into a message; the message says which and what to do."""


class Placement(Enum):
    HEADER = "header"
    ENVELOPE = "envelope"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionalField:
    """A further column of the table and where it goes: into a header, into the value, or as the partition."""

    column: str
    placement: Placement
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    event_id: str
    event_key: str
    payload: str
    timestamp: str | None
    route_by: str
    regex: re.Pattern[str]
    replacement: str
    additional: tuple[AdditionalField, ...] = ()
    error_on_missing: bool = True
    tombstone_on_empty: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have to be read, each once."""
        timestamp = () if self.timestamp is None else (self.timestamp,)
        additional = (field.column for field in self.additional)
        wanted = (self.event_id, self.event_key, self.payload, self.route_by, *timestamp, *additional)
        return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxMessage:
    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int | None = None
    timestamp: datetime.datetime | None = None


def parse_routing(options: Mapping[str, str]) -> Routing:
    """From Debezium's options. Raises InvalidRoute for names that Debezium does not know either."""
    for name in options:
        if name not in DEFAULTS and name not in WITHOUT_EFFECT:
            close = get_close_matches(name, [*DEFAULTS, *WITHOUT_EFFECT], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InvalidRoute(f"{name} is not an option of the outbox event router{hint}")
    values = {**DEFAULTS, **options}
    replacement = values[ROUTE_REPLACEMENT]
    regex = _compiled(values[ROUTE_REGEX])
    for group in re.findall(r"\$\{(\w+)\}", replacement):
        if group not in regex.groupindex:
            raise InvalidRoute(
                f"{ROUTE_REPLACEMENT}={replacement} refers to the group {group}, which {ROUTE_REGEX}="
                f"{values[ROUTE_REGEX]} does not have"
            )
    return Routing(
        event_id=values[FIELD_EVENT_ID],
        event_key=values[FIELD_EVENT_KEY],
        payload=values[FIELD_EVENT_PAYLOAD],
        timestamp=values[FIELD_EVENT_TIMESTAMP] or None,
        route_by=values[ROUTE_BY_FIELD],
        regex=regex,
        replacement=replacement,
        additional=_parse_placements(values[ADDITIONAL_PLACEMENT]),
        error_on_missing=_boolean(ADDITIONAL_ERROR, values[ADDITIONAL_ERROR]),
        tombstone_on_empty=_boolean(TOMBSTONE, values[TOMBSTONE]),
    )


def route(routing: Routing, row: Mapping[str, Any]) -> OutboxMessage | None:
    """The message for a row; None for a row without payload, unless those are tombstones."""
    event_id = row[routing.event_id]
    if event_id is None:
        raise InvalidRoute(f"a row of the outbox has no event id in column {routing.event_id}")
    payload = row[routing.payload]
    if payload is None and not routing.tombstone_on_empty:
        return None
    headers: list[tuple[str, bytes | None]] = [(ID_HEADER, _as_bytes(event_id))]
    envelope: dict[str, Any] = {}
    partition: int | None = None
    for field in routing.additional:
        if field.column not in row:
            if routing.error_on_missing:
                raise InvalidRoute(f"the outbox has no column {field.column}, which {ADDITIONAL_PLACEMENT} names")
            continue
        value = row[field.column]
        match field.placement:
            case Placement.HEADER:
                headers.append((field.alias, _as_bytes(value)))
            case Placement.ENVELOPE:
                envelope[field.alias] = value
            case Placement.PARTITION:
                partition = None if value is None else _as_partition(field.column, value)
    return OutboxMessage(
        topic=_topic(routing, row, event_id),
        key=_as_bytes(row[routing.event_key]),
        value=_value(payload, envelope),
        headers=tuple(headers),
        partition=partition,
        timestamp=None if routing.timestamp is None else _as_moment(routing.timestamp, row[routing.timestamp]),
    )


def topic_of(routing: Routing, routed_by: Any) -> str:
    """Where events with this value in `route.by.field` go."""
    text = str(routed_by)
    found = routing.regex.fullmatch(text)
    if found is None:
        # As Kafka Connect's router has it: what the expression does not fit stays as it is.
        return text

    def group(reference: re.Match[str]) -> str:
        return found[reference[1] or int(reference[2])] or ""

    return re.sub(r"\$\{(\w+)\}|\$(\d+)", group, routing.replacement)


def _topic(routing: Routing, row: Mapping[str, Any], event_id: Any) -> str:
    routed_by = row[routing.route_by]
    if routed_by is None or routed_by == "":
        raise InvalidRoute(f"event {event_id} has nothing in column {routing.route_by}, which gives its topic")
    return topic_of(routing, routed_by)


def _value(payload: Any, envelope: Mapping[str, Any]) -> bytes | None:
    if not envelope:
        return _as_bytes(payload)
    if payload is None:
        return None
    if isinstance(payload, bytes | memoryview):
        raise InvalidRoute("a binary payload cannot share an envelope with other fields; place them in headers")
    return json.dumps({"payload": payload, **envelope}, default=str, ensure_ascii=False).encode()


def _as_bytes(value: Any) -> bytes | None:
    """As text, except for bytes. What the database gives as objects (JSON columns) is written as JSON."""
    if value is None:
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False).encode()
    return str(value).encode()


def _as_partition(column: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise InvalidRoute(f"column {column} holds {value!r}, which is not the number of a partition")
    return number


def _as_moment(column: str, value: Any) -> datetime.datetime | None:
    """A timestamp of the database, text in ISO format, or milliseconds since 1970."""
    if value is None:
        return None
    if isinstance(value, int):
        return datetime.datetime.fromtimestamp(value / 1000, tz=datetime.UTC)
    try:
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidRoute(f"column {column} holds {value!r}, which is not a time") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _compiled(expression: str) -> re.Pattern[str]:
    """Java writes named groups as `(?<name>...)`, Python as `(?P<name>...)`."""
    try:
        return re.compile(re.sub(r"\(\?<(?=\w)", "(?P<", expression))
    except re.error as error:
        raise InvalidRoute(f"{ROUTE_REGEX}={expression} is not a regular expression: {error}") from error


def _parse_placements(text: str) -> tuple[AdditionalField, ...]:
    fields = []
    for part in text.split(","):
        if not part.strip():
            continue
        pieces = [piece.strip() for piece in part.split(":")]
        known = {placement.value for placement in Placement}
        if len(pieces) not in (2, 3) or pieces[1] not in known or not all(pieces):
            raise InvalidRoute(
                f"{ADDITIONAL_PLACEMENT}: {part.strip()!r} is not column:placement or column:placement:alias with one "
                "of the placements header, envelope, partition"
            )
        alias = pieces[2] if len(pieces) == 3 else pieces[0]
        fields.append(AdditionalField(column=pieces[0], placement=Placement(pieces[1]), alias=alias))
    return tuple(fields)


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidRoute(f"{name}={text} must be true or false")
    return text.lower() == "true"
