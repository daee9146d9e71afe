"""The explorer sees every state, finds the shortest way to a wrong one, and says when it has not seen all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest

from tidelog.testing.exhaustive import Step, TooManyStates, explore


@dataclass(frozen=True, slots=True)
class Account:
    """Two clerks take from one account: each looks first, and takes what it saw."""

    balance: int = 1
    seen: tuple[int | None, int | None] = (None, None)
    paid: int = 0


class Clerks:
    """`careful`: who takes looks once more, in the same step."""

    def __init__(self, *, careful: bool) -> None:
        self.careful = careful

    def initial(self) -> Iterable[Account]:
        yield Account()

    def steps(self, state: Account) -> Iterable[Step[Account]]:
        for clerk in (0, 1):
            seen = state.seen[clerk]
            if seen is None:
                yield Step(f"clerk {clerk} looks", replace(state, seen=_with(state.seen, clerk, state.balance)))
            elif (state.balance if self.careful else seen) > 0:
                taken = replace(state, balance=state.balance - 1, paid=state.paid + 1)
                yield Step(f"clerk {clerk} takes", replace(taken, seen=_with(state.seen, clerk, 0)))

    def problem(self, state: Account) -> str | None:
        return f"{state.paid} was paid out of 1" if state.paid > 1 else None


def _with(seen: tuple[int | None, int | None], clerk: int, value: int) -> tuple[int | None, int | None]:
    return (value, seen[1]) if clerk == 0 else (seen[0], value)


def test_shortest_counterexample_is_found_and_can_be_read() -> None:
    found = explore(Clerks(careful=False), depth=10)

    assert found.counterexample is not None
    assert len(found.counterexample.story) == 4
    assert sorted(found.counterexample.story) == ["clerk 0 looks", "clerk 0 takes", "clerk 1 looks", "clerk 1 takes"]
    told = str(found.counterexample)
    assert told.splitlines()[0].startswith("  1. clerk")
    assert told.endswith("=> 2 was paid out of 1")


def test_every_state_is_seen_and_the_end_is_known() -> None:
    watched: list[Account] = []

    found = explore(Clerks(careful=True), depth=10, watch=watched.append)

    assert found.counterexample is None
    assert found.complete
    assert found.states == len(watched) == len(set(watched)) == 9
    assert "all that there are" in str(found)


@pytest.mark.parametrize(("depth", "states"), [(0, 1), (1, 3), (2, 6)])
def test_depth_is_a_bound_that_is_told(depth: int, states: int) -> None:
    found = explore(Clerks(careful=True), depth=depth)

    assert (found.states, found.complete, found.depth) == (states, False, depth)
    assert f"within {depth} steps" in str(found)


def test_problem_in_the_last_layer_counts() -> None:
    assert explore(Clerks(careful=False), depth=3).counterexample is None
    assert explore(Clerks(careful=False), depth=4).counterexample is not None


def test_model_that_is_too_large_proves_nothing() -> None:
    with pytest.raises(TooManyStates, match="more than 4 states within 2 steps"):
        explore(Clerks(careful=True), depth=10, most_states=4)
