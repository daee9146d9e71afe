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
from tidelog.client.admin.groups import GroupDescription, GroupListing, GroupMember
from tidelog.client.admin.nodes import ApiRange, BrokerVersions, ClusterDescription, LogDirectory, NodeDescription
from tidelog.client.admin.partitions import ProducerState
from tidelog.client.admin.quorum import QuorumDescription, QuorumReplica
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
    "GroupMember",
    "HangingTransaction",
    "LogDirectory",
    "NewTopic",
    "NodeDescription",
    "PartitionDescription",
    "ProducerState",
    "QuorumDescription",
    "QuorumReplica",
    "Reassignment",
    "ResourceType",
    "TopicDescription",
    "TopicListing",
    "TransactionDescription",
    "TransactionListing",
]
