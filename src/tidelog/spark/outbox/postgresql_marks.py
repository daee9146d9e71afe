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
    Standing,
    StoredMark,
    examine,
    explain_standing,
)
from tidelog.spark.outbox.tables import PositionLost

_MARKS = """CREATE TABLE IF NOT EXISTS {table} (
    token uuid PRIMARY KEY,
    reader uuid NOT NULL,
    transaction_id xid8 NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
)"""
_OWNERS = "CREATE TABLE IF NOT EXISTS {table} (source text PRIMARY KEY, reader uuid NOT NULL)"

_RELATION = """SELECT c.oid::bigint, n.nspname, c.relkind, c.relpersistence, row_security_active(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"""

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
        relation = connection.execute(
            _RELATION, (sql.Identifier(*split_table(table)).as_string(connection),)
        ).fetchone()
        if relation is None:
            raise DatabaseProblem(f"there is no table {table}; create it with --create-table")
        self._oid, self._schema, kind, persistence, secured = relation
        self._check_relation(kind, persistence, secured)
        self._marks = sql.Identifier(self._schema, MARKS_TABLE)
        self._owners = sql.Identifier(self._schema, OWNERS_TABLE)

    @property
    def oid(self) -> int:
        """Of the outbox table."""
        return int(self._oid)

    @property
    def table_source(self) -> str:
        return f"table:{self._oid}"

    def ensure(self) -> None:
        """Make both tables if they are missing. Raises DatabaseProblem with the statements for an administrator."""
        import psycopg

        sql = self._sql
        made = [sql.SQL(text).format(table=name) for text, name in ((_MARKS, self._marks), (_OWNERS, self._owners))]
        if not self._present():
            try:
                for statement in made:
                    self._connection.execute(statement)
            except psycopg.errors.InsufficientPrivilege as error:
                statements = "; ".join(" ".join(one.as_string(self._connection).split()) for one in made)
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
        return Place(system=system, timeline=int(timeline), table=int(self._oid))

    def verify(self, mark: Mark, what_to_do: str) -> Place:
        """Everything before the mark is in the history of this server; raises PositionLost if it is not."""
        here = self.here()
        standing = examine(mark, self._stored(mark.token), here)
        if standing is not Standing.HOLDS:
            raise PositionLost(explain_standing(standing, mark, here, self._table, what_to_do))
        return here

    def write(self, reader: str, *, after: Mark | None, here: Place) -> tuple[Mark, int]:
        """A new mark, and the oldest transaction that ran before: both count once this transaction is committed."""
        self._connection.execute(_DURABLY)
        own, oldest = self._connection.execute(
            "SELECT pg_current_xact_id()::text, pg_snapshot_xmin(pg_current_snapshot())::text"
        ).fetchone()
        mark = Mark(token=str(uuid.uuid4()), reader=reader, transaction=int(own), place=here)
        statement = self._sql.SQL("INSERT INTO {} (token, reader, transaction_id) VALUES (%s, %s, %s::text::xid8)")
        self._connection.execute(statement.format(self._marks), (mark.token, mark.reader, str(mark.transaction)))
        if after is not None:
            self._prune(after)
        return mark, int(oldest)

    def owner(self, source: str, *, hold: bool = False) -> str | None:
        """Who may remove from a source. `hold` keeps it from changing until the transaction ends."""
        if not self._present():
            return None
        text = "SELECT reader::text FROM {} WHERE source = %s" + (" FOR UPDATE" if hold else "")
        row = self._connection.execute(self._sql.SQL(text).format(self._owners), (source,)).fetchone()
        return None if row is None else str(row[0])

    def claim(self, source: str, reader: str) -> None:
        statement = self._sql.SQL(
            "INSERT INTO {} (source, reader) VALUES (%s, %s)"
            " ON CONFLICT (source) DO UPDATE SET reader = excluded.reader"
        )
        self._connection.execute(statement.format(self._owners), (source, reader))

    def release(self, source: str) -> None:
        self._connection.execute(self._sql.SQL("DELETE FROM {} WHERE source = %s").format(self._owners), (source,))

    def release_statement(self, source: str) -> str:
        name: str = self._owners.as_string(self._connection)
        return f"DELETE FROM {name} WHERE source = '{source}'"

    def _stored(self, token: str) -> StoredMark | None:
        if not self._present():
            return None
        query = self._sql.SQL("SELECT reader::text, transaction_id::text, xmin::text FROM {} WHERE token = %s")
        row = self._connection.execute(query.format(self._marks), (token,)).fetchone()
        return None if row is None else StoredMark(reader=row[0], transaction=int(row[1]), written_by=int(row[2]))

    def _prune(self, after: Mark) -> None:
        """Marks before the one that the reader comes from, but for the last ones; those after it may be in use."""
        statement = self._sql.SQL(
            "DELETE FROM {marks} WHERE reader = %(reader)s AND transaction_id < (SELECT transaction_id FROM {marks}"
            " WHERE reader = %(reader)s AND transaction_id <= %(after)s::text::xid8"
            " ORDER BY transaction_id DESC OFFSET %(kept)s LIMIT 1)"
        )
        values = {"reader": after.reader, "after": str(after.transaction), "kept": MARKS_KEPT}
        self._connection.execute(statement.format(marks=self._marks), values)

    def _present(self) -> bool:
        names = [name.as_string(self._connection) for name in (self._marks, self._owners)]
        row = self._connection.execute(
            "SELECT to_regclass(%s) IS NOT NULL AND to_regclass(%s) IS NOT NULL", names
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
        row = self._connection.execute(
            "SELECT bool_and(has_table_privilege(%s::oid, privilege)) FROM unnest(%s::text[]) AS privilege",
            (self._oid, wanted),
        ).fetchone()
        if not row[0]:
            raise DatabaseProblem(
                f"{self._user()} may not read {self._table}{' and delete its rows' if deletes else ''}. As an "
                f'administrator: GRANT {", ".join(wanted)} ON {self._table} TO "{self._user()}"'
            )

    def _check_privileges(self) -> None:
        row = self._connection.execute(
            "SELECT bool_and(has_table_privilege(name, privilege)) FROM unnest(%s::text[]) AS name,"
            " unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege",
            ([name.as_string(self._connection) for name in (self._marks, self._owners)],),
        ).fetchone()
        if not row[0]:
            raise DatabaseProblem(f"{self._user()} may not keep marks. As an administrator: {self._grant()}")

    def _grant(self) -> str:
        marks, owners = (name.as_string(self._connection) for name in (self._marks, self._owners))
        return f'GRANT SELECT, INSERT, UPDATE, DELETE ON {marks}, {owners} TO "{self._user()}"'

    def _user(self) -> str:
        return str(self._connection.info.user)
