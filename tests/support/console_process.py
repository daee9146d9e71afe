"""`tidelog console` as processes of their own: started when a test needs one, shared by those that need the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from support.console_clusters import Cluster
from support.processes import ProcessFailed, start_process, stop_process, tail, wait_until
from support.tidelog_process import tidelog_command

_ANNOUNCED = re.compile(r"http://\S+?:(\d+)/")
_MESSAGE = re.compile(r"^(?=(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) )", re.MULTILINE)
# Logged, warned of by Python, or raised and not caught.
_COMPLAINT = re.compile(r"^(WARNING|ERROR|CRITICAL) |Warning: |^Traceback ", re.MULTILINE)


class ConsoleProcess:
    """A process that announces `http://HOST:PORT/` on standard output; `address` has no slash at its end."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        directory.mkdir(parents=True)
        self._command = command
        self._output = directory / "output.txt"
        self._errors = directory / "errors.txt"
        self._told = 0
        self._process = start_process(command, output=self._output, errors=self._errors)
        try:
            self.address = f"http://127.0.0.1:{wait_until(self._port, what='the address of the console')}"
        except (ProcessFailed, TimeoutError):
            stop_process(self._process, hard=True)
            raise

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def complaints(self) -> list[str]:
        """What it has logged since the last call as a warning or worse, and what was raised and not caught."""
        said = self._errors.read_bytes()
        if self._process.poll() is None:
            # A line that is being written belongs to the next call.
            said = said[: said.rfind(b"\n") + 1]
        new, self._told = said[self._told :].decode(errors="replace"), len(said)
        return [message for message in _MESSAGE.split(new) if _COMPLAINT.search(message)]

    def end(self) -> None:
        """As an operator ends it. It has to obey, without a complaint."""
        code = stop_process(self._process)
        complaints = self.complaints()
        assert (code, complaints) == (0, []), f"{self._command} ended with {code}, and said:\n{''.join(complaints)}"

    def kill(self) -> None:
        stop_process(self._process, hard=True)

    def _port(self) -> str | None:
        # First: what it has said before its end is there afterwards.
        ended = self._process.poll()
        found = _ANNOUNCED.search(self.output)
        if found is None and ended is not None:
            raise ProcessFailed(f"{self._command} ended with {ended}:\n{self.output}\n{tail(self._errors)}")
        return found[1] if found is not None else None


class Consoles:
    """Those of a worker: one for each cluster and arguments."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count(1)
        self._running: dict[tuple[str, tuple[str, ...]], ConsoleProcess] = {}

    def of(self, cluster: Cluster, *arguments: str) -> ConsoleProcess:
        key = (cluster.bootstrap_servers, arguments)
        if key not in self._running:
            command = (tidelog_command(), "console", "--bootstrap-server", cluster.bootstrap_servers, "--port", "0")
            directory = self._directory / f"console-{next(self._numbers)}"
            self._running[key] = ConsoleProcess((*command, *arguments), directory)
        return self._running[key]

    def complaints(self) -> list[str]:
        return [complaint for each in self._running.values() for complaint in each.complaints()]

    def end(self, cluster: Cluster) -> None:
        """Those of this cluster, before it ends."""
        for key in [key for key in self._running if key[0] == cluster.bootstrap_servers]:
            self._running.pop(key).end()

    def kill(self) -> None:
        for each in self._running.values():
            each.kill()
        self._running.clear()


class ConsoleOfTest:
    """`console(cluster)` is the address of its console. What the console complains of fails the test."""

    def __init__(self, consoles: Consoles) -> None:
        self._consoles = consoles
        self._expected: list[str] = []

    def __call__(self, cluster: Cluster, *arguments: str) -> str:
        """With arguments, such as "--read-only", it is a console of its own."""
        return self._consoles.of(cluster, *arguments).address

    def announced(self, cluster: Cluster, *arguments: str) -> str:
        """What that console has said on standard output."""
        return self._consoles.of(cluster, *arguments).output

    def expect_complaint(self, part: str) -> None:
        """The console may say this during the test, because the test has stopped a node or the like."""
        self._expected.append(part)

    def check(self) -> None:
        complaints = self._consoles.complaints()
        unexpected = [each for each in complaints if not any(part in each for part in self._expected)]
        assert not unexpected, f"the console complained:\n{''.join(unexpected)}"
