"""Chooses leaders, and keeps the in-sync replicas in step with which brokers are alive.

A clean leader always comes from the in-sync replicas, because only they have every acknowledged record. The last
replica that was in sync stays in the set even when it is dead: whoever comes back without having been in sync must
not lead, unless the topic allows unclean elections.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from tidelog.config.topic import TopicConfig
from tidelog.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    ClusterImage,
    LeaderRecovery,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.records import PartitionChangeRecord
from tidelog.metadata.replay import NO_LEADER_CHANGE
from tidelog.model.ids import Uuid

UncleanAllowed = Callable[[str], bool]


class Election(Enum):
    """PREFERRED moves the leadership to the first replica if it can lead; ONLINE keeps a leader that can go on;
    UNCLEAN takes any live replica when no in-sync one is left.
    """

    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """The outcome of an election; NO_LEADER if nobody can lead."""

    leader: int
    unclean: bool = False


def elect(
    partition: PartitionImage, *, isr: tuple[int, ...], acceptable: Callable[[int], bool], election: Election
) -> Elected:
    """Choose the leader from the in-sync replicas `isr`. `acceptable` says whether a broker is able to lead now."""

    def can_lead(broker: int) -> bool:
        return broker in isr and acceptable(broker)

    if election is Election.PREFERRED and can_lead(partition.preferred_leader):
        return Elected(leader=partition.preferred_leader)
    if can_lead(partition.leader):
        return Elected(leader=partition.leader)
    for broker in partition.replicas:
        if can_lead(broker):
            return Elected(leader=broker)
    if election is Election.UNCLEAN:
        for broker in partition.replicas:
            if acceptable(broker):
                return Elected(leader=broker, unclean=True)
    return Elected(leader=NO_LEADER)


def plan_change(
    topic_id: Uuid,
    number: int,
    partition: PartitionImage,
    *,
    isr: tuple[int, ...],
    acceptable: Callable[[int], bool],
    election: Election,
) -> PartitionChangeRecord | None:
    """The record that brings the partition to the new in-sync set and to its leader; None if nothing changes."""
    elected = elect(partition, isr=isr, acceptable=acceptable, election=election)
    leader_changes = elected.leader != partition.leader
    new_isr: tuple[int, ...] | None = None
    recovery = -1
    if elected.unclean and leader_changes:
        # What the others have may differ from what this leader has: they must follow it before they count again.
        new_isr = (elected.leader,)
        if partition.leader_recovery is not LeaderRecovery.RECOVERING:
            recovery = LeaderRecovery.RECOVERING
    elif isr and isr != partition.isr:
        new_isr = isr
    if not leader_changes and new_isr is None:
        return None
    return PartitionChangeRecord(
        partition_id=number,
        topic_id=topic_id,
        isr=new_isr,
        leader=elected.leader if leader_changes else NO_LEADER_CHANGE,
        leader_recovery_state=recovery,
    )


def unclean_allowed(image: ClusterImage, defaults: TopicConfig) -> UncleanAllowed:
    """Whether a topic, with its own properties on top of the brokers' defaults, allows unclean elections."""

    def allowed(topic: str) -> bool:
        return defaults.with_overrides(image.topic_config(topic)).unclean_leader_election_enable

    return allowed


def without_broker(image: ClusterImage, broker: int, unclean: UncleanAllowed) -> Iterator[PartitionChangeRecord]:
    """What happens to the partitions when a broker stops or dies: it leaves the in-sync sets, others lead."""
    others = {number: each for number, each in image.brokers.items() if number != broker}
    afterwards = dataclasses.replace(image, brokers=others)
    for topic, number, partition in image.all_partitions():
        if broker in partition.isr or broker == partition.leader:
            isr = tuple(each for each in partition.isr if each != broker)
            yield from _replan(afterwards, topic, number, isr, unclean)


def with_broker(image: ClusterImage, broker: int, unclean: UncleanAllowed) -> Iterator[PartitionChangeRecord]:
    """What happens when a broker is back: partitions without a leader may get one. Into the in-sync sets it comes
    only when leaders see that it has caught up.
    """
    unfenced = dataclasses.replace(image.brokers[broker], fenced=False)
    afterwards = dataclasses.replace(image, brokers={**image.brokers, broker: unfenced})
    for topic, number, partition in image.all_partitions():
        if partition.leader == NO_LEADER:
            yield from _replan(afterwards, topic, number, partition.isr, unclean)


def _replan(
    image: ClusterImage, topic: TopicImage, number: int, isr: tuple[int, ...], unclean: UncleanAllowed
) -> Iterator[PartitionChangeRecord]:
    partition = topic.partitions[number]
    record = plan_change(
        topic.id,
        number,
        partition,
        isr=isr,
        acceptable=lambda broker: can_lead(image, partition, broker),
        election=Election.UNCLEAN if unclean(topic.name) else Election.ONLINE,
    )
    if record is not None:
        yield record


def can_lead(image: ClusterImage, partition: PartitionImage, broker: int) -> bool:
    """Whether the broker is alive and the directory of its replica is online."""
    registered = image.brokers.get(broker)
    if registered is None or not registered.active:
        return False
    directory = partition.directory_of(broker)
    if directory in (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY):
        return True
    return directory != LOST_DIRECTORY and (not registered.directories or directory in registered.directories)
