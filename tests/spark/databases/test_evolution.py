"""Tables that get new columns: which ones, when they are refused, and that rows and old drivers go on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.database_rows import query

from tidelog.records.content_digest import ContentDigest
from tidelog.spark.databases.evolution import plan_columns, postgresql_holds, sqlite_affinity, sqlite_holds
from tidelog.spark.databases.options import OFFSET, PARTITION, TOPIC, parse_sink_options
from tidelog.spark.databases.postgresql_tables import postgresql_type
from tidelog.spark.databases.progress import PipelineBatch
from tidelog.spark.databases.store import Column, Database, DatabaseProblem, open_database
from tidelog.spark.sink.batch_identity import BEGINNING, BatchIdentity, Reads

OLD = [Column(name="id", type="bigint"), Column(name="note", type="string")]
NEW = [
    Column(name="id", type="bigint"),
    Column(name="total", type="decimal(10,2)"),
    Column(name="tags", type="array<string>"),
]


def connect(url: str, **options: str) -> Database:
    return open_database(parse_sink_options({"url": url, "table": "orders", "pipeline": "p", **options}))


def write(database: Database, batch: int, **columns: pa.Array) -> None:
    count = len(next(iter(columns.values())))
    rows = pa.RecordBatch.from_pydict(
        {
            **columns,
            TOPIC: pa.array(["t"] * count),
            PARTITION: pa.array([0] * count, pa.int32()),
            OFFSET: pa.array([batch * 10 + number for number in range(count)], pa.int64()),
        }
    )
    staged = database.stage(iter([rows]), rows.schema.names, batch)
    digest = ContentDigest.of_all([staged.digest])
    reads = Reads(start=BEGINNING if batch == 0 else f"at {batch - 1}", end=f"at {batch}", until="")
    identity = BatchIdentity(batch=batch, rows=digest.rows, content=str(digest), reads=reads, run="run")
    written = PipelineBatch(pipeline="p", query_id="q", identity=identity, takes_over=None, starting="[1]")
    database.apply([staged], rows.schema.names, written)


def as_text(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(None if value is None else str(value) for value in row) for row in found]


def test_a_table_gets_the_columns_that_rows_have_and_keeps_those_that_they_have_no_more(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(OLD)
    write(database, 0, id=pa.array([1]), note=pa.array(["a"]))
    for _ in range(2):
        # Again, as after a crash between this and the first batch.
        database.prepare(NEW, evolve=True)
    write(database, 1, id=pa.array([2]), total=pa.array(["1.50"]), tags=pa.array(['["x"]']))
    # A driver that was started before knows only the old columns, and is not in the way.
    write(database, 2, id=pa.array([3]), note=pa.array(["c"]))
    found = as_text(query(database_url, "SELECT id, note, total, tags FROM orders ORDER BY id"))
    assert [row[:3] for row in found] == [("1", "a", None), ("2", None, "1.50"), ("3", "c", None)]
    assert [row[3] is None for row in found] == [True, False, True]


def test_upserts_replace_rows_that_are_older_than_a_column(database_url: str) -> None:
    database = connect(database_url, mode="upsert", keys="id")
    database.prepare(OLD)
    write(database, 0, id=pa.array([1, 2]), note=pa.array(["a", "b"]))
    database.prepare(NEW, evolve=True)
    write(database, 1, id=pa.array([2]), total=pa.array(["2.50"]), tags=pa.array([None], pa.string()))
    found = as_text(query(database_url, "SELECT id, note, total FROM orders ORDER BY id"))
    # What rows say nothing of stays as it is.
    assert found == [("1", "a", None), ("2", "b", "2.50")]


def test_without_asking_for_it_a_missing_column_is_told_with_both_remedies(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(OLD)
    with pytest.raises(DatabaseProblem) as refused:
        database.prepare(NEW)
    told = str(refused.value)
    assert "has no column total, tags; it has id, note" in told
    assert "ALTER TABLE orders ADD COLUMN total" in told
    assert "evolve_table = true" in told


def test_another_type_is_refused_and_nothing_is_added(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(OLD)
    changed = [Column(name="extra", type="string"), Column(name="id", type="string")]
    with pytest.raises(DatabaseProblem, match=r"column id of table orders is \w+, and the rows have string"):
        database.prepare(changed, evolve=True)
    with pytest.raises(DatabaseProblem, match="has no column extra"):
        database.prepare(changed)


def test_a_key_cannot_be_added(database_url: str) -> None:
    connect(database_url).prepare(OLD)
    database = connect(database_url, mode="upsert", keys="place")
    with pytest.raises(DatabaseProblem, match=r"needs a unique index on \(place\)"):
        database.prepare([*OLD, Column(name="place", type="bigint")], evolve=True)
    with pytest.raises(DatabaseProblem, match="has no column place"):
        connect(database_url).prepare([*OLD, Column(name="place", type="bigint")])


def test_additions_are_in_the_order_of_the_rows() -> None:
    added = plan_columns("t", {"id": "bigint"}, NEW, evolve=True, sql_type=postgresql_type, holds=postgresql_holds)
    assert added == {"total": "numeric(10, 2)", "tags": "jsonb"}


@pytest.mark.parametrize(
    ("present", "wanted", "holds"),
    [
        ("bigint", "bigint", True),
        ("bigint", "integer", True),
        ("integer", "bigint", False),
        ("double precision", "real", True),
        ("real", "double precision", False),
        ("double precision", "integer", True),
        ("double precision", "bigint", False),
        ("real", "smallint", True),
        ("numeric", "double precision", True),
        ("numeric(10,2)", "double precision", False),
        ("numeric(12,2)", "numeric(10, 2)", True),
        ("numeric(10,2)", "numeric(10, 4)", False),
        ("numeric(10,4)", "numeric(10, 2)", False),
        ("numeric(20,0)", "bigint", True),
        ("numeric(10,2)", "bigint", False),
        ("text", "bigint", True),
        ("character varying(20)", "text", True),
        ("text", "bytea", False),
        ("bigint", "text", False),
        ("boolean", "text", False),
        ("date", "timestamp with time zone", False),
        ("timestamp with time zone", "date", True),
        ("jsonb", "text", False),
        ("text", "jsonb", True),
        # A type of somebody's own: only the database knows.
        ("mood", "text", True),
        ("uuid", "text", True),
    ],
)
def test_a_column_of_postgresql_holds_types_that_fit_as_they_are(present: str, wanted: str, holds: bool) -> None:
    assert postgresql_holds(present, wanted) is holds


@pytest.mark.parametrize(
    ("present", "wanted", "holds"),
    [
        ("INTEGER", "INTEGER", True),
        ("BIGINT", "INTEGER", True),
        ("INTEGER", "TEXT", False),
        ("REAL", "TEXT", False),
        ("REAL", "INTEGER", False),
        ("INTEGER", "REAL", False),
        ("DECIMAL(10,2)", "REAL", True),
        ("DECIMAL(10,2)", "TEXT", False),
        ("VARCHAR(20)", "INTEGER", True),
        ("", "TEXT", True),
        ("INTEGER", "BLOB", False),
    ],
)
def test_a_column_of_sqlite_holds_what_its_affinity_does_not_change(present: str, wanted: str, holds: bool) -> None:
    assert sqlite_holds(present, wanted) is holds


def test_affinities_are_those_of_sqlite() -> None:
    import sqlite3

    connection = sqlite3.connect(":memory:")
    for declared in ("INT", "VARCHAR(3)", "BLOB", "", "DOUBLE", "DECIMAL(3,1)", "DATETIME", "CLOB", "FLOATING POINT"):
        connection.execute("DROP TABLE IF EXISTS one")
        connection.execute(f"CREATE TABLE one (value {declared})")
        connection.execute("INSERT INTO one VALUES ('1.5'), ('2'), (3)")
        kept = [row[0] for row in connection.execute("SELECT typeof(value) FROM one")]
        expected = {
            "INTEGER": ["real", "integer", "integer"],
            "NUMERIC": ["real", "integer", "integer"],
            "REAL": ["real", "real", "real"],
            "TEXT": ["text", "text", "text"],
            "BLOB": ["text", "text", "integer"],
        }
        assert kept == expected[sqlite_affinity(declared)]
    connection.close()
