"""Deleting expired segments of one replica, and announcing the new log start."""

from __future__ import annotations

import logging

from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log import retention

logger = logging.getLogger(__name__)


def delete_old_segments(replicas: Replicas, replica: Replica, now_ms: int) -> None:
    """Segments that are too old, or that make their partition too large, or that lie before its start."""
    log = replica.log
    start_before = log.log_start_offset
    try:
        replicas.removals.extend(retention.delete_old_segments(log, now_ms))
    except StorageFailure as failure:
        replicas.storage_failed(replica, failure)
        return
    if log.log_start_offset != start_before:
        logger.info(
            "%s now starts at offset %d instead of %d", replica.topic_partition, log.log_start_offset, start_before
        )
        replicas.checkpoint_log_start(replica)
