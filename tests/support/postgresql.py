"""A PostgreSQL server of a test run: Debian's binaries, a fresh directory, a free port on loopback.

PostgreSQL refuses to run as root; there it runs as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from support.processes import free_port, start_process, stop_process, tail, wait_until

START_TIMEOUT_SECONDS = 120
STOP_TIMEOUT_SECONDS = 60
_USERS = ("postgres", "nobody")


class PostgresqlServer:
    """A server with a directory and a port of its own, which tests may stop and start again."""

    def __init__(self, command: Sequence[str], port: int, log: Path) -> None:
        self.port = port
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://tidelog@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        process = self._process = start_process(self._command, output=self._log, directory=Path("/"))
        wait_until(
            lambda: _answers(self, process, self._log), within_seconds=START_TIMEOUT_SECONDS, what="PostgreSQL's start"
        )

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """As `pg_ctl stop -m`: `fast` ends in order, `immediate` is a crash, after which the log is replayed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT if mode == "fast" else signal.SIGQUIT)
        self._process.wait(STOP_TIMEOUT_SECONDS)
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            stop_process(self._process)


def find_binaries() -> Path | None:
    """The newest server that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).resolve().parent if on_path else None


@contextlib.contextmanager
def running_postgresql(directory: Path) -> Iterator[PostgresqlServer]:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
    # Directories of pytest are closed to other users, so that the server's user could not reach its data.
    home = Path("/tmp") / f"tidelog-postgresql-{os.getpid()}-{free_port()}"
    home.mkdir(mode=0o700)
    prefix: Sequence[str] = ()
    if os.geteuid() == 0:
        prefix = as_other_user(home)
    data = home / "data"
    try:
        subprocess.run(
            [*prefix, str(binaries / "initdb"), "-D", str(data), "-U", "tidelog", "-A", "trust", "-E", "UTF8", "-N"],
            check=True,
            capture_output=True,
            timeout=START_TIMEOUT_SECONDS,
            cwd="/",
            env={**os.environ, "LC_ALL": "C"},
        )
        port = free_port()
        command = [*prefix, str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1"]
        command += ["-k", str(home), "-c", "fsync=off", "-c", "max_connections=50"]
        server = PostgresqlServer(command, port, directory / "postgresql.log")
        try:
            server.start()
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def as_other_user(home: Path) -> Sequence[str]:
    setpriv = shutil.which("setpriv")
    for name in _USERS:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            if setpriv is not None:
                os.chown(home, user.pw_uid, user.pw_gid)
                # With another user the kernel forgets that the server was to die with the test run.
                end = ("--pdeathsig", "KILL")
                return (setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *end)
    pytest.skip("PostgreSQL refuses to run as root, and there is no way to another user here (setpriv)")


def _answers(server: PostgresqlServer, process: subprocess.Popen[bytes], log: Path) -> bool:
    psycopg = pytest.importorskip("psycopg")
    if process.poll() is not None:
        raise RuntimeError(f"PostgreSQL ended with {process.returncode}:\n{tail(log)}")
    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(server.url(), connect_timeout=5).close()
        return True
    return False
