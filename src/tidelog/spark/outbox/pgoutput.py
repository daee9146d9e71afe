"""Messages of PostgreSQL's logical replication (the plugin pgoutput, version 1 of its protocol), from bytes to values.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html. Values of columns stay as the text
that the server wrote; who knows the types of the database reads them. A message that is cut off, or has more bytes
than it should, raises MalformedMessage: nothing is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from struct import Struct
from struct import error as StructError

PROTOCOL_VERSION = 1

_BYTE = Struct(">B")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_OID = Struct(">I")
# Where the commit record begins, when, and the transaction's id.
_BEGIN = Struct(">QqI")
# Flags, where the commit record begins and ends, and when.
_COMMIT = Struct(">BQQq")
_COLUMN_TYPE = Struct(">Ii")
_INSERT = Struct(">Ic")

_TEXT, _NULL, _UNCHANGED = b"tnu"


class MalformedMessage(Exception):
    """Bytes that are not a message of pgoutput."""


class Missing(Enum):
    """A value that the log does not hold: a large one that an update has not changed."""

    UNCHANGED = "unchanged"


Field = bytes | Missing | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """`final_lsn` is where the commit record of the transaction begins."""

    final_lsn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """`end_lsn` is where the commit record ends."""

    end_lsn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationColumn:
    name: str
    type_oid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What the following changes of a table look like. Comes again whenever the table has changed."""

    oid: int
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    relation: int
    values: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    relation: int


Message = Begin | Commit | Relation | Insert | Update


def parse_message(data: bytes) -> Message | None:
    """None for deletes, truncations, types, origins and messages of applications: an outbox needs nothing of them."""
    if data[:1] == b"I":
        return _insert(data)
    reader = _MessageReader(data)
    kind = reader.letter()
    message = _parse(kind, reader)
    if reader.remaining:
        raise MalformedMessage(f"a message {kind!r} of {len(data)} bytes is longer than it should be")
    return message


def _parse(kind: str, reader: _MessageReader) -> Message | None:
    match kind:
        case "B":
            final_lsn, _, _ = reader.numbers(_BEGIN)
            return Begin(final_lsn=final_lsn)
        case "C":
            _, _, end_lsn, _ = reader.numbers(_COMMIT)
            return Commit(end_lsn=end_lsn)
        case "R":
            return _relation(reader)
        case "U":
            return _update(reader)
        case "D":
            reader.numbers(_OID)
            reader.expect("KO")
            reader.row()
        case "T":
            count = reader.count(_INT32, _OID.size)
            reader.take(_BYTE.size + count * _OID.size)
        case "Y" | "O" | "M":
            reader.take(reader.remaining)
        case _:
            raise MalformedMessage(f"{kind!r} is not a message type in version {PROTOCOL_VERSION} of pgoutput")
    return None


def _relation(reader: _MessageReader) -> Relation:
    (oid,) = reader.numbers(_OID)
    # The names of the schema and the table, and how its rows are identified.
    reader.text()
    reader.text()
    reader.take(_BYTE.size)
    columns = []
    for _ in range(reader.count(_INT16, 1)):
        reader.take(_BYTE.size)
        name = reader.text()
        type_oid, _ = reader.numbers(_COLUMN_TYPE)
        columns.append(RelationColumn(name=name, type_oid=type_oid))
    return Relation(oid=oid, columns=tuple(columns))


def _update(reader: _MessageReader) -> Update:
    (relation,) = reader.numbers(_OID)
    if reader.expect("KON") != "N":
        # The key or the whole row as it was before.
        reader.row()
        reader.expect("N")
    reader.row()
    return Update(relation=relation)


class _MessageReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def remaining(self) -> int:
        return len(self._data) - self._at

    def take(self, length: int) -> bytes:
        if not 0 <= length <= self.remaining:
            raise MalformedMessage(f"a message ends after {len(self._data)} bytes, in the middle of something")
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def numbers(self, format_: Struct) -> tuple[int, ...]:
        return format_.unpack(self.take(format_.size))

    def count(self, format_: Struct, least_each: int) -> int:
        """A count is believed only if there are bytes for as many."""
        (value,) = self.numbers(format_)
        if value < 0 or value * least_each > self.remaining:
            raise MalformedMessage(f"a message of {len(self._data)} bytes cannot hold {value} parts")
        return value

    def letter(self) -> str:
        return self.take(1).decode("latin-1")

    def expect(self, letters: str) -> str:
        found = self.letter()
        if found not in letters:
            raise MalformedMessage(f"{found!r} where one of {letters!r} should be")
        return found

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise MalformedMessage("a name without an end")
        try:
            return self.take(end - self._at + 1)[:-1].decode()
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"a name that is not text: {error}") from error

    def row(self) -> tuple[Field, ...]:
        fields, self._at = _row(self._data, self._at)
        return fields


def _insert(data: bytes) -> Insert:
    """As the other messages, without a reader: nearly every message is one of these."""
    try:
        relation, kind = _INSERT.unpack_from(data, 1)
    except StructError as error:
        raise MalformedMessage(f"an insert of {len(data)} bytes is cut off") from error
    if kind != b"N":
        raise MalformedMessage(f"{kind!r} where a new row should be")
    fields, end = _row(data, 1 + _INSERT.size)
    if end != len(data):
        raise MalformedMessage(f"an insert of {len(data)} bytes is longer than it should be")
    return Insert(relation=relation, values=fields)


def _row(data: bytes, at: int) -> tuple[tuple[Field, ...], int]:
    """The values of a row, and where it ends: one loop without calls, because every event passes through it twice."""
    fields: list[Field] = []
    length_at, size = _INT32.unpack_from, len(data)
    try:
        remaining = _INT16.unpack_from(data, at)[0]
        at += 2
        while remaining > 0:
            kind = data[at]
            at += 1
            if kind == _TEXT:
                begin = at + 4
                at = begin + length_at(data, at)[0]
                if not begin <= at <= size:
                    raise MalformedMessage(f"a value in a message of {size} bytes ends behind it")
                fields.append(data[begin:at])
            elif kind == _NULL:
                fields.append(None)
            elif kind == _UNCHANGED:
                fields.append(Missing.UNCHANGED)
            else:
                raise MalformedMessage(f"{chr(kind)!r} is not a type of value")
            remaining -= 1
    except (IndexError, StructError) as error:
        raise MalformedMessage(f"a message ends after {size} bytes, in the middle of a row") from error
    if remaining:
        raise MalformedMessage("a row with fewer than no values")
    return tuple(fields), at
