"""Who a replica of the metadata log is, who votes, and how long each waits for the others."""

from __future__ import annotations

from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.lazy_dataclasses import dataclass

# How long a leader may keep a fetch that finds nothing new. Short enough for a follower to fetch several times before
# its fetch timeout.
MAX_FETCH_WAIT_MS = 500

# Tolerates a slow network or disk on top of the time after which followers give their leader up.
_CHECK_QUORUM_FACTOR = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSettings:
    """The voters are those of controller.quorum.voters and stay the same. Other nodes are observers.

    The times are the properties of the same names under controller.quorum.
    """

    node_id: int
    voters: frozenset[int]
    directory_id: Uuid = ZERO_UUID
    election_timeout_ms: int
    fetch_timeout_ms: int
    election_backoff_max_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    fetch_max_bytes: int
    fetch_snapshot_max_bytes: int

    @property
    def is_voter(self) -> bool:
        return self.node_id in self.voters

    @property
    def is_only_voter(self) -> bool:
        return self.voters == {self.node_id}

    @property
    def other_voters(self) -> tuple[int, ...]:
        """In a fixed order, so that the same history always gives the same messages."""
        return tuple(sorted(self.voters - {self.node_id}))

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    @property
    def check_quorum_timeout_ms(self) -> float:
        """After this long without fetches from a majority a leader resigns."""
        return self.fetch_timeout_ms * _CHECK_QUORUM_FACTOR

    @property
    def begin_epoch_interval_ms(self) -> float:
        """How long a leader waits for a voter's fetch before it introduces itself again."""
        return self.fetch_timeout_ms / 2

    @property
    def fetch_max_wait_ms(self) -> int:
        return min(MAX_FETCH_WAIT_MS, self.fetch_timeout_ms // 2)
