"""Acts on each new image of the cluster: reconciles logs, replicas, configuration, coordinators and quotas with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage, ResourceType
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.replicas.placement import MissingLogs
from tidelog.server.replicas.reconciling import Reconciler
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replication.runtime import Replication
from tidelog.server.routing.quota_follower import QuotaFollower
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.new_logs import NewLog
from tidelog.storage.files.filesystem import StorageFailure

# The creation of logs can be stopped after so many.
LOGS_PER_JOB = 25
# Threads that create logs at the same time: the file system works on several cores, and syncs of different files reach
# the device together.
JOBS_AT_ONCE = 2
# Many topics are taken into use in steps, between which others are served.
TOPICS_PER_STEP = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFollower:
    """The `ImageActor` of a broker."""

    live: LiveConfig
    replicas: Replicas
    reconciler: Reconciler
    replication: Replication
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    quotas: QuotaFollower
    clock: Clock

    def reconfigure(self) -> None:
        """Apply the dynamic properties that the image holds."""
        self.live.reconfigure()
        self.replication.throttles.reconfigure(self.live.config)

    def follow_quotas(self) -> None:
        """Apply the quotas that the image holds."""
        self.quotas.follow(self.replicas.image().client_quotas)

    def follow_topics(self, topics: Iterable[str]) -> None:
        """Reconcile the replicas of these topics with the image, and report to the controller where they are."""
        names = list(topics)
        self.reconciler.reconcile(names)
        self.replication.directories.compare(names)

    def directory_failed(self) -> None:
        """Its replicas are offline. Those without records begin again elsewhere, and the controller learns of the rest
        what it does not know."""
        self.follow_topics(self.reconciler.beginning_again())
        self.replication.directories.compare(self.replicas.image().topics)

    def follow_postponed(self) -> None:
        """Replicas that could not be opened for lack of descriptors."""
        topics = self.reconciler.take_postponed()
        if topics:
            self.follow_topics(topics)

    def prepare(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
        """Have a thread create the logs of new partitions, before anybody learns of them."""
        topics = dict.fromkeys(topic.name for topic in delta.topics_created)
        topics.update(dict.fromkeys(change.topic for change in delta.partitions if change.after is not None))
        wanted = self.reconciler.placement.missing(image, topics)
        return Later.run(self._make_logs(wanted)) if wanted else None

    async def _make_logs(self, wanted: MissingLogs) -> None:
        waiting = [
            (directory, logs[start : start + LOGS_PER_JOB])
            for directory, logs in wanted.items()
            for start in range(0, len(logs), LOGS_PER_JOB)
        ]
        # Taken from the end.
        waiting.reverse()
        await asyncio.gather(*(self._make_next(waiting) for _ in range(min(JOBS_AT_ONCE, len(waiting)))))

    async def _make_next(self, waiting: list[tuple[LogDirectory, Sequence[NewLog]]]) -> None:
        loop = asyncio.get_running_loop()
        while waiting:
            directory, chunk = waiting.pop()
            job = loop.run_in_executor(None, directory.create_logs, chunk, self.clock.now_ms())
            try:
                # A failure shows again when the logs are to be used, and is handled there.
                with contextlib.suppress(StorageFailure, CorruptCheckpoint):
                    await asyncio.shield(job)
            except asyncio.CancelledError:
                # The thread does not notice, and nobody must close the directory while it works there.
                await asyncio.gather(job, return_exceptions=True)
                raise

    def follow(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
        """Act on a new image: at once, or, where many topics change, in steps between which others are served."""
        if len(delta.topics_created) + len(delta.topics_deleted) > TOPICS_PER_STEP:
            return Later.run(self._follow_in_steps(image, delta))
        self.follow_topics(self._begin_change(image, delta))
        self._end_change(delta)
        return None

    async def _follow_in_steps(self, image: ClusterImage, delta: ImageDelta) -> None:
        topics = list(self._begin_change(image, delta))
        for start in range(0, len(topics), TOPICS_PER_STEP):
            self.follow_topics(topics[start : start + TOPICS_PER_STEP])
            await asyncio.sleep(0)
        self._end_change(delta)

    def _begin_change(self, image: ClusterImage, delta: ImageDelta) -> Iterable[str]:
        """The topics whose replicas may have to change."""
        # In an order that does not differ from process to process, as that of a set of names would.
        topics = dict.fromkeys(topic.name for topic in (*delta.topics_created, *delta.topics_deleted))
        topics.update(dict.fromkeys(change.topic for change in delta.partitions))
        topics.update(dict.fromkeys(each.name for each in delta.configs if each.type == ResourceType.TOPIC))
        if any(resource.type == ResourceType.BROKER for resource in delta.configs):
            self.reconfigure()
            self.groups.reconfigure()
            # A broker property is the default of a topic property.
            topics.update(dict.fromkeys(image.topics))
        elif any(resource.type == ResourceType.GROUP for resource in delta.configs):
            self.groups.reconfigure()
        return topics

    def _end_change(self, delta: ImageDelta) -> None:
        if delta.client_quotas:
            self.follow_quotas()
        if delta.brokers:
            self.replication.in_sync.reconsider(self.replicas)
        if delta.features:
            self.transactions.reconfigure()
        if delta.topics_created or delta.topics_deleted or any(change.before is None for change in delta.partitions):
            self.groups.topics_changed()
        deleted = [TopicPartition(topic.name, number) for topic in delta.topics_deleted for number in topic.partitions]
        if deleted:
            self.groups.partitions_deleted(deleted)
