"""The same seed is the same run, byte for byte, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tidelog.simulation.faults.plan import FaultKind
from tidelog.simulation.run import run
from tidelog.simulation.scenario import draw_scenario

SCRIPT = """
import sys
from tidelog.simulation.faults.plan import FaultKind
from tidelog.simulation.run import run
from tidelog.simulation.scenario import draw_scenario

for seed in range(1, 1 + int(sys.argv[2])):
    report = run(draw_scenario(seed, seconds=30, nodes=int(sys.argv[1]), faults=tuple(FaultKind)))
    print(seed, report.digest, report.events, sorted(report.counts.items()))
"""


def trace_of(hash_seed: str, nodes: int, seeds: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(nodes), str(seeds)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=500,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("nodes", "seeds"), [(1, 3), (3, 4)])
def test_the_trace_is_the_same_in_another_process(nodes: int, seeds: int) -> None:
    """Another seed for hashes also gives sets another order, and another process other addresses."""
    first = trace_of("1", nodes, seeds)
    assert first == trace_of("20000", nodes, seeds)
    assert len(first.splitlines()) == seeds


def test_the_trace_is_the_same_in_the_same_process_and_another_for_another_seed() -> None:
    digests = [run(draw_scenario(seed, seconds=10, nodes=1, faults=tuple(FaultKind))).digest for seed in (1, 2, 1)]
    assert digests[0] == digests[2]
    assert digests[0] != digests[1]
