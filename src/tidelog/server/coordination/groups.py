"""The group coordinator of this broker: finds the shard of a group, and makes and drops shards with leadership."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from uuid import UUID

from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.coordinators.groups.replies import refuse
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.later import Later
from tidelog.protocol.messages.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.describe_groups_response import DescribedGroup
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.list_groups_response import ListGroupsResponse
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from tidelog.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup
from tidelog.protocol.schema import Message
from tidelog.server.coordination.group_shard import GroupShardRuntime, Sender, ShardLimits
from tidelog.server.coordination.port import CoordinatorLog, meaning_for_clients

logger = logging.getLogger(__name__)

# How long a shard that broke stays away, so that a fault that comes back does not keep the broker busy.
RELOAD_DELAY_SECONDS = 1.0


class GroupCoordinator:
    """All shards of this broker. `partition_count` is that of `__consumer_offsets`, or what it will have."""

    def __init__(
        self,
        log: CoordinatorLog,
        *,
        settings: Callable[[], GroupSettings],
        topics: Callable[[], Topics],
        limits: ShardLimits,
        partition_count: Callable[[], int],
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._log = log
        self._settings = settings
        self._topics = topics
        self._limits = limits
        self._partition_count = partition_count
        self._clock = clock
        self._randomness = randomness
        self._shards: dict[int, GroupShardRuntime] = {}
        self._closed = False

    # -- leadership ----------------------------------------------------------------------------------------------

    def lead(self, partition: int) -> None:
        """The broker leads this partition now. If it did already, what is in memory is still what the log says."""
        if partition in self._shards or self._closed:
            return
        self._shards[partition] = GroupShardRuntime(
            partition,
            log=self._log,
            settings=self._settings(),
            topics=self._topics(),
            limits=self._limits,
            clock=self._clock,
            broken=self._reload,
        )

    def stop_leading(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close(ErrorCode.NOT_COORDINATOR)

    def close(self) -> None:
        """The broker stops: whoever waits is told to look for another coordinator."""
        self._closed = True
        for partition in list(self._shards):
            self.stop_leading(partition)

    def _reload(self, shard: GroupShardRuntime) -> None:
        asyncio.get_running_loop().call_later(RELOAD_DELAY_SECONDS, self._lead_anew, shard)

    def _lead_anew(self, shard: GroupShardRuntime) -> None:
        if self._shards.get(shard.partition) is shard:
            del self._shards[shard.partition]
            self.lead(shard.partition)

    # -- requests ------------------------------------------------------------------------------------------------

    def partition_of(self, group_id: str) -> int:
        """The partition whose leader coordinates the group."""
        return partition_for(group_id, self._partition_count())

    def ask(self, group_id: str, message: Message, sender: Sender) -> Message | Later[Message]:
        """The reply to a request that concerns one group, or what to await for it."""
        shard = self._shards.get(self.partition_of(group_id))
        if shard is None:
            return refuse(message, ErrorCode.NOT_COORDINATOR)
        is_new = isinstance(message, JoinGroupRequest | ConsumerGroupHeartbeatRequest) and not message.member_id
        return shard.ask(message, sender, self._fresh_id() if is_new else "")

    async def fetch_offsets(
        self, request: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        """Never tells of an offset that is not committed: after a change of leaders it might not exist."""
        shard = self._shards.get(self.partition_of(request.group_id))
        code = ErrorCode.NOT_COORDINATOR if shard is None else shard.unavailable
        if shard is None or code:
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=code)
        found = shard.shard.fetch_offsets(request, require_stable=require_stable)
        try:
            settling = shard.settling()
            if settling is not None:
                await shard.settle(settling)
        except TimeoutError:
            # Consumers before 3.9 do not know what to do with any other error here.
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=ErrorCode.NOT_COORDINATOR)
        except ApiError as error:
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=meaning_for_clients(error.code))
        return found

    def describe_group(self, group_id: str, version: int) -> DescribedGroup:
        shard = self._shards.get(self.partition_of(group_id))
        code = ErrorCode.NOT_COORDINATOR if shard is None else shard.unavailable
        if shard is None or code:
            return DescribedGroup(group_id=group_id, error_code=code)
        return shard.shard.describe_group(group_id, version)

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        shard = self._shards.get(self.partition_of(group_id))
        code = ErrorCode.NOT_COORDINATOR if shard is None else shard.unavailable
        if shard is None or code:
            return DescribedConsumerGroup(group_id=group_id, error_code=code)
        return shard.shard.describe_consumer_group(group_id)

    def list_groups(self, states: Sequence[str], types: Sequence[str]) -> ListGroupsResponse:
        """Those of this broker; a client asks all brokers. An incomplete list would look like a complete one."""
        groups = []
        for shard in self._shards.values():
            if shard.unavailable in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR):
                groups += [] if shard.unavailable else shard.shard.list_groups(states, types)
            else:
                return ListGroupsResponse(error_code=shard.unavailable)
        return ListGroupsResponse(groups=groups)

    # -- what happens elsewhere ----------------------------------------------------------------------------------

    def transaction_ended(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """A marker was appended to this partition of `__consumer_offsets`."""
        shard = self._shards.get(partition)
        if shard is not None:
            shard.transaction_ended(producer_id, commit=commit)

    def reconfigure(self) -> None:
        """Properties of the broker may have changed."""
        for shard in self._shards.values():
            shard.shard.reconfigure(self._settings())

    def topics_changed(self) -> None:
        """Topics or partitions have come or gone."""
        topics = self._topics()
        for shard in self._shards.values():
            shard.shard.on_topics_changed(topics)

    def partitions_deleted(self, partitions: Collection[TopicPartition]) -> None:
        for shard in list(self._shards.values()):
            shard.partitions_deleted(partitions)

    def group_count(self) -> int:
        return sum(shard.shard.group_count() for shard in self._shards.values())

    def _fresh_id(self) -> str:
        return str(UUID(bytes=self._randomness.random_bytes(16), version=4))
