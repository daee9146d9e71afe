"""A PostgreSQL server of a test run: Debian's binaries, a fresh directory, a free port on loopback.

PostgreSQL refuses to run as root; there it runs as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.processes import free_port, start_process, stop_process, tail, wait_until

START_TIMEOUT_SECONDS = 120
_USERS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlServer:
    port: int

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://tidelog@127.0.0.1:{self.port}/{database}"


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
        log = directory / "postgresql.log"
        process = start_process(command, output=log, directory=Path("/"))
        try:
            server = PostgresqlServer(port=port)
            wait_until(
                lambda: _answers(server, process, log), within_seconds=START_TIMEOUT_SECONDS, what="PostgreSQL's start"
            )
            yield server
        finally:
            stop_process(process)
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
