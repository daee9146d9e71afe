"""Takes snapshots of the metadata log when they are due, and has old ones and the beginning of the log dropped.

Every node does so for itself, since all have the same log. What is due is decided in `tidelog.consensus.snapshots`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import field

from tidelog.consensus.messages import SnapshotId
from tidelog.consensus.snapshots import SnapshotRules
from tidelog.metadata.records import metadata_version
from tidelog.metadata.snapshot import image_records
from tidelog.metadata.snapshot_file import encode_snapshot
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.storage.files.filesystem import StorageFailure

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class SnapshotTaker:
    """`start` it once the quorum runs."""

    log: QuorumLog
    metadata: MetadataFollower
    quorum: QuorumRuntime
    rules: SnapshotRules
    clock: Clock
    _taken_ms: float = field(init=False)
    _applied: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _writing: asyncio.Future[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._taken_ms = self.clock.monotonic_ms()
        self.metadata.applied.listen(self._applied.set)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """A file that is being written is finished first: its thread would not notice that nobody waits for it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)

    async def take(self) -> SnapshotId | None:
        """Write a snapshot of what is committed now; None if there already is one. Raises StorageFailure."""
        metadata = self.metadata
        image = metadata.latest
        snapshot_id = SnapshotId(image.offset + 1, metadata.epoch)
        metadata.begin_snapshot()
        self._taken_ms = self.clock.monotonic_ms()
        latest = self.log.latest_snapshot
        if latest is not None and latest.end_offset >= snapshot_id.end_offset:
            return None
        pieces = encode_snapshot(
            image_records(image),
            epoch=metadata.epoch,
            timestamp_ms=metadata.timestamp_ms,
            now_ms=self.clock.now_ms(),
            metadata_version=metadata_version(image.features),
        )
        loop = asyncio.get_running_loop()
        self._writing = loop.run_in_executor(None, self.log.snapshots.write, snapshot_id, pieces)
        await asyncio.shield(self._writing)
        await self.quorum.between_steps(lambda: self.log.snapshot_written(snapshot_id, self.rules))
        logger.info("took a snapshot of the metadata up to offset %d", snapshot_id.end_offset)
        return snapshot_id

    async def _run(self) -> None:
        while True:
            await self._wait_until_due()
            try:
                await self.take()
            except StorageFailure as failure:
                # The log is still complete. The next one will be attempted when it is due.
                logger.error("cannot write a snapshot of the metadata: %s", failure)

    async def _wait_until_due(self) -> None:
        while True:
            new_bytes = self.metadata.bytes_since_snapshot
            elapsed_ms = self.clock.monotonic_ms() - self._taken_ms
            if self.rules.is_due(new_bytes=new_bytes, elapsed_ms=elapsed_ms):
                return
            remaining_ms = self.rules.until_due_ms(elapsed_ms) if new_bytes else float("inf")
            self._applied.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if remaining_ms == float("inf") else max(0.0, remaining_ms) / 1000):
                    await self._applied.wait()
