"""What a broker does about damaged logs: which are fetched again, which stay as they are, and who learns of it.

Found when logs are loaded or read. What damage is, and that nothing is truncated because of it, is decided
in `tidelog.storage.recovery.recovery`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import field

from tidelog.metadata.image import ClusterImage, PartitionImage, TopicImage
from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import CorruptBatch
from tidelog.server.replicas.replica import Replica
from tidelog.storage.directories.log_directory import LoadReport, LogDirectory
from tidelog.storage.files.file_names import PARTITION_METADATA
from tidelog.storage.log.config import LogConfig
from tidelog.storage.recovery.damage import DamagedLog, remedy_for

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Damage:
    """`partitions` are those that cannot be read, or not completely."""

    broker_id: int
    partitions: set[TopicPartition] = field(default_factory=set, init=False)

    def after_loading(
        self,
        image: ClusterImage,
        reports: Mapping[LogDirectory, LoadReport],
        config_of: Callable[[str], LogConfig],
        now_ms: int,
    ) -> dict[TopicPartition, bytes]:
        """After all directories were loaded: the partitions that cannot be used, with their topics' ids.

        Where others are in sync and this replica is not, it is truncated at the damage and fetched again. Otherwise
        nobody else may have the records: nothing is changed, and clients get an error.
        """
        unusable: dict[TopicPartition, bytes] = {}
        for directory, report in reports.items():
            for topic_partition, problem in (report.failures | report.damaged).items():
                topic = image.topics.get(topic_partition.topic)
                partition = None if topic is None else topic.partitions.get(topic_partition.partition)
                if topic is None or partition is None or self.broker_id not in partition.replicas:
                    continue
                if any(topic_partition in other.logs for other in reports if other is not directory):
                    # It has moved there, or exists there as well.
                    continue
                if isinstance(problem, DamagedLog | str) and self._others_have(partition):
                    log = directory.load_again(topic_partition, config_of(topic.name), now_ms)
                    logger.error(
                        "%s: %s; truncated at offset %d, the rest is fetched again from the leader",
                        topic_partition,
                        problem,
                        log.log_end_offset,
                    )
                    continue
                self._tell(topic_partition, str(problem))
                if topic_partition in report.failures:
                    unusable[topic_partition] = topic.id
        return unusable

    def found(self, replica: Replica, damage: CorruptBatch) -> None:
        """A reader has reached a damaged part of the log. Logged once, however often it is read."""
        if str(damage) not in replica.log.damage:
            replica.log.damage.append(str(damage))
            self._tell(replica.topic_partition, f"the log is damaged {damage}")

    def may_be_set_aside(self, directory: LogDirectory, topic: TopicImage, topic_partition: TopicPartition) -> bool:
        """Whether a log with another topic id than the cluster's may be set aside.

        Not if this replica is needed for the partition: it was created with the topic's id then, so the log is damaged
        (or the broker died just when a topic was deleted and recreated).
        """
        log = directory.logs[topic_partition]
        partition = topic.partitions.get(topic_partition.partition)
        if partition is None or log.log_end_offset == 0 or self.broker_id not in partition.replicas:
            return True
        if self._others_have(partition):
            return True
        directory.release(topic_partition)
        self._tell(
            topic_partition,
            f"{log.directory}/{PARTITION_METADATA} holds another topic id than the cluster has for this topic, "
            f"{format_uuid(Uuid(topic.id))}; if the records are those of an earlier topic, move the directory away",
        )
        return False

    def _others_have(self, partition: PartitionImage) -> bool:
        """Whether others are in sync and this replica is not needed."""
        return bool(partition.isr) and self.broker_id not in (*partition.isr, *partition.eligible_leaders)

    def _tell(self, topic_partition: TopicPartition, problem: str) -> None:
        self.partitions.add(topic_partition)
        remedy = remedy_for(topic_partition.topic, voters=1)
        logger.error("%s: %s; clients get an error there. To repair it: %s", topic_partition, problem, remedy)
