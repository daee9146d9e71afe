"""The driver's transaction over connections that are cut: rows are there once, also where nobody knows if they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.client_reading import read_committed
from support.cutting_proxy import CuttingProxy, running_proxy
from support.processes import free_port

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.spark.sink.batch import BatchMode
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskPlace
from tidelog.spark.sink.publish import Publication, publish
from tidelog.spark.sink.staging import plan_folder
from tidelog.spark.sink.states import BatchState

PRODUCE = 0
OFFSET_FETCH = 9
INIT_PRODUCER_ID = 22
END = 26
TXN_OFFSET_COMMIT = 28
FOR_EVER = 100_000


@pytest.fixture
async def cut_broker() -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A broker that is reached through a proxy, with a topic "t" of two partitions."""
    async with running_proxy() as (proxy, port):
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties=advertised):
            servers = f"127.0.0.1:{port}"
            async with Admin(servers) as admin:
                await admin.create_topic("t", partitions=2)
            yield proxy, servers


@pytest.fixture(params=["inline", "in files"])
def handed_over(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """How tasks hand over: options of the sink. What is read from a file is stamped without a copy."""
    return {"stagingLocation": str(tmp_path), "inlineBytes": "1000000" if request.param == "inline" else "0"}


def publication(servers: str, batch: int, values: list[str], given: dict[str, str]) -> Publication:
    options = sink_options(
        {
            "kafka.bootstrap.servers": servers,
            "topic": "t",
            "kafka.batch.size": "300",
            "kafka.retry.backoff.ms": "5",
            "kafka.reconnect.backoff.ms": "5",
            **given,
        }
    )
    plan = SinkPlan(
        options=options,
        columns=SinkColumns(value=0),
        partition_counts={"t": 2},
        folder=plan_folder(options),
    )
    place = TaskPlace(query_id="q", batch=batch, task=0, attempt=0, run="run")
    output = BatchMode().run_task(plan, place, iter([pa.record_batch({"value": values})]))
    return Publication(options=options, name="cut-q", batch=batch, outputs=(output,))


def rows(batch: int) -> list[str]:
    return [f"{batch}-{number:03d}" for number in range(60)]


async def visible(servers: str) -> list[str]:
    return sorted(value.decode() for value in await read_committed(servers, "t") if value is not None)


async def test_requests_and_answers_that_are_lost_are_sent_again(
    cut_broker: tuple[CuttingProxy, str], handed_over: dict[str, str]
) -> None:
    proxy, servers = cut_broker
    expected: list[str] = []
    for api_key in (INIT_PRODUCER_ID, OFFSET_FETCH, PRODUCE, TXN_OFFSET_COMMIT, END):
        for cuts in (proxy.cut_requests, proxy.cut_replies):
            batch = len(expected) // 60
            cuts[api_key] = 1
            await publish(publication(servers, batch, rows(batch), handed_over))
            expected += rows(batch)

    assert proxy.cuts == 10
    assert await visible(servers) == sorted(expected)


@pytest.mark.parametrize(
    ("reaches_the_broker", "outcome"),
    [
        # The commit has happened, and its answer was lost: the note tells.
        (True, BatchState.SKIPPED),
        # It has not.
        (False, BatchState.COMMITTED),
    ],
)
async def test_commit_of_unknown_outcome_is_known_after_starting_again(
    cut_broker: tuple[CuttingProxy, str], handed_over: dict[str, str], reaches_the_broker: bool, outcome: BatchState
) -> None:
    proxy, servers = cut_broker
    await publish(publication(servers, 0, rows(0), handed_over))
    cuts = proxy.cut_replies if reaches_the_broker else proxy.cut_requests
    cuts[END] = FOR_EVER
    before = proxy.seen[INIT_PRODUCER_ID]

    async def let_through_from_the_second_attempt_on() -> None:
        while proxy.seen[INIT_PRODUCER_ID] < before + 2:
            await asyncio.sleep(0.01)
        cuts[END] = 0

    watching = asyncio.create_task(let_through_from_the_second_attempt_on())
    progress = await publish(publication(servers, 1, rows(1), {**handed_over, "kafka.max.block.ms": "2000"}))
    assert progress.state is outcome
    await watching

    assert await visible(servers) == rows(0) + rows(1)
