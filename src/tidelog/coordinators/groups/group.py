"""One classic group: its state, its members, and which of them wait for an answer.

This is the noun. What happens when (rebalances, timeouts, replies) is in `rebalance`, `join`, `sync` and `presence`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from enum import Enum

from tidelog.coordinators.consumer_groups.member import ClassicProtocol
from tidelog.coordinators.decision import Token
from tidelog.coordinators.groups.members import Member, select_protocol
from tidelog.coordinators.groups.states import CLASSIC_GROUP, GroupState, GroupStep
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata

CONSUMER_PROTOCOL_TYPE = "consumer"


class GroupType(Enum):
    """Those of the consumer protocol (KIP-848) are in `tidelog.coordinators.consumer_groups`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class ClassicGroup:
    """Starts as an empty group that nobody has joined; `restore` makes it what a record says."""

    def __init__(self, group_id: str, *, since_ms: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        # Wall time of the last change of state; -1 if the record was written before that was noted.
        self.since_ms = since_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        # Soft state: lost with the coordinator, and clients cope.
        self.awaiting_join: dict[str, Token] = {}
        self.awaiting_sync: dict[str, Token] = {}
        # Ids that were handed out and whose owners have not come back with them yet.
        self.pending_members: set[str] = set()
        # Members of this generation that have not asked for their assignment yet.
        self.pending_sync: set[str] = set()
        # A static member that comes back under a new id, until the record that says so is replayed.
        self.returning: Member | None = None
        # During the first rebalance of a group: the last wait, how much more there may be, and whether it is wanted.
        self.initial_delay_ms = 0
        self.initial_remaining_ms = 0
        self.new_member_added = False
        # A plain dictionary: it is copied before each decision, and a Counter copies itself in Python.
        self._protocol_counts: dict[str, int] = {}

    # ------------------------------------------------------------------------------------------------------------
    # Questions.

    @property
    def can_rebalance(self) -> bool:
        return CLASSIC_GROUP.allows(self.state, GroupStep.REBALANCE)

    @property
    def was_downgraded(self) -> bool:
        """Its record says so by naming no leader: nobody has shared out partitions among all of its members yet."""
        return self.state is GroupState.STABLE and self.leader is None

    @property
    def all_joined(self) -> bool:
        return len(self.awaiting_join) == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def protocol_counts(self) -> Counter[str]:
        """How many members know each protocol."""
        return +Counter(self._protocol_counts)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def supports(self, protocol_type: str, protocols: Iterable[ClassicProtocol]) -> bool:
        """Whether a member with these protocols can be in one group with the members that are there."""
        names = [protocol.name for protocol in protocols]
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        everybody = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._protocol_counts.get(name, 0) == everybody for name in names
        )

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """A static member that was replaced learns so, because it must stop and not rejoin (KIP-345)."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that a group of consumers is subscribed to; None if that cannot be known.

        Version 0 of the subscription is the beginning of all its versions.
        """
        if not self.uses_consumer_protocol:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            metadata = member.metadata_for(self.protocol_name)
            if metadata is None:
                return None
            try:
                subscription, _ = decode(ConsumerProtocolSubscription, metadata, 0, 2)
            except ProtocolError:
                return None
            topics.update(subscription.topics)
        return frozenset(topics)

    def is_subscribed_to(self, topic: str) -> bool:
        """When in doubt, consumers are taken to be subscribed: their offsets must not disappear under them."""
        topics = self.subscribed_topics()
        return self.uses_consumer_protocol if topics is None else topic in topics

    # ------------------------------------------------------------------------------------------------------------
    # Changes.

    def step(self, step: GroupStep, now_ms: int) -> None:
        self.previous_state = self.state
        self.state = CLASSIC_GROUP.after(self.state, step, of=self.group_id)
        self.since_ms = now_ms

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self._put(member)

    def update(self, member: Member) -> None:
        """Put in another value for a member that is there."""
        self._forget_protocols(self.members[member.member_id])
        self._put(member)

    def remove(self, member_id: str) -> None:
        """Also for ids that were only handed out. Whoever waited under this id must have been answered."""
        self.pending_members.discard(member_id)
        self.pending_sync.discard(member_id)
        self.awaiting_join.pop(member_id, None)
        self.awaiting_sync.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._forget_protocols(member)
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def replace_static(self, old_id: str, member: Member) -> None:
        """Let `member` stand where the same instance stood under its old id, leadership included."""
        was_leader = self.leader == old_id
        self.remove(old_id)
        self._put(member)
        if was_leader:
            self.leader = member.member_id

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has rejoined, else take the first member that has; False if there is none."""
        if self.leader in self.awaiting_join:
            return True
        for member_id in self.members:
            if member_id in self.awaiting_join:
                self.leader = member_id
                return True
        return False

    def begin_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.pending_sync.clear()
        if self.members:
            self.protocol_name = select_protocol(self.members.values())
            if self.protocol_name is None:
                raise AssertionError(f"members of group {self.group_id!r} have no protocol in common")
            self.step(GroupStep.JOINED, now_ms)
        else:
            self.protocol_name = None
            self.leader = None
            self.step(GroupStep.DESERTED, now_ms)

    def restore(self, value: GroupMetadataValue) -> None:
        """Become what the record says. Of members that are known more than it says, the rest is kept."""
        if self.state is GroupState.PREPARING_REBALANCE:
            # Only the record that announces a new group is written in this state, and it says less than we know.
            return
        known = self.members
        if self.returning is not None:
            known = {**known, self.returning.member_id: self.returning}
            self.returning = None
        step = GroupStep.MEMBERS_REPLAYED if value.members else GroupStep.NOBODY_REPLAYED
        state = CLASSIC_GROUP.after(self.state, step, of=self.group_id)
        if state is not self.state:
            self.previous_state = self.state
            self.state = state
        self.since_ms = value.current_state_timestamp
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol_name = value.protocol
        self.leader = value.leader
        self._protocol_counts.clear()
        self.static_members = {}
        self.members = {}
        for recorded in value.members:
            self._put(_restored_member(recorded, value.protocol, known.get(recorded.member_id)))
        self.pending_sync &= self.members.keys()

    def _put(self, member: Member) -> None:
        self.members[member.member_id] = member
        self.pending_members.discard(member.member_id)
        for name in member.protocol_names:
            self._protocol_counts[name] = self._protocol_counts.get(name, 0) + 1
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def _forget_protocols(self, member: Member) -> None:
        for name in member.protocol_names:
            self._protocol_counts[name] -= 1


def record_value(
    group: ClassicGroup, members: Collection[Member], *, leader: str | None, since_ms: int
) -> GroupMetadataValue:
    """What is written about `group` when it is stable with these members, or empty."""
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=leader,
        current_state_timestamp=since_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata_for(group.protocol_name) or b"",
                assignment=member.assignment,
            )
            for member in members
        ],
    )


def _restored_member(recorded: MemberMetadata, protocol: str | None, known: Member | None) -> Member:
    """The record holds the metadata of the selected protocol only; a live member keeps the others it named."""
    timeout = recorded.rebalance_timeout if recorded.rebalance_timeout >= 0 else recorded.session_timeout
    return Member(
        member_id=recorded.member_id,
        group_instance_id=recorded.group_instance_id,
        client_id=recorded.client_id,
        client_host=recorded.client_host,
        session_timeout_ms=recorded.session_timeout,
        rebalance_timeout_ms=timeout,
        protocols=known.protocols if known else (ClassicProtocol(protocol or "", recorded.subscription),),
        assignment=recorded.assignment,
        is_new=known.is_new if known else False,
    )
