"""What a follower does with the leader's answer about one partition: append, truncate, or restart the log elsewhere."""

from __future__ import annotations

import logging

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_LEADER_EPOCH
from tidelog.partition.divergence import truncation_offset
from tidelog.partition.leader_epochs import EpochEndOffset
from tidelog.protocol.messages.fetch_response import PartitionData
from tidelog.records.batch import CorruptBatch
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.storage.log.results import UnexpectedOffset

logger = logging.getLogger(__name__)


def apply_answer(replicas: Replicas, replica: Replica, leader_id: int, answer: PartitionData) -> bool:
    """Whether the partition may be asked for again at once. Raises StorageFailure, CorruptBatch and
    UnexpectedOffset."""
    if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        return _begin_where_the_leader_does(replicas, replica, leader_id, answer)
    if answer.error_code:
        # Mostly one of the two brokers has not learned of a change yet; with the next epoch everything starts over.
        logger.debug("%s: broker %d answers %d", replica.topic_partition, leader_id, answer.error_code)
        return False
    if answer.diverging_epoch.epoch != NO_LEADER_EPOCH:
        return _truncate(replicas, replica, leader_id, answer)
    _append(replicas, replica, answer)
    return True


def _append(replicas: Replicas, replica: Replica, answer: PartitionData) -> None:
    records = answer.records if answer.records is not None else b""
    try:
        replica.append_fetched(
            records, leader_high_watermark=answer.high_watermark, leader_log_start=answer.log_start_offset
        )
    except UnexpectedOffset as problem:
        log = replica.log
        if log.log_start_offset != log.log_end_offset or problem.first_offset > log.log_end_offset:
            raise
        # Records were deleted up to the middle of a batch, and this batch is the first one here.
        replicas.restart_log(replica, problem.first_offset)
        replica.append_fetched(
            records, leader_high_watermark=answer.high_watermark, leader_log_start=answer.log_start_offset
        )


def _truncate(replicas: Replicas, replica: Replica, leader_id: int, answer: PartitionData) -> bool:
    """Truncate the log where it diverges from the leader's; whether that has changed anything."""
    log = replica.log
    told = EpochEndOffset(answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset)
    offset = truncation_offset(log.leader_epochs, log.log_end_offset, told)
    before = (log.log_end_offset, log.latest_epoch)
    logger.info(
        "%s: truncating at offset %d of %d, because on broker %d epoch %d ends at %d",
        replica.topic_partition,
        offset,
        log.log_end_offset,
        leader_id,
        told.epoch,
        told.end_offset,
    )
    try:
        replicas.truncate(replica, offset)
    except CorruptBatch as damage:
        replicas.damage.found(replica, damage)
        return False
    if log.log_start_offset == log.log_end_offset and answer.log_start_offset < log.log_start_offset:
        # Nothing is left here: then the log can have all that the leader has.
        replicas.restart_log(replica, answer.log_start_offset)
    if before == (log.log_end_offset, log.latest_epoch):
        logger.error("%s cannot be truncated to match broker %d", replica.topic_partition, leader_id)
        return False
    return True


def _begin_where_the_leader_does(replicas: Replicas, replica: Replica, leader_id: int, answer: PartitionData) -> bool:
    """The leader no longer has what comes next here, or our empty log begins above everything that it has."""
    log = replica.log
    start = answer.log_start_offset
    empty = log.log_start_offset == log.log_end_offset
    if start < 0 or start == log.log_end_offset or not (empty or log.log_end_offset < start):
        logger.error(
            "%s: offset %d is out of range for broker %d, whose log starts at %d",
            replica.topic_partition,
            log.log_end_offset,
            leader_id,
            start,
        )
        return False
    logger.warning(
        "%s: starting over at offset %d, where the log of broker %d starts; ours ended at %d",
        replica.topic_partition,
        start,
        leader_id,
        log.log_end_offset,
    )
    replicas.restart_log(replica, start)
    return True
