"""Which records a filter leaves."""

from __future__ import annotations

import pytest
from support.log_entries import marker_entry, record_entry

from tidelog.client.browsing import Entry, Gap, TransactionOutcome, Unreadable
from tidelog.console.findings.record_filter import (
    MOST_TEXT,
    Condition,
    FilterComparison,
    MessageFilter,
    OutcomeChoice,
    RecordPart,
    passes,
    problem_of,
    subjects,
)
from tidelog.coordinators.groups.records import encode_record, offset_record
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue

ORDER = record_entry(
    5,
    '{"id": 9007199254740993, "customer": {"name": "Ännchen", "phone": null}, "paid": true}'.encode(),
    key=b"order-5",
    headers=(("source", b"web"), ("trace", None), ("source", b"shop")),
)
GAP = Gap(offset=1, last_offset=4)


def condition(part: str, how: str, text: str, where: str = "") -> Condition:
    return Condition(part=RecordPart(part), how=FilterComparison(how), text=text, where=where)


def finds(entry: Entry, *conditions: Condition, ignore_case: bool = False) -> bool:
    return passes(MessageFilter(conditions=conditions, ignore_case=ignore_case), "orders", entry)


@pytest.mark.parametrize(
    ("part", "how", "text", "where", "found"),
    [
        ("key", "contains", "der-", "", True),
        ("key", "contains", "DER-", "", False),
        ("key", "equals", "order-5", "", True),
        ("key", "equals", "order", "", False),
        ("key", "null", "", "", False),
        ("value", "contains", "Änn", "", True),
        ("value", "contains", "9007199254740993", "", True),
        ("value", "equals", "9007199254740993", "id", True),
        ("value", "equals", "9007199254740992", "id", False),
        ("value", "equals", "Ännchen", "$.customer.name", True),
        ("value", "contains", "chen", "customer.name", True),
        ("value", "equals", "true", "paid", True),
        ("value", "contains", "", "missing", False),
        ("header", "contains", "we", "", True),
        ("header", "contains", "sour", "", True),
        ("header", "equals", "shop", "source", True),
        ("header", "equals", "source", "", False),
        ("header", "contains", "web", "trace", False),
        ("header", "contains", "", "source", True),
        ("header", "contains", "", "other", False),
        # Whatever its value, also null.
        ("header", "contains", "", "trace", True),
        ("header", "equals", "", "trace", True),
        ("header", "pattern", "", "trace", True),
        ("header", "pattern", "", "other", False),
        ("header", "null", "", "trace", True),
        ("header", "null", "", "source", False),
        ("value", "null", "", "", False),
        ("value", "null", "", "customer.phone", True),
        ("value", "null", "", "customer.missing", True),
        ("value", "null", "", "customer.name", False),
        ("value", "null", "", "customer", False),
    ],
)
def test_conditions(part: str, how: str, text: str, where: str, found: bool) -> None:
    assert finds(ORDER, condition(part, how, text, where)) is found


def test_case_may_be_ignored() -> None:
    assert finds(ORDER, condition("key", "equals", "ORDER-5"), ignore_case=True)
    assert finds(ORDER, condition("value", "contains", "ÄNNCHEN"), ignore_case=True)
    assert not finds(ORDER, condition("value", "contains", "ANNCHEN"), ignore_case=True)


def test_all_conditions_have_to_hold() -> None:
    key, value = condition("key", "contains", "order"), condition("value", "equals", "false", "paid")
    assert finds(ORDER, key)
    assert not finds(ORDER, key, value)


def test_null_keys_and_tombstones() -> None:
    tombstone = record_entry(1, None, key=b"k")
    assert finds(tombstone, condition("value", "null", ""))
    assert not finds(tombstone, condition("key", "null", ""))
    assert not finds(tombstone, condition("value", "contains", ""))
    assert not finds(record_entry(1, b""), condition("value", "null", ""))
    # Nothing stands at a path of what has none.
    assert finds(tombstone, condition("value", "null", "", "id"))
    assert finds(record_entry(1, b"no JSON"), condition("value", "null", "", "id"))


@pytest.mark.parametrize("value", [b"\xff\xfe", b"[" * 5000, b"{", b'{"id": "\\ud800"}'])
def test_values_that_are_odd_are_no_failure(value: bytes) -> None:
    assert not finds(record_entry(1, value), condition("value", "equals", "x", "id"))
    assert not finds(record_entry(1, value), condition("value", "contains", "xyz"), ignore_case=True)


def test_bytes_that_are_not_utf8_do_not_hide_the_others() -> None:
    assert finds(record_entry(1, b"\xff needle \xfe"), condition("value", "contains", "needle"))
    assert finds(record_entry(1, b"\xff NEEDLE \xfe"), condition("value", "contains", "needle"), ignore_case=True)


@pytest.mark.parametrize(
    ("only", "outcome", "found"),
    [
        ("committed", TransactionOutcome.COMMITTED, True),
        ("committed", None, False),
        ("aborted", TransactionOutcome.ABORTED, True),
        ("aborted", TransactionOutcome.COMMITTED, False),
        ("open", TransactionOutcome.OPEN, True),
        ("outside", None, True),
        ("outside", TransactionOutcome.OPEN, False),
        ("control", None, False),
    ],
)
def test_by_the_outcome_of_the_transaction(only: str, outcome: TransactionOutcome | None, found: bool) -> None:
    assert passes(MessageFilter(only=OutcomeChoice(only)), "orders", record_entry(1, outcome=outcome)) is found


def test_without_a_filter_everything_is_shown_and_with_one_only_records() -> None:
    others: list[Entry] = [GAP, marker_entry(6), Unreadable(offset=7, last_offset=7, reason="torn")]
    assert all(passes(MessageFilter(), "orders", entry) for entry in others)
    assert not any(finds(entry, condition("value", "contains", "")) for entry in others)
    control = MessageFilter(only=OutcomeChoice.CONTROL)
    assert [passes(control, "orders", entry) for entry in others] == [False, True, False]


def test_regular_expressions_are_left_to_somebody_else() -> None:
    pattern = condition("value", "pattern", "(a+)+$", "customer.name")
    wanted = MessageFilter(conditions=(condition("key", "contains", "order"), pattern))
    assert wanted.patterns == (pattern,)
    assert passes(wanted, "orders", ORDER)
    assert subjects(pattern, "orders", ORDER) == ["Ännchen".encode()]
    assert subjects(condition("header", "pattern", "x"), "orders", ORDER) == [
        b"web",
        b"source",
        b"trace",
        b"shop",
        b"source",
    ]
    assert subjects(pattern, "orders", GAP) == []


def test_records_of_coordinators_are_searched_as_they_are_shown() -> None:
    commit = OffsetCommitValue(offset=417, leader_epoch=-1, metadata="", commit_timestamp=1, expire_timestamp=-1)
    key, value = encode_record(offset_record("billing", "orders", 2, commit))
    entry = record_entry(1, value, key=key)
    wanted = MessageFilter(conditions=(condition("value", "equals", "417", "offset"),))
    assert passes(wanted, CONSUMER_OFFSETS_TOPIC, entry)
    assert not passes(wanted, "orders", entry)
    by_key = MessageFilter(conditions=(condition("key", "contains", '"partition": 2'),))
    assert passes(by_key, CONSUMER_OFFSETS_TOPIC, entry)


def test_problems() -> None:
    assert problem_of(condition("value", "contains", "x", "a.b")) is None
    assert "is not a path into JSON" in str(problem_of(condition("value", "contains", "x", "a..b")))
    assert f"longer than {MOST_TEXT} characters" in str(problem_of(condition("key", "contains", "x" * (MOST_TEXT + 1))))
