"""Administration of a cluster, whether its brokers are tidelog or Apache Kafka.

client.py          `Admin`: one face for the modules below
topics.py          create, delete, list, describe, grow
configs.py         configurations of topics, brokers and groups
groups.py          groups and the offsets that they have committed
partitions.py      offsets and producers of partitions, deleting records
replicas.py        elections and reassignments
each_replica.py    asking the broker of each replica
replica_offsets.py how far each replica is, and which leader has written what
log_segments.py    the segments of each replica, of brokers that tell
transactions.py    what transactions do, and ending those that hang
quorum.py          the metadata quorum
nodes.py           brokers, their versions and their directories
acls.py            who may do what
users.py           users of SCRAM and their passwords
quotas.py          quotas of users, client ids and addresses
"""

from __future__ import annotations

from tidelog.client.admin.client import Admin
from tidelog.client.admin.configs import (
    ConfigAlteration,
    ConfigEntry,
    ConfigResource,
)
from tidelog.client.admin.groups import GroupDescription, GroupListing, GroupMemberDescription
from tidelog.client.admin.log_segments import LogSegmentDescription, ReplicaSegments
from tidelog.client.admin.nodes import (
    ApiRange,
    BrokerVersions,
    ClusterDescription,
    LogDirectoryDescription,
    NodeDescription,
)
from tidelog.client.admin.partitions import ProducerBatchDescription, ProducerState
from tidelog.client.admin.quorum import QuorumInfo, QuorumReplicaInfo
from tidelog.client.admin.replica_offsets import LeaderEpochRange, ReplicaOffsets
from tidelog.client.admin.replicas import ElectionType, Reassignment
from tidelog.client.admin.topics import CreatedTopic, NewTopic, PartitionDescription, TopicDescription, TopicListing
from tidelog.client.admin.transactions import (
    HangingOrNot,
    HangingTransaction,
    TransactionDescription,
    TransactionListing,
)
from tidelog.client.admin.users import DeleteScramCredential, PutScramCredential, ScramCredentialInfo
from tidelog.config.alteration import AlterOperation
from tidelog.metadata.image import ResourceType
from tidelog.model.segment_states import SegmentState
from tidelog.security.acls import (
    AccessControlEntry,
    AclBinding,
    AclFilter,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from tidelog.security.quotas.entities import QuotaEntity, QuotaKey, QuotaMatch, quota_entity
from tidelog.security.scram import ScramMechanism

__all__ = [
    "AccessControlEntry",
    "AclBinding",
    "AclFilter",
    "AclResourceType",
    "Admin",
    "AlterOperation",
    "ApiRange",
    "BrokerVersions",
    "ClusterDescription",
    "ConfigAlteration",
    "ConfigEntry",
    "ConfigResource",
    "CreatedTopic",
    "DeleteScramCredential",
    "ElectionType",
    "GroupDescription",
    "GroupListing",
    "GroupMemberDescription",
    "HangingOrNot",
    "HangingTransaction",
    "LeaderEpochRange",
    "LogDirectoryDescription",
    "LogSegmentDescription",
    "NewTopic",
    "NodeDescription",
    "Operation",
    "PartitionDescription",
    "PatternType",
    "PermissionType",
    "ProducerBatchDescription",
    "ProducerState",
    "PutScramCredential",
    "QuorumInfo",
    "QuorumReplicaInfo",
    "QuotaEntity",
    "QuotaKey",
    "QuotaMatch",
    "Reassignment",
    "ReplicaOffsets",
    "ReplicaSegments",
    "ResourcePattern",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "SegmentState",
    "TopicDescription",
    "TopicListing",
    "TransactionDescription",
    "TransactionListing",
    "quota_entity",
]
