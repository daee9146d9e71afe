"""What the sink has done, for the driver that started the query: rows, bytes and times of the last micro-batches.

Spark calls `commit` in a process of its own and takes nothing back from it, and its progress has no place that a sink
in Python could fill. So that process leaves a small file on the machine of the driver, and the driver finds it by the
id of the query. Nothing depends on it: a file that cannot be written or read only means that nothing is reported.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

# A driver looks after each micro-batch; it may be some behind.
_BATCHES_KEPT = 16
_FORGOTTEN_AFTER_SECONDS = 7 * 24 * 3600
_OWNER_ONLY = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkReport:
    """One micro-batch. Times are in milliseconds; a micro-batch that was in the topics already has none."""

    batch: int
    rows: int
    # Of the encoded record batches.
    bytes: int
    # Rows by topic.
    topics: Mapping[str, int]
    skipped: bool = False
    # From the first record batch to the end of the commit; None where tasks have transactions of their own, or none.
    transaction_ms: float | None = None
    # The commit alone; None where there is none.
    commit_ms: float | None = None

    def metrics(self) -> dict[str, str]:
        """As Spark's progress has metrics: names and texts."""
        times = {"transactionMs": self.transaction_ms, "commitMs": self.commit_ms}
        return {
            "rows": str(self.rows),
            "bytes": str(self.bytes),
            **{name: f"{value:.0f}" for name, value in times.items() if value is not None},
            "skipped": "true" if self.skipped else "false",
            **{f"rows.{topic}": str(rows) for topic, rows in sorted(self.topics.items())},
        }


def leave_report(query_id: str, report: SinkReport) -> None:
    """Best effort: called after the commit, which nothing may undo."""
    try:
        folder = _folder()
        folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
        if not _is_ours(folder):
            return
        reports = {**read_reports(query_id), report.batch: report}
        kept = [asdict(reports[batch]) for batch in sorted(reports)[-_BATCHES_KEPT:]]
        path = _path(folder, query_id)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(kept))
        fresh.replace(path)
        if report.batch % 100 == 0:
            _forget_old(folder)
    except OSError as error:
        logger.debug("no report of micro-batch %d: %s", report.batch, error)


def read_reports(query_id: str) -> dict[int, SinkReport]:
    """By micro-batch; empty if there are none, or on another machine than the driver's."""
    folder = _folder()
    try:
        if not _is_ours(folder):
            return {}
        found = json.loads(_path(folder, query_id).read_text())
        return {one["batch"]: SinkReport(**one) for one in found}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _folder() -> Path:
    return Path(tempfile.gettempdir(), f"tidelog-spark-{os.getuid()}")


def _is_ours(folder: Path) -> bool:
    """The folder for temporary files belongs to everybody: somebody else may have made one of this name."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _path(folder: Path, query_id: str) -> Path:
    return folder / f"{re.sub(r'[^0-9A-Za-z-]', '_', query_id)}.json"


def _forget_old(folder: Path) -> None:
    oldest = time.time() - _FORGOTTEN_AFTER_SECONDS
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
