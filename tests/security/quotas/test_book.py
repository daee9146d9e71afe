"""The book of quotas follows the metadata log, and old books stay as they are."""

from __future__ import annotations

import random

import pytest

from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from tidelog.security.quotas.book import AddressRates, QuotaBook, QuotaChange
from tidelog.security.quotas.entities import QuotaFilter, QuotaKey, quota_filter

PRODUCE, FETCH = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE
MUTATION = QuotaKey.CONTROLLER_MUTATION_RATE


def record(key: str, value: float | None, **names: str | None) -> ClientQuotaRecord:
    parts = [EntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in names.items()]
    return ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=value is None)


def test_each_key_has_quotas_of_its_own() -> None:
    book = QuotaBook().replay([record(PRODUCE, 100.0, user="a"), record(FETCH, 200.0, user=None)])
    assert book.limit(PRODUCE, "a", "x") == 100.0
    assert book.limit(PRODUCE, "b", "x") is None
    assert book.limit(FETCH, "a", "x") == 200.0
    assert book.limit(MUTATION, "a", "x") is None


def test_an_old_book_stays_as_it_was() -> None:
    first = QuotaBook().replay([record(PRODUCE, 100.0, user="a")])
    second = first.replay([record(PRODUCE, 300.0, user="a"), record(FETCH, 5.0, client_id="x")])
    third = second.replay([record(PRODUCE, None, user="a")])
    assert [book.limit(PRODUCE, "a", "x") for book in (first, second, third)] == [100.0, 300.0, None]
    assert [len(book.quotas) for book in (first, second, third)] == [1, 2, 1]
    # What has not changed is not copied.
    assert third.limits[FETCH] is second.limits[FETCH]


def test_removing_what_is_not_there_changes_nothing() -> None:
    book = QuotaBook().replay([record(PRODUCE, None, user="a")])
    assert book == QuotaBook()


def test_it_is_known_what_has_changed_for_whom() -> None:
    before = QuotaBook().replay([record(PRODUCE, 1.0, user="a"), record(FETCH, 2.0, user="a", client_id=None)])
    after = before.replay(
        [
            record(PRODUCE, 3.0, user="a"),
            record(FETCH, None, user="a", client_id=None),
            record(MUTATION, 4.0, client_id="x"),
        ]
    )
    assert after.changes_since(before) == (
        QuotaChange(entity=(("user", "a"),), key=PRODUCE, before=1.0, after=3.0),
        QuotaChange(entity=(("client-id", None), ("user", "a")), key=FETCH, before=2.0, after=None),
        QuotaChange(entity=(("client-id", "x"),), key=MUTATION, before=None, after=4.0),
    )
    assert after.changes_since(after) == ()


def test_rates_of_addresses_are_whole_and_written_canonically() -> None:
    key = QuotaKey.CONNECTION_CREATION_RATE
    book = QuotaBook().replay(
        [
            record(key, 10.0, ip="10.0.0.1"),
            record(key, 20.0000001, ip="2001:DB8::0:7"),
            record(key, 5.0, ip=None),
            record(key, 7.0, ip="host.example"),
        ]
    )
    rates = book.addresses
    assert [rates.of(address) for address in ("10.0.0.1", "2001:db8::7", "10.0.0.9")] == [10, 20, 5]
    assert rates.host_names == {"host.example": 7}
    assert rates.resolved({"host.example": "10.0.0.9"}).of("10.0.0.9") == 7
    # A name that points to an address with a quota of its own does not change that, and an unknown one has no effect.
    assert rates.resolved({"host.example": "10.0.0.1"}).of("10.0.0.1") == 10
    assert rates.resolved({}).of("10.0.0.9") == 5
    assert book.replay([record(key, None, ip=None)]).addresses.of("10.0.0.9") is None


def test_what_nobody_enforces_is_kept_and_listed() -> None:
    book = QuotaBook().replay(
        [record("new_rate", 1.0, user="a"), record(PRODUCE, 1.0, ip="10.0.0.1"), record(PRODUCE, 1.0, group="g")]
    )
    assert len(book.quotas) == 3
    assert [key for _, key in book.without_effect()] == ["new_rate", PRODUCE, PRODUCE]
    assert (book.limits, book.addresses) == (QuotaBook().limits, AddressRates())


def test_a_filter_finds_entities_with_their_quotas() -> None:
    book = QuotaBook().replay([record(PRODUCE, 1.0, user="a"), record(FETCH, 2.0, user="a"), record(PRODUCE, 3.0)])
    wanted = quota_filter([("user", 2, None)], strict=True)
    assert isinstance(wanted, QuotaFilter)
    assert list(book.matching(wanted)) == [((("user", "a"),), {PRODUCE: 1.0, FETCH: 2.0})]


@pytest.mark.parametrize("seed", range(5))
def test_records_one_by_one_all_together_and_by_the_image_give_the_same_book(seed: int) -> None:
    draw = random.Random(seed)
    records = []
    for _ in range(300):
        names: dict[str, str | None] = {}
        for kind in draw.choice([["user"], ["client_id"], ["user", "client_id"], ["ip"]]):
            names[kind] = draw.choice(["10.0.0.1", "10.0.0.2", "h", None])
        records.append(record(draw.choice(list(QuotaKey)), draw.choice([None, 1.0, 2.0]), **names))
    together = QuotaBook().replay(records)
    one_by_one = QuotaBook()
    for each in records:
        one_by_one = one_by_one.replay([each])
    image, _ = apply(ClusterImage(cluster_id="c"), records)
    from_image = QuotaBook().replay(records[:7]).adopt(image.client_quotas)
    assert together == one_by_one == from_image
    assert from_image == QuotaBook().adopt(image.client_quotas)
