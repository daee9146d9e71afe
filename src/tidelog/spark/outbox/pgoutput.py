"""Messages of PostgreSQL's logical replication (the plugin pgoutput, version 1 of its protocol), from bytes to values.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html. Values of columns stay as the text
that the server wrote; who knows the types of the database reads them. A message that is cut off, or has more bytes
than it should, raises MalformedMessage: nothing is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from struct import Struct

PROTOCOL_VERSION = 1

_BYTE = Struct(">B")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_OID = Struct(">I")
_LSN = Struct(">Q")
_MOMENT = Struct(">q")


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
    transaction: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """`end_lsn` is where the commit record ends."""

    commit_lsn: int
    end_lsn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type_oid: int
    is_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What the following changes of a table look like. Comes again whenever the table has changed."""

    oid: int
    schema: str
    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    relation: int
    values: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    relation: int
    values: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    relation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate:
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Types, origins and messages of applications: nothing that an outbox needs to know more of."""

    kind: str


Message = Begin | Commit | Relation | Insert | Update | Delete | Truncate | Aside


def parse_message(data: bytes) -> Message:
    reader = _Reader(data)
    kind = reader.letter()
    message = _parse(kind, reader)
    if not reader.at_end:
        raise MalformedMessage(f"a message {kind!r} of {len(data)} bytes is longer than it should be")
    return message


def _parse(kind: str, reader: _Reader) -> Message:
    match kind:
        case "B":
            final = reader.number(_LSN)
            reader.number(_MOMENT)
            return Begin(final_lsn=final, transaction=reader.number(_OID))
        case "C":
            reader.number(_BYTE)
            commit, end = reader.number(_LSN), reader.number(_LSN)
            reader.number(_MOMENT)
            return Commit(commit_lsn=commit, end_lsn=end)
        case "R":
            return _relation(reader)
        case "I":
            relation = reader.number(_OID)
            reader.expect("N")
            return Insert(relation=relation, values=reader.row())
        case "U":
            return _update(reader)
        case "D":
            relation = reader.number(_OID)
            reader.expect("KO")
            reader.row()
            return Delete(relation=relation)
        case "T":
            count = reader.count(_INT32, _OID.size)
            reader.number(_BYTE)
            return Truncate(relations=tuple(reader.number(_OID) for _ in range(count)))
        case "Y" | "O" | "M":
            reader.skip_rest()
            return Aside(kind=kind)
        case _:
            raise MalformedMessage(f"{kind!r} is no kind of message in version {PROTOCOL_VERSION} of pgoutput")


def _relation(reader: _Reader) -> Relation:
    oid = reader.number(_OID)
    schema, name = reader.text(), reader.text()
    reader.number(_BYTE)
    columns = []
    for _ in range(reader.count(_INT16, 1)):
        is_key = bool(reader.number(_BYTE) & 1)
        column = reader.text()
        columns.append(Column(name=column, type_oid=reader.number(_OID), is_key=is_key))
        reader.number(_INT32)
    # An empty schema stands for pg_catalog.
    return Relation(oid=oid, schema=schema or "pg_catalog", name=name, columns=tuple(columns))


def _update(reader: _Reader) -> Update:
    relation = reader.number(_OID)
    if reader.expect("KON") != "N":
        # The key or the whole row as it was before.
        reader.row()
        reader.expect("N")
    return Update(relation=relation, values=reader.row())


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, length: int) -> bytes:
        if length < 0 or self._at + length > len(self._data):
            raise MalformedMessage(f"a message ends after {len(self._data)} bytes, in the middle of something")
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def number(self, format_: Struct) -> int:
        value: int = format_.unpack(self.take(format_.size))[0]
        return value

    def count(self, format_: Struct, least_each: int) -> int:
        """A count is believed only if there are bytes for as many."""
        value = self.number(format_)
        if value < 0 or value * least_each > len(self._data) - self._at:
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
        return tuple(self._field() for _ in range(self.count(_INT16, 1)))

    def skip_rest(self) -> None:
        self._at = len(self._data)

    def _field(self) -> Field:
        match self.expect("nut"):
            case "n":
                return None
            case "u":
                return Missing.UNCHANGED
            case _:
                return self.take(self.number(_INT32))
