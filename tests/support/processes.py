"""Processes that a test starts and surely ends, and waiting for a condition with a bound.

What the processes are lives elsewhere: `support.apache_kafka`, `support.tidelog_process`, `support.clients`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

# What waits longer than this hangs, on however busy a machine. Where time itself is tested, the test names its bound.
HANG_SECONDS = 120.0

# The kernel kills a child when the thread that started it dies (Linux: PR_SET_PDEATHSIG is 1). It is the last line of
# defence: a test run that is killed with SIGKILL has no chance to end its brokers itself. The child asks for it in a
# program of its own, not in a copy of this process: such a copy tears down what belongs to other threads, which shuts
# the connections to Spark's JVM.
_DIE_WITH_PARENT = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, {int(signal.SIGKILL)})
os.execvp(sys.argv[1], sys.argv[1:])
"""
# The thread that starts them all, and lives as long as this process does. The threads of an event loop end with their
# test, while a broker that was started in one may be shared by many tests.
_starter = ThreadPoolExecutor(1, thread_name_prefix="starter")


class ProcessFailed(Exception):
    """A process ended or stayed silent where a test needed it. The message holds the end of its output."""


# Below the range from which the system takes the ports of outgoing connections (32768 and up on Linux): a port of that
# range may be gone between looking and listening.
_PORTS = range(12_000, 32_000)
# Given out by this process: a caller may draw several before it uses the first.
_drawn: set[int] = set()


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses now, and that was not given out before.

    Another process may take it before we do; callers that start a server check that theirs is the one that answers.
    """
    while True:
        port = _PORTS[int.from_bytes(os.urandom(4), "big") % len(_PORTS)]
        if port in _drawn:
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _drawn.add(port)
            return port


def wait_until(
    condition: Callable[[], Result], *, within_seconds: float = HANG_SECONDS, what: str, every_seconds: float = 0.05
) -> Result:
    """Poll until `condition` gives something true, and return that."""
    deadline = time.monotonic() + within_seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {within_seconds} s")
        time.sleep(every_seconds)


def accepts_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def start_process(
    command: Sequence[str],
    *,
    output: Path,
    errors: Path | None = None,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, with both of its output streams going to the file `output`; standard error
    goes to `errors` if that is given."""
    with output.open("wb") as sink, (errors or Path(os.devnull)).open("wb") as error_sink:
        starting = _starter.submit(
            subprocess.Popen,
            [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, *command] if sys.platform == "linux" else command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT if errors is None else error_sink,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        return starting.result()


def wait_for_server(
    process: subprocess.Popen[bytes],
    port: int,
    *,
    within_seconds: float = HANG_SECONDS,
    output: Path,
    more_ports: Sequence[int] = (),
) -> None:
    """Return once the process accepts connections on `port` and `more_ports`, which open one after the other; raise
    with its output if it ends or takes too long."""

    def answers() -> bool:
        if process.poll() is not None:
            raise ProcessFailed(f"{process.args!r} ended with {process.returncode}:\n{tail(output)}")
        return all(map(accepts_connections, (port, *more_ports)))

    try:
        wait_until(answers, within_seconds=within_seconds, what=f"a connection to port {port}")
    except TimeoutError as error:
        raise ProcessFailed(f"{error}; {process.args!r} said:\n{tail(output)}") from error


def stop_process(process: subprocess.Popen[bytes], *, within_seconds: float = HANG_SECONDS, hard: bool = False) -> int:
    """End the process and what it started: SIGTERM first (unless `hard`), SIGKILL when that takes too long."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)
    try:
        return process.wait(timeout=within_seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(timeout=within_seconds)


@contextlib.contextmanager
def running_server(
    command: Sequence[str],
    *,
    port: int,
    output: Path,
    within_seconds: float = HANG_SECONDS,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    more_ports: Sequence[int] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    process = start_process(command, output=output, directory=directory, environment=environment)
    try:
        wait_for_server(process, port, within_seconds=within_seconds, output=output, more_ports=more_ports)
        yield process
    finally:
        stop_process(process)


def tail(path: Path, lines: int = 40) -> str:
    if not path.exists():
        return "(no output)"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
