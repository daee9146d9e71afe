"""All replicas of this broker: where requests find them, and what happens to them and to their logs.

Which there are and who leads them follows from the cluster image (`tidelog.server.replicas.reconciling`). Changes of
roles are announced: to coordinators when a replica begins or ceases to lead, to fetchers
(`tidelog.server.replication`) when it may have another leader to follow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.server.notice import Notice
from tidelog.server.replicas.damage import Damage
from tidelog.server.replicas.replica import Replica
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.removal import DirectoryRemoval, FileRemoval
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.log import Log

logger = logging.getLogger(__name__)

Removal = FileRemoval | DirectoryRemoval
_NO_PARTITIONS: Mapping[int, Replica] = {}


@dataclass(slots=True, kw_only=True, eq=False)
class Replicas:
    """Looked up by topic and partition for every request, so these are plain dictionaries."""

    broker_id: int
    image: Callable[[], ClusterImage]
    directories: Sequence[LogDirectory]
    clock: Clock
    damage: Damage
    storage_failing: Notice[[]]
    shortage: Notice[[StorageFailure]]
    # Partitions of ours that cannot be used until the next start, because their directory is damaged or offline, and
    # the topic's id: a topic that is recreated under the name is not affected.
    unusable: dict[TopicPartition, bytes] = field(default_factory=dict, init=False)
    removals: list[Removal] = field(default_factory=list, init=False)
    became_leader: Notice[[Replica]] = field(default_factory=Notice, init=False)
    stopped_leading: Notice[[Replica]] = field(default_factory=Notice, init=False)
    # A replica's leader or leader epoch has changed, or it must not be used any more.
    role_changed: Notice[[Replica]] = field(default_factory=Notice, init=False)
    # A follower's log was truncated, or restarted elsewhere, or is about to be deleted.
    log_changed: Notice[[Replica]] = field(default_factory=Notice, init=False)
    _replicas: dict[str, dict[int, Replica]] = field(default_factory=dict, init=False)
    _directory_of: dict[Replica, LogDirectory] = field(default_factory=dict, init=False)

    # -- looking up ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Replica]:
        return iter([replica for partitions in self._replicas.values() for replica in partitions.values()])

    def __len__(self) -> int:
        return sum(map(len, self._replicas.values()))

    def leader(self, topic: str, partition: int) -> Replica | ErrorCode:
        """The replica if this broker leads the partition, else the error for the client."""
        replica = self._replicas.get(topic, _NO_PARTITIONS).get(partition)
        if replica is None:
            return self._absent(topic, partition)
        if replica.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if replica.progress is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return replica

    def readable(self, topic: str, partition: int) -> Replica | ErrorCode:
        """The replica, whether it leads or follows, else the error for the client."""
        replica = self._replicas.get(topic, _NO_PARTITIONS).get(partition)
        if replica is None:
            return self._absent(topic, partition)
        return ErrorCode.KAFKA_STORAGE_ERROR if replica.offline else replica

    def leader_in_epoch(self, topic: str, partition: int, *, current_leader_epoch: int) -> Replica | ErrorCode:
        """Like `leader`, for clients that send the epoch they know. The epoch is checked first, by followers as well: a
        client that knows of a later leader than this broker has nothing to learn from it, not even who leads."""
        replica = self.readable(topic, partition)
        if isinstance(replica, ErrorCode):
            return replica
        return replica.check_leader_epoch(current_leader_epoch) or self.leader(topic, partition)

    def _absent(self, topic: str, partition: int) -> ErrorCode:
        if (topic, partition) in self.unusable:
            return ErrorCode.KAFKA_STORAGE_ERROR
        known = self.image().partition(topic, partition) is not None
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def get(self, topic: str, partition: int) -> Replica | None:
        return self._replicas.get(topic, _NO_PARTITIONS).get(partition)

    def of_topic(self, topic: str) -> list[Replica]:
        return list(self._replicas.get(topic, _NO_PARTITIONS).values())

    def directory_of(self, replica: Replica) -> LogDirectory | None:
        return self._directory_of.get(replica)

    def in_directory(self, directory: LogDirectory) -> list[Replica]:
        return [replica for replica, at in self._directory_of.items() if at is directory]

    # -- coming and going ------------------------------------------------------------------------------------------

    def add(self, replica: Replica, directory: LogDirectory) -> None:
        topic, partition = replica.topic_partition
        self._replicas.setdefault(topic, {})[partition] = replica
        self._directory_of[replica] = directory
        self.unusable.pop(replica.topic_partition, None)

    def delete(self, replicas: list[Replica]) -> None:
        """All in one go: each change of a directory has to reach the device."""
        for replica in replicas:
            was_leader = replica.is_leader
            replica.stop(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            self.tell_role(replica, stopped_leading=was_leader)
            self._remove(replica)
        gone: dict[LogDirectory, list[TopicPartition]] = {}
        for replica in replicas:
            self.log_changed(replica)
            gone.setdefault(self._directory_of.pop(replica), []).append(replica.topic_partition)
        for directory, partitions in gone.items():
            try:
                self.removals.extend(directory.delete_logs(partitions, self.clock.now_ms()))
            except StorageFailure as failure:
                self.directory_failed(directory, failure)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Nothing is touched in its directory, which is offline."""
        self.unusable.pop(topic_partition, None)
        replica = self.get(*topic_partition)
        if replica is not None:
            self._remove(replica)
            self._directory_of.pop(replica).logs.pop(topic_partition).abandon()

    def _remove(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        del self._replicas[topic][partition]
        if not self._replicas[topic]:
            del self._replicas[topic]

    def take_removals(self, now_ms: int) -> list[Removal]:
        """Those that are due."""
        due = [removal for removal in self.removals if removal.due_ms <= now_ms]
        if due:
            self.removals = [removal for removal in self.removals if removal.due_ms > now_ms]
        return due

    # -- what happens to them ------------------------------------------------------------------------------------

    def tell_role(self, replica: Replica, *, stopped_leading: bool) -> None:
        self.role_changed(replica)
        if stopped_leading:
            self.stopped_leading(replica)

    def storage_failed(self, replica: Replica, failure: StorageFailure) -> None:
        """A failed disk takes all replicas of its directory offline; the others are not affected.

        A shortage of descriptors or disk space takes nothing offline: the request has been refused, and may be retried.
        """
        if failure.is_shortage:
            self.shortage(failure)
            return
        directory = self._directory_of.get(replica)
        if directory is not None:
            self.directory_failed(directory, failure)
        else:
            self.storage_failing()
            self._take_offline([replica], failure, "a directory that is being deleted")

    def directory_failed(self, directory: LogDirectory, failure: StorageFailure) -> None:
        if failure.is_shortage:
            self.shortage(failure)
            return
        self.storage_failing()
        self._take_offline(self.in_directory(directory), failure, directory.path)

    def _take_offline(self, affected: list[Replica], failure: StorageFailure, where: str) -> None:
        fresh = [each for each in affected if not each.offline]
        if fresh:
            logger.error("%s; taking %d partitions in %s offline", failure, len(fresh), where)
        for each in fresh:
            was_leader = each.is_leader
            each.take_offline()
            self.tell_role(each, stopped_leading=was_leader)

    def truncate(self, replica: Replica, offset: int) -> None:
        """Truncate the log at `offset`, as a follower. Raises StorageFailure, CorruptBatch."""
        directory = self._directory_of[replica]
        if offset < replica.log.high_watermark:
            logger.warning(
                "%s is truncated at %d, below its high watermark %d: an unclean election has lost committed records",
                replica.topic_partition,
                offset,
                replica.log.high_watermark,
            )
        self.removals.extend(directory.truncate(replica.topic_partition, offset, now_ms=self.clock.now_ms()))
        replica.wake_readers()
        self.log_changed(replica)

    def restart_log(self, replica: Replica, offset: int) -> None:
        """Restart the log at `offset`, as a follower. Raises StorageFailure."""
        directory = self._directory_of[replica]
        self.removals.extend(directory.truncate_fully(replica.topic_partition, offset, now_ms=self.clock.now_ms()))
        replica.wake_readers()
        self.log_changed(replica)

    def exchange_log(self, replica: Replica, directory: LogDirectory, log: Log) -> None:
        """The replica continues with a copy of its log in another directory. Raises StorageFailure."""
        before = self._directory_of[replica]
        self._directory_of[replica] = directory
        replica.exchange_log(log)
        directory.adopt_future(replica.topic_partition)
        replica.wake_readers()
        self.removals.extend(before.delete_logs([replica.topic_partition], self.clock.now_ms()))

    def checkpoint_log_start(self, replica: Replica) -> ErrorCode:
        """The client gets the reply that the records are deleted, so they must not come back: the start of the log is
        on the device when this returns NONE."""
        directory = self._directory_of[replica]
        try:
            directory.checkpoints.write_log_starts()
        except StorageFailure as failure:
            self.storage_failed(replica, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        replica.wake_readers()
        return ErrorCode.NONE
