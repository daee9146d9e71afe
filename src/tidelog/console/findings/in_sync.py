"""Which followers are behind, since when, and when they leave the in-sync set. No I/O.

A leader takes a follower for caught up when it has fetched up to where the log ended at its previous fetch, and lets it
leave the in-sync set when that was longer than `replica.lag.time.max.ms` ago. From outside only log ends are seen, so
what is said here may be off by the time between two readings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class FollowerLag(NamedTuple):
    """`behind` counts records up to the leader's log end. `behind_for_ms` is 0 for a follower that keeps up."""

    behind: int
    behind_for_ms: int
    # None unless it is in sync and behind: the time left until it leaves, perhaps negative.
    leaves_in_ms: int | None


class FollowerWatch:
    """Of one partition, over its readings."""

    def __init__(self) -> None:
        self._leader_end: int | None = None
        self._leader: int | None = None
        self._caught_up_at: dict[int, int] = {}
        self._first_seen: dict[int, int] = {}

    def note(
        self,
        now_ms: int,
        *,
        leader: int | None,
        log_ends: Mapping[int, int],
        in_sync: tuple[int, ...],
        lag_time_max_ms: int | None,
    ) -> dict[int, FollowerLag]:
        """`log_ends` are those of the replicas that answered; what is known of each follower among them or in sync."""
        if leader != self._leader:
            self._leader, self._leader_end = leader, None
            self._caught_up_at.clear()
            self._first_seen.clear()
        end = None if leader is None else log_ends.get(leader)
        found: dict[int, FollowerLag] = {}
        for broker in sorted({*log_ends, *in_sync} - {leader}):
            theirs = log_ends.get(broker)
            since = self._first_seen.setdefault(broker, now_ms)
            goal = end if self._leader_end is None else self._leader_end
            if theirs is not None and goal is not None and theirs >= goal:
                self._caught_up_at[broker] = now_ms
            behind = 0 if end is None or theirs is None else max(0, end - theirs)
            behind_for = now_ms - self._caught_up_at.get(broker, since)
            leaves_in = None
            # Of a broker that has never answered nothing is known; its leader may reach it all the same.
            is_known = theirs is not None or broker in self._caught_up_at
            if is_known and broker in in_sync and behind_for > 0 and lag_time_max_ms is not None:
                leaves_in = lag_time_max_ms - behind_for
            found[broker] = FollowerLag(behind, behind_for, leaves_in)
        if end is not None:
            self._leader_end = end
        return found
