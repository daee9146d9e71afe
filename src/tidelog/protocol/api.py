"""The APIs of the protocol: their keys, their message classes and the versions of their headers.

Which of them a broker serves, and in which versions, is decided by the handlers that exist: see
`tidelog.server.api`.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from importlib import import_module
from re import sub

from tidelog.protocol.messages import APIS
from tidelog.protocol.schema import Message, Versions, covers


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82

    @property
    def title(self) -> str:
        """The name that Kafka's documentation and tools use, such as "OffsetForLeaderEpoch"."""
        return APIS[self.value]


def message_class(name: str) -> type[Message]:
    """The generated class of that name, from the module named after it."""
    module = sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)).lower()
    found: type[Message] = getattr(import_module(f"tidelog.protocol.messages.{module}"), name)
    return found


@cache
def request_class(api_key: int) -> type[Message]:
    """Imported on first use: a broker that starts does not pay for APIs that nobody calls."""
    return message_class(f"{APIS[api_key]}Request")


@cache
def response_class(api_key: int) -> type[Message]:
    return message_class(f"{APIS[api_key]}Response")


def schema_versions(api_key: int) -> Versions:
    """All versions that the schemas describe."""
    return request_class(api_key).SCHEMA.valid


@cache
def request_header_version(api_key: int, version: int) -> int:
    return 2 if covers(request_class(api_key).SCHEMA.flexible, version) else 1


@cache
def response_header_version(api_key: int, version: int) -> int:
    # A client that asks for the versions does not know yet what the broker understands (KIP-511).
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if covers(request_class(api_key).SCHEMA.flexible, version) else 0
