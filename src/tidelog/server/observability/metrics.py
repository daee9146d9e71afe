"""Counters for operators, in Prometheus' format. `tidelog.server.observability.metrics_endpoint` serves them.

Each broker has a registry of its own, so that several brokers in one process (tests, the embedded broker) do not mix
their numbers. What is counted for each request is counted in plain numbers, and becomes Prometheus' metrics when
somebody asks for them: its own counters take a lock for each step, which cost more than routing a small request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import APIS
from tidelog.protocol.schema import Message

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


class Metrics:
    """What a broker counts. The names say what Kafka's JMX beans of the same purpose say."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = RequestCounts()
        self.registry.register(self.requests)
        self.throttles = ThrottleCounts()
        self.registry.register(self.throttles)
        counter = partial(Counter, registry=self.registry)
        self._errors = counter("tidelog_errors", "Errors in replies, by type (Kafka's ErrorsPerSec)", ["api", "error"])
        self._refused_connections = counter("tidelog_refused_connections", "Connections that were refused", ["reason"])
        self._authentications = counter(
            "tidelog_authentications", "Clients that authenticated with SASL, or failed to", ["listener", "outcome"]
        )
        self._log_failures = counter("tidelog_storage_failures", "Failures of the disk that took replicas offline")
        self._full_disks = counter("tidelog_disk_full", "Writes that were refused because there was no room")

    def error(self, api_key: int, code: int) -> None:
        self._errors.labels(APIS.get(api_key, f"unknown-{api_key}"), ErrorCode(code).name).inc()

    def connection_refused(self, reason: str) -> None:
        self._refused_connections.labels(reason).inc()

    def authentication(self, listener: str, outcome: str) -> None:
        """`outcome` is succeeded, renewed or failed."""
        self._authentications.labels(listener, outcome).inc()

    def disk_full(self) -> None:
        self._full_disks.inc()

    def storage_failed(self) -> None:
        self._log_failures.inc()

    def gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A number that is read when somebody asks for it."""
        Gauge(name, description, registry=self.registry).set_function(read)


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
