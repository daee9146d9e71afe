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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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


def wait_for_port(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the broker ended with exit code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.005)
    raise TimeoutError(f"nothing listens on port {port} after {START_TIMEOUT_SECONDS:.0f} s")
