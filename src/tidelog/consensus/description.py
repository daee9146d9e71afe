"""The quorum as its leader sees it: what DescribeQuorum shows (`QuorumWire.write_description`)."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.consensus.progress import ReplicaProgress
from tidelog.model.ids import Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaDescription:
    """What the leader knows about a replica. Times are ages in milliseconds, None if there was no such moment."""

    replica_id: int
    directory_id: Uuid
    end_offset: int
    since_last_fetch_ms: float | None
    since_caught_up_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """The leader's view of the quorum, for DescribeQuorum."""

    leader_id: int
    epoch: int
    high_watermark: int | None
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]


def describe_replica(progress: ReplicaProgress, now_ms: float) -> ReplicaDescription:
    def age(moment_ms: float | None) -> float | None:
        return None if moment_ms is None else max(0.0, now_ms - moment_ms)

    return ReplicaDescription(
        replica_id=progress.replica_id,
        directory_id=progress.directory_id,
        end_offset=progress.end_offset,
        since_last_fetch_ms=age(progress.last_fetch_ms),
        since_caught_up_ms=age(progress.last_caught_up_ms),
    )
