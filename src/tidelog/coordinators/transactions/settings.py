"""The properties that the transaction coordinator obeys, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """Named as in the broker's configuration."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 7 * _DAY_MS
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    # A transaction is aborted when its time is up; this is how long to wait if the log could not be written then.
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_two_phase_commit_enable: bool = False
    # The level of the feature transaction.version: what the coordinator uses for what it does on its own.
    transaction_version: int = 2
