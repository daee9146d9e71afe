"""Requests of clients that only the controller can answer: every broker takes them and passes them on (KIP-590).

The handler of every API in `tidelog.server.quorum.envelope.FORWARDED` is `handle`, unless the API has a module in
`tidelog.server.api` because this node answers a part of it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.frames import LENGTH_SIZE, request_frame
from tidelog.protocol.schema import Message
from tidelog.server.quorum.envelope import seal, unseal_reply
from tidelog.server.replies.refusals import refuse
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

logger = logging.getLogger(__name__)

MINIMUM_TIMEOUT_SECONDS = 5.0
DEFAULT_TIMEOUT_MS = 30_000


async def handle(node: Node, request: Message, context: RequestContext) -> Message:
    return await forward(node, request, context, bytes(context.frame))


async def forward_part(node: Node, part: Message, context: RequestContext) -> Message:
    """Like `handle`, for a request of which this node has answered a part: the rest goes on in the same version."""
    pieces = request_frame(context.api_key, context.version, context.correlation_id, context.client_id, part)
    return await forward(node, part, context, b"".join(pieces)[LENGTH_SIZE:])


async def forward(node: Node, request: Message, context: RequestContext, request_data: bytes) -> Message:
    """The controller's reply in the client's version, or one that says why there is none.

    Raises ProtocolError, which closes the client's connection, if the controller does not know the client's version:
    the client then negotiates anew.
    """
    timeout_ms = max(0, getattr(request, "timeout_ms", DEFAULT_TIMEOUT_MS))
    envelope = seal(request_data, context.principal, context.connection.peer_host)
    try:
        reply = await node.controller.forward(envelope, max(MINIMUM_TIMEOUT_SECONDS, timeout_ms / 1000))
    except ApiError as error:
        return refuse(request, error)
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
    return refuse(request, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller's reply: {problem}"))
