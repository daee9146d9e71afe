"""The names of Kafka's files and directories: how they are formed and what they mean.

Their contents are in one module per kind: `offset_index`, `time_index`, `transaction_index`,
`producer_snapshot`, `checkpoints`, `partition_metadata`, `meta_properties`, `clean_shutdown`, `directory_state`,
`cleaner.gaps`.
"""

from __future__ import annotations

import re

from tidelog.model.ids import TopicPartition

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
# Of the metadata log.
METADATA_SNAPSHOT_SUFFIX = ".checkpoint"
QUORUM_STATE_FILE = "quorum-state"

# Transient suffixes, appended to the whole name of a segment's file.
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
DELETED_SUFFIX = ".deleted"

SEGMENT_SUFFIXES = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
INDEX_SUFFIXES = SEGMENT_SUFFIXES[1:]
# Every segment has these two, even if they are empty; Kafka recovers a segment without them.
REQUIRED_INDEX_SUFFIXES = INDEX_SUFFIXES[:2]

# Suffixes of a partition's directory.
DELETE_DIRECTORY_SUFFIX = "-delete"
STRAY_DIRECTORY_SUFFIX = "-stray"
FUTURE_DIRECTORY_SUFFIX = "-future"

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
GAPS_FILE = ".tidelog-gaps"

META_PROPERTIES = "meta.properties"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
LOCK_FILE = ".lock"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
STATE_FILE = ".tidelog-state"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

# The longest directory name that most file systems allow.
MAX_NAME_LENGTH = 255

_OFFSET_PREFIX = re.compile(r"(\d+)\.")
_PARTITION_DIRECTORY = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")
_MARKED_DIRECTORY = re.compile(r"(?P<name>\S+-\S+)\.(?P<id>\S+)-(?P<mark>delete|stray|future)")


def segment_prefix(base_offset: int) -> str:
    """Twenty digits hold the largest offset, so that names sort as offsets do."""
    return f"{base_offset:020d}"


def offset_of_name(name: str) -> int | None:
    """The offset that a segment's or snapshot's file begins with, or None for other files."""
    match = _OFFSET_PREFIX.match(name)
    return int(match.group(1)) if match else None


def partition_directory(topic_partition: TopicPartition) -> str:
    return f"{topic_partition.topic}-{topic_partition.partition}"


def marked_directory(topic_partition: TopicPartition, unique_id: str, suffix: str) -> str:
    """The name that a directory gets when it is to be deleted (or is a stray one).

    The topic is shortened where the name would not fit: the id keeps it unique.
    """
    ending = f"-{topic_partition.partition}.{unique_id}{suffix}"
    return topic_partition.topic[: MAX_NAME_LENGTH - len(ending)] + ending


def parse_partition_directory(name: str) -> TopicPartition | None:
    """Whose directory this is; None for directories that belong to no partition or carry a mark."""
    if directory_mark(name) is not None:
        return None
    match = _PARTITION_DIRECTORY.fullmatch(name)
    if match is None:
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def directory_mark(name: str) -> str | None:
    """The suffix of a marked directory ("-delete", "-stray", "-future"), or None."""
    match = _MARKED_DIRECTORY.fullmatch(name)
    return f"-{match['mark']}" if match else None
