"""What grows with the number of partitions, connections and topics."""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import struct
import time
from collections.abc import Iterator
from functools import partial

from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import TIMEOUT_SECONDS, consume, create_topic, produce, spending
from benchmarks.comparison.scenario import Measured, Scenario, Turn
from benchmarks.comparison.throughput import TOUCHED_MEGABYTES

PARTITIONS = (100, 1_000)
RECORDS = 400_000
RECORD = 1024
CONNECTIONS = (1, 100, 1_000, 5_000)
CONNECTION_SECONDS = 3.0
TOPICS = 10_000
TOPICS_PER_REQUEST = 500
LIST_AGAIN_SECONDS = 0.2

_CREATE = Figure(name=f"create {TOPICS:,} topics", unit="s", more_is_better=False)
_LIST = Figure(name=f"list {TOPICS:,} topics", unit="ms", more_is_better=False)
_MEMORY = Figure(name=f"memory with {TOPICS:,} topics", unit="MB", more_is_better=False)


def scenarios() -> Iterator[Scenario]:
    figures: tuple[Figure, ...]
    for count in PARTITIONS:
        goals: tuple[float | None, ...] = (2.0, 1.1, 1.0) if count == max(PARTITIONS) else (None, None, None)
        figures = (
            Figure(name=f"produce, {count:,} partitions", unit="MB/s", goal=goals[0]),
            Figure(name=f"consume, {count:,} partitions", unit="MB/s", goal=goals[1]),
            Figure(name=f"broker CPU per GB out, {count:,} partitions", unit="s", more_is_better=False, goal=goals[2]),
        )
        yield Scenario(
            name=f"partitions-{count}",
            figures=figures,
            measure=partial(_partitions, figures, count),
            touched_megabytes=TOUCHED_MEGABYTES,
        )
    for count in CONNECTIONS:
        figures = (
            Figure(name=f"ApiVersions over {count:,} connections, one in flight each", unit="/s"),
            Figure(name=f"broker CPU per ApiVersions, {count:,} connections", unit="µs", more_is_better=False),
        )
        yield Scenario(name=f"connections-{count}", figures=figures, measure=partial(_connections, figures, count))
    yield Scenario(
        name="topics",
        figures=(_CREATE, _LIST, _MEMORY),
        measure=_topics,
        nodes=0,
        warm_up_rounds=0,
        rounds=1,
    )


def _partitions(figures: tuple[Figure, ...], partitions: int, turn: Turn) -> Measured:
    count = turn.scaled(RECORDS)
    create_topic(turn.server, turn.label, partitions=partitions)
    into = produce(turn.server, turn.label, size=RECORD, count=count)
    out = consume(turn.server, turn.label, count=count, partitions=partitions)
    megabytes = count * RECORD / 1e6
    values = (megabytes / into.seconds, megabytes / out.seconds, out.cpu_seconds / megabytes * 1000)
    return {figure.name: value for figure, value in zip(figures, values, strict=True)}


def _connections(figures: tuple[Figure, ...], count: int, turn: Turn) -> Measured:
    """Plain sockets: thousands of librdkafka clients would measure their own threads."""
    _raise_descriptor_limit(2 * count + 1000)
    host, _, port = turn.server.bootstrap_servers.partition(":")
    # ApiVersions, version 0: the key, the version, a correlation id, no client id.
    frame = struct.pack(">ihhih", 10, 18, 0, 1, -1)
    answered = 0
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(count):
            opened = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(opened, selectors.EVENT_READ, _Replies())
        with spending(turn.server) as spent:
            end = time.perf_counter() + CONNECTION_SECONDS * turn.scale
            for key in selector.get_map().values():
                _socket(key).sendall(frame)
            while time.perf_counter() < end:
                for key, _ in selector.select(1):
                    if key.data.receive(_socket(key)):
                        answered += 1
                        _socket(key).sendall(frame)
    if answered < count:
        raise RuntimeError(f"only {answered} answers over {count} connections")
    values = (answered / spent.seconds, spent.cpu_seconds / answered * 1e6)
    return {figure.name: value for figure, value in zip(figures, values, strict=True)}


def _socket(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


class _Replies:
    """What has arrived of the reply that is under way."""

    def __init__(self) -> None:
        self._received = b""

    def receive(self, connection: socket.socket) -> bool:
        """Whether the reply is complete."""
        chunk = connection.recv(65536)
        if not chunk:
            raise RuntimeError("the broker closed a connection")
        self._received += chunk
        if len(self._received) < 4 or len(self._received) < 4 + struct.unpack_from(">i", self._received)[0]:
            return False
        self._received = b""
        return True


def _raise_descriptor_limit(needed: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise RuntimeError(f"{needed} file descriptors are needed, the hard limit (ulimit -Hn) is {hard}")
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _topics(turn: Turn) -> Measured:
    count = turn.scaled(TOPICS)
    with turn.contestant.running() as server:
        admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, "log_level": 0})
        started = time.perf_counter()
        for first in range(0, count, TOPICS_PER_REQUEST):
            names = [f"topic-{number}" for number in range(first, min(count, first + TOPICS_PER_REQUEST))]
            for created in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
                created.result(TIMEOUT_SECONDS)
        created_in = time.perf_counter() - started
        listed_in = _list_all(admin, count)
        return {_CREATE.name: created_in, _LIST.name: listed_in * 1000, _MEMORY.name: server.memory_megabytes()}


def _list_all(admin: AdminClient, count: int) -> float:
    """The seconds of the first list that has all of them: a broker may learn of topics later than the controller."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        started = time.perf_counter()
        found = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
        elapsed = time.perf_counter() - started
        if len(found) >= count:
            return elapsed
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(found)} of {count} topics are listed")
        time.sleep(LIST_AGAIN_SECONDS)
