"""AlterPartition: which changes of in-sync sets are made, and which are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidelog.controller.in_sync import alter_partition
from tidelog.metadata.image import ClusterImage, LeaderRecovery, PartitionImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.alter_partition_response import PartitionData as PartitionAnswer

TOPIC_ID = b"t" * 16


def never(topic: str) -> bool:
    return False


def change(*isr: int, **fields: Any) -> PartitionData:
    """A request about the state that `make_cluster` makes: leader epoch 5, partition epoch 9, broker epochs 100 + n."""
    states = [BrokerState(broker_id=broker, broker_epoch=100 + broker) for broker in isr]
    return PartitionData(**{"leader_epoch": 5, "partition_epoch": 9, "new_isr_with_epochs": states, **fields})


def ask(
    image: ClusterImage, *changes: PartitionData, sender: int = 1, epoch: int | None = None, topic_id: bytes = TOPIC_ID
) -> tuple[list[PartitionAnswer], ClusterImage]:
    request = AlterPartitionRequest(
        broker_id=sender,
        broker_epoch=100 + sender if epoch is None else epoch,
        topics=[TopicData(topic_id=topic_id, partitions=changes)],
    )
    decision = alter_partition(image, request, unclean=never)
    assert not decision.reply.error_code
    return list(decision.reply.topics[0].partitions), apply(image, decision.records)[0]


def only(image: ClusterImage) -> PartitionImage:
    return image.topics["t"].partitions[0]


@pytest.fixture
def cluster(make_cluster: Callable[..., ClusterImage]) -> ClusterImage:
    return make_cluster(1, 2, 3, partitions=({"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1},))


@pytest.mark.parametrize("isr", [(1,), (1, 2, 3), (1, 3)])
def test_a_leader_changes_its_in_sync_set(cluster: ClusterImage, isr: tuple[int, ...]) -> None:
    (answer,), after = ask(cluster, change(*isr))
    assert (answer.error_code, tuple(answer.isr), answer.partition_epoch) == (0, isr, 10)
    assert (answer.leader_id, answer.leader_epoch) == (1, 5)
    assert (only(after).isr, only(after).partition_epoch, only(after).leader_epoch) == (isr, 10, 5)


def test_asking_for_what_is_already_so_changes_nothing_and_is_confirmed(cluster: ClusterImage) -> None:
    (answer,), after = ask(cluster, change(1, 2))
    assert (answer.error_code, tuple(answer.isr), answer.partition_epoch) == (0, (1, 2), 9)
    assert after is cluster or only(after) == only(cluster)


def test_a_repeated_request_is_refused_by_its_partition_epoch(cluster: ClusterImage) -> None:
    _, after = ask(cluster, change(1))
    (answer,), unchanged = ask(after, change(1))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert only(unchanged) == only(after)


@pytest.mark.parametrize(
    ("asked", "sender", "expected"),
    [
        (change(1, leader_epoch=4), 1, ErrorCode.FENCED_LEADER_EPOCH),
        # An old leader that is also behind in other respects hears of the leader epoch first.
        (change(1, leader_epoch=4, partition_epoch=3), 2, ErrorCode.FENCED_LEADER_EPOCH),
        (change(1, leader_epoch=6), 1, ErrorCode.NOT_CONTROLLER),
        (change(1, partition_epoch=10), 1, ErrorCode.NOT_CONTROLLER),
        (change(1, partition_epoch=8), 1, ErrorCode.INVALID_UPDATE_VERSION),
        (change(2), 2, ErrorCode.INVALID_REQUEST),
        (change(2, 3), 1, ErrorCode.INVALID_REQUEST),
        (change(1, 1, 2), 1, ErrorCode.INVALID_REQUEST),
        (change(1, 4), 1, ErrorCode.INVALID_REQUEST),
        (change(), 1, ErrorCode.INVALID_REQUEST),
        (change(1, 2, leader_recovery_state=1), 1, ErrorCode.INVALID_REQUEST),
        (change(1, leader_recovery_state=1), 1, ErrorCode.INVALID_REQUEST),
        (change(1, leader_recovery_state=7), 1, ErrorCode.INVALID_REQUEST),
        (change(1, partition_index=1), 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_refusals(cluster: ClusterImage, asked: PartitionData, sender: int, expected: ErrorCode) -> None:
    (answer,), after = ask(cluster, asked, sender=sender)
    assert answer.error_code == expected
    assert only(after) == only(cluster)


def test_an_unknown_topic_id_is_refused(cluster: ClusterImage) -> None:
    (answer,), _ = ask(cluster, change(1), topic_id=b"u" * 16)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("epoch", [99, 102, -1])
def test_a_broker_of_another_epoch_is_not_listened_to(cluster: ClusterImage, epoch: int) -> None:
    request = AlterPartitionRequest(broker_id=1, broker_epoch=epoch, topics=[])
    assert alter_partition(cluster, request, unclean=never).reply.error_code == ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize("state", [{"fenced": (3,)}, {"stopping": (3,)}])
def test_a_broker_that_is_fenced_or_stopping_does_not_come_in(
    make_cluster: Callable[..., ClusterImage], state: dict[str, Any]
) -> None:
    image = make_cluster(1, 2, 3, partitions=({"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1},), **state)
    (answer,), after = ask(image, change(1, 2, 3))
    assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA
    assert only(after).isr == (1, 2)


def test_a_restarted_broker_does_not_come_in_on_the_fetches_of_its_predecessor(cluster: ClusterImage) -> None:
    states = [BrokerState(broker_id=1, broker_epoch=101), BrokerState(broker_id=3, broker_epoch=77)]
    (answer,), _ = ask(cluster, change(new_isr_with_epochs=states))
    assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA


def test_unknown_broker_epochs_pass_and_version_2_has_none(cluster: ClusterImage) -> None:
    (answer,), _ = ask(cluster, change(new_isr_with_epochs=[BrokerState(broker_id=1), BrokerState(broker_id=3)]))
    assert tuple(answer.isr) == (1, 3)
    (answer,), _ = ask(cluster, change(new_isr_with_epochs=(), new_isr=(1, 2, 3)))
    assert tuple(answer.isr) == (1, 2, 3)


def test_the_same_partition_twice_is_changed_once(cluster: ClusterImage) -> None:
    (first, second), after = ask(cluster, change(1), change(1, 2, 3))
    assert (first.error_code, second.error_code) == (0, ErrorCode.INVALID_REQUEST)
    assert only(after).isr == (1,)


def test_a_leader_tells_that_it_has_recovered(make_cluster: Callable[..., ClusterImage]) -> None:
    image = make_cluster(1, 2, partitions=({"replicas": (1, 2), "isr": (1,), "leader": 1, "leader_recovery_state": 1},))
    (answer,), after = ask(image, change(1, leader_recovery_state=1))
    assert (answer.error_code, only(after).leader_recovery) == (0, LeaderRecovery.RECOVERING)
    (answer,), after = ask(image, change(1, 2))
    assert (answer.leader_recovery_state, only(after).leader_recovery) == (0, LeaderRecovery.RECOVERED)


def test_the_last_replica_that_comes_in_completes_a_reassignment(make_cluster: Callable[..., ClusterImage]) -> None:
    image = make_cluster(
        1,
        2,
        3,
        partitions=(
            {
                "replicas": (3, 1, 2),
                "isr": (1, 2),
                "leader": 1,
                "adding_replicas": (3,),
                "removing_replicas": (2,),
            },
        ),
    )
    (answer,), after = ask(image, change(1, 2, 3))
    assert (answer.error_code, tuple(answer.isr)) == (0, (1, 3))
    assert (only(after).replicas, only(after).isr, only(after).leader) == ((3, 1), (1, 3), 1)
    assert not only(after).reassigning
    # The replica that has left must notice that nobody counts on it any more.
    assert only(after).leader_epoch == 6
    assert answer.leader_epoch == 6


def test_a_leader_that_completes_its_own_removal_is_told_of_the_new_leader(
    make_cluster: Callable[..., ClusterImage],
) -> None:
    image = make_cluster(
        1,
        2,
        3,
        partitions=(
            {
                "replicas": (2, 3, 1),
                "isr": (1, 2),
                "leader": 1,
                "adding_replicas": (2, 3),
                "removing_replicas": (1,),
            },
        ),
    )
    (answer,), after = ask(image, change(1, 2, 3))
    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert (only(after).replicas, only(after).isr, only(after).leader) == ((2, 3), (2, 3), 2)
    assert only(after).leader_epoch == 6
