"""Pipelines in Chromium: how they go on, how they end, and what queries have published on each kind of cluster."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from support.accessibility import check_looks, prepare
from support.browser import Page, expect
from support.console_clusters import Cluster
from support.console_content import IMAGE, SCRIPT
from support.console_process import ConsoleOfTest
from support.processes import free_port, wait_until

from tidelog import OffsetAndMetadata, TopicPartition
from tidelog.client.local_pipelines import local_pipelines, own_status_directory
from tidelog.model.pipeline_status import decode_status, encode_status
from tidelog.model.topics import SPARK_NOTE_TOPIC
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.progress import BatchReport
from tidelog.spark.pipelines.reading import pipeline_from
from tidelog.spark.pipelines.service import serving
from tidelog.spark.pipelines.settings import Service
from tidelog.spark.pipelines.status_file import noting
from tidelog.spark.sink.note import Note
from tidelog.sync import Admin, Producer


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console of each test is a process of its own, which finds only the pipelines of that test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class RunningPipelines:
    """As they show themselves, without Spark."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def begin(self, name: str, servers: str, *, query: str = "") -> PipelineHealth:
        tables = {
            "run": {"name": name},
            "source": {"bootstrap_servers": servers, "topics": ["orders"]},
            "query": {"sql": "SELECT value FROM records"},
            "target": {"bootstrap_servers": "elsewhere:9092", "topic": "copied"},
        }
        health = PipelineHealth(name)
        health.query_starts()
        health.query_runs(query)
        self._stack.enter_context(noting(pipeline_from("transform", tables), health))
        return health

    def serve(self, name: str) -> tuple[PipelineHealth, str]:
        """Of another machine, as far as the console knows."""
        health = PipelineHealth(name)
        address = self._stack.enter_context(serving(Service(port=0), health))
        assert address is not None
        return health, address


@pytest.fixture
def pipelines() -> Iterator[RunningPipelines]:
    with ExitStack() as stack:
        yield RunningPipelines(stack)


def batch(number: int, rows: int, lag: int) -> BatchReport:
    return BatchReport(batch=number, rows=rows, rows_per_second=5, seconds=2, write_seconds=1, lag=lag)


def cells(page: Page, name: str) -> dict[str, str]:
    """What a row of the table says, by column."""
    row = page.get_by_role("table", name="Pipelines").get_by_role("row").filter(has_text=name)
    return {cell.get_attribute("data-label") or "": cell.inner_text() for cell in row.get_by_role("cell").all()}


def test_pipelines_are_seen_while_they_go_on(
    one_node: Cluster, console: ConsoleOfTest, page: Page, pipelines: RunningPipelines
) -> None:
    health = pipelines.begin("copy-orders", one_node.bootstrap_servers)
    remote, address = pipelines.serve("of-another-machine")
    nobody = f"http://127.0.0.1:{free_port()}"
    health.batch_done(batch(4, 1200, 7))
    remote.retries("cannot connect to PostgreSQL: Connection refused", 25.0)
    prepare(page)
    page.goto(f"{console(one_node, '--pipeline', address, '--pipeline', nobody)}/pipelines")
    table = page.get_by_role("table", name="Pipelines")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(page.get_by_text("1 of 3 work")).to_be_visible()
    row = table.get_by_role("row").filter(has_text="copy-orders")
    expect(row).to_contain_text("running")
    found = cells(page, "copy-orders")
    assert (found["Batch"], found["Rows"], found["Lag"], found["Retries"]) == ("4", "1,200", "7", "0")
    assert " ".join(found["From → to"].split()) == "orders → to copied of elsewhere:9092"
    expect(row.get_by_role("link", name="orders", exact=True)).to_have_attribute("href", "/topics/orders")
    expect(table.get_by_role("row").filter(has_text="of-another-machine")).to_contain_text(
        re.compile("retrying.*cannot connect to PostgreSQL: Connection refused.*next try in 2", re.DOTALL)
    )
    expect(table.get_by_role("row").filter(has_text=nobody)).to_contain_text("does not answer")
    health.batch_done(batch(5, 800, 0))
    expect(row).to_contain_text("2,000")
    remote.waits_for_records()
    expect(page.get_by_text("2 of 3 work")).to_be_visible()
    check_looks(page)
    row.get_by_role("link", name="copy-orders").click()
    expect(page.get_by_role("img", name=re.compile("^Lag: now "))).to_be_visible()
    check_looks(page)


def test_one_pipeline_has_a_page_with_its_last_minutes(
    one_node: Cluster, console: ConsoleOfTest, page: Page, pipelines: RunningPipelines
) -> None:
    health = pipelines.begin("copy-orders", one_node.bootstrap_servers)
    hostile = f"a broker said {SCRIPT} and {IMAGE} \u202e"
    health.retries(hostile, 1.0)
    health.batch_done(batch(0, 10, 3))
    address = console(one_node, "--pipeline", f"http://127.0.0.1:{free_port()}")
    page.goto(f"{address}/pipelines")
    page.get_by_role("link", name="copy-orders").click()
    expect(page).to_have_title("Pipeline copy-orders · tidelog")
    expect(page.get_by_role("heading", level=1)).to_have_text("Pipeline copy-orders")
    expect(page.get_by_text(f"a broker said {SCRIPT} and {IMAGE} ⟨U+202E⟩")).to_be_visible()
    plot = page.get_by_role("img", name=re.compile("^Lag: now 3, at most 3"))
    expect(plot).to_be_visible()
    health.batch_done(batch(1, 500, 9))
    expect(page.get_by_role("img", name=re.compile("^Lag: now 9, at most 9"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Rows per second: now "))).to_be_visible()
    page.get_by_role("link", name="Pipelines").first.click()
    expect(page.get_by_role("table", name="Pipelines")).to_be_visible()
    page.goto(f"{address}/pipelines/nothing")
    expect(page.get_by_text("No pipeline with this name is known here")).to_be_visible()


def test_pipelines_that_have_ended_say_why_and_those_that_end_well_go(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    directory = own_status_directory()
    assert directory is not None
    with ExitStack() as stack:
        running = RunningPipelines(stack)
        running.begin("ends-well", one_node.bootstrap_servers)
        running.begin("is-killed", one_node.bootstrap_servers)
        wait_until(lambda: len(local_pipelines(directory, 0)) == 2, what="the files")
        killed = next(path for path in directory.glob("is-killed.*"))
        status = decode_status(killed.read_bytes())
        assert status is not None
        with subprocess.Popen([sys.executable, "-c", ""]) as process:
            pass
        # As if it had been another process; this one goes on writing into a file that nobody knows.
        left = directory / f"is-killed.{process.pid}.json"
        address = console(one_node, "--pipeline", f"http://127.0.0.1:{free_port()}")
        page.goto(f"{address}/pipelines")
        table = page.get_by_role("table", name="Pipelines")
        expect(table).to_contain_text("ends-well")
    left.write_bytes(encode_status(replace(status, process=process.pid, process_start="1")))
    expect(table.get_by_role("row").filter(has_text="is-killed")).to_contain_text(
        "its process has ended without a word: it was killed, or its machine went down"
    )
    expect(table).not_to_contain_text("ends-well")
    left.write_bytes(encode_status(replace(status, process=process.pid, ended="topic 'copied' does not exist")))
    expect(table).to_contain_text("topic 'copied' does not exist")


def test_where_there_are_none_the_page_says_how_to_start_one(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(f"{console(one_node, '--host', 'localhost')}/pipelines")
    expect(page.get_by_text("No pipeline runs on this machine, and no other one is known.")).to_be_visible()
    expect(page.get_by_text("tidelog pipeline --help")).to_be_visible()
    expect(page.get_by_text("tidelog pipeline transform --name copy")).to_be_visible()


def test_what_queries_have_published_is_seen_on_any_cluster(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, pipelines: RunningPipelines
) -> None:
    query, servers = str(uuid.uuid4()), any_cluster.bootstrap_servers
    group = f"tidelog-spark-{query}"
    pipelines.begin("copy-orders", servers, query=query)
    with Admin(servers) as admin:
        if SPARK_NOTE_TOPIC not in {topic.name for topic in admin.list_topics()}:
            admin.create_topic(SPARK_NOTE_TOPIC, partitions=1)
    publish(servers, group, Note(batch=7, rows=1234, content="a", tasks=2))
    page.goto(f"{console(any_cluster, '--pipeline', f'http://127.0.0.1:{free_port()}')}/pipelines")
    table = page.get_by_role("table", name="Published by exactly-once queries")
    row = table.get_by_role("row").filter(has_text=query)
    expect(row).to_contain_text("1,234")
    expect(row).to_contain_text("batch")
    expect(row.get_by_role("time")).to_have_count(1)
    expect(row.get_by_role("link", name="copy-orders")).to_have_attribute("href", "/pipelines/copy-orders")
    expect(row.get_by_role("link", name="note")).to_have_attribute("href", f"/groups/{group}")
    publish(servers, group, Note(batch=8, rows=5678, content="b", tasks=2))
    expect(row).to_contain_text("5,678")
    row.get_by_role("link", name="transactions").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(group)


def publish(servers: str, group: str, note: Note) -> None:
    """As the sink does, but for the rows."""
    with Producer(servers, transactional_id=group) as producer:
        producer.init_transactions()
        with producer.transaction():
            position = OffsetAndMetadata(offset=note.batch, metadata=note.metadata())
            producer.send_offsets({TopicPartition(SPARK_NOTE_TOPIC, 0): position}, group)
