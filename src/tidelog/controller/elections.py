"""Chooses leaders, and keeps the in-sync replicas in step with which brokers are alive.

A clean leader always comes from the in-sync replicas, because only they have every acknowledged record, or, where that
feature is used and none of them is left, from the eligible ones (`tidelog.controller.eligible_leaders`). Without it the
last replica that was in sync stays in the set even when it is dead: whoever comes back without having been in sync
must not lead, unless the topic allows unclean elections.

Every change of a partition, whoever asks for it, becomes a record in `plan_change`: there a reassignment is completed
as soon as the in-sync set allows it. Requests are decided in `in_sync`, `leader_election` and `reassignment`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from enum import Enum

from tidelog.config.topic import TopicConfig
from tidelog.controller.eligible_leaders import EligibleRules, eligible_rules, last_leader, next_eligible
from tidelog.metadata.image import (
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    ClusterImage,
    LeaderRecovery,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.replay import NO_LEADER_CHANGE
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord

UncleanAllowed = Callable[[str], bool]


def nobody(broker: int) -> bool:
    return False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Which brokers have replicas, the preferred leader first, and which of them come or go in a reassignment."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @classmethod
    def of(cls, partition: PartitionImage) -> Assignment:
        return cls(replicas=partition.replicas, adding=partition.adding_replicas, removing=partition.removing_replicas)

    def completed(self, isr: tuple[int, ...]) -> Assignment:
        """Without the replicas that go, once all that stay are in sync; until then nothing changes."""
        staying = tuple(broker for broker in self.replicas if broker not in self.removing)
        if staying and set(staying) <= set(isr):
            return Assignment(replicas=staying)
        return self


def elect(
    partition: PartitionImage,
    *,
    isr: tuple[int, ...],
    acceptable: Callable[[int], bool],
    election: Election,
    replicas: tuple[int, ...] | None = None,
    eligible: tuple[int, ...] = (),
    last_leader: int = NO_LEADER,
    bereft: Callable[[int], bool] = nobody,
) -> Elected:
    """Choose the leader from the in-sync replicas `isr`, or from the `eligible` ones if there are none. `acceptable`
    says whether a broker is able to lead now; `replicas` are those of the partition where they are about to change;
    `last_leader` may lead again if nobody else is left. `bereft` says whether a broker is alive but has lost the
    directory of its replica: an unclean election takes it before nobody leads.
    """
    candidates = partition.replicas if replicas is None else replicas

    def can_lead(broker: int) -> bool:
        return broker in (isr or eligible) and acceptable(broker)

    if election is Election.PREFERRED and candidates and can_lead(candidates[0]):
        return Elected(leader=candidates[0])
    if can_lead(partition.leader):
        return Elected(leader=partition.leader)
    for broker in candidates:
        if can_lead(broker):
            return Elected(leader=broker)
    if not isr and not eligible and last_leader in candidates and acceptable(last_leader):
        return Elected(leader=last_leader, unclean=True)
    if election is Election.UNCLEAN:
        for able in (acceptable, bereft):
            for broker in candidates:
                if able(broker):
                    return Elected(leader=broker, unclean=True)
    return Elected(leader=NO_LEADER)


def plan_change(
    image: ClusterImage,
    topic: TopicImage,
    number: int,
    *,
    election: Election,
    isr: tuple[int, ...] | None = None,
    assignment: Assignment | None = None,
    directory_of: Callable[[int], Uuid] | None = None,
    recovered: bool = False,
    lost: frozenset[int] = frozenset(),
    bereft_may_lead: bool = False,
) -> PartitionChangeRecord | None:
    """The record that brings the partition to the new in-sync set, assignment and leader; None if nothing changes.

    The image says which brokers are able to lead. `directory_of` is needed for replicas that are new or are in another
    directory than before. `recovered` says that the leader has repaired what an unclean election left behind, `lost`
    are brokers that have come back from a crash (`tidelog.controller.eligible_leaders`). With `bereft_may_lead` an
    unclean election also takes a broker that has lost the directory of its replica.
    """
    partition = topic.partitions[number]
    if isr is None:
        isr = partition.isr
    directory_of = directory_of or partition.directory_of
    located = dataclasses.replace(partition, directories=tuple(map(directory_of, partition.replicas)))

    def acceptable(broker: int) -> bool:
        return can_lead(image, located, broker)

    rules = eligible_rules(image, topic.name, lost=lost)
    before = Assignment.of(partition)
    after = (before if assignment is None else assignment).completed(isr)
    if after.replicas != before.replicas:
        isr = tuple(broker for broker in isr if broker in after.replicas)
    eligible = next_eligible(rules, partition, isr=isr, replicas=after.replicas)
    last_known = partition.last_known_eligible_leaders
    elected = elect(
        partition,
        isr=isr,
        acceptable=acceptable,
        election=election,
        replicas=after.replicas,
        eligible=eligible,
        last_leader=last_known[0] if rules is not None and len(last_known) == 1 else NO_LEADER,
        bereft=(lambda broker: is_bereft(image, partition, broker)) if bereft_may_lead else nobody,
    )
    new_isr, eligible, recovery = _consequences(
        partition, elected, isr=isr, eligible=eligible, recovered=recovered, may_be_empty=rules is not None
    )
    directories = {broker: directory_of(broker) for broker in after.replicas}
    if elected.leader != partition.leader and elected.unclean and not acceptable(elected.leader):
        # Its directory is gone. It begins again, empty, in another one, which it chooses itself.
        directories[elected.leader] = UNASSIGNED_DIRECTORY
    record = PartitionChangeRecord(
        partition_id=number,
        topic_id=topic.id,
        isr=new_isr,
        leader=_leader_change(partition, elected, after),
        leader_recovery_state=recovery,
        replicas=_changed(after.replicas, before.replicas),
        adding_replicas=_changed(after.adding, before.adding),
        removing_replicas=_changed(after.removing, before.removing),
        directories=_directory_change(partition, directories),
        eligible_leader_replicas=_changed(eligible, partition.eligible_leaders),
        last_known_elr=_changed(_last_known(partition, elected, new_isr, rules), last_known),
    )
    return record if record != PartitionChangeRecord(partition_id=number, topic_id=topic.id) else None


def _last_known(
    partition: PartitionImage, elected: Elected, new_isr: tuple[int, ...] | None, rules: EligibleRules | None
) -> tuple[int, ...]:
    if elected.leader != NO_LEADER or rules is None:
        return ()
    return (last_leader(partition),) if new_isr == () else partition.last_known_eligible_leaders


def _changed(after: tuple[int, ...], before: tuple[int, ...]) -> tuple[int, ...] | None:
    return after if after != before else None


def _leader_change(partition: PartitionImage, elected: Elected, after: Assignment) -> int:
    # A replica that is taken away must not count any more, even if it has not learned of that yet: its leader begins a
    # new epoch, in which it is not known.
    leaves = not set(partition.replicas) <= set(after.replicas)
    return elected.leader if elected.leader != partition.leader or leaves else NO_LEADER_CHANGE


def _directory_change(partition: PartitionImage, directories: dict[int, Uuid]) -> tuple[Uuid, ...] | None:
    moves = tuple(directories) != partition.replicas
    relocated = moves or any(partition.directory_of(broker) != at for broker, at in directories.items())
    return tuple(directories.values()) if relocated else None


def _consequences(
    partition: PartitionImage,
    elected: Elected,
    *,
    isr: tuple[int, ...],
    eligible: tuple[int, ...],
    recovered: bool,
    may_be_empty: bool,
) -> tuple[tuple[int, ...] | None, tuple[int, ...], int]:
    """The new in-sync set (None if it stays), the eligible replicas, and the new state of recovery (-1 if it stays)."""
    if elected.leader in eligible:
        # It has all that is committed. The others follow it before they count again.
        isr = (elected.leader,)
        eligible = tuple(broker for broker in eligible if broker != elected.leader)
    if elected.unclean and elected.leader != partition.leader:
        # What the others have may differ from what this leader has: they must follow it before they count again.
        begins = partition.leader_recovery is not LeaderRecovery.RECOVERING
        return (elected.leader,), (), LeaderRecovery.RECOVERING if begins else -1
    new_isr = isr if (isr or may_be_empty) and isr != partition.isr else None
    ends = recovered and partition.leader_recovery is not LeaderRecovery.RECOVERED
    return new_isr, eligible, LeaderRecovery.RECOVERED if ends else -1


def unclean_allowed(image: ClusterImage, defaults: TopicConfig) -> UncleanAllowed:
    """Whether a topic, with its own properties on top of the brokers' defaults, allows unclean elections."""

    def allowed(topic: str) -> bool:
        return defaults.with_overrides(image.topic_config(topic)).unclean_leader_election_enable

    return allowed


def without_broker(
    image: ClusterImage, broker: int, unclean: UncleanAllowed, *, crashed: bool = False
) -> Iterator[PartitionChangeRecord]:
    """What happens to the partitions when a broker stops or dies: it leaves the in-sync sets, others lead.

    If it has `crashed` and come back, it may have lost records, and is not an eligible leader either.
    """
    others = {number: each for number, each in image.brokers.items() if number != broker}
    afterwards = dataclasses.replace(image, brokers=others)
    lost = frozenset({broker}) if crashed else frozenset()
    for topic, number, partition in image.all_partitions():
        concerned = broker in partition.isr or broker == partition.leader
        if concerned or (crashed and broker in partition.eligible_leaders):
            isr = tuple(each for each in partition.isr if each != broker)
            yield from _replan(afterwards, topic, number, isr, unclean, lost)


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
    image: ClusterImage,
    topic: TopicImage,
    number: int,
    isr: tuple[int, ...],
    unclean: UncleanAllowed,
    lost: frozenset[int] = frozenset(),
) -> Iterator[PartitionChangeRecord]:
    record = plan_change(
        image,
        topic,
        number,
        isr=isr,
        election=Election.UNCLEAN if unclean(topic.name) else Election.ONLINE,
        lost=lost,
        bereft_may_lead=True,
    )
    if record is not None:
        yield record


def can_lead(image: ClusterImage, partition: PartitionImage, broker: int) -> bool:
    """Whether the broker is alive and the directory of its replica is online."""
    return image.is_active(broker) and image.has_online_directory(partition, broker)


def is_bereft(image: ClusterImage, partition: PartitionImage, broker: int) -> bool:
    """Whether the broker is alive and has directories, but not the one where its replica was."""
    return (
        image.is_active(broker)
        and bool(image.brokers[broker].directories)
        and not image.has_online_directory(partition, broker)
    )
