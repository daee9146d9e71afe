"""Reading test databases, whichever they are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import psycopg

from tidelog.spark.databases.options import Engine, parse_url


def query(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run one statement, commit, and give its rows if it has any."""
    where = parse_url(url)
    if where.engine is Engine.POSTGRESQL:
        with psycopg.connect(where.location) as connection:
            cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
    with closing(sqlite3.connect(where.location, timeout=30)) as file, file:
        return file.execute(statement).fetchall()
