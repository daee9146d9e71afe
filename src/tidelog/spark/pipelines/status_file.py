"""The file by which others on this machine find a pipeline that runs: the console does, without being told.

It holds what /healthz answers, and from where to where records go; nothing that is secret. It is written by a thread of
its own, also while Spark starts or a broker is away: whole or not at all, when something has changed, but at most once
a second. A pipeline that ends well removes it, one that fails leaves its reason in it, and one that is killed leaves
it as it was. The next start of the same pipeline removes what those have left. That it cannot be written keeps no
pipeline from running.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tidelog.client.local_pipelines import forget_ended, own_status_directory, start_of_running_process
from tidelog.model.pipeline_status import (
    HEARTBEAT_SECONDS,
    HealthReport,
    PipelineEnd,
    PipelineStatus,
    encode_status,
    status_file_name,
)
from tidelog.spark.pipelines.health import REASON_CHARACTERS, PipelineHealth
from tidelog.spark.pipelines.settings import (
    PIPELINES,
    Mirror,
    Outbox,
    Pipeline,
    SinkDatabase,
    Source,
    Target,
    Transform,
)

logger = logging.getLogger(__name__)

_SHORTEST_PAUSE_SECONDS = 1.0
_NAME = re.compile(r"[\w.-]+")
_HOSTS = re.compile(r"[\w.,:\[\]-]+")
# One after the other: what looks like a word may be part of a value in quotes.
_LIBPQ_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']\S*)(?=\s|$)")


@contextmanager
def noting(pipeline: Pipeline, health: PipelineHealth, service: str | None = None) -> Iterator[None]:
    """Keep the file while the context lasts. `service` is where /healthz is."""
    directory = own_status_directory()
    if directory is None:
        yield
        return
    file = _StatusFile(directory, pipeline, health, service or "")
    file.begin()
    try:
        yield
    except BaseException as error:
        file.end(" ".join(str(error).split())[:REASON_CHARACTERS] or type(error).__name__)
        raise
    file.end("")


class _StatusFile:
    def __init__(self, directory: Path, pipeline: Pipeline, health: PipelineHealth, service: str) -> None:
        self._directory = directory
        self._health = health
        self._path = directory / status_file_name(pipeline.run.name, os.getpid())
        source, target = ends_of(pipeline)
        self._status = PipelineStatus(
            kind=next(kind for kind, settings in PIPELINES.items() if isinstance(pipeline, settings)),
            source=source,
            target=target,
            host=socket.gethostname(),
            process=os.getpid(),
            process_start=start_of_running_process(os.getpid()) or "",
            started_ms=_now_ms(),
            written_ms=0,
            service=service,
            report=health.report(),
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pipeline status", daemon=True)
        self._failed = False

    def begin(self) -> None:
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            forget_ended(self._directory, self._status.report.pipeline, now_ms=_now_ms())
        self._thread.start()

    def end(self, reason: str) -> None:
        self._stop.set()
        self._thread.join()
        if reason:
            self._write(replace(self._status, report=self._health.report(), ended=reason))
        else:
            with suppress(OSError):
                self._path.unlink()

    def _run(self) -> None:
        written: HealthReport | None = None
        written_at = 0.0
        while not self._stop.is_set():
            report, now = self._health.report(), time.monotonic()
            if written is None or _lasting(report) != _lasting(written) or now - written_at >= HEARTBEAT_SECONDS:
                self._write(replace(self._status, report=report))
                written, written_at = report, now
            self._stop.wait(_SHORTEST_PAUSE_SECONDS)

    def _write(self, status: PipelineStatus) -> None:
        temporary = self._path.with_suffix(".new")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(encode_status(replace(status, written_ms=_now_ms())))
            temporary.replace(self._path)
        except OSError as error:
            if not self._failed:
                self._failed = True
                logger.warning("the console will not find this pipeline by itself: %s", error)


def ends_of(pipeline: Pipeline) -> tuple[PipelineEnd, PipelineEnd]:
    """From where to where, for people: no options, and of databases no users and passwords."""
    match pipeline:
        case Transform(source=source, target=target):
            return _source(source), _target(target)
        case Mirror(source=source, target=target, mirror=rules):
            prefixed = f"{rules.topic_prefix}*" if rules.topic_prefix else ""
            return _source(source), PipelineEnd(pattern=prefixed, place=target.bootstrap_servers)
        case Outbox(outbox=outbox, target=target):
            return PipelineEnd(table=outbox.table, place=database_place(outbox.url)), _target(target)
        case SinkDatabase(source=source, database=database):
            return _source(source), PipelineEnd(table=database.table, place=database_place(database.url))


def _source(source: Source) -> PipelineEnd:
    return PipelineEnd(topics=source.topics, pattern=source.topic_pattern, place=source.bootstrap_servers)


def _target(target: Target) -> PipelineEnd:
    return PipelineEnd(topics=(target.topic,) if target.topic else (), place=target.bootstrap_servers)


def database_place(url: str) -> str:
    """Which database, in words."""
    if url.startswith("sqlite:"):
        return f"SQLite {url.removeprefix('sqlite:').removeprefix('///')}"
    if "://" in url:
        # A password may hold any character, and libpq is more patient with that than the rules for URLs.
        address, _, query = url.partition("://")[2].partition("?")
        host, _, name = ("" if "@" in query else address.rpartition("@")[2]).partition("/")
    else:
        words: dict[str, str] = {}
        position = 0
        while (found := _LIBPQ_WORD.match(url, position)) is not None:
            words[found[1]], position = found[2].strip("'"), found.end()
        host, name = words.get("host", ""), words.get("dbname", "")
    shown = f"PostgreSQL {name}" if _NAME.fullmatch(name) else "PostgreSQL"
    return f"{shown} at {host}" if _HOSTS.fullmatch(host) else shown


def _lasting(report: HealthReport) -> HealthReport:
    """Without what changes as time goes by."""
    return replace(report, seconds_since_progress=None, next_attempt_in_seconds=None)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
