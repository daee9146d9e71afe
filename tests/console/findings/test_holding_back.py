"""Which open transactions hold back whom, as a table and as properties."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.admin import TransactionListing
from tidelog.client.browsing import ControlEntry, Entry, Gap, RecordEntry, TransactionOutcome, Unreadable
from tidelog.console.findings.holding_back import (
    GroupPlaces,
    HoldingBack,
    KnownTransaction,
    OpenInPartition,
    PartitionReading,
    Suspicions,
    WaitingGroup,
    is_gone,
    next_visible,
    not_described,
    still_open,
    who_holds_back,
)
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 3)
FIRST = KnownTransaction(transactional_id="first", start_ms=1_000, partitions=frozenset({ORDERS, PAYMENTS}))
SECOND = KnownTransaction(transactional_id="second", start_ms=2_000, partitions=frozenset({ORDERS}))
IDS = {1: FIRST, 2: SECOND}


def reading(stable: int, end: int, **opened: int) -> PartitionReading:
    """`p1=20`: the transaction of producer 1 begins at offset 20."""
    return PartitionReading(
        last_stable_offset=stable,
        high_watermark=end,
        transactions=tuple(
            OpenInPartition(producer_id=int(name[1:]), start_offset=start) for name, start in opened.items()
        ),
    )


def group(name: str, has_members: bool = True, **offsets: int) -> GroupPlaces:
    places = {"orders": ORDERS, "payments": PAYMENTS}
    return GroupPlaces(
        group_id=name,
        has_members=has_members,
        offsets={places[topic]: offset for topic, offset in offsets.items()},
    )


def shown(
    partitions: Mapping[TopicPartition, PartitionReading], *groups: GroupPlaces
) -> list[tuple[int, dict[TopicPartition, tuple[int, list[str], list[int]]]]]:
    """By producer: of each partition where readers stop, who waits, and who comes next."""
    return [
        (
            each.producer_id,
            {
                held.partition: (held.offset, [waiting.group_id for waiting in held.waiting], list(held.queue))
                for held in each.partitions
            },
        )
        for each in who_holds_back(partitions, IDS, groups)
    ]


CASES = [
    pytest.param({}, [], id="no partitions"),
    pytest.param({ORDERS: reading(30, 30)}, [], id="nothing open"),
    pytest.param({ORDERS: reading(20, 30, p1=20)}, [(1, {ORDERS: (20, [], [])})], id="one open"),
    # It has written, but what it has written is not committed itself.
    pytest.param({ORDERS: reading(30, 30, p1=30)}, [], id="open behind the high watermark"),
    pytest.param(
        {ORDERS: reading(20, 30, p2=25, p1=20)},
        [(1, {ORDERS: (20, [], [2])})],
        id="the first one holds back, the second one is next",
    ),
    pytest.param(
        {ORDERS: reading(20, 30, p2=20), PAYMENTS: reading(5, 9, p1=5, p2=7)},
        [(1, {PAYMENTS: (5, [], [2])}), (2, {ORDERS: (20, [], [])})],
        id="each partition has its own holder; the older transaction is first",
    ),
    pytest.param(
        {ORDERS: reading(20, 30, p1=20), PAYMENTS: reading(5, 9, p1=5)},
        [(1, {ORDERS: (20, [], []), PAYMENTS: (5, [], [])})],
        id="one holds two partitions back",
    ),
    # Producers were asked for before it ended, the last stable offset behind that.
    pytest.param({ORDERS: reading(30, 30, p1=20)}, [], id="ended between two questions"),
    pytest.param(
        {ORDERS: reading(25, 30, p1=20, p2=25)},
        [(2, {ORDERS: (25, [], [])})],
        id="ended between two questions, and the next one holds",
    ),
    pytest.param({ORDERS: reading(20, 30, p2=25)}, [(2, {ORDERS: (25, [], [])})], id="a new one is seen first"),
    pytest.param(
        {ORDERS: reading(20, 30, p1=20), PAYMENTS: reading(5, 9, p7=5)},
        [(7, {PAYMENTS: (5, [], [])}), (1, {ORDERS: (20, [], [])})],
        id="one that no coordinator knows is first",
    ),
]


@pytest.mark.parametrize(("partitions", "expected"), CASES)
def test_who_holds_back(
    partitions: Mapping[TopicPartition, PartitionReading],
    expected: list[tuple[int, dict[TopicPartition, tuple[int, list[str], list[int]]]]],
) -> None:
    assert shown(partitions) == expected


def test_groups_at_the_transaction_wait_and_others_do_not() -> None:
    partitions = {ORDERS: reading(20, 30, p1=20), PAYMENTS: reading(5, 9, p1=5)}
    groups = (
        group("waits", orders=20),
        group("has more to read", orders=19),
        group("reads uncommitted", orders=26),
        group("reads something else"),
        group("waits elsewhere", orders=3, payments=5),
        group("nobody there", has_members=False, orders=20),
    )
    (holding,) = who_holds_back(partitions, IDS, groups)
    assert holding.transaction == FIRST
    in_orders, in_payments = holding.partitions
    assert [waiting.group_id for waiting in in_orders.waiting] == ["waits", "nobody there"]
    assert [waiting.group_id for waiting in in_payments.waiting] == ["waits elsewhere"]
    assert holding.waiting == (
        WaitingGroup(group_id="waits", has_members=True),
        WaitingGroup(group_id="waits elsewhere", has_members=True),
        WaitingGroup(group_id="nobody there", has_members=False),
    )


def test_a_group_that_waits_in_two_partitions_is_one_group() -> None:
    partitions = {ORDERS: reading(20, 30, p1=20), PAYMENTS: reading(5, 9, p1=5)}
    (holding,) = who_holds_back(partitions, IDS, (group("audit", orders=20, payments=5),))
    assert [waiting.group_id for waiting in holding.waiting] == ["audit"]


def test_a_transaction_that_no_coordinator_will_end_here_is_not_expected() -> None:
    partitions = {
        ORDERS: reading(20, 30, p2=20),
        PAYMENTS: reading(5, 9, p2=5),
        TopicPartition("x", 0): reading(1, 2, p7=1),
    }
    found = {
        (each.producer_id, held.partition.topic): held.is_expected
        for each in who_holds_back(partitions, IDS, ())
        for held in each.partitions
    }
    assert found == {(2, "orders"): True, (2, "payments"): False, (7, "x"): False}


# -- where a group goes on ------------------------------------------------------------------------------------------


def record(offset: int, outcome: TransactionOutcome | None = None) -> RecordEntry:
    return RecordEntry(
        offset=offset,
        timestamp_ms=0,
        log_append_time=False,
        key=None,
        value=b"",
        headers=(),
        leader_epoch=0,
        batch_offset=offset,
        compression=0,
        producer_id=None,
        producer_epoch=None,
        sequence=None,
        outcome=outcome,
    )


def marker(offset: int) -> ControlEntry:
    return ControlEntry(
        offset=offset,
        timestamp_ms=0,
        leader_epoch=0,
        kind="COMMIT",
        producer_id=1,
        producer_epoch=0,
        coordinator_epoch=0,
    )


ABORTED, COMMITTED = TransactionOutcome.ABORTED, TransactionOutcome.COMMITTED


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], 10),
        ([record(10)], 10),
        ([marker(10)], 11),
        ([marker(10), marker(11), marker(12)], 13),
        ([marker(10), record(11, COMMITTED), marker(12)], 11),
        ([record(10, ABORTED), record(11, ABORTED), marker(12)], 13),
        ([Gap(offset=10, last_offset=12), record(13)], 13),
        ([Gap(offset=10, last_offset=40)], 15),
        ([Unreadable(offset=10, last_offset=11, reason="damaged"), record(12)], 12),
        ([marker(10), record(15, TransactionOutcome.OPEN)], 15),
        ([marker(10), record(17, COMMITTED)], 15),
    ],
)
def test_what_no_consumer_sees_is_passed_over(entries: list[Entry], expected: int) -> None:
    """From offset 10, up to the transaction at 15."""
    assert next_visible(10, 15, entries) == expected


# -- properties -----------------------------------------------------------------------------------------------------

PLACES = [TopicPartition("t", number) for number in range(4)]


@st.composite
def partition_readings(draw: st.DrawFn) -> PartitionReading:
    stable = draw(st.integers(0, 30))
    starts = draw(st.dictionaries(st.integers(1, 6), st.integers(0, 40), max_size=5))
    return PartitionReading(
        last_stable_offset=stable,
        high_watermark=stable + draw(st.integers(0, 20)),
        transactions=tuple(OpenInPartition(producer_id=key, start_offset=at) for key, at in starts.items()),
    )


group_places = st.builds(
    GroupPlaces,
    group_id=st.sampled_from("abcdef"),
    has_members=st.booleans(),
    offsets=st.dictionaries(st.sampled_from(PLACES), st.integers(0, 50)),
)


@given(
    st.dictionaries(st.sampled_from(PLACES), partition_readings()),
    st.lists(group_places, max_size=4, unique_by=lambda each: each.group_id),
)
def test_each_held_partition_has_one_holder_which_is_the_first_open_transaction(
    partitions: dict[TopicPartition, PartitionReading], groups: list[GroupPlaces]
) -> None:
    found = who_holds_back(partitions, IDS, groups)
    assert len({holding.producer_id for holding in found}) == len(found)
    held = [(holding, place) for holding in found for place in holding.partitions]
    assert len({place.partition for _, place in held}) == len(held)
    for holding, place in held:
        reading = partitions[place.partition]
        assert reading.last_stable_offset <= place.offset < reading.high_watermark
        opened = still_open(reading)
        assert (opened[0].producer_id, opened[0].start_offset) == (holding.producer_id, place.offset)
        known = holding.transaction
        assert place.is_expected == (known is not None and place.partition in (known.partitions or ()))
        assert place.queue == tuple(each.producer_id for each in opened[1:])
        waiting = {each.group_id for each in place.waiting}
        assert waiting == {each.group_id for each in groups if each.offsets.get(place.partition) == place.offset}
    free = partitions.keys() - {place.partition for _, place in held}
    for partition in free:
        reading = partitions[partition]
        assert all(each.start_offset >= reading.high_watermark for each in still_open(reading))


# -- what hangs -----------------------------------------------------------------------------------------------------


def holding(**transactions: KnownTransaction) -> list[HoldingBack]:
    """The transaction of producer 1 is open in both partitions. `p1=FIRST`: its coordinator knows that."""
    readings = {ORDERS: reading(20, 40, p1=20), PAYMENTS: reading(7, 9, p1=7)}
    return who_holds_back(readings, {int(name[1:]): known for name, known in transactions.items()}, ())


def test_what_no_coordinator_ends_in_two_readings_hangs() -> None:
    suspicions = Suspicions()
    only_orders = KnownTransaction(transactional_id="first", start_ms=1_000, partitions=frozenset({ORDERS}))
    suspicions.note(holding(p1=only_orders), ids_may_be_hidden=False)
    assert (suspicions.hanging, suspicions.are_open) == (frozenset(), True)
    suspicions.note(holding(p1=only_orders), ids_may_be_hidden=False)
    assert (suspicions.hanging, suspicions.are_open) == (frozenset({PAYMENTS}), False)
    suspicions.note(holding(p1=FIRST), ids_may_be_hidden=False)
    assert (suspicions.hanging, suspicions.are_open) == (frozenset(), False)


def test_a_transaction_that_has_begun_between_two_questions_does_not_hang() -> None:
    suspicions = Suspicions()
    for known in ({}, {"p1": FIRST}, {}, {"p1": FIRST}):
        suspicions.note(holding(**known), ids_may_be_hidden=False)
        assert not suspicions.hanging


def test_what_was_not_described_is_not_said_to_hang() -> None:
    """The coordinator knows the id, and has not answered what the transaction is doing."""
    listed = TransactionListing(transactional_id="first", coordinator=1, producer_id=1, state="Ongoing")
    suspicions = Suspicions()
    for _ in range(2):
        found = holding(p1=not_described(listed))
        assert [each.transaction and each.transaction.transactional_id for each in found] == ["first"]
        suspicions.note(found, ids_may_be_hidden=False)
        assert (suspicions.hanging, suspicions.are_open) == (frozenset(), False)


def test_only_an_id_that_its_coordinator_does_not_know_is_gone() -> None:
    assert is_gone(ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "expired"))
    for code in (
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ):
        assert not is_gone(ApiError(code, "nobody knows"))


def test_another_transaction_at_another_offset_is_suspected_anew() -> None:
    suspicions = Suspicions()
    for start in (20, 25):
        found = who_holds_back({ORDERS: reading(start, 40, p1=start)}, {}, ())
        suspicions.note(found, ids_may_be_hidden=False)
    assert not suspicions.hanging


def test_what_no_id_is_seen_of_hangs_only_if_all_ids_are_seen() -> None:
    seen, hidden = Suspicions(), Suspicions()
    for _ in range(2):
        seen.note(holding(), ids_may_be_hidden=False)
        hidden.note(holding(), ids_may_be_hidden=True)
    assert seen.hanging == {ORDERS, PAYMENTS}
    assert not hidden.hanging
    assert not hidden.are_open


def test_an_id_that_is_seen_may_hang_while_others_are_hidden() -> None:
    idle = KnownTransaction(transactional_id="first", start_ms=None, partitions=frozenset())
    suspicions = Suspicions()
    for _ in range(2):
        suspicions.note(holding(p1=idle), ids_may_be_hidden=True)
    assert suspicions.hanging == {ORDERS, PAYMENTS}
