from __future__ import annotations

from tidelog.consensus.conversations import Conversations


def conversations() -> Conversations:
    return Conversations(request_timeout_ms=2_000, retry_backoff_ms=20)


def test_one_request_at_a_time_until_it_is_answered() -> None:
    talks = conversations()
    request_id = talks.begin(2, 100)
    assert talks.ready_at_ms(2, 100) == 2_100
    assert talks.ready_at_ms(3, 100) == 100
    assert talks.end(request_id) == 2
    assert talks.ready_at_ms(2, 100) == 100


def test_an_answer_counts_once() -> None:
    talks = conversations()
    request_id = talks.begin(2, 100)
    assert talks.end(request_id) == 2
    assert talks.end(request_id) is None


def test_the_answer_to_a_request_that_was_given_up_is_not_expected() -> None:
    talks = conversations()
    first = talks.begin(2, 100)
    second = talks.begin(2, 2_100)
    assert talks.end(first) is None
    assert talks.end(second) == 2


def test_a_failure_brings_a_pause_that_outlasts_a_change_of_role() -> None:
    talks = conversations()
    waiting = talks.begin(3, 100)
    talks.pause(2, 100)
    talks.forget_requests()
    assert talks.end(waiting) is None
    assert talks.ready_at_ms(3, 100) == 100
    assert talks.ready_at_ms(2, 100) == 120
    assert talks.ready_at_ms(2, 130) == 130


def test_numbers_are_never_used_again() -> None:
    talks = conversations()
    before = talks.begin(2, 0)
    talks.forget_requests()
    assert talks.begin(2, 0) > before


def test_waiting_is_over_when_all_requests_are() -> None:
    talks = conversations()
    talks.pause(4, 0)
    assert talks.waiting_until_ms(5) == 5
    talks.begin(2, 100)
    talks.begin(3, 150)
    assert talks.waiting_until_ms(200) == 2_150
