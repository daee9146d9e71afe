"""A decision that raises must change nothing: what it may have touched is put back as it was before.

Durable state changes by replay alone, after the decision. Soft state (who waits for an answer, which timers run)
changes while a coordinator decides, so it is captured before: objects by their attributes, containers by a shallow
copy. What the containers hold are immutable values. `Timers` keep a journal of their own instead, since they may hold a
hundred thousand keys of which a decision touches one.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from typing import Any, TypeVar

_CONTAINERS = (dict, set, list, Counter)

T = TypeVar("T")


def _attributes(owner: object) -> dict[str, Any]:
    return {name: value.copy() if type(value) in _CONTAINERS else value for name, value in vars(owner).items()}


def copied(owner: T) -> T:
    """Another object that can be changed without changing the first."""
    twin = copy(owner)
    vars(twin).update(_attributes(owner))
    return twin


class Captured:
    """The attributes of one object, as they were."""

    __slots__ = ("_attributes", "_owner")

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._attributes = _attributes(owner)

    def put_back(self) -> None:
        # The object itself stays the same: others may hold it.
        vars(self._owner).clear()
        vars(self._owner).update(self._attributes)
