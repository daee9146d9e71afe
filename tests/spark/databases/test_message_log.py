from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from support.database_rows import query

from tidelog.spark.databases.message_log import MessageLog
from tidelog.spark.databases.options import parse_url

Connect = Callable[[], Any]


@pytest.fixture
def connect(database_url: str) -> Iterator[Connect]:
    """Gives connections to one database, with a table for the effects of events."""
    opened: list[Any] = []

    def open_one() -> Any:
        where = parse_url(database_url).location
        if database_url.startswith("sqlite"):
            opened.append(sqlite3.connect(where, timeout=60, check_same_thread=False))
        else:
            opened.append(psycopg.connect(where))
        return opened[-1]

    query(database_url, "CREATE TABLE effects (event TEXT)")
    with closing(open_one()) as connection:
        MessageLog(connection, consumer="setup").create_table()
        connection.commit()
    yield open_one
    for connection in opened:
        connection.close()


def handle(connection: Any, event: str, *, consumer: str = "shipping", commits: bool = True) -> bool:
    is_new = MessageLog(connection, consumer=consumer).is_new(event)
    if is_new:
        connection.execute(f"INSERT INTO effects VALUES ('{event}')")
    if commits:
        connection.commit()
    else:
        connection.rollback()
    return is_new


def test_an_event_has_its_effect_once(connect: Connect, database_url: str) -> None:
    connection = connect()
    assert [handle(connection, event) for event in ("a", "b", "a", "b", "c")] == [True, True, False, False, True]
    assert query(database_url, "SELECT event FROM effects ORDER BY event") == [("a",), ("b",), ("c",)]


def test_an_effect_that_was_rolled_back_is_tried_again(connect: Connect, database_url: str) -> None:
    connection = connect()
    assert handle(connection, "a", commits=False)
    assert handle(connection, "a")
    assert query(database_url, "SELECT event FROM effects") == [("a",)]


def test_every_consumer_has_a_log_of_its_own(connect: Connect) -> None:
    connection = connect()
    assert handle(connection, "a", consumer="shipping")
    assert handle(connection, "a", consumer="billing")


def test_two_consumers_at_once_have_one_effect(connect: Connect, database_url: str) -> None:
    events = [str(number) for number in range(40)]

    def consume() -> None:
        connection = connect()
        for event in events:
            handle(connection, event)

    threads = [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(row[0] for row in query(database_url, "SELECT event FROM effects")) == sorted(events)


def test_old_entries_can_be_forgotten(connect: Connect) -> None:
    connection = connect()
    handle(connection, "a")
    log = MessageLog(connection, consumer="shipping")
    assert log.forget_before("2000-01-01") == 0
    assert log.forget_before("2999-01-01") == 1
    assert log.is_new("a")
