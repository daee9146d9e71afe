"""The properties that consumer groups obey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from tidelog.model.lazy_dataclasses import dataclass


class MigrationPolicy(Enum):
    """In which directions a group with members may change its protocol."""

    DISABLED = "disabled"
    DOWNGRADE = "downgrade"
    UPGRADE = "upgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def may_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupSettings:
    """Named as in the broker's configuration."""

    # Those that members may ask for; the first is taken if nobody asks.
    group_consumer_assignors: tuple[str, ...]
    group_consumer_assignment_interval_ms: int
    # After how long regular expressions are resolved again, where members may know of some topics only.
    group_consumer_regex_refresh_interval_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_session_timeout_ms: int
    group_consumer_max_size: int
    group_consumer_migration_policy: MigrationPolicy
    # For groups that have properties of their own: all settings, with those.
    groups: Mapping[str, ConsumerGroupSettings] = field(default_factory=dict)
    # Not configurable: when to try again if a member that is to be removed could not be.
    removal_retry_ms: int = 500

    def of(self, group_id: str) -> ConsumerGroupSettings:
        """The settings that hold for one group."""
        return self.groups.get(group_id, self)
