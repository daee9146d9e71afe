"""Scenario 36: sixty strangers send twenty megabytes each of frames that never end; nobody else notices.

On a real process, by its own account of the memory and by what the system says.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.processes import free_port
from support.tidelog_process import running_tidelog

STRANGERS = 60
DECLARED_BYTES = 90 << 20
SENT_BYTES = 20 << 20
LIMIT_BYTES = 100 << 20
SMALL_BYTES = 64 << 10
ALL_MEMORY_BYTES = 256 << 20


def metric(port: int, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as reply:
        for line in reply.read().decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
    raise AssertionError(f"there is no metric {name}")


class Strangers:
    """Send as fast as they are read, up to their twenty megabytes, and then hold the connection."""

    def __init__(self, port: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._sent: dict[socket.socket, int] = {}
        self.closed = 0
        self._piece = memoryview(bytes(1 << 20))
        for _ in range(STRANGERS):
            each = socket.create_connection(("127.0.0.1", port), timeout=20)
            # The key of Produce is 0, so zeros are as good a beginning as any.
            each.sendall(struct.pack(">i", DECLARED_BYTES))
            each.setblocking(False)
            self._sent[each] = 0
            self._selector.register(each, selectors.EVENT_WRITE)

    def push(self) -> None:
        for key, _ in self._selector.select(timeout=0.05):
            each = key.fileobj
            assert isinstance(each, socket.socket)
            try:
                left = SENT_BYTES - self._sent[each]
                self._sent[each] += each.send(self._piece[: min(left, 1 << 20)])
            except BlockingIOError:
                continue
            except OSError:
                self.closed += 1
                self._sent[each] = SENT_BYTES
            if self._sent[each] >= SENT_BYTES:
                self._selector.unregister(each)

    def close(self) -> None:
        for each in self._sent:
            each.close()
        self._selector.close()


@pytest.mark.slow
def test_scenario_36_half_frames_of_strangers_take_bounded_memory_and_stop_nobody(tmp_path: Path) -> None:
    metrics_port = free_port()
    properties = {"tidelog.metrics.port": str(metrics_port)}
    with running_tidelog(tmp_path, properties) as broker, contextlib.ExitStack() as stack:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        process = next(
            each for each in psutil.process_iter(["cmdline"]) if {"up", str(port)} <= set(each.info["cmdline"] or [])
        )
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 60_000})
        producer.produce("records", b"first")
        assert producer.flush(30) == 0
        strangers = Strangers(port)
        stack.callback(strangers.close)
        highest_used, highest_rss, acknowledged = 0.0, 0, []
        for number in range(120):
            strangers.push()
            highest_rss = max(highest_rss, process.memory_info().rss)
            if number % 10 == 0:
                highest_used = max(highest_used, metric(metrics_port, "tidelog_request_memory_bytes"))
            producer.produce("records", b"%d" % number, on_delivery=lambda error, _: acknowledged.append(error))
            producer.poll(0)
        assert producer.flush(60) == 0
        assert acknowledged == [None] * 120
        # As much as a producer with default settings sends at a time.
        producer.produce("records", bytes(900_000), on_delivery=lambda error, _: acknowledged.append(error))
        assert producer.flush(60) == 0
        assert acknowledged[-1] is None
        assert highest_used > LIMIT_BYTES / 4, "the strangers never filled anything"
        assert highest_used <= LIMIT_BYTES + (STRANGERS + 2) * SMALL_BYTES
        print(f"most memory in use: {highest_used / 2**20:.0f} MiB of requests, {highest_rss / 2**20:.0f} MiB in all")
        assert highest_rss < ALL_MEMORY_BYTES
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
        stack.callback(consumer.close)
        _, end = consumer.get_watermark_offsets(TopicPartition("records", 0), timeout=20)
        assert end == 122
        strangers.close()
        deadline = time.monotonic() + 30
        while metric(metrics_port, "tidelog_request_memory_bytes") >= SMALL_BYTES:
            assert time.monotonic() < deadline, "the memory is not given back"
            time.sleep(0.1)
