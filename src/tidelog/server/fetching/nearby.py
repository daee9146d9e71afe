"""Which replica a consumer should read from: one in its own rack, if there is one that has what it wants (KIP-392)."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.metadata.image import BrokerImage
from tidelog.partition.progress import PartitionProgress

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

    Only in-sync followers that have the offset are considered: one that lags would hold its readers back, and one that
    lacks the offset would redirect them again. Among several the one that is furthest ahead.
    """
    if not reader_rack or leader_rack == reader_rack:
        return THE_LEADER
    candidates = [
        follower
        for broker_id in sorted(progress.in_sync)
        if (follower := progress.follower(broker_id)) is not None
        and follower.log_start_offset <= fetch_offset <= follower.log_end_offset
        and (image := broker(broker_id)) is not None
        and not image.fenced
        and image.rack == reader_rack
    ]
    best = max(
        candidates,
        key=lambda follower: (follower.log_end_offset, follower.last_caught_up_ms, -follower.broker_id),
        default=None,
    )
    return THE_LEADER if best is None else best.broker_id
