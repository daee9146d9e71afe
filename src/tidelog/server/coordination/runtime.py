"""Runs a coordinator of any kind: finds the shard of a key, and creates and closes shards with leadership.

A coordinator is a subclass that says what its shards are, how their records are written and how its requests are
refused; see `ShardOwner`. How one shard is run is in `shard_runtime`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tidelog.coordinators.decision import ShardRequest, Token
from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ErrorCode
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.protocol.schema import Message
from tidelog.server.coordination.lifecycle import ShardStage
from tidelog.server.coordination.port import CoordinatorLog
from tidelog.server.coordination.shard_runtime import S, ShardLimits, ShardOwner, ShardRuntime
from tidelog.server.replicas.replica import Replica


class CoordinatorRuntime(ShardOwner[S]):
    """All shards of this broker. `partition_count` is that of the topic, or what it will have."""

    # Whether what a shard does carries the leader epoch, so that another epoch needs another shard. If not, what is in
    # memory is still what the log says.
    has_shard_for_each_epoch: ClassVar[bool] = False

    def __init__(
        self, log: CoordinatorLog, *, limits: ShardLimits, partition_count: Callable[[], int], clock: Clock
    ) -> None:
        self._log = log
        self._limits = limits
        self._partition_count = partition_count
        self._clock = clock
        self._shards: dict[int, ShardRuntime[S]] = {}
        self._tokens = 0
        self._closed = False

    # -- leadership ----------------------------------------------------------------------------------------------

    def became_leader(self, replica: Replica) -> None:
        if replica.topic_partition.topic == self.format.topic:
            self.lead(replica.topic_partition.partition, replica.leader_epoch)

    def stopped_leading(self, replica: Replica) -> None:
        if replica.topic_partition.topic == self.format.topic:
            self.stop_leading(replica.topic_partition.partition)

    def lead(self, partition: int, leader_epoch: int) -> None:
        """The broker leads this partition now, or leads it in another epoch."""
        current = self._shards.get(partition)
        if self._closed or (
            current is not None and (current.leader_epoch == leader_epoch or not self.has_shard_for_each_epoch)
        ):
            return
        self.stop_leading(partition)
        self._shards[partition] = ShardRuntime(
            partition, leader_epoch, owner=self, log=self._log, limits=self._limits, clock=self._clock
        )

    def stop_leading(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close()

    def close(self) -> None:
        """The broker stops: clients that wait must look for another coordinator."""
        self._closed = True
        for partition in list(self._shards):
            self.stop_leading(partition)

    # -- requests ------------------------------------------------------------------------------------------------

    def new_token(self) -> Token:
        self._tokens += 1
        return Token(self._tokens)

    def submit(self, request: ShardRequest, runtime: ShardRuntime[S] | None) -> Message | Later[Message]:
        """The reply, or what to await for it; `runtime` is that of the request's key."""
        return self.refuse(request, ErrorCode.NOT_COORDINATOR) if runtime is None else runtime.ask(request)

    # -- shards --------------------------------------------------------------------------------------------------

    def partition_of(self, key: str) -> int:
        """The partition whose leader coordinates the key."""
        return partition_for(key, self._partition_count())

    def runtime_of(self, key: str) -> ShardRuntime[S] | None:
        """None if this broker does not coordinate the key."""
        return self._shards.get(self.partition_of(key))

    def shard_of(self, key: str) -> S | ErrorCode:
        """The shard if it is active, for queries that change nothing."""
        runtime = self.runtime_of(key)
        if runtime is None:
            return ErrorCode.NOT_COORDINATOR
        return runtime.shard if runtime.stage is ShardStage.ACTIVE else runtime.unavailable

    def shards(self) -> list[S] | ErrorCode:
        """The active ones, for lists; a client asks all brokers. An incomplete list would look like a complete one, so
        there is none while a shard is loading or about to load."""
        found = []
        for runtime in self._shards.values():
            if runtime.stage is ShardStage.ACTIVE:
                found.append(runtime.shard)
            elif runtime.unavailable is not ErrorCode.NOT_COORDINATOR:
                return runtime.unavailable
        return found
