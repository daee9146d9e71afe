"""Messages of pgoutput: what they mean, and that nothing is guessed where bytes are missing or too many."""

from __future__ import annotations

import contextlib
import logging
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.outbox.log_changes import ChangeReader, InvalidChange, OnUpdate, OutboxEvent
from tidelog.spark.outbox.pgoutput import (
    Begin,
    Commit,
    Insert,
    MalformedMessage,
    Relation,
    RelationColumn,
    Update,
    parse_message,
)

TABLE = 16_384
BEGIN = b"B" + struct.pack(">QqI", 0x1_0000_00F8, 7, 731)
COMMIT = b"C" + struct.pack(">BQQq", 0, 0x1_0000_00F8, 0x1_0000_0128, 7)
RELATION = (
    b"R"
    + struct.pack(">I", TABLE)
    + b"public\0outbox\0d"
    + struct.pack(">h", 2)
    + b"\x01id\0"
    + struct.pack(">Ii", 2950, -1)
    + b"\x00payload\0"
    + struct.pack(">Ii", 3802, -1)
)


def field(text: bytes | None) -> bytes:
    return b"n" if text is None else b"t" + struct.pack(">i", len(text)) + text


def row(*fields: bytes) -> bytes:
    return struct.pack(">h", len(fields)) + b"".join(fields)


INSERT = b"I" + struct.pack(">I", TABLE) + b"N" + row(field(b"1"), field(None))
UPDATE = b"U" + struct.pack(">I", TABLE) + b"K" + row(field(b"1")) + b"N" + row(field(b"1"), b"u")
DELETE = b"D" + struct.pack(">I", TABLE) + b"O" + row(field(b"1"), field(b"{}"))
TRUNCATE = b"T" + struct.pack(">iBII", 2, 0, TABLE, TABLE + 1)
ALL = [BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BEGIN, Begin(final_lsn=0x1_0000_00F8)),
        (COMMIT, Commit(end_lsn=0x1_0000_0128)),
        (
            RELATION,
            Relation(
                oid=TABLE,
                columns=(RelationColumn(name="id", type_oid=2950), RelationColumn(name="payload", type_oid=3802)),
            ),
        ),
        (INSERT, Insert(relation=TABLE, values=(b"1", None))),
        (UPDATE, Update(relation=TABLE)),
        (DELETE, None),
        (TRUNCATE, None),
        (b"O" + struct.pack(">Q", 1) + b"elsewhere\0", None),
        (b"Y" + struct.pack(">I", 9) + b"public\0mood\0", None),
        (b"M\x01" + struct.pack(">Q", 1) + b"prefix\0" + struct.pack(">i", 2) + b"hi", None),
    ],
)
def test_messages_are_read(data: bytes, message: object) -> None:
    assert parse_message(data) == message


@pytest.mark.parametrize("data", ALL)
def test_messages_that_are_cut_off_or_too_long_are_refused(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(MalformedMessage):
            parse_message(data[:length])
    with pytest.raises(MalformedMessage, match="longer"):
        parse_message(data + b"\0")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedMessage):
        parse_message(data)


def test_only_inserts_into_the_table_are_events() -> None:
    other = b"I" + struct.pack(">I", TABLE + 1) + b"N" + row(field(b"1"))
    reader = ChangeReader(TABLE, "outbox", OnUpdate.WARN)
    found = list(reader.read([BEGIN, RELATION, INSERT, other, DELETE, TRUNCATE, COMMIT]))
    assert [type(one) for one in found] == [Begin, OutboxEvent, Commit]
    event = found[1]
    assert isinstance(event, OutboxEvent)
    assert event.values == (b"1", None)


def test_a_row_whose_columns_are_not_described_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="description"):
        list(ChangeReader(TABLE, "outbox", OnUpdate.WARN).read([BEGIN, INSERT]))


@pytest.mark.parametrize(("behavior", "level"), [(OnUpdate.WARN, logging.WARNING), (OnUpdate.ERROR, logging.ERROR)])
def test_updates_are_told_once_and_passed_over(
    behavior: OnUpdate, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    reader = ChangeReader(TABLE, "outbox", behavior)
    begin, commit = reader.read([BEGIN, RELATION, UPDATE, UPDATE, COMMIT])
    assert isinstance(begin, Begin)
    assert isinstance(commit, Commit)
    assert [record.levelno for record in caplog.records] == [level]


def test_updates_stop_the_relay_where_that_is_wanted() -> None:
    with pytest.raises(InvalidChange, match=r"table\.op\.invalid\.behavior=fatal"):
        list(ChangeReader(TABLE, "outbox", OnUpdate.FATAL).read([BEGIN, RELATION, UPDATE]))
