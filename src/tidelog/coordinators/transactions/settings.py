"""The properties that the transaction coordinator obeys."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """Named as in the broker's configuration."""

    transaction_max_timeout_ms: int
    transactional_id_expiration_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    # A transaction is aborted when its time is up; this is how long to wait if the log could not be written then.
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_two_phase_commit_enable: bool
    # The level of the feature transaction.version: what the coordinator uses for what it does on its own.
    transaction_version: int
