"""Loads the logs of a starting broker in a thread, and reports which of them cannot be used."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import field

from tidelog.metadata.image import ClusterImage
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.replicas.registry import Replicas
from tidelog.storage.directories.log_directory import LoadReport, LogDirectory
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.config import LogConfig
from tidelog.storage.recovery.load_request import RecoveryProgress

logger = logging.getLogger(__name__)

# What was being moved where when the last run ended.
InterruptedMoves = list[tuple[TopicPartition, LogDirectory]]


class _NotWanted(Exception):
    """The start was cancelled while its logs are being loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLoading:
    replicas: Replicas
    live: LiveConfig
    image: Callable[[], ClusterImage]
    clock: Clock
    metadata_directory: LogDirectory
    _unwanted: threading.Event = field(init=False, default_factory=threading.Event)

    async def load(self) -> InterruptedMoves:
        """Raises StorageFailure if the metadata's directory cannot be read; others are left out."""
        loading = asyncio.get_running_loop().run_in_executor(None, self._load)
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            # The thread does not notice, and nobody must close the directories while it works there.
            self._unwanted.set()
            await asyncio.gather(loading, return_exceptions=True)
            raise

    def _load(self) -> InterruptedMoves:
        replicas = self.replicas
        reports: dict[LogDirectory, LoadReport] = {}
        interrupted: InterruptedMoves = []
        for directory in replicas.directories:
            if directory.failure is not None:
                continue
            try:
                report = directory.load(self._log_config, self.clock.now_ms(), self._report)
            except StorageFailure as failure:
                if directory is self.metadata_directory:
                    raise
                logger.error("continuing without the log directory %s: %s", directory.path, failure)
                continue
            replicas.removals.extend(report.removals)
            reports[directory] = report
            interrupted.extend((each, directory) for each in report.moving)
        unusable = replicas.damage.after_loading(self.image(), reports, self._log_config, self.clock.now_ms())
        replicas.unusable.update(unusable)
        return interrupted

    def _log_config(self, topic: str) -> LogConfig:
        self._check_wanted()
        return self.live.settings_of(topic).log

    def _report(self, progress: RecoveryProgress) -> None:
        self._check_wanted()
        logger.info("recovering: %s", progress)

    def _check_wanted(self) -> None:
        """Between two logs, and from time to time in a long recovery: the next start continues where this one stops."""
        if self._unwanted.is_set():
            raise _NotWanted
