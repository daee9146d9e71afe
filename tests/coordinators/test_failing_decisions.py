"""A decision that raises changes nothing: shown with a fault at every line that any decision passes.

The fault is raised by the interpreter's tracing, so no place in the code is left out and none has to be prepared.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from support.coordinator_moments import MOMENTS, Scene
from support.deep_state import deep_state

from tidelog.coordinators.decision import ShardDecision
from tidelog.coordinators.timers import FAILED_TIMER_RETRY_MS

# What a decision may fill without anybody seeing a difference, and what is rolled back with.
CACHES = frozenset({"regexes", "_savepoint", "_firing", "settings", "topics"})
MOST_LINES = 5000


class Fault(Exception):
    """Raised in the middle of a decision."""


def run_with_fault(scene: Scene, line: int) -> bool:
    """Decide, with a fault at the n-th line inside of the coordinators; whether it was reached."""
    left = line
    begun = False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left, begun
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "_begin":
            # From here on the decision can be rolled back; before, it has touched nothing.
            begun = True
            return None
        caller = "" if frame.f_back is None else frame.f_back.f_code.co_filename
        if "/tidelog/coordinators/" not in name or "/savepoint.py" in (name + caller):
            return None
        if event == "line" and begun:
            left -= 1
            if left == 0:
                raise Fault
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scene.decide()
    except Fault:
        return True
    finally:
        sys.settrace(before)
    return False


def state_of(scene: Scene) -> Any:
    return deep_state(scene.shard, CACHES)


@pytest.mark.parametrize("name", MOMENTS)
def test_a_decision_that_raises_at_any_line_changes_nothing(name: str) -> None:
    undisturbed = MOMENTS[name]()
    expected = undisturbed.decide()
    undisturbed.apply(expected)

    scene = MOMENTS[name]()
    is_timer = scene.message is None and name != "markers are written"
    before = state_of(scene)
    line = 0
    while True:
        line += 1
        assert line < MOST_LINES
        if not run_with_fault(scene, line):
            break
        scene.shard.roll_back(scene.now)
        if is_timer:
            # Only the timer itself is put off, so that it does not fire again at once.
            changed = scene
            scene = MOMENTS[name]()
            assert_only_a_timer_was_put_off(changed, before)
        else:
            assert state_of(scene) == before, f"after a fault at line {line} of the decision"
    assert line > 5

    fresh = MOMENTS[name]()
    run_with_fault(fresh, line // 2)
    if is_timer:
        return
    fresh.shard.roll_back(fresh.now)
    decision = fresh.decide()
    assert isinstance(decision, ShardDecision)
    assert deep_state(decision) == deep_state(expected)
    fresh.apply(decision)
    assert state_of(fresh) == state_of(undisturbed)


def assert_only_a_timer_was_put_off(scene: Scene, before: Any) -> None:
    after = state_of(scene)
    retry_at_ms = scene.now.monotonic_ms + FAILED_TIMER_RETRY_MS
    differences = list(_differences(before, after))
    assert [found for _, found in differences] == [retry_at_ms] or differences == []


def _differences(before: Any, after: Any) -> Any:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from _differences(before.get(key), after.get(key))
    elif isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from _differences(one, other)
    elif before != after:
        yield before, after
