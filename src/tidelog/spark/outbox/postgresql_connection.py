"""Connections of the outbox to PostgreSQL, and patience with a server that restarts.

A restart or a fail-over takes seconds. Everything that a reader does may be done twice, so it is simply done again,
within a bound; then the query ends with an error, and the next start goes on exactly once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tidelog.spark.databases.store import DatabaseProblem

CONNECT_TIMEOUT_SECONDS = 10
PATIENCE_SECONDS = 20.0
PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 2.0

# Connection exceptions, and a server that shuts down, has crashed, or is starting.
_AWAY = ("08", "57P01", "57P02", "57P03")

T = TypeVar("T")


class DatabaseAway(DatabaseProblem):
    """The server cannot answer now; nothing is wrong with what was asked of it. Others learn of it in words only."""


def connect(url: str) -> Any:
    """A connection whose transactions see what is committed, whatever the defaults of the role are."""
    import psycopg

    try:
        connection = psycopg.connect(
            url, application_name="tidelog outbox", connect_timeout=CONNECT_TIMEOUT_SECONDS, prepare_threshold=None
        )
    except psycopg.OperationalError as error:
        raise DatabaseAway(f"cannot connect to PostgreSQL: {one_line(error)}") from error
    with away_errors():
        _refuse_standby(connection)
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.read_only = False
    return connection


def patiently(url: str, action: Callable[[Any], T]) -> T:
    """Do something in one transaction, again if the server went away; raises DatabaseProblem when it stays away."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = PAUSE_SECONDS
    while True:
        try:
            with away_errors(), connect(url) as connection:
                return action(connection)
        except DatabaseAway as error:
            away = error
        if time.monotonic() + pause >= deadline:
            raise DatabaseProblem(str(away)) from away
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


@contextmanager
def once(url: str) -> Iterator[Any]:
    """One transaction, without patience."""
    try:
        with away_errors(), connect(url) as connection:
            yield connection
    except DatabaseAway as error:
        raise DatabaseProblem(str(error)) from error


@contextmanager
def away_errors() -> Iterator[None]:
    """Errors of PostgreSQL in our words: DatabaseAway if trying again may help, DatabaseProblem if not."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        if _is_away(error):
            raise DatabaseAway(f"PostgreSQL went away: {one_line(error)}") from error
        raise DatabaseProblem(f"PostgreSQL refused: {one_line(error)}") from error


def _refuse_standby(connection: Any) -> None:
    connection.autocommit = True
    standby = connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]
    connection.autocommit = False
    if standby:
        connection.close()
        # It may be about to take over.
        raise DatabaseAway(
            "this PostgreSQL server is a hot standby, which gives out no transaction ids and may lag behind. Connect "
            "to the primary: name all hosts in the address and add target_session_attrs=read-write"
        )


def _is_away(error: Any) -> bool:
    """Errors without a state come from the connection itself."""
    import psycopg

    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_AWAY)


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())
