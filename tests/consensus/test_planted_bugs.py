"""The checkers find mistakes that are known to lose data or to make two leaders."""

from __future__ import annotations

import pytest
from consensus.chaos import check_recovery, run_history
from consensus.checkers import History, Violation
from consensus.simulated_log import Entry
from consensus.simulation import Flaw, Simulation

from tidelog.consensus import elections, following
from tidelog.consensus.messages import Vote
from tidelog.consensus.progress import QuorumProgress
from tidelog.consensus.quorum_state import QuorumState, encode_quorum_state
from tidelog.consensus.state import ReplicaState
from tidelog.consensus.transitions import QuorumInvariantBroken

SEEDS = range(200)


def find(flaws: frozenset[Flaw] = frozenset()) -> str | None:
    """The name of the checker that finds something first."""
    for seed in SEEDS:
        try:
            run_history(seed, flaws=flaws)
        except Violation as violation:
            return violation.checker
        except QuorumInvariantBroken:
            return "the replica itself"
    return None


def test_a_vote_that_is_forgotten_in_a_crash_is_found() -> None:
    checker = find(frozenset({Flaw.FORGETS_QUORUM_STATE}))
    assert checker in {"one vote per epoch", "one leader per epoch"}


def test_a_voter_that_votes_although_its_disk_was_replaced_is_found() -> None:
    checker = find(frozenset({Flaw.VOTES_WITHOUT_A_PAST}))
    assert checker in {"one vote per epoch", "one leader per epoch", "leaders have everything committed"}


def test_an_acknowledgement_before_the_record_is_durable_is_found() -> None:
    checker = find(frozenset({Flaw.REPORTS_FLUSH_TOO_EARLY}))
    assert checker == "leaders have everything committed"


def count_old_records(seed: int) -> None:
    """The history of Raft's figure 8, in which a record of an old epoch reaches a majority and is lost nevertheless.

    Node 1 has a record of epoch 1 at offset 1, node 3 one of epoch 2. Node 1, elected by node 2, brings its record
    there, but not yet its own first one of epoch 3. Then it is gone, and node 3 is elected by node 2.
    """
    simulation = Simulation(seed, voters=3)
    simulation.faults = False
    simulation.max_entries_per_fetch = 1
    simulation.blocked = {link for other in (1, 2) for link in ((3, other), (other, 3))}
    for node_id, epochs in ((1, (1, 1)), (2, (1,)), (3, (1, 2))):
        log = simulation.nodes[node_id].log
        log.append([Entry(epoch, 1_000 * epoch + offset) for offset, epoch in enumerate(epochs)])
        log.end_flush(log.begin_flush())
        simulation.nodes[node_id].quorum_state = encode_quorum_state(QuorumState(epoch=2), (1, 2, 3))

    def old_record_is_on_a_majority() -> bool:
        replica = simulation.nodes[1].replica
        description = None if replica is None else replica.describe(simulation.now_ms, 0)
        return description is not None and description.current_voters[1].log_end_offset == 2

    while not old_record_is_on_a_majority():
        simulation.run(1)
        assert simulation.now_ms < 10_000
    # What it has already sent is lost with it.
    simulation.crash(simulation.nodes[1])
    simulation.blocked = {(1, 2), (1, 3)}
    simulation.run(8_000)
    simulation.blocked.clear()
    simulation.start(simulation.nodes[1])
    check_recovery(simulation)
    assert simulation.nodes[2].log.entries[1].epoch == 2, "the history did not go as planned"


@pytest.mark.parametrize("seed", range(5))
def test_committing_an_old_record_by_counting_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count_old_records(seed)
    monkeypatch.setattr(QuorumProgress, "may_commit", lambda self, end_offset: True)
    with pytest.raises(Violation, match="leaders have everything committed"):
        count_old_records(seed)


def test_a_vote_for_a_log_that_lacks_records_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def vote_for_anybody(state: ReplicaState, request: Vote) -> bool:
        return request.pre_vote or state.election.voted_id in (None, request.candidate_id)

    monkeypatch.setattr(elections, "may_grant", vote_for_anybody)
    assert find() == "leaders have everything committed"


def test_a_fetch_before_the_log_is_flushed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch_when_written(state: ReplicaState) -> bool:
        return not state.write_pending or state.durable_end_offset < state.log.end_offset

    monkeypatch.setattr(following, "_may_fetch", fetch_when_written)
    assert find() is not None


def test_a_majority_that_is_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    advance = QuorumProgress.advance

    def advance_alone(self: QuorumProgress, durable_end_offset: int) -> bool:
        for follower in self.followers.values():
            follower.end_offset = durable_end_offset
        return advance(self, durable_end_offset)

    monkeypatch.setattr(QuorumProgress, "advance", advance_alone)
    assert find() in {"leaders have everything committed", "committed records never change"}


# --- The checkers by themselves


def test_checker_of_logs_compares_everything_before_a_common_record() -> None:
    one = [Entry(1, 1), Entry(1, 2), Entry(3, 3)]
    other = [Entry(1, 1), Entry(2, 9), Entry(3, 3)]
    History().check_logs([(1, one), (2, [*one, Entry(4, 4)]), (3, [Entry(1, 1), Entry(2, 9)])])
    with pytest.raises(Violation, match="logs match"):
        History().check_logs([(1, one), (2, other)])


def test_checker_of_commits_remembers_every_record() -> None:
    history = History()
    history.check_commit(1, 1, 0, 2, [Entry(1, 1), Entry(1, 2)])
    history.check_commit(2, 1, 0, 1, [Entry(1, 1)])
    with pytest.raises(Violation, match="committed records never change"):
        history.check_commit(2, 2, 1, 2, [Entry(1, 1), Entry(2, 3)])
    with pytest.raises(Violation, match="committed records exist"):
        history.check_commit(3, 2, 0, 2, [Entry(1, 1)])


def test_checker_of_leaders_knows_restarts() -> None:
    history = History()
    history.check_leader(1, incarnation=1, epoch=5, entries=[])
    with pytest.raises(Violation, match="one leader per epoch"):
        history.check_leader(1, incarnation=2, epoch=5, entries=[])


def test_checker_of_leaders_asks_for_what_earlier_epochs_have_committed() -> None:
    history = History()
    history.check_commit(1, epoch=4, before=0, high_watermark=1, entries=[Entry(3, 1)])
    history.check_leader(2, incarnation=1, epoch=4, entries=[])
    with pytest.raises(Violation, match="leaders have everything committed"):
        history.check_leader(3, incarnation=1, epoch=5, entries=[Entry(2, 9)])


def test_checker_of_epochs_knows_the_way_back() -> None:
    history = History()
    history.check_epoch(1, 5)
    history.check_epoch(2, 4)
    with pytest.raises(Violation, match="epochs never go back"):
        history.check_epoch(1, 4)
