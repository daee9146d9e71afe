"""What `tidelog dump-log --print-data-log` shows of a record: its key and value, read in one of several ways.

Plain text is the default. The others know the records that Kafka keeps for itself: in `__consumer_offsets`, in
`__transaction_state` and in the log of cluster metadata. The lines around them are made in `batches`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from struct import Struct
from struct import error as StructError

from tidelog.cli.dump_log.json_form import JsonObject, message_to_json, render
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.coordinators.groups.records import RECORD_TYPES
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import ProtocolError, decode, decode_uvarint
from tidelog.protocol.messages import METADATA_RECORDS
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from tidelog.protocol.messages.legacy_offset_commit_value import LegacyOffsetCommitValue
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue
from tidelog.protocol.schema import Message, covers
from tidelog.records.record import Record

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")

_METADATA_FRAME_VERSION = 1

DEFAULT_DECODER_CLASS = "org.apache.kafka.tools.api.StringDecoder"

_REPLACE_LIKE_JAVA = "tidelog.replace_like_java"


def _replace_like_java(error: UnicodeError) -> tuple[str, int]:
    """Java takes an encoded surrogate (ED A0..BF 80..BF) for one malformed character, Python for three."""
    assert isinstance(error, UnicodeDecodeError)
    data, end = error.object, error.end
    if data[error.start] == 0xED and data[end : end + 1] >= b"\xa0" and _is_continuation(data, end):
        end += 2 if _is_continuation(data, end + 1) else 1
    return "\ufffd", end


def _is_continuation(data: bytes, position: int) -> bool:
    return position < len(data) and data[position] & 0xC0 == 0x80


codecs.register_error(_REPLACE_LIKE_JAVA, _replace_like_java)


class UndecodableRecord(Exception):
    """A record that the chosen decoder cannot be meant for. Says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What to print behind `key:` and `payload:`; None prints nothing."""

    key: str | None
    payload: str | None


RecordDecoder = Callable[[Record], Decoded]
ValueDecoder = Callable[[bytes], str]


def decode_text(data: bytes) -> str:
    """UTF-8. What is none of it becomes the replacement character, where Java's decoder would put one."""
    return data.decode("utf-8", _REPLACE_LIKE_JAVA)


# By the last part of the Java class names that people know from Kafka's tool. Its DefaultDecoder prints the address of
# a Java array; the bytes themselves say more.
VALUE_DECODERS: Mapping[str, ValueDecoder] = {
    "StringDecoder": decode_text,
    "IntegerDecoder": lambda data: str(_INT32.unpack(data)[0]),
    "LongDecoder": lambda data: str(_INT64.unpack(data)[0]),
    "DefaultDecoder": repr,
}


def choose_decoder(options: DumpOptions) -> RecordDecoder | None:
    """None if keys and values are not shown. Raises ValueError for a class that is not one of Kafka's own."""
    if options.offsets_decoder:
        return _decode_group_record
    if options.transaction_log_decoder:
        return _decode_transaction_record
    if options.cluster_metadata_decoder:
        return _decode_metadata_record
    if options.print_data_log or options.key_decoder_class or options.value_decoder_class:
        return _plain_decoder(
            key=_value_decoder(options.key_decoder_class or DEFAULT_DECODER_CLASS),
            value=_value_decoder(options.value_decoder_class or DEFAULT_DECODER_CLASS),
        )
    return None


def _value_decoder(class_name: str) -> ValueDecoder:
    try:
        return VALUE_DECODERS[class_name.rpartition(".")[2]]
    except KeyError:
        known = ", ".join(VALUE_DECODERS)
        raise ValueError(f"{class_name!r} is not a decoder; it must be one of {known}") from None


def _plain_decoder(key: ValueDecoder, value: ValueDecoder) -> RecordDecoder:
    def decode_record(record: Record) -> Decoded:
        try:
            return Decoded(
                key=None if record.key is None else key(record.key),
                payload=None if record.value is None else value(record.value),
            )
        except StructError as error:
            raise UndecodableRecord(f"the record at offset {record.offset} is not a number: {error}") from error

    return decode_record


def _decode_metadata_record(record: Record) -> Decoded:
    """Of `__cluster_metadata`, whose records have no keys."""
    try:
        return Decoded(key=None, payload=_decode_metadata(record.value or b""))
    except (ProtocolError, IndexError) as error:
        return Decoded(key=None, payload=f"Error at {record.offset}, skipping. {error}")


def _decode_metadata(value: bytes) -> str:
    frame_version, position = decode_uvarint(value, 0)
    if frame_version != _METADATA_FRAME_VERSION:
        raise ProtocolError(f"Could not deserialize metadata record with frame version {frame_version}.")
    record_type, position = decode_uvarint(value, position)
    version, position = decode_uvarint(value, position)
    name = METADATA_RECORDS.get(record_type)
    if name is None:
        raise ProtocolError(f"Unknown metadata id {record_type}")
    upper_name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
    kind: type[Message] = getattr(import_module(f"tidelog.protocol.messages.{upper_name.lower()}"), name)
    message, _end = decode(kind, value, version, position)
    return render({"type": upper_name, "version": version, "data": message_to_json(message, version)})


def _coordinator_decoder(kinds: Mapping[int, tuple[type[Message], type[Message]]]) -> RecordDecoder:
    def decode_record(record: Record) -> Decoded:
        if record.key is None:
            raise UndecodableRecord(
                f"Failed to decode message at offset {record.offset} using the specified decoder "
                "(message had a missing key)"
            )
        try:
            record_type: int = _INT16.unpack_from(record.key)[0]
            if record_type not in kinds:
                text = f"Unknown record type {record_type} at offset {record.offset}, skipping."
                return Decoded(key=text, payload=None)
            key_kind, value_kind = kinds[record_type]
            key, _end = decode(key_kind, record.key, 0, _INT16.size)
            key_text = render({"type": str(record_type), "data": message_to_json(key, 0)})
            payload = "<DELETE>" if record.value is None else _decode_versioned(value_kind, record.value)
        except (ProtocolError, StructError) as error:
            return Decoded(key=f"Error at offset {record.offset}, skipping. {error}", payload=None)
        return Decoded(key=key_text, payload=payload)

    return decode_record


_decode_group_record = _coordinator_decoder(
    {**RECORD_TYPES, LegacyOffsetCommitKey.SCHEMA.api_key: (LegacyOffsetCommitKey, LegacyOffsetCommitValue)}
)
_decode_transaction_record = _coordinator_decoder(
    {TransactionLogKey.SCHEMA.api_key: (TransactionLogKey, TransactionLogValue)}
)


def _decode_versioned(kind: type[Message], data: bytes) -> str:
    version: int = _INT16.unpack_from(data)[0]
    message, _end = decode(kind, data, version, _INT16.size)
    document = message_to_json(message, version)
    if isinstance(message, GroupMetadataValue) and message.protocol_type == "consumer":
        for member, member_document in zip(message.members, document["members"], strict=True):
            _replace_embedded(member_document, "subscription", ConsumerProtocolSubscription, member.subscription)
            _replace_embedded(member_document, "assignment", ConsumerProtocolAssignment, member.assignment)
    return render({"version": str(version), "data": document})


def _replace_embedded(document: JsonObject, field: str, kind: type[Message], data: bytes) -> None:
    """Consumers embed messages of their own in what they send to the group; what cannot be read stays as it is."""
    try:
        version: int = _INT16.unpack_from(data)[0]
        if covers(kind.SCHEMA.valid, version):
            document[field] = message_to_json(decode(kind, data, version, _INT16.size)[0], version)
    except (ProtocolError, StructError):
        return
