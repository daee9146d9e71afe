"""The driver of a pipeline dies, as with its machine, and the pipeline is started again: input and output are equal.

Each test is one pipeline that goes through all of its deaths: every driver finds what the one before has left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import threading
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.client_reading import read_all
from support.database_rows import query
from support.filled_topics import FilledTopics
from support.pipeline_runs import REACH_SECONDS, pipeline_run
from support.postgresql_node import postgresql_node
from support.processes import wait_until
from support.tidelog_process import running_tidelog

from tidelog.spark.databases.options import parse_url
from tidelog.spark.outbox.tables import LogSettings, OutboxSettings, open_outbox
from tidelog.spark.session.java import find_java

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(find_java(dict(os.environ)) is None, reason="Spark needs Java 17 or newer"),
]

PARTITIONS = 3
EACH = 40

SINK = """
pipeline = "sink-db"
name = "orders"
checkpoint = "{checkpoint}"
once = {once}
[source]
bootstrap_servers = "{servers}"
topics = ["orders"]
max_records_per_batch = 30
[database]
url = "{url}"
table = "orders"
columns = ["partition AS part", "offset AS place", "CAST(value AS STRING) AS text"]
"""


@pytest.mark.parametrize(
    ("engine", "points"),
    [
        ("postgresql", ["database-after-rows:1", "database-after-commit:2"]),
        ("sqlite", ["database-before-commit:1"]),
    ],
)
def test_scenario_29_rows_and_offsets_are_one_transaction_of_the_database(
    engine: str, points: list[str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url: str = request.getfixturevalue(f"{engine}_url")
    with running_tidelog(tmp_path / "broker") as broker:
        topics = FilledTopics(broker.bootstrap_servers)
        topics.create(name="orders", partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            topics.fill("orders", [f"{partition}-{number}" for number in range(EACH)], partition=partition)
        wanted = [(part, place, f"{part}-{place}") for part in range(PARTITIONS) for place in range(EACH)]
        toml = SINK.format(checkpoint=tmp_path / "checkpoint", servers=broker.bootstrap_servers, url=url, once="true")
        seen = 0
        for number, point in enumerate(points):
            with pipeline_run(tmp_path, f"run{number}", toml, halt_at=point) as run:
                run.wait_until_halted()
                run.kill()
            rows = query(url, "SELECT part, place, text FROM orders ORDER BY part, place")
            # Whatever is there is there with its offsets: no row beyond them, none missing below.
            next_offsets = dict(query(url, "SELECT partition, next_offset FROM tidelog_offsets"))
            assert rows == [row for row in wanted if row[1] < next_offsets.get(row[0], 0)]
            assert len(rows) >= seen
            seen = len(rows)
        assert 0 < seen < len(wanted)
        with pipeline_run(tmp_path, "last", toml.replace("once = true", "once = false")) as run:
            wait_until(
                lambda: len(query(url, "SELECT part FROM orders")) >= len(wanted),
                within_seconds=REACH_SECONDS,
                what="the last row",
            )
            # Ctrl-C ends a pipeline well.
            os.kill(run.process.pid, signal.SIGINT)
            shown = run.wait_until_done()
        assert "orders: ended" in shown
        assert query(url, "SELECT part, place, text FROM orders ORDER BY part, place") == wanted


OUTBOX = """
pipeline = "outbox"
name = "relay"
checkpoint = "{checkpoint}"
once = true
[outbox]
url = "{url}"
delete_relayed = true
max_events_per_batch = 25
topic_partitions = 2
[target]
bootstrap_servers = "{servers}"
"""


SOLD = 80


class Shop:
    """Writes orders and their events in one transaction each, from several connections at once; some roll back."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._sell, args=(number,), daemon=True) for number in range(3)]
        query(url, "CREATE TABLE orders (id uuid, shop integer, number integer)")
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _sell(self, shop: int) -> None:
        with psycopg.connect(self._url) as connection:
            number = 0
            # Slow enough that relays come and go meanwhile, and not more than the last one can carry.
            while number < SOLD and not self._stop.wait(0.25):
                event = uuid.uuid4()
                connection.execute("INSERT INTO orders VALUES (%s, %s, %s)", (event, shop, number))
                connection.execute(
                    "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
                    " VALUES (%s, 'order', %s, 'made', %s)",
                    (event, str(shop), json.dumps({"number": number})),
                )
                if number % 7 == 6:
                    connection.rollback()
                else:
                    connection.commit()
                number += 1


def test_scenario_27_each_event_arrives_once_wherever_the_relay_dies(postgresql_url: str, tmp_path: Path) -> None:
    url = postgresql_url
    settings = OutboxSettings(url=parse_url(url), table="outbox", columns=("id",), route_by="aggregatetype")
    open_outbox(settings).create()
    with running_tidelog(tmp_path / "broker") as broker:
        toml = OUTBOX.format(checkpoint=tmp_path / "checkpoint", url=url, servers=broker.bootstrap_servers)
        shop = Shop(url)
        try:
            for number, point in enumerate(["after-half-of-the-batches:0", "after-end-txn:1"]):
                with pipeline_run(tmp_path, f"run{number}", toml, halt_at=point) as run:
                    run.wait_until_halted()
                    run.kill()
        finally:
            shop.close()
        with pipeline_run(tmp_path, "last", toml, submit=True) as run:
            run.wait_until_done()
        records = asyncio.run(
            read_all(broker.bootstrap_servers, "outbox.event.order", isolation_level="read_committed")
        )
    orders = query(url, "SELECT id, shop, number FROM orders ORDER BY shop, number")
    assert len(orders) > SOLD
    wanted: dict[str, list[Any]] = defaultdict(list)
    found: dict[str, list[Any]] = defaultdict(list)
    for event, owner, number in orders:
        wanted[str(owner)].append((str(event), number))
    for record in records:
        event = dict(record.headers)["id"] or b""
        found[(record.key or b"").decode()].append((event.decode(), json.loads(record.value or b"")["number"]))
    # Each once, and those of one aggregate in the order in which they were committed.
    assert found == wanted


LOG_OUTBOX = """
pipeline = "outbox"
name = "relay"
checkpoint = "{checkpoint}"
once = true
[outbox]
url = "{url}"
mode = "log"
create_table = true
max_events_per_batch = 25
topic_partitions = 2
[target]
bootstrap_servers = "{servers}"
"""


def test_scenario_38_relay_and_database_die_and_each_event_of_the_log_arrives_once(tmp_path: Path) -> None:
    with postgresql_node(tmp_path, "wal_level=logical") as node, running_tidelog(tmp_path / "broker") as broker:
        toml = LOG_OUTBOX.format(checkpoint=tmp_path / "checkpoint", url=node.url, servers=broker.bootstrap_servers)
        settings = LogSettings(slot="tidelog_relay", publication="tidelog_relay")
        open_outbox(
            OutboxSettings(
                url=parse_url(node.url), table="outbox", columns=("id",), route_by="aggregatetype", log=settings
            )
        ).create()
        for number in range(60):
            sell(node.url, number)
        # The batch is published, and Spark does not know it. The server dies with the driver, and its slot goes back.
        with pipeline_run(tmp_path, "first", toml, halt_at="after-end-txn:1") as run:
            run.wait_until_halted()
            run.kill()
        node.crash()
        node.start()
        for number in range(60, 80):
            sell(node.url, number)
        with pipeline_run(tmp_path, "last", toml) as run:
            run.wait_until_done()
        records = asyncio.run(
            read_all(broker.bootstrap_servers, "outbox.event.order", isolation_level="read_committed")
        )
        assert query(node.url, "SELECT id FROM outbox") == []
    assert [json.loads(record.value or b"")["number"] for record in records] == list(range(80))


def sell(url: str, number: int) -> None:
    """An event whose row is deleted at once."""
    with psycopg.connect(url) as connection:
        event = uuid.uuid4()
        connection.execute(
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
            " VALUES (%s, 'order', 'one', 'made', %s)",
            (event, json.dumps({"number": number})),
        )
        connection.execute("DELETE FROM outbox WHERE id = %s", (event,))


MIRROR = """
pipeline = "mirror"
name = "backup"
checkpoint = "{checkpoint}"
once = true
[source]
bootstrap_servers = "{source}"
topics = ["orders"]
max_records_per_batch = 30
[target]
bootstrap_servers = "{target}"
"""


def test_scenario_28_the_target_equals_the_source_wherever_the_mirror_dies(tmp_path: Path) -> None:
    with running_tidelog(tmp_path / "source") as source, running_tidelog(tmp_path / "target") as target:
        topics = FilledTopics(source.bootstrap_servers)
        topics.create(name="orders", partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            topics.fill("orders", [f"{partition}-{number}" for number in range(EACH)], partition=partition)
        toml = MIRROR.format(
            checkpoint=tmp_path / "checkpoint", source=source.bootstrap_servers, target=target.bootstrap_servers
        )
        for number, point in enumerate(["after-half-of-the-batches:1", "after-end-txn:2"]):
            with pipeline_run(tmp_path, f"run{number}", toml, halt_at=point) as run:
                run.wait_until_halted()
                run.kill()
        # The machine is gone with everything on it: only the target knows how far the mirror has come.
        shutil.rmtree(tmp_path / "checkpoint")
        with pipeline_run(tmp_path, "last", toml) as run:
            run.wait_until_done()
        expected = [(partition, f"{partition}-{number}") for partition in range(PARTITIONS) for number in range(EACH)]
        found = asyncio.run(read_all(target.bootstrap_servers, "orders", isolation_level="read_committed"))
        found.sort(key=lambda record: (record.partition, record.offset))
        assert [(record.partition, (record.value or b"").decode()) for record in found] == expected


COUNTS = """
pipeline = "transform"
name = "counts"
checkpoint = "{checkpoint}"
once = true
[source]
bootstrap_servers = "{servers}"
topics = ["words"]
max_records_per_batch = 30
[query]
sql = '''
SELECT CAST(value AS STRING) AS key, CAST(count(*) AS STRING) AS value FROM records
WHERE record.offset >= 0 GROUP BY CAST(value AS STRING)
'''
output_mode = "{mode}"
[target]
bootstrap_servers = "{servers}"
topic = "counts"
"""
WORDS = ("a", "b", "c")


@pytest.mark.parametrize("mode", ["complete", "update"])
def test_counts_are_exact_wherever_a_stateful_transform_dies(mode: str, tmp_path: Path) -> None:
    with running_tidelog(tmp_path / "broker") as broker:
        topics = FilledTopics(broker.bootstrap_servers)
        for name in ("words", "counts"):
            topics.create(name=name)
        # Each batch of 30 has ten of each word.
        topics.fill("words", [WORDS[number % len(WORDS)] for number in range(120)])
        toml = COUNTS.format(checkpoint=tmp_path / "checkpoint", servers=broker.bootstrap_servers, mode=mode)
        # Once the batch is published and Spark does not know it, once the state is written and nothing is published.
        for number, point in enumerate(["after-end-txn:1", "before-end-txn:2"]):
            with pipeline_run(tmp_path, f"run{number}", toml, halt_at=point) as run:
                run.wait_until_halted()
                run.kill()
        with pipeline_run(tmp_path, "last", toml) as run:
            run.wait_until_done()
        records = asyncio.run(read_all(broker.bootstrap_servers, "counts", isolation_level="read_committed"))
    found = [((record.key or b"").decode(), int(record.value or b"0")) for record in records]
    # Four batches, each with all words and their counts so far.
    batches = [sorted(found[begin : begin + len(WORDS)]) for begin in range(0, len(found), len(WORDS))]
    assert batches == [[(word, 10 * number) for word in WORDS] for number in range(1, 5)]
