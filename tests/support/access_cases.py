"""The matrix of authorization: every API that checks something, asked under each of many sets of ACLs.

A probe is one request, in one version, to a broker or to a controller. What it asks for leaves things as they were, or
`Stage.prepare` puts them back: so a probe gets the same answer whenever the same is allowed. The sets of ACLs are the
product of resource types, patterns, operations and permissions, with a few that are about hosts and other principals.
Every probe is asked under every set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twin.asking import TopicId
from twin.cases.security import acl_filter, creation

from tidelog.model.principal import ANONYMOUS, Principal
from tidelog.protocol.frames import LENGTH_SIZE, request_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.records.record import encode_batch
from tidelog.security.acls import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
)
from tidelog.server.declaration import ListenerKind
from tidelog.server.quorum.envelope import seal

TOPIC, OTHER_TOPIC, DOOMED_TOPIC = "matrix-topic", "matrix-other", "matrix-doomed"
# The first exists, so the second cannot be created; so it stays missing, however often somebody may create it.
CLASHING_TOPIC, MISSING_TOPIC = "matrix-clash_a", "matrix-clash.a"
GROUP, CONSUMER_GROUP = "matrix-group", "matrix-consumers"
TRANSACTION, OPEN_TRANSACTION = "matrix-transaction", "matrix-open"
TOPICS = (TOPIC, OTHER_TOPIC, DOOMED_TOPIC, CLASHING_TOPIC)
PREFIX = "matrix-"
# What no node, producer or directory has.
NOBODY = 4711
ANOTHER_CLUSTER = "AnotherClusterAnotherC"
NODE = "1"

NAMES: Mapping[AclResourceType, Sequence[str]] = {
    AclResourceType.TOPIC: (*TOPICS, MISSING_TOPIC),
    AclResourceType.GROUP: (GROUP, CONSUMER_GROUP),
    AclResourceType.TRANSACTIONAL_ID: (TRANSACTION, OPEN_TRANSACTION),
    AclResourceType.CLUSTER: (CLUSTER_NAME,),
}
KNOWN_NAMES = frozenset(name for names in NAMES.values() for name in names)

PRINCIPAL = ANONYMOUS
ADMINISTRATOR = Principal(type="User", name="admin")


# --------------------------------------------------------------------------------------------------------------
# Sets of ACLs.

Acl = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acls:
    """ACLs, as CreateAcls takes them."""

    name: str
    entries: Sequence[Acl]


def _acl(resource_type: AclResourceType, name: str, operation: Operation, **fields: Any) -> Acl:
    return creation(
        resource_type=resource_type,
        resource_name=name,
        operation=operation,
        **{"principal": str(PRINCIPAL), **fields},
    )


def _about_all(resource_type: AclResourceType, pattern: str, operation: Operation, **fields: Any) -> list[Acl]:
    """For all resources of the type that probes are about, named in one of three ways."""
    names = NAMES[resource_type]
    if pattern == "prefixed":
        prefix = CLUSTER_NAME if resource_type is AclResourceType.CLUSTER else PREFIX
        return [_acl(resource_type, prefix, operation, resource_pattern_type=PatternType.PREFIXED, **fields)]
    return [_acl(resource_type, name, operation, **fields) for name in (names if pattern == "literal" else ["*"])]


def _patterns(resource_type: AclResourceType) -> Sequence[str]:
    # The cluster has one name, and `*` is not it.
    return ("literal", "prefixed") if resource_type is AclResourceType.CLUSTER else ("literal", "prefixed", "wildcard")


EVERYTHING: Sequence[Acl] = [acl for kind in NAMES for acl in _about_all(kind, _patterns(kind)[-1], Operation.ALL)]


ALL_BUT_THE_CLUSTER = [acl for acl in EVERYTHING if acl["resource_type"] != AclResourceType.CLUSTER]


def _product() -> Iterator[Acls]:
    for kind in NAMES:
        for operation in (*SUPPORTED_OPERATIONS[kind], Operation.ALL, *_OF_OTHER_TYPES.get(kind, ())):
            for pattern in _patterns(kind):
                about = f"{operation.name} {kind.name} {pattern}"
                yield Acls(name=f"allow {about}", entries=_about_all(kind, pattern, operation))
                denied = _about_all(kind, pattern, operation, permission_type=PermissionType.DENY)
                yield Acls(name=f"deny {about}", entries=[*EVERYTHING, *denied])
                if kind is not AclResourceType.CLUSTER:
                    # Some permissions on the cluster take the place of others.
                    entries = [*ALL_BUT_THE_CLUSTER, *denied]
                    yield Acls(name=f"deny {about}, without the cluster", entries=entries)


# Kafka asks for DELETE on the cluster, which it does not count among what can be done with it.
_OF_OTHER_TYPES = {AclResourceType.CLUSTER: (Operation.DELETE,), AclResourceType.GROUP: (Operation.WRITE,)}


def _special() -> Iterator[Acls]:
    yield Acls(name="none", entries=[])
    yield Acls(name="everything", entries=EVERYTHING)
    yield Acls(name="everything, without the cluster", entries=ALL_BUT_THE_CLUSTER)
    for kind in NAMES:
        if kind is not AclResourceType.CLUSTER:
            near = [_acl(kind, PREFIX, Operation.ALL)]
            yield Acls(name=f"near {kind.name}: the prefix as a name", entries=near)
            prefixed = {"resource_pattern_type": PatternType.PREFIXED}
            longer = [_acl(kind, f"{name}-", Operation.ALL, **prefixed) for name in NAMES[kind]]
            yield Acls(name=f"near {kind.name}: a longer prefix", entries=longer)
    for about, fields in (
        ("another host", {"host": "127.0.0.9"}),
        ("this host", {"host": "127.0.0.1"}),
        ("another principal", {"principal": "User:somebody"}),
        ("another type of principal", {"principal": "Group:ANONYMOUS"}),
        ("everybody", {"principal": "User:*"}),
    ):
        allowed = [{**acl, **fields} for acl in EVERYTHING]
        yield Acls(name=f"allow {about}", entries=allowed)
        denied = [{**acl, "permission_type": PermissionType.DENY} for acl in allowed]
        yield Acls(name=f"deny {about}", entries=[*EVERYTHING, *denied])


ACL_SETS: Sequence[Acls] = [*_special(), *_product()]


# --------------------------------------------------------------------------------------------------------------
# Probes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    key: ApiKey
    about: str
    version: int
    given: Mapping[str, Any] = field(default_factory=dict)
    listener: ListenerKind = ListenerKind.BROKER

    @property
    def name(self) -> str:
        where = "" if self.listener is ListenerKind.BROKER else "@controller"
        return " ".join(filter(None, (self.key.title, str(self.version), self.about, where)))


def _probe(
    key: ApiKey, about: str, versions: int | Sequence[int], given: Mapping[str, Any] | None = None
) -> list[Probe]:
    asked = [versions] if isinstance(versions, int) else versions
    return [Probe(key=key, about=about, version=version, given=given or {}) for version in asked]


def _at_controller(probes: list[Probe]) -> list[Probe]:
    return [
        Probe(
            key=each.key,
            about=each.about,
            version=each.version,
            given=each.given,
            listener=ListenerKind.CONTROLLER,
        )
        for each in probes
    ]


def _batch(**producer: Any) -> bytes:
    return bytes(encode_batch([(1_700_000_000_000, None, b"value", ())], **producer))


def _produce(topics: Sequence[Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    return {"acks": 1, "timeout_ms": 10_000, "topic_data": topics, "transactional_id": None, **fields}


def _produced(topic: Mapping[str, Any], batch: bytes) -> dict[str, Any]:
    return {**topic, "partition_data": [{"index": 0, "records": batch}]}


_TRANSACTIONAL = {"producer_id": NOBODY, "producer_epoch": 0, "base_sequence": 0, "transactional": True}


def _records() -> Iterator[list[Probe]]:
    both = [_produced({"name": TOPIC}, _batch()), _produced({"name": MISSING_TOPIC}, _batch())]
    yield _probe(ApiKey.PRODUCE, "names", 9, _produce(both))
    by_id = [_produced({"topic_id": TopicId(TOPIC)}, _batch()), _produced({"topic_id": TopicId("no")}, _batch())]
    yield _probe(ApiKey.PRODUCE, "ids", 13, _produce(by_id))
    transactional = [_produced({"name": TOPIC}, _batch(**_TRANSACTIONAL))]
    yield _probe(ApiKey.PRODUCE, "transactional", 11, _produce(transactional, transactional_id=TRANSACTION))
    yield _probe(ApiKey.PRODUCE, "transactional without an id", 11, _produce(transactional))

    def fetched(**topic: Any) -> dict[str, Any]:
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, "current_leader_epoch": -1}
        return {**topic, "partitions": [{**partition, "log_start_offset": -1, "last_fetched_epoch": -1}]}

    read = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "session_epoch": -1, "session_id": 0, "replica_id": -1}
    names = [fetched(topic=TOPIC), fetched(topic=MISSING_TOPIC)]
    yield _probe(ApiKey.FETCH, "names", (4, 11), {**read, "topics": names})
    ids = [fetched(topic_id=TopicId(TOPIC)), fetched(topic_id=TopicId("no"))]
    yield _probe(ApiKey.FETCH, "ids", 13, {**read, "topics": ids})
    yield _probe(ApiKey.FETCH, "follower", 11, {**read, "replica_id": NOBODY, "topics": [fetched(topic=TOPIC)]})
    offsets = [
        {"name": name, "partitions": [{"partition_index": 0, "timestamp": -2, "current_leader_epoch": -1}]}
        for name in (TOPIC, MISSING_TOPIC)
    ]
    for replica in (-1, NOBODY):
        given = {"replica_id": replica, "isolation_level": 0, "topics": offsets}
        yield _probe(ApiKey.LIST_OFFSETS, f"by replica {replica}", 7, given)
    epochs = [
        {"topic": name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}
        for name in (TOPIC, MISSING_TOPIC)
    ]
    yield _probe(ApiKey.OFFSET_FOR_LEADER_EPOCH, "", (2, 4), {"replica_id": -1, "topics": epochs})
    producers = [{"name": name, "partition_indexes": [0]} for name in (TOPIC, MISSING_TOPIC, "b@d")]
    yield _probe(ApiKey.DESCRIBE_PRODUCERS, "", 0, {"topics": producers})
    deleted = [{"name": name, "partitions": [{"partition_index": 0, "offset": 0}]} for name in (TOPIC, MISSING_TOPIC)]
    yield _probe(ApiKey.DELETE_RECORDS, "", 2, {"topics": deleted, "timeout_ms": 10_000})


def _metadata() -> Iterator[list[Probe]]:
    def asked(*topics: Mapping[str, Any], create: bool = False, operations: bool = False) -> dict[str, Any]:
        return {
            "topics": list(topics),
            "allow_auto_topic_creation": create,
            "include_cluster_authorized_operations": operations,
            "include_topic_authorized_operations": operations,
        }

    named = [{"name": TOPIC}, {"name": MISSING_TOPIC}, {"name": "b@d"}]
    yield _probe(ApiKey.METADATA, "names", (1, 9), asked(*named))
    yield _probe(ApiKey.METADATA, "names, with operations", (8, 12), asked(*named, operations=True))
    yield _probe(ApiKey.METADATA, "to be created", 9, asked({"name": MISSING_TOPIC}, {"name": TOPIC}, create=True))
    yield _probe(ApiKey.METADATA, "all", (4, 12), {**asked(operations=True), "topics": None})
    by_id = [{"topic_id": TopicId(TOPIC), "name": None}, {"topic_id": TopicId("no"), "name": None}]
    yield _probe(ApiKey.METADATA, "ids", 12, asked(*by_id, operations=True))
    pages = [{"name": TOPIC}, {"name": MISSING_TOPIC}, {"name": OTHER_TOPIC}]
    limit = {"response_partition_limit": 100, "cursor": None}
    yield _probe(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "names", 0, {"topics": pages, **limit})
    yield _probe(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "all", 0, {"topics": [], **limit})
    after = {"topics": pages, "response_partition_limit": 100, "cursor": {"topic_name": TOPIC, "partition_index": 0}}
    yield _probe(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "after a cursor", 0, after)
    operations = {"include_cluster_authorized_operations": True}
    yield _probe(ApiKey.DESCRIBE_CLUSTER, "", 1, {**operations, "endpoint_type": 1})
    yield _at_controller(_probe(ApiKey.DESCRIBE_CLUSTER, "", 1, {**operations, "endpoint_type": 2}))
    yield _at_controller(_probe(ApiKey.DESCRIBE_CLUSTER, "asks for brokers", 1, {"endpoint_type": 1}))


def _groups() -> Iterator[list[Probe]]:
    keys = {"key_type": 0, "coordinator_keys": [GROUP, CONSUMER_GROUP], "key": GROUP}
    yield _probe(ApiKey.FIND_COORDINATOR, "group", (2, 4), keys)
    ids = {"key_type": 1, "coordinator_keys": [TRANSACTION, OPEN_TRANSACTION], "key": TRANSACTION}
    yield _probe(ApiKey.FIND_COORDINATOR, "transactional id", (3, 5), ids)
    member = {"group_id": GROUP, "member_id": "nobody", "generation_id": 1, "group_instance_id": None}
    protocols = [{"name": "range", "metadata": b""}]
    # The session timeout is refused.
    join = {"group_id": GROUP, "session_timeout_ms": 1, "protocol_type": "consumer", "protocols": protocols}
    yield _probe(ApiKey.JOIN_GROUP, "", (5, 9), {**join, "member_id": "", "rebalance_timeout_ms": 1})
    yield _probe(ApiKey.SYNC_GROUP, "", (3, 5), {**member, "protocol_type": "consumer", "protocol_name": "range"})
    yield _probe(ApiKey.SYNC_GROUP, "without a protocol", 5, {**member, "protocol_type": None, "protocol_name": None})
    yield _probe(ApiKey.HEARTBEAT, "", (0, 4), member)
    leaving = {"member_id": "nobody", "group_instance_id": None}
    yield _probe(ApiKey.LEAVE_GROUP, "", (1, 4), {"group_id": GROUP, "member_id": "nobody", "members": [leaving]})
    # A rebalance timeout is missing, which is refused.
    beat = {"group_id": CONSUMER_GROUP, "member_id": "new", "member_epoch": 0, "topic_partitions": []}
    yield _probe(ApiKey.CONSUMER_GROUP_HEARTBEAT, "", 0, {**beat, "subscribed_topic_names": [TOPIC, OTHER_TOPIC]})
    yield _probe(ApiKey.CONSUMER_GROUP_HEARTBEAT, "expression", 1, {**beat, "subscribed_topic_regex": "matrix.*"})
    commit = {"group_id": GROUP, "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    stored = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    named = [{"name": name, "partitions": [stored]} for name in (TOPIC, MISSING_TOPIC)]
    yield _probe(ApiKey.OFFSET_COMMIT, "names", (2, 8), {**commit, "retention_time_ms": -1, "topics": named})
    by_id = [{"topic_id": TopicId(name), "partitions": [stored]} for name in (TOPIC, "no")]
    yield _probe(ApiKey.OFFSET_COMMIT, "ids", 10, {**commit, "topics": by_id})
    one = {"group_id": GROUP, "topics": [{"name": n, "partition_indexes": [0]} for n in (TOPIC, MISSING_TOPIC)]}
    yield _probe(ApiKey.OFFSET_FETCH, "names", (1, 7), {**one, "require_stable": False})
    yield _probe(ApiKey.OFFSET_FETCH, "all", (2, 7), {"group_id": GROUP, "topics": None})
    yield _probe(ApiKey.OFFSET_FETCH, "groups", 8, {"groups": [one, {"group_id": CONSUMER_GROUP, "topics": None}]})
    yield _probe(ApiKey.OFFSET_FETCH, "all of groups", 9, {"groups": [{"group_id": GROUP, "topics": None}]})
    ids_of = [{"topic_id": TopicId(name), "partition_indexes": [0]} for name in (TOPIC, "no")]
    yield _probe(ApiKey.OFFSET_FETCH, "ids", 10, {"groups": [{"group_id": GROUP, "topics": ids_of}]})
    operations = {"include_authorized_operations": True}
    yield _probe(ApiKey.DESCRIBE_GROUPS, "", (1, 5), {"groups": [GROUP, CONSUMER_GROUP], **operations})
    yield _probe(ApiKey.CONSUMER_GROUP_DESCRIBE, "", 0, {"group_ids": [CONSUMER_GROUP, GROUP], **operations})
    yield _probe(ApiKey.LIST_GROUPS, "", (0, 4))


def _transactions() -> Iterator[list[Probe]]:
    init = {"transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    yield _probe(ApiKey.INIT_PRODUCER_ID, "idempotent", 4, {**init, "transactional_id": None})
    yield _probe(ApiKey.INIT_PRODUCER_ID, "transactional", (1, 5), {**init, "transactional_id": TRANSACTION})
    producer = {"producer_id": NOBODY, "producer_epoch": 0}
    topics = [{"name": name, "partitions": [0]} for name in (TOPIC, "__consumer_offsets")]
    for about, asked in (("", topics[:1]), ("with an internal topic", topics)):
        old = {
            "v3_and_below_transactional_id": TRANSACTION,
            "v3_and_below_producer_id": NOBODY,
            "v3_and_below_producer_epoch": 0,
            "v3_and_below_topics": asked,
        }
        yield _probe(ApiKey.ADD_PARTITIONS_TO_TXN, about, 3, old)
    one = {"transactional_id": TRANSACTION, **producer, "verify_only": True, "topics": topics[:1]}
    yield _probe(ApiKey.ADD_PARTITIONS_TO_TXN, "of a broker", 4, {"transactions": [one]})
    added = {"transactional_id": TRANSACTION, "group_id": GROUP, **producer}
    yield _probe(ApiKey.ADD_OFFSETS_TO_TXN, "", 3, added)
    stored = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    committed = [{"name": name, "partitions": [stored]} for name in (TOPIC, MISSING_TOPIC)]
    member = {"generation_id": -1, "member_id": "", "group_instance_id": None}
    yield _probe(ApiKey.TXN_OFFSET_COMMIT, "", 3, {**added, **member, "topics": committed})
    yield _probe(ApiKey.END_TXN, "", (1, 4), {"transactional_id": TRANSACTION, **producer, "committed": False})
    marked = [{"name": name, "partition_indexes": [0]} for name in (OTHER_TOPIC, MISSING_TOPIC)]
    marker = {**producer, "transaction_result": False, "topics": marked, "coordinator_epoch": 0}
    yield _probe(ApiKey.WRITE_TXN_MARKERS, "", 1, {"markers": [marker]})
    described = {"transactional_ids": [TRANSACTION, OPEN_TRANSACTION]}
    yield _probe(ApiKey.DESCRIBE_TRANSACTIONS, "", 0, described)
    yield _probe(ApiKey.LIST_TRANSACTIONS, "", (0, 1), {"duration_filter": -1})


def _configs() -> Iterator[list[Probe]]:
    given: dict[str, Any]
    loggers = {"resource_type": 8, "resource_name": NODE}
    resources = {
        "topic": {"resource_type": 2, "resource_name": TOPIC},
        "missing topic": {"resource_type": 2, "resource_name": MISSING_TOPIC},
        "group": {"resource_type": 32, "resource_name": GROUP},
        "broker": {"resource_type": 4, "resource_name": NODE},
        "all brokers": {"resource_type": 4, "resource_name": ""},
        "client metrics": {"resource_type": 16, "resource_name": "matrix-metrics"},
    }
    for about, resource in (*resources.items(), ("loggers", loggers)):
        keys = ["retention.ms"] if "topic" in about else ["log.retention.ms"]
        given = {"resources": [{**resource, "configuration_keys": keys}]}
        yield _probe(ApiKey.DESCRIBE_CONFIGS, about, 4, given)
    for about in ("topic", "all brokers"):
        given = {"resources": [{**resources[about], "configuration_keys": ["retention.ms"]}]}
        yield _at_controller(_probe(ApiKey.DESCRIBE_CONFIGS, about, 4, given))
    values = {
        "group": ("consumer.session.timeout.ms", "3600000"),
        "broker": ("log.cleaner.threads", "1"),
        "all brokers": ("log.cleaner.threads", "1"),
        "client metrics": ("interval.ms", "60000"),
    }
    for about, resource in resources.items():
        name, value = values.get(about, ("retention.ms", "600000"))
        incremental = [{"name": name, "value": value, "config_operation": 0}]
        given = {"resources": [{**resource, "configs": incremental}], "validate_only": True}
        yield _probe(ApiKey.INCREMENTAL_ALTER_CONFIGS, about, 1, given)
        yield _at_controller(_probe(ApiKey.INCREMENTAL_ALTER_CONFIGS, about, 1, given))
        if about != "broker":
            replaced = {**resource, "configs": [{"name": name, "value": value}]}
            yield _probe(ApiKey.ALTER_CONFIGS, about, 1, {"resources": [replaced], "validate_only": True})
    level = [{"name": "root", "value": "WARN", "config_operation": 0}]
    given = {"resources": [{**loggers, "configs": level}], "validate_only": True}
    yield _probe(ApiKey.INCREMENTAL_ALTER_CONFIGS, "loggers", 1, given)
    yield _at_controller(_probe(ApiKey.INCREMENTAL_ALTER_CONFIGS, "loggers", 1, given))
    yield _probe(ApiKey.LIST_CONFIG_RESOURCES, "", 1, {"resource_types": [2]})
    yield _probe(ApiKey.LIST_CONFIG_RESOURCES, "", 0)


def _topics() -> Iterator[list[Probe]]:
    def created(*names: str) -> dict[str, Any]:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
        return {"topics": topics, "timeout_ms": 10_000, "validate_only": True}

    fresh = f"{PREFIX}other-fresh"
    # One that can be created if its name is covered, one that exists, one that is there twice, and a bad name.
    names = (fresh, TOPIC, MISSING_TOPIC, "twice", "twice", "b@d")
    yield _probe(ApiKey.CREATE_TOPICS, "", (4, 7), created(*names))
    yield _at_controller(_probe(ApiKey.CREATE_TOPICS, "", 5, created(*names)))
    more = [{"name": name, "count": 2, "assignments": None} for name in (TOPIC, MISSING_TOPIC)]
    given = {"topics": more, "timeout_ms": 10_000, "validate_only": True}
    yield _probe(ApiKey.CREATE_PARTITIONS, "", 3, given)
    yield _at_controller(_probe(ApiKey.CREATE_PARTITIONS, "", 3, given))
    elected = {"election_type": 0, "topic_partitions": [{"topic": TOPIC, "partitions": [0]}], "timeout_ms": 10_000}
    yield _probe(ApiKey.ELECT_LEADERS, "", (0, 2), elected)
    moved = [{"name": TOPIC, "partitions": [{"partition_index": 0, "replicas": None}]}]
    yield _probe(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "", 0, {"topics": moved, "timeout_ms": 10_000})
    yield _probe(ApiKey.LIST_PARTITION_REASSIGNMENTS, "", 0, {"topics": None, "timeout_ms": 10_000})
    update = {"feature": "nothing.version", "max_version_level": 1, "upgrade_type": 1}
    given = {"feature_updates": [update], "validate_only": True, "timeout_ms": 10_000}
    yield _probe(ApiKey.UPDATE_FEATURES, "", 1, given)
    yield _probe(ApiKey.UNREGISTER_BROKER, "", 0, {"broker_id": NOBODY})
    quorum = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
    yield _probe(ApiKey.DESCRIBE_QUORUM, "", 1, quorum)
    for key, version, request in (
        (ApiKey.ELECT_LEADERS, 2, elected),
        (ApiKey.DESCRIBE_QUORUM, 1, quorum),
        (ApiKey.UNREGISTER_BROKER, 0, {"broker_id": NOBODY}),
    ):
        yield _at_controller(_probe(key, "", version, request))
    directory = {"path": "/nowhere", "topics": [{"name": TOPIC, "partitions": [0]}]}
    yield _probe(ApiKey.ALTER_REPLICA_LOG_DIRS, "", 2, {"dirs": [directory]})
    yield _probe(ApiKey.DESCRIBE_LOG_DIRS, "", (2, 4), {"topics": [{"topic": TOPIC, "partitions": [0]}]})


def _security() -> Iterator[list[Probe]]:
    nobodys = acl_filter(principal_filter="User:nobody")
    yield _probe(ApiKey.DESCRIBE_ACLS, "", (1, 3), nobodys)
    # The cluster does not have this name, which is refused.
    wrong = creation(resource_type=AclResourceType.CLUSTER, resource_name="another")
    yield _probe(ApiKey.CREATE_ACLS, "", (1, 3), {"creations": [wrong]})
    yield _probe(ApiKey.DELETE_ACLS, "", (1, 3), {"filters": [nobodys]})
    yield _at_controller(_probe(ApiKey.CREATE_ACLS, "", 3, {"creations": [wrong]}))
    yield _at_controller(_probe(ApiKey.DESCRIBE_ACLS, "", 3, nobodys))
    yield _probe(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "", 0, {"users": [{"name": "nobody"}]})
    deletions = [{"name": "nobody", "mechanism": 1}]
    yield _probe(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "", 0, {"deletions": deletions, "upsertions": []})
    users = [{"entity_type": "user", "match_type": 0, "match": "nobody"}]
    yield _probe(ApiKey.DESCRIBE_CLIENT_QUOTAS, "", 1, {"components": users, "strict": False})
    limit = {"key": "request_percentage", "value": 50.0, "remove": False}
    entry = {"entity": [{"entity_type": "user", "entity_name": "nobody"}], "ops": [limit]}
    yield _probe(ApiKey.ALTER_CLIENT_QUOTAS, "", 1, {"entries": [entry], "validate_only": True})


def envelope(principal: Principal, host: str = "127.0.0.1") -> dict[str, Any]:
    """With a CreateTopics of this principal in it, which creates nothing."""
    topics = [CreatableTopic(name=f"{PREFIX}other-fresh", num_partitions=1, replication_factor=1)]
    request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=True)
    data = b"".join(request_frame(ApiKey.CREATE_TOPICS, 5, 1, "raw", request))[LENGTH_SIZE:]
    sealed = seal(data, principal, host)
    return {name: getattr(sealed, name) for name in sealed.__slots__}


def _cluster_actions() -> Iterator[list[Probe]]:
    """What nodes ask each other, with something that makes it harmless to everybody who may ask it."""
    elsewhere = {"cluster_id": ANOTHER_CLUSTER}
    log = "__cluster_metadata"
    voted = {"partition_index": 0, "replica_epoch": 1, "replica_id": NOBODY, "last_offset_epoch": 0, "last_offset": 0}
    yield _probe(ApiKey.VOTE, "", (0, 2), {**elsewhere, "topics": [{"topic_name": log, "partitions": [voted]}]})
    led = {"partition_index": 0, "leader_id": NOBODY, "leader_epoch": 1}
    begun = {**elsewhere, "topics": [{"topic_name": log, "partitions": [led]}]}
    yield _probe(ApiKey.BEGIN_QUORUM_EPOCH, "", 0, begun)
    yield _probe(ApiKey.END_QUORUM_EPOCH, "", 0, begun)
    partition = {"partition": 0, "current_leader_epoch": 0, "fetch_offset": 0, "last_fetched_epoch": 0}
    fetched = [{"topic": log, "topic_id": bytes(15) + b"\x01", "partitions": [{**partition, "partition_max_bytes": 0}]}]
    read = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "replica_id": NOBODY}
    yield _probe(ApiKey.FETCH, "", (12, 13), {**elsewhere, **read, "topics": fetched})
    part = {"partition": 0, "current_leader_epoch": 0, "snapshot_id": {"end_offset": 0, "epoch": 0}, "position": 0}
    snapshot = {**elsewhere, "replica_id": NOBODY, "max_bytes": 1000}
    yield _probe(ApiKey.FETCH_SNAPSHOT, "", 0, {**snapshot, "topics": [{"name": log, "partitions": [part]}]})
    yield _probe(
        ApiKey.BROKER_REGISTRATION, "", 1, {**elsewhere, "broker_id": NOBODY, "incarnation_id": bytes(15) + b"\2"}
    )
    nobody = {"broker_id": NOBODY, "broker_epoch": 1}
    yield _probe(ApiKey.BROKER_HEARTBEAT, "", 0, {**nobody, "current_metadata_offset": 0})
    altered = {"partition_index": 0, "leader_epoch": 0, "new_isr": [NOBODY], "partition_epoch": 0}
    topic = {"topic_id": TopicId(TOPIC), "partitions": [altered]}
    yield _probe(ApiKey.ALTER_PARTITION, "", 2, {**nobody, "topics": [topic]})
    yield _probe(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "", 0, {**nobody, "directories": []})
    yield _probe(ApiKey.ALLOCATE_PRODUCER_IDS, "", 0, nobody)
    yield _probe(ApiKey.ENVELOPE, "of the same client", 0, envelope(PRINCIPAL))
    yield _probe(ApiKey.ENVELOPE, "of an administrator", 0, envelope(ADMINISTRATOR))


def _last() -> Iterator[list[Probe]]:
    """What puts an end to something that the others need."""
    partitions = [{"name": name, "partitions": [{"partition_index": 0}]} for name in (TOPIC, MISSING_TOPIC)]
    yield _probe(ApiKey.OFFSET_DELETE, "", 0, {"group_id": GROUP, "topics": partitions})
    yield _probe(ApiKey.DELETE_GROUPS, "", 2, {"groups_names": [GROUP, CONSUMER_GROUP, GROUP]})
    missing = [{"name": MISSING_TOPIC, "topic_id": bytes(16)}, {"name": None, "topic_id": TopicId("no")}]
    yield _probe(ApiKey.DELETE_TOPICS, "missing", 6, {"topics": missing, "timeout_ms": 10_000})
    both = [{"name": DOOMED_TOPIC, "topic_id": TopicId(DOOMED_TOPIC)}]
    yield _probe(ApiKey.DELETE_TOPICS, "name and id", 6, {"topics": both, "timeout_ms": 10_000})
    by_id = [{"name": None, "topic_id": TopicId(DOOMED_TOPIC)}]
    yield _probe(ApiKey.DELETE_TOPICS, "id", 6, {"topics": by_id, "timeout_ms": 10_000})
    for version in (1, 5):
        yield _probe(ApiKey.DELETE_TOPICS, "name", version, {"topic_names": [DOOMED_TOPIC], "timeout_ms": 10_000})
    yield _at_controller(
        _probe(ApiKey.DELETE_TOPICS, "name", 6, {"topics": [{"name": DOOMED_TOPIC}], "timeout_ms": 10_000})
    )


_PARTS: Sequence[Callable[[], Iterator[list[Probe]]]] = (
    _records,
    _metadata,
    _groups,
    _transactions,
    _configs,
    _topics,
    _security,
)


def _all_probes() -> list[Probe]:
    probes = [probe for part in _PARTS for found in part() for probe in found]
    probes += _at_controller([probe for found in _cluster_actions() for probe in found])
    probes += [probe for found in _last() for probe in found]
    assert len({probe.name for probe in probes}) == len(probes)
    return probes


PROBES: Sequence[Probe] = _all_probes()


def digest() -> str:
    """Changes with every probe and every ACL."""
    text = repr([(probe.name, probe.given) for probe in PROBES]) + repr(
        [(acls.name, acls.entries) for acls in ACL_SETS]
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]
