"""Administration of a cluster, whichever makes it: tidelog or Apache Kafka."""

from __future__ import annotations

from tidelog.client.admin.client import Admin
from tidelog.client.admin.configs import (
    AlterOperation,
    ConfigAlteration,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tidelog.client.admin.groups import GroupDescription, GroupListing, GroupMemberDescription
from tidelog.client.admin.nodes import (
    ApiRange,
    BrokerVersions,
    ClusterDescription,
    LogDirectoryDescription,
    NodeDescription,
)
from tidelog.client.admin.partitions import ProducerState
from tidelog.client.admin.quorum import QuorumInfo, QuorumReplicaInfo
from tidelog.client.admin.replicas import ElectionType, Reassignment
from tidelog.client.admin.topics import CreatedTopic, NewTopic, PartitionDescription, TopicDescription, TopicListing
from tidelog.client.admin.transactions import HangingTransaction, TransactionDescription, TransactionListing

__all__ = [
    "Admin",
    "AlterOperation",
    "ApiRange",
    "BrokerVersions",
    "ClusterDescription",
    "ConfigAlteration",
    "ConfigEntry",
    "ConfigResource",
    "CreatedTopic",
    "ElectionType",
    "GroupDescription",
    "GroupListing",
    "GroupMemberDescription",
    "HangingTransaction",
    "LogDirectoryDescription",
    "NewTopic",
    "NodeDescription",
    "PartitionDescription",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplicaInfo",
    "Reassignment",
    "ResourceType",
    "TopicDescription",
    "TopicListing",
    "TransactionDescription",
    "TransactionListing",
]
