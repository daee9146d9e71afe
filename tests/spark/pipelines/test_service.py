"""What probes and Prometheus see of a pipeline, and how a pipeline goes on after what it needs was away."""

from __future__ import annotations

import io
import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from tidelog.client.errors import NoBrokerAvailable
from tidelog.model.ids import TopicPartition
from tidelog.network.system import SystemRandomness
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.pipelines.durations import Duration
from tidelog.spark.pipelines.failure import PipelineFailed
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.progress import BatchReport, Display
from tidelog.spark.pipelines.retrying import Retries
from tidelog.spark.pipelines.run import StopRequest, keep_running
from tidelog.spark.pipelines.service import serving
from tidelog.spark.pipelines.settings import Service

AWAY = "no broker answers at 127.0.0.1:1"


def report(batch: int, rows: int = 10) -> BatchReport:
    behind = {TopicPartition("orders", 0): 3, TopicPartition("orders", 1): 0}
    return BatchReport(
        batch=batch,
        rows=rows,
        rows_per_second=5,
        seconds=2,
        write_seconds=1,
        lag=3,
        partition_lag=behind,
        bytes_written=777,
    )


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=20) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_pipeline_is_healthy_from_its_first_sign_of_work_until_it_fails() -> None:
    clock = Clock()
    health = PipelineHealth("orders", stalled_after=Duration(60.0), clock=clock)
    assert (health.report().healthy, health.report().status) == (False, "starting")
    health.query_starts()
    assert not health.report().healthy
    health.waits_for_records()
    assert (health.report().healthy, health.report().reason) == (True, "")
    health.batch_done(report(0))
    health.retries(AWAY, 4.0)
    found = health.report()
    assert (found.healthy, found.status, found.reason) == (False, "retrying", AWAY)
    assert found.next_attempt_in_seconds == 4.0
    # An attempt that begins is not one that works.
    health.query_starts()
    assert (health.report().healthy, health.report().next_attempt_in_seconds) == (False, None)
    health.batch_done(report(1))
    found = health.report()
    assert (found.healthy, found.batch, found.rows, found.restarts, found.last_error) == (True, 1, 20, 1, AWAY)
    clock.now += 61
    assert (health.report().healthy, health.report().status) == (False, "stalled")
    health.waits_for_records()
    assert health.report().healthy
    health.stops()
    health.waits_for_records()
    assert health.report().status == "stopping"


def test_probes_and_prometheus_read_the_same_over_http() -> None:
    health = PipelineHealth("orders")
    with serving(Service(port=0), health) as address:
        assert address is not None
        assert address.startswith("http://127.0.0.1:")
        status, body = get(f"{address}/healthz")
        assert (status, json.loads(body)["status"]) == (503, "starting")
        health.query_starts()
        health.batch_done(report(0))
        status, body = get(f"{address}/healthz")
        assert (status, json.loads(body)["rows"], json.loads(body)["lag"]) == (200, 10, 3)
        health.retries(AWAY, 1.0)
        health.query_starts()
        status, body = get(f"{address}/healthz?verbose")
        assert (status, json.loads(body)["reason"]) == (503, AWAY)
        status, metrics = get(f"{address}/metrics")
        assert status == 200
        for line in (
            'tidelog_pipeline_up{pipeline="orders"} 0.0',
            'tidelog_pipeline_rows_total{pipeline="orders"} 10.0',
            'tidelog_pipeline_batches_total{pipeline="orders"} 1.0',
            'tidelog_pipeline_written_bytes_total{pipeline="orders"} 777.0',
            'tidelog_pipeline_batch_seconds_sum{pipeline="orders"} 2.0',
            'tidelog_pipeline_lag_records{partition="0",pipeline="orders",topic="orders"} 3.0',
            'tidelog_pipeline_retries_total{pipeline="orders"} 1.0',
            'tidelog_pipeline_restarts_total{pipeline="orders"} 1.0',
        ):
            assert line in metrics.splitlines()
        assert f'tidelog_pipeline_last_error_timestamp_seconds{{pipeline="orders",reason="{AWAY}"}}' in metrics
        assert get(f"{address}/other")[0] == 404
    with pytest.raises(OSError):  # noqa: PT011
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=5).close()


def test_without_a_port_nothing_listens() -> None:
    with serving(Service(), PipelineHealth("orders")) as address:
        assert address is None


def test_a_port_that_is_taken_is_told_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(PipelineFailed, match=rf"\[service\] cannot listen on 127.0.0.1:{port}"),
            serving(Service(port=port), PipelineHealth("orders")),
        ):
            pass


class Attempts:
    """A query that ends as the list says, one entry for each start."""

    def __init__(self, health: PipelineHealth, *endings: Exception | Callable[[], None] | None) -> None:
        self._health = health
        self._endings = list(endings)
        self.count = 0

    def __call__(self) -> None:
        ending = self._endings[min(self.count, len(self._endings) - 1)]
        self.count += 1
        if isinstance(ending, Exception):
            raise ending
        if ending is not None:
            ending()


def run(
    attempts: Attempts, health: PipelineHealth, bound: float = 60.0, stop: StopRequest | None = None, alive: bool = True
) -> str:
    shown = io.StringIO()
    retries = Retries(Duration(bound), SystemRandomness())
    try:
        with Display("orders", shown) as display:
            keep_running(
                attempts,
                retries,
                display=display,
                health=health,
                stop=stop or StopRequest(),
                is_alive=lambda: alive,
            )
    except Exception as error:
        error.add_note(shown.getvalue())
        raise
    return shown.getvalue()


def test_what_is_away_is_tried_again_and_each_try_is_told_in_a_line() -> None:
    health = PipelineHealth("orders")
    attempts = Attempts(health, NoBrokerAvailable(AWAY), None)
    shown = run(attempts, health)
    assert attempts.count == 2
    assert health.report().restarts == 1
    (line,) = shown.splitlines()
    assert line.startswith(f"orders: {AWAY} · try 1 follows in ")
    assert line.endswith("(for up to 1 minute)")


def test_a_refusal_ends_a_pipeline_at_once() -> None:
    health = PipelineHealth("orders")
    attempts = Attempts(health, DatabaseProblem("table orders has no column total"))
    with pytest.raises(DatabaseProblem, match="no column total"):
        run(attempts, health)
    assert attempts.count == 1
    assert health.report().last_error == "table orders has no column total"


def test_with_retry_for_0_nothing_is_tried_again() -> None:
    health = PipelineHealth("orders")
    attempts = Attempts(health, NoBrokerAvailable(AWAY))
    with pytest.raises(NoBrokerAvailable):
        run(attempts, health, bound=0.0)
    assert attempts.count == 1


def test_after_the_bound_the_pipeline_gives_up_and_says_so() -> None:
    health = PipelineHealth("orders")
    attempts = Attempts(health, NoBrokerAvailable(AWAY))
    with pytest.raises(PipelineFailed, match=rf"{AWAY}. It was retried 1 times .* retry_for"):
        run(attempts, health, bound=0.2)


def test_progress_in_between_gives_the_whole_bound_again() -> None:
    health = PipelineHealth("orders")

    def works_and_fails() -> None:
        health.batch_done(report(health.signs_of_work))
        raise NoBrokerAvailable(AWAY)

    attempts = Attempts(health, works_and_fails, works_and_fails, None)
    shown = run(attempts, health, bound=1.0)
    assert [line.count("try 1 follows") for line in shown.splitlines()] == [1, 1]


def test_a_jvm_that_is_gone_is_not_waited_for() -> None:
    health = PipelineHealth("orders")
    attempts = Attempts(health, ConnectionRefusedError(111, "Connection refused"))
    with pytest.raises(PipelineFailed, match="Spark has ended"):
        run(attempts, health, alive=False)
    assert attempts.count == 1


def test_a_signal_interrupts_what_has_nothing_to_finish() -> None:
    health = PipelineHealth("orders")
    stop = StopRequest()

    def plan() -> None:
        stop.at_once = True
        stop.ask(signal.SIGTERM, None)
        raise AssertionError("asking interrupts")

    attempts = Attempts(health, plan)
    shown = run(attempts, health, stop=stop)
    assert attempts.count == 1
    assert shown.splitlines() == ["orders: ended; 0 rows in 0 batches"]


def test_a_signal_ends_the_wait_for_the_next_try() -> None:
    health = PipelineHealth("orders")
    stop = StopRequest()
    attempts = Attempts(health, NoBrokerAvailable(AWAY))

    def ask() -> None:
        while not health.report().next_attempt_in_seconds:
            time.sleep(0.01)
        stop.ask(signal.SIGTERM, None)

    asking = threading.Thread(target=ask)
    asking.start()
    # Without the signal it would go on for ever.
    shown = run(attempts, health, bound=float("inf"), stop=stop)
    asking.join()
    assert shown.splitlines()[-1] == "orders: ended; 0 rows in 0 batches"
    assert health.report().status == "stopping"
