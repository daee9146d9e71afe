"""What a broker does when a disk fails, or lacks room: it counts, logs, and tells the controller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tidelog.metadata.image import ClusterImage
from tidelog.server.observability.metrics import Metrics
from tidelog.server.replicas.moves import DirectoryComparison
from tidelog.storage.files.filesystem import DiskFull, StorageFailure

logger = logging.getLogger(__name__)


class StorageFailures:
    """What is done to the replicas themselves is in `Replicas.directory_failed`."""

    def __init__(
        self,
        *,
        image: Callable[[], ClusterImage],
        metrics: Metrics,
        directories: DirectoryComparison,
        directory_failed: Callable[[], None],
    ) -> None:
        self._image = image
        self._metrics = metrics
        self._directories = directories
        self._directory_failed = directory_failed

    def failing(self) -> None:
        """A directory, or a log that is being deleted, has failed; its replicas go offline next."""
        self._metrics.storage_failed()
        self._directory_failed()
        asyncio.get_running_loop().call_soon(self._compare)

    def _compare(self) -> None:
        image = self._image()
        self._directories.compare(image, image.topics)

    def shortage(self, failure: StorageFailure) -> None:
        """Readers do not notice. Who writes gets an error that lets clients try again. Repeated lines are counted."""
        if isinstance(failure, DiskFull):
            self._metrics.disk_full()
            logger.error("%s; nothing can be written there until there is room again", failure)
        else:
            logger.warning("%s", failure)
