"""The processes of a cluster on this machine: children of this process, one `tidelog server` each.

Each child holds the reading end of a pipe as its standard input. This process never writes to it, and holds the only
other end: however this process ends, kill -9 included, the children notice that and stop cleanly.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from tidelog.cli.local_cluster.announcement import ANNOUNCEMENT

# After which a start that takes long says what it waits for.
PATIENT_SECONDS = 10.0

_TAIL_BYTES = 4096


class ChildProcesses:
    """`config_file` gives the properties file of a node; its log is beside it."""

    def __init__(self, config_file: Callable[[int], Path]) -> None:
        self._config_file = config_file
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        # Where in its log file the words of the last start begin.
        self._log_starts: dict[int, int] = {}

    @property
    def running(self) -> Collection[int]:
        """Those that were started and whose end was not taken."""
        return self._running.keys()

    def log_file(self, number: int) -> Path:
        return self._config_file(number).with_suffix(".log")

    def start(self, number: int) -> None:
        config = str(self._config_file(number))
        command = [sys.executable, "-m", "tidelog.cli.main", "server", "--config", config, "--stop-with-input"]
        with self.log_file(number).open("ab") as log:
            self._log_starts[number] = log.tell()
            # A session of its own: Ctrl-C reaches this process only, which then ends the nodes in order.
            self._running[number] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def take_ended(self) -> dict[int, int]:
        """The processes that have ended since the last call, with their exit codes."""
        codes = {number: process.poll() for number, process in self._running.items()}
        ended = {number: code for number, code in codes.items() if code is not None}
        for number in ended:
            _close(self._running.pop(number))
        return ended

    def has_announced(self, number: int) -> bool:
        """Whether it serves, and is no longer starting."""
        with self.log_file(number).open("rb") as log:
            log.seek(self._log_starts[number])
            return any(line.startswith(ANNOUNCEMENT.encode()) for line in log)

    def terminate(self, numbers: Collection[int]) -> None:
        """Ask them to stop cleanly."""
        for number in numbers:
            if number in self._running:
                self._running[number].terminate()

    def kill(self) -> list[int]:
        """End all that still run, at once; returns them."""
        killed = [number for number, process in self._running.items() if process.poll() is None]
        for number in killed:
            self._running[number].kill()
        for process in self._running.values():
            process.wait()
            _close(process)
        self._running.clear()
        return killed

    def last_words(self, number: int) -> str:
        """The last line of its log, which says why it ended; empty if there is none."""
        try:
            with self.log_file(number).open("rb") as log:
                log.seek(-min(_TAIL_BYTES, log.seek(0, os.SEEK_END)), os.SEEK_END)
                lines = log.read().splitlines()
        except FileNotFoundError:
            return ""
        return lines[-1].decode("utf-8", "replace").removeprefix("tidelog: ") if lines else ""


def ended_by(code: int) -> str:
    """Of a process, for people."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
