"""Counters for operators, in Prometheus' format. `tidelog.server.observability.metrics_endpoint` serves them.

Each broker has counts of its own, so that several brokers in one process (tests, the embedded broker) do not mix
their numbers. Everything is counted in plain numbers, which become Prometheus' metrics when somebody asks for them: its
own counters take a lock for each step, which cost more than routing a small request. So its library, which brings an
HTTP server and a client with it, is imported only where metrics are served.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import APIS
from tidelog.protocol.schema import Message

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

_LATENCY_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class _ApiCounts:
    """Of all versions of one API."""

    __slots__ = ("latencies", "received", "seconds", "sent")

    def __init__(self) -> None:
        self.received = 0
        self.sent = 0
        self.seconds = 0.0
        # How many requests took up to each bucket's time and more than that of the one before; the last has no bound.
        self.latencies = [0] * (len(_LATENCY_BUCKETS) + 1)


class _VersionCounts:
    __slots__ = ("api", "requests")

    def __init__(self, api: _ApiCounts) -> None:
        self.api = api
        self.requests = 0


class RequestCounts:
    """A collector for Prometheus' registry."""

    def __init__(self) -> None:
        self._apis: dict[int, _ApiCounts] = {}
        self._versions: dict[tuple[int, int], _VersionCounts] = {}

    def request_done(self, api_key: int, version: int, *, elapsed_ms: float, received: int, sent: int) -> None:
        counts = self._versions.get((api_key, version))
        if counts is None:
            counts = _VersionCounts(self._apis.setdefault(api_key, _ApiCounts()))
            self._versions[api_key, version] = counts
        counts.requests += 1
        api = counts.api
        api.received += received
        api.sent += sent
        seconds = elapsed_ms / 1000
        api.seconds += seconds
        api.latencies[bisect_left(_LATENCY_BUCKETS, seconds)] += 1

    def collect(self) -> Iterator[CounterMetricFamily | HistogramMetricFamily]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily("tidelog_requests", "Requests that were answered", labels=["api", "version"])
        for (api_key, version), counts in self._versions.items():
            requests.add_metric([APIS[api_key], str(version)], counts.requests)
        received = CounterMetricFamily(
            "tidelog_request_bytes", "Bytes of requests, without their length prefix", labels=["api"]
        )
        sent = CounterMetricFamily("tidelog_response_bytes", "Bytes of replies", labels=["api"])
        latency = HistogramMetricFamily(
            "tidelog_request_seconds", "Time from a request's arrival to its reply, waiting included", labels=["api"]
        )
        bounds = [*(str(bound) for bound in _LATENCY_BUCKETS), "+Inf"]
        for api_key, api in self._apis.items():
            received.add_metric([APIS[api_key]], api.received)
            sent.add_metric([APIS[api_key]], api.sent)
            buckets = list(zip(bounds, map(float, accumulate(api.latencies)), strict=True))
            latency.add_metric([APIS[api_key]], buckets, api.seconds)
        return iter((requests, received, sent, latency))


class ThrottleCounts:
    """How often and how long clients were throttled. A collector for Prometheus' registry."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, str], tuple[int, int]] = {}

    def throttled(self, api_key: int, quota: str, milliseconds: int) -> None:
        count, total_ms = self._counts.get((api_key, quota), (0, 0))
        self._counts[api_key, quota] = count + 1, total_ms + milliseconds

    def collect(self) -> Iterator[CounterMetricFamily]:
        from prometheus_client.core import CounterMetricFamily

        labels = ["api", "quota"]
        requests = CounterMetricFamily(
            "tidelog_throttled_requests", "Requests whose client was throttled", labels=labels
        )
        seconds = CounterMetricFamily(
            "tidelog_throttle_seconds", "Throttle times in replies (Kafka's ThrottleTimeMs)", labels=labels
        )
        for (api_key, quota), (count, total_ms) in self._counts.items():
            requests.add_metric([APIS[api_key], quota], count)
            seconds.add_metric([APIS[api_key], quota], total_ms / 1000)
        return iter((requests, seconds))


class EventCounts:
    """How often something happened, for each combination of labels. A collector for Prometheus' registry."""

    def __init__(self, name: str, description: str, labels: tuple[str, ...] = ()) -> None:
        self._name = name
        self._description = description
        self._labels = labels
        # What has no labels is shown before it happens for the first time.
        self._counts: dict[tuple[str, ...], int] = {} if labels else {(): 0}

    def happened(self, *labels: str) -> None:
        self._counts[labels] = self._counts.get(labels, 0) + 1

    def collect(self) -> Iterator[CounterMetricFamily]:
        from prometheus_client.core import CounterMetricFamily

        family = CounterMetricFamily(self._name, self._description, labels=self._labels)
        for labels, count in self._counts.items():
            family.add_metric(labels, count)
        return iter((family,))


class Gauges:
    """Numbers that are read when somebody asks for them. A collector for Prometheus' registry."""

    def __init__(self) -> None:
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def add(self, name: str, description: str, read: Callable[[], float]) -> None:
        self._gauges[name] = description, read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        from prometheus_client.core import GaugeMetricFamily

        return iter(
            [GaugeMetricFamily(name, description, read()) for name, (description, read) in self._gauges.items()]
        )


class Metrics:
    """What a broker counts. The names say what Kafka's JMX beans of the same purpose say."""

    def __init__(self) -> None:
        self.requests = RequestCounts()
        self.throttles = ThrottleCounts()
        self._errors = EventCounts(
            "tidelog_errors", "Errors in replies, by type (Kafka's ErrorsPerSec)", ("api", "error")
        )
        self._refused_connections = EventCounts(
            "tidelog_refused_connections", "Connections that were refused", ("reason",)
        )
        self._authentications = EventCounts(
            "tidelog_authentications", "Clients that authenticated with SASL, or failed to", ("listener", "outcome")
        )
        self._log_failures = EventCounts("tidelog_storage_failures", "Failures of the disk that took replicas offline")
        self._full_disks = EventCounts("tidelog_disk_full", "Writes that were refused because there was no room")
        self._gauges = Gauges()
        self._collectors: list[Any] = [
            self.requests,
            self.throttles,
            self._errors,
            self._refused_connections,
            self._authentications,
            self._log_failures,
            self._full_disks,
            self._gauges,
        ]

    def register(self, collector: Any) -> None:
        """Add something that has Prometheus' metrics when it is asked for them, by `collect`."""
        self._collectors.append(collector)

    def registry(self) -> CollectorRegistry:
        """All of them, for whoever asks now."""
        from prometheus_client import CollectorRegistry

        registry = CollectorRegistry()
        for collector in self._collectors:
            registry.register(collector)
        return registry

    def error(self, api_key: int, code: int) -> None:
        self._errors.happened(APIS.get(api_key, f"unknown-{api_key}"), ErrorCode(code).name)

    def connection_refused(self, reason: str) -> None:
        self._refused_connections.happened(reason)

    def authentication(self, listener: str, outcome: str) -> None:
        """`outcome` is succeeded, renewed or failed."""
        self._authentications.happened(listener, outcome)

    def disk_full(self) -> None:
        self._full_disks.happened()

    def storage_failed(self) -> None:
        self._log_failures.happened()

    def gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A number that is read when somebody asks for it."""
        self._gauges.add(name, description, read)


def error_codes(response: Message | None) -> list[int]:
    """All error codes in a reply that are errors."""
    found: list[int] = []
    if response is not None:
        for path in _error_paths(type(response)):
            _collect(response, path, 0, found)
    return found


_paths: dict[type[Message], tuple[tuple[str, ...], ...]] = {}


def _error_paths(kind: type[Message]) -> tuple[tuple[str, ...], ...]:
    """Where fields named `error_code` are, as attribute names from the outside in."""
    known = _paths.get(kind)
    if known is not None:
        return known
    paths: list[tuple[str, ...]] = []
    for field in kind.SCHEMA.fields:
        if field.name == "error_code":
            paths.append(("error_code",))
            continue
        nested = kind.STRUCTS.get(field.kind.removeprefix("[]"))
        if nested is not None:
            paths.extend((field.name, *rest) for rest in _error_paths(nested))
    _paths[kind] = tuple(paths)
    return _paths[kind]


def _collect(value: Any, path: tuple[str, ...], depth: int, found: list[int]) -> None:
    inner = getattr(value, path[depth])
    if depth + 1 == len(path):
        if inner:
            found.append(inner)
    elif isinstance(inner, (list, tuple)):
        for element in inner:
            _collect(element, path, depth + 1, found)
    elif inner is not None:
        _collect(inner, path, depth + 1, found)
