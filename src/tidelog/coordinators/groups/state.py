"""What a shard of the group coordinator holds, and the few things that all its parts do with it."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.coordinators.consumer_groups.state import ConsumerGroups
from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.coordinators.decision import Moment
from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.members import Member
from tidelog.coordinators.groups.offsets import OffsetStore
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.timers import Timers


class SessionTimer(NamedTuple):
    """The member, or the id that was handed out, is dropped unless it is heard from before."""

    group_id: str
    member_id: str


class JoinTimer(NamedTuple):
    """The end of the wait for members to (re)join."""

    group_id: str


class SyncTimer(NamedTuple):
    """The end of the wait for members of one generation to ask for their assignment."""

    group_id: str
    generation: int


class OffsetExpiryTimer(NamedTuple):
    """The next look for expired offsets."""


GroupTimer = SessionTimer | JoinTimer | SyncTimer | OffsetExpiryTimer


class GroupTable:
    """Mutable, and only touched by the functions of this package."""

    def __init__(self, settings: GroupSettings, topics: Topics) -> None:
        self.settings = settings
        # The classic ones. A group id means one kind of group at a time; where both are asked, the other comes first,
        # because a classic group may be about to replace an empty one before the log says so.
        self.groups: dict[str, ClassicGroup] = {}
        self.consumer = ConsumerGroups(settings.consumer, topics)
        # What consumer groups become when the records of their downgrade are replayed.
        self.downgraded: dict[str, ClassicGroup] = {}
        self.offsets = OffsetStore()
        self.timers: Timers[GroupTimer] = Timers()
        # Groups that the current round of expiry has yet to look at.
        self.expiry_backlog: list[str] = []

    def renew_session(self, group: ClassicGroup, member: Member, now: Moment) -> None:
        self.expect_within(group, member.member_id, member.session_timeout_ms, now)

    def expect_within(self, group: ClassicGroup, member_id: str, timeout_ms: int, now: Moment) -> None:
        self.timers.schedule(SessionTimer(group.group_id, member_id), now.monotonic_ms + timeout_ms)

    def remove_member(self, group: ClassicGroup, member_id: str) -> None:
        group.remove(member_id)
        self.timers.cancel(SessionTimer(group.group_id, member_id))
