from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.coordinators.timers import Timers

_KEYS = st.sampled_from("abcde")
_TIMES = st.integers(0, 50).map(float)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), _KEYS, _TIMES),
        st.tuples(st.just("cancel"), _KEYS),
        st.tuples(st.just("due"), _TIMES),
    ),
    max_size=60,
)


def test_a_later_deadline_replaces_an_earlier_one() -> None:
    timers: Timers[str] = Timers()
    timers.schedule("session", 10)
    timers.schedule("session", 20)
    assert timers.take_due(15) is None
    assert timers.next_deadline() == 20
    assert timers.take_due(20) == "session"
    assert timers.next_deadline() is None


def test_what_was_cancelled_is_never_due() -> None:
    timers: Timers[str] = Timers()
    timers.schedule("session", 10)
    timers.cancel("session")
    assert timers.take_due(100) is None
    assert len(timers) == 0


@given(steps=_STEPS)
def test_behaves_like_a_dictionary_of_deadlines(steps: list[tuple[str, ...]]) -> None:
    timers: Timers[str] = Timers()
    model: dict[str, float] = {}
    for step in steps:
        match step:
            case ("schedule", key, at):
                timers.schedule(key, float(at))
                model[key] = float(at)
            case ("cancel", key):
                timers.cancel(key)
                model.pop(key, None)
            case ("due", at):
                expected = {key: deadline for key, deadline in model.items() if deadline <= float(at)}
                found = list(iter(lambda: timers.take_due(float(at)), None))
                assert sorted(found) == sorted(expected)
                assert [expected[key] for key in found] == sorted(expected.values())
                model = {key: deadline for key, deadline in model.items() if key not in expected}
        assert len(timers) == len(model)
        next_deadline = timers.next_deadline()
        if model:
            assert next_deadline is not None
            assert next_deadline <= min(model.values())
