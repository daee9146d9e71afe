"""How a broker reaches the active controller: directly if that is this node, else over the network.

The controller may change at any time, so asking is trying: a node that says it is not the controller, or does not
answer, is asked again, or its successor is, until the time is up.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TypeVar, cast

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.messages.envelope_response import EnvelopeResponse
from tidelog.protocol.schema import Message
from tidelog.server.observability.metrics import error_codes
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.peers import Peers, UnknownPeer
from tidelog.server.quorum.runtime import QuorumRuntime

logger = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)

RETRY_SECONDS = 0.1


class ControllerChannel:
    """`forwarding` are connections of their own: replies keep their order, and a heartbeat must not wait behind a
    client's request that takes long.
    """

    def __init__(
        self,
        *,
        node_id: int,
        quorum: QuorumRuntime,
        local: ControllerAnswers | None,
        peers: Peers,
        forwarding: Peers,
        timeout_seconds: float,
    ) -> None:
        self._node_id = node_id
        self._quorum = quorum
        self._local = local
        self._peers = peers
        self._forwarding = forwarding
        self._timeout_seconds = timeout_seconds

    @property
    def controller_id(self) -> int | None:
        """Who leads the quorum, as far as this node knows."""
        return self._quorum.leader_id

    async def deserted(self) -> None:
        """Until no majority of controllers is left that could answer anything."""
        await self._quorum.deserted()

    async def ask(self, request: Message, expected: type[R], timeout_seconds: float | None = None) -> R:
        """The controller's answer. Raises ApiError with REQUEST_TIMED_OUT if there is none in time.

        A request whose answer is lost may be carried out twice; those that are sent here are made for that.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._timeout_seconds if timeout_seconds is None else timeout_seconds)
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
            except (ConnectionProblem, UnsupportedByBroker, UnknownPeer) as error:
                problem = str(error)
            if loop.time() + RETRY_SECONDS >= deadline:
                raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"the controller does not answer: {problem}")
            await asyncio.sleep(RETRY_SECONDS)

    async def forward(self, envelope: EnvelopeRequest, timeout_seconds: float) -> EnvelopeResponse:
        """A client's request to whoever is the controller, this node included. Raises ApiError as `ask` does."""
        return await self.ask(envelope, EnvelopeResponse, timeout_seconds)

    async def try_once(self, request: Message, expected: type[R], timeout_seconds: float) -> R:
        """One attempt, for those who come back anyway. Raises ApiError or ConnectionProblem."""
        return cast(R, await self._try(request, timeout_seconds))

    async def _try(self, request: Message, timeout_seconds: float) -> Message:
        leader = self._quorum.leader_id
        if leader is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "the quorum has no leader")
        if leader == self._node_id:
            if self._local is None:
                raise ApiError(ErrorCode.NOT_CONTROLLER, "this node is no controller")
            if isinstance(request, EnvelopeRequest):
                return await self._local.open(request)
            return await self._local.perform(request)
        expected = response_class(request.SCHEMA.api_key)
        peers = self._forwarding if isinstance(request, EnvelopeRequest) else self._peers
        return await peers.ask(leader, request, expected, max(1.0, timeout_seconds * 1000))
