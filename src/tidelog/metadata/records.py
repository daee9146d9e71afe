"""The records of the cluster metadata log: which there are, in which version we write them, and their frame.

A frame is what Apache Kafka's controllers write as the value of a record of `__cluster_metadata`: the number of the
frame's version, of the record's type and of its version, as variable-length integers, then the message. What the
records mean is in `tidelog.metadata.replay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.protocol.api import message_class
from tidelog.protocol.codec import (
    Buffer,
    ProtocolError,
    decode_uvarint,
    decode_whole,
    encode,
    encode_uvarint,
)
from tidelog.protocol.messages import METADATA_RECORDS
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.schema import Message

FRAME_VERSION = 1

# The metadata.version of a new cluster, 4.3-IV0, and the oldest one that can be worked with, 3.3-IV3. Apache Kafka ties
# the version of each record to this number; so does the table below.
METADATA_VERSION_FEATURE = "metadata.version"
METADATA_VERSION = 30
MINIMUM_METADATA_VERSION = 7

# Level 2 lets producers speak the second version of the transaction protocol (KIP-890).
TRANSACTION_VERSION_FEATURE = "transaction.version"
TRANSACTION_VERSION = 2

# Level 1 lets consumers form groups in which the coordinator assigns the partitions (KIP-848).
GROUP_VERSION_FEATURE = "group.version"
GROUP_VERSION = 1

# Level 1 lets replicas lead that left the in-sync set while nothing could be committed (KIP-966).
ELIGIBLE_LEADER_REPLICAS_FEATURE = "eligible.leader.replicas.version"
ELIGIBLE_LEADER_REPLICAS = 1

# Levels of metadata.version that brought new versions of records, for: moving away from ZooKeeper, directories of
# replicas, eligible leaders, cordoned directories.
_MIGRATION, _DIRECTORIES, _ELIGIBLE_LEADERS, _CORDONED = 8, 17, 23, 30

# Of the records with several versions: the level from which on each is written, the newest first.
_VERSIONS_BY_LEVEL: dict[type[Message], tuple[tuple[int, int], ...]] = {
    RegisterBrokerRecord: ((_CORDONED, 4), (_DIRECTORIES, 3), (_MIGRATION, 2), (0, 1)),
    PartitionRecord: ((_ELIGIBLE_LEADERS, 2), (_DIRECTORIES, 1), (0, 0)),
    PartitionChangeRecord: ((_ELIGIBLE_LEADERS, 2), (_DIRECTORIES, 1), (0, 0)),
    BrokerRegistrationChangeRecord: ((_CORDONED, 3), (_DIRECTORIES, 2), (0, 1)),
}

# Type to class.
_RECORDS = {record_type: message_class(name) for record_type, name in METADATA_RECORDS.items()}


class InvalidMetadataRecord(Exception):
    """Bytes in the metadata log that are no metadata record. The log is broken or from a newer version."""


class FramedRecord(NamedTuple):
    """A record and the version it was written in."""

    message: Message
    version: int


def metadata_version(features: Mapping[str, int]) -> int:
    """The level of a cluster with these features. One that has not written any yet begins with the newest."""
    return features.get(METADATA_VERSION_FEATURE, METADATA_VERSION)


def record_version(kind: type[Message], metadata_version: int) -> int:
    """In which version a cluster of this level writes such records."""
    for level, version in _VERSIONS_BY_LEVEL.get(kind, ()):
        if metadata_version >= level:
            return version
    return 0


def encode_record(message: Message, metadata_version: int = METADATA_VERSION) -> bytes:
    """The value of a record in the metadata log of a cluster of this level."""
    version = record_version(type(message), metadata_version)
    return b"".join(
        (
            encode_uvarint(FRAME_VERSION),
            encode_uvarint(message.SCHEMA.api_key),
            encode_uvarint(version),
            encode(message, version),
        )
    )


def decode_record(value: Buffer) -> FramedRecord:
    """Read what `encode_record`, or Apache Kafka, has written; raises InvalidMetadataRecord."""
    try:
        frame_version, position = decode_uvarint(value, 0)
        api_key, position = decode_uvarint(value, position)
        version, position = decode_uvarint(value, position)
    except (IndexError, ProtocolError) as error:
        raise InvalidMetadataRecord(f"the header of a metadata record is truncated: {bytes(value[:16])!r}") from error
    if frame_version != FRAME_VERSION:
        raise InvalidMetadataRecord(f"a metadata record has the frame version {frame_version}, not {FRAME_VERSION}")
    kind = _RECORDS.get(api_key)
    if kind is None:
        raise InvalidMetadataRecord(f"a metadata record has the unknown type {api_key}")
    try:
        message = decode_whole(kind, memoryview(value)[position:], version)
    except ProtocolError as error:
        raise InvalidMetadataRecord(f"a {kind.__name__} cannot be read: {error}") from error
    return FramedRecord(message, version)
