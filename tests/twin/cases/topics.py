"""Metadata, and everything that makes, changes and describes topics and the cluster."""

from __future__ import annotations

from typing import Any

from twin.asking import UNKNOWN_ID, Case, TopicId, ask, script, step
from twin.state import EMPTY, MISSING, PLAIN

from tidelog.protocol.messages import ApiKey


def metadata(*names: str | None, create: bool = False, **fields: Any) -> dict[str, Any]:
    return {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": create, **fields}


_AUTHORIZED = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
_ASKED = ApiKey.METADATA

METADATA: list[Case] = [
    # Below version 4 every question may create the topic.
    ask(_ASKED, "an unknown topic", metadata(MISSING), versions=(4, 13), varied=True),
    ask(_ASKED, "a known topic", metadata(PLAIN)),
    ask(_ASKED, "two topics", metadata(PLAIN, EMPTY)),
    ask(_ASKED, "a topic twice", metadata(PLAIN, PLAIN)),
    ask(_ASKED, "known and unknown, and what may be done", metadata(PLAIN, MISSING, **_AUTHORIZED), versions=(4, 13)),
    ask(_ASKED, "a bad name", metadata("a b"), versions=(4, 13)),
    ask(_ASKED, "a bad name that may be created", metadata("a b", create=True)),
    ask(_ASKED, "an empty name", metadata(""), versions=(4, 13)),
    ask(_ASKED, "an empty name that may be created", metadata("", create=True)),
    ask(_ASKED, "a long name", metadata("x" * 250), versions=(4, 13)),
    ask(_ASKED, "a name like another", metadata("twin.plain"), versions=(4, 13)),
    ask(_ASKED, "no topics", metadata()),
    ask(_ASKED, "an internal topic", metadata("__consumer_offsets")),
    ask(_ASKED, "the metadata log", metadata("__cluster_metadata"), versions=(4, 13)),
    ask(_ASKED, "by id", {"topics": [{"name": None, "topic_id": TopicId(PLAIN)}]}, versions=(12, 13)),
    ask(_ASKED, "by an unknown id", {"topics": [{"name": None, "topic_id": UNKNOWN_ID}]}, versions=(12, 13)),
    ask(_ASKED, "by id where only names are allowed", {"topics": [{"topic_id": TopicId(PLAIN)}]}, versions=(10, 13)),
    ask(
        _ASKED,
        "an unknown id where only names are allowed",
        {"topics": [{"name": None, "topic_id": UNKNOWN_ID}]},
        versions=(10, 13),
    ),
    ask(_ASKED, "neither name nor id", {"topics": [{"name": None}]}, versions=(10, 13)),
    ask(
        _ASKED,
        "name and id",
        {"topics": [{"name": PLAIN, "topic_id": TopicId(PLAIN)}], "allow_auto_topic_creation": False},
        versions=(10, 13),
    ),
    ask(
        _ASKED,
        "ids and names",
        {
            "topics": [{"name": None, "topic_id": TopicId(PLAIN)}, {"name": None, "topic_id": UNKNOWN_ID}],
            "allow_auto_topic_creation": False,
        },
        versions=(12, 13),
    ),
    script(
        _ASKED,
        "a topic that comes into being",
        step(_ASKED, metadata("twin-auto-{run}", create=True)),
        step(_ASKED, metadata("twin-auto-{run}", create=True), until_done=True),
        step(_ASKED, metadata("twin-auto-{run}"), version=12),
        # On several nodes its place is drawn by lot.
        one_node=True,
    ),
    script(
        _ASKED,
        "two topics of which one comes into being",
        step(_ASKED, metadata(PLAIN, "twin-auto2-{run}", create=True)),
        step(_ASKED, metadata(PLAIN, "twin-auto2-{run}", create=True), until_done=True),
        step(_ASKED, metadata("twin-auto2-{run}"), version=12),
        one_node=True,
    ),
]


def create(name: str, *, validate_only: bool = True, **fields: Any) -> dict[str, Any]:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, **fields}
    return {"timeout_ms": 15_000, "validate_only": validate_only, "topics": [topic]}


def assigned(*replicas: list[int], **fields: Any) -> dict[str, Any]:
    assignments = [{"partition_index": number, "broker_ids": ids} for number, ids in enumerate(replicas)]
    return {"num_partitions": -1, "replication_factor": -1, "assignments": assignments, **fields}


def config(name: str, value: str | None) -> list[dict[str, Any]]:
    return [{"name": name, "value": value}]


def delete(*names: str) -> dict[str, Any]:
    return {"timeout_ms": 15_000, "topic_names": names, "topics": [{"name": name} for name in names]}


_CREATE = ApiKey.CREATE_TOPICS

TOPICS: list[Case] = [
    ask(_CREATE, "a new topic", create("twin-new"), varied=True),
    ask(_CREATE, "with the defaults", create("twin-new", num_partitions=-1, replication_factor=-1)),
    ask(_CREATE, "an existing topic", create(PLAIN)),
    ask(_CREATE, "a name that collides", create("twin.plain")),
    *[ask(_CREATE, f"the name {name[:9]!r}", create(name)) for name in ("a/b", "", "x" * 250, ".", "..", "a b", "ä")],
    ask(_CREATE, "the metadata log", create("__cluster_metadata")),
    ask(_CREATE, "no partitions", create("twin-new", num_partitions=0)),
    ask(_CREATE, "too many replicas", create("twin-new", replication_factor=9)),
    ask(_CREATE, "no replicas", create("twin-new", replication_factor=0)),
    ask(_CREATE, "an unknown config", create("twin-new", configs=config("nonsense", "1"))),
    ask(_CREATE, "a bad config", create("twin-new", configs=config("retention.ms", "x"))),
    ask(_CREATE, "a config without a value", create("twin-new", configs=config("retention.ms", None))),
    ask(_CREATE, "a config", create("twin-new", configs=config("retention.ms", "5000"))),
    ask(_CREATE, "a config twice", create("twin-new", configs=config("retention.ms", "1") * 2)),
    ask(_CREATE, "an assignment", create("twin-new", **assigned([1]))),
    ask(_CREATE, "an assignment to an unknown broker", create("twin-new", **assigned([9]))),
    ask(_CREATE, "an assignment to nobody", create("twin-new", **assigned([]))),
    ask(_CREATE, "an assignment to the same twice", create("twin-new", **assigned([1, 1]))),
    ask(_CREATE, "an assignment beside a count", create("twin-new", **assigned([1], num_partitions=2))),
    ask(_CREATE, "an assignment beside a factor", create("twin-new", **assigned([1], replication_factor=1))),
    ask(
        _CREATE,
        "an assignment with a gap",
        create(
            "twin-new",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[{"partition_index": 1, "broker_ids": [1]}],
        ),
    ),
    ask(_CREATE, "the same topic twice", {**create("twin-new"), "topics": create("twin-new")["topics"] * 2}),
    ask(_CREATE, "no topics", {"timeout_ms": 5000, "topics": []}),
    script(
        _CREATE,
        "created, described and deleted",
        step(_CREATE, create("twin-made-{run}", validate_only=False, **assigned([1], [1]))),
        step(_CREATE, create("twin-made-{run}", validate_only=False)),
        step(ApiKey.METADATA, metadata("twin-made-{run}"), version=12),
        step(ApiKey.DELETE_TOPICS, delete("twin-made-{run}"), version=5),
        step(ApiKey.METADATA, metadata("twin-made-{run}"), version=12),
    ),
    ask(ApiKey.DELETE_TOPICS, "a missing topic", delete(MISSING), varied=True),
    ask(ApiKey.DELETE_TOPICS, "no topics", delete()),
    ask(ApiKey.DELETE_TOPICS, "a missing topic twice", delete(MISSING, MISSING)),
    ask(ApiKey.DELETE_TOPICS, "an empty name", delete("")),
    ask(
        ApiKey.DELETE_TOPICS,
        "by an unknown id",
        {"timeout_ms": 5000, "topics": [{"name": None, "topic_id": UNKNOWN_ID}]},
        versions=(6, 6),
    ),
    ask(ApiKey.DELETE_TOPICS, "neither", {"timeout_ms": 5000, "topics": [{"name": None}]}, versions=(6, 6)),
    ask(
        ApiKey.DELETE_TOPICS,
        "name and id",
        {"timeout_ms": 5000, "topics": [{"name": EMPTY, "topic_id": TopicId(EMPTY)}]},
        versions=(6, 6),
    ),
    script(
        ApiKey.DELETE_TOPICS,
        "created and deleted",
        step(_CREATE, create("twin-gone-{run}", validate_only=False), version=7),
        step(ApiKey.DELETE_TOPICS, delete("twin-gone-{run}", MISSING)),
        step(ApiKey.METADATA, metadata("twin-gone-{run}"), version=12),
        step(ApiKey.DELETE_TOPICS, delete("twin-gone-{run}")),
    ),
    script(
        ApiKey.DELETE_TOPICS,
        "created and deleted by id",
        step(_CREATE, create("twin-gone2-{run}", validate_only=False), version=7),
        step(
            ApiKey.DELETE_TOPICS,
            {"timeout_ms": 5000, "topics": [{"name": None, "topic_id": TopicId("twin-gone2-{run}")}]},
        ),
        step(ApiKey.METADATA, metadata("twin-gone2-{run}"), version=12),
        versions=(6, 6),
    ),
]


def more(name: str, count: int, *replicas: list[int], validate_only: bool = True) -> dict[str, Any]:
    assignments = [{"broker_ids": ids} for ids in replicas] or None
    topics = [{"name": name, "count": count, "assignments": assignments}]
    return {"timeout_ms": 15_000, "validate_only": validate_only, "topics": topics}


_MORE = ApiKey.CREATE_PARTITIONS

PARTITIONS: list[Case] = [
    ask(_MORE, "more", more(PLAIN, 4), varied=True),
    *[
        ask(_MORE, f"{count} of {name!r}", more(name, count))
        for name in (PLAIN, MISSING, "")
        for count in (0, -1, 1, 3)
    ],
    ask(_MORE, "with an assignment", more(EMPTY, 2, [1])),
    ask(_MORE, "with an assignment to an unknown broker", more(EMPTY, 2, [9])),
    ask(_MORE, "with an assignment to nobody", more(EMPTY, 2, [])),
    ask(_MORE, "with an assignment to the same twice", more(EMPTY, 2, [1, 1])),
    ask(_MORE, "with too many assignments", more(EMPTY, 2, [1], [1])),
    ask(_MORE, "with too few assignments", more(EMPTY, 3, [1])),
    ask(_MORE, "the same topic twice", {**more(PLAIN, 4), "topics": more(PLAIN, 4)["topics"] * 2}),
    script(
        _MORE,
        "really",
        step(_CREATE, create("twin-grown-{run}", validate_only=False, **assigned([1])), version=7),
        step(_MORE, more("twin-grown-{run}", 3, [1], [1], validate_only=False)),
        step(ApiKey.METADATA, metadata("twin-grown-{run}"), version=12),
        step(ApiKey.DELETE_TOPICS, delete("twin-grown-{run}"), version=4),
    ),
]


def paged(*names: str, limit: int = 100, cursor: tuple[str, int] | None = None) -> dict[str, Any]:
    at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    return {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": at}


_PAGED = ApiKey.DESCRIBE_TOPIC_PARTITIONS

DESCRIPTIONS: list[Case] = [
    ask(_PAGED, "of topics", paged(EMPTY, PLAIN, MISSING), varied=True),
    ask(_PAGED, "of topics in another order", paged(PLAIN, MISSING, EMPTY)),
    ask(_PAGED, "of bad names", paged("a b", "")),
    ask(_PAGED, "of a topic twice", paged(PLAIN, PLAIN)),
    *[ask(_PAGED, f"a page of {limit}", paged(PLAIN, EMPTY, limit=limit)) for limit in (-1, 0, 1, 2, 3, 4, 5000)],
    *[
        ask(_PAGED, f"from {cursor}", paged(PLAIN, EMPTY, limit=2, cursor=cursor))
        for cursor in ((PLAIN, 1), (PLAIN, 0), (EMPTY, 0), (PLAIN, 9), (MISSING, 0), ("zzz", 0), ("", 0), (PLAIN, -1))
    ],
    *[
        ask(ApiKey.DESCRIBE_LOG_DIRS, f"of {topics}", {"topics": topics}, varied=number == 0)
        for number, topics in enumerate(
            (
                [{"topic": PLAIN, "partitions": [0, 1, 2]}],
                [{"topic": EMPTY, "partitions": [0]}],
                [{"topic": MISSING, "partitions": [0]}],
                [{"topic": PLAIN, "partitions": [9]}],
                [{"topic": PLAIN, "partitions": []}],
                [],
            )
        )
    ],
    ask(ApiKey.DESCRIBE_CLUSTER, "the brokers", {"endpoint_type": 1}, varied=True),
    ask(
        ApiKey.DESCRIBE_CLUSTER,
        "and what may be done",
        {"endpoint_type": 1, "include_cluster_authorized_operations": True},
    ),
    ask(ApiKey.DESCRIBE_CLUSTER, "with those that are fenced", {"endpoint_type": 1, "include_fenced_brokers": True}),
    *[ask(ApiKey.DESCRIBE_CLUSTER, f"endpoints of type {kind}", {"endpoint_type": kind}) for kind in (0, 2, 3, -1)],
    ask(ApiKey.API_VERSIONS, "of a client", {"client_software_name": "twin", "client_software_version": "1.0-x"}),
    *[
        ask(
            ApiKey.API_VERSIONS,
            f"of {name!r} {version!r}",
            {"client_software_name": name, "client_software_version": version},
        )
        for name, version in (("", ""), ("twin", ""), ("-twin", "1"), ("twin", "1."), ("a b", "1"), ("ä", "1"))
    ],
    *[
        ask(
            ApiKey.DESCRIBE_QUORUM,
            f"of {name}-{partition}",
            {"topics": [{"topic_name": name, "partitions": [{"partition_index": partition}]}]},
        )
        for name, partition in (("__cluster_metadata", 0), ("__cluster_metadata", 1), (PLAIN, 0), ("", 0))
    ],
    ask(ApiKey.DESCRIBE_QUORUM, "of nothing", {"topics": []}),
]


def moved(topic: str, partition: int, path: str = "/twin/nowhere") -> dict[str, Any]:
    return {"dirs": [{"path": path, "topics": [{"name": topic, "partitions": [partition]}]}]}


def elect(kind: int, partitions: list[Any] | None) -> dict[str, Any]:
    return {"election_type": kind, "topic_partitions": partitions, "timeout_ms": 15_000}


def reassign(topic: str, partition: int, replicas: list[int] | None, **fields: Any) -> dict[str, Any]:
    partitions = [{"partition_index": partition, "replicas": replicas}]
    return {"timeout_ms": 15_000, "topics": [{"name": topic, "partitions": partitions}], **fields}


def reassignments(topics: list[Any] | None) -> dict[str, Any]:
    return {"timeout_ms": 15_000, "topics": topics}


PLACEMENT: list[Case] = [
    *[
        ask(ApiKey.ELECT_LEADERS, f"type {kind} of {name}", elect(kind, partitions), varied=kind == 0 and name == PLAIN)
        for kind in (0, 1, 2)
        for name, partitions in (
            (PLAIN, [{"topic": PLAIN, "partitions": [0, 1]}]),
            ("two", [{"topic": PLAIN, "partitions": [0]}, {"topic": EMPTY, "partitions": [0]}]),
            (MISSING, [{"topic": MISSING, "partitions": [0]}]),
            ("9", [{"topic": PLAIN, "partitions": [9]}]),
            ("none", []),
            ("all", None),
        )
    ],
    *[
        ask(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            f"{topic}-{partition} to {replicas}",
            reassign(topic, partition, replicas),
            varied=replicas == [9],
        )
        for topic, partition, replicas in (
            (PLAIN, 0, None),
            (EMPTY, 0, [9]),
            (EMPTY, 0, [1, 1]),
            (EMPTY, 0, []),
            (EMPTY, 9, [1]),
            (MISSING, 0, [1]),
            (MISSING, 0, None),
            (EMPTY, 0, [-1]),
        )
    ],
    ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "to where it is", reassign(EMPTY, 0, [1]), one_node=True),
    ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "nothing", {"timeout_ms": 15_000, "topics": []}),
    ask(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        "without another factor",
        reassign(EMPTY, 0, [9], allow_replication_factor_change=False),
    ),
    *[
        ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, f"of {topics}", reassignments(topics), varied=bool(topics))
        for topics in (
            None,
            [],
            [{"name": PLAIN, "partition_indexes": [0, 9]}],
            [{"name": MISSING, "partition_indexes": [0]}],
        )
    ],
    *[
        ask(ApiKey.ALTER_REPLICA_LOG_DIRS, f"{topic}-{partition} to {path!r}", moved(topic, partition, path))
        for topic, partition, path in (
            (PLAIN, 0, "/twin/nowhere"),
            (PLAIN, 0, "twin"),
            (PLAIN, 0, ""),
            (PLAIN, 9, "/twin/nowhere"),
            (MISSING, 0, "/twin/nowhere"),
        )
    ],
    ask(ApiKey.ALTER_REPLICA_LOG_DIRS, "nothing", {"dirs": []}),
    *[ask(ApiKey.UNREGISTER_BROKER, f"{broker}", {"broker_id": broker}) for broker in (9, -1, 2_000_000_000)],
]

CASES = [*METADATA, *TOPICS, *PARTITIONS, *DESCRIPTIONS, *PLACEMENT]
