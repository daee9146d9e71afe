"""Who leads, and who counts as in sync, when brokers come and go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.config.topic import TopicConfig
from tidelog.controller.brokers import begin_controlled_shutdown, fence_broker, unfence_broker
from tidelog.controller.elections import Elected, Election, can_lead, elect, plan_change, unclean_allowed
from tidelog.metadata.image import (
    LOST_DIRECTORY,
    NO_LEADER,
    BrokerImage,
    ClusterImage,
    LeaderRecovery,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.replay import apply, merge_partition
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message

TOPIC_ID = Uuid(b"t" * 16)


def partition(replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, **fields: Any) -> PartitionImage:
    return PartitionImage(replicas=replicas, isr=isr, leader=leader, leader_epoch=5, partition_epoch=9, **fields)


@pytest.mark.parametrize(
    ("leader", "isr", "alive", "election", "expected"),
    [
        # A leader that can go on does.
        (2, (1, 2, 3), {1, 2, 3}, Election.ONLINE, Elected(leader=2)),
        (2, (1, 2, 3), {1, 2, 3}, Election.UNCLEAN, Elected(leader=2)),
        # The preferred leader takes over only when asked to, and only if it is in sync and alive.
        (2, (1, 2, 3), {1, 2, 3}, Election.PREFERRED, Elected(leader=1)),
        (2, (2, 3), {1, 2, 3}, Election.PREFERRED, Elected(leader=2)),
        (2, (1, 2, 3), {2, 3}, Election.PREFERRED, Elected(leader=2)),
        # Otherwise the first in-sync replica that is alive, in the order of the assignment.
        (2, (3, 1), {1, 3}, Election.ONLINE, Elected(leader=1)),
        (1, (1, 3), {2, 3}, Election.ONLINE, Elected(leader=3)),
        (NO_LEADER, (3,), {1, 2, 3}, Election.ONLINE, Elected(leader=3)),
        # Nobody rather than one who may lack acknowledged records...
        (1, (1,), {2, 3}, Election.ONLINE, Elected(leader=NO_LEADER)),
        (1, (1,), {2, 3}, Election.PREFERRED, Elected(leader=NO_LEADER)),
        # ... unless the topic prefers to go on.
        (1, (1,), {2, 3}, Election.UNCLEAN, Elected(leader=2, unclean=True)),
        (1, (1,), set(), Election.UNCLEAN, Elected(leader=NO_LEADER)),
    ],
)
def test_elections(leader: int, isr: tuple[int, ...], alive: set[int], election: Election, expected: Elected) -> None:
    elected = elect(partition((1, 2, 3), isr, leader), isr=isr, acceptable=alive.__contains__, election=election)
    assert elected == expected


def changed(
    current: PartitionImage, isr: tuple[int, ...], alive: set[int], election: Election = Election.ONLINE
) -> PartitionImage:
    brokers = {each: BrokerImage(id=each, epoch=1, incarnation_id=ZERO_UUID, fenced=False) for each in alive}
    topic = TopicImage(name="t", id=TOPIC_ID, partitions={0: current})
    record = plan_change(ClusterImage(cluster_id="c", brokers=brokers), topic, 0, isr=isr, election=election)
    return current if record is None else merge_partition(current, record)


def test_nothing_to_change_means_no_record() -> None:
    current = partition((1, 2), (1, 2), 1)
    assert changed(current, (1, 2), {1, 2}) is current


def test_a_smaller_in_sync_set_keeps_leader_and_leader_epoch() -> None:
    after = changed(partition((1, 2, 3), (1, 2, 3), 1), (1, 3), {1, 3})
    assert (after.isr, after.leader, after.leader_epoch, after.partition_epoch) == ((1, 3), 1, 5, 10)


def test_the_last_in_sync_replica_stays_in_the_set_when_it_dies() -> None:
    after = changed(partition((1, 2), (1,), 1), (), {2})
    assert (after.isr, after.leader, after.leader_epoch) == ((1,), NO_LEADER, 6)


def test_an_unclean_leader_is_alone_in_sync_and_has_to_recover() -> None:
    after = changed(partition((1, 2, 3), (1,), 1), (), {2, 3}, Election.UNCLEAN)
    assert (after.isr, after.leader, after.leader_epoch) == ((2,), 2, 6)
    assert after.leader_recovery is LeaderRecovery.RECOVERING


def test_unclean_elections_follow_the_topics_own_property() -> None:
    name = "unclean.leader.election.enable"
    image, _ = apply(
        ClusterImage(cluster_id="c"), [ConfigRecord(resource_type=2, resource_name="t", name=name, value="true")]
    )
    allowed = unclean_allowed(image, TopicConfig())
    assert (allowed("t"), allowed("u")) == (True, False)
    assert unclean_allowed(image, TopicConfig(unclean_leader_election_enable=True))("u")


def cluster(*partitions: PartitionRecord, fenced: tuple[int, ...] = ()) -> ClusterImage:
    records: list[Message] = [
        RegisterBrokerRecord(broker_id=each, broker_epoch=each, fenced=each in fenced, rack=None) for each in (1, 2, 3)
    ]
    topic = TopicRecord(name="t", topic_id=TOPIC_ID)
    return apply(ClusterImage(cluster_id="c"), [*records, topic, *partitions])[0]


def record(number: int, replicas: tuple[int, ...], isr: tuple[int, ...], leader: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=TOPIC_ID,
        replicas=replicas,
        isr=isr,
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
    )


def states(image: ClusterImage) -> list[tuple[tuple[int, ...], int]]:
    return [(each.isr, each.leader) for each in image.topics["t"].partitions.values()]


def never(topic: str) -> bool:
    return False


def test_fencing_moves_leaderships_and_shrinks_in_sync_sets() -> None:
    image = cluster(
        record(0, (1, 2, 3), (1, 2, 3), 1),
        record(1, (2, 1), (2, 1), 2),
        record(2, (1,), (1,), 1),
        record(3, (2, 3), (2, 3), 2),
    )
    decision = fence_broker(image, 1, unclean=never)
    after, delta = apply(image, decision.records)
    assert states(after) == [((2, 3), 2), ((2,), 2), ((1,), NO_LEADER), ((2, 3), 2)]
    assert after.brokers[1].fenced
    assert [each.partition for each in delta.partitions] == [0, 1, 2]


def test_unfencing_gives_leaders_to_partitions_without_one() -> None:
    image = cluster(
        record(0, (1,), (1,), NO_LEADER),
        record(1, (1, 2), (2,), 2),
        record(2, (2, 1), (2,), NO_LEADER),
        fenced=(1,),
    )
    after, _ = apply(image, unfence_broker(image, 1, unclean=never).records)
    assert not after.brokers[1].fenced
    # Partition 2 had a live in-sync replica all along; whoever sees it first helps it.
    assert states(after) == [((1,), 1), ((2,), 2), ((2,), 2)]


def test_a_broker_that_was_not_in_sync_does_not_lead_when_it_comes_back() -> None:
    image = cluster(record(0, (1, 2), (2,), NO_LEADER), fenced=(1, 2))
    after, _ = apply(image, unfence_broker(image, 1, unclean=never).records)
    assert states(after) == [((2,), NO_LEADER)]
    after, _ = apply(image, unfence_broker(image, 1, unclean=lambda topic: True).records)
    assert states(after) == [((1,), 1)]


def test_a_controlled_shutdown_moves_leaderships_while_the_broker_still_runs() -> None:
    image = cluster(record(0, (1, 2), (1, 2), 1), record(1, (1,), (1,), 1))
    after, _ = apply(image, begin_controlled_shutdown(image, 1, unclean=never).records)
    assert states(after) == [((2,), 2), ((1,), NO_LEADER)]
    assert (after.brokers[1].fenced, after.brokers[1].in_controlled_shutdown) == (False, True)
    # The broker asks until it has none left: nothing is written a second time.
    assert begin_controlled_shutdown(after, 1, unclean=never).records == ()


def test_a_broker_that_is_stopping_gets_no_leadership_back() -> None:
    image = cluster(record(0, (1,), (1,), 1))
    for decide in (begin_controlled_shutdown, fence_broker, unfence_broker):
        image, _ = apply(image, decide(image, 1, unclean=never).records)
    assert states(image) == [((1,), NO_LEADER)]


def test_a_replica_in_a_lost_directory_cannot_lead() -> None:
    known = b"known-directory!"
    broker = RegisterBrokerRecord(broker_id=1, broker_epoch=1, fenced=False, rack=None, log_dirs=(known,))
    image, _ = apply(ClusterImage(cluster_id="c"), [broker])
    for directory, expected in ((Uuid(known), True), (Uuid(b"other-directory!"), False), (LOST_DIRECTORY, False)):
        assert can_lead(image, partition((1,), (1,), 1, directories=(directory,)), 1) is expected
    assert can_lead(image, partition((1,), (1,), 1), 1)


@settings(max_examples=200)
@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(["fence", "unfence", "stop"]), st.integers(1, 3)), max_size=12),
)
def test_without_unclean_elections_only_in_sync_replicas_ever_lead(
    assignments: list[tuple[int, ...]], steps: list[tuple[str, int]]
) -> None:
    image = cluster(*(record(number, each, each, each[0]) for number, each in enumerate(assignments)))
    for action, broker in steps:
        before = image
        fenced = image.brokers[broker].fenced
        if action == "fence" and not fenced:
            image, _ = apply(image, fence_broker(image, broker, unclean=never).records)
        elif action == "unfence" and fenced:
            image, _ = apply(image, unfence_broker(image, broker, unclean=never).records)
        elif action == "stop" and not fenced:
            image, _ = apply(image, begin_controlled_shutdown(image, broker, unclean=never).records)
        for topic, number, now in image.all_partitions():
            earlier = before.topics[topic.name].partitions[number]
            assert now.isr
            # Nobody enters the in-sync set by the controller's own will.
            assert set(now.isr) <= set(earlier.isr)
            if now.leader != NO_LEADER:
                assert now.leader in now.isr
                assert image.is_active(now.leader)
            if now.leader != earlier.leader:
                assert now.leader_epoch == earlier.leader_epoch + 1
            else:
                assert now.leader_epoch == earlier.leader_epoch
            # As long as an in-sync replica is alive there is a leader.
            if any(image.is_active(each) for each in now.isr):
                assert now.leader != NO_LEADER
