"""The page of pipelines: of this machine, of services, and as a real broker knows what queries have published."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.console_visits import event, visit
from support.pipeline_runs import pipeline_run
from support.processes import HANG_SECONDS, free_port
from support.tidelog_command import run_tidelog

import tidelog
from tidelog.client.config import OptionValue
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.console.app import Console
from tidelog.console.connection import ClusterConnection
from tidelog.console.feeds import Feeds
from tidelog.console.pages.pipelines import PipelinesReader
from tidelog.console.parts import ConsoleParts
from tidelog.console.replies import Json, encoded
from tidelog.console.settings import ConsoleSettings
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import SPARK_NOTE_TOPIC
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.progress import BatchReport
from tidelog.spark.pipelines.reading import pipeline_from
from tidelog.spark.pipelines.service import serving
from tidelog.spark.pipelines.settings import Service
from tidelog.spark.pipelines.status_file import noting
from tidelog.spark.session.java import JavaMissing, require_java
from tidelog.spark.sink.note import Note

QUERY = str(uuid.uuid4())


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        yield running


def settings(servers: str, *services: str) -> ConsoleSettings:
    client: dict[str, OptionValue] = {
        "bootstrap.servers": servers,
        "default.api.timeout.ms": 3000,
        "request.timeout.ms": 3000,
    }
    return ConsoleSettings(
        client=client, host="127.0.0.1", port=0, token=None, read_only=False, pipelines=tuple(services)
    )


def reader_of(chosen: ConsoleSettings) -> tuple[PipelinesReader, ClusterConnection]:
    cluster = ClusterConnection(chosen.client)
    return PipelinesReader(ConsoleParts(settings=chosen, cluster=cluster, feeds=Feeds())), cluster


def shown(document: Json) -> Any:
    """As the browser gets it."""
    return json.loads(encoded(document))


async def read_until(reader: PipelinesReader, holds: Callable[[Any], object]) -> Any:
    async with asyncio.timeout(HANG_SECONDS):
        while not holds(document := shown(await reader.read())):
            await asyncio.sleep(0.05)
    return document


def batch(number: int, rows: int = 10) -> BatchReport:
    return BatchReport(batch=number, rows=rows, rows_per_second=5, seconds=2, write_seconds=1, lag=3)


def copying(name: str, servers: str = "127.0.0.1:9092") -> Any:
    tables = {
        "run": {"name": name},
        "source": {"bootstrap_servers": servers, "topics": ["orders"]},
        "query": {"sql": "SELECT value FROM records"},
        "target": {"bootstrap_servers": servers, "topic": "copied"},
    }
    return pipeline_from("transform", tables)


@pytest.fixture
def running() -> Iterator[Callable[..., tuple[PipelineHealth, str]]]:
    """Pipelines as they show themselves, without Spark: their health, and the addresses of their services."""
    with ExitStack() as stack:

        def begin(name: str, *, service: bool = False, file: bool = True) -> tuple[PipelineHealth, str]:
            health = PipelineHealth(name)
            address = stack.enter_context(serving(Service(port=0), health)) if service else None
            if file:
                stack.enter_context(noting(copying(name), health, address))
            return health, address or ""

        yield begin


async def test_without_any_pipeline_there_is_nothing(broker: tidelog.Broker) -> None:
    reader, cluster = reader_of(settings(broker.bootstrap_servers))
    found = await read_until(reader, lambda document: document["published"] is not None)
    await cluster.close()
    assert found == {
        "pipelines": [],
        "services": 0,
        "published": {"queries": [], "left_out": 0, "silent": [], "leaderless": 0, "failure": None},
    }


async def test_files_and_services_are_shown_each_once(
    broker: tidelog.Broker, running: Callable[..., tuple[PipelineHealth, str]]
) -> None:
    both, both_at = running("both", service=True)
    running("file-only")
    remote, remote_at = running("remote", service=True, file=False)
    nobody = f"http://127.0.0.1:{free_port()}"
    reader, cluster = reader_of(settings(broker.bootstrap_servers, both_at, remote_at, nobody))
    both.batch_done(batch(0))
    remote.retries("no broker answers", 10.0)
    document = await read_until(reader, lambda document: len(document["pipelines"]) == 4)
    rows = {row["name"]: row for row in document["pipelines"]}
    assert {name: row["status"] for name, row in rows.items()} == {
        "both": "running",
        "file-only": "starting",
        "remote": "retrying",
        nobody: "does not answer",
    }
    # The service is asked; its file may be a second old.
    assert (rows["both"]["rows"], rows["both"]["kind"], rows["both"]["target"]["topics"]) == (
        10,
        "transform",
        ["copied"],
    )
    assert rows["remote"]["source"] is None
    assert 5.0 < rows["remote"]["next_attempt_s"] <= 10.0
    assert rows[nobody]["reason"].endswith("does not answer: Connection refused")
    both.batch_done(batch(1, rows=500))
    document = await read_until(reader, lambda document: document["pipelines"][0]["rows"] == 510)
    (first,) = [row for row in document["pipelines"] if row["name"] == "both"]
    assert first["rows_per_second"] > 0
    assert len(first["points"]) >= 2
    await cluster.close()


async def test_pipelines_are_shown_while_the_cluster_is_away(
    running: Callable[..., tuple[PipelineHealth, str]],
) -> None:
    running("waits")
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    reader, cluster = reader_of(settings(f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"))
    document = await read_until(reader, lambda document: document["pipelines"])
    assert document["published"] is None, "it is still being asked"
    document = await read_until(reader, lambda document: document["published"])
    assert document["published"]["failure"]["problem"] == "unavailable"
    assert [row["name"] for row in document["pipelines"]] == ["waits"]
    await cluster.close()
    silent.close()


async def publish(servers: str, group: str, transactional_id: str, note: Note) -> None:
    async with tidelog.Producer(servers, transactional_id=transactional_id) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            position = OffsetAndMetadata(offset=note.batch, metadata=note.metadata())
            await producer.send_offsets({TopicPartition(SPARK_NOTE_TOPIC, 0): position}, group)


async def test_what_queries_have_published_is_read_from_the_cluster(broker: tidelog.Broker) -> None:
    servers = broker.bootstrap_servers
    reader, cluster = reader_of(settings(servers))
    admin = await cluster.admin()
    await admin.create_topic(SPARK_NOTE_TOPIC, partitions=1)
    await admin.create_topic("orders", partitions=1)
    before = time.time() * 1000
    query = f"tidelog-spark-{QUERY}"
    await publish(servers, query, query, Note(batch=6, rows=90, content="a", tasks=2))
    await publish(servers, query, query, Note(batch=7, rows=100, content="b", tasks=2))
    await publish(servers, f"{query}-task-0", f"{query}-task-0", Note(batch=7, rows=50, content="b", tasks=1))
    mirror = "tidelog-mirror-to-backup"
    await publish(servers, f"{mirror}.batch", mirror, Note(batch=3, rows=5, content="c", tasks=1))
    # Others commit offsets, too.
    await admin.alter_group_offsets("nightly", {TopicPartition("orders", 0): OffsetAndMetadata(offset=0)})
    document = await read_until(reader, lambda document: document["published"])
    found = {row["group"]: row for row in document["published"]["queries"]}
    assert set(found) == {query, f"{mirror}.batch"}
    assert (found[query]["kind"], found[query]["name"], found[query]["batch"]) == ("query", QUERY, 7)
    assert (found[query]["rows"], found[query]["tasks"], found[query]["atomicity"]) == (100, 2, "batch")
    assert before - 1000 <= found[query]["last_ms"] <= time.time() * 1000 + 1000
    assert (found[f"{mirror}.batch"]["name"], found[f"{mirror}.batch"]["transactional_id"]) == ("to-backup", mirror)
    assert found[f"{mirror}.batch"]["last_ms"] >= before - 1000
    await cluster.close()


async def test_the_page_is_live(broker: tidelog.Broker, running: Callable[..., tuple[PipelineHealth, str]]) -> None:
    running("copy")
    console = Console(settings(broker.bootstrap_servers))
    async with asyncio.timeout(HANG_SECONDS):
        while not (document := event(await visit(console.app, "/api/pipelines/live"))[1])["pipelines"]:
            await asyncio.sleep(0.05)
    assert [row["name"] for row in document["pipelines"]] == ["copy"]
    await console.end_live_data()
    await console.parts.cluster.close()


@pytest.mark.parametrize("text", ["https://a:1", "http://user:planted-password@a:1", "http://a:1?x"])
def test_an_address_that_is_none_is_refused_at_the_start(text: str) -> None:
    said = run_tidelog("console", "--port", "0", "--pipeline", text, code=2).stderr
    assert "--pipeline" in said
    assert "planted" not in said


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
async def test_a_real_pipeline_is_seen_from_its_start_to_its_end(broker: tidelog.Broker, tmp_path: Path) -> None:
    try:
        require_java()
    except JavaMissing as error:
        pytest.skip(str(error))
    servers = broker.bootstrap_servers
    async with tidelog.Producer(servers) as producer:
        for number in range(20):
            await producer.send("orders", b"%d" % number)
    toml = f"""
pipeline = "transform"
name = "copy"
checkpoint = "{tmp_path}/checkpoint"
[source]
bootstrap_servers = "{servers}"
topics = ["orders"]
[query]
sql = "SELECT value FROM records"
[target]
bootstrap_servers = "{servers}"
topic = "copied"
"""
    reader, cluster = reader_of(settings(servers))
    with pipeline_run(tmp_path, "copy", toml) as run:
        document = await read_until(reader, lambda document: any(row["rows"] == 20 for row in document["pipelines"]))
        (row,) = document["pipelines"]
        assert (row["name"], row["status"], row["healthy"]) == ("copy", "running", True)
        document = await read_until(reader, lambda document: document["published"] and document["published"]["queries"])
        (query,) = document["published"]["queries"]
        assert (query["name"], query["rows"]) == (row["query"], 20)
        run.process.terminate()
        await asyncio.to_thread(run.wait_until_done)
        document = await read_until(reader, lambda document: not document["pipelines"])
    await cluster.close()
