"""All replicas of this broker, kept in step with the cluster image.

The image says which partitions there are and who leads them; here that becomes directories, open logs and `Replica`
objects. Reconciling compares the image with what exists instead of following single changes, so that it also repairs
what a crash between two steps left behind. Who has to act on a change of roles is notified: coordinators when a replica
begins or ceases to lead, fetchers (`tidelog.server.replication`) when it may have another leader to follow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tidelog.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.ports import Clock
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.server.configuration.topic_settings import TopicSettings
from tidelog.server.notice import Notice
from tidelog.server.replicas.damage import Damage
from tidelog.server.replicas.replica import LeaderRules, PartitionLeadership, Replica
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.new_logs import NewLog
from tidelog.storage.directories.removal import DirectoryRemoval, FileRemoval
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.log import Log
from tidelog.storage.recovery.damage import DamagedLog

logger = logging.getLogger(__name__)

Removal = FileRemoval | DirectoryRemoval
# What is to be made in which log directory.
MissingLogs = list[tuple[LogDirectory, list[NewLog]]]


class Replicas:
    """Looked up by (topic, partition) for every request, so that is a plain dictionary."""

    def __init__(
        self,
        *,
        broker_id: int,
        directories: list[LogDirectory],
        clock: Clock,
        storage_failing: Notice[[]],
        shortage: Notice[[StorageFailure]],
        flush_wanted: Notice[[Replica]],
    ) -> None:
        self._broker_id = broker_id
        self._directories = directories
        self._clock = clock
        self._image: ClusterImage | None = None
        self._replicas: dict[tuple[str, int], Replica] = {}
        self._partitions_of: dict[str, dict[tuple[str, int], Replica]] = {}
        self._directory_of: dict[Replica, LogDirectory] = {}
        # Partitions of ours that cannot be used until the next start, because their directory is damaged or offline,
        # and the topic's id: a topic that is recreated under the name has nothing to do with that.
        self._unusable: dict[tuple[str, int], bytes] = {}
        # Topics of which a replica could not be opened for want of descriptors or of room.
        self._postponed: dict[str, None] = {}
        # Where the directories of partitions that are about to be created have been made.
        self._placed: dict[tuple[str, int], LogDirectory] = {}
        # Where those are to be made that are not here yet, if somebody has said so.
        self.preferred_directories: dict[TopicPartition, LogDirectory] = {}
        self.damage = Damage(broker_id)
        self.removals: list[Removal] = []
        self.became_leader: Notice[[Replica]] = Notice()
        self.stopped_leading: Notice[[Replica]] = Notice()
        # A replica's leader or leader epoch is another one, or it is not to be used any more.
        self.role_changed: Notice[[Replica]] = Notice()
        # A follower's log was cut, or begins again elsewhere, or is about to be deleted.
        self.log_changed: Notice[[Replica]] = Notice()
        # Where a replica that is being moved will be, if the controller is to know.
        self.promised_directories: dict[Replica, Uuid] = {}
        self._storage_failing = storage_failing
        self._shortage = shortage
        self._flush_wanted = flush_wanted

    # -- looking up ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Replica]:
        return iter(list(self._replicas.values()))

    def __len__(self) -> int:
        return len(self._replicas)

    def leader(self, topic: str, partition: int) -> Replica | ErrorCode:
        """The replica if this broker leads the partition, else the error that a client is to be told."""
        replica = self._replicas.get((topic, partition))
        if replica is None:
            return self._absent(topic, partition)
        if replica.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if replica.progress is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return replica

    def readable(self, topic: str, partition: int) -> Replica | ErrorCode:
        """The replica, whether it leads or follows, else the error that a client is to be told."""
        replica = self._replicas.get((topic, partition))
        if replica is None:
            return self._absent(topic, partition)
        return ErrorCode.KAFKA_STORAGE_ERROR if replica.offline else replica

    def leader_in_epoch(self, topic: str, partition: int, *, current_leader_epoch: int) -> Replica | ErrorCode:
        """Like `leader`, for who says which epoch it knows. The epoch is checked first, by followers as well: who knows
        of a later leader than this broker does has nothing to learn from it, not even who leads."""
        replica = self.readable(topic, partition)
        if isinstance(replica, ErrorCode):
            return replica
        return replica.check_leader_epoch(current_leader_epoch) or self.leader(topic, partition)

    def _absent(self, topic: str, partition: int) -> ErrorCode:
        if (topic, partition) in self._unusable:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._image is not None and self._image.partition(topic, partition) is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def get(self, topic: str, partition: int) -> Replica | None:
        return self._replicas.get((topic, partition))

    @property
    def directories(self) -> list[LogDirectory]:
        return self._directories

    def directory_of(self, replica: Replica) -> LogDirectory | None:
        return self._directory_of.get(replica)

    def in_directory(self, directory: LogDirectory) -> list[Replica]:
        return [replica for replica, at in self._directory_of.items() if at is directory]

    # -- following the image -------------------------------------------------------------------------------------

    def missing(
        self, image: ClusterImage, settings_of: Callable[[str], TopicSettings], topics: Iterable[str]
    ) -> MissingLogs:
        """The logs that `reconcile` would have to make for these topics, and where it will look for them."""
        self._placed.clear()
        wanted: dict[int, list[NewLog]] = {}
        for name in topics:
            topic = image.topics.get(name)
            ours = [] if topic is None else _partitions_on(topic, self._broker_id)
            fresh = [number for number in ours if not self._exists(TopicPartition(name, number))]
            if topic is None or not fresh:
                continue
            config = settings_of(name).log
            for number in fresh:
                recorded = topic.partitions[number].directory_of(self._broker_id)
                at = self._choose(TopicPartition(name, number), recorded, lambda at: len(wanted.get(at, ())))
                if at is not None:
                    new = NewLog(topic_partition=TopicPartition(name, number), topic_id=topic.id, config=config)
                    wanted.setdefault(at, []).append(new)
                    self._placed[new.topic_partition] = self._directories[at]
        return [(self._directories[at], each) for at, each in wanted.items()]

    def _choose(
        self, topic_partition: TopicPartition, recorded: Uuid, planned: Callable[[int], int] = lambda at: 0
    ) -> int | None:
        """Where a replica is to be made: in the directory that somebody has asked for, or that the metadata names, else
        in the healthy one with the fewest partitions, counting those that are `planned` for it.

        None while a directory is offline, unless the metadata says that the replica is nowhere yet: it may be in
        there, and must not begin again, empty, elsewhere (KIP-858).
        """
        healthy = [at for at, directory in enumerate(self._directories) if directory.failure is None]
        preferred = self.preferred_directories.get(topic_partition)
        for at in healthy:
            if self._directories[at] is preferred:
                return at
        for at in healthy:
            if _id_of(self._directories[at]) == recorded:
                return at
        if len(healthy) < len(self._directories) and recorded != UNASSIGNED_DIRECTORY:
            return None
        return min(healthy, key=lambda at: (len(self._directories[at].logs) + planned(at), at), default=None)

    def _exists(self, topic_partition: TopicPartition) -> bool:
        # One that waits to be replaced, because its topic was recreated, is made again by `reconcile`.
        return (
            topic_partition in self._replicas
            or topic_partition in self._unusable
            or any(topic_partition in directory.logs for directory in self._directories)
        )

    def reconcile(
        self, image: ClusterImage, settings_of: Callable[[str], TopicSettings], max_lag_ms: int, topics: Iterable[str]
    ) -> None:
        """Make the replicas of these topics what the image says: created, led, reconfigured or deleted."""
        self._image = image
        names = list(topics)
        self._delete([each for name in names for each in self._foreign(name, image.topics.get(name))])
        for name in names:
            topic = image.topics.get(name)
            if topic is not None:
                self._follow(topic, settings_of(name), max_lag_ms)

    def set_aside_strays(self, image: ClusterImage) -> None:
        """Directories of topics that the cluster does not have: of an earlier life, or deleted while we were away."""
        for directory in self._directories:
            for topic_partition in list(directory.logs):
                if topic_partition.topic == CLUSTER_METADATA_TOPIC:
                    continue
                log = directory.logs[topic_partition]
                topic = image.topics.get(topic_partition.topic)
                ours = topic is not None and self._broker_id in _replicas_of(topic, topic_partition.partition)
                if ours and topic is not None and log.topic_id in (None, topic.id):
                    continue
                if topic is not None and not self.damage.may_be_set_aside(directory, topic, topic_partition):
                    self.set_unusable(topic_partition, topic.id)
                    continue
                reason = "belongs to no topic of this cluster" if topic is None else "belongs to an earlier topic"
                path = directory.mark_stray(topic_partition)
                logger.warning("%s %s; set aside as %s", topic_partition, reason, path)

    def set_aside_duplicates(self, image: ClusterImage) -> None:
        """A partition that is in two directories was being moved, or a disk is back that was gone. The one that is
        further counts, and of two that are equal the one that the metadata names."""
        for topic_partition in sorted({each for directory in self._directories for each in directory.logs}):
            holders = [directory for directory in self._directories if topic_partition in directory.logs]
            if len(holders) < 2 or topic_partition.topic == CLUSTER_METADATA_TOPIC:
                continue
            partition = image.partition(*topic_partition)
            recorded = MIGRATING_DIRECTORY if partition is None else partition.directory_of(self._broker_id)

            def standing(directory: LogDirectory, at: TopicPartition = topic_partition, named: Uuid = recorded) -> Any:
                log = directory.logs[at]
                return log.latest_epoch, log.log_end_offset, _id_of(directory) == named

            kept = max(holders, key=standing)
            for directory in holders:
                if directory is not kept:
                    path = directory.mark_stray(topic_partition)
                    logger.error("%s is in %s as well; set aside as %s", topic_partition, kept.path, path)

    def set_unusable(self, topic_partition: TopicPartition, topic_id: bytes) -> None:
        """It is on disk, but its log cannot be used."""
        self._unusable[topic_partition] = topic_id

    def _foreign(self, name: str, topic: TopicImage | None) -> list[Replica]:
        """Replicas that do not belong to the topic of this name, or not to this broker any more."""
        return [
            replica
            for key, replica in self._partitions_of.get(name, {}).items()
            if topic is None or replica.topic_id != topic.id or self._broker_id not in _replicas_of(topic, key[1])
        ]

    def _delete(self, replicas: list[Replica]) -> None:
        """All in one go: each change of a directory has to reach the device."""
        for replica in replicas:
            was_leader = replica.is_leader
            replica.stop(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            self._tell(replica, stopped_leading=was_leader)
            key = replica.topic_partition
            topic = key.topic
            del self._replicas[key]
            del self._partitions_of[topic][key]
            if not self._partitions_of[topic]:
                del self._partitions_of[topic]
        gone: dict[LogDirectory, list[TopicPartition]] = {}
        for replica in replicas:
            self.log_changed(replica)
            gone.setdefault(self._directory_of.pop(replica), []).append(replica.topic_partition)
        for directory, partitions in gone.items():
            try:
                self.removals.extend(directory.delete_logs(partitions, self._clock.now_ms()))
            except StorageFailure as failure:
                self.directory_failed(directory, failure)

    def _follow(self, topic: TopicImage, settings: TopicSettings, max_lag_ms: int) -> None:
        for number, partition in topic.partitions.items():
            if self._broker_id not in partition.replicas:
                continue
            replica = self._replicas.get((topic.name, number))
            if self._begins_again(partition, (topic.name, number)):
                self._forget(TopicPartition(topic.name, number))
                replica = None
            if replica is None:
                replica = self._create(topic, number, settings, partition.directory_of(self._broker_id))
                if replica is None:
                    continue
            replica.reconfigure(settings)
            if not replica.offline:
                self._lead_or_follow(replica, partition, settings, max_lag_ms)

    def _begins_again(self, partition: PartitionImage, key: tuple[str, int]) -> bool:
        """Whether this broker has been elected uncleanly although the directory of its replica is offline: then the
        controller no longer names that directory, and the partition begins again in another one."""
        replica = self._replicas.get(key)
        gone = key in self._unusable if replica is None else replica.offline
        elected = partition.leader == self._broker_id
        return gone and elected and partition.directory_of(self._broker_id) == UNASSIGNED_DIRECTORY

    def _forget(self, key: TopicPartition) -> None:
        """Nothing is touched in the directory, which is offline."""
        replica = self._replicas.pop(key, None)
        self._unusable.pop(key, None)
        if replica is not None:
            del self._partitions_of[key.topic][key]
            self._directory_of.pop(replica).logs.pop(key).abandon()

    def _create(self, topic: TopicImage, number: int, settings: TopicSettings, recorded: Uuid) -> Replica | None:
        topic_partition = TopicPartition(topic.name, number)
        if self._unusable.get(topic_partition) == topic.id:
            return None
        directory = self._place(topic_partition, recorded)
        if directory is None or directory.failure is not None:
            self._unusable[topic_partition] = topic.id
            logger.error("%s cannot be used: its log directory is offline", topic_partition)
            return None
        try:
            log: Log = directory.open_log(topic_partition, Uuid(topic.id), settings.log, self._clock.now_ms())
        except (StorageFailure, CorruptCheckpoint, DamagedLog) as problem:
            if isinstance(problem, StorageFailure) and problem.is_shortage:
                # Made when there is enough again.
                self._postponed[topic.name] = None
                logger.warning("%s is not opened yet: %s", topic_partition, problem)
                return None
            self._unusable[topic_partition] = topic.id
            logger.error("%s cannot be used: %s", topic_partition, problem)
            return None
        replica = Replica(
            topic_partition=topic_partition,
            topic_id=topic.id,
            broker_id=self._broker_id,
            log=log,
            settings=settings,
            clock=self._clock,
            flush_wanted=self._flush_wanted,
        )
        self._replicas[topic.name, number] = replica
        self._partitions_of.setdefault(topic.name, {})[topic.name, number] = replica
        self._directory_of[replica] = directory
        self._unusable.pop(topic_partition, None)
        self.preferred_directories.pop(topic_partition, None)
        return replica

    def _place(self, topic_partition: TopicPartition, recorded: Uuid) -> LogDirectory | None:
        """Where the partition is, or where it is to be made."""
        for directory in self._directories:
            if topic_partition in directory.logs:
                return directory
        placed = self._placed.pop(topic_partition, None)
        if placed is not None and placed.failure is None:
            return placed
        at = self._choose(topic_partition, recorded)
        return None if at is None else self._directories[at]

    def _lead_or_follow(
        self, replica: Replica, partition: PartitionImage, settings: TopicSettings, max_lag_ms: int
    ) -> None:
        before = (replica.leader_id, replica.leader_epoch)
        led = replica.is_leader
        leadership = PartitionLeadership(
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            replicas=partition.replicas,
            in_sync=partition.isr,
            partition_epoch=partition.partition_epoch,
            adding=partition.adding_replicas,
            removing=partition.removing_replicas,
        )
        if partition.leader == self._broker_id:
            rules = LeaderRules(
                min_in_sync=settings.config.min_insync_replicas,
                max_lag_ms=max_lag_ms,
                eligible=partial(self._eligible, replica.topic_partition),
            )
            replica.become_leader(leadership, rules)
        else:
            replica.become_follower(leadership)
        if before != (replica.leader_id, replica.leader_epoch):
            self._tell(replica, stopped_leading=led and not replica.is_leader)
            if replica.is_leader:
                self.became_leader(replica)

    def _eligible(self, topic_partition: TopicPartition, broker_id: int, broker_epoch: int) -> bool:
        """Whether the controller would let the broker's replica into the in-sync set, as far as the image tells."""
        image = self._image
        partition = None if image is None else image.partition(*topic_partition)
        if image is None or partition is None or not is_current(image, broker_id, broker_epoch):
            return False
        return image.has_online_directory(partition, broker_id)

    def _tell(self, replica: Replica, *, stopped_leading: bool) -> None:
        self.role_changed(replica)
        if stopped_leading:
            self.stopped_leading(replica)

    def reported_directory(self, topic_partition: TopicPartition, recorded: Uuid) -> Uuid | None:
        """What the controller has to be told about where our replica is; None if what it has `recorded` is right.

        It learns of a failed directory from the heartbeats. Only of a replica that it does not know to be in there it
        has to be told.
        """
        replica = self._replicas.get(topic_partition)
        if replica is None:
            unknown = recorded in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)
            return LOST_DIRECTORY if unknown and topic_partition in self._unusable else None
        directory = self._directory_of[replica]
        own = _id_of(directory)
        promised = self.promised_directories.get(replica) if directory.failure is None else None
        if promised is not None:
            return None if recorded == promised else promised
        if own is None or recorded == own:
            return None
        if directory.failure is None:
            return own
        elsewhere = {_id_of(each) for each in self._directories if each.failure is None}
        return LOST_DIRECTORY if recorded in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY, *elsewhere) else None

    # -- what is left to do ----------------------------------------------------------------------------------------

    def take_postponed(self) -> dict[str, None]:
        """The topics of replicas that could not be opened; whoever takes them tries again."""
        topics, self._postponed = self._postponed, {}
        return topics

    def take_removals(self, now_ms: int) -> list[Removal]:
        """Those that are due."""
        due = [removal for removal in self.removals if removal.due_ms <= now_ms]
        if due:
            self.removals = [removal for removal in self.removals if removal.due_ms > now_ms]
        return due

    # -- what happens to them ------------------------------------------------------------------------------------

    def storage_failed(self, replica: Replica, failure: StorageFailure) -> None:
        """A failed disk takes all replicas of its directory offline; the others go on.

        A shortage of descriptors or of room takes nothing offline: whoever asked has been refused, and may try again.
        """
        if failure.is_shortage:
            self._shortage(failure)
            return
        directory = self._directory_of.get(replica)
        if directory is not None:
            self.directory_failed(directory, failure)
        else:
            self._storage_failing()
            self._take_offline([replica], failure, "a directory that is deleted")

    def directory_failed(self, directory: LogDirectory, failure: StorageFailure) -> None:
        if failure.is_shortage:
            self._shortage(failure)
            return
        self._storage_failing()
        self._take_offline(self.in_directory(directory), failure, directory.path)

    def _take_offline(self, affected: list[Replica], failure: StorageFailure, where: str) -> None:
        fresh = [each for each in affected if not each.offline]
        if fresh:
            logger.error("%s; taking %d partitions in %s offline", failure, len(fresh), where)
        for each in fresh:
            was_leader = each.is_leader
            each.take_offline()
            self._tell(each, stopped_leading=was_leader)

    def truncate(self, replica: Replica, offset: int) -> None:
        """Cut the log at `offset`, as a follower. Raises StorageFailure."""
        directory = self._directory_of[replica]
        if offset < replica.log.high_watermark:
            logger.warning(
                "%s is cut at offset %d, below its high watermark %d: an unclean election has lost committed records",
                replica.topic_partition,
                offset,
                replica.log.high_watermark,
            )
        self.removals.extend(directory.truncate(replica.topic_partition, offset, now_ms=self._clock.now_ms()))
        replica.wake_readers()
        self.log_changed(replica)

    def restart_log(self, replica: Replica, offset: int) -> None:
        """Start the log over at `offset`, as a follower. Raises StorageFailure."""
        directory = self._directory_of[replica]
        self.removals.extend(directory.truncate_fully(replica.topic_partition, offset, now_ms=self._clock.now_ms()))
        replica.wake_readers()
        self.log_changed(replica)

    def exchange_log(self, replica: Replica, directory: LogDirectory, log: Log) -> None:
        """The replica goes on with a copy of its log in another directory. Raises StorageFailure."""
        before = self._directory_of[replica]
        self._directory_of[replica] = directory
        replica.exchange_log(log)
        directory.adopt_future(replica.topic_partition)
        replica.wake_readers()
        self.removals.extend(before.delete_logs([replica.topic_partition], self._clock.now_ms()))

    def log_start_moved(self, replica: Replica) -> None:
        """Checkpointed at once: a client was told that the records are gone, so they must not come back."""
        directory = self._directory_of[replica]
        try:
            directory.checkpoints.write_log_starts()
        except StorageFailure as failure:
            self.storage_failed(replica, failure)
            return
        replica.wake_readers()


def is_current(image: ClusterImage, broker_id: int, broker_epoch: int) -> bool:
    """Whether this incarnation of the broker is the registered one, and not fenced."""
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active and broker.epoch == broker_epoch


def _id_of(directory: LogDirectory) -> Uuid | None:
    return None if directory.meta is None else directory.meta.directory_id


def _partitions_on(topic: TopicImage, broker: int) -> list[int]:
    return [number for number, partition in topic.partitions.items() if broker in partition.replicas]


def _replicas_of(topic: TopicImage, partition: int) -> tuple[int, ...]:
    image = topic.partitions.get(partition)
    return () if image is None else image.replicas
