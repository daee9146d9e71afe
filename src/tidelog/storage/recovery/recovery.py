"""Loading a log: quickly if it was closed cleanly, else after checking what was written since the recovery point.

What is below the recovery point is on the device and is trusted. From the segment that holds it on, every batch is
read and its checksum verified; at the first bad one the log is truncated, after later segments have been removed, so
that a crash during recovery leaves a log that recovery handles just as well. Indexes, leader epochs and producer
states follow from the batches.

Only what a crash can have torn is cut. Nothing is cut below what is known to be committed, after a clean shutdown, or
where a good batch after a bad one shows that the bad one was whole before (unless the machine has been restarted: a
power failure leaves holes). Then the log is damaged, and stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.producers import ProducerStates
from tidelog.records.batch import BatchHeader, CorruptBatch
from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.directories.checkpoints import CorruptCheckpoint, read_leader_epoch_checkpoint
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.directories.partition_metadata import read_partition_metadata
from tidelog.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    METADATA_SNAPSHOT_SUFFIX,
    REQUIRED_INDEX_SUFFIXES,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    offset_of_name,
    partition_directory,
    segment_prefix,
)
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.log.config import MAX_LONG, LogConfig
from tidelog.storage.log.environment import LogEnvironment
from tidelog.storage.log.log import Log
from tidelog.storage.log.producer_snapshot import ProducerSnapshotFiles
from tidelog.storage.recovery.damage import DamagedLog
from tidelog.storage.recovery.leftovers import settle_leftovers
from tidelog.storage.recovery.load_request import LoadRequest
from tidelog.storage.recovery.segment_recovery import recover_segment, rewind_producers
from tidelog.storage.segments.batch_scan import valid_batch_behind
from tidelog.storage.segments.segment import Segment
from tidelog.storage.segments.segments import Segments

logger = logging.getLogger(__name__)


def load_log(
    environment: LogEnvironment,
    topic_partition: TopicPartition,
    config: LogConfig,
    request: LoadRequest,
    now_ms: int,
    *,
    directory: str | None = None,
) -> Log:
    """Open the log in its directory, which must exist; `directory` if that has another name than the partition.

    Raises StorageFailure, CorruptCheckpoint (the topic id cannot be read), DamagedLog and UnsupportedFormat (messages
    of a version before Kafka 0.11).
    """
    directory = directory or f"{environment.path}/{partition_directory(topic_partition)}"
    with DiskGuard(environment.health, f"loading {topic_partition} in {environment.path}", growing=True):
        topic_id = read_partition_metadata(environment.filesystem, directory)
        return _Loader(environment, directory, topic_partition, config, request, now_ms).load(topic_id)


class _Loader:
    """The steps of one load, and what they share."""

    def __init__(
        self,
        environment: LogEnvironment,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        request: LoadRequest,
        now_ms: int,
    ) -> None:
        self._environment = environment
        self._filesystem = filesystem = environment.filesystem
        self._directory = directory
        self._topic_partition = topic_partition
        self._config = config
        self._request = request
        self._gaps = KnownGaps(filesystem, directory)
        # Only the cleaner leaves gaps, so where it never ran, a gap is damage.
        self._gapless = not config.compact and request.cleaned_up_to is None and not self._gaps.end_offset
        self._now_ms = now_ms
        self._segments = Segments()
        self._snapshots = ProducerSnapshotFiles(filesystem, directory)
        self._epochs = LeaderEpochs()
        self._producers = ProducerStates(expiration_ms=config.producer_id_expiration_ms)
        self._recovery_point = 0
        # Whether the producers are already those of the log end.
        self._recovered = False
        # Damage that does not keep the log from being used: readers get an error there.
        self._damage: list[str] = []

    def load(self, topic_id: Uuid | None) -> Log:
        self._require_segments()
        names = settle_leftovers(self._filesystem, self._directory)
        snapshots = [offset_of_name(name) for name in names if name.endswith(SNAPSHOT_SUFFIX)]
        offsets = [offset for offset in snapshots if offset is not None]
        self._snapshots = ProducerSnapshotFiles(self._filesystem, self._directory, offsets)
        problems = self._open_segments(names)
        self._load_epochs()
        end_offset = self._find_end(problems) if len(self._segments) else None
        log_start_offset = self._request.log_start_offset
        if end_offset is not None and end_offset < log_start_offset:
            if self._request.clean or self._request.same_boot:
                raise DamagedLog(
                    self._directory, f"it ends at offset {end_offset}, below its start offset {log_start_offset}"
                )
            logger.warning(
                "%s ends at %d, below its start offset %d: files were removed; it continues from there, empty",
                self._directory,
                end_offset,
                log_start_offset,
            )
            self._remove_after(-1)
            self._snapshots.remove_all()
            end_offset = None
        if end_offset is None:
            end_offset = log_start_offset
            self._create_segment(end_offset)
        log_start_offset = max(log_start_offset, self._segments.first.base_offset)
        self._epochs.truncate_from_end(end_offset)
        self._epochs.truncate_from_start(log_start_offset)
        self._load_producers(log_start_offset, end_offset=end_offset)
        # What is written from here on has no gaps.
        self._gaps.limit_to(end_offset)
        return Log(
            environment=self._environment,
            topic_partition=self._topic_partition,
            topic_id=topic_id,
            config=self._config,
            directory=self._directory,
            segments=self._segments,
            snapshots=self._snapshots,
            leader_epochs=self._epochs,
            producer_states=self._producers,
            log_start_offset=log_start_offset,
            log_end_offset=end_offset,
            cleaned_up_to=self._request.cleaned_up_to,
            damage=self._damage,
            differences=self._request.differences,
            synced_up_to=max(min(self._recovery_point, end_offset), log_start_offset),
            gaps=self._gaps,
            now_ms=self._now_ms,
        )

    def _find_end(self, problems: Mapping[int, str]) -> int:
        """The end of the log; what lies before it is repaired or recovered when this returns."""
        active = self._segments.active
        if self._request.clean:
            # Nothing was lost, so only an active segment that was damaged since then is searched.
            self._recovery_point = active.base_offset if active.base_offset in problems else MAX_LONG
        else:
            self._recovery_point = self._request.recovery_point
        unchecked = self._segments.containing(self._recovery_point, MAX_LONG)
        if self._recovery_point == MAX_LONG:
            unchecked = []
        if self._request.thorough:
            unchecked = list(self._segments)
        for segment in self._segments:
            if segment.base_offset in problems and segment not in unchecked:
                self._repair(segment, problems[segment.base_offset])
        if not unchecked:
            try:
                end_offset = active.next_offset()
                self._question_end(active, end_offset)
            except (CorruptBatch, CorruptIndex):
                # Perhaps it is only the index, or bytes that somebody has appended to the last batch.
                self._recovery_point = active.base_offset
                end_offset = self._recover([active])
        else:
            end_offset = self._recover(unchecked)
        if end_offset < self._request.committed < MAX_LONG:
            raise DamagedLog(
                active.log_path,
                f"the log ends at offset {end_offset}, but everything below {self._request.committed} was stored",
            )
        if self._request.closed_end is not None and end_offset > self._request.closed_end:
            raise DamagedLog(
                active.log_path,
                f"the log ends at offset {end_offset}, but ended at {self._request.closed_end} when it was closed",
            )
        return end_offset

    def _question_end(self, active: Segment, end_offset: int) -> None:
        """Offsets lie outside of a batch's checksum, so the last batch may lie about the end. Raises CorruptBatch."""
        closed_end = self._request.closed_end
        if closed_end is None and self._gapless and active.size:
            active.boundary_before(end_offset - 1)
        elif closed_end is not None and end_offset > closed_end:
            raise CorruptBatch(active.size, f"the end was at offset {closed_end}")

    # Segments

    def _require_segments(self) -> None:
        """A log without one of its segments has a hole, or seems to begin later than it does. Raises DamagedLog."""
        for name, problem in self._request.differences.items():
            is_missing = not self._filesystem.exists(f"{self._directory}/{name}")
            if (name.endswith(LOG_SUFFIX) and is_missing) or name.endswith(METADATA_SNAPSHOT_SUFFIX):
                raise DamagedLog(f"{self._directory}/{name}", problem)

    def _open_segments(self, names: Sequence[str]) -> dict[int, str]:
        """Returns what is wrong with the indexes, by the first offset of the segment."""
        present = set(names)
        problems = {}
        for name in names:
            base_offset = offset_of_name(name)
            if base_offset is None or not name.endswith(LOG_SUFFIX):
                continue
            prefix = segment_prefix(base_offset)
            sizes = [
                self._filesystem.size(f"{self._directory}/{prefix}{suffix}") if prefix + suffix in present else 0
                for suffix in SEGMENT_SUFFIXES
            ]
            segment = self._segment(base_offset, sizes)
            self._segments.add(segment)
            missing = {prefix + suffix for suffix in REQUIRED_INDEX_SUFFIXES} - present
            problem = self._index_problem(segment, sizes, missing)
            if problem is not None:
                problems[base_offset] = problem
        return problems

    def _segment(self, base_offset: int, sizes: Sequence[int] = (0, 0, 0, 0)) -> Segment:
        jitter_ms = self._environment.draw_jitter_ms(self._config)
        return Segment(
            self._filesystem, self._directory, base_offset, sizes, created_ms=self._now_ms, jitter_ms=jitter_ms
        )

    def _create_segment(self, base_offset: int) -> None:
        self._segments.add(self._segment(base_offset).create())
        # If this name were lost while that of a later segment is kept, the log would seem to begin there.
        self._filesystem.sync_directory(self._directory)

    def _index_problem(self, segment: Segment, sizes: Sequence[int], missing: set[str]) -> str | None:
        if missing:
            return f"{', '.join(sorted(missing))} is missing"
        for suffix in SEGMENT_SUFFIXES:
            name = segment_prefix(segment.base_offset) + suffix
            if name in self._request.differences:
                return f"{name}: {self._request.differences[name]}"
        try:
            segment.offset_index.check(sizes[1], log_size=sizes[0])
            segment.time_index.check(sizes[2])
            segment.transaction_index.check(sizes[3])
        except CorruptIndex as problem:
            return str(problem)
        return None

    def _repair(self, segment: Segment, problem: str) -> None:
        """Rebuild the indexes of a segment that is below the recovery point.

        It is not cut even if it turns out to be damaged: what can be read of it is better than a hole.
        """
        logger.warning("rebuilding the indexes of %s in %s: %s", segment, self._directory, problem)
        producers = ProducerStates(expiration_ms=self._config.producer_id_expiration_ms)
        self._rewind_producers(producers, self._request.log_start_offset, end_offset=segment.base_offset)
        recovered = recover_segment(
            segment, self._config, epochs=LeaderEpochs(), producers=producers, progress=lambda _: None
        )
        segment.release()
        shrunk = self._request.differences.get(segment_prefix(segment.base_offset) + LOG_SUFFIX)
        if recovered.problem is None and shrunk is not None:
            if not self._gapless:
                # Where offsets may be missing, readers would not notice that records are.
                raise DamagedLog(segment.log_path, shrunk)
            self._damage.append(f"{segment.log_path} is damaged: {shrunk}")
            logger.error("%s; readers get an error there", self._damage[-1])
        if recovered.problem is not None:
            logger.error("%s is damaged %s; readers get an error there", segment.log_path, recovered.problem)
            self._damage.append(f"{segment.log_path} is damaged {recovered.problem}")

    def _remove_after(self, offset: int) -> None:
        """Remove the segments that begin above `offset`, the last one first: a crash must not leave a gap."""
        for segment in reversed(self._segments.above(offset)):
            segment.release()
            self._segments.remove(segment)
            for path in segment.paths:
                self._filesystem.remove(path)
        self._filesystem.sync_directory(self._directory)

    # Recovery

    def _recover(self, unchecked: Sequence[Segment]) -> int:
        """Check the last segments of the log and cut it at the first bad batch. Returns the end of the log."""
        first = unchecked[0]
        total_bytes = sum(segment.size for segment in unchecked)
        logger.info("checking %d bytes of %s from offset %d on", total_bytes, self._directory, first.base_offset)
        # For these offsets the batches are the truth: stale entries must not contradict them.
        self._epochs.truncate_from_end(first.base_offset)
        self._rewind_producers(self._producers, self._request.log_start_offset, end_offset=first.base_offset)
        # The checkpoint is that of the whole round, and all there is if Apache Kafka has compacted the log.
        gaps_end_offset = max(self._request.cleaned_up_to or 0, self._gaps.end_offset)
        checked_bytes = 0
        end_offset = first.base_offset
        for segment in unchecked:
            if segment.base_offset > end_offset and segment.base_offset > gaps_end_offset:
                # The end of the previous segment was lost, just at the end of a batch: what follows cannot be kept.
                self._refuse_to_cut(
                    segment, 0, end_offset=end_offset, reason=f"offsets from {end_offset} on are missing before it"
                )
                logger.warning("%s ends at %d: dropping %s, which begins later", self._directory, end_offset, segment)
                self._remove_after(segment.base_offset - 1)
                self._snapshots.remove_above(end_offset)
                break
            if segment is not first:
                self._snapshots.write(segment.base_offset, self._producers.snapshot(), sync=False)
            recovered = recover_segment(
                segment,
                self._config,
                epochs=self._epochs,
                producers=self._producers,
                progress=self._request.reporter(
                    self._topic_partition, checked_bytes=checked_bytes, total_bytes=total_bytes
                ),
                gapless=self._gapless,
                following=self._first_batch(self._segments.after(segment)),
                before_cut=self._refuse_to_cut,
            )
            checked_bytes += segment.size
            end_offset = recovered.next_offset
            damaged = recovered.valid_bytes < segment.size
            if damaged:
                self._cut(segment, recovered.valid_bytes, end_offset=end_offset, problem=recovered.problem)
            self._write_again(segment)
            if damaged:
                break
            segment.release()
        self._epochs.mark_changed()
        self._recovered = True
        return end_offset

    def _write_again(self, segment: Segment) -> None:
        """What was read may be in memory only: after a failed sync the kernel takes pages for written that are not.

        Records that are synced later would lie behind a hole, and be lost with it in a power failure.
        """
        position = 0
        if self._recovery_point > segment.base_offset:
            found = segment.locate(self._recovery_point)
            position = segment.size if found is None else found.position
        segment.write_again_from(position)

    def _first_batch(self, segment: Segment | None) -> BatchHeader | None:
        """None if there is none that can be read."""
        if segment is None:
            return None
        try:
            return next((header for _, header in segment.headers()), None)
        except CorruptBatch:
            return None

    def _refuse_to_cut(self, segment: Segment, position: int, *, end_offset: int, reason: str) -> None:
        """Raises DamagedLog unless what lies after `end_offset` may have been torn by the crash."""
        request = self._request
        where = f"at byte {position} (offset {end_offset}): {reason}"
        if end_offset < request.committed:
            known = "it was closed cleanly" if request.clean else f"everything below {request.committed} was stored"
            raise DamagedLog(segment.log_path, f"{where}; {known}, so nothing is cut off")
        if not request.same_boot:
            return
        behind = valid_batch_behind(segment.open_log(), position, end=segment.size, least_offset=end_offset)
        following = self._segments.after(segment)
        if behind is not None or (following is not None and following.size):
            place = f"at byte {behind}" if behind is not None else "in the next segment"
            raise DamagedLog(segment.log_path, f"{where}; good records follow {place}, so nothing is cut off")

    def _cut(self, segment: Segment, size: int, *, end_offset: int, problem: CorruptBatch | None) -> None:
        dropped = self._segments.above(segment.base_offset)
        logger.warning(
            "%s: cutting off %d bytes after byte %d%s, which were not complete when the broker crashed; the log ends "
            "at offset %d: %s",
            segment.log_path,
            segment.size - size,
            size,
            f" and {len(dropped)} segments of {sum(each.size for each in dropped)} bytes" if dropped else "",
            end_offset,
            problem,
        )
        self._remove_after(segment.base_offset)
        self._snapshots.remove_above(end_offset)
        segment.cut(size)

    # Epochs and producers

    def _load_epochs(self) -> None:
        path = f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"
        try:
            if LEADER_EPOCH_CHECKPOINT in self._request.differences:
                raise CorruptCheckpoint(path, self._request.differences[LEADER_EPOCH_CHECKPOINT])
            self._epochs = LeaderEpochs(read_leader_epoch_checkpoint(self._filesystem, path))
            known = self._filesystem.exists(path)
        except (CorruptCheckpoint, ValueError) as problem:
            logger.warning("reading the leader epochs of %s from its batches: %s", self._directory, problem)
            known = False
        if known:
            return
        for segment in self._segments:
            try:
                for _, header in segment.headers():
                    if header.partition_leader_epoch >= 0:
                        self._epochs.assign(header.partition_leader_epoch, start_offset=header.base_offset)
            except CorruptBatch as problem:
                logger.warning("%s in %s: %s", segment, self._directory, problem)
        self._epochs.mark_changed()

    def _rewind_producers(self, producers: ProducerStates, log_start_offset: int, *, end_offset: int) -> None:
        rewind_producers(
            producers,
            self._snapshots,
            self._segments,
            log_start_offset=log_start_offset,
            end_offset=end_offset,
            now_ms=self._now_ms,
        )

    def _load_producers(self, log_start_offset: int, *, end_offset: int) -> None:
        self._snapshots.remove_above(end_offset)
        self._snapshots.remove_strays(self._segments.base_offsets)
        if not self._recovered or self._producers.end_offset != end_offset:
            self._rewind_producers(self._producers, log_start_offset, end_offset=end_offset)
        if end_offset > log_start_offset and end_offset not in self._snapshots.offsets:
            self._snapshots.write(end_offset, self._producers.snapshot(), sync=False)
