"""A driver as a process that can be killed: the demonstration starts it, watches it, and ends it the hard way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tidelog.spark.sink.crash_points import CRASH_FILE, CRASH_POINT

# A JVM has to start on a machine that may be busy.
RUN_TIMEOUT_SECONDS = 600.0
_LOOK_SECONDS = 0.2
_SHOWN_LOG_LINES = 30


class DriverFailed(Exception):
    """The driver ended otherwise than it should have. The message has the end of its log."""


class DemoDriver:
    """Use with `with`: whatever happens, nothing of it is left behind."""

    def __init__(self, pipeline: Path, *, log: Path, crash_point: str | None = None) -> None:
        self._log = log
        self._crash_file = log.with_suffix(".crash-point")
        command = [sys.executable, "-m", "tidelog.spark.pipelines", str(pipeline)]
        environment = dict(os.environ)
        if crash_point is not None:
            environment |= {CRASH_POINT: crash_point, CRASH_FILE: str(self._crash_file)}
        with log.open("ab") as output:
            # A group of its own, so that the JVM can be killed together with the driver that has started it.
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> DemoDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def wait_for_crash_point(self, meanwhile: Callable[[], None]) -> None:
        self._wait(lambda: self._halted() is not None, meanwhile)
        if self._halted() is None:
            raise DriverFailed(f"the driver ended before it reached the crash point:\n{self._end_of_log()}")

    def wait_for_end(self, meanwhile: Callable[[], None]) -> None:
        self._wait(lambda: False, meanwhile)
        if self._process.returncode != 0:
            raise DriverFailed(f"the driver exited with code {self._process.returncode}:\n{self._end_of_log()}")

    def kill(self) -> None:
        """SIGKILL, for the driver, its JVM and the worker that has come to the crash point: as if the power failed."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        halted = self._halted()
        if halted is not None:
            # Workers form a group of their own. They notice that the JVM is gone, unless they have stopped to look.
            with suppress(ProcessLookupError):
                os.kill(halted, signal.SIGKILL)
            self._crash_file.unlink()
        self._process.wait()

    def _wait(self, done: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
        deadline = time.monotonic() + RUN_TIMEOUT_SECONDS
        while self._process.poll() is None and not done():
            if time.monotonic() > deadline:
                raise DriverFailed(
                    f"the driver made no progress for {RUN_TIMEOUT_SECONDS:.0f} s:\n{self._end_of_log()}"
                )
            meanwhile()
            time.sleep(_LOOK_SECONDS)
        meanwhile()

    def _halted(self) -> int | None:
        try:
            text = self._crash_file.read_text()
        except FileNotFoundError:
            return None
        return int(text) if text.isdigit() else None

    def _end_of_log(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_SHOWN_LOG_LINES:])
