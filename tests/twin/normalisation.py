"""What two brokers cannot have in common, made equal. Every rule hides faults, so there are few, and each says why.

A value that a broker made up is not thrown away where it can be followed: topic ids, member ids and producer ids become
the name under which this side knows them, so that a reply with another topic's id is still found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.protocol.messages import ApiKey

# Error messages that programs compare; all others are for people, and only whether there is one is compared.
_MESSAGES_AS_THEY_ARE = (None, "", "NONE")

_GENERATED_MEMBER = re.compile(r".*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[\w-]{22}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A field whose value is replaced where `applies`: by default wherever it is a real value, not 0, -1 or empty."""

    field: str
    reason: str
    apis: tuple[ApiKey, ...] = ()
    # Also where there is no value: one of them may have none.
    always: bool = False


_TIME = "a moment of this run"
_QUORUM = "the metadata log has other records, and more of them every half second"

RULES = (
    Rule(field="session_id", reason="a random number for each fetch session", apis=(ApiKey.FETCH,)),
    Rule(field="log_append_time_ms", reason=_TIME),
    Rule(field="transaction_start_time_ms", reason=_TIME),
    Rule(field="start_timestamp", reason=_TIME),
    Rule(field="log_dir", reason="the directory of this run"),
    Rule(field="total_bytes", reason="the size of this machine's disk"),
    Rule(field="usable_bytes", reason="what is left of it"),
    Rule(field="finalized_features_epoch", reason=_QUORUM),
    Rule(field="controller_id", reason="which node leads the quorum is decided by an election"),
    Rule(field="leader_id", reason="the same", apis=(ApiKey.DESCRIBE_QUORUM,)),
    Rule(field="leader_epoch", reason=_QUORUM, apis=(ApiKey.DESCRIBE_QUORUM,)),
    Rule(field="high_watermark", reason=_QUORUM, apis=(ApiKey.DESCRIBE_QUORUM,)),
    Rule(field="log_end_offset", reason=_QUORUM, apis=(ApiKey.DESCRIBE_QUORUM,)),
    Rule(field="last_fetch_timestamp", reason=_TIME, apis=(ApiKey.DESCRIBE_QUORUM,)),
    Rule(field="last_caught_up_timestamp", reason=_TIME, apis=(ApiKey.DESCRIBE_QUORUM,)),
    Rule(
        field="replica_directory_id",
        reason="random, and none with fixed voters",
        apis=(ApiKey.DESCRIBE_QUORUM,),
        always=True,
    ),
)

# Arrays that Kafka fills from hash maps: their order means nothing, and clients cannot count on it.
UNORDERED = {
    "METADATA": {"topics", "brokers"},
    "API_VERSIONS": {"api_keys", "supported_features", "finalized_features"},
    "CREATE_TOPICS": {"topics", "configs"},
    "DELETE_TOPICS": {"responses"},
    "CREATE_PARTITIONS": {"results"},
    "DELETE_RECORDS": {"topics", "partitions"},
    "DESCRIBE_CONFIGS": {"configs", "results"},
    "ALTER_CONFIGS": {"responses"},
    "INCREMENTAL_ALTER_CONFIGS": {"responses"},
    "LIST_CONFIG_RESOURCES": {"config_resources"},
    "LIST_GROUPS": {"groups"},
    "DELETE_GROUPS": {"results"},
    "DESCRIBE_GROUPS": {"members", "groups"},
    "CONSUMER_GROUP_DESCRIBE": {"members", "groups"},
    "LIST_TRANSACTIONS": {"transaction_states"},
    "DESCRIBE_TRANSACTIONS": {"topics"},
    "DESCRIBE_LOG_DIRS": {"topics", "partitions"},
    "DESCRIBE_TOPIC_PARTITIONS": {"topics"},
    "DESCRIBE_PRODUCERS": {"active_producers"},
    "DESCRIBE_CLUSTER": {"brokers"},
    "DESCRIBE_QUORUM": {"nodes", "current_voters", "observers"},
    "PRODUCE": {"responses"},
    "WRITE_TXN_MARKERS": {"markers", "topics", "partitions"},
    "ADD_PARTITIONS_TO_TXN": {"results_by_transaction", "results_by_topic_v3_and_below", "topic_results"},
    "OFFSET_COMMIT": {"topics", "partitions"},
    "TXN_OFFSET_COMMIT": {"topics", "partitions"},
    "OFFSET_DELETE": {"topics", "partitions"},
    "OFFSET_FETCH": {"topics", "partitions"},
    "ELECT_LEADERS": {"replica_election_results", "partition_result"},
    "LIST_OFFSETS": {"topics", "partitions"},
    "OFFSET_FOR_LEADER_EPOCH": {"topics", "partitions"},
    "UPDATE_FEATURES": {"results"},
    "DESCRIBE_ACLS": {"resources", "acls"},
    "DELETE_ACLS": {"matching_acls"},
    "DESCRIBE_USER_SCRAM_CREDENTIALS": {"results", "credential_infos"},
    "ALTER_USER_SCRAM_CREDENTIALS": {"results"},
    "DESCRIBE_CLIENT_QUOTAS": {"entries", "entity", "values"},
    "ALTER_CLIENT_QUOTAS": {"entries", "entity"},
}


# What tells the elements of such an array apart.
_NAMES = ("name", "api_key", "group_id", "user", "topic", "feature", "partition_index", "partition_id", "topic_id")


def _arranged(elements: list[Any]) -> Any:
    """By name where the elements have names that differ, so that a difference tells whose it is; else sorted."""
    if not elements:
        return {}
    for field in _NAMES:
        if all(isinstance(each, dict) and field in each for each in elements):
            named = {f"{{{each[field]}}}": each for each in elements}
            return named if len(named) == len(elements) else sorted(elements, key=repr)
    return sorted(elements, key=repr)


class Normaliser:
    """One side's: it knows the addresses of its nodes, and learns names for the ids that its broker made up."""

    def __init__(self, ports: Mapping[int, int], cluster_id: str) -> None:
        self._ports = ports
        self._cluster_id = cluster_id
        self._names: dict[Any, str] = {}

    def learn(self, value: Any, name: str) -> None:
        if value not in (None, "", -1, bytes(16)):
            self._names.setdefault(value, name)

    def __call__(self, value: Any, key: ApiKey, field: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self(element, key, name) for name, element in value.items()}
        if isinstance(value, list):
            elements = [self(element, key, field) for element in value]
            return _arranged(elements) if field in UNORDERED.get(key.name, ()) else elements
        if field.endswith("error_message"):
            return value if value in _MESSAGES_AS_THEY_ARE else "(a message)"
        if field == "port":
            # Those of the controllers are not known; that they are none of the brokers' is.
            unknown = "(a port)" if key is ApiKey.DESCRIBE_QUORUM else value
            return f"(port of node {self._ports[value]})" if value in self._ports else unknown
        if field == "cluster_id":
            return "(the cluster's id)" if value == self._cluster_id else value
        if field == "topic_id" or field == "producer_id":
            return self._names.get(value, value)
        if field in ("member_id", "leader") and isinstance(value, str):
            known = self._names.get(value)
            return known or ("(a member id)" if _GENERATED_MEMBER.fullmatch(value) else value)
        for rule in RULES:
            applies = rule.field == field and (not rule.apis or key in rule.apis)
            if applies and (rule.always or value not in (0, -1, "", bytes(16))):
                return f"({field})"
        return value
