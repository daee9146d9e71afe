"""The options of the database sink: where the database is, which table, and how rows get into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from urllib.parse import unquote

# Columns beside those of the table. They tell where a row comes from and what is to be done with it.
TOPIC = "_tidelog_topic"
PARTITION = "_tidelog_partition"
OFFSET = "_tidelog_offset"
EVENT = "_tidelog_event"
DELETE = "_tidelog_delete"
ORIGIN = (TOPIC, PARTITION, OFFSET)
BESIDE = (*ORIGIN, EVENT, DELETE)


class InvalidDatabaseOption(ValueError):
    """An option of the sink is wrong; the message says which and what would be right."""


class Mode(Enum):
    APPEND = "append"
    UPSERT = "upsert"


class Engine(Enum):
    POSTGRESQL = "postgresql"
    SQLITE = "sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseUrl:
    """`location` is what the driver takes: the URL itself for PostgreSQL, a path for SQLite."""

    engine: Engine
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSinkOptions:
    url: DatabaseUrl
    table: str
    pipeline: str
    mode: Mode = Mode.APPEND
    keys: tuple[str, ...] = ()
    takes_over: str | None = None
    starting: str | None = None
    checkpoint_location: str | None = None


def parse_url(text: str) -> DatabaseUrl:
    """`postgresql://user@host/database` (or libpq's `host=... dbname=...`), `sqlite:///path` or `sqlite:path`."""
    if re.match(r"postgres(ql)?://", text) or re.match(r"\w+\s*=", text):
        return DatabaseUrl(engine=Engine.POSTGRESQL, location=text)
    if text.startswith("sqlite:"):
        path = unquote(text.removeprefix("sqlite:"))
        # As SQLAlchemy has it: three slashes before a relative path, four before an absolute one. Two are forgotten
        # often enough that the obvious meaning of `sqlite:/tmp/x` is worth having.
        path = path.removeprefix("///") if path.startswith("///") else path
        if not path or path.startswith("//"):
            raise InvalidDatabaseOption(f"{text!r} names no file; use sqlite:///orders.db or sqlite:////abs.db")
        return DatabaseUrl(engine=Engine.SQLITE, location=str(Path(path)))
    raise InvalidDatabaseOption(
        f"{_without_password(text)!r} is not the address "
        "of a database; use postgresql://user@host:5432/database or sqlite:///path/to/file.db"
    )


def parse_sink_options(options: Mapping[str, str]) -> DatabaseSinkOptions:
    missing = [name for name in ("url", "table", "pipeline") if not options.get(name)]
    if missing:
        raise InvalidDatabaseOption(f"the database sink needs the options {', '.join(missing)}")
    chosen = options.get("mode", Mode.APPEND.value)
    if chosen.lower() not in [one.value for one in Mode]:
        raise InvalidDatabaseOption(f"mode must be append or upsert, but is {chosen}")
    mode = Mode(chosen.lower())
    keys = tuple(part.strip() for part in options.get("keys", "").split(",") if part.strip())
    if mode is Mode.UPSERT and not keys:
        raise InvalidDatabaseOption("mode=upsert needs keys: the columns that identify the row to replace, such as id")
    if mode is Mode.APPEND and keys:
        raise InvalidDatabaseOption(f"keys={','.join(keys)} have no effect with mode=append; did you mean mode=upsert?")
    return DatabaseSinkOptions(
        url=parse_url(options["url"]),
        table=options["table"],
        pipeline=options["pipeline"],
        mode=mode,
        keys=keys,
        takes_over=options.get("takesOver") or None,
        starting=options.get("startingFrom") or None,
        checkpoint_location=options.get("checkpointLocation") or None,
    )


def table_columns(names: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that go into the table; raises where the rows cannot do what the options ask for."""
    columns = tuple(name for name in names if name not in BESIDE)
    if not columns:
        raise InvalidDatabaseOption("the rows have no columns for the table")
    missing = [key for key in keys if key not in columns]
    if missing:
        raise InvalidDatabaseOption(
            f"key columns {', '.join(missing)} are not among the columns of the rows: {', '.join(columns)}"
        )
    absent = [name for name in ORIGIN if name not in names]
    if keys and absent:
        raise InvalidDatabaseOption(
            f"mode=upsert needs the columns {', '.join(absent)}: they determine which row is newer"
        )
    return columns


def split_table(table: str) -> tuple[str, ...]:
    """`schema.table` or `table`, as parts that can be quoted."""
    parts = tuple(part.strip('"') for part in table.split("."))
    if not 1 <= len(parts) <= 2 or not all(parts):
        raise InvalidDatabaseOption(f"{table!r} is not a table; use table or schema.table")
    return parts


def _without_password(text: str) -> str:
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", text)
