"""What this node knows of the cluster: the image, built from the latest snapshot and the committed log after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.consensus.messages import SnapshotId
from tidelog.metadata.difference import difference
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.metadata.snapshot_file import SnapshotContent
from tidelog.server.notice import Notice
from tidelog.server.quorum.publishing import ImagePublisher
from tidelog.server.quorum.quorum_log import QuorumLog

# After so many batches a long replay yields to other work.
BATCHES_PER_STEP = 100


class MetadataFollower:
    """Every node has one, whether it votes, leads or only observes.

    `latest` holds everything that is committed; `image` is what this node has acted on so far. `failed` is called when
    it cannot act on an image.
    """

    def __init__(self, log: QuorumLog, cluster_id: str, failed: Callable[[BaseException], None]) -> None:
        """Raises CorruptSnapshot, BrokenMetadata, StorageFailure."""
        self._log = log
        self._cluster_id = cluster_id
        self._next_offset = log.start_offset
        self._waits: list[tuple[int, asyncio.Future[None]]] = []
        self.latest = ClusterImage(cluster_id=cluster_id)
        # Whether `latest` has been everything that was committed, as far as this node knew, since it started.
        self.is_loaded = False
        # Of the last batch in the image: what a snapshot of it is named after, and how old it is.
        self.epoch = 0
        self.timestamp_ms = 0
        self.bytes_since_snapshot = 0
        self.applied: Notice[[]] = Notice()
        latest = log.latest_snapshot
        if latest is not None:
            self._restore(latest, log.snapshots.load(latest))
        self.publisher = ImagePublisher(self.latest, finished=self._wake, failed=failed)

    @property
    def image(self) -> ClusterImage:
        return self.publisher.image

    async def committed(self, high_watermark: int) -> None:
        """Apply what has been committed. Raises BrokenMetadata, after which the node must stop."""
        for number, batch in enumerate(self._log.read_records(self._next_offset, high_watermark)):
            self.latest, delta = apply(self.latest, batch.records, offset=batch.last_offset)
            self._next_offset = batch.last_offset + 1
            self.epoch = batch.epoch
            self.timestamp_ms = batch.timestamp_ms
            self.bytes_since_snapshot += batch.size
            self.publisher.offer(self.latest, delta)
            if number % BATCHES_PER_STEP == BATCHES_PER_STEP - 1:
                await asyncio.sleep(0)
        self.is_loaded = True
        self.applied()

    def installed(self, snapshot_id: SnapshotId, content: SnapshotContent) -> None:
        """The log now begins with a snapshot that was fetched. Raises BrokenMetadata."""
        before = self.latest
        self._restore(snapshot_id, content)
        self.publisher.offer(self.latest, difference(before, self.latest))
        self.applied()

    def begin_snapshot(self) -> None:
        """A snapshot of what is committed now is being written."""
        self.bytes_since_snapshot = 0

    async def reached(self, offset: int) -> None:
        """Until the record at `offset` is part of `image`, and this node has acted on it."""
        if self.publisher.finished_offset >= offset:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.append((offset, waiting))
        await waiting

    def _restore(self, snapshot_id: SnapshotId, content: SnapshotContent) -> None:
        empty = ClusterImage(cluster_id=self._cluster_id)
        self.latest, _ = apply(empty, content.records, offset=snapshot_id.end_offset - 1)
        self._next_offset = snapshot_id.end_offset
        self.epoch = snapshot_id.epoch
        self.timestamp_ms = content.timestamp_ms
        self.bytes_since_snapshot = 0

    def _wake(self) -> None:
        finished_offset = self.publisher.finished_offset
        for offset, waiting in self._waits:
            if offset <= finished_offset and not waiting.done():
                waiting.set_result(None)
        self._waits = [each for each in self._waits if not each[1].done()]
