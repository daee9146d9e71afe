"""Counters for operators, in Prometheus' format. `tidelog.server.observability.metrics_endpoint` serves them.

Each broker has a registry of its own, so that several brokers in one process (tests, the embedded broker) do not mix
their numbers. Label children are looked up once and kept: that lookup costs more than the counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import APIS
from tidelog.protocol.schema import Message

_LATENCY_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """What a broker counts. The names say what Kafka's JMX beans of the same purpose say."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        self._requests = counter("tidelog_requests", "Requests that were answered", ["api", "version"])
        self._request_bytes = counter(
            "tidelog_request_bytes", "Bytes of requests, without their length prefix", ["api"]
        )
        self._response_bytes = counter("tidelog_response_bytes", "Bytes of replies", ["api"])
        self._latency = Histogram(
            "tidelog_request_seconds",
            "Time from a request's arrival to its reply, waiting included",
            ["api"],
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self._errors = counter("tidelog_errors", "Errors in replies, by type (Kafka's ErrorsPerSec)", ["api", "error"])
        self._refused_connections = counter("tidelog_refused_connections", "Connections that were refused", ["reason"])
        self._log_failures = counter("tidelog_storage_failures", "Failures of the disk that took replicas offline")
        self._full_disks = counter("tidelog_disk_full", "Writes that were refused because there was no room")
        self._children: dict[tuple[int, int], tuple[Any, Any, Any, Any]] = {}

    def request_done(self, api_key: int, version: int, elapsed_ms: float, received: int, sent: int) -> None:
        children = self._children.get((api_key, version))
        if children is None:
            api = APIS[api_key]
            children = (
                self._requests.labels(api, str(version)),
                self._request_bytes.labels(api),
                self._response_bytes.labels(api),
                self._latency.labels(api),
            )
            self._children[api_key, version] = children
        requests, request_bytes, response_bytes, latency = children
        requests.inc()
        request_bytes.inc(received)
        response_bytes.inc(sent)
        latency.observe(elapsed_ms / 1000)

    def error(self, api_key: int, code: int) -> None:
        self._errors.labels(APIS.get(api_key, f"unknown-{api_key}"), ErrorCode(code).name).inc()

    def connection_refused(self, reason: str) -> None:
        self._refused_connections.labels(reason).inc()

    def disk_full(self) -> None:
        self._full_disks.inc()

    def storage_failed(self) -> None:
        self._log_failures.inc()

    def gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A number that is read when somebody asks for it."""
        Gauge(name, description, registry=self.registry).set_function(read)


def error_codes(response: Message | None) -> Iterator[int]:
    """All error codes in a reply that are errors."""
    if response is None:
        return
    for path in _error_paths(type(response)):
        yield from _collect(response, path)


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


def _collect(value: Any, path: tuple[str, ...]) -> Iterator[int]:
    found = getattr(value, path[0])
    if len(path) == 1:
        if found:
            yield found
        return
    if found is None:
        return
    for element in found if isinstance(found, (list, tuple)) else (found,):
        yield from _collect(element, path[1:])
