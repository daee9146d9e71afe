"""Everything that is stored is read and held against everything else; a flipped bit has nowhere to hide."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.compaction import batches
from support.crash_disk import Image, MemoryDisk
from support.default_settings import compaction_limits, log_config
from support.tracked_log import NOW, PATH, TrackedLog

from tidelog.records.batch import LEADER_EPOCH_AT, iterate_headers
from tidelog.records.compression import Compression
from tidelog.storage.cleaner.compaction import DamagedSegment
from tidelog.storage.files.file_names import CLEAN_SHUTDOWN_FILE, RECOVERY_POINT_CHECKPOINT
from tidelog.storage.log.compacting import plan_compaction, start_compaction
from tidelog.storage.verification.directory import NothingToVerify, verify
from tidelog.storage.verification.findings import Report

CONFIG = log_config(segment_bytes=1200, index_interval_bytes=250, retention_ms=-1)
COMPACTED = replace(CONFIG, compact=True, delete=False)
FLIPS = 2_000
FOLDER = f"{PATH}/topic-0"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def fill(tracked: TrackedLog, *, epochs: bool = True) -> None:
    """Idempotent and transactional producers, all codecs, several leaders, several segments."""
    tracked.open()
    for number in range(30):
        if epochs and number % 8 == 7:
            tracked.epoch += 3
        tracked.now += 10
        pairs = [(b"k%d" % ((number + at) % 11), b"value %d-%d " % (number, at) * 3) for at in range(1 + number % 4)]
        tracked.append(*pairs, producer_id=1, compression=Compression(number % 5))
        if number % 7 == 3:
            tracked.append((b"t", b"in a transaction"), producer_id=2, transactional=True)
        if number % 7 == 5:
            tracked.end_transaction(2, commit=number % 2 == 0)


@pytest.fixture(scope="module")
def closed() -> Image:
    """The files of a log that was closed cleanly."""
    disk = MemoryDisk(directories=(PATH,))
    tracked = TrackedLog(disk, CONFIG)
    fill(tracked)
    assert len(tracked.log.segments) > 4
    assert any(len(segment.transaction_index) for segment in tracked.log.segments)
    tracked.close()
    return disk.image()


def check(image: Image, path: str = PATH) -> Report:
    report = Report()
    verify(MemoryDisk(image, directories=(PATH,)), path, report)
    return report


def flip(image: Image, path: str, bit: int) -> Image:
    content = bytearray(image[path])
    content[bit // 8] ^= 1 << bit % 8
    return {**image, path: bytes(content)}


def closed_files(image: Image, endings: tuple[str, ...]) -> list[str]:
    """Of all segments but the last one."""
    logs = sorted(path for path in image if path.endswith(".log"))
    active = logs[-1].removesuffix(".log")
    return sorted(
        path for path in image if path.startswith(FOLDER) and path.endswith(endings) and not path.startswith(active)
    )


# Logs without damage


def test_good_log_has_no_findings(closed: Image) -> None:
    report = check(closed)
    assert report.damage == []
    assert (report.partitions, report.segments) == (1, len([path for path in closed if path.endswith(".log")]))
    assert report.records > 70
    sizes = [len(content) for path, content in closed.items() if path.endswith((".log", "index"))]
    assert report.checked_bytes == sum(sizes)


def test_partition_can_be_checked_by_itself(closed: Image) -> None:
    assert check(closed, FOLDER).damage == []


def test_log_that_was_not_closed_is_no_damage() -> None:
    disk = MemoryDisk(directories=(PATH,))
    tracked = TrackedLog(disk, CONFIG)
    fill(tracked)
    tracked.flush_sealed()
    tracked.write_checkpoints()
    image = disk.image()
    assert check(image).damage == []
    # Torn in the middle of the last batch.
    active = max(path for path in image if path.endswith(".log"))
    torn = check({**image, active: image[active][:-20]})
    assert torn.damage == []
    assert [finding.path for finding in torn.notes if finding.position is not None] == [active]
    assert "not synced, the next start cuts it off" in str(torn.notes[-1])


def test_compacted_log_is_no_damage() -> None:
    disk = MemoryDisk(directories=(PATH,))
    tracked = TrackedLog(disk, COMPACTED)
    fill(tracked)
    tracked.end_transaction(2, commit=False)
    tracked.roll()
    tracked.compact()
    tracked.append((b"a", b"1"))
    tracked.close()
    assert check(disk.image()).damage == []


def test_exchange_that_a_crash_has_interrupted_is_no_damage() -> None:
    disk = MemoryDisk(directories=(PATH,))
    tracked = TrackedLog(disk, COMPACTED)
    fill(tracked)
    tracked.end_transaction(2, commit=False)
    tracked.roll()
    tracked.flush()
    log = tracked.log
    compaction = start_compaction(log, plan_compaction(log, tracked.now), compaction_limits(), tracked.now)
    for _ in compaction.map_keys():
        pass
    for _ in compaction.write_group(compaction.groups()[0]):
        pass
    before = check(disk.image())
    log.exchange.swap_in(compaction, tracked.now)
    after = check(disk.image())
    for report in (before, after):
        assert report.damage == []
        assert any("was replacing segments" in note.reason for note in report.notes)


def test_directory_without_logs_is_told() -> None:
    with pytest.raises(NothingToVerify, match="neither a log directory nor"):
        check({"/elsewhere/file": b""}, "/elsewhere")
    with pytest.raises(NothingToVerify, match="is not a directory"):
        check({}, "/nowhere")


# Damage, and where


def test_damage_is_told_with_its_exact_place_and_the_rest_is_read(closed: Image) -> None:
    path = f"{FOLDER}/00000000000000000000.log"
    headers = list(iterate_headers(closed[path]))
    position, header = headers[2]
    report = check(flip(closed, path, (position + header.size - 1) * 8))
    first = report.damage[0]
    assert (first.path, first.position, first.reason) == (path, position, "the checksum does not match")
    assert str(first) == f"{path} at byte {position}: the checksum does not match"
    # Everything else was read and found good, apart from what depends on that batch.
    assert {finding.path.rpartition(".")[0] for finding in report.damage} == {path.removesuffix(".log")}
    assert report.batches == check(closed).batches - 1


def test_missing_segment_is_told(closed: Image) -> None:
    second = sorted(path for path in closed if path.endswith(".log"))[1].removesuffix(".log")
    report = check({path: content for path, content in closed.items() if not path.startswith(second)})
    assert any("are missing before it" in finding.reason for finding in report.damage)


def test_lost_end_is_told(closed: Image) -> None:
    last = max(path for path in closed if path.endswith(".log"))
    size = next(header.size for _, header in list(iterate_headers(closed[last]))[-1:])
    report = check({**closed, last: closed[last][:-size]})
    assert any("but it was synced up to" in finding.reason for finding in report.damage)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("topic-0/leader-epoch-checkpoint", b"0\n1\n3 x\n", "'3 x' is not an entry"),
        ("topic-0/leader-epoch-checkpoint", b"0\n2\n3 9\n1 20\n", "must rise from line to line"),
        ("topic-0/partition.metadata", b"version: 0\n", "it must hold a version and a topic_id"),
        ("recovery-point-offset-checkpoint", b"7\n0\n", "version '7' is unknown"),
        ("meta.properties", b"version=9\n", "version '9' is not"),
        ("topic-0/00000000000000000000.index", b"123", "3 bytes are not a whole entry of 8"),
    ],
)
def test_small_files_are_read(closed: Image, name: str, content: bytes, reason: str) -> None:
    report = check({**closed, f"{PATH}/{name}": content})
    assert any(finding.path == f"{PATH}/{name}" and reason in finding.reason for finding in report.damage)


def test_missing_entry_of_an_aborted_transaction_is_told(closed: Image) -> None:
    path = next(path for path in sorted(closed) if path.endswith(".txnindex"))
    report = check({**closed, path: b""})
    assert any("its records would be shown to readers" in finding.reason for finding in report.damage)


# Two thousand flipped bits


def random_flips(image: Image, endings: tuple[str, ...], count: int, seed: int) -> Iterator[tuple[str, int]]:
    chance = random.Random(seed)
    files = closed_files(image, endings)
    sizes = [len(image[path]) for path in files]
    for _ in range(count):
        (path,) = chance.choices(files, sizes)
        yield path, chance.randrange(len(image[path]) * 8)


@pytest.mark.slow
def test_every_flipped_bit_in_a_closed_segment_is_found(closed: Image) -> None:
    endings = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    for path, bit in random_flips(closed, endings, FLIPS, seed=1):
        report = check(flip(closed, path, bit))
        assert report.damage, f"bit {bit} of {path} was flipped"
        assert path.rpartition(".")[0] in {finding.path.rpartition(".")[0] for finding in report.damage} or (
            path.endswith(".snapshot")
        ), (path, bit, report.damage)


@pytest.mark.slow
def test_no_flipped_bit_is_served_after_recovery(closed: Image) -> None:
    """The broker has crashed, nothing is known to be synced, and recovery reads everything."""
    unclean = {
        path: content
        for path, content in closed.items()
        if not path.endswith((CLEAN_SHUTDOWN_FILE, RECOVERY_POINT_CHECKPOINT))
    }
    tracked = TrackedLog(MemoryDisk(unclean), CONFIG)
    tracked.now = NOW + 10_000
    original = {header.base_offset: batch for header, batch in batches(tracked.open())}
    for path, bit in random_flips(unclean, (".log",), FLIPS, seed=2):
        tracked = TrackedLog(MemoryDisk(flip(unclean, path, bit)), CONFIG)
        tracked.now = NOW + 10_000
        for header, batch in batches(tracked.open()):
            expected = original[header.base_offset]
            if batch != expected:
                # Only a leader epoch that could as well be that of a new leader; the records are covered by checksums.
                changed = [at for at in range(len(batch)) if batch[at] != expected[at]]
                assert LEADER_EPOCH_AT <= changed[0] == changed[-1] < LEADER_EPOCH_AT + 4, (path, bit)


@pytest.mark.slow
def test_no_flipped_bit_survives_compaction() -> None:
    disk = MemoryDisk(directories=(PATH,))
    tracked = TrackedLog(disk, COMPACTED)
    fill(tracked)
    tracked.end_transaction(2, commit=False)
    tracked.roll()
    tracked.close()
    image = disk.image()
    for path, bit in random_flips(image, (".log",), FLIPS, seed=3):
        damaged = TrackedLog(MemoryDisk(flip(image, path, bit)), COMPACTED)
        damaged.now = tracked.now
        log = damaged.open()
        compaction = start_compaction(log, plan_compaction(log, damaged.now), compaction_limits(), damaged.now)
        with pytest.raises(DamagedSegment) as told:
            for _ in compaction.map_keys():
                pass
        assert told.value.path == path, (path, bit)
