"""Every state in which a crash can leave the metadata log and its snapshots, opened again by the real code.

The states are those of a disk that loses anything that was not synced (`support.crash_disk`). Whatever is left, the log
opens, and what it and its snapshots say together is a state that the metadata has gone through: not before what was
synced, and not after what was written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest
from support.crash_disk import Image, MemoryDisk, crash_images
from support.default_settings import metadata_log_config, snapshot_rules

from tidelog.consensus.effects import FetchedAppend, SnapshotChunk
from tidelog.consensus.messages import SnapshotId
from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.metadata.snapshot import image_records
from tidelog.metadata.snapshot_file import encode_snapshot
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import read_whole
from tidelog.storage.log.appending import roll

PATH = "/data"
METADATA = f"{PATH}/__cluster_metadata-0"
MOST_PER_POINT = 24
EMPTY = ClusterImage(cluster_id="cluster")
KEEP_NOTHING = snapshot_rules(retention_bytes=0, retention_ms=0)


def unexpected(failure: BaseException) -> None:
    raise AssertionError("an image could not be acted on") from failure


class FixedRandomness:
    def random_bytes(self, count: int) -> bytes:
        return bytes(count)

    def uniform(self, low: float, high: float) -> float:
        return low

    def below(self, bound: int) -> int:
        return 0


class FixedClock:
    def now_ms(self) -> int:
        return 1_000_000

    def monotonic_ms(self) -> float:
        return 1_000_000.0


class History:
    """A metadata log whose record at offset n creates the topic "t<n>", and what must have survived at which point."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.disk = disk
        self.log = open_log(disk)
        # (operations done, the least end of what is there from then on)
        self.marks: list[tuple[int, int]] = [(0, 0)]
        self.written = 0

    def append(self, count: int, epoch: int = 1) -> None:
        end = self.log.end_offset
        self.log.append_records([topic(end + number) for number in range(count)], epoch)
        self.written = max(self.written, self.log.end_offset)
        self.log._log.flush(0)
        self.log.committed(self.log.end_offset)
        self.durable(self.log.end_offset)

    def durable(self, end: int) -> None:
        self.marks.append((len(self.disk.journal), end))

    def take_snapshot(self, epoch: int = 1) -> None:
        snapshot_id = SnapshotId(self.log.end_offset, epoch)
        self.log.snapshots.write(snapshot_id, pieces(snapshot_id))
        self.log.snapshot_written(snapshot_id, KEEP_NOTHING)

    def least_end(self, point: int) -> int:
        return max(end for done, end in self.marks if done <= point)


def topic(offset: int) -> TopicRecord:
    return TopicRecord(name=f"t{offset}", topic_id=(offset + 1).to_bytes(16, "big"))


def image_at(end: int) -> ClusterImage:
    return apply(EMPTY, [topic(offset) for offset in range(end)], offset=end - 1)[0]


def pieces(snapshot_id: SnapshotId) -> Iterator[bytes]:
    records = image_records(image_at(snapshot_id.end_offset))
    return encode_snapshot(records, epoch=snapshot_id.epoch, timestamp_ms=0, now_ms=0)


def open_log(disk: MemoryDisk) -> QuorumLog:
    directory = LogDirectory.open(PATH, disk, FixedRandomness())
    return QuorumLog.open(directory, disk, FixedClock(), metadata_log_config())


async def check(disk: MemoryDisk, least: int, most: int) -> None:
    log = open_log(disk)
    assert least <= log.end_offset <= most
    assert log.start_offset == 0 or log.earliest_snapshot is not None
    metadata = MetadataFollower(log, "cluster", unexpected)
    await metadata.committed(log.end_offset)
    assert metadata.image == image_at(log.end_offset)
    assert not [name for name in disk.list_names(METADATA) if name.endswith((".part", ".deleted"))]


async def check_all(history: History, start: Image) -> int:
    seen: set[int] = set()
    for point, image in crash_images(history.disk.journal, start, most_per_point=MOST_PER_POINT):
        identity = hash((frozenset(image.items()), history.least_end(point)))
        if identity in seen:
            continue
        seen.add(identity)
        disk = MemoryDisk(image, directories=(PATH, METADATA))
        try:
            await check(disk, history.least_end(point), history.written)
            # What was repaired at the start needs no repair at the next one.
            await check(MemoryDisk(disk.image(), directories=(PATH,)), history.least_end(point), history.written)
        except Exception as problem:
            files = {path.removeprefix(f"{PATH}/"): len(content) for path, content in image.items()}
            where = f"crash after operation {point} of {len(history.disk.journal)}"
            raise AssertionError(f"{where}: {files}") from problem
    return len(seen)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Recovery tells what it does, which is a line per state here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def begin(prepare: Callable[[History], None]) -> tuple[History, Image]:
    """A history that goes on from what `prepare` has left on the device."""
    disk = MemoryDisk(directories=(PATH,))
    first = History(disk)
    prepare(first)
    start = disk.image()
    history = History(MemoryDisk(start))
    history.written = first.written
    history.log.committed(first.log.end_offset)
    # Opening repairs nothing here, so that the journal begins with what the test does.
    history.disk.journal.clear()
    history.marks = [(0, first.log.end_offset)]
    return history, history.disk.image()


async def test_a_crash_while_snapshots_are_taken_and_the_log_is_cut_loses_nothing() -> None:
    history, start = begin(lambda first: first.append(3))
    history.take_snapshot()
    history.append(2)
    history.take_snapshot()
    history.append(2)
    history.take_snapshot()
    assert history.log.start_offset == 7
    assert await check_all(history, start) > 50


async def test_a_crash_while_several_segments_are_dropped_leaves_no_gap() -> None:
    def prepare(first: History) -> None:
        for _ in range(3):
            first.append(2)
            roll(first.log._log, 0)
        first.take_snapshot()
        first.append(1)

    history, start = begin(prepare)
    snapshot_id = SnapshotId(history.log.end_offset, 1)
    history.log.snapshots.write(snapshot_id, pieces(snapshot_id))
    # What is committed while the snapshot is written is in the log alone.
    history.append(2)
    history.log.snapshot_written(snapshot_id, KEEP_NOTHING)
    assert history.log.start_offset == 7
    assert await check_all(history, start) > 10


@pytest.mark.parametrize("end", [4, 8])
async def test_a_crash_while_a_fetched_snapshot_takes_the_place_of_the_log(end: int) -> None:
    """The log that is replaced ends at 5: it is shorter than the snapshot, or longer, with records never committed."""

    def prepare(first: History) -> None:
        first.append(2)
        first.log.append_records([topic(900 + number) for number in range(3)], 1)
        first.log._log.flush(0)

    history, start = begin(prepare)
    # Only the first two records were committed; of the rest nothing has to survive, and nothing may be believed.
    history.marks = [(0, 0)]
    snapshot_id = SnapshotId(end, 3)
    data = b"".join(pieces(snapshot_id))
    half = len(data) // 2
    history.log.store_chunk(SnapshotChunk(snapshot_id=snapshot_id, position=0, data=data[:half], is_last=False))
    last = SnapshotChunk(snapshot_id=snapshot_id, position=half, data=data[half:], is_last=True)
    assert history.log.store_chunk(last) is not None
    history.durable(snapshot_id.end_offset)
    history.append(2, epoch=3)
    for point, image in crash_images(history.disk.journal, start, most_per_point=MOST_PER_POINT):
        disk = MemoryDisk(image, directories=(PATH, METADATA))
        log = open_log(disk)
        metadata = MetadataFollower(log, "cluster", unexpected)
        if log.latest_snapshot is None:
            # Not yet: everything is as it was.
            assert (log.start_offset, log.end_offset) == (0, 5)
            assert history.least_end(point) == 0
            continue
        assert log.latest_snapshot == snapshot_id
        assert log.end_offset >= history.least_end(point)
        await metadata.committed(log.end_offset)
        assert metadata.image == image_at(log.end_offset)


async def test_a_fetched_snapshot_is_told_as_the_difference_to_what_was_known() -> None:
    history = History(MemoryDisk(directories=(PATH,)))
    history.append(2)
    metadata = MetadataFollower(history.log, "cluster", unexpected)
    await metadata.committed(2)
    told: list[tuple[int, list[str]]] = []

    class Actor:
        def prepare(self, image: ClusterImage, delta: ImageDelta) -> None:
            pass

        def follow(self, image: ClusterImage, delta: ImageDelta) -> None:
            told.append((image.offset, [topic.name for topic in delta.topics_created]))

    metadata.publisher.begin(Actor())
    snapshot_id = SnapshotId(5, 2)
    data = b"".join(pieces(snapshot_id))
    content = history.log.store_chunk(SnapshotChunk(snapshot_id=snapshot_id, position=0, data=data, is_last=True))
    assert content is not None
    metadata.installed(snapshot_id, content)
    assert told == [(4, ["t2", "t3", "t4"])]
    # The log goes on from there, with what the leader sends next.
    records = MemoryDisk(directories=(PATH,))
    leader = History(records)
    leader.append(6)
    batches = read_whole(records, f"{METADATA}/{0:020d}.log")
    assert not history.log.append_fetched(FetchedAppend(base_offset=5, records=batches))
    history.append(1, epoch=2)
    await metadata.committed(6)
    assert metadata.image == image_at(6)
