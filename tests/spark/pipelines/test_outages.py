"""Brokers and databases go away under running pipelines and come back: the pipelines wait, and output equals input.

Each test is one process that lives through all of its outages; none of them is started a second time.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.client_reading import read_all
from support.database_rows import query
from support.filled_topics import FilledTopics
from support.pipeline_runs import REACH_SECONDS, PipelineRun, pipeline_run
from support.postgresql import PostgresqlServer, running_postgresql
from support.processes import free_port, wait_until
from support.tidelog_process import RestartedTidelog, restarted_tidelog

from tidelog.spark.databases.options import parse_url
from tidelog.spark.outbox.tables import OutboxSettings, open_outbox
from tidelog.spark.session.java import find_java

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(find_java(dict(os.environ)) is None, reason="Spark needs Java 17 or newer"),
]

# The client waits by itself for up to two minutes before it gives up. Here it is rather told.
IMPATIENT = {
    "impatient_source": """
options."kafka.default.api.timeout.ms" = 3000
options."kafka.request.timeout.ms" = 3000
options."kafkaConsumer.pollTimeoutMs" = 5000
""",
    "impatient_target": """
options."kafka.max.block.ms" = 3000
options."kafka.request.timeout.ms" = 3000
options."kafka.delivery.timeout.ms" = 4000
""",
}
TRIES = "try 1 follows"
WORKS = "it works again"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[PostgresqlServer]:
    """A server that no other test uses."""
    with running_postgresql(tmp_path) as server:
        yield server


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RestartedTidelog]:
    with restarted_tidelog(tmp_path / "broker") as restarted:
        restarted.start()
        yield restarted


def health(port: int) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class Outages:
    """Counts what the pipeline says about them."""

    def __init__(self, run: PipelineRun) -> None:
        self._run = run
        self._over = 0

    def noticed(self) -> None:
        self._run.wait_until_shown(TRIES, times=self._over + 1)

    def over(self) -> None:
        self._over += 1
        self._run.wait_until_shown(WORKS, times=self._over)


SINK = """
pipeline = "sink-db"
name = "orders"
checkpoint = "{checkpoint}"
interval = "100 milliseconds"
retry_for = "1 hour"
[source]
bootstrap_servers = "{servers}"
topics = ["orders"]
{impatient_source}
[database]
url = "{url}"
table = "orders"
columns = ["offset AS place", "CAST(value AS STRING) AS text"]
[service]
port = {port}
"""


def test_rows_reach_the_table_once_while_database_and_broker_come_and_go(
    database: PostgresqlServer, broker: RestartedTidelog, tmp_path: Path
) -> None:
    topics = FilledTopics(broker.bootstrap_servers)
    topics.create(name="orders")
    wanted: list[tuple[int, str]] = []

    def send(count: int) -> None:
        values = [f"order {len(wanted) + number}" for number in range(count)]
        topics.fill("orders", values)
        wanted.extend((len(wanted), value) for value in values)

    def arrived() -> bool:
        return len(query(database.url(), "SELECT place FROM orders")) >= len(wanted)

    send(50)
    port = free_port()
    toml = SINK.format(
        checkpoint=tmp_path / "checkpoint", servers=broker.bootstrap_servers, url=database.url(), port=port, **IMPATIENT
    )
    # A service may be started before what it needs.
    database.stop()
    with pipeline_run(tmp_path, "sink", toml, halt_at="database-after-rows") as run:
        outages = Outages(run)
        outages.noticed()
        status, seen = health(port)
        assert (status, seen["status"]) == (503, "retrying")
        assert "cannot connect to PostgreSQL" in seen["reason"]
        database.start()
        # The rows are in the table, in a transaction that is not committed. The server crashes.
        run.wait_until_halted()
        database.stop("immediate")
        run.go_on()
        run.wait_until_shown("try", times=2)
        database.start()
        outages.over()
        wait_until(arrived, within_seconds=REACH_SECONDS, what="the first rows")
        assert health(port)[0] == 200

        database.stop("fast")
        send(20)
        outages.noticed()
        send(20)
        database.start()
        outages.over()

        broker.kill()
        outages.noticed()
        broker.start()
        outages.over()
        send(10)
        wait_until(arrived, within_seconds=REACH_SECONDS, what="the last rows")

        # Waiting for a database does not keep a pipeline from ending.
        database.stop("fast")
        send(5)
        outages.noticed()
        os.kill(run.process.pid, signal.SIGTERM)
        shown = run.wait_until_done()
        assert "orders: ended" in shown
        assert "Traceback" not in shown
    database.start()
    rows = query(database.url(), "SELECT place, text FROM orders ORDER BY place")
    assert rows == wanted[: len(rows)]
    assert len(rows) >= len(wanted) - 5
    (next_offset,) = query(database.url(), "SELECT next_offset FROM tidelog_offsets")
    assert next_offset == (len(rows),)


TRANSFORM = """
pipeline = "transform"
name = "louder"
checkpoint = "{checkpoint}"
interval = "100 milliseconds"
retry_for = "forever"
[source]
bootstrap_servers = "{servers}"
topics = ["quiet"]
{impatient_source}
[query]
sql = "SELECT upper(CAST(value AS STRING)) AS value FROM records"
[target]
bootstrap_servers = "{servers}"
topic = "loud"
{impatient_target}
"""


def test_a_transform_writes_each_record_once_while_its_broker_dies_in_the_middle_of_a_transaction(
    broker: RestartedTidelog, tmp_path: Path
) -> None:
    topics = FilledTopics(broker.bootstrap_servers)
    for name in ("quiet", "loud"):
        topics.create(name=name)
    topics.fill("quiet", [f"a {number}" for number in range(40)])
    toml = TRANSFORM.format(checkpoint=tmp_path / "checkpoint", servers=broker.bootstrap_servers, **IMPATIENT)
    with pipeline_run(tmp_path, "transform", toml, halt_at="after-note") as run:
        outages = Outages(run)
        run.wait_until_halted()
        broker.kill()
        run.go_on()
        outages.noticed()
        broker.start()
        outages.over()
        topics.fill("quiet", [f"b {number}" for number in range(40)])
        run.wait_until_shown("80 rows in all")
        broker.kill()
        outages.noticed()
        broker.start()
        outages.over()
        topics.fill("quiet", [f"c {number}" for number in range(40)])
        run.wait_until_shown("120 rows in all")
        os.kill(run.process.pid, signal.SIGTERM)
        run.wait_until_done()
    records = asyncio.run(read_all(broker.bootstrap_servers, "loud", isolation_level="read_committed"))
    expected = [f"{letter} {number}".encode() for letter in "ABC" for number in range(40)]
    assert [record.value for record in records] == expected


OUTBOX = """
pipeline = "outbox"
name = "relay"
checkpoint = "{checkpoint}"
interval = "100 milliseconds"
retry_for = "1 hour"
[outbox]
url = "{url}"
delete_relayed = true
[target]
bootstrap_servers = "{servers}"
{impatient_target}
"""


def test_events_arrive_once_while_the_database_and_the_broker_of_the_relay_come_and_go(
    database: PostgresqlServer, broker: RestartedTidelog, tmp_path: Path
) -> None:
    url = database.url()
    settings = OutboxSettings(url=parse_url(url), table="outbox", columns=("id",), route_by="aggregatetype")
    open_outbox(settings).create()
    wanted: list[str] = []

    def sell(count: int) -> None:
        with psycopg.connect(url) as connection:
            for _ in range(count):
                event = str(uuid.uuid4())
                connection.execute(
                    "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)"
                    " VALUES (%s, 'order', '1', 'made', '{}')",
                    (event,),
                )
                connection.commit()
                wanted.append(event)

    sell(10)
    toml = OUTBOX.format(checkpoint=tmp_path / "checkpoint", url=url, servers=broker.bootstrap_servers, **IMPATIENT)
    with pipeline_run(tmp_path, "outbox", toml, halt_at="after-half-of-the-batches") as run:
        outages = Outages(run)
        run.wait_until_halted()
        database.stop("immediate")
        broker.kill()
        run.go_on()
        outages.noticed()
        database.start()
        broker.start()
        outages.over()
        sell(10)
        run.wait_until_shown("20 rows in all")
        database.stop("fast")
        outages.noticed()
        database.start()
        outages.over()
        sell(10)
        run.wait_until_shown("30 rows in all")
        os.kill(run.process.pid, signal.SIGTERM)
        run.wait_until_done()
    topic = "outbox.event.order"
    records = asyncio.run(read_all(broker.bootstrap_servers, topic, isolation_level="read_committed"))
    assert [(dict(record.headers)["id"] or b"").decode() for record in records] == wanted
