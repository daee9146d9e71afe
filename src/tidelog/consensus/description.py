"""The replicas of the quorum as its leader sees them, in the words of DescribeQuorum."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.consensus.progress import ReplicaProgress
from tidelog.protocol.messages.describe_quorum_response import ReplicaState

UNKNOWN = -1


def describe_replicas(replicas: Iterable[ReplicaProgress], now_ms: float, wall_ms: int) -> list[ReplicaState]:
    """`now_ms` is the same moment as `wall_ms`, on the clock of the leader's steps."""

    def timestamp(moment_ms: float | None) -> int:
        return UNKNOWN if moment_ms is None else wall_ms - round(max(0.0, now_ms - moment_ms))

    return [
        ReplicaState(
            replica_id=replica.replica_id,
            replica_directory_id=replica.directory_id,
            log_end_offset=replica.end_offset,
            last_fetch_timestamp=timestamp(replica.last_fetch_ms),
            last_caught_up_timestamp=timestamp(replica.last_caught_up_ms),
        )
        for replica in sorted(replicas, key=lambda each: each.replica_id)
    ]
