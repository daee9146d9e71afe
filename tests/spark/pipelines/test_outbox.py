from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from support.client_reading import read_all
from support.database_rows import query
from support.filled_topics import new_topic_name
from support.pipeline_runs import run_in_session
from support.postgresql_node import postgresql_node, started
from support.present import present

from tidelog.spark.databases.options import parse_url
from tidelog.spark.outbox.tables import OutboxSettings, open_outbox
from tidelog.spark.session.explanations import explain
from tidelog.testing.broker_thread import BrokerThread

# The first query of a session takes long on a busy machine.
pytestmark = pytest.mark.timeout(900)


def test_events_come_in_order_to_the_topic_of_their_aggregate(
    spark: SparkSession, broker: BrokerThread, database_url: str, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    kind, other = new_topic_name("order"), new_topic_name("customer")
    outbox = {
        "url": database_url,
        "create_table": True,
        "delete_relayed": True,
        "max_events_per_batch": 4,
        "topic_partitions": 2,
        "options": {"table.fields.additional.placement": "type:header:eventType"},
    }
    tables = {"run": {"name": kind}, "outbox": outbox, "target": {"bootstrap_servers": servers}}
    open_outbox(
        OutboxSettings(url=parse_url(database_url), table="outbox", columns=("id",), route_by="aggregatetype")
    ).create()
    events = [(str(uuid.uuid4()), kind if number % 3 else other, str(number % 4), number) for number in range(10)]
    for event, aggregate, key, number in events[:6]:
        query(database_url, insert(event, aggregate, key, number))
    run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
    for event, aggregate, key, number in events[6:]:
        query(database_url, insert(event, aggregate, key, number))
    run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")

    for aggregate in (kind, other):
        records = asyncio.run(read_all(servers, f"outbox.event.{aggregate}", isolation_level="read_committed"))
        wanted = [(event, key, number) for event, routed, key, number in events if routed == aggregate]
        found = [
            (
                present(dict(record.headers)["id"]).decode(),
                (record.key or b"").decode(),
                json.loads(record.value or b"")["n"],
            )
            for record in records
        ]
        assert sorted(found) == sorted(wanted)
        for key in {key for _, key, _ in wanted}:
            assert [one for one in found if one[1] == key] == [one for one in wanted if one[1] == key]
        assert {dict(record.headers)["eventType"] for record in records} == {b"made"}
        assert {record.partition for record in records} <= {0, 1}
    # What an earlier batch has relayed is gone from the table.
    assert len(query(database_url, "SELECT id FROM outbox")) < 10


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["poll", "log"])
def test_scenario_38_each_event_arrives_once_over_crashes_of_the_database(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path, mode: str
) -> None:
    servers = broker.bootstrap_servers
    kind = new_topic_name("order")
    with postgresql_node(tmp_path, "wal_level=logical") as node:
        outbox = {"url": node.url, "mode": mode, "create_table": True, "delete_relayed": mode == "poll"}
        outbox["max_events_per_batch"] = 5
        tables = {"run": {"name": kind}, "outbox": outbox, "target": {"bootstrap_servers": servers}}
        run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
        for numbers in (range(7), range(7, 27)):
            for number in numbers:
                query(node.url, insert(str(uuid.uuid4()), kind, "one", number))
            # Ids that the disk knows nothing of are below what the relay reads, and come again after the crash.
            node.spend_ids(47)
            if mode == "log":
                query(node.url, "DELETE FROM outbox")
            run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
            node.crash()
            node.start()
        run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
        left = query(node.url, "SELECT id FROM outbox")
        # The last batch is not confirmed before the next one.
        assert len(left) <= 5
    records = asyncio.run(read_all(servers, f"outbox.event.{kind}", isolation_level="read_committed"))
    assert [json.loads(record.value or b"")["n"] for record in records] == list(range(27))


@pytest.mark.slow
def test_scenario_38_a_restored_database_stops_the_pipeline_with_what_to_do(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    kind = new_topic_name("order")
    with postgresql_node(tmp_path) as node:
        tables = {
            "run": {"name": kind},
            "outbox": {"url": node.url, "create_table": True, "delete_relayed": True},
            "target": {"bootstrap_servers": broker.bootstrap_servers},
        }
        run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
        old = node.copy("old")
        query(node.url, insert(str(uuid.uuid4()), kind, "one", 1))
        run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
        node.crash()
        old.port = node.port
        with started(old):
            query(old.url, insert(str(uuid.uuid4()), kind, "one", 2))
            with pytest.raises(StreamingQueryException) as failure:
                run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
            told = explain(str(failure.value))
            assert "restored from a backup" in told
            assert "delete the checkpoint" in told
            assert len(query(old.url, "SELECT id FROM outbox")) == 1


def insert(event: str, aggregate: str, key: str, number: int) -> str:
    payload = json.dumps({"n": number})
    return (
        "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) "
        f"VALUES ('{event}', '{aggregate}', '{key}', 'made', '{payload}')"
    )
