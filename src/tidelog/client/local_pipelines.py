"""The pipelines of this machine's user, by the files that they keep (`tidelog.model.pipeline_status`)."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.pipeline_status import (
    HEARTBEAT_SECONDS,
    MOST_STATUS_BYTES,
    SUFFIX,
    PipelineStatus,
    decode_status,
    start_of_process,
    status_directory,
)

# Those that have been written last.
MOST_PIPELINES = 200
# Who has ended longer ago is not spoken of any more.
_REMEMBERED_SECONDS = 7 * 24 * 3600
# Three heartbeats may be late on a machine that is busy.
_SILENT_SECONDS = 4 * HEARTBEAT_SECONDS


class PipelineLife(StrEnum):
    RUNNING = "running"
    # Its process is there and writes nothing: it was stopped, or its machine sleeps.
    SILENT = "silent"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPipeline:
    status: PipelineStatus
    life: PipelineLife


def own_status_directory() -> Path | None:
    """None for a user without a home, as in some containers."""
    try:
        return Path(status_directory(os.environ, str(Path.home())))
    except RuntimeError:
        return None


def local_pipelines(directory: Path, now_ms: int) -> list[LocalPipeline]:
    """By name; a file that is none of a pipeline's is left out."""
    found = [
        LocalPipeline(status=status, life=life_of(status, now_ms=now_ms))
        for _, status in _statuses(directory, MOST_PIPELINES)
    ]
    recent = [
        each for each in found if each.life is not PipelineLife.ENDED or _age(each.status, now_ms) < _REMEMBERED_SECONDS
    ]
    return sorted(recent, key=lambda each: (each.status.report.pipeline, each.status.started_ms))


def forget_ended(directory: Path, pipeline: str, *, now_ms: int) -> None:
    """Remove what earlier starts of a pipeline have left. Raises OSError."""
    for path, status in _statuses(directory, None):
        if status.report.pipeline == pipeline and life_of(status, now_ms=now_ms) is PipelineLife.ENDED:
            path.unlink(missing_ok=True)


def life_of(status: PipelineStatus, *, now_ms: int) -> PipelineLife:
    if status.ended or (status.host == socket.gethostname() and not _is_running(status)):
        return PipelineLife.ENDED
    # On another machine, with a directory that both have, only its heartbeat tells.
    return PipelineLife.SILENT if _age(status, now_ms) > _SILENT_SECONDS else PipelineLife.RUNNING


def start_of_running_process(process: int) -> str | None:
    """None if there is no such process, empty where the system does not tell when it has started."""
    if process <= 0:
        return None
    try:
        return start_of_process(Path(f"/proc/{process}/stat").read_bytes())
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        # It is there, and somebody else's.
        return ""
    return ""


def _is_running(status: PipelineStatus) -> bool:
    start = start_of_running_process(status.process)
    return start is not None and start == status.process_start


def _statuses(directory: Path, most: int | None) -> Iterator[tuple[Path, PipelineStatus]]:
    try:
        with os.scandir(directory) as entries:
            found = [(_written(entry), entry.path) for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:
        return
    for _, path in sorted(found, reverse=True)[:most]:
        status = decode_status(_content(path))
        if status is not None:
            yield Path(path), status


def _written(entry: os.DirEntry[str]) -> float:
    with suppress(OSError):
        return entry.stat(follow_symlinks=False).st_mtime
    return 0.0


def _content(path: str) -> bytes:
    """Empty if it has just been removed, or is no file."""
    try:
        # A pipe would keep us waiting.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_STATUS_BYTES + 1)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _age(status: PipelineStatus, now_ms: int) -> float:
    return (now_ms - status.written_ms) / 1000
