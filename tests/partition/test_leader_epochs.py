"""Leader epochs: the table that tells replicas where their logs part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.partition.leader_epochs import UNDEFINED_END, EpochEndOffset, EpochEntry, LeaderEpochs


def test_a_new_table_knows_nothing() -> None:
    epochs = LeaderEpochs()

    assert epochs.latest_epoch == -1
    assert epochs.end_offset_for(0, log_end_offset=10) == UNDEFINED_END
    assert epochs.epoch_for_offset(5) == -1
    assert epochs.entries == ()


def test_only_the_first_batch_of_an_epoch_changes_the_table() -> None:
    epochs = LeaderEpochs()

    epochs.assign(2, start_offset=10)
    assert epochs.take_changes() == (EpochEntry(2, 10),)
    epochs.assign(2, start_offset=10)
    epochs.assign(2, start_offset=50)
    assert epochs.take_changes() is None
    epochs.assign(3, start_offset=51)
    assert epochs.changed
    assert epochs.entries == (EpochEntry(2, 10), EpochEntry(3, 51))


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        # A leader that wrote nothing is followed by another one at the same offset.
        ((6, 30), [(1, 0), (3, 20), (6, 30)]),
        # An entry that came from a stale file is contradicted by the log.
        ((4, 25), [(1, 0), (3, 20), (4, 25)]),
        ((6, 20), [(1, 0), (6, 20)]),
        ((6, 10), [(1, 0), (6, 10)]),
        ((5, 7), [(1, 0), (5, 7)]),
        ((1, 40), [(1, 40)]),
        ((0, 0), [(0, 0)]),
    ],
)
def test_entries_that_contradict_the_newest_one_are_dropped(
    entry: tuple[int, int], left: list[tuple[int, int]]
) -> None:
    epochs = LeaderEpochs([(1, 0), (3, 20), (5, 30)])

    epochs.assign(entry[0], start_offset=entry[1])
    assert epochs.changed
    assert list(epochs.entries) == left


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1)])
def test_negative_epochs_and_offsets_are_a_mistake(entry: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        LeaderEpochs().assign(entry[0], start_offset=entry[1])


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [
        (-1, (-1, -1)),
        # Below the earliest: deleted by retention.
        (0, (0, 10)),
        (1, (1, 10)),
        (2, (2, 20)),
        # Between two known ones: the lower of them.
        (3, (2, 20)),
        (4, (4, 35)),
        (6, (4, 35)),
        # The latest is still being written.
        (7, (7, 99)),
        # Unknown here.
        (8, (-1, -1)),
    ],
)
def test_end_offset_is_that_of_the_largest_epoch_not_above(epoch: int, answer: tuple[int, int]) -> None:
    epochs = LeaderEpochs([(2, 10), (4, 20), (7, 35)])

    assert epochs.end_offset_for(epoch, log_end_offset=99) == answer


@pytest.mark.parametrize(("offset", "epoch"), [(9, -1), (10, 2), (19, 2), (20, 4), (34, 4), (35, 7), (1_000, 7)])
def test_the_epoch_of_an_offset_is_the_last_one_that_started_before(offset: int, epoch: int) -> None:
    assert LeaderEpochs([(2, 10), (4, 20), (7, 35)]).epoch_for_offset(offset) == epoch


@pytest.mark.parametrize(("epoch", "previous"), [(0, -1), (2, -1), (3, 2), (4, 2), (5, 4), (8, 7)])
def test_the_epoch_before_another(epoch: int, previous: int) -> None:
    assert LeaderEpochs([(2, 10), (4, 20), (7, 35)]).previous_epoch(epoch) == previous


@pytest.mark.parametrize(
    ("offset", "left"),
    [
        (-1, [(2, 10), (4, 20), (7, 35)]),
        (0, []),
        (10, []),
        (11, [(2, 10)]),
        (20, [(2, 10)]),
        (21, [(2, 10), (4, 20)]),
        (36, [(2, 10), (4, 20), (7, 35)]),
    ],
)
def test_truncation_from_the_end_drops_epochs_that_start_there_or_later(
    offset: int, left: list[tuple[int, int]]
) -> None:
    epochs = LeaderEpochs([(2, 10), (4, 20), (7, 35)])

    epochs.truncate_from_end(offset)
    assert epochs.changed == (len(left) != 3)
    assert list(epochs.entries) == left


@pytest.mark.parametrize(
    ("offset", "left"),
    [
        (0, [(2, 10), (4, 20), (7, 35)]),
        (10, [(2, 10), (4, 20), (7, 35)]),
        (15, [(2, 15), (4, 20), (7, 35)]),
        (20, [(4, 20), (7, 35)]),
        (30, [(4, 30), (7, 35)]),
        (35, [(7, 35)]),
        (90, [(7, 90)]),
    ],
)
def test_truncation_from_the_start_lets_the_epoch_of_the_new_start_begin_there(
    offset: int, left: list[tuple[int, int]]
) -> None:
    epochs = LeaderEpochs([(2, 10), (4, 20), (7, 35)])

    epochs.truncate_from_start(offset)
    assert epochs.changed == (left != [(2, 10), (4, 20), (7, 35)])
    assert list(epochs.entries) == left


def test_clearing_leaves_nothing() -> None:
    epochs = LeaderEpochs([(2, 10)])

    epochs.clear()
    assert epochs.take_changes() == ()
    assert epochs.latest_epoch == -1


def test_diverged_replica_is_cut_exactly_where_the_histories_part() -> None:
    """Scenario 2: the old leader wrote offsets 15 to 19 in epoch 3, which the new leader of epoch 4 never had."""
    old_leader = LeaderEpochs([(1, 0), (3, 10)])
    new_leader = LeaderEpochs([(1, 0), (3, 10), (4, 15)])

    answer = new_leader.end_offset_for(old_leader.latest_epoch, log_end_offset=30)

    assert answer == EpochEndOffset(3, 15)
    assert min(answer.end_offset, 20) == 15


def test_two_fast_failovers_need_a_second_question() -> None:
    """Scenario 3 (KIP-279): epochs that the leader has never heard of are skipped, not guessed."""
    follower = LeaderEpochs([(1, 0), (2, 10)])
    leader = LeaderEpochs([(1, 0), (3, 12)])

    answer = leader.end_offset_for(follower.latest_epoch, log_end_offset=20)

    # Epoch 2 is not in the leader's history. Up to where do both have epoch 1?
    assert answer == EpochEndOffset(1, 12)
    assert min(follower.end_offset_for(answer.epoch, log_end_offset=15).end_offset, answer.end_offset) == 10


histories = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=3, max_size=30)


@given(histories)
def test_any_history_agrees_with_a_log_that_knows_the_epoch_of_each_offset(steps: list[tuple[int, int]]) -> None:
    epochs = LeaderEpochs()
    log: list[int] = []
    epoch = 0
    for increase, count in steps:
        epoch += increase
        if count:
            epochs.assign(epoch, start_offset=len(log))
        log += [epoch] * count

    assert [epochs.epoch_for_offset(offset) for offset in range(len(log))] == log
    for asked in range(epoch + 2):
        expected = UNDEFINED_END
        if log and asked <= log[-1]:
            known = [known for known in log if known <= asked]
            end = sum(known <= asked for known in log)
            expected = EpochEndOffset(known[-1] if known else asked, end)
        assert epochs.end_offset_for(asked, log_end_offset=len(log)) == expected


@given(histories, st.integers(0, 80), st.integers(0, 80))
def test_truncation_agrees_with_a_truncated_log(steps: list[tuple[int, int]], start: int, end: int) -> None:
    epochs = LeaderEpochs()
    log: list[int] = []
    epoch = 0
    for increase, count in steps:
        epoch += increase
        if count:
            epochs.assign(epoch, start_offset=len(log))
        log += [epoch] * count
    start, end = min(start, end, len(log)), min(max(start, end), len(log))

    epochs.truncate_from_end(end)
    if start < end:
        epochs.truncate_from_start(start)
        assert [epochs.epoch_for_offset(offset) for offset in range(start, end)] == log[start:end]
        assert epochs.entries[0] == EpochEntry(log[start], start)
    entries = epochs.entries
    assert list(entries) == sorted(set(entries))
