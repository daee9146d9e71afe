"""What has to change in a table before rows with other columns fit into it. Decided here; databases are elsewhere.

A table grows by columns that may be null, and by nothing else: what is in it stays readable, and a driver that knows
only the old columns can go on writing. A column whose type is too small for the rows is refused, because changing it
rewrites the table and breaks its readers; that is for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tidelog.spark.databases.store import Column, DatabaseProblem


class Family(Enum):
    INTEGER = auto()
    REAL = auto()
    DECIMAL = auto()
    BOOLEAN = auto()
    TEXT = auto()
    BINARY = auto()
    DATE = auto()
    TIMESTAMP = auto()
    JSON = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """A type of a column, as far as it matters. `size` is bytes, or digits before the point of a decimal."""

    family: Family
    size: float = float("inf")
    scale: float = float("inf")


_POSTGRESQL = {
    "smallint": Sort(family=Family.INTEGER, size=2),
    "integer": Sort(family=Family.INTEGER, size=4),
    "bigint": Sort(family=Family.INTEGER, size=8),
    "real": Sort(family=Family.REAL, size=4),
    "double precision": Sort(family=Family.REAL, size=8),
    "numeric": Sort(family=Family.DECIMAL),
    "boolean": Sort(family=Family.BOOLEAN),
    "text": Sort(family=Family.TEXT),
    "character varying": Sort(family=Family.TEXT),
    "bytea": Sort(family=Family.BINARY),
    "date": Sort(family=Family.DATE),
    "timestamp with time zone": Sort(family=Family.TIMESTAMP),
    "timestamp without time zone": Sort(family=Family.TIMESTAMP),
    "json": Sort(family=Family.JSON),
    "jsonb": Sort(family=Family.JSON),
}
# Digits that a whole number of so many bytes may need, and those that a binary fraction keeps exactly.
_DIGITS = {2: 5, 4: 10, 8: 19}
_EXACT_INTEGER_BYTES = {4: 2, 8: 4}


def plan_columns(
    table: str,
    present: Mapping[str, str],
    columns: Sequence[Column],
    *,
    evolve: bool,
    sql_type: Callable[[str], str],
    holds: Callable[[str, str], bool],
) -> dict[str, str]:
    """The columns to add, with their types. `present` are the types of the columns that the table has.

    Without `evolve` a missing column is a problem, and types are left to the database, which refuses values that do not
    fit.
    """
    missing = [column for column in columns if column.name not in present]
    if missing and not evolve:
        names = ", ".join(column.name for column in missing)
        adding = "; ".join(
            f"ALTER TABLE {table} ADD COLUMN {column.name} {sql_type(column.type)}" for column in missing
        )
        raise DatabaseProblem(
            f"table {table} has no column {names}; it has {', '.join(sorted(present))}. Add the column to the table "
            f"({adding}), let the pipeline do it with evolve_table = true, or leave it out of the rows"
        )
    if evolve:
        for column in columns:
            wanted = sql_type(column.type)
            if column.name in present and not holds(present[column.name], wanted):
                raise DatabaseProblem(
                    f"column {column.name} of table {table} is {present[column.name]}, and the rows have "
                    f"{column.type}, which needs {wanted}: evolve_table adds columns and changes none. Change the type "
                    "in the table, or give the rows another name for it, or cast it"
                )
    return {column.name: sql_type(column.type) for column in missing}


def postgresql_holds(present: str, wanted: str) -> bool:
    """Whether each value of the type `wanted` is the same one in a column of the type `present`."""
    here, there = _postgresql_sort(present), _postgresql_sort(wanted)
    if here is None or there is None or present == wanted:
        # A type that is not known here: the database looks at each value.
        return True
    if here.family is there.family:
        return here.size >= there.size and here.scale >= there.scale
    match here.family, there.family:
        case Family.TEXT, other:
            return other is not Family.BINARY
        case Family.DECIMAL, Family.INTEGER:
            return here.size >= _DIGITS[int(there.size)]
        case Family.DECIMAL, Family.REAL:
            return here.size == float("inf")
        case Family.REAL, Family.INTEGER:
            return _EXACT_INTEGER_BYTES[int(here.size)] >= there.size
        case Family.TIMESTAMP, Family.DATE:
            return True
    return False


def sqlite_holds(present: str, wanted: str) -> bool:
    """SQLite keeps any value in any column, but changes it to the affinity of the column if it can: "007" is then 7."""
    here, there = sqlite_affinity(present), sqlite_affinity(wanted)
    if here in (there, "BLOB", "TEXT"):
        return True
    return here == "NUMERIC" and there in ("INTEGER", "REAL")


def sqlite_affinity(declared: str) -> str:
    """By SQLite's own five rules."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    if any(part in name for part in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "NUMERIC"


def _postgresql_sort(name: str) -> Sort | None:
    decimal = re.fullmatch(r"numeric\((\d+),\s*(-?\d+)\)", name)
    if decimal:
        precision, scale = int(decimal[1]), int(decimal[2])
        return Sort(family=Family.DECIMAL, size=precision - scale, scale=scale)
    text = re.fullmatch(r"character varying\((\d+)\)", name)
    if text:
        # How long texts are, nobody has said: the database refuses those that do not fit.
        return _POSTGRESQL["character varying"]
    return _POSTGRESQL.get(name)
