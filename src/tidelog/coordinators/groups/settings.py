"""The properties that the group coordinator obeys."""

from __future__ import annotations

from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings
from tidelog.model.lazy_dataclasses import dataclass

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Named as in the broker's configuration."""

    group_initial_rebalance_delay_ms: int
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    offset_metadata_max_bytes: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    consumer: ConsumerGroupSettings
    # Not configurable in Kafka either. Members that have not got their first answer yet cannot send heartbeats.
    new_member_join_timeout_ms: int = 5 * _MINUTE_MS

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * _MINUTE_MS
