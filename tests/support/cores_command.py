"""`tidelog up --cores N` as a user runs it, on one data directory, started and stopped as often as a test wants."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from support.processes import free_port, start_process, tail, wait_until
from support.tidelog_process import tidelog_command

READY = "Press Ctrl-C to stop."
END_SECONDS = 60


class CoresCommand:
    """The command, and the processes that it has started."""

    def __init__(self, directory: Path) -> None:
        self.data_dir = directory / "data"
        self.output = directory / "up.log"
        self.port = free_port()
        self.metrics_port = free_port()
        self.servers = f"127.0.0.1:{self.port}"
        self._up: subprocess.Popen[bytes] | None = None
        # All that were ever started, by this command or by itself: none may be left.
        self._started: dict[int, psutil.Process] = {}

    def arguments(self, cores: int, *options: str) -> tuple[str, ...]:
        own = ("--cores", str(cores), "--port", str(self.port), "--data-dir", str(self.data_dir))
        return ("up", *own, "--override", f"tidelog.metrics.port={self.metrics_port}", *options)

    def begin(self, cores: int, *options: str) -> subprocess.Popen[bytes]:
        assert self._up is None
        self._up = start_process((tidelog_command(), *self.arguments(cores, *options)), output=self.output)
        return self._up

    def start(self, cores: int, *options: str) -> None:
        """Until it says that it is ready."""
        up = self.begin(cores, *options)
        wait_until(lambda: READY in self.said or up.poll() is not None, what="the announcement")
        assert up.poll() is None, tail(self.output)
        assert len([self.child(number) for number in range(1, cores + 1)]) == cores

    @property
    def up(self) -> subprocess.Popen[bytes]:
        assert self._up is not None
        return self._up

    @property
    def said(self) -> str:
        return self.output.read_text()

    def core_directory(self, number: int) -> Path:
        return self.data_dir / f"core-{number}"

    def child(self, number: int) -> psutil.Process:
        """The process as it runs now, however often it was started again."""
        found = wait_until(lambda: self._find(number), what=f"process {number}")
        assert found is not None
        self._started[found.pid] = found
        return found

    def _find(self, number: int) -> psutil.Process | None:
        name = str(self.data_dir / f"core-{number}.properties")
        children: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.up.pid).children()
        for each in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                if name in each.cmdline() and each.status() != psutil.STATUS_ZOMBIE:
                    return each
        return None

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as reply:
            text: str = reply.read().decode()
            return text

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """As a user or a service manager does; returns the exit code once no process is left."""
        up = self.up
        up.send_signal(by)
        code = up.wait(END_SECONDS)
        self._up = None
        self.expect_no_process()
        return code

    def kill(self) -> None:
        """kill -9 of the command alone."""
        os.kill(self.up.pid, signal.SIGKILL)
        self.up.wait(END_SECONDS)
        self._up = None

    def expect_no_process(self) -> None:
        left = [each for each in self._started.values() if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        assert left == []

    def wait_for_no_process(self) -> None:
        _, left = psutil.wait_procs(self._started.values(), timeout=END_SECONDS)
        assert left == []

    def close(self) -> None:
        """Whatever has happened: end everything, hard."""
        if self._up is not None:
            for number in range(1, 10):
                if (found := self._find(number)) is not None:
                    self._started[found.pid] = found
            self._up.kill()
            self._up.wait(END_SECONDS)
        for each in self._started.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(self._started.values(), timeout=END_SECONDS)


@contextmanager
def cores_command(directory: Path) -> Iterator[CoresCommand]:
    directory.mkdir(parents=True, exist_ok=True)
    command = CoresCommand(directory)
    try:
        yield command
    finally:
        command.close()
