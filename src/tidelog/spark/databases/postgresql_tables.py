"""The tables of the database sink in PostgreSQL: those that remember, and that of the user, made and checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from tidelog.spark.databases.evolution import plan_columns, postgresql_holds
from tidelog.spark.databases.options import DatabaseSinkOptions, split_table
from tidelog.spark.databases.progress import PipelineBatch
from tidelog.spark.databases.store import (
    IDENTITY_COLUMNS,
    Column,
    DatabaseProblem,
    StoredState,
    noted_values,
    read_progress,
)

Connection = psycopg.Connection[tuple[Any, ...]]

_TYPES = {
    "bigint": "bigint",
    "int": "integer",
    "smallint": "smallint",
    "tinyint": "smallint",
    "double": "double precision",
    "float": "real",
    "boolean": "boolean",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}


class PostgresqlTables:
    """`users` is the table that rows go to; ours are in the same schema."""

    def __init__(self, options: DatabaseSinkOptions) -> None:
        self._options = options
        parts = split_table(options.table)
        self.schema = parts[:-1]
        self.users = sql.Identifier(*parts)

    def prepare(self, connection: Connection, columns: Sequence[Column], *, evolve: bool = False) -> None:
        """Make what is missing, and check what is there."""
        self._create_own_tables(connection)
        self._create_table(connection, columns)
        self._fit_columns(connection, columns, evolve=evolve)
        self._check_keys(connection)

    def own_name(self, name: str) -> sql.Identifier:
        """Our tables live beside the user's, in the same schema."""
        return sql.Identifier(*self.schema, name)

    def read_state(self, connection: Connection) -> StoredState:
        if not self._exists(connection, self.own_name("tidelog_progress")):
            return StoredState()
        pipeline = (self._options.pipeline,)
        # All columns: a table that an earlier version has made has fewer of them.
        query = sql.SQL("SELECT * FROM {} WHERE pipeline = %s")
        cursor = connection.execute(query.format(self.own_name("tidelog_progress")), pipeline)
        row = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
        query = sql.SQL("SELECT topic, partition, next_offset FROM {} WHERE pipeline = %s")
        offsets = connection.execute(query.format(self.own_name("tidelog_offsets")), pipeline).fetchall()
        return StoredState(
            progress=None if row is None else read_progress(dict(zip(names, row, strict=True))),
            next_offsets={(topic, partition): offset for topic, partition, offset in offsets},
        )

    def note(self, connection: Connection, coming: PipelineBatch) -> None:
        connection.execute(
            sql.SQL(
                "INSERT INTO {} AS known (pipeline, query_id, batch, rows, batch_rows, content, reads_start, reads_end,"
                " reads_until, run, starting) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (pipeline) DO UPDATE SET query_id = EXCLUDED.query_id, batch = EXCLUDED.batch,"
                " rows = known.rows + EXCLUDED.rows, batch_rows = EXCLUDED.batch_rows, content = EXCLUDED.content,"
                " reads_start = EXCLUDED.reads_start, reads_end = EXCLUDED.reads_end,"
                " reads_until = EXCLUDED.reads_until, run = EXCLUDED.run, starting = EXCLUDED.starting,"
                " written_at = now()"
            ).format(self.own_name("tidelog_progress")),
            noted_values(coming),
        )

    def note_offset(self, connection: Connection, pipeline: str, topic: str, partition: int, offset: int) -> None:
        connection.execute(
            sql.SQL(
                "INSERT INTO {} (pipeline, topic, partition, next_offset) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (pipeline, topic, partition) DO UPDATE SET next_offset = EXCLUDED.next_offset"
            ).format(self.own_name("tidelog_offsets")),
            (pipeline, topic, partition, offset),
        )

    def _create_own_tables(self, connection: Connection) -> None:
        for statement in (
            "CREATE TABLE IF NOT EXISTS {progress} (pipeline text PRIMARY KEY, query_id text NOT NULL, batch bigint NOT"
            " NULL, rows bigint NOT NULL, written_at timestamptz NOT NULL DEFAULT now())",
            *(f"ALTER TABLE {{progress}} ADD COLUMN IF NOT EXISTS {one}" for one in IDENTITY_COLUMNS),
            "CREATE TABLE IF NOT EXISTS {offsets} (pipeline text, topic text, partition integer, next_offset bigint NOT"
            " NULL, PRIMARY KEY (pipeline, topic, partition))",
            "CREATE TABLE IF NOT EXISTS {log} (consumer text, event_id text, received_at timestamptz NOT NULL DEFAULT"
            " now(), PRIMARY KEY (consumer, event_id))",
        ):
            connection.execute(
                sql.SQL(statement).format(
                    progress=self.own_name("tidelog_progress"),
                    offsets=self.own_name("tidelog_offsets"),
                    log=self.own_name("tidelog_message_log"),
                )
            )

    # -- the table of the user -----------------------------------------------------------------------------------

    def _create_table(self, connection: Connection, columns: Sequence[Column]) -> None:
        fields = [
            sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(postgresql_type(column.type)))
            for column in columns
        ]
        if self._options.keys:
            keys = sql.SQL(", ").join(map(sql.Identifier, self._options.keys))
            fields.append(sql.SQL("PRIMARY KEY ({})").format(keys))
        create = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})")
        connection.execute(create.format(self.users, sql.SQL(", ").join(fields)))

    def _fit_columns(self, connection: Connection, columns: Sequence[Column], *, evolve: bool) -> None:
        found = connection.execute(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass"
            " AND attnum > 0 AND NOT attisdropped",
            (self.users.as_string(connection),),
        )
        additions = plan_columns(
            self._options.table,
            dict(found.fetchall()),
            columns,
            evolve=evolve,
            sql_type=postgresql_type,
            holds=postgresql_holds,
        )
        for column in additions:
            add = sql.SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {} {}")
            connection.execute(add.format(self.users, sql.Identifier(column.name), sql.SQL(column.type)))

    def _check_keys(self, connection: Connection) -> None:
        if not self._options.keys:
            return
        rows = connection.execute(
            "SELECT array_agg(attribute.attname::text) FROM pg_index AS one JOIN pg_attribute AS attribute"
            " ON attribute.attrelid = one.indrelid AND attribute.attnum = ANY (one.indkey)"
            " WHERE one.indrelid = %s::regclass AND one.indisunique AND one.indpred IS NULL GROUP BY one.indexrelid",
            (self.users.as_string(connection),),
        ).fetchall()
        if not any(set(row[0]) == set(self._options.keys) for row in rows):
            keys = ", ".join(self._options.keys)
            raise DatabaseProblem(
                f"upsert needs a unique index on ({keys}) of table {self._options.table}, and there is none. "
                f"Create one: CREATE UNIQUE INDEX ON {self._options.table} ({keys})"
            )

    def _exists(self, connection: Connection, name: sql.Identifier) -> bool:
        return one_value(connection.execute("SELECT to_regclass(%s)", (name.as_string(connection),))) is not None


def postgresql_type(spark_type: str) -> str:
    """The column type for a new table. What is nested becomes JSON."""
    if spark_type in _TYPES:
        return _TYPES[spark_type]
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", spark_type)
    if decimal:
        return f"numeric({decimal[1]}, {decimal[2]})"
    if re.match(r"(array|map|struct)<", spark_type):
        return "jsonb"
    return "text"


def one_value(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Any:
    row = cursor.fetchone()
    return None if row is None else row[0]
