"""Brokers and databases go away under running pipelines and come back: the pipelines wait, and output equals input.

Each test is one process that lives through all of its outages; none of them is started a second time.
"""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.database_rows import query
from support.filled_topics import FilledTopics
from support.pipeline_runs import REACH_SECONDS, PipelineRun, pipeline_run
from support.postgresql import PostgresqlServer, running_postgresql
from support.processes import free_port, wait_until
from support.tidelog_process import RestartedTidelog, restarted_tidelog

from tidelog.spark.java import find_java

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
