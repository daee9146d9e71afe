"""Every state in which a crash could leave the disk, for each kind of work a log does, recovered by the real code.

Not sampled: for each point between two operations on the disk, all combinations of what had not been synced are made
as far as they are affordable (`MOST_PER_POINT`), and the log that recovery makes of each is held against a model:
what was synced is there, the rest is there up to some point or not at all, indexes are what a fresh rebuild makes,
and recovering once more changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from support.crash_disk import Image, MemoryDisk, Operation, Sync, SyncDirectory, crash_images
from support.log_scenarios import (
    COMPACTED,
    CONFIG,
    Scenario,
    append_and_flush,
    append_and_roll,
    clean_restart,
    compaction,
    compaction_of_unflushed_segments,
    compaction_that_leaves_gaps,
    retention,
    transactions,
    truncate,
)
from support.tracked_log import PATH, Model, TrackedLog, check_recovered

from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.log import Log
from tidelog.storage.recovery.segment_recovery import rebuild_indexes
from tidelog.storage.segments.segment import Segment


@pytest.fixture
def quiet() -> Iterator[None]:
    """Recovery tells what it does, which is a line per state here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Recovery:
    """Recovers images and checks the result; what was checked before is not checked again."""

    def __init__(self, config: LogConfig, now: int, *, exact_indexes: bool) -> None:
        self._config = config
        self._now = now
        self._exact_indexes = exact_indexes
        self._recovered: set[tuple[int, int, int]] = set()
        self._checked: set[tuple[int, ...]] = set()
        self._idempotent: dict[int, tuple[int, int]] = {}

    @property
    def recovered(self) -> int:
        return len(self._recovered)

    def check(self, image: Image, before: Model, after: Model, where: str) -> None:
        state = (hash(frozenset(image.items())), id(before), id(after))
        if state in self._recovered:
            return
        self._recovered.add(state)
        try:
            self._check(image, before, after)
        except Exception as problem:
            files = {path.removeprefix(f"{PATH}/"): len(content) for path, content in image.items()}
            raise AssertionError(f"{where}: {files}") from problem

    def recover(self, disk: MemoryDisk) -> Log:
        tracked = TrackedLog(disk, self._config)
        tracked.now = self._now
        return tracked.open()

    def _check(self, image: Image, before: Model, after: Model) -> None:
        disk = MemoryDisk(image, directories=(PATH,))
        log = self.recover(disk)
        result = disk.image()
        identity = hash(frozenset(result.items()))
        bounds = (log.log_start_offset, log.log_end_offset)
        key = (identity, id(before), id(after), *bounds)
        if key in self._checked:
            return
        self._checked.add(key)
        check_recovered(log, before, after)
        if identity not in self._idempotent:
            self._check_indexes(log, result)
            # As if the power went just when recovery had finished, with everything on the device.
            again_disk = MemoryDisk(result)
            again = self.recover(again_disk)
            self._idempotent[identity] = (again.log_start_offset, again.log_end_offset)
            assert _logs_of(again_disk.image()) == _logs_of(result), "recovering once more changes the log"
        assert self._idempotent[identity] == bounds, "recovering once more moves the bounds"

    def _check_indexes(self, log: Log, result: Image) -> None:
        fresh = MemoryDisk(result)
        for segment in log.segments:
            rebuilt = Segment(fresh, log.directory, segment.base_offset, (segment.size, 0, 0, 0), created_ms=0)
            rebuild_indexes(rebuilt, self._config)
            if self._exact_indexes:
                assert segment.offset_index.entries() == rebuilt.offset_index.entries()
                assert segment.time_index.entries() == rebuilt.time_index.entries()
            positions = dict(segment.headers())
            for relative_offset, position in segment.offset_index.entries():
                assert positions[position].last_offset == segment.base_offset + relative_offset


def _logs_of(image: Image) -> Image:
    return {path: content for path, content in image.items() if path.endswith((".log", ".index", ".timeindex"))}


def run(
    scenario: Scenario, config: LogConfig, disk: MemoryDisk | None = None
) -> tuple[MemoryDisk, list[tuple[int, Model, Model]], TrackedLog]:
    """The journal of a scenario, and what must hold from which operation on."""
    disk = disk or MemoryDisk(directories=(PATH,))
    marks: list[tuple[int, Model, Model]] = []
    tracked = TrackedLog(disk, config, told=lambda before, after: marks.append((len(disk.journal), before, after)))
    tracked.open()
    scenario(tracked)
    return disk, marks, tracked


def check_all(scenario: Scenario, config: LogConfig, *, most_per_point: int, disk: MemoryDisk | None = None) -> int:
    """How many different states were recovered."""
    disk, marks, tracked = run(scenario, config, disk)
    recovery = Recovery(config, tracked.now, exact_indexes=scenario is not clean_restart)
    for point, image, before, after in states_of(disk.journal, marks, most_per_point):
        recovery.check(image, before, after, f"crash after operation {point} of {len(disk.journal)}")
    return recovery.recovered


def check_recovery_itself(scenario: Scenario, config: LogConfig, *, every: int, most_per_point: int) -> int:
    """Crashes while the log recovers from a crash."""
    disk, marks, tracked = run(scenario, config)
    recovery = Recovery(config, tracked.now, exact_indexes=scenario is not clean_restart)
    for number, (point, image, before, after) in enumerate(states_of(disk.journal, marks, most_per_point)):
        if number % every:
            continue
        second = MemoryDisk(image, directories=(PATH,))
        recovery.recover(second)
        where = f"crash after operation {point} of {len(disk.journal)}, and in recovery after operation"
        for again, left in crash_images(second.journal, image, most_per_point=most_per_point):
            recovery.check(left, before, after, f"{where} {again} of {len(second.journal)}")
    return recovery.recovered


def states_of(
    journal: list[Operation], marks: list[tuple[int, Model, Model]], most_per_point: int
) -> Iterator[tuple[int, Image, Model, Model]]:
    at = 0
    for point, image in crash_images(journal, {}, most_per_point=most_per_point):
        while at + 1 < len(marks) and marks[at + 1][0] <= point:
            at += 1
        yield point, image, marks[at][1], marks[at][2]


# Scenario, configuration, and how many different states its crashes come to at least.
WORK = [
    (append_and_roll, CONFIG, 10_500),
    (append_and_flush, CONFIG, 12_000),
    (transactions, CONFIG, 6_200),
    (truncate, CONFIG, 17_500),
    (retention, CONFIG, 11_200),
    (clean_restart, CONFIG, 10_300),
    (compaction, COMPACTED, 19_500),
    (compaction_of_unflushed_segments, COMPACTED, 7_500),
]
RECOVERY_WORK = [
    (append_and_flush, CONFIG, 2_700),
    (truncate, CONFIG, 2_000),
    (compaction, COMPACTED, 4_400),
]
MOST_PER_POINT = 750
# Of the states that recovery starts from, and within each of these recoveries.
RECOVERY_EVERY = 25
RECOVERY_MOST_PER_POINT = 40


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "config", "least"), WORK, ids=[work[0].__name__ for work in WORK])
def test_log_recovers_from_every_crash(quiet: None, scenario: Scenario, config: LogConfig, least: int) -> None:
    assert check_all(scenario, config, most_per_point=MOST_PER_POINT) >= least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "config", "least"), RECOVERY_WORK, ids=[work[0].__name__ for work in RECOVERY_WORK]
)
def test_recovery_that_crashes_is_recovered_from(
    quiet: None, scenario: Scenario, config: LogConfig, least: int
) -> None:
    found = check_recovery_itself(scenario, config, every=RECOVERY_EVERY, most_per_point=RECOVERY_MOST_PER_POINT)
    assert found >= least


# Much of that work is not synced, which makes for more states than there is time for.
GAPS_MOST_PER_POINT = 120


@pytest.mark.slow
def test_gaps_between_segments_are_told_from_losses_after_every_crash(quiet: None) -> None:
    assert check_all(compaction_that_leaves_gaps, COMPACTED, most_per_point=GAPS_MOST_PER_POINT) >= 9_000


@pytest.mark.slow
@pytest.mark.parametrize("step", ["allow_below", "limit_to"])
def test_gaps_that_are_not_noted_would_be_found(quiet: None, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KnownGaps, step, lambda self, offset: None)
    with pytest.raises(AssertionError, match="crash after operation"):
        check_all(compaction_that_leaves_gaps, COMPACTED, most_per_point=GAPS_MOST_PER_POINT)


def test_a_hundred_thousand_states_are_recovered() -> None:
    """The least numbers above are asserted one by one; all together they are enough."""
    assert sum(least for *_, least in (*WORK, *RECOVERY_WORK)) >= 100_000


class _Liar(MemoryDisk):
    """Says that it has synced names, and has not."""

    def record(self, operation: Operation) -> None:
        if not isinstance(operation, SyncDirectory):
            super().record(operation)


class _LazyLiar(MemoryDisk):
    """Says that it has synced contents, and has not."""

    def record(self, operation: Operation) -> None:
        if not isinstance(operation, Sync):
            super().record(operation)


@pytest.mark.parametrize("kind", [_Liar, _LazyLiar])
@pytest.mark.parametrize(
    ("scenario", "config"), [(append_and_flush, CONFIG), (truncate, CONFIG), (compaction, COMPACTED)]
)
def test_disk_that_does_not_sync_is_noticed(
    quiet: None, kind: type[MemoryDisk], scenario: Scenario, config: LogConfig
) -> None:
    """The checks above can fail."""
    with pytest.raises(AssertionError, match="crash after operation"):
        check_all(scenario, config, most_per_point=60, disk=kind(directories=(PATH,)))
