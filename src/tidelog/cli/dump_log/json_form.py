"""Kafka's messages as the JSON that Kafka's tools print: its names, its order, only the fields of the version."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from tidelog.model.ids import format_uuid
from tidelog.protocol.schema import Message, covers

JsonObject = dict[str, Any]


def message_to_json(message: Message, version: int) -> JsonObject:
    """Tagged fields that have their default value are left out, as they are on the wire."""
    defaults = type(message)()
    fields: JsonObject = {}
    for field in message.SCHEMA.fields:
        if not covers(field.versions, version):
            continue
        value = getattr(message, field.name)
        if covers(field.tagged, version) and value == getattr(defaults, field.name):
            continue
        fields[_camel_case(field.name)] = _value_to_json(field.kind, value, version)
    return fields


def render(document: JsonObject) -> str:
    """One line, without spaces, other scripts than Latin as they are."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _value_to_json(kind: str, value: Any, version: int) -> Any:
    if value is None:
        return None
    if kind.startswith("[]"):
        return [_value_to_json(kind[2:], element, version) for element in value]
    match kind:
        case "uuid":
            return format_uuid(value)
        case "bytes" | "records":
            return base64.b64encode(value).decode()
    if isinstance(value, Message):
        return message_to_json(value, version)
    return value


def _camel_case(name: str) -> str:
    return re.sub("_(.)", lambda match: match[1].upper(), name)
