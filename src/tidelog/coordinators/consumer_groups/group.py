"""One consumer group: its epochs, its members, what they should own and what they do own. Changed by replay alone.

This is the noun. What happens when is in `heartbeat` and `departure`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from tidelog.coordinators.consumer_groups.member import ConsumerMember, CurrentAssignment, Profile
from tidelog.coordinators.consumer_groups.states import ConsumerGroupState
from tidelog.coordinators.consumer_groups.topics import NO_TOPICS_HASH, TopicIdPartition

Target = frozenset[TopicIdPartition]

NO_VERSION = -1
# Of a group that nothing has been written about, and of its assignment of nothing to nobody.
INITIAL_EPOCH = 1


class ResolvedRegex(NamedTuple):
    """What a regular expression matched when it was last looked at."""

    topic_names: frozenset[str]
    version: int
    timestamp_ms: int


class ConsumerGroup:
    """Starts without members; the `put_` and `remove_` methods make it what the records say."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        # Grows whenever there is a reason for another assignment.
        self.epoch = INITIAL_EPOCH
        self.metadata_hash = NO_TOPICS_HASH
        # The epoch that the target was made for, and when.
        self.assignment_epoch = INITIAL_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self.owners: dict[TopicIdPartition, str] = {}
        # How many of the members speak the classic protocol.
        self.classic_member_count = 0
        self.resolved: dict[str, ResolvedRegex] = {}
        # Kafka before 4.1 wrote the topics of a group into a record of its own, which has to be removed some time.
        self.has_partition_metadata_record = False
        # Soft: the version of the topics that `metadata_hash` was last found to agree with.
        self.checked_version = NO_VERSION
        # Soft: when the regular expressions were last resolved, on the monotonic clock.
        self.resolved_ms = 0.0

    # ------------------------------------------------------------------------------------------------------------
    # Questions.

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.current.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def only_classic_members(self) -> bool:
        return bool(self.members) and self.classic_member_count == len(self.members)

    def target_of(self, member_id: str) -> Target:
        return self.targets.get(member_id, frozenset())

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def is_subscribed_to(self, topic: str) -> bool:
        return any(
            topic in member.profile.topic_names or topic in self.resolved_names(member.profile.topic_regex)
            for member in self.members.values()
        )

    def resolved_names(self, regex: str | None) -> frozenset[str]:
        """Nothing for an expression that nobody has looked at yet."""
        found = None if regex is None else self.resolved.get(regex)
        return frozenset() if found is None else found.topic_names

    # ------------------------------------------------------------------------------------------------------------
    # Changes.

    def put_profile(self, member_id: str, profile: Profile) -> None:
        member = self.members.get(member_id) or ConsumerMember(member_id=member_id)
        self._forget_instance(member)
        self.classic_member_count += (profile.classic is not None) - member.is_classic
        if profile.instance_id is not None:
            self.static_members[profile.instance_id] = member_id
        self.members[member_id] = replace(member, profile=profile)

    def put_current(self, member_id: str, current: CurrentAssignment) -> None:
        member = self.members.get(member_id) or ConsumerMember(member_id=member_id)
        self._release(member_id, member.current.owned())
        for partition in current.owned():
            self.owners[partition] = member_id
        self.members[member_id] = replace(member, current=current)

    def remove_current(self, member_id: str) -> None:
        """The member is on its way out; its partitions are free."""
        if member_id in self.members:
            self.put_current(member_id, CurrentAssignment())

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._release(member_id, member.current.owned())
            self._forget_instance(member)
            self.classic_member_count -= member.is_classic

    def _release(self, member_id: str, partitions: Iterable[TopicIdPartition]) -> None:
        for partition in partitions:
            if self.owners.get(partition) == member_id:
                del self.owners[partition]

    def _forget_instance(self, member: ConsumerMember) -> None:
        instance_id = member.profile.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]
