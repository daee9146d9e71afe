"""Each event once, for those who consume events with a program of their own: a log of event ids.

Events may come twice: from a relay that delivers at least once, or after a consumer that died between its own commit
and that of its offset. The id is noted in the same database transaction as the effect of the event:

    log = MessageLog(connection, consumer="shipping")
    with connection.transaction():                     # psycopg; `with connection:` for sqlite3
        if log.is_new(event_id):
            ...                                        # whatever the event asks for, on the same connection

The pipeline `sink-db` does the same for whole batches (`deduplicate`). Neither helps where the effect lies outside of
the database, such as an e-mail.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Protocol

CREATE_LOG = (
    "CREATE TABLE IF NOT EXISTS {table} (consumer text, event_id text, received_at {moment} NOT NULL"
    " DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (consumer, event_id))"
)
_NOTE = (
    "INSERT INTO tidelog_message_log (consumer, event_id) VALUES ({mark}, {mark})"
    " ON CONFLICT (consumer, event_id) DO NOTHING"
)
_FORGET = "DELETE FROM tidelog_message_log WHERE consumer = {mark} AND received_at < {mark}"


class Connection(Protocol):
    """A connection of psycopg 3 or of sqlite3."""

    def execute(self, query: Any, params: Any = ..., /) -> Any: ...


class MessageLog:
    """The log of one consumer. Two consumers of the same events each have their own, under their own name."""

    def __init__(self, connection: Connection, *, consumer: str) -> None:
        self._connection = connection
        self._consumer = consumer
        self._is_sqlite = isinstance(connection, sqlite3.Connection)
        self._mark = "?" if self._is_sqlite else "%s"

    def create_table(self) -> None:
        """Make the table if it is not there; once, before the first event."""
        moment = "text" if self._is_sqlite else "timestamptz"
        self._connection.execute(CREATE_LOG.format(table="tidelog_message_log", moment=moment), ())

    def is_new(self, event_id: object) -> bool:
        """Note the event, and say whether it was not noted before. Belongs to the transaction that is open.

        Of two transactions that note the same event at once the second one waits here for the end of the first.
        """
        cursor = self._connection.execute(_NOTE.format(mark=self._mark), (self._consumer, str(event_id)))
        return bool(cursor.rowcount == 1)

    def forget_before(self, moment: object) -> int:
        """Remove what was received before `moment`, to keep the table small. Returns how many."""
        cursor = self._connection.execute(_FORGET.format(mark=self._mark), (self._consumer, moment))
        return int(cursor.rowcount)
