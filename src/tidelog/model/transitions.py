"""State machines as data: what a state means, and where each named step leads from it.

Whoever changes a state asks the table where the step leads, and a step that is not there raises. `make diagrams` draws
the tables into docs/reference/state-machines.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

from tidelog.model.lazy_dataclasses import dataclass

StateT = TypeVar("StateT", bound=Enum)
StepT = TypeVar("StepT", bound=Enum)


class IllegalStep(Exception):
    """A step that the table does not have: a broken invariant, which stops its owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitions(Generic[StateT, StepT]):
    """The value of a step is its label; `initial` are the states in which something may begin."""

    name: str
    # One sentence.
    meaning: str
    initial: tuple[StateT, ...]
    # One sentence for each.
    states: Mapping[StateT, str]
    steps: Mapping[tuple[StateT, StepT], StateT]
    illegal: type[Exception] = IllegalStep

    def allows(self, before: StateT, step: StepT) -> bool:
        return (before, step) in self.steps

    def after(self, before: StateT, step: StepT, *, of: object = "") -> StateT:
        """`of` names the thing that takes the step, for the error."""
        following = self.steps.get((before, step))
        if following is None:
            raise self.illegal(f"{self.name} {of}: there is no step {step.name} ({step.value}) from {before.name}")
        return following
