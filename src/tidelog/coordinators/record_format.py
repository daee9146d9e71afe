"""How the records of a coordinator's topic are written: a key begins with the number of its type, a value with the
number of its version; both are big-endian int16."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct

from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.protocol.codec import Buffer, ProtocolError, decode_whole, encode
from tidelog.protocol.schema import Message

_PREFIX = Struct(">h")
_KEY_VERSION = 0

# Key and value as they are written; without a value it is a tombstone.
EncodedRecord = tuple[bytes, bytes | None]


class UnknownRecordType(ProtocolError):
    """A record that a newer version, or a part of Kafka that is not built here, has written."""


class RecordFormat:
    """Of one topic. `types` has the classes of key and value for each type; `version_of` is that of a value."""

    def __init__(
        self, topic: str, types: Mapping[int, tuple[type[Message], type[Message]]], version_of: Callable[[Message], int]
    ) -> None:
        self.topic = topic
        self._types = types
        self._version_of = version_of

    def encode(self, record: CoordinatorRecord) -> EncodedRecord:
        """Key and value as they are in the log."""
        key = _PREFIX.pack(record.key.SCHEMA.api_key) + encode(record.key, _KEY_VERSION)
        if record.value is None:
            return key, None
        version = self._version_of(record.value)
        return key, _PREFIX.pack(version) + encode(record.value, version)

    def decode(self, key: Buffer, value: Buffer | None) -> CoordinatorRecord:
        """Raises UnknownRecordType, and ProtocolError for what cannot be read."""
        record_type = self._prefix(key, "key")
        kinds = self._types.get(record_type)
        if kinds is None:
            raise UnknownRecordType(f"record type {record_type} of {self.topic} is not known")
        key_kind, value_kind = kinds
        decoded_key = decode_whole(key_kind, memoryview(key)[2:], _KEY_VERSION)
        if value is None:
            return CoordinatorRecord(decoded_key, None)
        version = self._prefix(value, "value")
        return CoordinatorRecord(decoded_key, decode_whole(value_kind, memoryview(value)[2:], version))

    def _prefix(self, data: Buffer, part: str) -> int:
        if len(data) < _PREFIX.size:
            raise ProtocolError(f"the {part} of a record of {self.topic} has only {len(data)} bytes")
        (number,) = _PREFIX.unpack_from(data)
        return int(number)
