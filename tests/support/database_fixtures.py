"""Fixtures that lead to databases: files, and one real PostgreSQL server for all tests of a worker.

Imported by the conftest of each folder that uses them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.postgresql import PostgresqlServer, running_postgresql


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresqlServer]:
    with running_postgresql(tmp_path_factory.mktemp("postgresql")) as server:
        yield server


@pytest.fixture
def postgresql_url(postgresql_server: PostgresqlServer) -> str:
    """An empty database."""
    import psycopg

    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgresql_server.url(), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return postgresql_server.url(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture(params=["postgresql", "sqlite"])
def database_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


__all__ = ["database_url", "postgresql_server", "postgresql_url", "sqlite_url"]
