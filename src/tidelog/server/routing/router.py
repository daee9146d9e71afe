"""From frames to handlers and back: parses requests, finds the handler, encodes replies, counts.

Rules that every API shares live here, the same for the listeners of brokers and of controllers: what happens to unknown
APIs and versions, how large a frame may be, how a request is answered whose handler fails, which requests may be
handled while their predecessor on the same connection still waits, and that clients with quotas are throttled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ports import Clock
from tidelog.network.frame_receiver import Frame
from tidelog.network.later import Later
from tidelog.network.server_connection import Reply, ServerConnection
from tidelog.protocol.api import request_class
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.frames import parse_request_header, peek_request, response_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_response import ApiVersionsResponse
from tidelog.protocol.schema import Message, covers
from tidelog.server.declaration import Api, FrameSize, advertised_versions
from tidelog.server.observability.metrics import Metrics, error_codes
from tidelog.server.quorum.envelope import ENVELOPE_ROOM_BYTES
from tidelog.server.replies.error_replies import error_reply
from tidelog.server.routing.connections import Connections
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.measuring import MeasuredCoroutine
from tidelog.server.routing.throttling import ClientThrottling

logger = logging.getLogger(__name__)

# Nothing but Produce carries records, so nothing else needs frames of a hundred megabytes. A list of a million
# partitions still fits.
MAX_CONTROL_FRAME_BYTES = 16 * 1024 * 1024

# A handler may be asynchronous; if it can answer at once it should not be, since a plain call costs no task. A plain
# function that cannot answer at once returns a `Later`. None means that the request gets no reply.
Outcome = Message | Later[Message | None] | Coroutine[Any, Any, Message | None] | None
Handler = Callable[[Any, RequestContext], Outcome]


class Route(NamedTuple):
    """What is needed for one version of one API."""

    api: Api
    request: type[Message]
    flexible: bool
    handle: Handler


class Router:
    """The `RequestService` of all listeners of one kind."""

    def __init__(
        self,
        *,
        apis: Mapping[ApiKey, Api],
        handlers: Mapping[ApiKey, Handler],
        may_pipeline: Callable[[Frame], bool],
        connections: Connections,
        throttling: ClientThrottling,
        metrics: Metrics,
        clock: Clock,
        max_frame_bytes: int,
        ready: asyncio.Event | None = None,
    ) -> None:
        """Requests that arrive before `ready` is set wait for it."""
        self._apis: Mapping[int, Api] = {int(key): api for key, api in apis.items()}
        self._handlers = handlers
        self._versions = advertised_versions(apis.values())
        self._routes: dict[tuple[int, int], Route] = {}
        # Whether a request may be begun while its predecessor on the same connection still waits.
        self.may_pipeline = may_pipeline
        self.connections = connections
        self._throttling = throttling
        self._metrics = metrics
        self._clock = clock
        self._ready = ready
        self._control_bytes = min(max_frame_bytes, MAX_CONTROL_FRAME_BYTES)
        # A broker accepts control requests of this size from its clients; in an envelope they are a little larger.
        limits = {FrameSize.RECORDS: max_frame_bytes, FrameSize.ENVELOPE: self._control_bytes + ENVELOPE_ROOM_BYTES}
        self._frame_bytes = {
            key.to_bytes(2, "big"): limits[api.frame_size]
            for key, api in apis.items()
            if api.frame_size is not FrameSize.CONTROL
        }

    # -- for the connections -------------------------------------------------------------------------------------

    def frame_limit(self, first_bytes: memoryview) -> int:
        # Until both bytes of the API key have arrived the largest limit applies; the buffer grows with what arrives.
        if len(first_bytes) < 2:
            return max(self._frame_bytes.values(), default=self._control_bytes)
        return self._frame_bytes.get(bytes(first_bytes), self._control_bytes)

    def connected(self, connection: ServerConnection) -> bool:
        return self.connections.admit(connection)

    def disconnected(self, connection: ServerConnection) -> None:
        self.connections.release(connection)

    def answer(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        if self._ready is not None and not self._ready.is_set():
            return Later.run(self._answer_when_ready(self._ready, frame, connection))
        started = self._clock.monotonic_ms()
        api_key, version, correlation_id = peek_request(frame)
        route = self._routes.get((api_key, version)) or self._route(api_key, version)
        if route is None:
            return self._answer_unserved(frame, api_key, version, correlation_id)
        # A view that cannot be written to would keep the leader from stamping offsets in place.
        view = memoryview(frame)
        client_id, body_at = parse_request_header(view, flexible=route.flexible)
        request, _ = decode(route.request, view, version, body_at)
        context = RequestContext(
            api_key=api_key,
            version=version,
            correlation_id=correlation_id,
            client_id=client_id,
            connection=connection,
            frame=frame,
            started_ms=started,
        )
        try:
            outcome = route.handle(request, context)
        except Exception:
            outcome = self._failed(route.api, request, context)
        if outcome is None or isinstance(outcome, Message):
            return self._reply(route.api, context, request, started, outcome)
        if self._throttling.is_limited:
            context.handled(self._clock.monotonic_ms())
            if not isinstance(outcome, Later):
                outcome = MeasuredCoroutine(outcome, context, self._clock)
        later = outcome if isinstance(outcome, Later) else Later.run(outcome)
        return later.otherwise(lambda _: self._failed(route.api, request, context)).then(
            partial(self._reply, route.api, context, request, started)
        )

    # -- the steps of an answer ----------------------------------------------------------------------------------

    def _route(self, api_key: int, version: int) -> Route | None:
        """None for an API or version that is not served here. The class of a request is imported on first use."""
        api = self._apis.get(api_key)
        if api is None or not covers(api.versions, version):
            return None
        request = request_class(api_key)
        flexible = covers(request.SCHEMA.flexible, version)
        route = Route(api, request, flexible, self._handlers[api.key])
        self._routes[api_key, version] = route
        return route

    async def _answer_when_ready(self, ready: asyncio.Event, frame: Frame, connection: ServerConnection) -> Reply:
        await ready.wait()
        reply = self.answer(frame, connection)
        return await reply if isinstance(reply, Later) else reply

    def _failed(self, api: Api, request: Message, context: RequestContext) -> Message:
        """Called while an exception is handled: it fails this request, not the connection and its other requests."""
        logger.exception(
            "%s version %d of client %r from %s failed",
            type(request).__name__,
            context.version,
            context.client_id,
            context.client_host,
        )
        error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "this node failed to answer; see its log")
        response = error_reply(api, request, context.version, error)
        if response is None or not api.is_answered(request):
            # A client that cannot receive the error learns of it by the closed connection, as in Kafka.
            raise ProtocolError(f"{type(request).__name__} has failed, and its reply has no field for the error")
        return response

    def _reply(
        self, api: Api, context: RequestContext, request: Message, started: float, response: Message | None
    ) -> Reply:
        pieces: Reply = None
        sent = 0
        throttling = self._throttling
        if throttling.is_limited:
            response = throttling.throttle(api, context, response)
            encoding_ms = self._clock.monotonic_ms()
        if response is not None:
            try:
                pieces = response_frame(context.api_key, context.version, context.correlation_id, response)
            except Exception:
                response = self._failed(api, request, context)
                pieces = response_frame(context.api_key, context.version, context.correlation_id, response)
            sent = sum(map(len, pieces))
        now_ms = self._clock.monotonic_ms()
        if throttling.is_limited:
            throttling.sent(context, now_ms - encoding_ms)
        elapsed_ms = now_ms - started
        self._metrics.requests.request_done(
            context.api_key, context.version, elapsed_ms=elapsed_ms, received=len(context.frame), sent=sent
        )
        for code in error_codes(response):
            self._metrics.error(context.api_key, code)
        return pieces

    def _answer_unserved(self, frame: Frame, api_key: int, version: int, correlation_id: int) -> Reply:
        self._metrics.error(api_key, ErrorCode.UNSUPPORTED_VERSION)
        if api_key == ApiKey.API_VERSIONS:
            # A newer client: it reads the ranges from a version 0 body and asks again (KIP-511).
            response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=self._versions)
            return response_frame(ApiKey.API_VERSIONS, 0, correlation_id, response)
        api = self._apis.get(api_key)
        if api is not None and api.refuse_older is not None and covers(api.advertised, version):
            return api.refuse_older(frame, version, correlation_id)
        raise ProtocolError(f"API key {api_key} version {version} is not served")
