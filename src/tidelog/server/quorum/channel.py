"""How a broker reaches the active controller: directly if that is this node, else over the network.

The controller may change at any time, so requests are retried: a node that says it is not the controller, or does not
answer, is asked again, or its successor is, until the timeout.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar, cast

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.schema import Message
from tidelog.server.observability.metrics import error_codes
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.peers import Peers
from tidelog.server.quorum.runtime import QuorumRuntime

R = TypeVar("R", bound=Message)

RETRY_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerChannel:
    """`forwarding` are separate connections: replies keep their order, and a heartbeat must not wait behind a
    client's slow request.
    """

    node_id: int
    quorum: QuorumRuntime
    local: ControllerAnswers | None
    peers: Peers
    forwarding: Peers
    timeout_seconds: float

    async def deserted(self) -> None:
        """Until no majority of controllers is left that could answer anything."""
        await self.quorum.talks.deserted()

    async def ask(self, request: Message, expected: type[R], timeout_seconds: float | None = None) -> R:
        """The controller's answer. Raises ApiError with REQUEST_TIMED_OUT if there is none in time.

        A request whose answer is lost may be carried out twice; those that are sent here allow that.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.timeout_seconds if timeout_seconds is None else timeout_seconds)
        problem = "no controller is known"
        while True:
            try:
                response = await self._try(request, deadline - loop.time())
                if ErrorCode.NOT_CONTROLLER not in set(error_codes(response)):
                    return cast(R, response)
                problem = "the controller has changed"
            except ApiError as error:
                if error.code is not ErrorCode.NOT_CONTROLLER:
                    raise
                problem = error.message
            except (ConnectionProblem, UnsupportedByBroker) as error:
                problem = str(error)
            if loop.time() + RETRY_SECONDS >= deadline:
                raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"the controller does not answer: {problem}")
            await asyncio.sleep(RETRY_SECONDS)

    async def try_once(self, request: Message, expected: type[R], timeout_seconds: float) -> R:
        """One attempt, for callers that retry anyway. Raises ApiError or ConnectionProblem."""
        return cast(R, await self._try(request, timeout_seconds))

    async def _try(self, request: Message, timeout_seconds: float) -> Message:
        leader = self.quorum.replica.leader_id
        if leader is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "the quorum has no leader")
        if leader == self.node_id:
            if self.local is None:
                raise ApiError(ErrorCode.NOT_CONTROLLER, "this node is not a controller")
            if isinstance(request, EnvelopeRequest):
                return await self.local.open(request)
            return await self.local.controller.perform(request)
        expected = response_class(request.SCHEMA.api_key)
        peers = self.forwarding if isinstance(request, EnvelopeRequest) else self.peers
        return await peers.ask(leader, request, expected, max(1.0, timeout_seconds * 1000))
