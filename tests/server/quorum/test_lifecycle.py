"""When a broker sends heartbeats: at intervals, at once to a new controller, and never more when it has given up."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from support.processes import HANG_SECONDS

from tidelog.config.broker import BrokerConfig
from tidelog.metadata.image import ClusterImage
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.lifecycle import BrokerLifecycle
from tidelog.server.quorum.metadata import MetadataFollower

# No test lasts so long: a heartbeat that comes has another reason than the interval.
LONG_MS = 600_000


class Controller:
    """The other end of the channel."""

    def __init__(self) -> None:
        self.heartbeats: list[BrokerHeartbeatRequest] = []

    async def try_once(self, request: Any, expected: Any, timeout_seconds: float) -> BrokerHeartbeatResponse:
        self.heartbeats.append(request)
        return BrokerHeartbeatResponse(is_fenced=False)


class Metadata:
    image = ClusterImage(cluster_id="c", offset=5)


def lifecycle(controller: Controller, interval_ms: int) -> BrokerLifecycle:
    properties = {"node.id": "1", "broker.heartbeat.interval.ms": str(interval_ms)}
    properties["broker.session.timeout.ms"] = str(2 * interval_ms)
    return BrokerLifecycle(
        config=BrokerConfig.from_properties(properties),
        channel=cast(ControllerChannel, controller),
        metadata=cast(MetadataFollower, Metadata()),
        features={},
        offline_directories=list,
    )


async def until(count: int, controller: Controller) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while len(controller.heartbeats) < count:
            await asyncio.sleep(0.001)


async def test_a_new_controller_hears_of_the_broker_at_once() -> None:
    controller = Controller()
    broker = lifecycle(controller, LONG_MS)
    broker.start_heartbeats()
    for count in (1, 2, 3):
        broker.controller_changed()
        await until(count, controller)
    assert [each.current_metadata_offset for each in controller.heartbeats] == [5, 5, 5]
    await broker.stop()


async def test_a_broker_that_gives_up_says_nothing_more() -> None:
    controller = Controller()
    broker = lifecycle(controller, 10)
    broker.start_heartbeats()
    await until(2, controller)
    broker.end_heartbeats()
    await asyncio.sleep(0)
    count = len(controller.heartbeats)
    broker.controller_changed()
    await asyncio.sleep(0.1)
    assert len(controller.heartbeats) == count
    await broker.stop()
