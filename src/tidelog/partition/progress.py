"""How far the replicas of a partition are, as its leader sees it, and the high watermark that follows from that.

A follower reports its progress with the offset it fetches from: everything before that offset is in its log. The
records that all in-sync replicas have are committed. Pure: the replica around it asks the controller for changes of
the in-sync set and hands over the answers. Epochs of records are in `tidelog.partition.leader_epochs`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass

UNKNOWN_OFFSET = -1
UNKNOWN_BROKER_EPOCH = -1
# Before any time that a clock can show; the moments here are on a clock that may begin at 0.
NEVER_MS = -(1 << 62)

# Whether, according to the image, a broker whose process with this epoch has fetched may be in sync.
Eligible = Callable[[int, int], bool]


def everybody_eligible(broker_id: int, broker_epoch: int) -> bool:
    return True


@dataclass(slots=True, kw_only=True)
class FollowerProgress:
    """What is known from the fetches of one follower."""

    broker_id: int
    log_start_offset: int = UNKNOWN_OFFSET
    log_end_offset: int = UNKNOWN_OFFSET
    # The end of the leader's log when the last fetch came, and when that was.
    last_fetch_leader_end_offset: int = UNKNOWN_OFFSET
    last_fetch_ms: int = NEVER_MS
    # The last moment at which the follower is known to have had everything.
    last_caught_up_ms: int = NEVER_MS
    broker_epoch: int = UNKNOWN_BROKER_EPOCH

    def is_caught_up(self, leader_end_offset: int, *, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= max_lag_ms


class PartitionProgress:
    """The leader's view of one partition.

    The in-sync set changes in two steps: `propose` while the controller is asked, then `confirm` or `withdraw`. In
    between the watermark waits for the *maximal* set, the old and the proposed one together: whichever of the two the
    controller has recorded, no record is committed that a member of it lacks (KIP-497).
    """

    __slots__ = (
        "_eligible",
        "_followers",
        "epoch_start_offset",
        "high_watermark",
        "in_sync",
        "local_id",
        "log_end_offset",
        "max_lag_ms",
        "min_in_sync",
        "proposed",
        "replicas",
    )

    def __init__(
        self,
        *,
        local_id: int,
        replicas: Collection[int],
        in_sync: Collection[int],
        log_end_offset: int,
        high_watermark: int,
        now_ms: int,
        min_in_sync: int = 1,
        max_lag_ms: int = 30_000,
        eligible: Eligible = everybody_eligible,
    ) -> None:
        self.local_id = local_id
        self.replicas = frozenset(replicas)
        self.in_sync = frozenset(in_sync)
        self.proposed: frozenset[int] | None = None
        self.log_end_offset = log_end_offset
        # Followers must have reached the start of this leader's epoch before they may join.
        self.epoch_start_offset = log_end_offset
        self.high_watermark = high_watermark
        self.min_in_sync = min_in_sync
        self.max_lag_ms = max_lag_ms
        self._eligible = eligible
        # Those in the set get the benefit of the doubt until they have had time to fetch; nobody waits for the others.
        self._followers = {
            broker_id: FollowerProgress(
                broker_id=broker_id, last_caught_up_ms=now_ms if broker_id in self.in_sync else NEVER_MS
            )
            for broker_id in replicas
            if broker_id != local_id
        }

    @property
    def maximal_in_sync(self) -> frozenset[int]:
        return self.in_sync if self.proposed is None else self.in_sync | self.proposed

    def change_rules(self, *, min_in_sync: int, max_lag_ms: int) -> None:
        self.min_in_sync = min_in_sync
        self.max_lag_ms = max_lag_ms

    @property
    def effective_min_in_sync(self) -> int:
        """min.insync.replicas, which cannot ask for more replicas than there are."""
        return min(self.min_in_sync, len(self.replicas))

    @property
    def has_enough_in_sync(self) -> bool:
        """Whether acks=all may be accepted."""
        return len(self.in_sync) >= self.effective_min_in_sync

    def follower(self, broker_id: int) -> FollowerProgress | None:
        return self._followers.get(broker_id)

    def broker_epochs(self, brokers: Iterable[int]) -> dict[int, int]:
        """The epochs of the processes that have fetched, of the followers among `brokers`."""
        return {
            broker_id: self._followers[broker_id].broker_epoch for broker_id in brokers if broker_id in self._followers
        }

    def change_replicas(self, replicas: Collection[int]) -> None:
        """A reassignment adds replicas, or gives up adding them."""
        self.replicas = frozenset(replicas)
        known = self._followers
        self._followers = {
            broker_id: known.get(broker_id) or FollowerProgress(broker_id=broker_id)
            for broker_id in replicas
            if broker_id != self.local_id
        }

    def record_append(self, log_end_offset: int, *, now_ms: int) -> bool:
        """The leader's log has grown. Whether that moved the high watermark, as it does without followers."""
        self.log_end_offset = log_end_offset
        return self._advance(now_ms)

    def reconsider(self, now_ms: int) -> bool:
        """Time has passed, so a follower that was waited for may not be any more. Whether the watermark moved."""
        return self._advance(now_ms)

    def record_fetch(
        self,
        broker_id: int,
        *,
        fetch_offset: int,
        log_start_offset: int,
        now_ms: int,
        broker_epoch: int = UNKNOWN_BROKER_EPOCH,
    ) -> bool:
        """A follower fetches from `fetch_offset`. Whether that moved the high watermark.

        A follower that is always one request behind under steady load is caught up nevertheless: if it now has what
        was the end at its previous fetch, then it had everything at that time.
        """
        follower = self._followers.get(broker_id)
        if follower is None:
            return False
        if fetch_offset >= self.log_end_offset:
            follower.last_caught_up_ms = max(follower.last_caught_up_ms, now_ms)
        elif fetch_offset >= follower.last_fetch_leader_end_offset:
            follower.last_caught_up_ms = max(follower.last_caught_up_ms, follower.last_fetch_ms)
        is_news = follower.log_end_offset != fetch_offset
        follower.log_start_offset = log_start_offset
        follower.log_end_offset = fetch_offset
        follower.last_fetch_leader_end_offset = max(self.log_end_offset, follower.last_fetch_leader_end_offset)
        follower.last_fetch_ms = now_ms
        follower.broker_epoch = broker_epoch
        return is_news and self._advance(now_ms)

    def low_watermark(self, log_start_offset: int) -> int:
        """The smallest start of all logs that are in sync, ours included; -1 if one of them is not known yet."""
        reached = log_start_offset
        for broker_id in self.in_sync:
            follower = self._followers.get(broker_id)
            if follower is not None:
                reached = min(reached, follower.log_start_offset)
        return reached

    def lagging(self, now_ms: int) -> frozenset[int]:
        """In-sync followers that have not been caught up for `max_lag_ms`. None while a proposal is under way."""
        if self.proposed is not None:
            return frozenset()
        return frozenset(
            broker_id
            for broker_id in self.in_sync
            if broker_id != self.local_id and not self._is_caught_up(broker_id, now_ms=now_ms)
        )

    def may_join(self, broker_id: int) -> bool:
        """Whether a follower outside of the set has everything that is committed, in this leader's history."""
        follower = self._followers.get(broker_id)
        return (
            follower is not None
            and self.proposed is None
            and broker_id not in self.in_sync
            and follower.log_end_offset >= self.high_watermark
            and follower.log_end_offset >= self.epoch_start_offset
            and self._eligible(broker_id, follower.broker_epoch)
        )

    def joining(self) -> frozenset[int]:
        """All followers that may join."""
        return frozenset(broker_id for broker_id in self._followers if self.may_join(broker_id))

    def propose(self, in_sync: Iterable[int]) -> None:
        """The controller is being asked for this set."""
        self.proposed = frozenset(in_sync)

    def confirm(self, in_sync: Iterable[int], now_ms: int) -> bool:
        """The controller has recorded this set. Whether that moved the high watermark."""
        self.in_sync = frozenset(in_sync)
        self.proposed = None
        return self._advance(now_ms)

    def withdraw(self) -> None:
        """The controller is known to have refused. Without an answer the proposal stays: it may be in force."""
        self.proposed = None

    def check_invariants(self) -> None:
        """The watermark may be above `log_end_offset`, which a new leader lowers to what it has flushed."""
        require(self.high_watermark >= 0, self, "the high watermark is an offset", mark=self.high_watermark)
        for name, members in (("in_sync", self.in_sync), ("proposed", self.proposed or self.in_sync)):
            with_leader = self.local_id in members and members <= self.replicas
            require(with_leader, self, f"{name} is the leader and other replicas", members=members)
        others = self.replicas - {self.local_id}
        require(self._followers.keys() == others, self, "followers are the other replicas", known=self._followers)

    def __repr__(self) -> str:
        return f"PartitionProgress(leader={self.local_id}, replicas={sorted(self.replicas)})"

    def _is_caught_up(self, broker_id: int, *, now_ms: int) -> bool:
        follower = self._followers.get(broker_id)
        return follower is not None and follower.is_caught_up(
            self.log_end_offset, now_ms=now_ms, max_lag_ms=self.max_lag_ms
        )

    def _advance(self, now_ms: int) -> bool:
        """Raise the high watermark to what all have. It never goes back, and stands still below min.insync.replicas.

        A follower that is caught up but has not joined yet is waited for as well: otherwise the watermark could run
        ahead of it for ever, and it would never be allowed to join. A broker that may not join is not waited for, or a
        dead one would hold everything up until its lag shows.
        """
        reached = self.log_end_offset
        if self._followers:
            if not self.has_enough_in_sync:
                return False
            maximal = self.maximal_in_sync
            for follower in self._followers.values():
                if follower.log_end_offset < reached and (
                    follower.broker_id in maximal
                    or (
                        follower.is_caught_up(self.log_end_offset, now_ms=now_ms, max_lag_ms=self.max_lag_ms)
                        and self._eligible(follower.broker_id, follower.broker_epoch)
                    )
                ):
                    reached = follower.log_end_offset
        if reached <= self.high_watermark:
            return False
        self.high_watermark = reached
        return True


def follower_high_watermark(current: int, *, leader_high_watermark: int, log_end_offset: int) -> int:
    """What a follower may take from a leader's answer: never above its own end, and never back."""
    return max(current, min(leader_high_watermark, log_end_offset))
