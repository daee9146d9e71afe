"""Logs that are on disk when a broker starts and are not its replicas: they are set aside under another name."""

from __future__ import annotations

import logging

from tidelog.metadata.image import MIGRATING_DIRECTORY, ClusterImage
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.server.replicas.placement import directory_id
from tidelog.server.replicas.registry import Replicas
from tidelog.storage.directories.log_directory import LogDirectory

logger = logging.getLogger(__name__)


def set_aside_strays(replicas: Replicas, image: ClusterImage) -> None:
    """Directories of topics that the cluster does not have: of another cluster, or deleted while we were down."""
    for directory in replicas.directories:
        for topic_partition, log in list(directory.logs.items()):
            if topic_partition.topic == CLUSTER_METADATA_TOPIC:
                continue
            topic = image.topics.get(topic_partition.topic)
            partition = image.partition(*topic_partition)
            ours = partition is not None and replicas.broker_id in partition.replicas
            if ours and topic is not None and log.topic_id in (None, topic.id):
                continue
            if topic is not None and not replicas.damage.may_be_set_aside(directory, topic, topic_partition):
                replicas.unusable[topic_partition] = topic.id
                continue
            reason = "belongs to no topic of this cluster" if topic is None else "belongs to an earlier topic"
            path = directory.mark_stray(topic_partition)
            logger.warning("%s %s; set aside as %s", topic_partition, reason, path)


def set_aside_duplicates(replicas: Replicas, image: ClusterImage) -> None:
    """A partition that is in two directories was being moved, or a missing disk is back. The one with the higher end
    offset counts, and of two that are equal the one that the metadata names."""
    for topic_partition in sorted({each for directory in replicas.directories for each in directory.logs}):
        holders = [directory for directory in replicas.directories if topic_partition in directory.logs]
        if len(holders) < 2 or topic_partition.topic == CLUSTER_METADATA_TOPIC:
            continue
        partition = image.partition(*topic_partition)
        recorded = MIGRATING_DIRECTORY if partition is None else partition.directory_of(replicas.broker_id)
        standings: dict[LogDirectory, tuple[int, int, bool]] = {}
        for directory in holders:
            log = directory.logs[topic_partition]
            standings[directory] = (log.latest_epoch, log.log_end_offset, directory_id(directory) == recorded)
        kept = max(holders, key=standings.__getitem__)
        for directory in holders:
            if directory is not kept:
                path = directory.mark_stray(topic_partition)
                logger.error("%s is also in %s; set aside as %s", topic_partition, kept.path, path)
