"""In which log directory a replica is created, and what the controller has to learn about that (KIP-858)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tidelog.metadata.image import LOST_DIRECTORY, MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, ClusterImage
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.new_logs import NewLog

# What must be created in which log directory.
MissingLogs = Mapping[LogDirectory, Sequence[NewLog]]

_NOT_KNOWN = (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)


def directory_id(directory: LogDirectory) -> Uuid | None:
    return None if directory.meta is None else directory.meta.directory_id


@dataclass(slots=True, kw_only=True, eq=False)
class ReplicaPlacement:
    """For all replicas of this broker."""

    live: LiveConfig
    replicas: Replicas
    # Where replicas that are not here yet must be created, if somebody has asked for it.
    preferred: dict[TopicPartition, LogDirectory] = field(default_factory=dict, init=False)
    # Where a replica that is being moved will be, if the controller should know.
    promised: dict[Replica, Uuid] = field(default_factory=dict, init=False)
    # Where the directories of partitions that are about to be opened have been created.
    _made: dict[TopicPartition, LogDirectory] = field(default_factory=dict, init=False)

    def missing(self, image: ClusterImage, topics: Iterable[str]) -> MissingLogs:
        """The logs that reconciling with this image would have to create for these topics, and where it will look for
        them."""
        self._made.clear()
        broker_id = self.replicas.broker_id
        wanted: dict[LogDirectory, list[NewLog]] = {}
        for topic in filter(None, map(image.topics.get, topics)):
            ours = [number for number, each in topic.partitions.items() if broker_id in each.replicas]
            fresh = [at for at in (TopicPartition(topic.name, number) for number in ours) if not self._exists(at)]
            if not fresh:
                continue
            config = self.live.settings_of(topic.name, image).log
            for at in fresh:
                directory = self._choose(at, topic.partitions[at.partition].directory_of(broker_id), wanted)
                if directory is not None:
                    new = NewLog(topic_partition=at, topic_id=topic.id, config=config)
                    wanted.setdefault(directory, []).append(new)
                    self._made[at] = directory
        return wanted

    def _exists(self, topic_partition: TopicPartition) -> bool:
        # One that waits to be replaced, because its topic was recreated, is recreated by reconciling.
        replicas = self.replicas
        return (
            replicas.get(*topic_partition) is not None
            or topic_partition in replicas.unusable
            or any(topic_partition in directory.logs for directory in replicas.directories)
        )

    def place(self, topic_partition: TopicPartition, recorded: Uuid) -> LogDirectory | None:
        """Where the partition is, or where it must be created."""
        for directory in self.replicas.directories:
            if topic_partition in directory.logs:
                return directory
        made = self._made.pop(topic_partition, None)
        return made if made is not None and made.failure is None else self._choose(topic_partition, recorded, {})

    def _choose(self, topic_partition: TopicPartition, recorded: Uuid, planned: MissingLogs) -> LogDirectory | None:
        """Where to create a replica: in the directory that was requested, or that the metadata names, else in the
        healthy one with the fewest partitions, counting those that are `planned` for it.

        None while a directory is offline, unless the metadata says that the replica is nowhere yet: it may be in
        there, and must not be recreated, empty, elsewhere (KIP-858).
        """
        healthy = [directory for directory in self.replicas.directories if directory.failure is None]
        preferred = self.preferred.get(topic_partition)
        if preferred in healthy:
            return preferred
        for directory in healthy:
            if directory_id(directory) == recorded:
                return directory
        if len(healthy) < len(self.replicas.directories) and recorded != UNASSIGNED_DIRECTORY:
            return None
        return min(healthy, key=lambda each: len(each.logs) + len(planned.get(each, ())), default=None)

    def reported(self, topic_partition: TopicPartition, recorded: Uuid) -> Uuid | None:
        """What to report to the controller about where our replica is; None if what it has `recorded` is right.

        It learns of a failed directory from the heartbeats. Only a replica that it does not know to be in there must be
        reported.
        """
        replicas = self.replicas
        replica = replicas.get(*topic_partition)
        directory = None if replica is None else replicas.directory_of(replica)
        if replica is None or directory is None:
            return LOST_DIRECTORY if recorded in _NOT_KNOWN and topic_partition in replicas.unusable else None
        own = directory_id(directory)
        promised = self.promised.get(replica) if directory.failure is None else None
        if promised is not None:
            return None if recorded == promised else promised
        if own is None or recorded == own:
            return None
        if directory.failure is None:
            return own
        elsewhere = {directory_id(each) for each in replicas.directories if each.failure is None}
        return LOST_DIRECTORY if recorded in (*_NOT_KNOWN, *elsewhere) else None
