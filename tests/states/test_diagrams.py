"""The drawings in the docs are those of the tables, and the tables are whole."""

from __future__ import annotations

import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from tidelog.model.transitions import Transitions

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from draw_diagrams import MACHINES, PAGE, page  # noqa: E402

every_machine = pytest.mark.parametrize("machine", [machine for machine, _ in MACHINES], ids=lambda each: each.name)


def test_the_drawing_is_not_stale() -> None:
    command = [sys.executable, str(TOOLS / "draw_diagrams.py"), "--check"]

    checked = subprocess.run(command, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr


def test_a_drawing_is_the_same_in_every_process() -> None:
    """Enums have hashes that differ from process to process."""
    assert page() == PAGE.read_text()


@every_machine
def test_every_state_is_in_the_table_with_a_sentence(machine: Transitions[Any, Any]) -> None:
    (kind,) = {type(state) for state in machine.states}
    assert issubclass(kind, Enum)

    assert set(machine.states) == set(kind)
    assert all(machine.states.values())
    assert set(machine.steps.values()) | {before for before, _ in machine.steps} <= set(kind)


@every_machine
def test_every_state_is_reached_from_a_first_one(machine: Transitions[Any, Any]) -> None:
    reached = set(machine.initial)
    for _ in machine.states:
        reached |= {after for (before, _), after in machine.steps.items() if before in reached}

    # What a newer version has written comes from nowhere.
    assert {state.name for state in set(machine.states) - reached} <= {"UNKNOWN"}
