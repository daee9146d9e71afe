"""Moving replicas to other brokers: begin, complete, replace, cancel, list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.controller.in_sync import alter_partition
from tidelog.controller.reassignment import alter_partition_reassignments, list_partition_reassignments
from tidelog.metadata.image import ClusterImage, PartitionImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.topic_record import TopicRecord

TOPIC_ID = b"t" * 16


def never(topic: str) -> bool:
    return False


def reassign(
    image: ClusterImage,
    replicas: tuple[int, ...] | None,
    *,
    number: int = 0,
    unclean: bool = False,
    factor_may_change: bool = True,
) -> tuple[int, ClusterImage]:
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=factor_may_change,
        topics=[
            ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=number, replicas=replicas)])
        ],
    )
    decision = alter_partition_reassignments(image, request, unclean=lambda topic: unclean)
    code = decision.reply.responses[0].partitions[0].error_code
    return code, apply(image, decision.records)[0]


def in_sync(image: ClusterImage, *isr: int) -> ClusterImage:
    """What the leader's AlterPartition makes of it."""
    partition = only(image)
    change = PartitionData(
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=broker) for broker in isr],
    )
    request = AlterPartitionRequest(
        broker_id=partition.leader,
        broker_epoch=image.brokers[partition.leader].epoch,
        topics=[TopicData(topic_id=TOPIC_ID, partitions=[change])],
    )
    return apply(image, alter_partition(image, request, unclean=never).records)[0]


def only(image: ClusterImage) -> PartitionImage:
    return image.topics["t"].partitions[0]


def shape(image: ClusterImage) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    partition = only(image)
    return partition.replicas, partition.adding_replicas, partition.removing_replicas


@pytest.fixture
def cluster(make_cluster: Callable[..., ClusterImage]) -> ClusterImage:
    return make_cluster(1, 2, 3, 4, 5, 6, partitions=({"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1},))


def test_a_move_begins_with_the_old_and_the_new_replicas_together(cluster: ClusterImage) -> None:
    code, image = reassign(cluster, (4, 5, 1))
    assert code == 0
    assert shape(image) == ((4, 5, 1, 2, 3), (4, 5), (2, 3))
    assert (only(image).isr, only(image).leader, only(image).leader_epoch) == ((1, 2, 3), 1, 5)
    assert [only(image).directory_of(broker) for broker in (4, 1)] == [b"directory-of-004", b"directory-of-001"]


def test_it_ends_when_all_new_replicas_are_in_sync(cluster: ClusterImage) -> None:
    _, image = reassign(cluster, (4, 5, 1))
    image = in_sync(image, 1, 2, 3, 4)
    assert shape(image) == ((4, 5, 1, 2, 3), (4, 5), (2, 3))
    image = in_sync(image, 1, 2, 3, 4, 5)
    assert shape(image) == ((4, 5, 1), (), ())
    assert (only(image).isr, only(image).leader, only(image).leader_epoch) == ((1, 4, 5), 1, 6)
    assert only(image).directories == (b"directory-of-004", b"directory-of-005", b"directory-of-001")


def test_a_leader_that_moves_away_hands_over(cluster: ClusterImage) -> None:
    _, image = reassign(cluster, (4, 5))
    image = in_sync(image, 1, 2, 3, 4, 5)
    assert shape(image) == ((4, 5), (), ())
    assert (only(image).isr, only(image).leader, only(image).leader_epoch) == ((4, 5), 4, 6)


def test_what_needs_no_new_replica_is_done_at_once(cluster: ClusterImage) -> None:
    _, image = reassign(cluster, (3, 1, 2))
    assert shape(image) == ((3, 1, 2), (), ())
    assert (only(image).leader, only(image).leader_epoch) == (1, 5)
    _, image = reassign(image, (3, 2))
    assert shape(image) == ((3, 2), (), ())
    assert (only(image).isr, only(image).leader, only(image).leader_epoch) == ((2, 3), 3, 6)


def test_going_on_as_before_is_no_change(cluster: ClusterImage) -> None:
    code, image = reassign(cluster, (1, 2, 3))
    assert (code, only(image)) == (0, only(cluster))


def test_a_cancelled_move_goes_back_to_the_replicas_from_before(cluster: ClusterImage) -> None:
    _, image = reassign(cluster, (4, 5, 1))
    image = in_sync(image, 1, 2, 3, 4)
    code, image = reassign(image, None)
    assert code == 0
    assert shape(image) == ((1, 2, 3), (), ())
    assert (only(image).isr, only(image).leader_epoch) == ((1, 2, 3), 6)


def test_there_must_be_something_to_cancel(cluster: ClusterImage) -> None:
    code, image = reassign(cluster, None)
    assert (code, only(image)) == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, only(cluster))


def test_cancelling_must_not_lose_records(cluster: ClusterImage) -> None:
    _, image = reassign(cluster, (4, 5, 6))
    image = in_sync(image, 1, 4, 5)
    # Broker 1 hands over and leaves the set: only new replicas have everything.
    handed_over = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=4)
    stranded, _ = apply(image, [handed_over])
    stranded = in_sync(stranded, 4, 5)
    code, unchanged = reassign(stranded, None)
    assert (code, only(unchanged)) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, only(stranded))
    code, image = reassign(stranded, None, unclean=True)
    assert (code, shape(image)) == (0, ((1, 2, 3), (), ()))
    assert only(image).leader in (1, 2, 3)


def test_a_move_can_be_replaced_and_still_be_cancelled(cluster: ClusterImage) -> None:
    _, image = reassign(cluster, (4, 5, 6))
    image = in_sync(image, 1, 2, 3, 4)
    _, image = reassign(image, (1, 2, 4))
    # 1, 2 and 4 are in sync, so this one is done at once.
    assert shape(image) == ((1, 2, 4), (), ())
    _, image = reassign(cluster, (4, 5, 6))
    _, image = reassign(image, (1, 2, 4))
    assert shape(image) == ((1, 2, 4, 5, 6, 3), (4, 5, 6), (5, 6, 3))
    code, cancelled = reassign(image, None)
    assert (code, set(only(cancelled).replicas), only(cancelled).reassigning) == (0, {1, 2, 3}, False)
    image = in_sync(image, 1, 2, 3, 4)
    assert shape(image) == ((1, 2, 4), (), ())


@pytest.mark.parametrize("replicas", [(), (1, 1), (1, 9)])
def test_impossible_targets_are_refused(cluster: ClusterImage, replicas: tuple[int, ...]) -> None:
    code, image = reassign(cluster, replicas)
    assert (code, only(image)) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, only(cluster))


def test_unknown_partitions_are_refused(cluster: ClusterImage) -> None:
    assert reassign(cluster, (1,), number=7)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_replication_factor_can_be_protected(cluster: ClusterImage) -> None:
    assert reassign(cluster, (4, 5), factor_may_change=False)[0] == ErrorCode.INVALID_REPLICATION_FACTOR
    code, image = reassign(cluster, (4, 5, 6), factor_may_change=False)
    assert code == 0
    # While a move is under way its target is what counts.
    assert reassign(image, (4, 5, 1), factor_may_change=False)[0] == 0
    assert reassign(image, (4, 5, 6, 1), factor_may_change=False)[0] == ErrorCode.INVALID_REPLICATION_FACTOR


def test_listing_shows_what_is_under_way(cluster: ClusterImage) -> None:
    assert list_partition_reassignments(cluster, ListPartitionReassignmentsRequest()).topics == []
    _, image = reassign(cluster, (4, 1))
    for topics in (None, [ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 5])]):
        (topic,) = list_partition_reassignments(image, ListPartitionReassignmentsRequest(topics=topics)).topics
        (ongoing,) = topic.partitions
        assert (topic.name, ongoing.partition_index) == ("t", 0)
        assert (ongoing.replicas, ongoing.adding_replicas, ongoing.removing_replicas) == ((4, 1, 2, 3), (4,), (2, 3))
    others = [ListPartitionReassignmentsTopics(name="u", partition_indexes=[0])]
    assert list_partition_reassignments(image, ListPartitionReassignmentsRequest(topics=others)).topics == []


BROKERS = st.integers(1, 5)
TARGETS = st.none() | st.lists(BROKERS, min_size=1, max_size=4, unique=True).map(tuple)


@settings(max_examples=200)
@given(st.lists(st.tuples(TARGETS, st.sets(BROKERS)), max_size=8))
def test_moves_never_take_away_the_last_replica_that_is_in_sync(
    steps: list[tuple[tuple[int, ...] | None, set[int]]],
) -> None:
    image, _ = apply(
        ClusterImage(cluster_id="c"),
        [
            *(RegisterBrokerRecord(broker_id=each, broker_epoch=each, fenced=False, rack=None) for each in range(1, 6)),
            TopicRecord(name="t", topic_id=TOPIC_ID),
            PartitionRecord(partition_id=0, topic_id=TOPIC_ID, replicas=(1, 2, 3), isr=(1, 2, 3), leader=1),
        ],
    )
    for target, caught_up in steps:
        before = only(image)
        _, image = reassign(image, target)
        assert set(only(image).isr) <= set(before.isr)
        now = only(image)
        image = in_sync(image, *(broker for broker in now.replicas if broker == now.leader or broker in caught_up))
        after = only(image)
        assert after.isr
        assert after.leader in after.isr
        assert set(after.isr) <= set(after.replicas)
        assert set(after.adding_replicas) | set(after.removing_replicas) <= set(after.replicas)
        assert len(after.directories) == len(after.replicas)
        # Whoever is in sync now was so before, or was reported by its leader.
        assert set(after.isr) <= {now.leader} | caught_up
