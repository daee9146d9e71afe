"""Explores a small model of a protocol exhaustively: every order of everything that can happen, up to a depth.

A model is three functions over states. A state is a hashable value, best a frozen dataclass or a named tuple of
tuples; two states that are equal are explored once. The exploration is breadth-first, so a counterexample is one of
the shortest there are. Nothing here knows a clock, a random number or a file: the same model gives the same answer.

    @dataclass(frozen=True, slots=True)
    class Counter:
        kept: int = 0
        shown: int = 0

    class CounterModel:
        def initial(self) -> Iterable[Counter]:
            yield Counter()

        def steps(self, state: Counter) -> Iterable[Step[Counter]]:
            yield Step("a click is kept", replace(state, kept=state.kept + 1))
            if state.shown < state.kept:
                yield Step("the display catches up", replace(state, shown=state.kept))

        def problem(self, state: Counter) -> str | None:
            return "the display is ahead" if state.shown > state.kept else None

    found = explore(CounterModel(), depth=12)
    assert found.counterexample is None, found
    assert found.states > 50          # so that it cannot explore nothing and look fine

To make sure that a model can find what it is for, plant the mistake (give the model the decision that was wrong) and
want a counterexample: `str(found.counterexample)` is the list of steps, for people. Use the real decisions of the code
in `steps`, not copies of them. Keep states small: each distinguishable detail multiplies them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from tidelog.model.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)

# About half a gigabyte of states of a few fields each: a model that needs more wants smaller states.
MOST_STATES = 1_000_000


class Step(NamedTuple, Generic[S]):
    """Something that can happen next: what it is, in words, and the state that it leads to."""

    what: str
    state: S


class Model(Protocol[S]):
    """What can be explored."""

    def initial(self) -> Iterable[S]: ...

    def steps(self, state: S) -> Iterable[Step[S]]:
        """Everything that can happen in this state. None where everything has come to an end."""
        ...

    def problem(self, state: S) -> str | None:
        """What is wrong with this state; None if the invariant holds."""
        ...


class TooManyStates(Exception):
    """The model is larger than its caller has allowed for; nothing was proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace(Generic[S]):
    """How a state was reached."""

    steps: tuple[Step[S], ...]
    problem: str

    @property
    def story(self) -> tuple[str, ...]:
        """The steps in words, without the states."""
        return tuple(step.what for step in self.steps)

    def __str__(self) -> str:
        lines = [f"{number:3}. {what}" for number, what in enumerate(self.story, start=1)]
        return "\n".join([*lines, f"  => {self.problem}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration(Generic[S]):
    """`states` is how many different ones were looked at, `steps` how many ways there were between them.

    `complete` says that there are no others: nothing new was reachable before the depth was reached.
    """

    states: int
    steps: int
    depth: int
    complete: bool
    counterexample: StepTrace[S] | None

    def __str__(self) -> str:
        how = "all that there are" if self.complete else f"all within {self.depth} steps"
        found = f"{self.states} states and {self.steps} steps between them, {how}"
        return found if self.counterexample is None else f"{found}; a counterexample:\n{self.counterexample}"


def explore(
    model: Model[S],
    *,
    depth: int,
    most_states: int = MOST_STATES,
    watch: Callable[[S], None] | None = None,
) -> Exploration[S]:
    """Look at every state within `depth` steps, or stop at the first one with a problem.

    `watch` sees each of them, for those who want to count what was covered. Raises TooManyStates.
    """
    # Each state with the step that led to it first; that chain is the trace.
    origins: dict[S, tuple[S | None, str]] = {}
    layer: list[S] = []
    for state in model.initial():
        if state not in origins:
            origins[state] = (None, "")
            layer.append(state)
    taken = 0
    for reached in range(depth + 1):
        following: list[S] = []
        for state in layer:
            if watch is not None:
                watch(state)
            problem = model.problem(state)
            if problem is not None:
                trace = StepTrace(steps=_way_to(state, origins), problem=problem)
                return Exploration(
                    states=len(origins), steps=taken, depth=reached, complete=False, counterexample=trace
                )
            if reached == depth:
                continue
            for step in model.steps(state):
                taken += 1
                if step.state not in origins:
                    if len(origins) >= most_states:
                        raise TooManyStates(f"more than {most_states} states within {reached + 1} steps")
                    origins[step.state] = (state, step.what)
                    following.append(step.state)
        if not following:
            complete = reached < depth
            return Exploration(states=len(origins), steps=taken, depth=reached, complete=complete, counterexample=None)
        layer = following
    raise AssertionError("the last layer has no steps")


def _way_to(state: S, origins: dict[S, tuple[S | None, str]]) -> tuple[Step[S], ...]:
    way: list[Step[S]] = []
    at: S = state
    while (origin := origins[at])[0] is not None:
        way.append(Step(origin[1], at))
        assert origin[0] is not None
        at = origin[0]
    return tuple(reversed(way))
