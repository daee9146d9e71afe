"""The properties that the group coordinator obeys, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Named as in the broker's configuration."""

    group_initial_rebalance_delay_ms: int = 3000
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = (1 << 31) - 1
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    consumer: ConsumerGroupSettings = field(default_factory=ConsumerGroupSettings)
    # Not configurable in Kafka either. Members that have not got their first answer yet cannot send heartbeats.
    new_member_join_timeout_ms: int = 5 * _MINUTE_MS

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * _MINUTE_MS
