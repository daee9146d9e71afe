"""Which replica a consumer should read from: one in its own rack, if there is one that has what it wants (KIP-392)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidelog.metadata.image import BrokerImage
from tidelog.partition.progress import FollowerProgress, PartitionProgress

THE_LEADER = -1


def nearby_replica(
    progress: PartitionProgress,
    *,
    leader_rack: str | None,
    reader_rack: str,
    fetch_offset: int,
    broker: Callable[[int], BrokerImage | None],
) -> int:
    """The broker to read from, or THE_LEADER.

    Only in-sync followers that have the offset are considered: one that lags would keep its readers back, and one that
    lacks the offset would send them away again. Among several the one that is furthest.
    """
    if not reader_rack or leader_rack == reader_rack:
        return THE_LEADER
    candidates = [follower for follower in _in_sync(progress) if _serves(broker(follower.broker_id), reader_rack)]
    having_it = [
        follower for follower in candidates if follower.log_start_offset <= fetch_offset <= follower.log_end_offset
    ]
    best = max(
        having_it,
        key=lambda follower: (follower.log_end_offset, follower.last_caught_up_ms, -follower.broker_id),
        default=None,
    )
    return THE_LEADER if best is None else best.broker_id


def _in_sync(progress: PartitionProgress) -> Iterable[FollowerProgress]:
    for broker_id in sorted(progress.in_sync):
        follower = progress.follower(broker_id)
        if follower is not None:
            yield follower


def _serves(broker: BrokerImage | None, rack: str) -> bool:
    return broker is not None and not broker.fenced and broker.rack == rack
