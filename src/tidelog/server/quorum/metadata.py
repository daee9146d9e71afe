"""What this node knows of the cluster: the image, built from the committed part of the metadata log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.server.quorum.quorum_log import QuorumLog

Publish = Callable[[ClusterImage, ImageDelta], None]

# After so many batches a long replay gives way to other work.
BATCHES_PER_STEP = 100


class MetadataFollower:
    """Every node has one, whether it votes, leads or only watches."""

    def __init__(self, log: QuorumLog, cluster_id: str) -> None:
        self._log = log
        self._next_offset = log.start_offset
        self._waits: list[tuple[int, asyncio.Future[None]]] = []
        self.image = ClusterImage(cluster_id=cluster_id)
        # Told of every change, in order; set once there is somebody who acts on it.
        self.publish: Publish | None = None

    async def committed(self, high_watermark: int) -> None:
        """Apply what has been committed. Raises BrokenMetadata, after which the node must stop."""
        for number, (last_offset, records) in enumerate(self._log.read_records(self._next_offset, high_watermark)):
            self.image, delta = apply(self.image, records, offset=last_offset)
            self._next_offset = last_offset + 1
            if self.publish is not None and records:
                self.publish(self.image, delta)
            if number % BATCHES_PER_STEP == BATCHES_PER_STEP - 1:
                await asyncio.sleep(0)
        self._wake()

    async def reached(self, offset: int) -> None:
        """Until the record at `offset` is part of the image."""
        if self._next_offset > offset:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.append((offset, waiting))
        await waiting

    def _wake(self) -> None:
        for offset, waiting in self._waits:
            if offset < self._next_offset and not waiting.done():
                waiting.set_result(None)
        self._waits = [each for each in self._waits if not each[1].done()]
