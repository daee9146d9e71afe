"""The replication slot and the publication of an outbox: what they are like, making them, moving the slot on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from tidelog.spark.databases.options import split_table
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.log_positions import SlotState, shown
from tidelog.spark.outbox.pgoutput import PROTOCOL_VERSION
from tidelog.spark.outbox.postgresql_connection import DatabaseAway, one_line

# A slot begins when every transaction that runs has ended.
CREATE_TIMEOUT_SECONDS = 60

_SLOT = """SELECT plugin, database = current_database(), temporary, (confirmed_flush_lsn - '0/0')::bigint,
    coalesce(wal_status, '') = 'lost' FROM pg_replication_slots WHERE slot_name = %s"""
_PUBLICATION = """SELECT p.pubinsert, coalesce(r.oid, p.oid)::bigint, EXISTS (SELECT FROM pg_publication_tables t
    JOIN pg_class c ON c.oid = to_regclass(%(table)s) JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE t.pubname = p.pubname AND t.schemaname = n.nspname AND t.tablename = c.relname)
FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = to_regclass(%(table)s)
WHERE p.pubname = %(publication)s"""
_KEYED = """SELECT relreplident = 'f' OR EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND
    ((relreplident = 'd' AND indisprimary) OR (relreplident = 'i' AND indisreplident)))
FROM pg_class c WHERE c.oid = to_regclass(%s)"""
_PEEK = (
    "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::text::pg_lsn, %s::int,"
    f" 'proto_version', '{PROTOCOL_VERSION}', 'publication_names', %s)"
)
MOST_CHANGES = 2**31 - 1


class PostgresqlSlot:
    """Over one connection. `table`, `slot` and `publication` are names."""

    def __init__(self, connection: Any, table: str, slot: str, publication: str) -> None:
        from psycopg import sql

        self._connection = connection
        self._sql = sql
        self._table = table
        self._quoted_table = sql.Identifier(*split_table(table)).as_string(connection)
        self._slot = slot
        self._publication = publication
        self._quoted_publication = sql.Identifier(publication).as_string(connection)

    def check_level(self) -> None:
        level = self._connection.execute("SHOW wal_level").fetchone()[0]
        if level != "logical":
            raise DatabaseProblem(
                f'mode = "log" reads the write-ahead log, which has too little in it with wal_level = {level}: ALTER '
                'SYSTEM SET wal_level = logical, and restart the server. Or use mode = "poll"'
            )

    def has_table(self) -> bool:
        return bool(self._connection.execute("SELECT to_regclass(%s) IS NOT NULL", (self._quoted_table,)).fetchone()[0])

    def state(self) -> SlotState | None:
        row = self._connection.execute(_SLOT, (self._slot,)).fetchone()
        if row is None:
            return None
        plugin, is_here, temporary, confirmed, lost = row
        if plugin != "pgoutput" or not is_here or temporary:
            raise DatabaseProblem(
                f"the replication slot {self._slot} is not a permanent one of this database with the plugin pgoutput "
                f"(its plugin is {plugin}); name another one with the setting slot"
            )
        return SlotState(confirmed=int(confirmed or 0), lost=bool(lost))

    def publication(self) -> int:
        """What lets the changes of the table through: the identity of that entry."""
        values = {"table": self._quoted_table, "publication": self._publication}
        row = self._connection.execute(_PUBLICATION, values).fetchone()
        if row is None:
            raise DatabaseProblem(
                f"there is no publication {self._publication}: {self.publication_statement()}, or start once with "
                "--create-table"
            )
        inserts, identity, has_table = row
        if not inserts or not has_table:
            raise DatabaseProblem(
                f"the publication {self._publication} does not publish inserts into {self._table}: ALTER PUBLICATION "
                f"{self._quoted_publication} "
                + (f"ADD TABLE {self._quoted_table}" if inserts else "SET (publish = 'insert')")
            )
        return int(identity)

    def publication_statement(self) -> str:
        # Updates are wanted for a warning only. Without a key they would be refused to the application.
        keyed = self._connection.execute(_KEYED, (self._quoted_table,)).fetchone()[0]
        return (
            f"CREATE PUBLICATION {self._quoted_publication} FOR TABLE {self._quoted_table} WITH (publish = "
            f"'{'insert, update' if keyed else 'insert'}', publish_via_partition_root = true)"
        )

    def create_publication(self) -> None:
        found = self._connection.execute("SELECT FROM pg_publication WHERE pubname = %s", (self._publication,))
        if found.fetchone() is not None:
            return
        statement = self.publication_statement()
        with self._refusals(statement):
            self._connection.execute(statement)

    def create(self) -> None:
        """On a connection whose transaction has written nothing."""
        import psycopg

        statement = f"SELECT pg_create_logical_replication_slot('{self._slot}', 'pgoutput')"
        self._connection.execute(f"SET LOCAL statement_timeout = '{CREATE_TIMEOUT_SECONDS}s'")
        try:
            with self._refusals(f'ALTER ROLE "{self._connection.info.user}" REPLICATION, or {statement}'):
                self._connection.execute(statement)
        except psycopg.errors.QueryCanceled as error:
            raise DatabaseProblem(
                f"the replication slot {self._slot} could not be created in {CREATE_TIMEOUT_SECONDS} seconds: a "
                "transaction stays open (SELECT * FROM pg_stat_activity ORDER BY xact_start). End it and start again"
            ) from error

    def drop(self) -> None:
        self._connection.execute("SELECT pg_drop_replication_slot(%s)", (self._slot,))

    def peek(self, cursor: Any, up_to: int | None, changes: int | None) -> Iterator[tuple[bytes]]:
        """The messages of whole transactions: those whose commits lie before a place, about as many as wanted.

        The server decodes all of them before it gives the first one; then the slot is in use no longer.
        """
        place = None if up_to is None else shown(up_to)
        with self._refusals(f'ALTER ROLE "{self._connection.info.user}" REPLICATION'):
            cursor.execute(_PEEK, (self._slot, place, changes, self._quoted_publication), binary=True)
            rows = iter(cursor)
            first = next(rows, None)
        return iter(()) if first is None else chain((first,), rows)

    def advance(self, lsn: int) -> None:
        with self._refusals(f'ALTER ROLE "{self._connection.info.user}" REPLICATION'):
            self._connection.execute(
                "SELECT pg_replication_slot_advance(%s, %s::text::pg_lsn)", (self._slot, shown(lsn))
            )

    @contextmanager
    def _refusals(self, remedy: str) -> Iterator[None]:
        """What PostgreSQL refuses about slots, in words of what to do."""
        from psycopg import errors

        try:
            yield
        except errors.InsufficientPrivilege as error:
            raise DatabaseProblem(f"{one_line(error)}. As an administrator: {remedy}") from error
        except errors.ObjectInUse as error:
            raise DatabaseAway(
                f"{one_line(error)}: something else reads the slot {self._slot}. Each pipeline needs a slot of its own "
                "(setting slot)"
            ) from error
        except errors.ConfigurationLimitExceeded as error:
            raise DatabaseProblem(
                f"{one_line(error)}: ALTER SYSTEM SET max_replication_slots to more, and restart the server"
            ) from error
