"""What a replica remembers as long as it is in one role. All of it may be lost: nothing here survives a restart.

Which role follows on which is in `tidelog.consensus.transitions`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import ClassVar, TypeAlias

from tidelog.consensus.effects import Predecessor
from tidelog.consensus.messages import Fetch, SnapshotId
from tidelog.consensus.progress import QuorumProgress
from tidelog.consensus.transitions import Role
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(slots=True)
class Ballot:
    """The answers of the voters so far. A replica votes for itself."""

    granted: set[int]
    refused: set[int] = field(default_factory=set)

    def open_voters(self, voters: Collection[int]) -> list[int]:
        return sorted(voter for voter in voters if voter not in self.granted and voter not in self.refused)

    def record(self, voter: int, granted: bool) -> None:
        """An answer that was given stays: one that is repeated does not count twice."""
        if voter not in self.granted and voter not in self.refused:
            (self.granted if granted else self.refused).add(voter)

    def is_won(self, majority: int) -> bool:
        return len(self.granted) >= majority

    def is_lost(self, majority: int, voter_count: int) -> bool:
        return voter_count - len(self.refused) < majority


@dataclass(slots=True, kw_only=True)
class Unattached:
    role: ClassVar[Role] = Role.UNATTACHED
    deadline_ms: float


@dataclass(slots=True, kw_only=True)
class Prospective:
    role: ClassVar[Role] = Role.PROSPECTIVE
    ballot: Ballot
    deadline_ms: float


@dataclass(slots=True, kw_only=True)
class Candidate:
    role: ClassVar[Role] = Role.CANDIDATE
    ballot: Ballot
    deadline_ms: float


@dataclass(slots=True, kw_only=True)
class SnapshotDownload:
    """A snapshot that is being fetched, and how many bytes of it have come."""

    snapshot_id: SnapshotId
    position: int = 0


@dataclass(slots=True, kw_only=True)
class Follower:
    role: ClassVar[Role] = Role.FOLLOWER
    leader_id: int
    deadline_ms: float
    # Whoever has heard from its leader helps nobody to replace it (KIP-996).
    has_fetched: bool = False
    leader_high_watermark: int = 0
    # How often in a row no process listened where the leader did, and whether that may bring an election forward.
    refusals: int = 0
    may_hurry: bool = True
    download: SnapshotDownload | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedFetch:
    """A fetch that found nothing new and waits for it."""

    token: int
    request: Fetch
    deadline_ms: float


@dataclass(slots=True, kw_only=True)
class Leader:
    role: ClassVar[Role] = Role.LEADER
    progress: QuorumProgress
    predecessor: Predecessor | None = None
    parked: dict[int, ParkedFetch] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Resigned:
    role: ClassVar[Role] = Role.RESIGNED
    deadline_ms: float
    successors: tuple[int, ...]
    # The voters that have not confirmed that they know.
    unaware: set[int]


RoleState: TypeAlias = Unattached | Prospective | Candidate | Follower | Leader | Resigned
