"""Where the logs of a leader and of a follower diverge, found with leader epochs (KIP-101, KIP-279, KIP-595).

A follower sends the epoch of its last record with every fetch. The leader looks up where that epoch ends in its own
log: if that is before the follower's end, the follower has records that the leader never had. It receives the epoch and
its end, truncates what cannot be the same, and asks again; each step cuts something, until both agree. The high
watermark plays no part in this: a follower may not have learned yet how far its records were committed.
"""

from __future__ import annotations

from tidelog.partition.leader_epochs import EpochEndOffset, LeaderEpochs


def diverging_epoch(
    epochs: LeaderEpochs, log_end_offset: int, *, fetch_offset: int, last_fetched_epoch: int
) -> EpochEndOffset | None:
    """What a leader answers a reader whose last record, before `fetch_offset`, is of `last_fetched_epoch`.

    None if the reader's log may be the beginning of ours. Both numbers are -1 if the epoch is not known here at all.
    """
    end = epochs.end_offset_for(last_fetched_epoch, log_end_offset=log_end_offset)
    if end.epoch == last_fetched_epoch and end.end_offset >= fetch_offset:
        return None
    return end


def truncation_offset(epochs: LeaderEpochs, log_end_offset: int, leader: EpochEndOffset) -> int:
    """Where a follower truncates its log after the leader has answered where the follower's last epoch ends for it.

    - Both know the epoch: its records are the same in both logs as far as both go.
    - The leader's epoch is unknown here: our records of later epochs are not the leader's, and whether those of the
      epoch before are can only be found out by asking for that one.
    """
    ours = epochs.end_offset_for(leader.epoch, log_end_offset=log_end_offset)
    if ours.epoch < 0:
        return min(leader.end_offset, log_end_offset)
    if ours.epoch == leader.epoch:
        return min(leader.end_offset, ours.end_offset)
    return ours.end_offset
