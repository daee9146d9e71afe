"""Marks and owners in PostgreSQL: two small tables beside the outbox, and the questions that are asked of them.

`tidelog_outbox_marks` holds the marks that positions carry (see `marks`). `tidelog_outbox_owners` says which checkpoint
may delete rows of a table or move a slot on: what one reader removes, another one would never see.
"""

from __future__ import annotations

import uuid
from typing import Any

from tidelog.spark.databases.options import split_table
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.marks import (
    MARKS_KEPT,
    MARKS_TABLE,
    OWNERS_TABLE,
    Mark,
    Place,
    StoredMark,
    why_lost,
)
from tidelog.spark.outbox.tables import PositionLost

_MARKS = """CREATE TABLE IF NOT EXISTS {marks} (
    token uuid PRIMARY KEY,
    reader uuid NOT NULL,
    transaction_id xid8 NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
)"""
_OWNERS = "CREATE TABLE IF NOT EXISTS {owners} (source text PRIMARY KEY, reader uuid NOT NULL)"

_RELATION = """SELECT c.oid::bigint, n.nspname, c.relkind, c.relpersistence, row_security_active(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"""

_COLUMNS = """SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::oid AND a.attnum > 0 AND NOT a.attisdropped"""

# The timeline of the log that is written now; that of the last checkpoint may be an older one.
_SERVER = """SELECT (SELECT system_identifier::text FROM pg_control_system()),
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint"""

# At least `on`: the mark is on disk here, and on synchronous replicas if there are any. What is stronger stays.
_DURABLY = """SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN
    ('on', 'remote_apply') THEN current_setting('synchronous_commit') ELSE 'on' END, true)"""


class PostgresqlMarks:
    """Over one connection and within its transaction; nothing here commits."""

    def __init__(self, connection: Any, table: str) -> None:
        from psycopg import sql

        self._connection = connection
        self._sql = sql
        self._table = table
        self._quoted_table: str = sql.Identifier(*split_table(table)).as_string(connection)
        relation = connection.execute(_RELATION, (self._quoted_table,)).fetchone()
        if relation is None:
            raise DatabaseProblem(f"there is no table {table}; create it with --create-table")
        # Of the outbox table.
        self.oid: int
        self.oid, self._schema, kind, persistence, secured = relation
        self.table_source = f"table:{self.oid}"
        self._check_relation(kind, persistence, secured)
        tables = {"marks": MARKS_TABLE, "owners": OWNERS_TABLE}
        self._tables = {name: sql.Identifier(self._schema, table) for name, table in tables.items()}
        self._names: list[str] = [name.as_string(connection) for name in self._tables.values()]

    def columns(self) -> dict[str, tuple[str, bool, str | None]]:
        """Of the outbox table: the type, whether it is required, and the default."""
        found = self._connection.execute(_COLUMNS, (self.oid,)).fetchall()
        return {name: (kind, required, default) for name, kind, required, default in found}

    def ensure(self) -> None:
        """Make both tables if they are missing. Raises DatabaseProblem with the statements for an administrator."""
        import psycopg

        if not self._present():
            try:
                for statement in (_MARKS, _OWNERS):
                    self._execute(statement)
            except psycopg.errors.InsufficientPrivilege as error:
                marks, owners = self._names
                statements = " ".join(f"{_MARKS}; {_OWNERS}".format(marks=marks, owners=owners).split())
                raise DatabaseProblem(
                    f"the outbox keeps marks in schema {self._schema}, where {self._user()} may not create tables. As "
                    f"an administrator: {statements}; {self._grant()}"
                ) from error
        self._check_privileges()

    def here(self) -> Place:
        import psycopg

        try:
            system, timeline = self._connection.execute(_SERVER).fetchone()
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseProblem(
                f"{self._user()} may not ask which server this is. As an administrator: GRANT EXECUTE ON FUNCTION "
                f'pg_control_system() TO "{self._user()}"'
            ) from error
        return Place(system=system, timeline=int(timeline), table=self.oid)

    def verify(self, mark: Mark, what_to_do: str) -> Place:
        """Everything before the mark is in the history of this server; raises PositionLost if it is not."""
        here = self.here()
        reason = why_lost(mark, self._stored(mark.token), here, self._table)
        if reason is not None:
            raise PositionLost(f"{reason}. {what_to_do}")
        return here

    def write(self, reader: str, *, after: Mark | None, here: Place) -> tuple[Mark, int]:
        """A new mark, and the oldest transaction that ran before: both count once this transaction is committed."""
        self._connection.execute(_DURABLY)
        own, oldest = self._connection.execute(
            "SELECT pg_current_xact_id()::text, pg_snapshot_xmin(pg_current_snapshot())::text"
        ).fetchone()
        mark = Mark(token=str(uuid.uuid4()), reader=reader, transaction=int(own), place=here)
        self._execute(
            "INSERT INTO {marks} (token, reader, transaction_id) VALUES (%s, %s, %s::text::xid8)",
            (mark.token, mark.reader, str(mark.transaction)),
        )
        if after is not None:
            self._prune(after)
        return mark, int(oldest)

    def owner(self, source: str, *, hold: bool = False) -> str | None:
        """Who may remove from a source. `hold` keeps it from changing until the transaction ends."""
        if not self._present():
            return None
        text = "SELECT reader::text FROM {owners} WHERE source = %s" + (" FOR UPDATE" if hold else "")
        row = self._execute(text, (source,)).fetchone()
        return None if row is None else str(row[0])

    def claim(self, source: str, reader: str) -> None:
        self._execute(
            "INSERT INTO {owners} (source, reader) VALUES (%s, %s)"
            " ON CONFLICT (source) DO UPDATE SET reader = excluded.reader",
            (source, reader),
        )

    def release(self, source: str) -> None:
        self._execute("DELETE FROM {owners} WHERE source = %s", (source,))

    def release_statement(self, source: str) -> str:
        return f"DELETE FROM {self._names[1]} WHERE source = '{source}'"

    def _stored(self, token: str) -> StoredMark | None:
        if not self._present():
            return None
        row = self._execute(
            "SELECT reader::text, transaction_id::text, xmin::text FROM {marks} WHERE token = %s", (token,)
        ).fetchone()
        return None if row is None else StoredMark(reader=row[0], transaction=int(row[1]), written_by=int(row[2]))

    def _prune(self, after: Mark) -> None:
        """Marks before the one that the reader comes from, but for the last ones; those after it may be in use."""
        self._execute(
            "DELETE FROM {marks} WHERE reader = %(reader)s AND transaction_id < (SELECT transaction_id FROM {marks}"
            " WHERE reader = %(reader)s AND transaction_id <= %(after)s::text::xid8"
            " ORDER BY transaction_id DESC OFFSET %(kept)s LIMIT 1)",
            {"reader": after.reader, "after": str(after.transaction), "kept": MARKS_KEPT},
        )

    def _execute(self, text: str, values: Any = None) -> Any:
        """`{marks}` and `{owners}` in the statement are the two tables."""
        return self._connection.execute(self._sql.SQL(text).format(**self._tables), values)

    def _present(self) -> bool:
        row = self._connection.execute(
            "SELECT to_regclass(%s) IS NOT NULL AND to_regclass(%s) IS NOT NULL", self._names
        ).fetchone()
        return bool(row[0])

    def _check_relation(self, kind: str, persistence: str, secured: bool) -> None:
        if kind not in ("r", "p"):
            raise DatabaseProblem(f"{self._table} is not a table: name the table itself, not a view or a foreign table")
        if persistence == "u":
            raise DatabaseProblem(
                f"table {self._table} is unlogged: PostgreSQL empties it after a crash, with events that are not "
                f"relayed yet. ALTER TABLE {self._table} SET LOGGED"
            )
        if secured:
            raise DatabaseProblem(
                f"row-level security hides rows of {self._table} from {self._user()}, so events would be missed. "
                f'ALTER ROLE "{self._user()}" BYPASSRLS, or use another role'
            )

    def check_table(self, *, deletes: bool) -> None:
        """What the role needs on the outbox itself."""
        wanted = ["SELECT", "DELETE"] if deletes else ["SELECT"]
        if not self._may(wanted, [self._quoted_table]):
            raise DatabaseProblem(
                f"{self._user()} may not read {self._table}{' and delete its rows' if deletes else ''}. As an "
                f'administrator: GRANT {", ".join(wanted)} ON {self._table} TO "{self._user()}"'
            )

    def _check_privileges(self) -> None:
        if not self._may(["SELECT", "INSERT", "UPDATE", "DELETE"], self._names):
            raise DatabaseProblem(f"{self._user()} may not keep marks. As an administrator: {self._grant()}")

    def _may(self, privileges: list[str], tables: list[str]) -> bool:
        row = self._connection.execute(
            "SELECT bool_and(has_table_privilege(name, privilege))"
            " FROM unnest(%s::text[]) AS name, unnest(%s::text[]) AS privilege",
            (tables, privileges),
        ).fetchone()
        return bool(row[0])

    def _grant(self) -> str:
        return f'GRANT SELECT, INSERT, UPDATE, DELETE ON {", ".join(self._names)} TO "{self._user()}"'

    def _user(self) -> str:
        return str(self._connection.info.user)
