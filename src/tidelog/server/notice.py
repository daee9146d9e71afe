"""A notice that something has happened, created before those who give it and those who act on it.

So neither needs to know the other, and nothing has to be assigned to an existing part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Notice(Generic[P]):
    """Call it to give it. Those who `listen` act at once, in the order in which they began to."""

    __slots__ = ("_listeners",)

    def __init__(self, *listeners: Callable[P, None]) -> None:
        self._listeners = list(listeners)

    def listen(self, act: Callable[P, None]) -> None:
        self._listeners.append(act)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for act in self._listeners:
            act(*args, **kwargs)
