"""What a broker does when a disk fails, or is full: it counts, logs, and informs the controller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.observability.metrics import Metrics
from tidelog.storage.files.filesystem import DiskFull, StorageFailure

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFailures:
    """What is done to the replicas themselves is in `Replicas.directory_failed`."""

    metrics: Metrics
    report_failure: Callable[[], None]
    # Called when the replicas of the directory are offline.
    directory_failed: Callable[[], None]

    def failing(self) -> None:
        """A directory, or a log that is being deleted, has failed; its replicas go offline next."""
        self.metrics.storage_failed()
        self.report_failure()
        asyncio.get_running_loop().call_soon(self.directory_failed)

    def shortage(self, failure: StorageFailure) -> None:
        """Readers are not affected. Writers get a retriable error. Repeated lines are counted."""
        if isinstance(failure, DiskFull):
            self.metrics.disk_full()
            logger.error("%s; nothing can be written there until there is free space again", failure)
        else:
            logger.warning("%s", failure)
