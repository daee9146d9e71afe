"""What a coordinator's runtime needs of the log it lives on, and what errors of that log mean to its clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.record_format import EncodedRecord
from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later

# Raises ApiError when awaited, if the records are not known to be committed.
CommitWait = Later[None]


class CoordinatorLog(Protocol):
    """The partitions of one internal topic, as far as this broker leads them. All methods raise ApiError."""

    def append(self, partition: int, records: Sequence[EncodedRecord], producer: ProducerIdentity | None = None) -> int:
        """Write one batch to the local log, without waiting for replicas; the offset of the first record."""
        ...

    def start_offset(self, partition: int) -> int: ...

    def end_offset(self, partition: int) -> int: ...

    def commit_wait(self, partition: int) -> CommitWait | None:
        """Done when everything that is in the log now is committed; None if it is already.

        To be called right after the append, before anything is awaited: a commit that is waited for later may be that
        of other records, after a change of leaders.
        """
        ...

    async def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`; at least one, unless the log ends before."""
        ...


_MEANINGS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def meaning_for_clients(code: ErrorCode) -> ErrorCode:
    """Clients know nothing of the coordinator's log: they learn whether to wait or to look for another coordinator."""
    return _MEANINGS.get(code, code)
