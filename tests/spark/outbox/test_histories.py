"""PostgreSQL crashes, is restored from a backup, fails over to a replica: no event is lost or relayed twice.

The servers are real ones. A relay is the reader with a sink that keeps what it was given; its checkpoint is a position.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support.postgresql_node import PostgresqlNode, postgresql_node, started

from tidelog.spark.databases.options import parse_url
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox import marks, postgresql_connection
from tidelog.spark.outbox.marks import MARKS_TABLE
from tidelog.spark.outbox.tables import Offset, OutboxSettings, OutboxTable, PositionLost, open_outbox

COLUMNS = ("id", "aggregateid", "payload", "aggregatetype")
INSERT = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (%s, 'order', %s, 'made', '{}')"


def outbox(url: str, *, deletes: bool = False) -> OutboxTable:
    return open_outbox(
        OutboxSettings(
            url=parse_url(url), table="outbox", columns=COLUMNS, route_by="aggregatetype", delete_relayed=deletes
        )
    )


class Relay:
    """Reads batch after batch and deletes what it has relayed, as Spark would have it done."""

    def __init__(self, url: str, *, limit: int | None = None) -> None:
        self.url = url
        self.limit = limit
        self.position: Offset = outbox(url).initial()
        self.relayed: list[str] = []

    def step(self) -> bool:
        table = outbox(self.url, deletes=True)
        end = table.latest(self.position, self.limit, None)
        if end == self.position:
            return False
        self.relayed += [row["aggregateid"] for row in table.rows(self.position, end)]
        self.position = end
        table.relayed(end)
        return True

    def run(self) -> list[str]:
        while self.step():
            pass
        return self.relayed


def write(url: str, *numbers: int, settings: str = "") -> None:
    """Each event in a transaction of its own."""
    with psycopg.connect(url, autocommit=True, options=settings) as connection:
        for number in numbers:
            connection.execute(INSERT, (uuid.uuid4(), str(number)))


def texts(numbers: range) -> list[str]:
    return [str(number) for number in numbers]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresqlNode]:
    with postgresql_node(tmp_path_factory.mktemp("histories"), "wal_level=replica") as node:
        yield node


@pytest.fixture
def node(server: PostgresqlNode) -> PostgresqlNode:
    server.query(f"DROP TABLE IF EXISTS outbox, {MARKS_TABLE}, {marks.OWNERS_TABLE}")
    outbox(server.url).create()
    outbox(server.url).check()
    return server


@pytest.mark.parametrize("limit", [None, 2])
def test_events_whose_ids_would_come_again_after_a_crash_are_relayed(node: PostgresqlNode, limit: int | None) -> None:
    relay = Relay(node.url, limit=limit)
    write(node.url, *range(7))
    # The disk knows nothing of these ids when the relay reads what is below them.
    node.spend_ids(47)
    assert relay.run() == texts(range(7))
    node.crash()
    node.start()
    assert int(relay.position["low"]) <= node.next_id()
    write(node.url, *range(7, 27))
    assert relay.run() == texts(range(27))


def test_a_crash_between_planning_and_reading_changes_no_batch(node: PostgresqlNode) -> None:
    table = outbox(node.url)
    start = table.initial()
    # Acknowledged before it is on disk: the mark of the position takes it there.
    write(node.url, *range(5), settings="-c synchronous_commit=off")
    end = table.latest(start, None, None)
    node.crash_so_that_ids_come_again()
    write(node.url, *range(5, 10))
    assert [row["aggregateid"] for row in table.rows(start, end)] == texts(range(5))
    following = table.latest(end, None, None)
    assert [row["aggregateid"] for row in table.rows(end, following)] == texts(range(5, 10))


def test_an_open_transaction_over_a_crash_holds_back_nothing_that_is_not_there(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    with psycopg.connect(node.url) as late:
        late.execute(INSERT, (uuid.uuid4(), "late"))
        write(node.url, 1)
        assert relay.run() == []
        node.crash()
        node.start()
        late.close()
    write(node.url, 2)
    assert relay.run() == ["1", "2"]


def test_a_transaction_that_was_prepared_before_a_crash_keeps_its_place(tmp_path: Path) -> None:
    with postgresql_node(tmp_path, "max_prepared_transactions=5") as node:
        outbox(node.url).create()
        relay = Relay(node.url)
        with psycopg.connect(node.url) as two_phases:
            two_phases.execute(INSERT, (uuid.uuid4(), "1"))
            two_phases.execute("PREPARE TRANSACTION 'one'")
            two_phases.rollback()
        write(node.url, 2)
        assert relay.run() == []
        node.crash()
        node.start()
        assert relay.run() == []
        node.query("COMMIT PREPARED 'one'")
        assert relay.run() == ["1", "2"]


@pytest.mark.slow
def test_an_older_backup_stops_the_relay_before_it_reads_or_deletes(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    old = node.copy("old")
    write(node.url, *range(2, 5))
    relay.run()
    with started(old):
        # The ids of 2, 3 and 4 are given out again here, and a copy of the files does not even have another timeline.
        write(old.url, *range(20, 40))
        relay.url = old.url
        with pytest.raises(
            PositionLost, match=r"this database has lost what was committed at transaction .*restored from a backup"
        ):
            relay.step()
        with pytest.raises(PositionLost, match="delete the checkpoint"):
            outbox(old.url, deletes=True).relayed(relay.position)
        with pytest.raises(PositionLost):
            list(outbox(old.url).rows(outbox(old.url).initial(), relay.position))
        assert [row[0] for row in old.query("SELECT aggregateid FROM outbox ORDER BY sequence")] == texts(range(20, 40))
        # What the message says: another checkpoint relays what is in the table.
        assert Relay(old.url).run() == texts(range(20, 40))


@pytest.mark.slow
def test_a_replica_that_has_everything_takes_over_without_a_stop(
    node: PostgresqlNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Relay(node.url)
    replica = node.copy("follower")
    replica.follow(node)
    with started(replica):
        write(node.url, *range(5))
        relay.run()
        write(node.url, 5)
        replica.wait_for(node)
        with pytest.raises(DatabaseProblem, match="is a hot standby"):
            outbox(replica.url).check()
        monkeypatch.setattr(postgresql_connection, "PATIENCE_SECONDS", 0.5)
        with pytest.raises(DatabaseProblem, match="target_session_attrs"):
            outbox(replica.url).latest(relay.position, None, None)
        replica.promote()
        write(replica.url, *range(6, 10))
        timeline = relay.position["timeline"]
        relay.url = replica.url
        assert relay.run() == texts(range(10))
        assert int(relay.position["timeline"]) == int(timeline) + 1
        # The old primary has not noticed: its history is another one now.
        write(node.url, 99)
        relay.url = node.url
        with pytest.raises(PositionLost, match="replica took over"):
            relay.step()


@pytest.mark.slow
def test_a_replica_that_lacks_what_was_relayed_stops_the_relay(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    replica = node.copy("lagging")
    replica.follow(node)
    with started(replica):
        write(node.url, 1)
        replica.wait_for(node)
    write(node.url, 2, 3)
    assert relay.run() == texts(range(1, 4))
    # It comes back without the primary, as when the primary's machine is gone.
    replica.settings = tuple(one for one in replica.settings if not one.startswith("primary_conninfo"))
    with started(replica):
        replica.promote()
        write(replica.url, *range(20, 30))
        relay.url = replica.url
        with pytest.raises(PositionLost, match="timeline"):
            relay.step()


def test_a_dump_that_is_loaded_again_stops_the_relay(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    # What pg_dump and psql do: the rows come back, written by another transaction.
    rows = node.query(f"SELECT token, reader, transaction_id FROM {MARKS_TABLE}")
    node.query(f"TRUNCATE {MARKS_TABLE}")
    for token, reader, transaction in rows:
        node.query(f"INSERT INTO {MARKS_TABLE} VALUES (%s, %s, %s::text::xid8)", token, reader, str(transaction))
    write(node.url, 2)
    with pytest.raises(PositionLost, match="loaded from a dump"):
        relay.step()


def test_maintenance_of_the_tables_stops_nobody(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    for statement in ("VACUUM (FULL, FREEZE)", f"ALTER TABLE {MARKS_TABLE} ADD COLUMN note text", "CHECKPOINT"):
        node.query(statement)
    node.query("ALTER TABLE outbox ALTER COLUMN type TYPE text")
    write(node.url, 2)
    assert relay.run() == ["1", "2"]


def test_another_table_under_the_same_name_stops_the_relay(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    node.query("DROP TABLE outbox")
    outbox(node.url).create()
    write(node.url, 2)
    with pytest.raises(PositionLost, match="was dropped and recreated"):
        relay.step()


def test_positions_without_a_mark_are_refused_with_what_to_do(node: PostgresqlNode) -> None:
    write(node.url, 1)
    old: Offset = {"low": 800, "high": 800, "after": 0}
    for use in (
        lambda: outbox(node.url).latest(old, None, None),
        lambda: outbox(node.url, deletes=True).relayed(old),
        lambda: list(outbox(node.url).rows(outbox(node.url).initial(), old)),
    ):
        with pytest.raises(PositionLost, match="the checkpoint was written by a version that kept no mark"):
            use()
    assert Relay(node.url).run() == ["1"]


def test_another_server_is_told_by_its_identifier(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    relay.position = {**relay.position, "system": "7000000000000000001"}
    with pytest.raises(PositionLost, match=r"this is another PostgreSQL server.*7000000000000000001"):
        relay.step()


def test_marks_do_not_pile_up_and_those_in_use_remain(node: PostgresqlNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.spark.outbox.postgresql_marks.MARKS_KEPT", 3)
    relay = Relay(node.url)
    positions = []
    for number in range(10):
        write(node.url, number)
        relay.run()
        positions.append(relay.position)
    assert len(node.query(f"SELECT token FROM {MARKS_TABLE}")) <= 5
    # Plans that came to nothing never push out the position that the reader comes back to.
    write(node.url, 10)
    for _ in range(10):
        outbox(node.url).latest(relay.position, None, None)
    assert relay.run() == texts(range(11))
    with pytest.raises(PositionLost):
        outbox(node.url).latest(positions[0], None, None)


def test_nothing_is_written_while_there_is_nothing_to_read(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    before = node.next_id(), node.query(f"SELECT token FROM {MARKS_TABLE}")
    for _ in range(3):
        assert not relay.step()
    assert (node.next_id(), node.query(f"SELECT token FROM {MARKS_TABLE}")) == before


def test_rows_that_somebody_deletes_within_a_window_hold_up_nobody(node: PostgresqlNode) -> None:
    table = outbox(node.url)
    write(node.url, 1, 2, 3)
    cut = table.latest(table.initial(), 1, None)
    node.query("DELETE FROM outbox")
    write(node.url, 4)
    behind = table.latest(cut, 1, None)
    assert list(table.rows(cut, behind)) == []
    end = table.latest(behind, 1, None)
    assert [row["aggregateid"] for row in table.rows(behind, end)] == ["4"]


def test_sequence_numbers_below_one_and_equal_ones_are_read(node: PostgresqlNode) -> None:
    node.query("ALTER TABLE outbox ALTER COLUMN sequence SET GENERATED BY DEFAULT")
    for number, sequence in enumerate((-5, 0, 1, 1, 1, 2)):
        node.query(
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, sequence)"
            " VALUES (%s, 'order', %s, 'made', '{}', %s)",
            uuid.uuid4(),
            str(number),
            sequence,
        )
    relay = Relay(node.url, limit=3)
    assert sorted(relay.run()) == texts(range(6))


def test_only_one_reader_deletes(node: PostgresqlNode) -> None:
    first, second = Relay(node.url), Relay(node.url)
    write(node.url, 1)
    first.run()
    write(node.url, 2)
    # A new checkpoint takes over. The one before would pass over what is deleted now.
    second.run()
    write(node.url, 3)
    with pytest.raises(PositionLost, match="another pipeline, or another checkpoint of this one, deletes the rows"):
        first.step()
    with pytest.raises(PositionLost, match="another pipeline, or another checkpoint of this one, deletes the rows"):
        outbox(node.url, deletes=True).relayed(first.position)
    assert node.query("SELECT aggregateid FROM outbox") == [("3",)]
    assert second.run() == ["2", "3"]


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["ALTER TABLE outbox SET UNLOGGED"], "SET LOGGED"),
        (["ALTER TABLE outbox ALTER COLUMN transaction_id DROP NOT NULL"], "SET NOT NULL"),
        (["ALTER TABLE outbox ALTER COLUMN transaction_id DROP DEFAULT"], "SET DEFAULT"),
        (
            ["ALTER TABLE outbox DROP COLUMN sequence", "ALTER TABLE outbox ADD COLUMN sequence bigint"],
            "SET NOT NULL",
        ),
        (["ALTER TABLE outbox RENAME TO events", "CREATE VIEW outbox AS SELECT * FROM events"], "is not a table"),
        (
            [
                "INSERT INTO outbox (aggregatetype, aggregateid, type, transaction_id)"
                " VALUES ('a', 'b', 'c', '99999999')"
            ],
            "UPDATE outbox SET transaction_id = DEFAULT",
        ),
    ],
)
def test_tables_in_which_rows_would_be_passed_over_are_refused(
    node: PostgresqlNode, statements: list[str], told: str
) -> None:
    try:
        for statement in statements:
            node.query(statement)
        with pytest.raises(DatabaseProblem, match=told):
            outbox(node.url).check()
    finally:
        node.query("DROP VIEW IF EXISTS outbox" if "VIEW" in statements[-1] else "SELECT 1")
        node.query("DROP TABLE IF EXISTS events")


def test_roles_without_rights_are_told_what_to_grant(node: PostgresqlNode) -> None:
    node.query(f"DROP TABLE {MARKS_TABLE}, {marks.OWNERS_TABLE}")
    node.query("DROP ROLE IF EXISTS relay")
    node.query("CREATE ROLE relay LOGIN")
    node.query("GRANT SELECT, INSERT ON outbox TO relay")
    url = node.url.replace("tidelog@", "relay@")
    try:
        with pytest.raises(DatabaseProblem, match="As an administrator: CREATE TABLE") as problem:
            outbox(url).check()
        for statement in str(problem.value).split("As an administrator: ")[1].split("; "):
            node.query(statement)
        outbox(url).check()
        with pytest.raises(DatabaseProblem, match="GRANT SELECT, DELETE ON outbox") as problem:
            outbox(url, deletes=True).check()
        write(url, 1)
        end = outbox(url).latest(outbox(url).initial(), None, None)
        assert len(list(outbox(url).rows(outbox(url).initial(), end))) == 1
        node.query("ALTER TABLE outbox ENABLE ROW LEVEL SECURITY")
        with pytest.raises(DatabaseProblem, match="row-level security"):
            outbox(url).check()
    finally:
        node.query("DROP OWNED BY relay")


def test_a_server_that_restarts_is_waited_for(node: PostgresqlNode) -> None:
    import threading

    table = outbox(node.url)
    write(node.url, 1)
    node.crash()
    starter = threading.Timer(0.5, node.start)
    starter.start()
    try:
        end = table.latest(table.initial(), None, None)
        assert [row["aggregateid"] for row in table.rows(table.initial(), end)] == ["1"]
    finally:
        starter.join()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_an_older_copy_of_a_sqlite_file_stops_the_relay(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "shop.db"
    url = f"sqlite:///{path}"
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA journal_mode = {journal}")
    outbox(url).create()
    outbox(url).check()
    relay = Relay(url)
    write_sqlite(path, 1)
    relay.run()
    with closing(sqlite3.connect(path)) as file, closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        file.backup(copy)
    write_sqlite(path, 2, 3)
    assert relay.run() == ["1", "2", "3"]
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy, closing(sqlite3.connect(path)) as file:
        copy.backup(file)
    # These have the numbers of 2 and 3.
    write_sqlite(path, 20, 30, 40)
    with pytest.raises(PositionLost, match="is an older copy of the database, or another one"):
        relay.step()
    with pytest.raises(PositionLost, match="is an older copy of the database, or another one"):
        outbox(url, deletes=True).relayed(relay.position)
    with pytest.raises(PositionLost, match="is an older copy of the database, or another one"):
        list(outbox(url).rows(outbox(url).initial(), relay.position))
    assert Relay(url).run() == ["20", "30", "40"]


def test_a_sqlite_table_that_was_dropped_and_recreated_stops_the_relay(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    url = f"sqlite:///{path}"
    outbox(url).create()
    relay = Relay(url)
    write_sqlite(path, 1, 2)
    relay.run()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DROP TABLE outbox")
    outbox(url).create()
    write_sqlite(path, 3, 4, 5)
    with pytest.raises(PositionLost, match="was dropped and recreated"):
        relay.step()


def test_a_sqlite_dump_carries_the_marks_and_numbers_with_it(tmp_path: Path) -> None:
    path, loaded = tmp_path / "shop.db", tmp_path / "loaded.db"
    outbox(f"sqlite:///{path}").create()
    relay = Relay(f"sqlite:///{path}")
    write_sqlite(path, 1, 2)
    relay.run()
    with closing(sqlite3.connect(path)) as file, closing(sqlite3.connect(loaded)) as other:
        other.executescript("\n".join(file.iterdump()))
    relay.url = f"sqlite:///{loaded}"
    write_sqlite(loaded, 3)
    assert relay.run() == ["1", "2", "3"]


def write_sqlite(path: Path, *numbers: int) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for number in numbers:
            file.execute(INSERT.replace("%s", "?"), (str(uuid.uuid4()), str(number)))


def test_a_server_that_stays_away_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: PostgresqlNode
) -> None:
    monkeypatch.setattr(postgresql_connection, "PATIENCE_SECONDS", 0.5)
    write(node.url, 1)
    table = outbox(node.url)
    end = table.latest(table.initial(), None, None)
    node.crash()
    try:
        for use in (lambda: table.latest(end, None, None), lambda: list(table.rows(table.initial(), end)), table.check):
            with pytest.raises(DatabaseProblem, match=r"(?i)connection refused") as problem:
                use()
            # By this name pipelines know what is worth another try.
            assert type(problem.value) is DatabaseProblem
    finally:
        node.start()
