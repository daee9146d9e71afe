"""A decision that raises must change nothing: what it may have touched is put back as it was before.

Durable state changes by replay alone, after the decision. Soft state (who waits for an answer, which timers run)
changes while a coordinator decides, so it is captured before: objects by their attributes, containers by a shallow
copy. What the containers hold are immutable values. `Timers` keep a journal of their own instead, since they may hold a
hundred thousand keys of which a decision touches one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

_CONTAINERS = (dict, set, list, Counter)


class Captured:
    """The attributes of one object, as they were."""

    __slots__ = ("_attributes", "_owner")

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._attributes: dict[str, Any] = {
            name: value.copy() if type(value) in _CONTAINERS else value for name, value in vars(owner).items()
        }

    def put_back(self) -> None:
        # The object itself stays the same: others may hold it.
        vars(self._owner).clear()
        vars(self._owner).update(self._attributes)
