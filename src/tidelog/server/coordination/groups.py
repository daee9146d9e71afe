"""The group coordinator of this broker: which requests the shards of groups decide, and what else they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Protocol
from uuid import UUID

from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.coordinators.decision import ShardRequest
from tidelog.coordinators.groups import records, replies
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.later import Later
from tidelog.protocol.messages.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.describe_groups_response import DescribedGroup
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.list_groups_response import ListGroupsResponse
from tidelog.protocol.messages.offset_commit_request import OffsetCommitRequest
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from tidelog.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup
from tidelog.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tidelog.protocol.schema import Message
from tidelog.server.coordination.lifecycle import ShardStage
from tidelog.server.coordination.port import CoordinatorLog, meaning_for_clients
from tidelog.server.coordination.runtime import CoordinatorRuntime
from tidelog.server.coordination.shard_runtime import ShardLimits


class AskingClient(Protocol):
    """Who asks, and in which version of the API: the context of a request knows it."""

    @property
    def version(self) -> int: ...

    @property
    def client_id(self) -> str | None: ...

    @property
    def client_host(self) -> str: ...


class GroupCoordinator(CoordinatorRuntime[GroupShard]):
    """Of the groups whose partition of `__consumer_offsets` this broker leads."""

    format = records.FORMAT

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
        super().__init__(log, limits=limits, partition_count=partition_count, clock=clock)
        self._settings = settings
        self._topics = topics
        self._randomness = randomness

    def new_shard(self, leader_epoch: int) -> GroupShard:
        return GroupShard(self._settings(), self._topics())

    def refuse(self, request: ShardRequest, code: ErrorCode) -> Message:
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and isinstance(request.message, HeartbeatRequest):
            # Its member will be known again soon. Any error would only make it look for a coordinator.
            code = ErrorCode.NONE
        return replies.refuse(request.message, code)

    def refusal_by_log(self, request: ShardRequest, code: ErrorCode) -> ErrorCode:
        too_large = code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
        if too_large and isinstance(request.message, OffsetCommitRequest | TxnOffsetCommitRequest):
            # Says which request was too large; "unknown server error" would not.
            return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        return meaning_for_clients(code)

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(
        self, group_id: str, message: Message, client: AskingClient, *, sees: Callable[[str], bool] | None = None
    ) -> Message | Later[Message]:
        """The reply to a request that concerns one group, or what to await for it.

        `sees` is whether a regular expression of the client finds the topic of a name; by default it finds all.
        """
        is_new = isinstance(message, JoinGroupRequest | ConsumerGroupHeartbeatRequest) and not message.member_id
        request = ShardRequest(
            token=self.new_token(),
            message=message,
            version=client.version,
            client_id=client.client_id or "",
            client_host=client.client_host,
            sees=sees,
            fresh_id=str(UUID(bytes=self._randomness.random_bytes(16), version=4)) if is_new else "",
        )
        return self.submit(request, self.runtime_of(group_id))

    async def fetch_offsets(
        self, request: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        """Never returns an offset that is not committed: after a change of leaders it might not exist."""
        runtime = self.runtime_of(request.group_id)
        code = ErrorCode.NOT_COORDINATOR if runtime is None else runtime.unavailable
        if runtime is None or code:
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=code)
        found = runtime.shard.fetch_offsets(request, require_stable=require_stable)
        try:
            wait = runtime.commit_wait()
            if wait is not None:
                async with asyncio.timeout(self._limits.commit_timeout_ms / 1000):
                    await wait
        except TimeoutError:
            # Consumers before 3.9 do not know what to do with any other error here.
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=ErrorCode.NOT_COORDINATOR)
        except ApiError as error:
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=meaning_for_clients(error.code))
        return found

    def describe_group(self, group_id: str, version: int) -> DescribedGroup:
        shard = self.shard_of(group_id)
        if isinstance(shard, ErrorCode):
            return DescribedGroup(group_id=group_id, error_code=shard)
        return shard.describe_group(group_id, version)

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        shard = self.shard_of(group_id)
        if isinstance(shard, ErrorCode):
            return DescribedConsumerGroup(group_id=group_id, error_code=shard)
        return shard.describe_consumer_group(group_id)

    def list_groups(self, states: Sequence[str], types: Sequence[str]) -> ListGroupsResponse:
        shards = self.shards()
        if isinstance(shards, ErrorCode):
            return ListGroupsResponse(error_code=shards)
        return ListGroupsResponse(groups=[group for shard in shards for group in shard.list_groups(states, types)])

    # -- what happens elsewhere ----------------------------------------------------------------------------------

    def transaction_ended(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """A marker was appended to this partition of `__consumer_offsets`. While loading, it is read from there."""
        runtime = self._shards.get(partition)
        if runtime is not None and runtime.stage is ShardStage.ACTIVE:
            runtime.shard.replay_marker(producer_id, commit=commit)

    def reconfigure(self) -> None:
        """Properties of the broker may have changed."""
        settings = self._settings()
        for runtime in self._shards.values():
            runtime.shard.reconfigure(settings)

    def topics_changed(self) -> None:
        """Topics or partitions were created or deleted."""
        topics = self._topics()
        for runtime in self._shards.values():
            runtime.shard.on_topics_changed(topics)

    def partitions_deleted(self, partitions: Collection[TopicPartition]) -> None:
        for runtime in list(self._shards.values()):
            runtime.act(lambda shard, now: shard.on_partitions_deleted(partitions, now))

    def group_count(self) -> int:
        return sum(runtime.shard.group_count() for runtime in self._shards.values())
