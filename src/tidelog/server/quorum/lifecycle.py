"""A broker's life in the cluster: it registers, catches up, serves, sends heartbeats, and hands over before it stops.

A start is always a new incarnation with a new broker epoch, and its partitions get a new leader epoch: what clients
have read from the last incarnation can be distinguished from what this one writes (KIP-320).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tidelog.config.broker import BrokerConfig
from tidelog.metadata.image import Endpoint
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from tidelog.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.metadata import MetadataFollower

logger = logging.getLogger(__name__)

REGISTRATION_RETRY_SECONDS = 0.2
CATCH_UP_SECONDS = 0.02
# A heartbeat without an answer is repeated soon, before the next one is due: the controller may suspect this broker.
RETRIES_PER_INTERVAL = 4
MOST_RETRY_SECONDS = 0.25
LEAST_RETRY_SECONDS = 0.05
# A controller that is up but does not answer for so long will not complete the controlled shutdown.
SILENT_CONTROLLER_SECONDS = 3.0


@dataclass(slots=True, kw_only=True, eq=False)
class BrokerLifecycle:
    config: BrokerConfig
    channel: ControllerChannel
    metadata: MetadataFollower
    features: Mapping[str, tuple[int, int]]
    offline_directories: Callable[[], Sequence[Uuid]]
    # Of this incarnation; -1 until it is registered.
    broker_epoch: int = field(default=-1, init=False)
    # Whether the first registration is complete, and the image holds it.
    registered: bool = field(default=False, init=False)
    fenced: bool = field(default=True, init=False)
    _beating: asyncio.Task[None] | None = field(default=None, init=False)
    _beat_now: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    # Sent again when the controller no longer knows us, or not in this incarnation.
    _registration: BrokerRegistrationRequest | None = field(default=None, init=False)

    async def register(
        self,
        incarnation_id: Uuid,
        endpoints: Sequence[Endpoint],
        directories: Sequence[Uuid],
        previous_epoch: int = -1,
    ) -> None:
        """Returns when the controller has registered us and the image says so. Raises ApiError if it never will.

        `previous_epoch` is that of the last run if it ended cleanly, else -1.
        """
        self._registration = BrokerRegistrationRequest(
            broker_id=self.config.node_id,
            cluster_id=self.metadata.image.cluster_id,
            incarnation_id=incarnation_id,
            listeners=[
                Listener(name=each.listener, host=each.host, port=each.port, security_protocol=each.security_protocol)
                for each in endpoints
            ],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in self.features.items()
            ],
            rack=self.config.broker_rack,
            log_dirs=list(directories),
            previous_broker_epoch=previous_epoch,
        )
        await self._register(self.config.initial_broker_registration_timeout_ms / 1000)
        self.registered = True

    async def _register(self, timeout_seconds: float) -> None:
        request = self._registration
        assert request is not None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        while True:
            response = await self.channel.ask(request, BrokerRegistrationResponse, max(1.0, deadline - loop.time()))
            code = ErrorCode(response.error_code)
            if code is ErrorCode.NONE:
                break
            # A process that was killed keeps its session until that times out.
            if code is not ErrorCode.DUPLICATE_BROKER_REGISTRATION or loop.time() > deadline:
                raise ApiError(code, f"broker {request.broker_id} cannot be registered: {code.name}")
            await asyncio.sleep(REGISTRATION_RETRY_SECONDS)
        self.broker_epoch = response.broker_epoch
        await self.metadata.reached(self.broker_epoch)

    async def unfence(self) -> None:
        """Send heartbeats until the controller lets us serve."""
        while self.fenced:
            await self._beat()
            if self.fenced:
                await asyncio.sleep(CATCH_UP_SECONDS)
        await self.metadata.reached(self.broker_epoch)

    def start_heartbeats(self) -> None:
        self._beating = asyncio.create_task(self._keep_beating())

    def directory_failed(self) -> None:
        """The controller moves leadership away from a failed directory as soon as it knows of it."""
        if self.registered:
            self._beat_now.set()

    def controller_changed(self) -> None:
        """A controller that is new, or has lost the connection, need not wait for this broker's next heartbeat."""
        if self._beating is not None:
            self._beat_now.set()

    async def _keep_beating(self) -> None:
        interval = self.config.broker_heartbeat_interval_ms / 1000
        pause = interval
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._beat_now.wait()
            self._beat_now.clear()
            answered = await self._beat() is not None
            pause = interval
            if not answered:
                # Also where each attempt ends with another lost connection, which asks for the next one.
                await asyncio.sleep(min(LEAST_RETRY_SECONDS, interval / RETRIES_PER_INTERVAL))
                pause = min(MOST_RETRY_SECONDS, interval / RETRIES_PER_INTERVAL)

    async def _beat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse | None:
        request = BrokerHeartbeatRequest(
            broker_id=self.config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self.metadata.image.offset,
            want_shut_down=want_shut_down,
            offline_log_dirs=list(self.offline_directories()),
        )
        timeout = self.config.broker_heartbeat_interval_ms / 1000
        try:
            response = await self.channel.try_once(request, BrokerHeartbeatResponse, timeout)
        except (ApiError, ConnectionProblem, UnsupportedByBroker) as problem:
            logger.debug("heartbeat: %s", problem)
            return None
        if response.error_code == ErrorCode.STALE_BROKER_EPOCH:
            logger.warning("the controller does not know this incarnation of broker %d", self.config.node_id)
            with contextlib.suppress(ApiError):
                await self._register(timeout)
            return None
        if not response.error_code:
            self.fenced = response.is_fenced
        return response

    async def hand_over(self, timeout_seconds: float) -> None:
        """Controlled shutdown: others take over our leadership while we still serve."""
        if not self.config.controlled_shutdown_enable or len(self.metadata.image.brokers) < 2:
            return
        handing_over = asyncio.create_task(self._hand_over(timeout_seconds))
        # When all nodes stop at once, the last ones have no quorum left that could take over anything.
        deserted = asyncio.create_task(self.channel.deserted())
        await asyncio.wait([handing_over, deserted], return_when=asyncio.FIRST_COMPLETED)
        if not handing_over.done():
            logger.info("no majority of controllers is left for a controlled shutdown; stopping anyway")
        for task in (handing_over, deserted):
            task.cancel()
        await asyncio.gather(handing_over, deserted, return_exceptions=True)

    async def _hand_over(self, timeout_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        answered = loop.time()
        while loop.time() < min(deadline, answered + SILENT_CONTROLLER_SECONDS):
            response = await self._beat(want_shut_down=True)
            if response is not None:
                answered = loop.time()
                if response.should_shut_down:
                    return
            await asyncio.sleep(CATCH_UP_SECONDS)
        logger.warning("the controlled shutdown did not complete in time; stopping anyway")

    def end_heartbeats(self) -> None:
        """Send no more heartbeats, and let others conclude that this broker is gone."""
        if self._beating is not None:
            self._beating.cancel()

    async def stop(self) -> None:
        self.end_heartbeats()
        if self._beating is not None:
            await asyncio.gather(self._beating, return_exceptions=True)
