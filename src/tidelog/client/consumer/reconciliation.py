"""What a member of a group of the new protocol says and hears in its heartbeats (KIP-848). Pure.

The broker says what the member should have (the target); the member takes it over at its own pace and says what it has.
A heartbeat carries only what has changed since the last one that was answered, except when the member joins or when a
reply did not come: then all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tidelog.client.options import ConsumerConfig
from tidelog.model.ids import Uuid, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse

JOINING_EPOCH = 0
LEAVING_EPOCH = -1
# A static member that will be back within its session.
PAUSING_EPOCH = -2

# A partition as heartbeats name it.
IdPartition = tuple[Uuid, int]


class MembershipState(Enum):
    # Not in the group; the next heartbeat joins.
    JOINING = "joining"
    MEMBER = "member"
    # Out of the group against its will. What it had is lost; once the reader knows, the member joins again.
    OUT = "out"
    LEFT = "left"


class Reconciliation:
    def __init__(self, group_id: str, config: ConsumerConfig, member_id: str) -> None:
        self._group_id = group_id
        self._config = config
        self.member_id = member_id
        self.state = MembershipState.JOINING
        self.epoch = JOINING_EPOCH
        self.topics: tuple[str, ...] = ()
        self.pattern: str | None = None
        # None: the broker has not said yet.
        self.target: frozenset[IdPartition] | None = None
        # What the reader has been given, and has not given up.
        self.owned: frozenset[IdPartition] = frozenset()
        self._acknowledged: _Reported | None = None
        self._sent: _Reported | None = None

    def subscribe(self, topics: Iterable[str], pattern: str | None) -> None:
        self.topics = tuple(sorted(topics))
        self.pattern = pattern

    @property
    def has_news(self) -> bool:
        """Whether the broker must learn something before the next heartbeat is due."""
        return self.state is MembershipState.JOINING or (
            self.state is MembershipState.MEMBER and self._acknowledged != self._now()
        )

    @property
    def to_take_over(self) -> frozenset[IdPartition] | None:
        """The target, if it is another than what the member has."""
        return None if self.state is not MembershipState.MEMBER or self.target == self.owned else self.target

    def heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        now = self._now()
        before = self._acknowledged if self.state is MembershipState.MEMBER else None
        everything = before is None
        self._sent = now
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self._config.group_instance_id,
            rack_id=(self._config.client_rack or None) if everything else None,
            rebalance_timeout_ms=self._config.max_poll_interval_ms if everything else -1,
            subscribed_topic_names=now.topics if before is None or before.topics != now.topics else None,
            # An empty pattern takes back an earlier one.
            subscribed_topic_regex=(now.pattern or "")
            if (before is None and now.pattern is not None) or (before is not None and before.pattern != now.pattern)
            else None,
            server_assignor=self._config.group_remote_assignor if everything else None,
            topic_partitions=_by_topic(now.owned) if before is None or before.owned != now.owned else None,
        )

    def farewell(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        self.state = MembershipState.LEFT
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self._config.group_instance_id,
        )

    def answered(self, reply: ConsumerGroupHeartbeatResponse) -> None:
        if self.state not in (MembershipState.JOINING, MembershipState.MEMBER):
            # It has left, or was removed, while the heartbeat was on its way.
            return
        self._acknowledged = self._sent
        self.state = MembershipState.MEMBER
        # Brokers before version 1 of the API give the ids out.
        self.member_id = reply.member_id or self.member_id
        self.epoch = reply.member_epoch
        if reply.assignment is not None:
            self.target = frozenset(
                (Uuid(topic.topic_id), number)
                for topic in reply.assignment.topic_partitions
                for number in topic.partitions
            )

    def unanswered(self) -> None:
        """It is not known what the broker has received: send everything again."""
        self._acknowledged = None

    def thrown_out(self) -> None:
        """By the broker, or by itself because nobody reads."""
        self.state = MembershipState.OUT
        self.epoch = JOINING_EPOCH
        self.target = None
        self._acknowledged = None

    def join_again(self) -> None:
        """The reader knows that everything is lost."""
        self.state = MembershipState.JOINING
        self.epoch = JOINING_EPOCH
        self.target = None
        self.owned = frozenset()
        self._acknowledged = None

    def _now(self) -> _Reported:
        return _Reported(topics=self.topics, pattern=self.pattern, owned=self.owned)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reported:
    topics: tuple[str, ...]
    pattern: str | None
    owned: frozenset[IdPartition]


def _by_topic(partitions: Iterable[IdPartition]) -> list[TopicPartitions]:
    topics = numbers_by_topic(sorted(partitions)).items()
    return [TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics]
