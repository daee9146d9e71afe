"""SIGTERM and Ctrl-C at any moment of a real process's life: it ends in order, and says with its exit code how."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from support.acknowledged import read_values
from support.processes import accepts_connections, free_port, running_server, start_process, tail, wait_until
from support.tidelog_process import tidelog_command

MARK = ".kafka_cleanshutdown"
END_SECONDS = 30
# So many moments of the start, evenly spread.
MOMENTS = 10
# ApiVersions, which everybody may ask: 14 bytes, and the answer has hundreds.
VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)
UNREAD = 60_000


class Node:
    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.port = free_port()
        self._directory = directory
        self._starts = 0

    @property
    def command(self) -> tuple[str, ...]:
        verbose = ("--override", "tidelog.log.level=info")
        return (tidelog_command(), "up", "--port", str(self.port), "--data-dir", str(self.data), *verbose)

    @property
    def output(self) -> Path:
        return self._directory / f"{self._starts}.log"

    def start(self) -> subprocess.Popen[bytes]:
        self._starts += 1
        return start_process(self.command, output=self.output)

    def fill(self) -> None:
        self._starts += 1
        with running_server(self.command, port=self.port, output=self.output, within_seconds=END_SECONDS):
            producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.port}"})
            for number in range(20):
                producer.produce("kept", b"%d" % number, partition=0)
            assert producer.flush(20) == 0
        assert (self.data / MARK).exists()

    def check(self) -> None:
        """It starts as after any clean end, and has what it had."""
        assert (self.data / MARK).exists()
        self._starts += 1
        with running_server(self.command, port=self.port, output=self.output, within_seconds=END_SECONDS):
            found = read_values(f"127.0.0.1:{self.port}", "kept")
        assert [found[offset] for offset in sorted(found)] == [b"%d" % number for number in range(20)]
        assert "recovering" not in self.output.read_text()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    filled = Node(tmp_path)
    filled.fill()
    return filled


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_right_after_the_port_opens_ends_the_node_in_order(node: Node, number: signal.Signals) -> None:
    process = node.start()
    wait_until(
        lambda: accepts_connections(node.port), within_seconds=END_SECONDS, what="the open port", every_seconds=0.001
    )
    process.send_signal(number)
    assert process.wait(END_SECONDS) == 0, tail(node.output)
    assert "Traceback" not in node.output.read_text()
    node.check()


@pytest.mark.slow
def test_a_signal_at_any_moment_of_the_start_leaves_a_node_that_needs_no_recovery(node: Node) -> None:
    began = time.monotonic()
    process = node.start()
    announced = wait_until_announced(node) - began
    for moment in range(MOMENTS, -1, -1):
        process.send_signal(signal.SIGTERM)
        code = process.wait(END_SECONDS)
        # Python itself takes a moment to start. Until then there is nothing that could be closed.
        untouched = code == -signal.SIGTERM and not node.output.read_text()
        assert untouched or code == 0, tail(node.output)
        assert "Traceback" not in node.output.read_text()
        assert (node.data / MARK).exists(), f"the mark is gone at moment {moment}: {tail(node.output)}"
        process = node.start()
        time.sleep(announced * moment / MOMENTS)
    process.send_signal(signal.SIGTERM)
    process.wait(END_SECONDS)
    node.check()


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running()


def wait_until_announced(node: Node) -> float:
    wait_until(lambda: "Ctrl-C" in node.output.read_text(), within_seconds=END_SECONDS, what="the announcement")
    return time.monotonic()


def test_a_second_control_c_ends_a_node_that_is_stopping_at_once(node: Node) -> None:
    process = node.start()
    wait_until_announced(node)
    # A client that does not read its answers keeps an end in order waiting.
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", node.port))
        client.sendall(VERSIONS_REQUEST * UNREAD)
        # They are answered in order, so all that fits between the two is under way by then.
        read_values(f"127.0.0.1:{node.port}", "kept")
        process.send_signal(signal.SIGINT)
        wait_until(lambda: "stopping" in node.output.read_text(), within_seconds=END_SECONDS, what="that it stops")
        process.send_signal(signal.SIGINT)
        assert process.wait(END_SECONDS) == -signal.SIGINT, tail(node.output)
    assert "exiting immediately" in node.output.read_text()
    assert not (node.data / MARK).exists()


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_cluster_that_is_ended_while_it_starts_leaves_no_node_behind(tmp_path: Path, number: signal.Signals) -> None:
    output = tmp_path / "up.log"
    command = (tidelog_command(), "up", "--nodes", "3", "--port", "0", "--data-dir", str(tmp_path / "data"))
    up = start_process(command, output=output)
    children = wait_until(
        lambda: [each for each in psutil.Process(up.pid).children() if "node-1.properties" in str(each.cmdline())],
        within_seconds=END_SECONDS,
        what="the first node",
        every_seconds=0.005,
    )
    up.send_signal(number)
    assert up.wait(END_SECONDS) == 0, tail(output)
    for child in children:
        wait_until(partial(has_ended, child), within_seconds=END_SECONDS, what="the end of the node")
    for log in (tmp_path / "data").glob("*.log"):
        assert "Traceback" not in log.read_text()
