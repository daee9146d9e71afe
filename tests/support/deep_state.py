"""Everything that an object holds, as plain values that can be compared: for tests of what must not change."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tidelog.coordinators.timers import Timers

_PLAIN = (str, bytes, int, float, bool, type(None), Enum)


def deep_state(value: Any, leave_out: frozenset[str] = frozenset()) -> Any:
    """`leave_out` are names of attributes, wherever they are."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Timers):
        # What is in the heap besides is allowed to be out of date.
        return dict(value._deadlines)
    if isinstance(value, dict):
        return {deep_state(key, leave_out): deep_state(each, leave_out) for key, each in value.items() if each != 0}
    if isinstance(value, (set, frozenset)):
        return frozenset(deep_state(each, leave_out) for each in value)
    if isinstance(value, (list, tuple)):
        return tuple(deep_state(each, leave_out) for each in value)
    names = list(vars(value)) if hasattr(value, "__dict__") else list(type(value).__slots__)
    fields = {name: deep_state(getattr(value, name), leave_out) for name in names if name not in leave_out}
    return type(value).__name__, tuple(fields.items()) if not hasattr(value, "__dict__") else fields
