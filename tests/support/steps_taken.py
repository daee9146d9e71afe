"""Which steps of the tables of states some code takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any
from unittest import mock

from tidelog.model.transitions import Transitions


@contextmanager
def steps_taken(machine: Transitions[Any, Any]) -> Iterator[set[tuple[Enum, Enum]]]:
    """From which states which steps of `machine` are taken while this is entered."""
    taken: set[tuple[Enum, Enum]] = set()
    ask = Transitions.after

    def noted(asked: Transitions[Any, Any], before: Enum, step: Enum, *, of: object = "") -> Any:
        following = ask(asked, before, step, of=of)
        if asked is machine:
            taken.add((before, step))
        return following

    with mock.patch.object(Transitions, "after", noted):
        yield taken
