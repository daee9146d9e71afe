"""One member of a consumer group: what it said about itself, and how far it has got towards its target.

The two parts are written to the log apart from each other, because they change apart from each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, NamedTuple

from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.model.lazy_dataclasses import dataclass

# What a heartbeat says instead of an epoch.
JOIN_EPOCH = 0
LEAVE_EPOCH = -1
# A static member that goes and means to come back within its session timeout.
LEAVE_STATIC_EPOCH = -2

NO_TIMEOUT = -1

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class ClassicProtocol(NamedTuple):
    """For consumers: the name of a client-side assignor, and the subscription as the member has written it for this
    assignor."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMembership:
    """What only a member that speaks the classic protocol says: it has a session timeout of its own."""

    session_timeout_ms: int
    # In the order of the member's preference; never empty.
    protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a member said about itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    # Without one it is None, never empty.
    topic_regex: str | None = None
    rebalance_timeout_ms: int = NO_TIMEOUT
    server_assignor: str | None = None
    # None for members that speak the consumer protocol.
    classic: ClassicMembership | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentAssignment:
    """What a member owns. Both mappings say in which epoch a partition was given to it (KIP-1251)."""

    epoch: int = JOIN_EPOCH
    # If the reply with the present epoch was lost, the member comes back with this one.
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Mapping[TopicIdPartition, int] = field(default_factory=lambda: _NOTHING)
    pending_revocation: Mapping[TopicIdPartition, int] = field(default_factory=lambda: _NOTHING)

    def owned(self) -> list[TopicIdPartition]:
        """Everything that nobody else may be given."""
        return [*self.assigned, *self.pending_revocation]

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def assignment_epoch(self, partition: TopicIdPartition) -> int | None:
        """None if the member does not own the partition."""
        found = self.assigned.get(partition)
        return self.pending_revocation.get(partition) if found is None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member as the group knows it."""

    member_id: str
    profile: Profile = Profile()
    current: CurrentAssignment = CurrentAssignment()

    @property
    def epoch(self) -> int:
        return self.current.epoch

    @property
    def is_classic(self) -> bool:
        return self.profile.classic is not None
