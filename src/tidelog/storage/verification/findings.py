"""What a verification finds, and how it reports its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong, at an exact place. A note is not damage: recovery handles it, or it is harmless."""

    path: str
    # In bytes from the beginning of the file; None if it is about the file as a whole.
    position: int | None
    reason: str
    is_note: bool = False

    def __str__(self) -> str:
        where = self.path if self.position is None else f"{self.path} at byte {self.position}"
        return f"{where}: {self.reason}"


@dataclass(slots=True, kw_only=True)
class Report:
    """Filled while a directory is read."""

    findings: list[Finding] = field(default_factory=list)
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    checked_bytes: int = 0
    # Receives the number of bytes that have been read since the last time.
    progress: Callable[[int], None] = lambda _: None

    @property
    def damage(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.is_note]

    @property
    def notes(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_note]

    def add(self, path: str, position: int | None, reason: str, *, is_note: bool = False) -> None:
        self.findings.append(Finding(path=path, position=position, reason=reason, is_note=is_note))

    def read(self, size: int) -> None:
        self.checked_bytes += size
        self.progress(size)
