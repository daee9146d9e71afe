"""Which replicas may lead although they are not in sync, because they have all that is committed (KIP-966).

Below min.insync.replicas nothing is committed. So a replica that leaves the in-sync set while that is too small still
has every committed record, and so it stays an eligible leader until the set is large enough again. If all in-sync
replicas are gone, one of these can lead without loss; before, only the very last in-sync replica could. One that comes
back without proof that it lost nothing (its clean shutdown) is not eligible any more. If that leaves nobody, the last
leader may lead again, as an unclean leader: it had everything before it crashed.

It is used if the feature eligible.leader.replicas.version is at level 1. Elections are in
`tidelog.controller.elections`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.config.topic import TopicConfig
from tidelog.metadata.image import NO_LEADER, ClusterImage, ConfiguredResource, PartitionImage, ResourceType
from tidelog.metadata.records import ELIGIBLE_LEADER_REPLICAS_FEATURE
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.clear_elr_record import ClearElrRecord

MIN_IN_SYNC = "min.insync.replicas"
DEFAULT_MIN_IN_SYNC = TopicConfig().min_insync_replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleRules:
    """`min_in_sync` is the topic's; `lost` are brokers that have come back from a crash."""

    min_in_sync: int
    lost: frozenset[int] = frozenset()


def eligible_rules(image: ClusterImage, topic: str, *, lost: frozenset[int] = frozenset()) -> EligibleRules | None:
    """None where the feature is off. Where it is on, the image says what min.insync.replicas is by default."""
    if not image.features.get(ELIGIBLE_LEADER_REPLICAS_FEATURE, 0):
        return None
    value = image.topic_config(topic).get(MIN_IN_SYNC) or image.cluster_config().get(MIN_IN_SYNC)
    return EligibleRules(min_in_sync=int(value or DEFAULT_MIN_IN_SYNC), lost=lost)


def next_eligible(
    rules: EligibleRules | None, partition: PartitionImage, *, isr: tuple[int, ...], replicas: tuple[int, ...]
) -> tuple[int, ...]:
    """The eligible leaders beside the in-sync replicas `isr` that a partition is about to have."""
    if rules is None or len(isr) >= min(rules.min_in_sync, len(replicas)):
        return ()
    candidates = dict.fromkeys((*partition.eligible_leaders, *partition.isr))
    return tuple(
        broker for broker in candidates if broker not in isr and broker not in rules.lost and broker in replicas
    )


def last_leader(partition: PartitionImage) -> int:
    """Who led last, of a partition that may be about to lose its last in-sync replica."""
    if partition.leader != NO_LEADER:
        return partition.leader
    if partition.last_known_eligible_leaders:
        return partition.last_known_eligible_leaders[0]
    return partition.isr[0] if partition.isr else NO_LEADER


def forget_eligible(image: ClusterImage, resource: ConfiguredResource, changed: str) -> tuple[ClearElrRecord, ...]:
    """After another min.insync.replicas nobody knows which of those who left the in-sync set were below it."""
    if changed != MIN_IN_SYNC or not image.features.get(ELIGIBLE_LEADER_REPLICAS_FEATURE, 0):
        return ()
    if resource.type == ResourceType.TOPIC:
        return (ClearElrRecord(topic_name=resource.name),)
    return (ClearElrRecord(topic_name=""),) if resource.type == ResourceType.BROKER else ()


def eligibility_problems(image: ClusterImage, resource: ConfiguredResource, planned: Mapping[str, str]) -> list[str]:
    """What must not become of min.insync.replicas while the controller counts on it."""
    if resource.type != ResourceType.BROKER or not image.features.get(ELIGIBLE_LEADER_REPLICAS_FEATURE, 0):
        return []
    if resource.name and MIN_IN_SYNC in planned:
        return [f"{MIN_IN_SYNC}: must be the same for all brokers while {ELIGIBLE_LEADER_REPLICAS_FEATURE} is in use"]
    if not resource.name and MIN_IN_SYNC not in planned:
        return [f"{MIN_IN_SYNC}: cannot be removed while {ELIGIBLE_LEADER_REPLICAS_FEATURE} is in use"]
    return []
