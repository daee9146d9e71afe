"""The driver dies at every step of a micro-batch, a worker in the middle of a task: every row arrives once, in order.

One query goes through all of it: each driver finds what the one before has left behind, publishes or skips that
micro-batch, and dies in the next one, at the next point. Most start with another number of cores, so that the same
micro-batch is divided into other tasks than before. A reader of committed records watches all the time.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.apache_kafka import kafka_jars, running_apache_kafka
from support.cluster_processes import running_cluster
from support.download_cache import Unavailable
from support.sink_crash_points import DRIVER_CRASH_POINTS, PREPARED_DRIVER_CRASH_POINTS
from support.sink_runs import Input, create_topic, sink_run, watching
from support.spark_cluster import running_spark_cluster
from support.tidelog_process import running_tidelog

from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.spark.session.java import find_java

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(find_java(dict(os.environ)) is None, reason="Spark needs Java 17 or newer"),
]

COMMITTED_FROM = DRIVER_CRASH_POINTS.index("after-end-txn")
MASTERS = ("local[2]", "local[3]", "local[1]")
# Several batches for each partition, so that there is a half of them; files in every other run.
OPTIONS = {"topic": "out", "kafka.batch.size": "2000"}
STAGED = {"inlineBytes": "0"}
TWO_PHASE = {"transaction.two.phase.commit.enable": "true"}
# A second attempt as soon as the other task is done and this one takes longer.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.speculation.efficiency.enabled": "false",
    "spark.speculation.task.duration.threshold": "1s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def die_at_every_point(servers: str, directory: Path, points: tuple[str, ...]) -> None:
    source = Input(directory / "input", len(points) + 2)
    options = {**OPTIONS, "kafka.bootstrap.servers": servers}
    create_topic(servers, "out")
    with watching(servers, "out") as watcher:
        for number, point in enumerate(points):
            with sink_run(
                directory,
                point,
                master=MASTERS[number % len(MASTERS)],
                source=source,
                options={**options, **(STAGED if number % 2 else {})},
                halt_at=f"{point}:{number}",
            ) as run:
                run.wait_until_halted()
                run.kill()
            committed = DRIVER_CRASH_POINTS.index(point) >= COMMITTED_FROM
            watcher.expect(source.expected(number + committed), what=f"what is visible after a death {point}")
        # The last driver survives, but loses a worker, whose task is tried again: local[n,f] allows f failures.
        with sink_run(
            directory,
            "last",
            master="local[2,3]",
            source=source,
            options={**options, **STAGED},
            halt_at=f"in-write:{len(points)}",
        ) as run:
            os.kill(run.wait_until_halted(), signal.SIGKILL)
            run.wait_until_done()
        watcher.expect(source.expected(len(points) + 2), what="what is visible in the end")
    staging = directory / "checkpoint" / "tidelog-staging"
    assert not list(staging.iterdir()), "staged files are left behind"


def test_scenario_25_every_row_arrives_once_wherever_the_driver_dies(tmp_path: Path) -> None:
    with running_tidelog(tmp_path / "broker") as broker:
        die_at_every_point(broker.bootstrap_servers, tmp_path, DRIVER_CRASH_POINTS)


@pytest.mark.maven
def test_scenario_25_the_same_on_apache_kafka(tmp_path: Path) -> None:
    try:
        jars = kafka_jars()
    except Unavailable as problem:
        pytest.skip(str(problem))
    points = ("after-half-of-the-batches", "before-end-txn", "after-end-txn")
    with running_apache_kafka(jars, tmp_path / "kafka") as kafka:
        die_at_every_point(kafka.bootstrap_servers, tmp_path, points)


def test_scenario_25_driver_goes_on_when_a_broker_of_a_cluster_dies_in_the_middle_of_a_commit(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    with running_cluster(tmp_path / "cluster") as cluster:
        servers = cluster.bootstrap_servers
        source = Input(tmp_path / "input", 4)
        create_topic(servers, "out", replication_factor=3)
        options = {**OPTIONS, "kafka.bootstrap.servers": servers, "transactionalIdPrefix": "cluster-test"}
        with watching(servers, "out") as watcher:
            with sink_run(
                tmp_path,
                "paused",
                master="local[2]",
                source=source,
                options=options,
                halt_at="after-half-of-the-batches:1",
            ) as run:
                run.wait_until_halted()
                query_id = (tmp_path / "checkpoint" / "metadata").read_text().split('"')[3]
                # The worst one to lose: it knows of the transaction.
                killed = cluster.coordinator(CoordinatorKind.TRANSACTION, f"cluster-test-{query_id}")
                cluster.kill(killed)
                run.go_on()
                run.wait_until_done()
            watcher.expect(source.expected(4), what="what is visible after the broker died")


def test_scenario_25_task_that_runs_twice_at_once_on_a_spark_cluster_counts_once(tmp_path: Path) -> None:
    with running_tidelog(tmp_path / "broker") as broker, running_spark_cluster(tmp_path / "spark") as master:
        servers = broker.bootstrap_servers
        source = Input(tmp_path / "input", 2)
        create_topic(servers, "out")
        options = {**OPTIONS, **STAGED, "kafka.bootstrap.servers": servers}
        with watching(servers, "out") as watcher:
            # The first attempt of a task hangs. Spark starts a second one on the other worker, whose output counts.
            with sink_run(
                tmp_path,
                "speculation",
                master=master,
                source=source,
                options=options,
                settings=SPECULATION,
                halt_at="in-write:0",
                on_executors=True,
            ) as run:
                run.wait_until_halted()
                run.wait_until_done()
            watcher.expect(source.expected(2), what="what is visible after speculation")
    assert not list((tmp_path / "checkpoint" / "tidelog-staging").iterdir())


def test_transactions_of_tasks_are_completed_when_the_driver_dies_between_two_commits(tmp_path: Path) -> None:
    with running_tidelog(tmp_path / "broker") as broker:
        servers = broker.bootstrap_servers
        source = Input(tmp_path / "input", 3)
        create_topic(servers, "out")
        options = {**OPTIONS, "atomicity": "task", "kafka.bootstrap.servers": servers}
        with watching(servers, "out") as watcher:
            with sink_run(
                tmp_path, "dies", master="local[2]", source=source, options=options, halt_at="after-half-of-the-tasks:1"
            ) as run:
                run.wait_until_halted()
                run.kill()
            with sink_run(tmp_path, "last", master="local[2]", source=source, options=options) as run:
                run.wait_until_done()
            # Tasks write at the same time, so that their rows mingle.
            watcher.expect(source.expected(3), what="what is visible in the end", in_order=False)


# With atomicity=prepared


def test_prepared_transactions_are_decided_once_wherever_driver_and_workers_die(tmp_path: Path) -> None:
    points = ("in-decision", "after-half-of-the-tasks")
    with running_tidelog(tmp_path / "broker", TWO_PHASE) as broker:
        servers = broker.bootstrap_servers
        source = Input(tmp_path / "input", len(points) + 2)
        create_topic(servers, "out")
        options = {**OPTIONS, "atomicity": "prepared", "kafka.bootstrap.servers": servers}
        with watching(servers, "out") as watcher:
            for number, point in enumerate(points):
                with sink_run(
                    tmp_path,
                    point,
                    master=MASTERS[number],
                    source=source,
                    options=options,
                    halt_at=f"{point}:{number}",
                ) as run:
                    run.wait_until_halted()
                    run.kill()
            # A worker dies when its transaction is prepared, and its task is tried again.
            with sink_run(
                tmp_path,
                "last",
                master="local[2,3]",
                source=source,
                options=options,
                halt_at=f"after-prepare:{len(points)}",
            ) as run:
                os.kill(run.wait_until_halted(), signal.SIGKILL)
                run.wait_until_done()
            expected = source.expected(len(points) + 2)
            watcher.expect(expected, what="what is visible in the end", in_order=False)


def test_a_driver_that_stops_after_its_decision_and_goes_on_later_does_no_harm(tmp_path: Path) -> None:
    assert "after-decision" in PREPARED_DRIVER_CRASH_POINTS
    with running_tidelog(tmp_path / "broker", TWO_PHASE) as broker:
        servers = broker.bootstrap_servers
        source = Input(tmp_path / "input", 3)
        create_topic(servers, "out")
        options = {**OPTIONS, "atomicity": "prepared", "kafka.bootstrap.servers": servers}
        with (
            watching(servers, "out") as watcher,
            sink_run(
                tmp_path, "zombie", master="local[1]", source=source, options=options, halt_at="after-decision:1"
            ) as zombie,
        ):
            zombie.wait_until_halted()
            with sink_run(tmp_path, "successor", master="local[2]", source=source, options=options) as successor:
                successor.wait_until_done()
            zombie.go_on()
            zombie.wait_until_ended()
            watcher.expect(source.expected(3), what="what is visible in the end", in_order=False)
