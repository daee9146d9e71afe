"""`tidelog simulate`: what it prints, and how it ends."""

from __future__ import annotations

import re

import pytest
from support.tidelog_command import run_tidelog
from typer.testing import CliRunner

from tidelog.cli.commands import simulate
from tidelog.cli.main import app
from tidelog.server.replicas.replica import Replica


def test_seeds_are_run_and_their_coverage_is_told() -> None:
    out = run_tidelog("simulate", "--seeds", "2", "--seconds", "10", "--nodes", "1", "--faults", "kill,pause").stdout
    assert "2/2" in out
    assert "seeds per minute" in out
    assert "all 2 seeds kept all invariants" in out
    lines = {line.partition(":")[0]: line for line in out.splitlines()}
    assert "kill " in lines["faults"]
    assert "acknowledged " in lines["history"]
    assert {"error codes", "transactions", "other events"} <= set(lines)


def test_long_runs_without_a_terminal_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "_PROGRESS_SECONDS", 0.0)
    arguments = ["simulate", "--seeds", "2", "--seconds", "1", "--nodes", "1", "--faults", "none"]
    ended = CliRunner().invoke(app, arguments)
    assert "1 of 2 seeds, " in ended.output
    assert "2 of 2 seeds, " in ended.output


@pytest.mark.plain_python
def test_a_failure_ends_with_one_and_names_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # Readers of committed records are shown what is still open.
    monkeypatch.setattr(Replica, "readable_end", lambda self, isolation_level: self.log.high_watermark)
    # Not every seed has a reader look while a transaction is open.
    arguments = ["simulate", "--seeds", "8", "--seconds", "20", "--nodes", "1", "--faults", "none"]
    ended = CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})
    assert ended.exit_code == 1, ended.output
    assert "I3: " in ended.output
    found = re.search(
        r"replay: (tidelog simulate --first-seed (\d+) --seeds 1 --seconds 20 --nodes 1 --faults none --trace)",
        ended.output,
    )
    assert found is not None, ended.output
    command, seed = found.groups()
    assert re.search(rf"\d of 8 seeds failed: {seed}\b", ended.output)
    replayed = CliRunner().invoke(app, command.split()[1:])
    assert replayed.exit_code == 1
    assert f"seed {seed}: I3: " in replayed.output


def test_an_unknown_fault_is_refused_with_those_that_are_known() -> None:
    told = run_tidelog("simulate", "--faults", "earthquake", code=2).stderr
    assert "earthquake" in told
    assert "power-loss" in told
