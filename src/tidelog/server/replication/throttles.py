"""The replication throttles of one broker (KIP-73): what it sends as a leader, and what it fetches as a follower.

The topic says which replicas are throttled, the broker how much they may take together. The rule of the rates is in
`tidelog.partition.throttle`.
"""

from __future__ import annotations

from tidelog.config.broker import BrokerConfig
from tidelog.model.ports import Clock
from tidelog.partition.throttle import RateLimit, is_throttled
from tidelog.server.replicas.replica import Replica


class ReplicationThrottles:
    """`reconfigure` when the broker's properties have changed; the topics' are read each time."""

    def __init__(self, *, broker_id: int, clock: Clock, config: BrokerConfig) -> None:
        self._broker_id = broker_id
        self._clock = clock
        windows, window_ms = config.replication_quota_window_num, config.replication_quota_window_size_seconds * 1000.0
        self.leader = RateLimit(windows=windows, window_ms=window_ms)
        self.follower = RateLimit(windows=windows, window_ms=window_ms)
        self.moving = RateLimit(
            windows=config.alter_log_dirs_replication_quota_window_num,
            window_ms=config.alter_log_dirs_replication_quota_window_size_seconds * 1000.0,
        )
        self.reconfigure(config)

    def reconfigure(self, config: BrokerConfig) -> None:
        self.leader.change(config.leader_replication_throttled_rate)
        self.follower.change(config.follower_replication_throttled_rate)
        self.moving.change(config.replica_alter_log_dirs_io_max_bytes_per_second)

    # -- as a leader ---------------------------------------------------------------------------------------------

    def holds_back(self, replica: Replica, follower: int) -> bool:
        """Whether a follower gets no records of this partition now."""
        if self.leader.unlimited or not self._leader_throttled(replica):
            return False
        progress = replica.progress
        in_sync = progress is not None and follower in progress.in_sync
        return not in_sync and self.leader.exceeded(self._clock.monotonic_ms())

    def held_back_ms(self) -> int:
        """When it is worth checking again."""
        return max(1, int(self.leader.wait_ms(self._clock.monotonic_ms())))

    def sent(self, replica: Replica, size: int) -> None:
        if size and not self.leader.unlimited and self._leader_throttled(replica):
            self.leader.record(size, self._clock.monotonic_ms())

    def _leader_throttled(self, replica: Replica) -> bool:
        replicas = replica.settings.config.leader_replication_throttled_replicas
        return is_throttled(replicas, replica.topic_partition.partition, broker=self._broker_id)

    # -- as a follower -------------------------------------------------------------------------------------------

    def rests(self, replica: Replica, *, in_sync: bool) -> bool:
        """Whether nothing is fetched for this replica now."""
        if in_sync or self.follower.unlimited or not self._follower_throttled(replica):
            return False
        return self.follower.exceeded(self._clock.monotonic_ms())

    def fetched(self, replica: Replica, size: int) -> None:
        if size and not self.follower.unlimited and self._follower_throttled(replica):
            self.follower.record(size, self._clock.monotonic_ms())

    def rest_ms(self) -> float:
        return self.follower.wait_ms(self._clock.monotonic_ms())

    def _follower_throttled(self, replica: Replica) -> bool:
        replicas = replica.settings.config.follower_replication_throttled_replicas
        return is_throttled(replicas, replica.topic_partition.partition, broker=self._broker_id)
