"""What a pipeline on Spark tells about itself: its health, and the file by which others on its machine find it.

A running pipeline keeps a small file in a directory of its user and removes it at its end. Whoever finds one there
(the console does) can tell by the process in it whether that pipeline still runs. What is read may have been written by
another version, or by nobody of ours: what is missing or odd in it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tidelog.model.lazy_dataclasses import dataclass

# A file is no larger, and neither is the answer of a service.
MOST_STATUS_BYTES = 64 * 1024
MOST_TEXT_CHARACTERS = 1_000
MOST_TOPICS = 50
# A pipeline that has nothing new to say writes all the same.
HEARTBEAT_SECONDS = 10.0
SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """`last_error` is kept after the pipeline has recovered; `reason` says why it is not healthy now. `query` is the id
    that Spark has given the query, with which the sink's transactions and notes are named."""

    pipeline: str
    healthy: bool
    status: str
    reason: str
    batch: int | None
    rows: int
    lag: int | None
    seconds_since_progress: float | None
    next_attempt_in_seconds: float | None
    retries: int
    restarts: int
    last_error: str
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEnd:
    """Where records come from or go to, without anything that is secret: topics of a cluster, or a table."""

    topics: tuple[str, ...] = ()
    # Instead of names.
    pattern: str = ""
    # Bootstrap servers, or a database.
    place: str = ""
    table: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStatus:
    """`process_start` tells a process from a later one with the same number, where the system tells it."""

    kind: str
    source: PipelineEnd
    target: PipelineEnd
    host: str
    process: int
    process_start: str
    started_ms: int
    written_ms: int
    # Where /healthz is; empty without.
    service: str
    report: HealthReport
    # Why it has ended, if it could say so; files of those that have ended well are removed.
    ended: str = ""


def status_directory(environment: Mapping[str, str], home: str) -> str:
    return f"{_state(environment, home)}/pipeline-status"


def checkpoint_directory(environment: Mapping[str, str], home: str) -> str:
    """Where the checkpoints of pipelines are that are not told another place, each in a directory with its name."""
    return f"{_state(environment, home)}/pipelines"


def status_file_name(pipeline: str, process: int) -> str:
    return f"{pipeline}.{process}{SUFFIX}"


def start_of_process(stat: bytes) -> str | None:
    """From Linux' /proc/PID/stat: in ticks since the machine has started. None for a process that has ended, and whose
    end nobody has taken note of."""
    # The second field is the program's name in parentheses, which may hold anything.
    fields = stat.rpartition(b")")[2].split()
    if len(fields) < 20:
        return ""
    return None if fields[0] in (b"Z", b"X") else fields[19].decode("ascii", "replace")


def encode_status(status: PipelineStatus) -> bytes:
    document = _cut(asdict(status))
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"


def decode_status(content: bytes) -> PipelineStatus | None:
    """None for what is no status of a pipeline."""
    found = _document(content)
    report = None if found is None else _report(found.get("report"))
    if found is None or report is None:
        return None
    return PipelineStatus(
        kind=_text(found.get("kind")),
        source=_end(found.get("source")),
        target=_end(found.get("target")),
        host=_text(found.get("host")),
        process=_count(found.get("process")),
        process_start=_text(found.get("process_start")),
        started_ms=_count(found.get("started_ms")),
        written_ms=_count(found.get("written_ms")),
        service=_text(found.get("service")),
        report=report,
        ended=_text(found.get("ended")),
    )


def encode_health(report: HealthReport) -> bytes:
    return json.dumps(asdict(report)).encode() + b"\n"


def decode_health(content: bytes) -> HealthReport | None:
    """None for what is no answer of a pipeline's /healthz."""
    return _report(_document(content))


def _cut(value: Any) -> Any:
    """So that what is written can be read."""
    if isinstance(value, str):
        return value[:MOST_TEXT_CHARACTERS]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value[:MOST_TOPICS]] if isinstance(value, list | tuple) else value


def _state(environment: Mapping[str, str], home: str) -> str:
    return f"{environment.get('XDG_STATE_HOME') or f'{home}/.local/state'}/tidelog"


def _document(content: bytes) -> dict[str, Any] | None:
    if len(content) > MOST_STATUS_BYTES:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _report(found: Any) -> HealthReport | None:
    if not isinstance(found, dict) or not isinstance(found.get("pipeline"), str):
        return None
    return HealthReport(
        pipeline=_text(found["pipeline"]),
        healthy=found.get("healthy") is True,
        status=_text(found.get("status")),
        reason=_text(found.get("reason")),
        batch=_number(found.get("batch")),
        rows=_count(found.get("rows")),
        lag=_number(found.get("lag")),
        seconds_since_progress=_seconds(found.get("seconds_since_progress")),
        next_attempt_in_seconds=_seconds(found.get("next_attempt_in_seconds")),
        retries=_count(found.get("retries")),
        restarts=_count(found.get("restarts")),
        last_error=_text(found.get("last_error")),
        query=_text(found.get("query")),
    )


def _end(found: Any) -> PipelineEnd:
    if not isinstance(found, dict):
        return PipelineEnd()
    topics = found.get("topics")
    return PipelineEnd(
        topics=tuple(_text(each) for each in topics[:MOST_TOPICS]) if isinstance(topics, list) else (),
        pattern=_text(found.get("pattern")),
        place=_text(found.get("place")),
        table=_text(found.get("table")),
    )


def _text(found: Any) -> str:
    return found[:MOST_TEXT_CHARACTERS] if isinstance(found, str) else ""


def _number(found: Any) -> int | None:
    # Larger ones are no counts, and JavaScript has none.
    return found if type(found) is int and -(2**53) < found < 2**53 else None


def _count(found: Any) -> int:
    return _number(found) or 0


def _seconds(found: Any) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float) or not -1e12 < found < 1e12:
        return None
    return float(found)
