"""How `tidelog consume` prints a record: the properties and the columns of Kafka's console consumer. No I/O.

Formatters are functions from a record to bytes. Others than the default one are found by name in `FORMATTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from tidelog.cli.line_reader import unescape
from tidelog.cli.output import json_bytes, json_line
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.config.definitions import nearest_name, unknown_name_problem

Formatter = Callable[[ConsumerRecord], bytes]
FormatterFactory = Callable[[Mapping[str, str]], Formatter]

_PRINTED = ("timestamp", "partition", "offset", "epoch", "headers", "key", "value")
KNOWN_PROPERTIES = (
    *(f"print.{name}" for name in _PRINTED),
    "headers.separator",
    "key.separator",
    "line.separator",
    "null.literal",
)
# What Java's console consumer accepts, and what bytes that are printed as they are do not need.
_WITHOUT_EFFECT = ("key.deserializer", "value.deserializer", "headers.deserializer")

_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}


class InvalidFormat(Exception):
    """A formatter or a property of it does not exist."""


def default_formatter(properties: Mapping[str, str]) -> Formatter:
    """Tab-separated columns, of which only the value is printed unless asked for."""
    for name in properties:
        if name not in KNOWN_PROPERTIES and not name.startswith(_WITHOUT_EFFECT):
            raise InvalidFormat(unknown_name_problem("the formatter", name, KNOWN_PROPERTIES))

    def text(name: str, default: str) -> bytes:
        return unescape(properties.get(name, default)).encode()

    shown = [
        name
        for name in _PRINTED
        if properties.get(f"print.{name}", "true" if name == "value" else "false").strip().lower() == "true"
    ]
    separator = text("key.separator", "\t")
    line_end = text("line.separator", "\n")
    headers_separator = text("headers.separator", ",")
    null = text("null.literal", "null")

    def headers_of(record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return headers_separator.join(
            name.encode() + b":" + (null if value is None else value) for name, value in record.headers
        )

    columns: dict[str, Formatter] = {
        "timestamp": _timestamp,
        "partition": lambda record: b"Partition:%d" % record.partition,
        "offset": lambda record: b"Offset:%d" % record.offset,
        "epoch": lambda record: b"Epoch:%d" % record.leader_epoch,
        "headers": headers_of,
        "key": lambda record: null if record.key is None else record.key,
        "value": lambda record: null if record.value is None else record.value,
    }
    chosen = [columns[name] for name in shown]

    def format_record(record: ConsumerRecord) -> bytes:
        return separator.join([column(record) for column in chosen]) + line_end

    return format_record


def _timestamp(record: ConsumerRecord) -> bytes:
    if record.timestamp_ms < 0:
        return b"NO_TIMESTAMP"
    return f"{_TIMESTAMP_TYPES.get(record.timestamp_type, 'CreateTime')}:{record.timestamp_ms}".encode()


def _format_as_json(record: ConsumerRecord) -> bytes:
    """One JSON object a line, with everything that a record has."""
    return json_line(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "timestampType": _TIMESTAMP_TYPES.get(record.timestamp_type, "CreateTime"),
            "key": json_bytes(record.key),
            "value": json_bytes(record.value),
            "headers": [{"name": name, "value": json_bytes(value)} for name, value in record.headers],
        }
    )


def _of_coordinators(function: str) -> FormatterFactory:
    """Those need a good part of the protocol, which other records can be printed without."""
    return lambda properties: getattr(import_module("tidelog.cli.formatters"), function)


FORMATTERS: Mapping[str, FormatterFactory] = {
    "default": default_formatter,
    "json": lambda properties: _format_as_json,
    "transaction-log": _of_coordinators("transaction_log_text"),
    "transaction-log-json": _of_coordinators("transaction_log_json"),
    "offsets": _of_coordinators("offsets_text"),
    "offsets-json": _of_coordinators("offsets_json"),
    "group-metadata": _of_coordinators("group_metadata_json"),
    "kafka.tools.DefaultMessageFormatter": default_formatter,
    "org.apache.kafka.tools.consumer.DefaultMessageFormatter": default_formatter,
    # Kafka's own: those up to 3.9 print text, those since print JSON.
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": _of_coordinators(
        "transaction_log_text"
    ),
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": _of_coordinators("offsets_text"),
    "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter": _of_coordinators("transaction_log_json"),
    "org.apache.kafka.tools.consumer.OffsetsMessageFormatter": _of_coordinators("offsets_json"),
    "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter": _of_coordinators("group_metadata_json"),
}
# What --json means for a formatter that is not JSON by itself.
_AS_JSON = {"default": "json", "transaction-log": "transaction-log-json", "offsets": "offsets-json"}


def json_variant(name: str) -> str:
    return _AS_JSON.get(name, name)


def make_formatter(name: str, properties: Mapping[str, str]) -> Formatter:
    factory = FORMATTERS.get(name)
    if factory is None:
        close = nearest_name(name, FORMATTERS)
        meant = f"did you mean {close}?" if close else f"it must be one of {', '.join(FORMATTERS)}"
        raise InvalidFormat(f"there is no formatter {name!r}; {meant}")
    return factory(properties)
