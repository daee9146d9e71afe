"""The driver of a shard, with the requests of the consumer protocol (KIP-848) and topics that come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from support.default_settings import consumer_group_settings, group_settings
from support.group_driver import GROUP, Driver

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.states import ConsumerGroupState
from tidelog.coordinators.consumer_groups.topics import Topic, TopicIdPartition, TopicTable
from tidelog.coordinators.decision import ShardDecision
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics

Partitions = Iterable[tuple[str, int]]


class ConsumerDriver(Driver):
    """Topics are given as name=partitions; their ids say their names, for those who read failures."""

    def __init__(self, topics: dict[str, int] | None = None, **settings: Any) -> None:
        self._versions = 0
        self._incarnations: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self.topics = TopicTable()
        # The states of a group before and after each decision, where they differ.
        self.changes: set[tuple[ConsumerGroupState, ConsumerGroupState]] = set()
        self._consumer_settings = consumer_group_settings(**{"group_consumer_assignment_interval_ms": 0, **settings})
        super().__init__()
        self.set_topics(**({"orders": 4} if topics is None else topics))

    def make_shard(self) -> GroupShard:
        return GroupShard(group_settings(consumer=self._consumer_settings), self.topics)

    def reconfigure(self, **settings: Any) -> None:
        """For the coordinators from the next one on."""
        self._consumer_settings = replace(self._consumer_settings, **settings)

    def apply(self, decision: ShardDecision) -> None:
        before = {group.group_id: group.state for group in self.shard.consumer_groups}
        super().apply(decision)
        after = {group.group_id: group.state for group in self.shard.consumer_groups}
        self.changes |= {(before[name], state) for name, state in after.items() if before.get(name, state) is not state}

    # -- topics --------------------------------------------------------------------------------------------------

    def set_topics(self, **counts: int) -> None:
        """From now on these topics exist and no others; one that was deleted before comes back with another id."""
        for name in self._counts.keys() - counts.keys():
            self._incarnations[name] = self._incarnations.get(name, 0) + 1
        self._counts = counts
        self._versions += 1
        self.topics = TopicTable(
            [Topic(name, self.topic_id(name), count) for name, count in counts.items()], version=self._versions
        )
        self.shard.on_topics_changed(self.topics)

    def topic_id(self, name: str) -> Uuid:
        """Of the topic that has the name now."""
        incarnation = self._incarnations.get(name)
        return _id(f"{name}#{incarnation}" if incarnation else name)

    def named(self, partitions: Iterable[TopicIdPartition]) -> set[tuple[str, int]]:
        return {(bytes(topic_id).rstrip(b".").decode(), number) for topic_id, number in partitions}

    # -- requests ------------------------------------------------------------------------------------------------

    def heartbeat_as(
        self,
        member_id: str,
        epoch: int,
        *,
        owned: Partitions | None = None,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        instance: str | None = None,
        assignor: str | None = None,
        rack: str | None = None,
        rebalance_ms: int = -1,
        group: str = GROUP,
        version: int = 1,
        client_id: str = "client",
    ) -> Any:
        """The reply."""
        reported = None
        if owned is not None:
            numbers: dict[str, list[int]] = {}
            for topic, number in sorted(owned):
                numbers.setdefault(topic, []).append(number)
            reported = [TopicPartitions(topic_id=_id(topic), partitions=found) for topic, found in numbers.items()]
        message = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance,
            rack_id=rack,
            rebalance_timeout_ms=rebalance_ms,
            subscribed_topic_names=topics,
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=reported,
        )
        return self.ask(message, version, client_id)

    def join_as(self, member_id: str, *, topics: Sequence[str] | None = ("orders",), **options: Any) -> Any:
        options = {"rebalance_ms": 60_000, "owned": [], **options}
        return self.heartbeat_as(member_id, 0, topics=topics, **options)

    def consumer_group(self, group: str = GROUP) -> ConsumerGroup:
        (found,) = [each for each in self.shard.consumer_groups if each.group_id == group]
        return found

    def fetch_as(self, member_id: str | None, epoch: int, *, group: str = GROUP) -> tuple[int, int]:
        """The error of the group, and the committed offset of the first partition."""
        topics = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
        request = OffsetFetchRequestGroup(group_id=group, member_id=member_id, member_epoch=epoch, topics=topics)
        found = self.shard.fetch_offsets(request, require_stable=False)
        if found.error_code:
            return found.error_code, -1
        return 0, found.topics[0].partitions[0].committed_offset


def _id(topic: str) -> Uuid:
    """Of the first topic of this name, or of a later one if the name is followed by its number."""
    return Uuid(topic.encode().ljust(16, b"."))


class Consumer:
    """Does what a client does: takes what it is given, gives up what is no longer in its assignment."""

    def __init__(self, driver: ConsumerDriver, member_id: str, **options: Any) -> None:
        self.driver = driver
        self.member_id = member_id
        self.epoch = 0
        self.owned: set[tuple[str, int]] = set()
        self.options = options
        self._reported: set[tuple[str, int]] = set()

    def join(self) -> int:
        self.epoch, self.owned, self._reported = 0, set(), set()
        return self._hear(self.driver.join_as(self.member_id, **self.options))

    def beat(self, **changes: Any) -> int:
        owned = self.owned if self.owned != self._reported or changes else None
        self._reported = set(self.owned)
        static = {key: value for key, value in self.options.items() if key in ("instance", "group")}
        return self._hear(self.driver.heartbeat_as(self.member_id, self.epoch, owned=owned, **static, **changes))

    def leave(self, epoch: int = -1) -> int:
        static = {key: value for key, value in self.options.items() if key in ("instance", "group")}
        return int(self.driver.heartbeat_as(self.member_id, epoch, **static).error_code)

    def _hear(self, reply: Any) -> int:
        if reply.error_code == 0:
            self.epoch = reply.member_epoch
            if reply.assignment is not None:
                self.owned = self.driver.named(
                    TopicIdPartition(Uuid(topic.topic_id), number)
                    for topic in reply.assignment.topic_partitions
                    for number in topic.partitions
                )
        return int(reply.error_code)


def settle(consumers: Sequence[Consumer], rounds: int = 10) -> None:
    """Heartbeats all round until nothing changes any more."""
    for _ in range(rounds):
        before = [(consumer.epoch, set(consumer.owned)) for consumer in consumers]
        for consumer in consumers:
            assert consumer.beat() == 0
        if before == [(consumer.epoch, consumer.owned) for consumer in consumers]:
            return
    raise AssertionError(f"not settled after {rounds} rounds")
