"""How many connections there may be, and how fast they come in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.quotas.book import AddressRates
from tidelog.security.quotas.connections import (
    ConnectionLimits,
    ConnectionQuotas,
    Entry,
    EntryDecision,
    ListenerLimits,
    connection_overrides,
)
from tidelog.security.quotas.rates import QuotaWindows

WINDOWS = QuotaWindows()
INTERNAL, EXTERNAL = "INTERNAL", "EXTERNAL"
ONE, TWO = "10.0.0.1", "10.0.0.2"
ADMIT = EntryDecision(entry=Entry.ADMIT)
BOTH = {INTERNAL: ListenerLimits(), EXTERNAL: ListenerLimits()}


def quotas(limits: ConnectionLimits, rates: AddressRates | None = None) -> ConnectionQuotas:
    return ConnectionQuotas(limits, windows=WINDOWS, address_rates=rates)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_an_address_with_all_its_connections_gets_no_more() -> None:
    desk = quotas(ConnectionLimits(listeners=BOTH, max_connections_per_ip=2, per_ip_overrides={TWO: 1}))
    assert [desk.accept(ONE, EXTERNAL, 0), desk.accept(ONE, INTERNAL, 0)] == [ADMIT, ADMIT]
    refused = EntryDecision(entry=Entry.CLOSE, limit="max.connections.per.ip", bound=2)
    assert desk.accept(ONE, EXTERNAL, 0) == refused
    assert desk.accept(TWO, EXTERNAL, 0) == ADMIT
    assert desk.accept(TWO, EXTERNAL, 0).bound == 1
    assert (len(desk), desk.open_from(ONE), desk.open_from(TWO)) == (3, 2, 1)
    desk.release(ONE, EXTERNAL)
    assert desk.accept(ONE, EXTERNAL, 0) == ADMIT


def test_two_ways_of_writing_an_address_are_one_address() -> None:
    desk = quotas(ConnectionLimits(listeners=BOTH, per_ip_overrides={ONE: 1}))
    assert desk.accept("::ffff:10.0.0.1", EXTERNAL, 0) == ADMIT
    assert desk.accept(ONE, EXTERNAL, 0).entry is Entry.CLOSE
    desk.release(ONE, EXTERNAL)
    assert len(desk) == 0


def test_a_full_broker_lets_a_connection_wait_for_a_slot() -> None:
    desk = quotas(ConnectionLimits(listeners={EXTERNAL: ListenerLimits()}, max_connections=1))
    assert desk.accept(ONE, EXTERNAL, 0) == ADMIT
    waits = EntryDecision(entry=Entry.AWAIT_SLOT, limit="max.connections", bound=1)
    assert desk.accept(TWO, EXTERNAL, 0) == waits
    assert desk.resume(TWO, EXTERNAL, 5) == waits
    # Its listener takes no other meanwhile.
    assert desk.accept(ONE, EXTERNAL, 5).entry is Entry.QUEUE
    desk.release(ONE, EXTERNAL)
    assert desk.resume(TWO, EXTERNAL, 9) == ADMIT


def test_a_limit_that_is_raised_makes_room() -> None:
    limits = ConnectionLimits(listeners={EXTERNAL: ListenerLimits(max_connections=1)})
    desk = quotas(limits)
    desk.accept(ONE, EXTERNAL, 0)
    waits = desk.accept(ONE, EXTERNAL, 0)
    assert (waits.entry, waits.limit) == (Entry.AWAIT_SLOT, "listener.name.external.max.connections")
    desk.configure(
        ConnectionLimits(listeners={EXTERNAL: ListenerLimits(max_connections=2), INTERNAL: ListenerLimits()})
    )
    assert desk.resume(ONE, EXTERNAL, 0) == ADMIT
    assert desk.accept(ONE, INTERNAL, 0) == ADMIT


def test_the_listener_between_brokers_is_protected_if_there_are_others() -> None:
    limits = ConnectionLimits(listeners=BOTH, inter_broker_listener=INTERNAL, max_connections=1)
    desk = quotas(limits)
    assert desk.accept(ONE, EXTERNAL, 0) == ADMIT
    assert desk.accept(ONE, INTERNAL, 0) == ADMIT
    assert desk.accept(ONE, EXTERNAL, 0).entry is Entry.AWAIT_SLOT
    # There is one too many: a connection of clients makes room, none between brokers.
    assert (desk.is_exceeded(EXTERNAL), desk.is_exceeded(INTERNAL)) == (True, False)
    alone = quotas(
        ConnectionLimits(listeners={INTERNAL: ListenerLimits()}, inter_broker_listener=INTERNAL, max_connections=1)
    )
    assert [alone.accept(ONE, INTERNAL, 0).entry for _ in range(2)] == [Entry.ADMIT, Entry.AWAIT_SLOT]


def test_what_was_not_admitted_cannot_be_released() -> None:
    desk = quotas(ConnectionLimits(listeners=BOTH))
    with pytest.raises(ValueError, match=r"no connection from 10\.0\.0\.1 to the listener EXTERNAL is open"):
        desk.release(ONE, EXTERNAL)
    with pytest.raises(ValueError, match="begin with accept"):
        desk.resume(ONE, EXTERNAL, 0)


# -- rates -------------------------------------------------------------------------------------------------------------


def test_a_listener_that_is_too_fast_accepts_late() -> None:
    desk = quotas(ConnectionLimits(listeners={EXTERNAL: ListenerLimits(creation_rate=10), INTERNAL: ListenerLimits()}))
    assert {desk.accept(ONE, EXTERNAL, 0) for _ in range(100)} == {ADMIT}
    late = desk.accept(ONE, EXTERNAL, 0)
    assert (late.entry, late.delay_ms) == (Entry.DELAY, 100)
    assert desk.accept(TWO, EXTERNAL, 50).entry is Entry.QUEUE
    assert desk.resume(ONE, EXTERNAL, 60).delay_ms == 40
    # Other listeners are not concerned.
    assert desk.accept(TWO, INTERNAL, 60) == ADMIT
    assert desk.resume(ONE, EXTERNAL, 100) == ADMIT


def test_a_delay_is_one_window_at_most() -> None:
    desk = quotas(ConnectionLimits(listeners=BOTH, creation_rate=1))
    for _ in range(10):
        desk.accept(ONE, EXTERNAL, 0)
    assert desk.accept(ONE, EXTERNAL, 0).delay_ms == 1_000
    assert desk.accept(ONE, INTERNAL, 0).delay_ms == 1_000


def test_the_rate_of_the_broker_does_not_hold_up_the_protected_listener() -> None:
    desk = quotas(ConnectionLimits(listeners=BOTH, inter_broker_listener=INTERNAL, creation_rate=1))
    for _ in range(10):
        desk.accept(ONE, EXTERNAL, 0)
    assert {desk.accept(ONE, INTERNAL, 0) for _ in range(20)} == {ADMIT}
    assert desk.accept(ONE, EXTERNAL, 0).entry is Entry.DELAY


def test_an_address_that_is_too_fast_is_closed_late_and_not_counted() -> None:
    rates = AddressRates(rates={ONE: 1}, default=100)
    desk = quotas(ConnectionLimits(listeners=BOTH, creation_rate=2), rates)
    assert {desk.accept(ONE, EXTERNAL, 0) for _ in range(10)} == {ADMIT}
    closed = EntryDecision(entry=Entry.CLOSE, delay_ms=1_000, limit="connection_creation_rate", bound=1)
    # Many more than the broker may accept, but none of them counts for the broker.
    assert {desk.accept(ONE, EXTERNAL, 0) for _ in range(50)} == {closed}
    assert {desk.accept(TWO, EXTERNAL, 0) for _ in range(10)} == {ADMIT}
    assert desk.accept(TWO, EXTERNAL, 0).entry is Entry.DELAY


def test_other_quotas_of_addresses_take_effect_immediately() -> None:
    desk = quotas(ConnectionLimits(listeners=BOTH), AddressRates(default=1))
    for _ in range(10):
        desk.accept(ONE, EXTERNAL, 0)
    assert desk.accept(ONE, EXTERNAL, 0).entry is Entry.CLOSE
    desk.adopt(AddressRates(rates={ONE: 5}, default=1))
    assert desk.accept(ONE, EXTERNAL, 0) == ADMIT
    desk.adopt(AddressRates())
    assert desk.accept(ONE, EXTERNAL, 0) == ADMIT
    assert desk.expire(10_000_000) == 0


@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 30)), min_size=1, max_size=30),
)
def test_a_listener_that_waits_keeps_its_rate(rate: int, bursts: list[tuple[int, int]]) -> None:
    """Connections that come in while the listener waits are taken after it, one by one."""
    desk, now, taken = quotas(ConnectionLimits(listeners={EXTERNAL: ListenerLimits(creation_rate=rate)})), 0, 0
    for pause, burst in bursts:
        now += pause
        for _ in range(burst):
            decision = desk.accept(ONE, EXTERNAL, now)
            while decision.entry is Entry.DELAY:
                now += decision.delay_ms
                decision = desk.resume(ONE, EXTERNAL, now)
            assert decision == ADMIT
            taken += 1
    free = rate * (WINDOWS.count - 1)
    # A burst can use what the windows have forgotten, as with any rate; and each delay ends after one window.
    assert taken <= rate * now / 1_000 * (2 * WINDOWS.count - 1) / WINDOWS.count + free + now / WINDOWS.size_ms + 1


# -- overrides ---------------------------------------------------------------------------------------------------------


def test_overrides_are_pairs_of_hosts_and_numbers() -> None:
    overrides = connection_overrides("hostName:100, 127.0.0.1:200,::1:5 ,[2001:DB8::1]:6,")
    assert overrides.addresses == {"127.0.0.1": 200, "::1": 5, "2001:db8::1": 6}
    assert overrides.host_names == {"hostName": 100}
    assert connection_overrides("").addresses == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("127.0.0.1", "'127.0.0.1' must end with a colon and a number"),
        ("127.0.0.1:x", "must end with a colon and a number from 0 to 2147483647, such as 127.0.0.1:100"),
        ("127.0.0.1:-1", "must end with"),
        ("127.0.0.1:2147483648", "must end with"),
        (":5", "':5' must begin with an IP address or a host name"),
        ("a b:5", "must begin with"),
        ("1.2.3:5", "must begin with"),
    ],
)
def test_other_overrides_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        connection_overrides(text)
