"""Requests of clients that only the controller can answer: every broker accepts them and forwards them (KIP-590)."""

from __future__ import annotations

import logging
from typing import Protocol

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.frames import LENGTH_SIZE, request_frame
from tidelog.protocol.messages.envelope_response import EnvelopeResponse
from tidelog.protocol.schema import Message
from tidelog.server.declaration import Api
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.envelope import seal, unseal_reply
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext

logger = logging.getLogger(__name__)

MINIMUM_TIMEOUT_SECONDS = 5.0
DEFAULT_TIMEOUT_MS = 30_000


class ToController(Protocol):
    """Has the active controller answer a request, or the part of one that is left for it."""

    async def forward(self, api: Api, request: Message, context: RequestContext) -> Message: ...

    async def forward_part(self, api: Api, part: Message, context: RequestContext) -> Message: ...


class AnsweredHere:
    """On the listener of a controller: nothing has to be forwarded."""

    def __init__(self, answers: ControllerAnswers) -> None:
        self._answers = answers

    async def forward(self, api: Api, request: Message, context: RequestContext) -> Message:
        return await self._answers.answer(request, context.version, context)

    forward_part = forward


class Forwarder:
    """On the listener of a broker: forwards requests, and passes the controller's replies back."""

    def __init__(self, controller: ControllerChannel) -> None:
        self.controller = controller

    async def forward(self, api: Api, request: Message, context: RequestContext) -> Message:
        return await self.send(api, request, context, bytes(context.frame))

    async def forward_part(self, api: Api, part: Message, context: RequestContext) -> Message:
        """For a request of which this node has answered a part: the rest is forwarded in the same version."""
        pieces = request_frame(context.api_key, context.version, context.correlation_id, context.client_id, part)
        return await self.send(api, part, context, b"".join(pieces)[LENGTH_SIZE:])

    async def send(self, api: Api, request: Message, context: RequestContext, request_data: bytes) -> Message:
        """The controller's reply in the client's version, or an error reply if there is none.

        Raises ProtocolError, which closes the client's connection, if the controller does not know the client's
        version: the client then negotiates again.
        """
        timeout_ms = max(0, getattr(request, "timeout_ms", DEFAULT_TIMEOUT_MS))
        envelope = seal(request_data, context.principal, context.connection.peer_host)
        try:
            reply = await self.controller.ask(
                envelope, EnvelopeResponse, max(MINIMUM_TIMEOUT_SECONDS, timeout_ms / 1000)
            )
        except ApiError as error:
            return refused(api, request, context.version, error)
        try:
            return unseal_reply(reply, context.api_key, context.version)
        except ApiError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                raise ProtocolError(
                    f"the controller cannot read API key {context.api_key} version {context.version}"
                ) from error
            problem: Exception = error
        except ProtocolError as error:
            problem = error
        # The client has done nothing wrong and can do nothing about it.
        logger.error("%s could not be forwarded: %s", type(request).__name__, problem)
        failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller's reply: {problem}")
        return refused(api, request, context.version, failure)
