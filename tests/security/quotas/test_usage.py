"""The accounts of one broker: who shares one, how many there are, and when they go."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from tidelog.security.quotas.book import QuotaBook
from tidelog.security.quotas.entities import CLIENT_KEYS, ClientLimits, QuotaEntity, quota_entity
from tidelog.security.quotas.rates import QuotaWindows
from tidelog.security.quotas.throttling import MutationMode
from tidelog.security.quotas.usage import IDLE_MS, ClientUsage, MutationUsage, RateUsage

WINDOWS = QuotaWindows()
USER_A = quota_entity([("user", "a")])
ANY_USER = quota_entity([("user", None)])
ANY_CLIENT = quota_entity([("client-id", None)])
STRICT = MutationMode.STRICT


def limits(quotas: Mapping[QuotaEntity, float | None]) -> ClientLimits:
    return ClientLimits().changed(quotas)


def rate_usage(quotas: Mapping[QuotaEntity, float | None], *, max_accounts: int = 100) -> RateUsage:
    return RateUsage(limits(quotas), windows=WINDOWS, max_accounts=max_accounts)


def test_clients_of_a_user_share_the_quota_of_the_user() -> None:
    usage = rate_usage({USER_A: 100.0})
    assert usage.record(600, "a", "x", 0) == 0
    assert usage.record(600, "a", "y", 0) == 2_000
    assert usage.record(600, "b", "x", 0) == 0
    assert len(usage.accounts) == 1


def test_a_default_is_not_shared() -> None:
    usage = rate_usage({ANY_CLIENT: 100.0})
    assert [usage.record(900, "a", client, 0) for client in ("x", "y", "x")] == [0, 0, 8_000]
    # The user makes no difference.
    assert usage.record(300, "b", "y", 0) == 2_000


def test_who_has_no_quota_has_no_account() -> None:
    usage = rate_usage({USER_A: 1.0})
    assert [usage.record(1e9, "b", f"client-{number}", 0) for number in range(50)] == [0] * 50
    assert len(usage.accounts) == 0
    assert usage.largest("b", "x") is None
    nobody = rate_usage({})
    nobody.record_unchecked(1e9, "a", "x", 0)
    assert (nobody.record(1e9, "a", "x", 0), len(nobody.accounts)) == (0, 0)


def test_a_throttled_fetch_does_not_count() -> None:
    usage = rate_usage({USER_A: 100.0})
    assert usage.record(5_000, "a", "x", 0) == 40_000
    usage.unrecord(5_000, "a", "x", 0)
    assert usage.record(1_000, "a", "x", 0) == 0
    assert usage.largest("a", "x") == 1_000.0


def test_what_is_recorded_unchecked_counts_with_the_next_request() -> None:
    usage = rate_usage({USER_A: 100.0})
    usage.record_unchecked(1_500, "a", "x", 0)
    assert usage.record(0, "a", "x", 0) == 5_000


def test_request_time_is_throttled_for_one_window_at_most() -> None:
    usage = RateUsage(limits({USER_A: 10.0}), windows=WINDOWS, longest_ms=WINDOWS.size_ms)
    assert usage.record(150.0, "a", "x", 0) == 1_000
    assert usage.record(0.0, "a", "x", 20_000) == 0


def test_another_limit_applies_to_what_has_been_used() -> None:
    usage = rate_usage({USER_A: 100.0})
    usage.record(1_000, "a", "x", 0)
    usage.adopt(limits({USER_A: 50.0}))
    assert usage.record(0, "a", "x", 0) == 10_000
    usage.adopt(limits({ANY_USER: 200.0}))
    assert (usage.record(0, "a", "x", 0), len(usage.accounts)) == (0, 1)
    usage.adopt(limits({}))
    assert (usage.record(0, "a", "x", 0), len(usage.accounts)) == (0, 0)


def test_an_account_that_is_idle_for_more_than_an_hour_is_dropped() -> None:
    usage = rate_usage({ANY_CLIENT: 100.0})
    usage.record(1, "a", "x", 0)
    usage.record(1, "a", "y", 1)
    assert usage.expire(IDLE_MS) == 0
    assert usage.expire(IDLE_MS + 1) == 1
    assert len(usage.accounts) == 1


# -- too many clients --------------------------------------------------------------------------------------------------


def test_above_the_bound_newcomers_share_one_account() -> None:
    usage = rate_usage({ANY_CLIENT: 100.0, quota_entity([("client-id", "rich")]): 500.0}, max_accounts=3)
    for number in range(3):
        assert usage.record(1_000, "a", f"client-{number}", 0) == 0
    assert (len(usage.accounts), usage.accounts.is_shared) == (3, False)
    assert usage.record(600, "a", "new-1", 1) == 0
    assert usage.record(600, "a", "new-2", 1) > 0
    assert (len(usage.accounts), usage.accounts.is_shared) == (3, True)
    # Each is compared with its own quota.
    assert usage.record(600, "a", "rich", 1) == 0
    # Who has an account keeps it.
    assert usage.record(0, "a", "client-0", 1) == 0


def test_accounts_that_make_no_difference_make_room() -> None:
    usage = rate_usage({ANY_CLIENT: 100.0}, max_accounts=3)
    for number in range(3):
        usage.record(1_000, "a", f"client-{number}", number * 1_000)
    usage.record(1, "a", "too-early", 10_999)
    assert usage.accounts.is_shared
    # They are looked through once in a second.
    usage.record(1, "a", "too-early", 11_000)
    assert len(usage.accounts) == 3
    usage.record(1, "a", "new", 12_000)
    # The first two have gone, and the new one has come.
    assert len(usage.accounts) == 2
    assert usage.expire(12_000) == 0
    assert usage.accounts.is_shared
    usage.expire(22_000)
    assert not usage.accounts.is_shared


def test_random_client_ids_do_not_grow_memory() -> None:
    usage = rate_usage({ANY_CLIENT: 100.0}, max_accounts=50)
    throttled = 0
    for number in range(20_000):
        throttled += usage.record(1_000, "a", f"random-{number}", number) > 0
    assert len(usage.accounts) <= 50
    assert throttled > 19_000


@given(
    st.lists(
        st.tuples(st.integers(1_000, 4_000), st.sampled_from("abcdefgh"), st.integers(0, 3_000)),
        min_size=1,
        max_size=150,
    )
)
def test_dropping_accounts_to_make_room_makes_next_to_no_difference(events: list[tuple[int, str, int]]) -> None:
    """As long as not more clients than accounts are active within a span, and at most one comes in a second."""
    plenty = rate_usage({ANY_CLIENT: 100.0})
    scarce = rate_usage({ANY_CLIENT: 100.0}, max_accounts=3)
    now, seen = 0, dict[str, int]()
    for pause, client, size in events:
        now += pause
        active = [other for other, last in seen.items() if other != client and now - last < WINDOWS.span_ms]
        if len(active) >= 3:
            now += WINDOWS.span_ms + 1_000
        seen[client] = now
        with_plenty, with_few = (usage.record(size, "a", client, now) for usage in (plenty, scarce))
        assert abs(with_plenty - with_few) < 2 * WINDOWS.size_ms
        assert len(scarce.accounts) <= 3


# -- mutations, and all together ---------------------------------------------------------------------------------------


def test_mutations_of_a_user_take_from_one_bucket() -> None:
    usage = MutationUsage(limits({USER_A: 2.0}), windows=WINDOWS)
    assert usage.allowance(STRICT, "a", "x", 0).take(30, 0)
    second = usage.allowance(STRICT, "a", "y", 0)
    assert not second.take(1, 0)
    assert second.throttle_ms(0) == 4_000
    assert usage.allowance(STRICT, "b", "x", 0).take(1_000, 0)
    usage.adopt(limits({USER_A: 8.0}))
    third = usage.allowance(STRICT, "a", "x", 0)
    assert not third.take(1, 0)
    assert third.throttle_ms(0) == 1_000
    usage.adopt(limits({}))
    assert usage.allowance(STRICT, "a", "x", 0).take(1, 0)


def test_a_bucket_in_debt_is_not_dropped_to_make_room() -> None:
    usage = MutationUsage(limits({ANY_CLIENT: 1.0}), windows=WINDOWS, max_accounts=1)
    usage.allowance(STRICT, "a", "x", 0).take(100, 0)
    usage.allowance(STRICT, "a", "y", 12_000).take(1, 12_000)
    assert usage.accounts.is_shared
    assert not usage.allowance(STRICT, "a", "x", 12_000).take(1, 12_000)
    # Full again after 100 s.
    usage.allowance(STRICT, "a", "z", 100_000)
    assert len(usage.accounts) == 1
    assert usage.allowance(STRICT, "a", "z", 100_000).take(1, 100_000)


@pytest.mark.parametrize("key", CLIENT_KEYS[:3])
def test_a_quota_of_the_book_reaches_its_usage_only(key: str) -> None:
    usage = ClientUsage(QuotaBook(), windows=WINDOWS)
    record = ClientQuotaRecord(entity=[EntityData(entity_type="user", entity_name="a")], key=key, value=1.0)
    book = QuotaBook().replay([record])
    usage.adopt(book)
    made = ClientUsage(book, windows=WINDOWS)
    for each in (usage, made):
        throttles = [part.record(100, "a", "x", 0) for part in (each.produce, each.fetch, each.request)]
        expected = {"producer_byte_rate": 90_000, "consumer_byte_rate": 90_000, "request_percentage": 1_000}
        assert throttles == [expected[other] if other == key else 0 for other in CLIENT_KEYS[:3]]
        assert each.expire(IDLE_MS + 1) == 1
