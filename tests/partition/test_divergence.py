"""Where a follower cuts its log: never too little, and never what the leader has."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.partition.divergence import diverging_epoch, truncation_offset
from tidelog.partition.leader_epochs import EpochEndOffset, LeaderEpochs

# A log as the epochs of its records, one record at each offset.
Records = list[int]


class ModelLog:
    """Records with their epochs, and the table that a broker keeps of them."""

    def __init__(self, records: Records) -> None:
        self.records: list[tuple[int, int]] = []
        self.epochs = LeaderEpochs()
        self.cuts: list[int] = []
        for epoch in records:
            self.append(epoch, 0)

    def append(self, epoch: int, value: int) -> None:
        self.epochs.assign(epoch, start_offset=len(self.records))
        self.records.append((epoch, value))

    def lead(self, epoch: int) -> None:
        self.epochs.assign(epoch, start_offset=len(self.records))

    def cut(self, offset: int) -> None:
        self.cuts.append(offset)
        del self.records[offset:]
        self.epochs.truncate_from_end(offset)

    @property
    def end(self) -> int:
        return len(self.records)


def follow(follower: ModelLog, leader: ModelLog) -> int:
    """Fetch until both logs are the same; the number of rounds."""
    for rounds in range(1, 100):
        told = None
        if follower.epochs.latest_epoch >= 0:
            told = diverging_epoch(
                leader.epochs,
                leader.end,
                fetch_offset=follower.end,
                last_fetched_epoch=follower.epochs.latest_epoch,
            )
        if told is not None:
            before = (follower.end, follower.epochs.entries)
            follower.cut(truncation_offset(follower.epochs, follower.end, told))
            assert (follower.end, follower.epochs.entries) != before, "a round must bring them nearer"
        elif follower.end < leader.end:
            follower.append(*leader.records[follower.end])
        else:
            return rounds
    raise AssertionError("they never agree")


@pytest.mark.parametrize(
    ("follower", "leader", "kept"),
    [
        # Nothing to cut: the follower is behind, or level.
        ([0, 0], [0, 0, 0], 2),
        ([0, 0, 1], [0, 0, 1], 3),
        # The leader of epoch 0 wrote one more record, which nobody else has.
        ([0, 0, 0], [0, 0, 1], 2),
        # The first example of KIP-279: two fast fail-overs, of which the follower saw only the first.
        ([0, 0, 1, 1], [0, 0, 2], 2),
        # Epochs that only one of the two knows.
        ([0, 1, 1, 3], [0, 2, 2, 4], 1),
        ([0, 1, 3, 3], [0, 1, 2, 4], 2),
        ([1, 1], [0, 2], 0),
        ([5], [6], 0),
    ],
)
def test_exactly_what_the_leader_lacks_is_cut(follower: Records, leader: Records, kept: int) -> None:
    ours, theirs = ModelLog(follower), ModelLog(leader)
    theirs.lead(max(leader) + 1)
    follow(ours, theirs)
    assert ours.records == theirs.records
    assert min(ours.cuts, default=len(follower)) == kept


def test_an_epoch_in_which_nothing_was_written_is_forgotten_without_a_loss() -> None:
    follower, leader = ModelLog([0, 0]), ModelLog([0, 0])
    follower.lead(1)
    leader.lead(2)
    told = diverging_epoch(leader.epochs, leader.end, fetch_offset=2, last_fetched_epoch=1)
    assert told == EpochEndOffset(0, 2)
    follower.cut(truncation_offset(follower.epochs, follower.end, told))
    assert follower.end == 2
    assert follower.epochs.latest_epoch == 0


def test_an_epoch_that_the_leader_cannot_know_is_answered_as_unknown() -> None:
    leader = ModelLog([0, 0])
    assert diverging_epoch(leader.epochs, 2, fetch_offset=2, last_fetched_epoch=7) == EpochEndOffset(-1, -1)


def test_a_follower_that_tracks_no_epochs_goes_by_the_leaders_word() -> None:
    assert truncation_offset(LeaderEpochs(), 10, EpochEndOffset(3, 7)) == 7
    assert truncation_offset(LeaderEpochs(), 5, EpochEndOffset(3, 7)) == 5


@settings(max_examples=400)
@given(st.data())
def test_replicas_always_agree_and_never_cut_what_they_share(data: st.DataObject) -> None:
    """Elections at random among three logs. A new leader may lack any part of the others' ends: who may be elected is
    the controller's affair."""
    logs = [ModelLog([]) for _ in range(3)]
    leader = 0
    value = 0
    for epoch in range(data.draw(st.integers(1, 8), label="epochs")):
        leader = data.draw(st.integers(0, 2), label="leader")
        logs[leader].lead(epoch)
        for _ in range(data.draw(st.integers(0, 3), label="records")):
            value += 1
            logs[leader].append(epoch, value)
        for number in data.draw(st.sets(st.integers(0, 2)), label="followers") - {leader}:
            shared = 0
            for ours, theirs in zip(logs[number].records, logs[leader].records, strict=False):
                if ours != theirs:
                    break
                shared += 1
            logs[number].cuts.clear()
            follow(logs[number], logs[leader])
            assert logs[number].records == logs[leader].records
            assert min(logs[number].cuts, default=shared) >= shared
    for log in logs:
        follow(log, logs[leader])
        assert log.records == logs[leader].records
