"""Staging and applying rows on both databases, without Spark: what tasks and drivers call, in every order."""

from __future__ import annotations

import datetime
import decimal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from support.database_rows import query
from support.processes import wait_until
from support.spark_models.database_model import progress_of

from tidelog.records.content_digest import ContentDigest
from tidelog.spark.databases import postgresql
from tidelog.spark.databases.options import DELETE, EVENT, OFFSET, PARTITION, TOPIC, parse_sink_options
from tidelog.spark.databases.progress import BatchRefused, PipelineBatch, Progress, ProgressVerdict, Span
from tidelog.spark.databases.store import Column, Database, DatabaseProblem, StagedRows, open_database
from tidelog.spark.sink.batch_identity import BEGINNING, BatchIdentity, Reads

COLUMNS = [Column(name="id", type="bigint"), Column(name="name", type="string")]
ORIGIN_TYPES = {TOPIC: pa.string(), PARTITION: pa.int32(), OFFSET: pa.int64()}
QUERY = "query-1"


def connect(url: str, **options: str) -> Database:
    return open_database(parse_sink_options({"url": url, "table": "orders", "pipeline": "p", **options}))


def rows(*values: tuple[int, str | None, int], partition: int = 0, **beside: list[Any]) -> pa.RecordBatch:
    """(id, name, offset) of each row."""
    columns = {
        "id": pa.array([value[0] for value in values], pa.int64()),
        "name": pa.array([value[1] for value in values], pa.string()),
        TOPIC: pa.array(["t"] * len(values), pa.string()),
        PARTITION: pa.array([partition] * len(values), pa.int32()),
        OFFSET: pa.array([value[2] for value in values], pa.int64()),
    }
    if "events" in beside:
        columns[EVENT] = pa.array(beside["events"], pa.string())
    if "deletes" in beside:
        columns[DELETE] = pa.array(beside["deletes"], pa.bool_())
    return pa.RecordBatch.from_pydict(columns)


def stage(database: Database, *batches: pa.RecordBatch, batch: int = 0) -> StagedRows:
    return database.stage(iter(batches), batches[0].schema.names if batches else [], batch)


def apply(
    database: Database,
    staged: Sequence[StagedRows],
    batch: int,
    names: Sequence[str] = ("id", "name", TOPIC, PARTITION, OFFSET),
    query_id: str = QUERY,
    takes_over: str | None = None,
) -> ProgressVerdict:
    return database.apply(staged, names, pipeline_batch(staged, batch, query_id, takes_over))


def pipeline_batch(
    staged: Sequence[StagedRows],
    batch: int,
    query_id: str = QUERY,
    takes_over: str | None = None,
    until: int | None = None,
) -> PipelineBatch:
    """`until` is the offset up to which the batch reads; the next one begins there."""
    digest = ContentDigest.of_all(part.digest for part in staged)
    reads = Reads(
        start=BEGINNING if batch == 0 else f"at {batch - 1}", end=f"at {batch if until is None else until}", until=""
    )
    identity = BatchIdentity(batch=batch, rows=digest.rows, content=str(digest), reads=reads, run="run")
    return PipelineBatch(pipeline="p", query_id=query_id, identity=identity, takes_over=takes_over, starting="[1]")


def table(url: str) -> list[tuple[Any, ...]]:
    return query(url, "SELECT id, name FROM orders ORDER BY id, name")


def test_rows_arrive_with_their_batch_and_offsets(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    first = stage(database, rows((1, "a", 0), (2, None, 1)), rows((3, "", 5)))
    second = stage(database, rows((4, 'q",\n\\', 7), partition=1))
    assert table(database_url) == []
    assert apply(database, [first, second], 0) is ProgressVerdict.APPLY
    assert table(database_url) == [(1, "a"), (2, None), (3, ""), (4, 'q",\n\\')]
    state = database.stored_state()
    assert state.progress == progress_of(pipeline_batch([first, second], 0))
    assert state.next_offsets == {("t", 0): 6, ("t", 1): 8}
    assert first.spans == (Span("t", 0, 0, 5),)


def test_a_repeated_batch_changes_nothing_however_it_was_split(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    apply(database, [stage(database, rows((1, "a", 0), (2, "b", 1)))], 0)
    again = [stage(database, rows((1, "a", 0))), stage(database, rows((2, "b", 1)))]
    assert apply(database, again, 0) is ProgressVerdict.ALREADY_APPLIED
    assert table(database_url) == [(1, "a"), (2, "b")]


def test_a_batch_of_the_same_number_that_is_another_one_is_refused(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    apply(database, [stage(database, rows((1, "a", 0)))], 0)
    names = ("id", "name", TOPIC, PARTITION, OFFSET)
    # Other rows for the same input; other input with the same rows; the next one, which begins at another offset.
    changed = [stage(database, rows((1, "b", 0)))]
    with pytest.raises(BatchRefused, match="does not give the same rows for the same input"):
        apply(database, changed, 0)
    same = [stage(database, rows((1, "a", 0)))]
    with pytest.raises(BatchRefused, match="older than what was written"):
        database.apply(same, names, pipeline_batch(same, 0, until=7))
    following = [stage(database, rows((2, "b", 9)))]
    database.apply(following, names, pipeline_batch(following, 1, until=7))
    third = [stage(database, rows((3, "c", 10)))]
    with pytest.raises(BatchRefused, match="begins at another offset"):
        database.apply(third, names, pipeline_batch(third, 2))
    assert table(database_url) == [(1, "a"), (2, "b")]


def test_tables_of_an_earlier_version_are_upgraded(database_url: str) -> None:
    query(
        database_url,
        "CREATE TABLE tidelog_progress (pipeline text PRIMARY KEY, query_id text NOT NULL, batch bigint NOT NULL, rows"
        " bigint NOT NULL, written_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)",
    )
    values = f"('p', '{QUERY}', 3, 70)"
    query(database_url, f"INSERT INTO tidelog_progress (pipeline, query_id, batch, rows) VALUES {values}")
    query(
        database_url,
        "CREATE TABLE tidelog_offsets (pipeline text, topic text, partition integer, next_offset bigint NOT NULL,"
        " PRIMARY KEY (pipeline, topic, partition))",
    )
    database = connect(database_url)
    # The pipeline asks before it prepares the tables.
    assert database.stored_state().progress == Progress(query_id=QUERY, batch=3)
    for _ in range(2):
        database.prepare(COLUMNS)
    with pytest.raises(BatchRefused, match="an earlier version of tidelog has written it"):
        apply(database, [stage(database, rows((1, "a", 0)))], 3)
    staged = [stage(database, rows((1, "a", 0)))]
    assert apply(database, staged, 4) is ProgressVerdict.APPLY
    assert database.stored_state().progress == progress_of(pipeline_batch(staged, 4))
    assert query(database_url, "SELECT rows, batch_rows FROM tidelog_progress") == [(71, 1)]


def _place(database: Database) -> tuple[str, int] | None:
    progress = database.stored_state().progress
    return None if progress is None else (progress.query_id, progress.batch)


def test_attempts_that_lost_leave_nothing_behind(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    stage(database, rows((1, "a", 0)))
    won = stage(database, rows((1, "a", 0)))
    apply(database, [won], 0)
    assert table(database_url) == [(1, "a")]
    assert leftovers(database_url) == []


def test_batches_that_must_not_be_written_are_refused_whole(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    with pytest.raises(BatchRefused, match="knows nothing of"):
        apply(database, [stage(database, rows((9, "x", 0)))], 3)
    apply(database, [stage(database, rows((1, "a", 0)))], 0)
    apply(database, [stage(database, rows((2, "b", 1)))], 1)
    with pytest.raises(BatchRefused, match="rolled back"):
        apply(database, [stage(database, rows((9, "x", 0)))], 0)
    with pytest.raises(BatchRefused, match="another query"):
        apply(database, [stage(database, rows((9, "x", 2)))], 0, query_id="query-2")
    with pytest.raises(BatchRefused, match="below offset 2"):
        apply(database, [stage(database, rows((9, "x", 1)))], 2)
    assert table(database_url) == [(1, "a"), (2, "b")]
    assert _place(database) == (QUERY, 1)


def test_a_new_checkpoint_takes_over_and_the_old_query_is_fenced(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    apply(database, [stage(database, rows((1, "a", 0)))], 0)
    apply(database, [stage(database, rows((2, "b", 1)))], 0, query_id="query-2", takes_over=QUERY)
    with pytest.raises(BatchRefused, match="another query"):
        apply(database, [stage(database, rows((2, "b", 1)))], 1)
    assert table(database_url) == [(1, "a"), (2, "b")]


def test_upsert_keeps_the_last_row_of_each_key(database_url: str) -> None:
    database = connect(database_url, mode="upsert", keys="id")
    database.prepare(COLUMNS)
    # The later offsets are staged by the first task: neither tasks nor batches are in the topic's order.
    later = stage(database, rows((1, "new", 5), (3, "only", 6)))
    earlier = stage(database, rows((1, "old", 1), (2, "x", 2), (2, "y", 3)))
    apply(database, [later, earlier], 0)
    assert table(database_url) == [(1, "new"), (2, "y"), (3, "only")]
    apply(database, [stage(database, rows((2, "z", 7)), batch=1)], 1)
    assert table(database_url) == [(1, "new"), (2, "z"), (3, "only")]


def test_upsert_deletes_what_is_marked_in_the_order_of_the_topic(database_url: str) -> None:
    database = connect(database_url, mode="upsert", keys="id")
    database.prepare(COLUMNS)
    names = ("id", "name", TOPIC, PARTITION, OFFSET, DELETE)
    first = rows(
        (1, "a", 0), (2, "b", 1), (1, None, 2), (3, None, 3), (3, "c", 4), deletes=[False, None, True, True, False]
    )
    apply(database, [stage(database, first)], 0, names)
    assert table(database_url) == [(2, "b"), (3, "c")]
    apply(database, [stage(database, rows((2, None, 5), (9, None, 6), deletes=[True, True]), batch=1)], 1, names)
    assert table(database_url) == [(3, "c")]


@pytest.mark.parametrize("name", ["last", "gone", "excluded", "known", "order", 'an "odd" %s {name}'])
def test_tables_and_columns_may_have_any_name(database_url: str, name: str) -> None:
    database = connect(database_url, table=name, mode="upsert", keys=name)
    database.prepare([Column(name=name, type="bigint"), Column(name="name", type="string")])
    names = (name, "name", TOPIC, PARTITION, OFFSET, EVENT, DELETE)
    some = rows(
        (1, "a", 0), (2, "b", 1), (1, None, 2), events=["x", "y", "z"], deletes=[False, False, True]
    ).rename_columns(list(names))
    apply(database, [stage(database, some)], 0, names)
    quoted = '"' + name.replace('"', '""') + '"'
    assert query(database_url, f"SELECT {quoted}, name FROM {quoted}") == [(2, "b")]


def test_events_are_taken_once_by_their_id(database_url: str) -> None:
    database = connect(database_url)
    database.prepare(COLUMNS)
    names = ("id", "name", TOPIC, PARTITION, OFFSET, EVENT)
    first = rows(
        (1, "a", 0), (2, "b", 1), (1, "again", 2), (7, "none", 3), (8, "none", 4), events=["x", "y", "x", None, None]
    )
    apply(database, [stage(database, first)], 0, names)
    assert table(database_url) == [(1, "a"), (2, "b"), (7, "none"), (8, "none")]
    apply(database, [stage(database, rows((2, "again", 5), (3, "c", 6), events=["y", "z"]), batch=1)], 1, names)
    assert table(database_url) == [(1, "a"), (2, "b"), (3, "c"), (7, "none"), (8, "none")]


def test_every_type_arrives(database_url: str) -> None:
    moment = datetime.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=datetime.UTC)
    values: dict[str, tuple[str, pa.DataType, Any]] = {
        "a_long": ("bigint", pa.int64(), -(2**63)),
        "a_short": ("smallint", pa.int16(), 7),
        "a_double": ("double", pa.float64(), 0.1),
        "a_boolean": ("boolean", pa.bool_(), True),
        "a_string": ("string", pa.string(), "žluťoučký 😀"),
        "a_binary": ("binary", pa.binary(), b"\x00\xff\\"),
        "a_date": ("date", pa.date32(), moment.date()),
        "a_timestamp": ("timestamp", pa.timestamp("us", "UTC"), moment),
        "a_decimal": ("decimal(12,3)", pa.decimal128(12, 3), decimal.Decimal("12345.678")),
        "an_array": ("array<string>", pa.string(), '["x"]'),
    }
    database = connect(database_url)
    database.prepare([Column(name=name, type=kind) for name, (kind, _, _) in values.items()])
    batch = pa.RecordBatch.from_pydict(
        {name: pa.array([value, None], kind) for name, (_, kind, value) in values.items()}
    )
    apply(database, [stage(database, batch)], 0, tuple(values))
    found = query(database_url, f"SELECT {', '.join(values)} FROM orders WHERE a_long IS NOT NULL")[0]
    expected = {name: value for name, (_, _, value) in values.items()}
    if database_url.startswith("sqlite"):
        expected |= {
            "a_date": "2026-02-03",
            "a_timestamp": "2026-02-03 04:05:06.000789+00:00",
            "a_decimal": "12345.678",
        }
    else:
        expected |= {"an_array": ["x"]}
    assert dict(zip(values, found, strict=True)) == expected
    assert query(database_url, "SELECT * FROM orders WHERE a_long IS NULL") == [(None,) * len(values)]


def test_a_table_that_lacks_a_column_or_a_key_is_told_with_the_remedy(database_url: str) -> None:
    query(database_url, "CREATE TABLE orders (id BIGINT)")
    with pytest.raises(DatabaseProblem, match="has no column name"):
        connect(database_url).prepare(COLUMNS)
    query(database_url, "ALTER TABLE orders ADD COLUMN name TEXT")
    connect(database_url).prepare(COLUMNS)
    with pytest.raises(DatabaseProblem, match="CREATE UNIQUE INDEX") as problem:
        connect(database_url, mode="upsert", keys="id").prepare(COLUMNS)
    query(database_url, str(problem.value).split("Create one: ")[1])
    connect(database_url, mode="upsert", keys="id").prepare(COLUMNS)


def test_a_staging_table_that_lost_its_rows_is_noticed(postgresql_url: str) -> None:
    """Unlogged tables are empty after a crash of the server."""
    database = connect(postgresql_url)
    database.prepare(COLUMNS)
    staged = stage(database, rows((1, "a", 0)))
    query(postgresql_url, f"TRUNCATE {staged.location}")
    with pytest.raises(DatabaseProblem, match="holds 0 rows instead of 1"):
        apply(database, [staged], 0)
    assert database.stored_state().progress is None


def test_a_commit_whose_connection_broke_is_looked_up_before_it_is_repeated(postgresql_url: str) -> None:
    database = connect(postgresql_url)
    database.prepare(COLUMNS)
    staged = stage(database, rows((1, "a", 0)))
    # The first attempt waits for a lock that the test holds; its connection is cut meanwhile, and the second one works.
    with psycopg.connect(postgresql_url) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(hashtextextended('tidelog p', 0))")
        verdicts: list[ProgressVerdict] = []
        thread = threading.Thread(target=lambda: verdicts.append(apply(database, [staged], 0)))
        thread.start()
        cut = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        wait_until(lambda: query(postgresql_url, cut), what="the wait for the lock")
    thread.join(60)
    assert verdicts == [ProgressVerdict.APPLY]
    assert table(postgresql_url) == [(1, "a")]


def leftovers(url: str) -> list[Any]:
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return list(path.parent.glob(f"{path.name}-tidelog-*/*"))
    return query(url, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'tidelog_staging%'")


def test_a_driver_that_hangs_in_its_transaction_does_not_hold_up_the_next_one_for_ever(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = connect(postgresql_url)
    database.prepare(COLUMNS)
    staged = stage(database, rows((1, "a", 0)))
    monkeypatch.setattr(postgresql, "IDLE_TRANSACTION_MS", 500)
    hangs = threading.Event()
    verdicts: list[ProgressVerdict] = []

    def hang(*_: object) -> None:
        hangs.set()
        wait_until(lambda: database.stored_state().progress, what="the commit of the other driver")

    with monkeypatch.context() as patch:
        patch.setattr(postgresql, "crash_point", hang)
        thread = threading.Thread(target=lambda: verdicts.append(apply(database, [staged], 0)))
        thread.start()
        assert hangs.wait(60)
    assert apply(connect(postgresql_url), [stage(database, rows((1, "a", 0)))], 0) is ProgressVerdict.APPLY
    thread.join(60)
    # The one that was thrown out looks again, and finds that the batch is there.
    assert verdicts == [ProgressVerdict.ALREADY_APPLIED]
    assert table(postgresql_url) == [(1, "a")]


def test_tables_may_be_in_a_schema_of_their_own(postgresql_url: str) -> None:
    query(postgresql_url, "CREATE SCHEMA sales")
    options = {"url": postgresql_url, "table": "sales.orders", "pipeline": "p", "mode": "upsert", "keys": "id"}
    database = open_database(parse_sink_options(options))
    database.prepare(COLUMNS)
    stage(database, rows((9, "lost", 0)))
    apply(database, [stage(database, rows((1, "a", 0), (1, "b", 1)))], 0)
    assert query(postgresql_url, "SELECT id, name FROM sales.orders") == [(1, "b")]
    assert query(postgresql_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'sales' ORDER BY tablename") == [
        ("orders",),
        ("tidelog_message_log",),
        ("tidelog_offsets",),
        ("tidelog_progress",),
    ]
