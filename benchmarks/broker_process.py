"""A broker in a process of its own, measured from outside."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

START_TIMEOUT_SECONDS = 120.0


class MeasuredBroker:
    """What a running broker has used so far."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, data_dir: Path, start_seconds: float) -> None:
        self._process = psutil.Process(process.pid)
        self.bootstrap_servers = f"127.0.0.1:{port}"
        self.port = port
        self.data_dir = data_dir
        self.start_seconds = start_seconds

    def nodes(self) -> list[psutil.Process]:
        """The nodes of a cluster, which the process has started."""
        return list(self._process.children(recursive=True))

    def cpu_seconds(self) -> float:
        """Of the process and of the nodes that it has started."""
        used = [each.cpu_times() for each in (self._process, *self.nodes())]
        return float(sum(each.user + each.system for each in used))

    def memory_megabytes(self) -> float:
        return float(self._process.memory_info().rss) / 1e6


def free_port() -> int:
    """One that nobody uses, nor the two after it, which a cluster takes as well."""
    while True:
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError, OverflowError):
            first = stack.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            for following in (port + 1, port + 2):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", following))
            return port


@contextlib.contextmanager
def broker(data_dir: Path | None = None, *options: str) -> Iterator[MeasuredBroker]:
    """`tidelog up` until the block ends; the directory is temporary unless one is given."""
    with contextlib.ExitStack() as stack:
        if data_dir is None:
            data_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidelog-bench-")))
        port = free_port()
        started = time.perf_counter()
        command = [sys.executable, "-m", "tidelog.cli.main", "up", "--port", str(port), "--data-dir", str(data_dir)]
        process = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for_port(process, port)
            yield MeasuredBroker(process, port, data_dir, time.perf_counter() - started)
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for_nodes(target: MeasuredBroker, count: int) -> None:
    """Until every broker is registered."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    deadline = time.monotonic() + 60
    while len(admin.list_topics(timeout=30).brokers) < count:
        if time.monotonic() > deadline:
            raise TimeoutError("the nodes have not found each other within 60 s")
        time.sleep(0.1)


def wait_for_port(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the broker ended with exit code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.005)
    raise TimeoutError(f"nothing listens on port {port} after {START_TIMEOUT_SECONDS:.0f} s")
