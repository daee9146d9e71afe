"""How far the other replicas are, as the leader learns it from their fetches, and what is committed thereby.

The leader's requests and answers are in `tidelog.consensus.leading`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.lazy_dataclasses import dataclass

UNKNOWN_OFFSET = -1

# An observer that has not fetched for this long is forgotten.
OBSERVER_SESSION_TIMEOUT_MS = 300_000
# Beyond this many the one that has been silent for the longest time is forgotten at once.
MAX_OBSERVERS = 10_000


@dataclass(slots=True, kw_only=True)
class ReplicaProgress:
    """What the fetches of one replica have told. Times are None until there was one."""

    replica_id: int
    directory_id: Uuid = ZERO_UUID
    # Of the disks that it had before. What is still under way from there says nothing about the disk that it has now.
    earlier_directories: set[Uuid] = field(default_factory=set)
    end_offset: int = UNKNOWN_OFFSET
    last_fetch_ms: float | None = None
    last_caught_up_ms: float | None = None
    # The end of the leader's log when the last fetch came.
    leader_end_offset: int = UNKNOWN_OFFSET
    # The last fetch or other sign of life, and when the leader last introduced itself.
    last_heard_ms: float | None = None
    last_introduction_ms: float | None = None

    def record_fetch(self, offset: int, leader_end_offset: int, now_ms: float) -> None:
        """One that now has what was the end at its previous fetch had everything at that time."""
        if offset >= leader_end_offset:
            self.last_caught_up_ms = now_ms
        elif 0 < self.leader_end_offset <= offset:
            self.last_caught_up_ms = self.last_fetch_ms
        self.end_offset = offset
        self.leader_end_offset = leader_end_offset
        self.last_fetch_ms = self.last_heard_ms = now_ms

    def introduction_due_ms(self, interval_ms: float, start_ms: float) -> float:
        """When the leader should introduce itself: at once, then after each interval without a sign of life."""
        signs = [moment for moment in (self.last_heard_ms, self.last_introduction_ms) if moment is not None]
        return max(signs) + interval_ms if signs else start_ms


class QuorumProgress:
    """The leader's book of one epoch.

    A record of an earlier epoch is not committed because a majority has it: a later leader may still replace it. It is
    committed together with the first record of the leader's own epoch, which lies at `epoch_start_offset`.
    """

    __slots__ = ("_majority", "epoch_start_offset", "followers", "high_watermark", "observers", "start_ms")

    def __init__(self, *, followers: Iterable[int], majority: int, epoch_start_offset: int, now_ms: float) -> None:
        self.followers = {voter: ReplicaProgress(replica_id=voter) for voter in followers}
        self.observers: dict[tuple[int, Uuid], ReplicaProgress] = {}
        self.epoch_start_offset = epoch_start_offset
        self.start_ms = now_ms
        # Unknown until the leader has committed a record of its own.
        self.high_watermark: int | None = None
        self._majority = majority

    def replica(self, replica_id: int, directory_id: Uuid, now_ms: float) -> ReplicaProgress:
        """A voter, or an observer that is remembered from now on."""
        progress = self.followers.get(replica_id)
        if progress is not None:
            return progress
        key = (replica_id, directory_id)
        if key not in self.observers:
            self.forget_silent_observers(now_ms, MAX_OBSERVERS - 1)
            self.observers[key] = ReplicaProgress(replica_id=replica_id, directory_id=directory_id)
        return self.observers[key]

    def has_directory(self, replica_id: int, directory_id: Uuid) -> bool:
        """Whether a fetch comes from the disk that the replica has now. With a new disk a voter begins again."""
        voter = self.followers.get(replica_id)
        if voter is None or voter.directory_id == directory_id:
            return True
        if directory_id in voter.earlier_directories:
            return False
        if voter.directory_id != ZERO_UUID:
            voter.earlier_directories.add(voter.directory_id)
            voter.end_offset = UNKNOWN_OFFSET
        voter.directory_id = directory_id
        return True

    def forget_silent_observers(self, now_ms: float, limit: int = MAX_OBSERVERS) -> None:
        oldest_ms = now_ms - OBSERVER_SESSION_TIMEOUT_MS
        silent = [key for key, observer in self.observers.items() if (observer.last_fetch_ms or 0.0) <= oldest_ms]
        for key in silent:
            del self.observers[key]
        while len(self.observers) > limit:
            del self.observers[min(self.observers, key=lambda key: self.observers[key].last_fetch_ms or 0.0)]

    def advance(self, durable_end_offset: int) -> bool:
        """Raise the high watermark to what a majority has durably. Whether it moved."""
        ends = sorted([durable_end_offset, *(follower.end_offset for follower in self.followers.values())])
        reached = ends[-self._majority]
        if not self.may_commit(reached) or (self.high_watermark is not None and reached <= self.high_watermark):
            return False
        self.high_watermark = reached
        return True

    def may_commit(self, end_offset: int) -> bool:
        """Whether this reaches into the leader's own epoch."""
        return end_offset > self.epoch_start_offset

    def quorum_expires_ms(self, timeout_ms: float) -> float:
        """When too many voters will have been silent for too long, unless they fetch before."""
        needed = self._majority - 1
        if needed == 0:
            return float("inf")
        heard = sorted(
            self.start_ms if follower.last_fetch_ms is None else follower.last_fetch_ms
            for follower in self.followers.values()
        )
        return heard[-needed] + timeout_ms

    def successors(self) -> tuple[int, ...]:
        """The other voters, those with the longest logs first."""
        return tuple(sorted(self.followers, key=lambda voter: (-self.followers[voter].end_offset, voter)))
