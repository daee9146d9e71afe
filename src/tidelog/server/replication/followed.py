"""The replicas that follow one leader, and what the next fetch has to say about them.

A leader counts what it was told last as what the follower has. So every replica is looked at before every fetch,
whatever may have changed it: the log may have been truncated, restarted or moved to another disk since. With a session
only what differs is sent, and most replicas do not differ, so looking costs four comparisons and creates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.session import FollowerSession

Key = tuple[bytes, int]


class Asked(NamedTuple):
    """What is asked for of one partition. A tuple, because one is created for every partition that has grown."""

    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int


@dataclass(slots=True, eq=False)
class Followed:
    """What the fetcher keeps of one replica; everything else is in its log."""

    replica: Replica
    key: Key
    # What the leader knows of it in this session; None if the replica is not part of what is fetched.
    told: Asked | None = None
    not_before_ms: float = 0.0
    failures: int = 0
    # What the leader last reported. None before its first answer: then there may be much to catch up.
    leader_high_watermark: int | None = None
    # Because flush.messages asks for it: what is not flushed must not be reported as replicated.
    flushing: bool = False
    # The last flush lacked descriptors or disk space: there must be another one before the next fetch.
    flush_failed: bool = False

    def start_over(self) -> None:
        """Earlier errors do not matter in a new epoch; a running flush still does."""
        self.not_before_ms = 0.0
        self.failures = 0

    def succeeded(self, leader_high_watermark: int) -> None:
        self.leader_high_watermark = leader_high_watermark
        self.failures = 0

    def wait_until(self, not_before_ms: float) -> None:
        """After a failure."""
        self.failures += 1
        self.not_before_ms = not_before_ms

    def begin_flush(self) -> None:
        self.flushing = True
        self.flush_failed = False

    def end_flush(self, *, failed: bool = False) -> None:
        self.flushing = False
        self.flush_failed = failed

    def news(self) -> Asked | None:
        """What the leader does not know of it yet; it does from now on."""
        replica = self.replica
        log = replica.log
        told = self.told
        if (
            told is not None
            and told.fetch_offset == log.log_end_offset
            and told.leader_epoch == replica.leader_epoch
            and told.last_fetched_epoch == log.latest_epoch
            and told.log_start_offset == log.log_start_offset
        ):
            return None
        self.told = Asked(replica.leader_epoch, log.log_end_offset, log.latest_epoch, log.log_start_offset)
        return self.told


@dataclass(slots=True, kw_only=True)
class FetchStep:
    """What to send: the partitions that are new or different, and those that are no longer wanted. Created for every
    fetch, so not frozen."""

    session_id: int
    session_epoch: int
    changed: Mapping[Key, Asked]
    forgotten: Iterable[Key]


class FollowedReplicas:
    """In the order in which a leader without a session is asked for them."""

    def __init__(self) -> None:
        self._of: dict[Replica, Followed] = {}
        # A replica that was recreated takes the place of the one before it, which may be removed only later.
        self._by_key: dict[Key, Followed] = {}
        # What the leader still has in the session and is not wanted any more. Together with those that have been told
        # these are all partitions of the session.
        self._left: dict[Key, None] = {}

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Followed]:
        return iter(self._by_key.values())

    def add(self, replica: Replica) -> Followed:
        """It may be there already."""
        state = self._of.get(replica)
        if state is None:
            key = replica.topic_id, replica.topic_partition.partition
            before = self._by_key.get(key)
            if before is not None:
                self._leave(before)
            state = self._of[replica] = self._by_key[key] = Followed(replica, key)
        return state

    def remove(self, replica: Replica) -> None:
        """It may have been removed already."""
        state = self._of.pop(replica, None)
        if state is not None and state in self:
            del self._by_key[state.key]
            self._leave(state)

    def _leave(self, state: Followed) -> None:
        """The leader must not count any longer on what it was told."""
        if state.told is not None:
            state.told = None
            self._left[state.key] = None

    def get(self, key: Key) -> Followed | None:
        return self._by_key.get(key)

    def __contains__(self, state: Followed) -> bool:
        return self._by_key.get(state.key) is state

    def to_the_end(self, state: Followed) -> None:
        """It got something: so that a busy partition does not starve the others."""
        if state in self:
            self._by_key[state.key] = self._by_key.pop(state.key)

    def forget_session(self) -> None:
        """The leader knows nothing any more: the next step names everything."""
        self._left.clear()
        for state in self._by_key.values():
            state.told = None

    def step(
        self, session: FollowerSession, *, now_ms: float, rests: Callable[[Followed], bool] | None = None
    ) -> FetchStep | None:
        """The next request; None if nothing is to be fetched now. `rests` says what else is not to be fetched.

        If the request is not answered, `forget_session`.
        """
        changed: dict[Key, Asked] = {}
        left = self._left
        wanted = False
        for state in self._by_key.values():
            if (
                state.not_before_ms <= now_ms
                and not state.flushing
                and not state.flush_failed
                and (rests is None or not rests(state))
            ):
                wanted = True
                news = state.news()
                if news is not None:
                    changed[state.key] = news
            else:
                self._leave(state)
        if not wanted:
            # What was left is sent with the next request.
            return None
        # A replica that is wanted again was not told since it was left, so it is among the changed ones.
        forgotten = [key for key in left if key not in changed]
        left.clear()
        return FetchStep(
            session_id=session.session_id, session_epoch=session.epoch, changed=changed, forgotten=forgotten
        )
