"""What quotas mean for the requests of clients: what is counted, how long a client waits, and that it does.

As in Apache Kafka, a request is answered at once, and its reply says how long the client should wait. Meanwhile its
connection is not read, so that a client that does not wait gains nothing by it.

Produce
    The size of the request is counted when it is answered. Its records stay.
Fetch
    The size of the reply is counted, as if it were sent. If that is too much, a reply without records is sent instead,
    and its size is not counted. The handler asks, because only it can leave the fetch session as it was.
All requests
    The time that the event loop was busy with them is counted. Requests of brokers and controllers are exempt.

How much is too much is in `tidelog.security.quotas`. Mutations of the controller are counted by the controller, see
`tidelog.server.quorum.mutations`; its replies say how long the client has to wait.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.model.errors import ErrorCode
from tidelog.model.ports import Clock
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Message, replaced
from tidelog.security.quotas.book import QuotaBook
from tidelog.security.quotas.entities import QuotaEntity, QuotaKey
from tidelog.security.quotas.rates import QuotaWindows
from tidelog.security.quotas.throttling import percent_of_thread
from tidelog.security.quotas.usage import ClientUsage
from tidelog.server.declaration import Api
from tidelog.server.observability.metrics import Metrics, error_codes
from tidelog.server.routing.context import RequestContext

_NANOSECONDS_PER_MS = 1_000_000


class ClientThrottling:
    """Of the listeners of a broker, or of a controller."""

    def __init__(self, *, windows: QuotaWindows, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self.book = QuotaBook()
        self.usage = ClientUsage(self.book, windows=windows)
        # Asked for each request: whether any client has a quota, and whether it is one that fetches count in.
        self.is_limited = False
        self.limits_fetches = False

    def adopt(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Those that the image of the cluster has now."""
        self.book = book = self.book.adopt(quotas)
        self.usage.adopt(book)
        limits = book.limits
        self.limits_fetches = bool(limits[QuotaKey.CONSUMER_BYTE_RATE] or limits[QuotaKey.REQUEST_PERCENTAGE])
        self.is_limited = any(map(bool, limits.values()))

    def expire(self) -> None:
        self.usage.expire(int(self._clock.monotonic_ms()))

    # -- fetches -------------------------------------------------------------------------------------------------

    def largest_fetch(self, context: RequestContext) -> int | None:
        """More bytes than this would be throttled in any case."""
        largest = self.usage.fetch.largest(context.principal.name, context.client_id or "")
        return None if largest is None else int(largest)

    def fetched(self, context: RequestContext, size: int) -> int:
        """How many milliseconds a consumer has to wait that would get a reply of this size; 0 if it gets it."""
        context.counted()
        user, client_id, now_ms = context.principal.name, context.client_id or "", int(self._clock.monotonic_ms())
        request_ms = self._count_time(context, user, client_id, now_ms)
        fetch_ms = self.usage.fetch.record(size, user, client_id, now_ms)
        wait_ms = max(request_ms, fetch_ms)
        if wait_ms > 0:
            self.usage.fetch.unrecord(size, user, client_id, now_ms)
            key = QuotaKey.CONSUMER_BYTE_RATE if fetch_ms > request_ms else QuotaKey.REQUEST_PERCENTAGE
            self._metrics.throttles.throttled(context.api_key, key, wait_ms)
        return wait_ms

    # -- all requests --------------------------------------------------------------------------------------------

    def throttle(self, api: Api, context: RequestContext, response: Message | None) -> Message | None:
        """The reply, with the time that the client has to wait, which begins now."""
        # Of a fetch, or of what the controller has answered.
        wait_ms = getattr(response, "throttle_time_ms", 0)
        if not context.is_counted:
            own_ms = self._count(api, context, response)
            if own_ms < wait_ms:
                self._metrics.throttles.throttled(context.api_key, QuotaKey.CONTROLLER_MUTATION_RATE, wait_ms)
            elif own_ms > wait_ms:
                wait_ms = own_ms
                if response is not None and hasattr(response, "throttle_time_ms"):
                    response = replaced(response, throttle_time_ms=wait_ms)
        if wait_ms > 0:
            context.connection.mute(wait_ms)
        return response

    def sent(self, context: RequestContext, milliseconds: float) -> None:
        """Writing the reply took so long. It counts with the next request."""
        if not context.is_exempt:
            percent = percent_of_thread(int(milliseconds * _NANOSECONDS_PER_MS))
            now_ms = int(self._clock.monotonic_ms())
            self.usage.request.record_unchecked(percent, context.principal.name, context.client_id or "", now_ms)

    def _count(self, api: Api, context: RequestContext, response: Message | None) -> int:
        user, client_id, now_ms = context.principal.name, context.client_id or "", int(self._clock.monotonic_ms())
        if _is_exempt(api, context, response):
            context.exempt()
            return 0
        is_produce = api.key == ApiKey.PRODUCE
        produce_ms = self.usage.produce.record(len(context.frame), user, client_id, now_ms) if is_produce else 0
        # A produce that gets no reply is exempt from this one, as in Kafka: nobody could say how long to wait.
        request_ms = 0 if is_produce and response is None else self._count_time(context, user, client_id, now_ms)
        if produce_ms > request_ms:
            self._metrics.throttles.throttled(context.api_key, QuotaKey.PRODUCER_BYTE_RATE, produce_ms)
            return produce_ms
        if request_ms > 0:
            self._metrics.throttles.throttled(context.api_key, QuotaKey.REQUEST_PERCENTAGE, request_ms)
        return request_ms

    def _count_time(self, context: RequestContext, user: str, client_id: str, now_ms: int) -> int:
        busy_ms = context.busy_ms if context.busy_ms >= 0 else self._clock.monotonic_ms() - context.started_ms
        percent = percent_of_thread(int(busy_ms * _NANOSECONDS_PER_MS))
        return self.usage.request.record(percent, user, client_id, now_ms)


def _is_exempt(api: Api, context: RequestContext, response: Message | None) -> bool:
    """Requests of brokers and controllers. Who asks like one without being allowed to is not exempt."""
    if not api.is_between_nodes(context.version):
        return False
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED not in error_codes(response)
