"""What a note of the sink for Spark says: which query, and how far it has published. No I/O."""

from __future__ import annotations

import json
import re
from typing import Any

from tidelog.model.lazy_dataclasses import dataclass

_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MIRROR = re.compile(r"tidelog-mirror-(.+)\.batch")
_JOB = re.compile(r".+?-job-(.+)")
_QUERY = re.compile(rf".+?-({_ID})")
# Of the tasks of a query, each of which has a transaction (atomicity=task, prepared): the query has a note as well.
_TASK = re.compile(rf".+(?:{_ID}|-job-.+)(?:-task-\d+|-p-\d+-\d+)")
_PREPARED = "prepared "
# What is read of an input is for people, and the sink cuts it, too.
_MOST_UNTIL_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedQuery:
    """`kind` is query, job, mirror, or group where the name of the group tells nothing. `rows` and what follows it are
    None or empty where the note does not tell: others may have committed for the same topic."""

    group: str
    kind: str
    name: str
    transactional_id: str
    batch: int
    rows: int | None = None
    tasks: int | None = None
    atomicity: str = ""
    # The offsets up to which the input was read, as Spark writes them.
    until: str = ""


def published_query(group: str, offset: int, metadata: str) -> PublishedQuery | None:
    """None for the notes of single tasks."""
    if _TASK.fullmatch(group):
        return None
    noted = _noted(metadata)
    kind, name, transactional_id = _named(group)
    rows, tasks = _count(noted.get("rows")), _count(noted.get("tasks"))
    division, until = noted.get("division"), noted.get("until")
    atomicity = ""
    if tasks is not None:
        atomicity = "batch" if not division else "prepared" if str(division).startswith(_PREPARED) else "task"
    return PublishedQuery(
        group=group,
        kind=kind,
        name=name,
        transactional_id=transactional_id,
        batch=offset,
        rows=rows,
        tasks=tasks,
        atomicity=atomicity,
        until=until[:_MOST_UNTIL_CHARACTERS] if isinstance(until, str) else "",
    )


def _named(group: str) -> tuple[str, str, str]:
    """Kind, name and transactional id."""
    if found := _MIRROR.fullmatch(group):
        return "mirror", found[1], group.removesuffix(".batch")
    if found := _JOB.fullmatch(group):
        return "job", found[1], group
    if found := _QUERY.fullmatch(group):
        return "query", found[1], group
    return "group", group, group


def _noted(metadata: str) -> dict[str, Any]:
    try:
        found = json.loads(metadata)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _count(found: Any) -> int | None:
    return found if type(found) is int and 0 <= found < 2**53 else None
