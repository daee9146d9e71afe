"""The tables of the database sink in PostgreSQL: what its catalog says of them, and its types."""

from __future__ import annotations

import re

from tidelog.spark.databases.evolution import postgresql_holds
from tidelog.spark.databases.message_log import Connection
from tidelog.spark.databases.tables import SinkTables

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


class PostgresqlTables(SinkTables):
    mark = "%s"
    moment_type = "timestamptz"
    add_column = "ADD COLUMN IF NOT EXISTS"
    sql_type = staticmethod(postgresql_type)
    holds = staticmethod(postgresql_holds)

    def column_types(self, connection: Connection, table: str) -> dict[str, str]:
        found = connection.execute(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = to_regclass(%s)"
            " AND attnum > 0 AND NOT attisdropped",
            (table,),
        )
        return dict(found.fetchall())

    def unique_columns(self, connection: Connection) -> list[set[str]]:
        rows = connection.execute(
            "SELECT array_agg(attribute.attname::text) FROM pg_index AS one JOIN pg_attribute AS attribute"
            " ON attribute.attrelid = one.indrelid AND attribute.attnum = ANY (one.indkey)"
            " WHERE one.indrelid = %s::regclass AND one.indisunique AND one.indpred IS NULL GROUP BY one.indexrelid",
            (self.users,),
        ).fetchall()
        return [set(names) for (names,) in rows]
