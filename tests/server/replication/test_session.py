"""What a follower tells its leader: everything once, and then only what has changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.server.replication.session import NO_SESSION, FollowerSession


def test_the_first_request_names_everything_and_the_next_ones_only_news() -> None:
    session: FollowerSession[str, int] = FollowerSession()
    first = session.step({"a": 1, "b": 2})
    assert (first.session_id, first.session_epoch, first.changed, first.forgotten) == (0, 0, {"a": 1, "b": 2}, ())
    session.accepted(77)
    second = session.step({"a": 1, "b": 3, "c": 4})
    assert (second.session_id, second.session_epoch, second.changed) == (77, 1, {"b": 3, "c": 4})
    session.accepted(77)
    third = session.step({"a": 1, "c": 4})
    assert (third.session_epoch, third.changed, third.forgotten) == (2, {}, ("b",))


def test_without_a_session_everything_is_named_each_time() -> None:
    session: FollowerSession[str, int] = FollowerSession()
    for _ in range(3):
        assert session.step({"a": 1}).changed == {"a": 1}
        session.accepted(NO_SESSION)


def test_a_lost_session_is_begun_anew() -> None:
    session: FollowerSession[str, int] = FollowerSession()
    session.step({"a": 1})
    session.accepted(77)
    session.step({"a": 2})
    session.reset()
    step = session.step({"a": 2})
    assert (step.session_id, step.session_epoch, step.changed) == (0, 0, {"a": 2})


def test_epochs_begin_again_at_one_after_the_largest() -> None:
    session: FollowerSession[str, int] = FollowerSession()
    session.step({"a": 1})
    session.accepted(77)
    session._epoch = 2**31 - 1
    session.accepted(77)
    assert session.step({"a": 1}).session_epoch == 1


WANTED = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))


@given(st.lists(st.tuples(WANTED, st.sampled_from(["kept", "none", "lost"]))))
def test_the_leader_always_knows_exactly_what_is_wanted(
    steps: list[tuple[dict[str, int], str]],
) -> None:
    session: FollowerSession[str, int] = FollowerSession()
    known: dict[str, int] = {}
    for wanted, outcome in steps:
        step = session.step(wanted)
        if step.session_id == NO_SESSION:
            known = {}
        for key in step.forgotten:
            del known[key]
        known.update(step.changed)
        assert known == wanted
        if outcome == "kept":
            session.accepted(step.session_id or 5)
        elif outcome == "none":
            session.accepted(NO_SESSION)
        else:
            session.reset()
