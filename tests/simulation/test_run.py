"""Whole runs: what a broker and a cluster survive, and what a run tells about itself."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.server.routing.router import Router
from tidelog.simulation.campaign import Campaign, Coverage, run_campaign, run_seed
from tidelog.simulation.checks.history import History
from tidelog.simulation.faults.plan import FaultKind, draw_plan
from tidelog.simulation.machines.clock import draw_from
from tidelog.simulation.run import run
from tidelog.simulation.scenario import draw_scenario


def problems(campaign: Campaign) -> dict[int, list[str]]:
    return {
        report.seed: [str(violation) for violation in report.violations]
        for report in run_campaign(campaign)
        if report.failed
    }


def test_without_faults_everything_is_acknowledged_and_read() -> None:
    history = History()
    report = run(draw_scenario(1, seconds=20, nodes=1, faults=()), history=history)
    assert report.violations == []
    assert report.counts["history acknowledged"] == report.counts["history sent"] > 20
    assert "history refused" not in report.counts


def test_a_few_seeds_of_one_broker_with_all_faults() -> None:
    assert problems(Campaign(first_seed=1, seeds=8, seconds=30, nodes=1)) == {}


def test_without_faults_a_cluster_copies_every_committed_record() -> None:
    scenario = draw_scenario(12, seconds=20, nodes=3, faults=())
    assert scenario.copiers
    assert scenario.transactional
    report = run(scenario)
    assert report.violations == []
    assert report.counts["transaction committed"] > 5
    assert "transaction unknown" not in report.counts


# Divided, so that several processes can take part.
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first_seed", range(1, 201, 20))
def test_two_hundred_seeds_of_a_cluster_with_all_faults(first_seed: int) -> None:
    assert problems(Campaign(first_seed=first_seed, seeds=20, seconds=60, nodes=3)) == {}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_cluster_of_five_with_all_faults() -> None:
    assert problems(Campaign(first_seed=1, seeds=3, seconds=60, nodes=5)) == {}


def test_several_processes_run_the_same_seeds() -> None:
    campaign = Campaign(first_seed=1, seeds=4, seconds=10, nodes=1, jobs=2)
    together = {report.seed: report.digest for report in run_campaign(campaign)}
    alone = {report.seed: report.digest for report in run_campaign(Campaign(seeds=4, seconds=10, nodes=1))}
    assert together == alone


def test_coverage_adds_up_faults_and_error_codes() -> None:
    coverage = Coverage()
    for report in run_campaign(Campaign(seeds=3, seconds=20, nodes=1, faults=(FaultKind.KILL,))):
        coverage.add(report)
    assert coverage.with_prefix("fault ")["kill"] == coverage.counts["fault kill"] > 0
    assert coverage.counts["node-killed"] > 0
    assert coverage.virtual_seconds > 60


def test_a_failure_can_be_replayed_by_its_command() -> None:
    everything = Campaign(seconds=60, nodes=3).command(42)
    assert everything == "tidelog simulate --first-seed 42 --seeds 1 --seconds 60 --nodes 3 --trace"
    some = Campaign(seconds=5.5, nodes=1, faults=(FaultKind.KILL, FaultKind.PAUSE)).command(7)
    assert some == "tidelog simulate --first-seed 7 --seeds 1 --seconds 5.5 --nodes 1 --faults kill,pause --trace"


@pytest.mark.plain_python
def test_an_exception_in_the_broker_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Router.answer

    def answer(self: Router, frame: bytearray, connection: object) -> object:
        if frame[:2] == b"\x00\x00":
            raise RuntimeError("planted")
        return original(self, frame, connection)  # type: ignore[arg-type]

    monkeypatch.setattr(Router, "answer", answer)
    report = run(draw_scenario(1, seconds=5, nodes=1, faults=()))
    assert any("planted" in str(violation) for violation in report.violations)


def test_a_cluster_that_does_not_start_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(self: object) -> None:
        await asyncio.sleep(1_000)

    monkeypatch.setattr("tidelog.server.startup.RunningNode.start", start)
    report = run(draw_scenario(1, seconds=5, nodes=1, faults=()))
    assert [violation.invariant for violation in report.violations] == ["stuck"]


def test_code_that_never_gives_the_loop_back_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(self: object) -> None:
        while True:
            pass

    monkeypatch.setattr("tidelog.server.startup.RunningNode.start", start)
    monkeypatch.setattr("tidelog.simulation.campaign.MAX_PROCESSOR_SECONDS", 1)
    report = run_seed(Campaign(nodes=1), 1)
    assert [violation.invariant for violation in report.violations] == ["stuck"]
    assert "test_run.py" in report.violations[0].message


def test_a_trace_has_lines_for_faults_and_bytes() -> None:
    lines: list[str] = []
    run(draw_scenario(2, seconds=20, nodes=1, faults=(FaultKind.KILL,)), write_line=lines.append)
    text = "\n".join(lines)
    assert "fault kill" in text
    assert "node-killed" in text
    assert " bytes" in text


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_of_fault_is_planned_where_it_can_happen(kind: FaultKind) -> None:
    plan = draw_plan(draw_from(1, "plan"), [kind], nodes=["node-1", "node-2"], clients=["client"], seconds=300)
    assert len(plan) > 10
    assert all(0 <= fault.at < 300 for fault in plan)
    hosts = {fault.target for fault in plan}
    assert hosts == ({"client"} if kind is FaultKind.CLIENT_PAUSE else {"node-1", "node-2"})
    assert all(fault.target not in fault.others for fault in plan)
    assert [fault.at for fault in plan] == sorted(fault.at for fault in plan)
