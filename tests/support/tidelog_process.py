"""A tidelog broker in a process of its own, started with the command that users type."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.processes import free_port, running_server, start_process, stop_process, wait_for_server


@dataclass(frozen=True, slots=True, kw_only=True)
class TidelogBroker:
    """A running broker."""

    bootstrap_servers: str
    log_directory: Path


def tidelog_command() -> str:
    """The `tidelog` script that belongs to the interpreter of the tests."""
    return str(Path(sys.executable).with_name("tidelog"))


class RestartedTidelog:
    """A broker that a test kills and starts again, with the same port and the same directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._output = directory / "tidelog.log"
        self._port = free_port()
        self._command = [tidelog_command(), "up", "--port", str(self._port), "--data-dir", str(directory / "data")]
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap_servers = f"127.0.0.1:{self._port}"

    def start(self) -> None:
        self._process = start_process(self._command, output=self._output)
        wait_for_server(self._process, self._port, output=self._output)

    def kill(self) -> None:
        if self._process is not None:
            stop_process(self._process, hard=True)
            self._process = None


@contextmanager
def restarted_tidelog(directory: Path) -> Iterator[RestartedTidelog]:
    broker = RestartedTidelog(directory)
    try:
        yield broker
    finally:
        broker.kill()


@contextmanager
def running_tidelog(
    directory: Path, properties: Mapping[str, str] | None = None, *, most_descriptors: int | None = None
) -> Iterator[TidelogBroker]:
    """`most_descriptors` is what the shell's `ulimit -n` sets, for good."""
    directory.mkdir(parents=True, exist_ok=True)
    log_directory = directory / "data"
    port = free_port()
    command = [tidelog_command(), "up", "--port", str(port), "--data-dir", str(log_directory)]
    for name, value in (properties or {}).items():
        command += ["--override", f"{name}={value}"]
    if most_descriptors is not None:
        command = ["sh", "-c", f'ulimit -n {most_descriptors} && exec "$@"', "sh", *command]
    with running_server(command, port=port, output=directory / "tidelog.log"):
        yield TidelogBroker(bootstrap_servers=f"127.0.0.1:{port}", log_directory=log_directory)
