"""The numbers of a follower's session."""

from __future__ import annotations

from tidelog.server.replication.session import NO_SESSION, FollowerSession


def numbers(session: FollowerSession) -> tuple[int, int]:
    return session.session_id, session.epoch


def test_the_leader_names_the_session_and_each_answer_begins_the_next_epoch() -> None:
    session = FollowerSession()
    assert numbers(session) == (NO_SESSION, 0)
    assert session.accepted(77)
    assert numbers(session) == (77, 1)
    assert session.accepted(77)
    assert numbers(session) == (77, 2)


def test_a_leader_without_sessions_knows_nothing_afterwards() -> None:
    session = FollowerSession()
    assert not session.accepted(NO_SESSION)
    assert numbers(session) == (NO_SESSION, 0)


def test_a_lost_session_is_begun_again() -> None:
    session = FollowerSession()
    session.accepted(77)
    session.reset()
    assert numbers(session) == (NO_SESSION, 0)
    session.accepted(78)
    assert numbers(session) == (78, 1)


def test_epochs_begin_again_at_one_after_the_largest() -> None:
    session = FollowerSession()
    session.accepted(77)
    session.epoch = 2**31 - 1
    session.accepted(77)
    assert numbers(session) == (77, 1)
