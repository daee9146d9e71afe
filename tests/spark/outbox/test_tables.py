from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from support.database_rows import query

from tidelog.spark.databases.options import parse_url
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.tables import Offset, OutboxSettings, OutboxTable, open_outbox

COLUMNS = ("id", "aggregateid", "payload", "aggregatetype")
INSERT = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES ('{}', '{}', '{}', 'made', '{}')"


def outbox(url: str, *, deletes: bool = False) -> OutboxTable:
    return open_outbox(
        OutboxSettings(
            url=parse_url(url), table="outbox", columns=COLUMNS, route_by="aggregatetype", delete_relayed=deletes
        )
    )


def insert(number: int, kind: str = "order") -> str:
    return INSERT.format(uuid.uuid4(), kind, number, f'{{"n": {number}}}')


def batches(table: OutboxTable, start: Offset, limit: int | None = None) -> Iterator[list[str]]:
    while (end := table.latest(start, limit, None)) != start:
        yield [row["aggregateid"] for row in table.rows(start, end)]
        start = end


def test_rows_come_in_order_within_limits(database_url: str) -> None:
    table = outbox(database_url)
    table.create()
    table.check()
    start = table.initial()
    assert table.latest(start, None, None) == start
    for number in range(5):
        query(database_url, insert(number, "a" if number % 2 else "b"))
    assert list(batches(table, start)) == [["0", "1", "2", "3", "4"]]
    assert list(batches(table, start, 2)) == [["0", "1"], ["2", "3"], ["4"]]
    assert list(batches(table, start, 5)) == [["0", "1", "2", "3", "4"]]
    end = table.latest(start, None, None)
    assert sorted(table.routes(start, end)) == ["a", "b"]
    assert table.latest(end, None, None) == end


def test_what_comes_after_the_target_is_left_for_the_next_run(database_url: str) -> None:
    table = outbox(database_url)
    table.create()
    query(database_url, insert(1))
    target = table.target()
    query(database_url, insert(2))
    end = table.latest(table.initial(), None, target)
    assert [row["aggregateid"] for row in table.rows(table.initial(), end)] == ["1"]
    assert table.latest(end, None, target) == end
    assert list(batches(table, end)) == [["2"]]


def test_relayed_rows_can_be_deleted(database_url: str) -> None:
    table = outbox(database_url)
    table.create()
    query(database_url, insert(1))
    end = table.latest(table.initial(), None, None)
    query(database_url, insert(2))
    table.relayed(end)
    assert len(query(database_url, "SELECT id FROM outbox")) == 2
    outbox(database_url, deletes=True).relayed(end)
    assert query(database_url, "SELECT aggregateid FROM outbox") == [("2",)]
    assert list(batches(table, end)) == [["2"]]


def test_a_transaction_that_commits_late_loses_no_row(postgresql_url: str) -> None:
    table = outbox(postgresql_url)
    table.create()
    start = table.initial()
    with psycopg.connect(postgresql_url) as late:
        late.execute(insert(1))
        query(postgresql_url, insert(2))
        # Number 2 is visible, but 1 has the lower sequence number and may still come.
        assert table.latest(start, None, None) == start
    assert list(batches(table, start)) == [["1", "2"]]


def test_a_transaction_that_rolls_back_leaves_nothing_and_holds_up_nothing(database_url: str) -> None:
    """The outbox row and the business row commit or roll back together."""
    table = outbox(database_url)
    table.create()
    query(database_url, "CREATE TABLE orders (number INTEGER)")
    for number, commits in ((1, True), (2, False), (3, True)):
        in_one_transaction(database_url, [f"INSERT INTO orders VALUES ({number})", insert(number)], commits=commits)
    assert [events for batch in batches(table, table.initial()) for events in batch] == ["1", "3"]
    assert query(database_url, "SELECT number FROM orders ORDER BY number") == [(1,), (3,)]


def test_many_writers_at_once_lose_nothing_while_the_table_is_read(database_url: str) -> None:
    table = outbox(database_url)
    table.create()
    writers, each = 4, 25

    def write(writer: int) -> None:
        for number in range(each):
            in_one_transaction(database_url, [insert(writer * 1000 + number)], commits=number % 5 != 4)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    start = table.initial()
    while True:
        ended = not any(thread.is_alive() for thread in threads)
        end = table.latest(start, 7, None)
        seen += [int(row["aggregateid"]) for row in table.rows(start, end)]
        if end == start and ended:
            break
        start = end
    expected = [writer * 1000 + number for writer in range(writers) for number in range(each) if number % 5 != 4]
    assert sorted(seen) == expected
    for writer in range(writers):
        own = [number for number in seen if number // 1000 == writer]
        assert own == sorted(own)


def test_payloads_are_passed_on_as_they_are(postgresql_url: str) -> None:
    table = outbox(postgresql_url)
    table.create()
    query(postgresql_url, INSERT.format(uuid.uuid4(), "k", "1", '{"b": 1.10, "a": "é"}'))
    end = table.latest(table.initial(), None, None)
    assert [row["payload"] for row in table.rows(table.initial(), end)] == ['{"a": "é", "b": 1.10}']


def test_a_table_of_debezium_is_told_what_to_add(postgresql_url: str) -> None:
    table = outbox(postgresql_url)
    with pytest.raises(DatabaseProblem, match="--create-table"):
        table.check()
    query(
        postgresql_url,
        "CREATE TABLE outbox (id uuid NOT NULL, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,"
        " type varchar(255) NOT NULL, payload jsonb)",
    )
    query(postgresql_url, insert(1))
    for _ in range(2):
        with pytest.raises(DatabaseProblem, match="ALTER TABLE") as problem:
            table.check()
        query(postgresql_url, f"ALTER TABLE{str(problem.value).split('ALTER TABLE')[1]}")
    table.check()
    query(postgresql_url, insert(2))
    assert list(batches(table, table.initial())) == [["1", "2"]]


def test_sqlite_tables_without_autoincrement_are_refused(sqlite_url: str) -> None:
    query(
        sqlite_url, "CREATE TABLE outbox (sequence INTEGER PRIMARY KEY, id, aggregatetype, aggregateid, type, payload)"
    )
    with pytest.raises(DatabaseProblem, match="AUTOINCREMENT"):
        outbox(sqlite_url).check()
    query(sqlite_url, "DROP TABLE outbox")
    with pytest.raises(DatabaseProblem, match="--create-table"):
        outbox(sqlite_url).check()


def in_one_transaction(url: str, statements: list[str], *, commits: bool) -> None:
    where = parse_url(url).location
    connection: Any
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(where, timeout=60)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            _execute(connection, statements, commits=commits)
    else:
        with psycopg.connect(where) as connection:
            _execute(connection, statements, commits=commits)


def _execute(connection: Any, statements: list[str], *, commits: bool) -> None:
    for statement in statements:
        connection.execute(statement)
    if commits:
        connection.commit()
    else:
        connection.rollback()
