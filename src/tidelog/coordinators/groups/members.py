"""One member of a classic group, and how members agree on a protocol.

The coordinator never looks into a member's metadata or assignment: that is between the members and their leader. That
is why eager and cooperative rebalancing are the same to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from tidelog.coordinators.consumer_groups.member import ClassicProtocol
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.join_group_request import JoinGroupRequestProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What a member said about itself, and the assignment that its leader gave it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    # In the order of the member's preference.
    protocols: tuple[ClassicProtocol, ...]
    assignment: bytes = b""
    # Until its first generation: a client that lost its connection may have asked several times, and only one of
    # the members made for it will ever be heard from again.
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def protocol_names(self) -> frozenset[str]:
        return frozenset(protocol.name for protocol in self.protocols)

    def metadata_for(self, protocol_name: str | None) -> bytes | None:
        """None if the member does not know this protocol."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return None


def protocols_of(requested: Sequence[JoinGroupRequestProtocol]) -> tuple[ClassicProtocol, ...]:
    return tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in requested)


def select_protocol(members: Collection[Member]) -> str | None:
    """The protocol that most members prefer among those that all of them know; None if they have none in common.

    Members of equal standing, so a tie is broken by who came first.
    """
    candidates = frozenset[str]().union(*(member.protocol_names for member in members))
    for member in members:
        candidates &= member.protocol_names
    votes: Counter[str] = Counter()
    for member in members:
        preferred = next((protocol.name for protocol in member.protocols if protocol.name in candidates), None)
        if preferred is None:
            return None
        votes[preferred] += 1
    return max(votes, key=votes.__getitem__, default=None)
