"""Reconciles the replicas of this broker with the cluster image.

The image says which partitions there are and who leads them; here that becomes directories, open logs and `Replica`
objects. Reconciling compares the image with what exists instead of following single changes, so that it also repairs
what a crash between two steps left behind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import field
from functools import partial

from tidelog.metadata.image import UNASSIGNED_DIRECTORY, ClusterImage, LeaderRecovery, PartitionImage, TopicImage
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.configuration.topic_settings import TopicSettings
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.placement import ReplicaPlacement
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.recovery.damage import DamagedLog

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Reconciler:
    """Keeps all replicas of this broker equal to the image that clients see."""

    live: LiveConfig
    replicas: Replicas
    placement: ReplicaPlacement
    flusher: ReplicaFlusher
    # Topics of which a replica could not be opened for lack of descriptors or disk space.
    _postponed: dict[str, None] = field(default_factory=dict, init=False)

    def reconcile(self, topics: Iterable[str]) -> None:
        """Reconcile the replicas of these topics with the image: create, lead, reconfigure or delete them."""
        image = self.replicas.image()
        names = list(topics)
        self.replicas.delete([each for name in names for each in self._foreign(name, image.topics.get(name))])
        for name in names:
            topic = image.topics.get(name)
            if topic is not None:
                self._follow(topic, self.live.settings_of(name))

    def take_postponed(self) -> dict[str, None]:
        """The topics of replicas that could not be opened; the caller retries them."""
        topics, self._postponed = self._postponed, {}
        return topics

    def _foreign(self, name: str, topic: TopicImage | None) -> list[Replica]:
        """Replicas that do not belong to the topic of this name, or no longer to this broker."""
        replicas = self.replicas.of_topic(name)
        if topic is None:
            return replicas
        ours = {number for number, each in topic.partitions.items() if self.replicas.broker_id in each.replicas}
        return [each for each in replicas if each.topic_id != topic.id or each.topic_partition.partition not in ours]

    def _follow(self, topic: TopicImage, settings: TopicSettings) -> None:
        broker_id = self.replicas.broker_id
        for number, partition in topic.partitions.items():
            if broker_id not in partition.replicas:
                continue
            at = TopicPartition(topic.name, number)
            if self._begins_again(partition, at):
                self.replicas.forget(at)
            replica = self.replicas.get(*at) or self._create(at, topic.id, settings, partition.directory_of(broker_id))
            if replica is None:
                continue
            replica.reconfigure(settings)
            if not replica.offline:
                self._lead_or_follow(replica, partition)

    def beginning_again(self) -> list[str]:
        """The topics of replicas that are offline with their directory and are to be recreated in another one."""
        image = self.replicas.image()
        return [
            replica.topic_partition.topic
            for replica in self.replicas
            if (partition := image.partition(*replica.topic_partition)) is not None
            and self._begins_again(partition, replica.topic_partition)
        ]

    def _begins_again(self, partition: PartitionImage, at: TopicPartition) -> bool:
        """Whether a replica whose directory is offline is recreated, empty, in another one. The metadata names no
        directory for it then, for one of two reasons.

        Either the controller has not recorded its directory yet. No record may be lost then: only a replica that
        nothing was ever written to is recreated. Or this broker was elected uncleanly although the directory is
        offline, which starts a recovery, in a later epoch than the last one in which the replica was used.
        """
        broker_id = self.replicas.broker_id
        if partition.directory_of(broker_id) != UNASSIGNED_DIRECTORY:
            return False
        elected = partition.leader == broker_id and partition.leader_recovery is LeaderRecovery.RECOVERING
        replica = self.replicas.get(*at)
        if replica is None:
            return at in self.replicas.unusable and elected
        if not replica.offline:
            return False
        return replica.log.is_untouched or (elected and partition.leader_epoch > replica.leader_epoch)

    def _create(self, at: TopicPartition, topic_id: Uuid, settings: TopicSettings, recorded: Uuid) -> Replica | None:
        if self.replicas.unusable.get(at) == topic_id:
            return None
        directory = self.placement.place(at, recorded)
        if directory is None or directory.failure is not None:
            self.replicas.unusable[at] = topic_id
            logger.error("%s cannot be used: its log directory is offline", at)
            return None
        is_new = at not in directory.logs
        try:
            log = directory.open_log(at, topic_id, settings.log, self.replicas.clock.now_ms())
        except (StorageFailure, CorruptCheckpoint, DamagedLog) as problem:
            if isinstance(problem, StorageFailure) and problem.is_shortage:
                # Created when there is enough again.
                self._postponed[at.topic] = None
                logger.warning("%s is not opened yet: %s", at, problem)
                return None
            if is_new and recorded == UNASSIGNED_DIRECTORY and directory.failure is not None:
                # Nothing is in it yet, and the metadata names no directory: the next one is tried, as in Apache Kafka.
                logger.warning("%s is created in another log directory: %s", at, problem)
                return self._create(at, topic_id, settings, recorded)
            self.replicas.unusable[at] = topic_id
            logger.error("%s cannot be used: %s", at, problem)
            return None
        replica = Replica(
            topic_partition=at,
            topic_id=topic_id,
            broker_id=self.replicas.broker_id,
            log=log,
            settings=settings,
            clock=self.replicas.clock,
            flush_wanted=self.flusher.begin,
            eligible=partial(self._eligible, at),
        )
        self.replicas.add(replica, directory)
        self.placement.preferred.pop(at, None)
        return replica

    def _lead_or_follow(self, replica: Replica, partition: PartitionImage) -> None:
        before = (replica.leader_id, replica.leader_epoch)
        led = replica.is_leader
        if partition.leader == self.replicas.broker_id:
            replica.become_leader(partition, self.live.config.replica_lag_time_max_ms)
        else:
            replica.become_follower(partition)
        if before != (replica.leader_id, replica.leader_epoch):
            self.replicas.tell_role(replica, stopped_leading=led and not replica.is_leader)
            if replica.is_leader:
                self.replicas.became_leader(replica)

    def _eligible(self, topic_partition: TopicPartition, broker_id: int, broker_epoch: int) -> bool:
        """Whether the controller would let the broker's replica into the in-sync set, according to the image."""
        image = self.replicas.image()
        partition = image.partition(*topic_partition)
        if partition is None or not is_current(image, broker_id, broker_epoch):
            return False
        return image.has_online_directory(partition, broker_id)


def is_current(image: ClusterImage, broker_id: int, broker_epoch: int) -> bool:
    """Whether this incarnation of the broker is the registered one, and not fenced."""
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active and broker.epoch == broker_epoch
