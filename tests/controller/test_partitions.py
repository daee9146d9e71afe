"""CreatePartitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.controller.partitions import create_partitions
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)

MakeCluster = Callable[..., ClusterImage]

TWO_REPLICAS = ({"replicas": (1, 2), "isr": (1, 2), "leader": 1},)


def grow(
    count: int, *assignments: tuple[int, ...], name: str = "t", validate_only: bool = False
) -> CreatePartitionsRequest:
    assigned = tuple(CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments) or None
    topic = CreatePartitionsTopic(name=name, count=count, assignments=assigned)
    return CreatePartitionsRequest(topics=(topic,), validate_only=validate_only)


def test_a_topic_grows_with_its_own_replication_factor(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, 3, partitions=TWO_REPLICAS)
    decision = create_partitions(image, grow(4), placement_start=0)
    (result,) = decision.reply.results
    assert (result.name, result.error_code, result.error_message) == ("t", 0, None)
    grown = apply(image, decision.records)[0].topics["t"]
    assert list(grown.partitions) == [0, 1, 2, 3]
    assert grown.partitions[0] == image.topics["t"].partitions[0]
    assert [len(each.replicas) for each in grown.partitions.values()] == [2, 2, 2, 2]


def test_replicas_can_be_chosen(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, 3, fenced=(3,), partitions=TWO_REPLICAS)
    decision = create_partitions(image, grow(3, (3, 1), (2, 3)), placement_start=0)
    grown = apply(image, decision.records)[0].topics["t"].partitions
    assert [(grown[number].replicas, grown[number].isr, grown[number].leader) for number in (1, 2)] == [
        ((3, 1), (1,), 1),
        ((2, 3), (2,), 2),
    ]


def test_validating_adds_nothing(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, partitions=TWO_REPLICAS)
    decision = create_partitions(image, grow(4, validate_only=True), placement_start=0)
    assert (decision.records, decision.reply.results[0].error_code) == ((), 0)


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (grow(3, name="u"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic 'u' does not exist"),
        (grow(1), ErrorCode.INVALID_PARTITIONS, "1 is not more"),
        (grow(0), ErrorCode.INVALID_PARTITIONS, "cannot be removed"),
        (grow(-5), ErrorCode.INVALID_PARTITIONS, "cannot be removed"),
        (grow(2**31 - 1), ErrorCode.POLICY_VIOLATION, "at most 10000"),
        (grow(3, (1, 2)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "2 partitions would be added, but 1 are assigned"),
        (grow(2, (1,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "other partitions of the topic have 2"),
        (grow(2, (1, 9)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker 9 is not registered"),
        (grow(2, (1, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "more than once"),
        (grow(2, (3, 4)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "is alive"),
    ],
)
def test_what_cannot_grow_is_explained(
    make_cluster: MakeCluster, request_: CreatePartitionsRequest, code: ErrorCode, message: str
) -> None:
    image = make_cluster(1, 2, 3, 4, fenced=(3, 4), partitions=TWO_REPLICAS)
    decision = create_partitions(image, request_, placement_start=0)
    (result,) = decision.reply.results
    assert (decision.records, result.error_code) == ((), code)
    assert message in (result.error_message or "")


def test_a_topic_with_more_replicas_than_brokers_left_cannot_grow(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, partitions=TWO_REPLICAS)
    decision = create_partitions(image, grow(2), placement_start=0)
    assert decision.reply.results[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_topic_named_twice_does_not_grow(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, partitions=TWO_REPLICAS)
    twice = CreatePartitionsRequest(topics=(*grow(2).topics, *grow(3).topics))
    decision = create_partitions(image, twice, placement_start=0)
    assert decision.records == ()
    assert [each.error_code for each in decision.reply.results] == [ErrorCode.INVALID_REQUEST]
