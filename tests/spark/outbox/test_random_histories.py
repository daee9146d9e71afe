"""Real servers, random histories: what survives in the database and what was relayed are the same, in both modes.

Writers commit with and without waiting for the disk and roll back, the server crashes, the relay dies between its
steps. The truth is a table of orders that is written in the same transactions.
"""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import psycopg
import pytest
from support.postgresql_node import PostgresqlNode, postgresql_node

from tidelog.spark.databases.options import parse_url
from tidelog.spark.outbox.tables import LogSettings, Offset, OutboxSettings, OutboxTable, open_outbox

ROUNDS = 12
INSERT = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (%s, 'order', %s, 'made', '{}')"


class Relay:
    """Spark's steps, any of which may be the last one before it is started again from its checkpoint."""

    def __init__(self, table: OutboxTable, chance: random.Random) -> None:
        self._table = table
        self._chance = chance
        self._committed: Offset = table.initial()
        self._planned: Offset | None = None
        self._published: list[str] | None = None
        self.relayed: list[str] = []

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    def finish(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        if self._planned is None:
            end = self._table.latest(self._committed, self._chance.choice([None, 1, 3]), None)
            if end == self._committed:
                return False
            if self._chance.random() < 0.2:
                # It dies before the plan is written down.
                return True
            if self._chance.random() < 0.3:
                self._table.relayed(self._committed)
            self._planned = end
        elif self._published is None:
            self._published = self._rows()
            self.relayed += self._published
        else:
            if self._chance.random() < 0.3:
                # The batch is run again: it must be the same one.
                assert self._rows() == self._published
            self._committed, self._planned, self._published = self._planned, None, None
        return True

    def _rows(self) -> list[str]:
        assert self._planned is not None
        return [row["aggregateid"] for row in self._table.rows(self._committed, self._planned)]


def write(node: PostgresqlNode, chance: random.Random, first: int) -> int:
    """Transactions that overlap, as many as there are connections. Returns the next number."""
    connections = [psycopg.connect(node.url) for _ in range(3)]
    number = first
    for _ in range(12):
        connection = chance.choice(connections)
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE and chance.random() < 0.5:
            connection.execute("SET synchronous_commit = " + chance.choice(["on", "off"]))
            connection.commit()
        connection.execute("INSERT INTO orders VALUES (%s)", (number,))
        connection.execute(INSERT, (uuid.uuid4(), str(number)))
        number += 1
        match chance.choice(["commit", "commit", "roll back", "stay"]):
            case "commit":
                connection.commit()
            case "roll back":
                connection.rollback()
    if chance.random() < 0.5:
        for connection in connections:
            connection.close()
    return number


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["poll", "log"])
def test_what_survives_is_what_is_relayed(mode: str, tmp_path: Path) -> None:
    # With this seed a reader is found out whose marks are neither durable nor looked for.
    chance = random.Random(f"outbox {mode}5")
    with postgresql_node(tmp_path, "wal_level=logical") as node:
        table = open_outbox(
            OutboxSettings(
                url=parse_url(node.url),
                table="outbox",
                columns=("id", "aggregateid", "aggregatetype"),
                route_by="aggregatetype",
                delete_relayed=mode == "poll",
                log=LogSettings(slot="relay", publication="relay") if mode == "log" else None,
            )
        )
        table.create()
        node.query("CREATE TABLE orders (number integer)")
        relay = Relay(table, chance)
        number = 0
        for _ in range(ROUNDS):
            number = write(node, chance, number)
            node.spend_ids(chance.randrange(5))
            relay.run(chance.randrange(8))
            if chance.random() < 0.7:
                node.crash()
                node.start()
        node.crash()
        node.start()
        relay.finish()
        survived = [str(row[0]) for row in node.query("SELECT number FROM orders")]
    assert len(survived) > ROUNDS
    assert sorted(relay.relayed) == sorted(survived)
