"""Thousands of short histories of quorums of one to five voters under faults, each from a seed.

`TIDELOG_CONSENSUS_SEEDS=5000` runs more of them. A failure names its seed: `run_history(seed)` repeats it, and
`simulation.trace = []` before the run gathers what happened.
"""

from __future__ import annotations

import os
from functools import partial

import pytest
from consensus.chaos import run_history, schedule_fault, schedule_work
from consensus.simulation import Simulation
from consensus.wire_translation import WireTranslation

SEEDS = int(os.environ.get("TIDELOG_CONSENSUS_SEEDS", "144"))
SEEDS_PER_TEST = 24
# Later seeds, so that these histories are not the same ones again.
FIRST_WIRE_SEED = 1_000_000


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_invariants_hold_in_every_history(first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        try:
            run_history(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def test_invariants_hold_through_kafkas_rpcs() -> None:
    for seed in range(FIRST_WIRE_SEED, FIRST_WIRE_SEED + max(24, SEEDS // 10)):
        try:
            run_history(seed, translate=WireTranslation(seed))
        except Exception as error:
            error.add_note(f"seed {seed}, through the wire")
            raise


def test_histories_do_something() -> None:
    """A simulation in which nothing happens would find no fault in anything."""
    simulations = [run_history(seed) for seed in range(24, 48)]
    assert sum(len(simulation.history.committed) for simulation in simulations) > 400
    assert sum(len(simulation.history.leaders) for simulation in simulations) > 80
    assert any(node.log.snapshot is not None for simulation in simulations for node in simulation.nodes.values())
    incarnations = [node.incarnation for simulation in simulations for node in simulation.nodes.values()]
    assert sum(incarnations) > 3 * len(incarnations)


def test_the_same_seed_gives_the_same_history() -> None:
    def trace(seed: int) -> list[str]:
        simulation = Simulation(seed, voters=3, observers=1)
        simulation.trace = []
        schedule_work(simulation)
        schedule_fault(simulation)
        simulation.run(8_000)
        return simulation.trace

    assert trace(7) == trace(7)
    assert trace(7) != trace(8)


@pytest.mark.parametrize("seed", range(10))
def test_a_quorum_without_faults_elects_one_leader_and_keeps_it(seed: int) -> None:
    simulation = Simulation(seed, voters=3, observers=2)
    simulation.faults = False
    for moment_ms in range(4_000, 14_000, 100):
        for node in simulation.nodes.values():
            simulation.at(moment_ms, partial(simulation.propose, node))
    simulation.run(15_000)
    assert len(simulation.history.leaders) == 1
    assert all(node.high_watermark == 101 for node in simulation.nodes.values())


@pytest.mark.parametrize("seed", range(10))
def test_a_dead_leader_is_replaced_within_seconds(seed: int) -> None:
    simulation = Simulation(seed, voters=3)
    simulation.faults = False
    simulation.run(4_000)
    (leader,) = [node for node in simulation.nodes.values() if node.leading_epoch is not None]
    simulation.crash(leader)
    others = [node for node in simulation.nodes.values() if node is not leader]

    def replaced() -> bool:
        return any(node.leading_epoch is not None and node.high_watermark > 1 for node in others)

    # The fetch timeout, and one round of an election.
    assert simulation.run_until(replaced, 3_000)


@pytest.mark.parametrize("seed", range(10))
def test_a_leader_that_resigns_is_replaced_at_once(seed: int) -> None:
    simulation = Simulation(seed, voters=3)
    simulation.faults = False
    simulation.run(4_000)
    (leader,) = [node for node in simulation.nodes.values() if node.leading_epoch is not None]
    simulation.resign(leader)
    others = [node for node in simulation.nodes.values() if node is not leader]
    assert simulation.run_until(lambda: any(node.leading_epoch is not None for node in others), 250)


@pytest.mark.parametrize("seed", range(5))
def test_a_voter_that_only_speaks_does_not_disturb_the_others(seed: int) -> None:
    """Nothing reaches it, but all that it says arrives: without pre-votes each of its elections would cost a leader."""
    simulation = Simulation(seed, voters=3)
    simulation.faults = False
    simulation.run(4_000)
    (leader,) = [node for node in simulation.nodes.values() if node.leading_epoch is not None]
    deaf = next(node for node in simulation.nodes.values() if node is not leader)
    simulation.blocked |= {(other, deaf.node_id) for other in simulation.nodes}
    simulation.run(20_000)
    assert len(simulation.history.leaders) == 1
    assert leader.leading_epoch is not None
