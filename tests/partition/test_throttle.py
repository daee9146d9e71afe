"""The arithmetic of replication throttles (KIP-73)."""

from __future__ import annotations

import pytest

from tidelog.partition.throttle import RateLimit, is_throttled

WINDOWS = {"windows": 11, "window_ms": 1_000}


def flowed(limit: RateLimit, *, seconds: int, piece: int, every_ms: int = 10) -> int:
    """The bytes that get through in this time if there is always more to send."""
    total = 0
    for now_ms in range(0, seconds * 1000, every_ms):
        if not limit.exceeded(now_ms):
            limit.record(piece, now_ms)
            total += piece
    return total


@pytest.mark.parametrize("rate", [1_000, 50_000, 1_000_000])
@pytest.mark.parametrize("piece", [100, 1_000, 10_000])
def test_what_flows_keeps_to_the_rate(rate: int, piece: int) -> None:
    total = flowed(RateLimit(rate, **WINDOWS), seconds=60, piece=piece)
    most = min(rate * 60, 100 * piece * 60)
    # A piece more than allowed may be under way at the end of each of the windows that are measured together.
    assert 0.85 * most <= total <= most + rate + 7 * piece


def test_without_a_limit_nothing_is_held_back() -> None:
    limit = RateLimit(**WINDOWS)
    limit.record(1 << 40, 0)
    assert not limit.exceeded(1)


def test_a_burst_is_paid_for_with_silence() -> None:
    limit = RateLimit(1_000, **WINDOWS)
    limit.record(5_000, 0)
    assert limit.exceeded(0)
    assert limit.exceeded(4_999)
    assert not limit.exceeded(5_000)


def test_a_burst_is_forgotten_after_the_last_window() -> None:
    limit = RateLimit(1, **WINDOWS)
    limit.record(1_000_000, 0)
    assert limit.exceeded(10_999)
    assert not limit.exceeded(11_000)


def test_the_wait_ends_when_something_may_flow_again() -> None:
    limit = RateLimit(1_000, **WINDOWS)
    limit.record(1_500, 0)
    assert limit.wait_ms(0) == 1_000
    assert limit.wait_ms(1_000) == 500
    assert limit.wait_ms(1_500) == 0


@pytest.mark.parametrize(
    ("replicas", "throttled"),
    [((), False), (("*",), True), (("0:1",), True), (("0:2", "1:1"), False), (("1:1", "0:1"), True)],
)
def test_a_list_names_replicas(replicas: tuple[str, ...], throttled: bool) -> None:
    assert is_throttled(replicas, 0, broker=1) is throttled
