"""The file of a pipeline that runs: what it holds and what it does not, how often it is written, and what is left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.pipeline_runs import pipeline_run
from support.processes import wait_until
from support.tidelog_process import TidelogBroker, running_tidelog

from tidelog.client.local_pipelines import LocalPipeline, PipelineLife, local_pipelines, own_status_directory
from tidelog.model.pipeline_status import PipelineEnd, status_file_name
from tidelog.spark.pipelines.failure import PipelineFailed
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.progress import BatchReport
from tidelog.spark.pipelines.reading import pipeline_from
from tidelog.spark.pipelines.status_file import database_place, ends_of, noting
from tidelog.sync import Producer

SECRET = "planted-password"
SOURCE = {
    "bootstrap_servers": "127.0.0.1:9092",
    "topics": ["orders", "payments"],
    "options": {"kafka.sasl.password": SECRET},
}
TARGET = {"bootstrap_servers": "backup:9092", "options": {"kafka.ssl.key.password": SECRET}}
URL = f"postgresql://app:{SECRET}@db.example:5432/shop?sslpassword={SECRET}"
TRANSFORM: dict[str, Any] = {
    "run": {"name": "big-orders"},
    "source": SOURCE,
    "query": {"sql": f"SELECT value FROM records WHERE value <> '{SECRET}'"},
    "target": {**TARGET, "topic": "big"},
}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = own_status_directory()
    assert found is not None
    return found


def pipelines(directory: Path) -> list[LocalPipeline]:
    return local_pipelines(directory, int(time.time() * 1000))


def until(directory: Path, holds: Callable[[LocalPipeline], bool], what: str) -> LocalPipeline:
    def look() -> LocalPipeline | None:
        return next((each for each in pipelines(directory) if holds(each)), None)

    found = wait_until(look, what=what)
    assert found is not None
    return found


def batch(number: int) -> BatchReport:
    return BatchReport(batch=number, rows=10, rows_per_second=5, seconds=2, write_seconds=1, lag=3)


def test_it_says_what_the_pipeline_does_while_it_does_it(directory: Path) -> None:
    health = PipelineHealth("big-orders")
    with noting(pipeline_from("transform", TRANSFORM), health, "http://127.0.0.1:9464"):
        found = until(directory, lambda each: True, "the file")
        assert found.life is PipelineLife.RUNNING
        status = found.status
        assert (status.kind, status.process, status.service) == ("transform", os.getpid(), "http://127.0.0.1:9464")
        assert status.source == PipelineEnd(topics=("orders", "payments"), place="127.0.0.1:9092")
        assert status.target == PipelineEnd(topics=("big",), place="backup:9092")
        assert (status.report.status, status.report.healthy) == ("starting", False)
        health.query_starts()
        health.query_runs("5cf1c2f9")
        health.batch_done(batch(7))
        status = until(directory, lambda each: each.status.report.batch == 7, "the batch").status
        assert (status.report.status, status.report.rows, status.report.query) == ("running", 10, "5cf1c2f9")
        health.retries("no broker answers", 4.0)
        status = until(directory, lambda each: each.status.report.status == "retrying", "the failure").status
        assert status.report.reason == "no broker answers"
    assert list(directory.iterdir()) == []


def test_only_its_user_can_read_it(directory: Path) -> None:
    with noting(pipeline_from("transform", TRANSFORM), PipelineHealth("big-orders")):
        until(directory, lambda each: True, "the file")
        assert directory.stat().st_mode & 0o077 == 0
        assert [path.stat().st_mode & 0o077 for path in directory.iterdir()] == [0]


def test_it_is_written_when_something_changes_and_at_most_once_a_second(directory: Path) -> None:
    health = PipelineHealth("big-orders")
    path = directory / status_file_name("big-orders", os.getpid())
    versions = set()
    with noting(pipeline_from("transform", TRANSFORM), health):
        began = time.monotonic()
        number = 0
        while time.monotonic() < began + 2.5:
            number += 1
            health.batch_done(batch(number))
            with suppress(FileNotFoundError):
                versions.add(path.stat().st_mtime_ns)
            time.sleep(0.01)
        took = time.monotonic() - began
        until(directory, lambda each: each.status.report.batch == number, "the last batch")
        assert len(versions) <= took + 1
        # Nothing happens, so nothing is written, until the next heartbeat.
        before = path.stat().st_mtime_ns
        time.sleep(2.5)
        assert path.stat().st_mtime_ns == before


def test_a_failure_leaves_its_reason_and_the_next_start_removes_it(directory: Path) -> None:
    pipeline, health = pipeline_from("transform", TRANSFORM), PipelineHealth("big-orders")
    with pytest.raises(PipelineFailed), noting(pipeline, health):
        raise PipelineFailed("table orders has\nno column total")
    (found,) = pipelines(directory)
    assert (found.life, found.status.ended) == (PipelineLife.ENDED, "table orders has no column total")
    (left,) = directory.iterdir()
    left.rename(directory / "big-orders.1.json")
    with noting(pipeline, health):
        found = until(directory, lambda each: True, "the file")
        assert found.life is PipelineLife.RUNNING
        assert [path.name for path in directory.iterdir()] == [status_file_name("big-orders", os.getpid())]


def test_a_directory_that_cannot_be_written_keeps_no_pipeline_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    health = PipelineHealth("big-orders")
    with noting(pipeline_from("transform", TRANSFORM), health):
        wait_until(lambda: caplog.records, what="the warning")
        health.batch_done(batch(1))
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "the console will not find this pipeline by itself"
    ]


def test_a_user_without_a_home_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    with noting(pipeline_from("transform", TRANSFORM), PipelineHealth("big-orders")):
        pass


# -- from where to where -------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[dict[str, Any], PipelineEnd, PipelineEnd]] = {
    "transform": (
        {**TRANSFORM, "source": {**SOURCE, "topics": [], "topic_pattern": "or.*"}, "target": TARGET},
        PipelineEnd(pattern="or.*", place="127.0.0.1:9092"),
        PipelineEnd(place="backup:9092"),
    ),
    "mirror": (
        {"run": {"name": "m"}, "source": SOURCE, "target": TARGET, "mirror": {"topic_prefix": "eu."}},
        PipelineEnd(topics=("orders", "payments"), place="127.0.0.1:9092"),
        PipelineEnd(pattern="eu.*", place="backup:9092"),
    ),
    "outbox": (
        {"run": {"name": "o"}, "outbox": {"url": URL, "table": "events"}, "target": TARGET},
        PipelineEnd(table="events", place="PostgreSQL shop at db.example:5432"),
        PipelineEnd(place="backup:9092"),
    ),
    "sink-db": (
        {"run": {"name": "s"}, "source": SOURCE, "database": {"url": URL, "table": "orders"}},
        PipelineEnd(topics=("orders", "payments"), place="127.0.0.1:9092"),
        PipelineEnd(table="orders", place="PostgreSQL shop at db.example:5432"),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_says_from_where_to_where(kind: str) -> None:
    tables, source, target = KINDS[kind]
    assert ends_of(pipeline_from(kind, tables)) == (source, target)


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_holds_a_secret(kind: str, directory: Path) -> None:
    pipeline = pipeline_from(kind, KINDS[kind][0])
    with noting(pipeline, PipelineHealth(pipeline.run.name)):
        until(directory, lambda each: True, "the file")
        (path,) = directory.glob("*.json")
        assert "planted" not in path.read_text()


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (URL, "PostgreSQL shop at db.example:5432"),
        ("postgresql://app@127.0.0.1/shop", "PostgreSQL shop at 127.0.0.1"),
        ("postgres:///shop", "PostgreSQL shop"),
        (f"postgresql://app:{SECRET}@a,b:5433/shop?target_session_attrs=read-write", "PostgreSQL shop at a,b:5433"),
        (f"host=a,b dbname=shop user=app password={SECRET}", "PostgreSQL shop at a,b"),
        (f"password='{SECRET} x' host = 'db' dbname='shop'", "PostgreSQL shop at db"),
        (f"password={SECRET}", "PostgreSQL"),
        (f"postgresql://app:{SECRET}#@db/shop", "PostgreSQL shop at db"),
        (f"postgresql://app:{SECRET}/x#y@db/shop", "PostgreSQL shop at db"),
        (f"postgresql://app:x?{SECRET}@db/shop", "PostgreSQL"),
        (f"postgresql://app:x@{SECRET}@db/shop", "PostgreSQL shop at db"),
        (f"postgresql://db/shop?password=x@{SECRET}", "PostgreSQL"),
        (f"postgresql://db/shop?password={SECRET}", "PostgreSQL shop at db"),
        (f"host=db dbname=shop password='a host={SECRET}'", "PostgreSQL shop at db"),
        (rf"password='a\' host={SECRET}' dbname=shop", "PostgreSQL shop"),
        (f"password='a host={SECRET}", "PostgreSQL"),
        ("sqlite:///orders.db", "SQLite orders.db"),
        ("sqlite:////var/orders.db", "SQLite /var/orders.db"),
        ("sqlite:/tmp/x", "SQLite /tmp/x"),
    ],
)
def test_a_database_is_named_without_its_user(url: str, place: str) -> None:
    assert "planted" not in database_place(url)
    assert database_place(url) == place


# -- as it is used -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.mark.slow
def test_a_pipeline_that_runs_is_found_and_one_that_is_killed_has_ended(
    tmp_path: Path, broker: TidelogBroker, directory: Path
) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for number in range(10):
            producer.send("seen", b"%d" % number)
    toml = f"""
pipeline = "transform"
name = "watched"
checkpoint = "{tmp_path}/checkpoint"
[source]
bootstrap_servers = "{broker.bootstrap_servers}"
topics = ["seen"]
[query]
sql = "SELECT value FROM records"
[target]
bootstrap_servers = "{broker.bootstrap_servers}"
topic = "copied"
"""
    with pipeline_run(tmp_path, "watched", toml) as run:
        found = until(directory, lambda each: each.status.report.rows == 10, "the rows")
        assert (found.life, found.status.report.status) == (PipelineLife.RUNNING, "running")
        assert found.status.report.query
        run.kill()
        (found,) = pipelines(directory)
        assert (found.life, found.status.ended, found.status.report.rows) == (PipelineLife.ENDED, "", 10)
    once = toml.replace('name = "watched"', 'name = "watched"\nonce = true')
    with pipeline_run(tmp_path, "again", once) as run:
        run.wait_until_done()
    assert list(directory.iterdir()) == []
