"""Chooses brokers for the replicas of new partitions.

Goals, the first the strongest: a leader that is alive; replicas of a partition in as many racks as possible; live
brokers before fenced ones; leaders, and the followers of each leader, spread evenly over the brokers. Randomness comes
in as a number, so that the same number gives the same placement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from tidelog.controller.decision import Refusal
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementCandidate:
    """A broker that can take replicas."""

    id: int
    rack: str | None
    fenced: bool


def candidates(image: ClusterImage) -> tuple[PlacementCandidate, ...]:
    """The registered brokers, without those that are about to stop."""
    return tuple(
        PlacementCandidate(id=broker.id, rack=broker.rack, fenced=broker.fenced)
        for broker in image.brokers.values()
        if not broker.in_controlled_shutdown
    )


def place(
    brokers: Sequence[PlacementCandidate],
    *,
    partitions: int,
    replication_factor: int,
    start: int,
    first_partition: int = 0,
) -> list[tuple[int, ...]] | Refusal:
    """The replicas of each new partition, the preferred leader first.

    `start` is any number that is not negative; `first_partition` continues the pattern of a topic that grows.
    """
    live = _alternate_racks(broker for broker in brokers if not broker.fenced)
    if not live:
        return _refuse(replication_factor, "no broker is alive")
    if replication_factor > len(brokers):
        available = "only 1 broker is available" if len(brokers) == 1 else f"only {len(brokers)} brokers are available"
        return _refuse(replication_factor, available)
    everyone = _alternate_racks(brokers)
    placements: list[tuple[int, ...]] = []
    for number in range(first_partition, first_partition + partitions):
        turn, position = divmod(start + number, len(live))
        leader = live[position]
        # Each full turn over the leaders shifts the followers by one more, so that the partitions of a broker that
        # fails do not all move to the same neighbour.
        after_leader = everyone.index(leader) + 1 + turn % len(everyone)
        others = [broker for broker in _rotated(everyone, after_leader) if broker is not leader]
        placements.append(_pick(leader, others, replication_factor))
    return placements


def _pick(leader: PlacementCandidate, others: list[PlacementCandidate], replication_factor: int) -> tuple[int, ...]:
    """Take the next broker from the rack that has the fewest replicas yet, live ones first."""
    chosen = [leader]
    used_racks = Counter([leader.rack])
    while len(chosen) < replication_factor:
        follower = min(others, key=lambda broker: (used_racks[broker.rack], broker.fenced))
        others.remove(follower)
        chosen.append(follower)
        used_racks[follower.rack] += 1
    return tuple(broker.id for broker in chosen)


def _alternate_racks(brokers: Iterable[PlacementCandidate]) -> list[PlacementCandidate]:
    """The brokers in an order in which neighbours are in different racks, as far as possible."""
    racks: dict[str | None, list[PlacementCandidate]] = {}
    for broker in sorted(brokers, key=lambda each: (each.rack or "", each.id)):
        racks.setdefault(broker.rack, []).append(broker)
    rows = zip_longest(*racks.values())
    return [broker for row in rows for broker in row if broker is not None]


def _rotated(brokers: list[PlacementCandidate], by: int) -> list[PlacementCandidate]:
    by %= len(brokers)
    return brokers[by:] + brokers[:by]


def _refuse(replication_factor: int, reason: str) -> Refusal:
    return Refusal(
        code=ErrorCode.INVALID_REPLICATION_FACTOR,
        message=f"a replication factor of {replication_factor} cannot be reached: {reason}",
    )
