"""From frames to handlers and back: parses requests, finds the handler, encodes replies, counts.

Rules that every API shares live here: what happens to unknown APIs and versions, how large a frame may be, and which
requests may be worked on while their predecessor on the same connection still waits.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.network.frame_receiver import Frame
from tidelog.network.later import Later
from tidelog.network.server_connection import Reply, ServerConnection
from tidelog.protocol.api import ApiKey
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.frames import parse_request_header, peek_request, response_frame
from tidelog.protocol.messages.api_versions_response import ApiVersionsResponse
from tidelog.protocol.messages.produce_request import ProduceRequest
from tidelog.protocol.schema import Message
from tidelog.server.api import legacy_produce
from tidelog.server.api.registry import route
from tidelog.server.observability.metrics import Metrics, error_codes
from tidelog.server.replies.error_replies import error_reply
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node
    from tidelog.server.routing.connections import Connections

logger = logging.getLogger(__name__)

# Nothing but Produce carries records, so nothing else needs frames of a hundred megabytes. A list of a million
# partitions still fits.
MAX_CONTROL_FRAME_BYTES = 16 * 1024 * 1024
_PRODUCE_KEY = ApiKey.PRODUCE.to_bytes(2, "big")


class Router:
    """The `RequestService` of a broker."""

    def __init__(self, node: Node, connections: Connections, metrics: Metrics) -> None:
        self._node = node
        self._connections = connections
        self._metrics = metrics
        self._max_frame_bytes = node.config.socket_request_max_bytes

    def frame_limit(self, first_bytes: memoryview) -> int:
        # Until both bytes of the API key are there the larger limit applies; the buffer grows with what arrives.
        if len(first_bytes) < 2 or first_bytes == _PRODUCE_KEY:
            return self._max_frame_bytes
        return min(self._max_frame_bytes, MAX_CONTROL_FRAME_BYTES)

    def may_pipeline(self, frame: Frame) -> bool:
        """Producing: the append is done in order before the waiting for replicas begins."""
        return bytes(frame[:2]) == _PRODUCE_KEY

    def connected(self, connection: ServerConnection) -> bool:
        return self._connections.admit(connection)

    def disconnected(self, connection: ServerConnection) -> None:
        self._connections.release(connection)

    def answer(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        if not self._node.ready.is_set():
            return Later.run(self._answer_when_ready(frame, connection))
        started = self._node.clock.monotonic_ms()
        api_key, version, correlation_id = peek_request(frame)
        found = route(api_key, version)
        if found is None:
            return self._answer_unserved(frame, api_key, version, correlation_id)
        # A view that cannot be written to would keep the leader from stamping offsets in place.
        view = memoryview(frame)
        header = parse_request_header(view, flexible=found.flexible)
        request, _ = decode(found.request, view, version, header.body_at)
        context = RequestContext(
            api_key=api_key,
            version=version,
            correlation_id=correlation_id,
            client_id=header.client_id,
            connection=connection,
            frame=frame,
        )
        try:
            outcome = found.handle(self._node, request, context)
        except Exception:
            outcome = self._failed(request, context)
        if outcome is None or isinstance(outcome, Message):
            return self._reply(context, request, started, outcome)
        later = outcome if isinstance(outcome, Later) else Later.run(outcome)
        return later.otherwise(lambda _: self._failed(request, context)).then(
            partial(self._reply, context, request, started)
        )

    async def _answer_when_ready(self, frame: Frame, connection: ServerConnection) -> Reply:
        await self._node.ready.wait()
        reply = self.answer(frame, connection)
        return await reply if isinstance(reply, Later) else reply

    def _failed(self, request: Message, context: RequestContext) -> Message:
        """Called while an exception is handled: it costs this request, not the connection and what else is on it."""
        logger.exception(
            "%s version %d of client %r from %s failed",
            type(request).__name__,
            context.version,
            context.client_id,
            context.client_host,
        )
        return self._error_reply(request, context.version)

    def _error_reply(self, request: Message, version: int) -> Message:
        response = error_reply(request, version, ErrorCode.UNKNOWN_SERVER_ERROR)
        if response is None or (isinstance(request, ProduceRequest) and request.acks == 0):
            # A client that cannot be told finds out by the connection, as with Kafka.
            raise ProtocolError(f"{type(request).__name__} has failed, and its reply has no room to say so")
        return response

    def _reply(self, context: RequestContext, request: Message, started: float, response: Message | None) -> Reply:
        pieces: Reply = None
        sent = 0
        if response is not None:
            try:
                pieces = response_frame(context.api_key, context.version, context.correlation_id, response)
            except Exception:
                response = self._failed(request, context)
                pieces = response_frame(context.api_key, context.version, context.correlation_id, response)
            sent = sum(map(len, pieces))
        elapsed_ms = self._node.clock.monotonic_ms() - started
        self._metrics.request_done(context.api_key, context.version, elapsed_ms, len(context.frame), sent)
        for code in error_codes(response):
            self._metrics.error(context.api_key, code)
        return pieces

    def _answer_unserved(self, frame: Frame, api_key: int, version: int, correlation_id: int) -> Reply:
        if api_key == ApiKey.API_VERSIONS:
            # A newer client: it reads the ranges from a version 0 body and asks again (KIP-511).
            module = route(ApiKey.API_VERSIONS, 0)
            assert module is not None
            versions = self._node.advertised_versions()
            response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=versions)
            self._metrics.error(api_key, ErrorCode.UNSUPPORTED_VERSION)
            return response_frame(ApiKey.API_VERSIONS, 0, correlation_id, response)
        if api_key == ApiKey.PRODUCE and 0 <= version <= 2:
            self._metrics.error(api_key, ErrorCode.UNSUPPORTED_VERSION)
            return legacy_produce.refuse(frame, version, correlation_id)
        self._metrics.error(api_key, ErrorCode.UNSUPPORTED_VERSION)
        raise ProtocolError(f"API key {api_key} version {version} is not served")
