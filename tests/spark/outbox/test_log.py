"""The outbox from PostgreSQL's write-ahead log: real servers, crashes, lost slots, fail-overs."""

from __future__ import annotations

import datetime
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from support.postgresql_node import PostgresqlNode, postgresql_node, started
from support.processes import wait_until

from tidelog.spark.databases.options import parse_url
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox import log_positions, postgresql_connection
from tidelog.spark.outbox.log_changes import InvalidChange, OnUpdate
from tidelog.spark.outbox.marks import MARKS_TABLE, OWNERS_TABLE
from tidelog.spark.outbox.tables import LogSettings, Offset, OutboxSettings, OutboxTable, PositionLost, open_outbox

COLUMNS = ("id", "aggregateid", "payload", "aggregatetype")
INSERT = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (%s, 'order', %s, 'made', '{}')"
SLOT = "relay"


def outbox(
    url: str, *, slot: str = SLOT, on_update: OnUpdate = OnUpdate.WARN, columns: tuple[str, ...] = COLUMNS
) -> OutboxTable:
    return open_outbox(
        OutboxSettings(
            url=parse_url(url),
            table="outbox",
            columns=columns,
            route_by="aggregatetype",
            log=LogSettings(slot=slot, publication=slot, on_update=on_update),
        )
    )


class Relay:
    """Reads batch after batch as Spark does: `relayed` comes when the next batch has been planned."""

    def __init__(self, url: str, *, slot: str = SLOT, limit: int | None = None) -> None:
        self.url = url
        self.slot = slot
        self.limit = limit
        self.position: Offset = outbox(url, slot=slot).initial()
        self.batches: list[list[str]] = []

    def step(self) -> bool:
        table = outbox(self.url, slot=self.slot)
        end = table.latest(self.position, self.limit, None)
        if end == self.position:
            return False
        table.relayed(self.position)
        self.batches.append([row["aggregateid"] for row in table.rows(self.position, end)])
        self.position = end
        return True

    def run(self) -> list[str]:
        while self.step():
            pass
        return [event for batch in self.batches for event in batch]


def write(url: str, *numbers: int, delete: bool = True) -> None:
    """All in one transaction; the rows are deleted in it, as is usual with Debezium."""
    with psycopg.connect(url) as connection:
        for number in numbers:
            connection.execute(INSERT, (uuid.uuid4(), str(number)))
        if delete:
            connection.execute("DELETE FROM outbox")


def texts(numbers: range) -> list[str]:
    return [str(number) for number in numbers]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresqlNode]:
    with postgresql_node(tmp_path_factory.mktemp("log"), "wal_level=logical") as node:
        yield node


@pytest.fixture
def empty(server: PostgresqlNode) -> PostgresqlNode:
    for (slot,) in server.query("SELECT slot_name FROM pg_replication_slots"):
        server.query("SELECT pg_drop_replication_slot(%s)", slot)
    for (name,) in server.query("SELECT pubname FROM pg_publication"):
        server.query(f"DROP PUBLICATION {name}")
    server.query(f"DROP TABLE IF EXISTS outbox, {MARKS_TABLE}, {OWNERS_TABLE}")
    return server


@pytest.fixture
def node(empty: PostgresqlNode) -> PostgresqlNode:
    outbox(empty.url).create()
    outbox(empty.url).check()
    return empty


def test_events_that_are_deleted_at_once_are_relayed_and_the_table_stays_empty(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1, 2)
    write(node.url, 3)
    assert node.query("SELECT id FROM outbox") == []
    assert relay.run() == ["1", "2", "3"]
    assert not relay.step()
    write(node.url, 4)
    assert relay.run() == ["1", "2", "3", "4"]


def test_transactions_stay_whole_and_come_in_the_order_of_their_commits(node: PostgresqlNode) -> None:
    relay = Relay(node.url, limit=3)
    with psycopg.connect(node.url) as late:
        late.execute(INSERT, (uuid.uuid4(), "late"))
        write(node.url, 1, 2)
        write(node.url, 3, 4)
        write(node.url, *range(10, 15))
        assert relay.run() == ["1", "2", "3", "4", *texts(range(10, 15))]
        # Two and two are more than three; five are one transaction.
        assert [len(batch) for batch in relay.batches] == [2, 2, 5]
        late.commit()
    with psycopg.connect(node.url) as undone:
        undone.execute(INSERT, (uuid.uuid4(), "undone"))
        undone.rollback()
    assert relay.run()[-1] == "late"
    assert "undone" not in relay.run()


def test_rolled_back_savepoints_and_other_tables_leave_nothing(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    node.query("CREATE TABLE IF NOT EXISTS orders (number integer)")
    with psycopg.connect(node.url) as connection:
        connection.execute("INSERT INTO orders VALUES (1)")
        connection.execute(INSERT, (uuid.uuid4(), "1"))
        connection.execute("SAVEPOINT before")
        connection.execute(INSERT, (uuid.uuid4(), "undone"))
        connection.execute("ROLLBACK TO before")
        connection.execute(INSERT, (uuid.uuid4(), "2"))
    assert relay.run() == ["1", "2"]


def test_values_are_those_that_a_query_gives(node: PostgresqlNode) -> None:
    node.query("ALTER TABLE outbox ADD COLUMN at timestamptz, ADD COLUMN raw bytea, ADD COLUMN urgent boolean")
    columns = (*COLUMNS, "at", "raw", "urgent")
    event = uuid.uuid4()
    node.query(
        "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, at, raw, urgent)"
        " VALUES (%s, 'k', 'é', 't', '{\"b\": 1.10, \"a\": null}', '2026-01-02 03:04:05.5+01', '\\x00ff', true)",
        event,
    )
    table = outbox(node.url, columns=columns)
    start = table.initial()
    end = table.latest(start, None, None)
    assert table.routes(start, end) == outbox(node.url, columns=columns).routes(start, end) == ["k"]
    assert list(table.rows(start, end)) == [
        {
            "id": event,
            "aggregatetype": "k",
            "aggregateid": "é",
            "payload": '{"a": null, "b": 1.10}',
            "at": datetime.datetime(2026, 1, 2, 2, 4, 5, 500000, tzinfo=datetime.UTC),
            "raw": b"\x00\xff",
            "urgent": True,
        }
    ]


def test_a_batch_is_the_same_whenever_it_is_read_also_after_a_crash(node: PostgresqlNode) -> None:
    table = outbox(node.url)
    start = table.initial()
    write(node.url, 1, 2)
    end = table.latest(start, None, None)
    write(node.url, 3)
    before = list(table.rows(start, end))
    node.crash()
    node.start()
    assert list(table.rows(start, end)) == before
    following = table.latest(end, None, None)
    assert [row["aggregateid"] for row in table.rows(end, following)] == ["3"]


def test_a_crash_that_puts_the_slot_back_repeats_nothing(node: PostgresqlNode) -> None:
    relay = Relay(node.url, limit=2)
    node.query("CHECKPOINT")
    for number in range(10):
        write(node.url, number)
    relay.run()
    outbox(node.url).relayed(relay.position)
    moved = confirmed(node)
    node.crash()
    node.start()
    assert confirmed(node) < moved
    write(node.url, 10)
    # Ten transactions lie between the slot and the position, more than a batch may have.
    assert relay.run() == texts(range(11))


def test_the_slot_is_moved_on_with_what_is_committed_only(node: PostgresqlNode) -> None:
    table = outbox(node.url)
    start = table.initial()
    write(node.url, 1)
    end = table.latest(start, None, None)
    list(table.rows(start, end))
    assert confirmed(node) == start["lsn"]
    table.relayed(end)
    assert confirmed(node) == end["lsn"]
    table.relayed(end)
    assert confirmed(node) == end["lsn"]


def test_log_of_others_does_not_pile_up_behind_a_quiet_outbox(
    node: PostgresqlNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.spark.outbox.postgresql_log.IDLE_BYTES", 100_000)
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    node.query("CREATE TABLE noise AS SELECT generate_series(1, 20000) AS number")
    assert relay.step()
    write(node.url, 2)
    node.query("INSERT INTO noise SELECT generate_series(1, 20000)")
    assert relay.step()
    assert confirmed(node) > log_positions.log_position_from(relay.position).lsn - 10_000_000
    assert relay.run() == ["1", "2"]
    assert [len(batch) for batch in relay.batches if batch] == [1, 1]


def test_what_comes_after_the_target_is_left_for_the_next_run(
    node: PostgresqlNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.spark.outbox.postgresql_log.IDLE_BYTES", 0)
    table = outbox(node.url)
    start = table.initial()
    write(node.url, 1)
    target = table.target()
    write(node.url, 2)
    end = table.latest(start, None, target)
    assert [row["aggregateid"] for row in table.rows(start, end)] == ["1"]
    # An empty batch up to the target at most, and nothing of what lies behind it.
    behind = table.latest(end, None, target)
    assert list(table.rows(end, behind)) == []
    last = table.latest(behind, None, None)
    assert [row["aggregateid"] for row in table.rows(behind, last)] == ["2"]


def test_a_large_transaction_is_read_in_pieces(node: PostgresqlNode) -> None:
    relay = Relay(node.url, limit=10)
    node.query(
        "INSERT INTO outbox (aggregatetype, aggregateid, type, payload)"
        " SELECT 'order', number::text, 'made', jsonb_build_object('text', repeat('x', 1000))"
        " FROM generate_series(1, 5000) AS number"
    )
    assert relay.run() == texts(range(1, 5001))


@pytest.mark.parametrize("behavior", list(OnUpdate))
def test_updates_are_not_events(node: PostgresqlNode, behavior: OnUpdate) -> None:
    table = outbox(node.url, on_update=behavior)
    start = table.initial()
    write(node.url, 1, delete=False)
    node.query("UPDATE outbox SET aggregateid = '2'")
    if behavior is OnUpdate.FATAL:
        with pytest.raises(InvalidChange, match="was updated"):
            table.latest(start, None, None)
        return
    end = table.latest(start, None, None)
    assert [row["aggregateid"] for row in table.rows(start, end)] == ["1"]


def test_a_dropped_slot_stops_the_relay_also_when_it_is_made_again(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    node.query("SELECT pg_drop_replication_slot(%s)", SLOT)
    write(node.url, 2)
    with pytest.raises(PositionLost, match="does not exist"):
        relay.step()
    outbox(node.url).create()
    with pytest.raises(PositionLost, match="dropped and recreated"):
        relay.step()
    with pytest.raises(PositionLost, match="pg_drop_replication_slot"):
        list(outbox(node.url).rows(relay.position, {**relay.position, "lsn": int(relay.position["lsn"]) + 1}))


def test_a_batch_is_not_read_in_part_when_the_slot_was_moved_on(node: PostgresqlNode) -> None:
    table = outbox(node.url)
    start = table.initial()
    write(node.url, 1)
    write(node.url, 2)
    end = table.latest(start, 1, None)
    node.query("SELECT pg_replication_slot_advance(%s, pg_current_wal_flush_lsn())", SLOT)
    with pytest.raises(PositionLost, match="older copy"):
        list(table.rows(start, end))


def test_an_invalidated_slot_stops_the_relay(tmp_path: Path) -> None:
    settings = ("wal_level=logical", "max_slot_wal_keep_size=1MB", "min_wal_size=32MB", "max_wal_size=32MB")
    with postgresql_node(tmp_path, *settings) as node:
        outbox(node.url).create()
        relay = Relay(node.url)
        write(node.url, 1)
        relay.run()
        for _ in range(4):
            node.query("SELECT pg_switch_wal()")
            write(node.url, 2)
        node.query("CHECKPOINT")
        with pytest.raises(PositionLost, match=r"was invalidated.*max_slot_wal_keep_size"):
            relay.step()


@pytest.mark.slow
def test_a_replica_that_takes_over_has_no_slot_and_stops_the_relay(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    replica = node.copy("other")
    replica.follow(node)
    replica.settings = (*replica.settings, "wal_level=logical")
    with started(replica):
        replica.wait_for(node)
        replica.promote()
        relay.url = replica.url
        with pytest.raises(PositionLost, match="a replica without it took over"):
            relay.step()
        # A slot that was copied along, or made in time: the mark decides whether the history is the same.
        replica.query("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", SLOT)
        with pytest.raises(PositionLost, match="begins at"):
            relay.step()


def test_a_history_that_lacks_the_mark_stops_the_relay_whatever_the_slot_says(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    node.query(f"DELETE FROM {MARKS_TABLE}")
    write(node.url, 2)
    with pytest.raises(PositionLost, match=r"restored from a backup.*drop the slot"):
        relay.step()


def test_a_table_that_left_the_publication_for_a_while_stops_the_relay(node: PostgresqlNode) -> None:
    relay = Relay(node.url)
    write(node.url, 1)
    relay.run()
    node.query(f"ALTER PUBLICATION {SLOT} DROP TABLE outbox")
    write(node.url, 2)
    with pytest.raises(DatabaseProblem, match=f'ALTER PUBLICATION "{SLOT}" ADD TABLE') as problem:
        relay.step()
    node.query(f"ALTER PUBLICATION{str(problem.value).split('ALTER PUBLICATION')[1]}")
    with pytest.raises(PositionLost, match="was taken out of the publication relay and put back"):
        relay.step()


def test_two_readers_of_one_slot_are_refused(node: PostgresqlNode) -> None:
    first, second = Relay(node.url), Relay(node.url)
    write(node.url, 1)
    first.run()
    write(node.url, 2)
    first.run()
    with pytest.raises(PositionLost, match=r"begins at|is read by another pipeline"):
        second.step()
    late = Relay(node.url)
    with pytest.raises(
        PositionLost, match=r"the replication slot relay is read by another pipeline.*Name another slot"
    ) as problem:
        late.step()
    # What the message says for a checkpoint that is gone.
    node.query("DELETE" + str(problem.value).split("DELETE")[1])
    write(node.url, 3)
    assert late.run()[-1] == "3"


def test_a_slot_that_is_in_use_is_waited_for_and_told(node: PostgresqlNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_connection, "PATIENCE_SECONDS", 1.0)
    relay = Relay(node.url)
    write(node.url, 1)
    with streaming(node), pytest.raises(DatabaseProblem, match=r"something else reads the slot.*slot of its own"):
        relay.step()
    monkeypatch.setattr(postgresql_connection, "PATIENCE_SECONDS", 30.0)
    assert relay.run() == ["1"]


def test_rows_from_before_the_slot_are_not_passed_over_in_silence(empty: PostgresqlNode) -> None:
    open_outbox(
        OutboxSettings(url=parse_url(empty.url), table="outbox", columns=COLUMNS, route_by="aggregatetype")
    ).create()
    write(empty.url, 1, delete=False)
    with pytest.raises(DatabaseProblem, match="before there was a replication slot") as problem:
        outbox(empty.url).create()
    assert empty.query("SELECT slot_name FROM pg_replication_slots") == []
    empty.query("SELECT" + str(problem.value).split("SELECT")[1])
    outbox(empty.url).create()
    relay = Relay(empty.url)
    write(empty.url, 2, delete=False)
    assert relay.run() == ["2"]


def test_checkpoints_of_the_other_mode_and_of_other_slots_are_refused(node: PostgresqlNode) -> None:
    with pytest.raises(PositionLost, match='mode = "poll"'):
        outbox(node.url).latest({"low": 0, "high": 0, "after": 0}, None, None)
    start = outbox(node.url).initial()
    with pytest.raises(PositionLost, match="written for the replication slot relay"):
        outbox(node.url, slot="another").latest(start, None, None)
    polling = open_outbox(
        OutboxSettings(url=parse_url(node.url), table="outbox", columns=COLUMNS, route_by="aggregatetype")
    )
    with pytest.raises(PositionLost, match='mode = "log"'):
        polling.latest(start, None, None)


def test_servers_and_roles_that_cannot_do_it_are_told_what_to_do(empty: PostgresqlNode, tmp_path: Path) -> None:
    with (
        postgresql_node(tmp_path) as other,
        pytest.raises(DatabaseProblem, match=r"has too little in it with wal_level = replica: ALTER SYSTEM"),
    ):
        outbox(other.url).create()
    open_outbox(
        OutboxSettings(url=parse_url(empty.url), table="outbox", columns=COLUMNS, route_by="aggregatetype")
    ).create()
    with pytest.raises(DatabaseProblem, match="CREATE PUBLICATION"):
        outbox(empty.url).check()
    empty.query(f"CREATE PUBLICATION {SLOT} FOR TABLE outbox WITH (publish = 'delete')")
    with pytest.raises(DatabaseProblem, match="publish = 'insert'"):
        outbox(empty.url).check()
    empty.query(f"ALTER PUBLICATION {SLOT} SET (publish = 'insert')")
    with pytest.raises(DatabaseProblem, match="pg_create_logical_replication_slot"):
        outbox(empty.url).check()
    empty.query("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", SLOT)
    with pytest.raises(DatabaseProblem, match="its plugin is test_decoding"):
        outbox(empty.url).check()
    empty.query("SELECT pg_drop_replication_slot(%s)", SLOT)
    empty.query("DROP ROLE IF EXISTS nobody_special")
    empty.query("CREATE ROLE nobody_special LOGIN")
    empty.query(f"GRANT ALL ON outbox, {MARKS_TABLE}, {OWNERS_TABLE} TO nobody_special")
    empty.query("GRANT ALL ON SCHEMA public TO nobody_special")
    try:
        with pytest.raises(DatabaseProblem, match='ALTER ROLE "nobody_special" REPLICATION'):
            outbox(empty.url.replace("tidelog@", "nobody_special@")).create()
    finally:
        empty.query("DROP OWNED BY nobody_special")


def test_a_partitioned_outbox_is_read_as_one_table(empty: PostgresqlNode) -> None:
    empty.query(
        "CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)"
        " PARTITION BY LIST (aggregatetype)"
    )
    empty.query("CREATE TABLE IF NOT EXISTS outbox_orders PARTITION OF outbox FOR VALUES IN ('order')")
    plain = OutboxSettings(
        url=parse_url(empty.url),
        table="outbox",
        columns=COLUMNS,
        route_by="aggregatetype",
        log=LogSettings(slot=SLOT, publication=SLOT),
    )
    empty.query(f"CREATE PUBLICATION {SLOT} FOR TABLE outbox WITH (publish = 'insert')")
    empty.query("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", SLOT)
    with pytest.raises(DatabaseProblem, match="does not publish inserts"):
        open_outbox(plain).check()
    empty.query(f"ALTER PUBLICATION {SLOT} SET (publish_via_partition_root = true)")
    open_outbox(plain).check()
    relay = Relay(empty.url)
    write(empty.url, 1)
    assert relay.run() == ["1"]


def test_a_table_without_a_key_can_still_be_updated_and_cleaned(empty: PostgresqlNode) -> None:
    empty.query("CREATE TABLE outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb)")
    outbox(empty.url).create()
    outbox(empty.url).check()
    relay = Relay(empty.url)
    write(empty.url, 1, delete=False)
    empty.query("UPDATE outbox SET type = 'other'")
    empty.query("DELETE FROM outbox")
    assert relay.run() == ["1"]


def confirmed(node: PostgresqlNode) -> int:
    row = node.query(
        "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = %s", SLOT
    )
    return int(row[0][0])


@contextmanager
def streaming(node: PostgresqlNode) -> Iterator[None]:
    """Something else that reads the slot, as a subscriber does."""
    command = [str(node.binaries / "pg_recvlogical"), "-d", node.url, "--slot", SLOT, "--start", "-s", "0"]
    command += ["-f", "/dev/null", "-o", "proto_version=1", "-o", f"publication_names={SLOT}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: bool(node.query("SELECT active FROM pg_replication_slots WHERE slot_name = %s", SLOT)[0][0]),
            what="the other reader",
        )
        yield
    finally:
        process.kill()
        process.wait(30)
