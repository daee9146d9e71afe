"""A PostgreSQL server that a test may crash, copy, restore, and follow with a replica."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.postgresql import START_TIMEOUT_SECONDS, as_other_user, find_binaries
from support.processes import free_port, start_process, tail, wait_until

# Nothing reaches the disk of the log but by commits that wait for it, so that a crash takes back what it can.
LAZY = ("wal_writer_delay=10s", "bgwriter_delay=10s", "checkpoint_timeout=1d", "autovacuum=off")


@dataclass
class PostgresqlNode:
    """`data` can be copied while the server does not run."""

    binaries: Path
    prefix: Sequence[str]
    home: Path
    log: Path
    name: str = "primary"
    settings: tuple[str, ...] = LAZY
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.home / self.name

    @property
    def url(self) -> str:
        return f"postgresql://tidelog@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        command = [*self.prefix, str(self.binaries / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += ["-h", "127.0.0.1", "-k", str(self.home), "-c", "max_connections=30", "-c", "fsync=off"]
        for setting in self.settings:
            command += ["-c", setting]
        process = self.process = start_process(command, output=self.log, directory=Path("/"))
        wait_until(
            lambda: self._answers(process),
            within_seconds=START_TIMEOUT_SECONDS,
            what=f"the start of PostgreSQL {self.name}",
        )

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended with {process.returncode}:\n{tail(self.log)}")
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(self.url, connect_timeout=5).close()
            return True
        return False

    def crash(self) -> None:
        """As `pg_ctl stop -m immediate`: nobody writes what is in memory only."""
        if self.process is not None:
            os.kill(self.process.pid, signal.SIGQUIT)
            self.process.wait(60)
            self.process = None

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []

    def next_id(self) -> int:
        return int(self.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")[0][0])

    def oldest_running(self) -> int:
        return int(self.query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")[0][0])

    def spend_ids(self, count: int) -> None:
        """Transactions that take an id and roll back: the log has them, its disk has not."""
        with psycopg.connect(self.url) as connection:
            for _ in range(count):
                connection.execute("SELECT pg_current_xact_id()")
                connection.rollback()

    def crash_so_that_ids_come_again(self, count: int = 40) -> None:
        """The writer of the log may have been quicker, which is tried again."""
        for _ in range(10):
            self.spend_ids(count)
            before = self.oldest_running()
            self.crash()
            self.start()
            if self.next_id() < before:
                return
        raise AssertionError("PostgreSQL gave out no id again")

    def copy(self, name: str) -> PostgresqlNode:
        """A base backup, as another server on another port that is not started."""
        made = PostgresqlNode(
            binaries=self.binaries, prefix=self.prefix, home=self.home, log=self.log.with_name(f"{name}.log"), name=name
        )
        command = [*self.prefix, str(self.binaries / "pg_basebackup"), "-d", self.url, "-D", str(made.data)]
        subprocess.run([*command, "-c", "fast"], check=True, capture_output=True, timeout=120, cwd="/")
        return made

    def follow(self, primary: PostgresqlNode) -> None:
        """Become an asynchronous replica."""
        (self.data / "standby.signal").touch()
        owner = self.data.stat()
        os.chown(self.data / "standby.signal", owner.st_uid, owner.st_gid)
        host = f"host=127.0.0.1 port={primary.port} user=tidelog"
        self.settings = (*self.settings, f"primary_conninfo={host}")

    def wait_for(self, primary: PostgresqlNode) -> None:
        """Until everything that is on the primary's disk was replayed here."""
        place = primary.query("SELECT pg_current_wal_flush_lsn()::text")[0][0]
        wait_until(
            lambda: bool(self.query("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", place)[0][0]),
            what="the replica",
        )

    def promote(self) -> None:
        self.query("SELECT pg_promote(true, 60)")
        wait_until(lambda: not self.query("SELECT pg_is_in_recovery()")[0][0], what="the promotion")


@contextlib.contextmanager
def postgresql_node(directory: Path, *settings: str) -> Iterator[PostgresqlNode]:
    """A started primary. Copies that a test starts are stopped with it."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
    home = Path("/tmp") / f"tidelog-postgresql-{os.getpid()}-{free_port()}"
    home.mkdir(mode=0o700)
    prefix = as_other_user(home) if os.geteuid() == 0 else ()
    node = PostgresqlNode(
        binaries=binaries, prefix=prefix, home=home, log=directory / "primary.log", settings=(*LAZY, *settings)
    )
    try:
        subprocess.run(
            [
                *prefix,
                str(binaries / "initdb"),
                "-D",
                str(node.data),
                "-U",
                "tidelog",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "-N",
            ],
            check=True,
            capture_output=True,
            timeout=START_TIMEOUT_SECONDS,
            cwd="/",
            env={**os.environ, "LC_ALL": "C"},
        )
        node.start()
        yield node
    finally:
        node.crash()
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def started(node: PostgresqlNode) -> Iterator[PostgresqlNode]:
    node.start()
    try:
        yield node
    finally:
        node.crash()
