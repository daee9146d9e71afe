"""Two states of one thing, and what is different between them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.differences import (
    MOST_CHARACTERS,
    MOST_FIELDS,
    ChangeMark,
    cut,
    difference,
    in_words,
    plain_text,
)

PARTITION = {
    "leader": 1,
    "leader_epoch": 4,
    "isr": [1, 2, 3],
    "replicas": [1, 2, 3],
    "adding_replicas": [],
    "eligible_leaders": None,
}


def rows(before: Any, after: Any) -> list[tuple[str, str, str | None, str | None]]:
    return [(each.mark.value, each.name, each.before, each.after) for each in difference(before, after).fields]


def test_each_field_has_its_mark() -> None:
    assert rows({"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 4, "d": True}) == [
        ("-", "a", "1", None),
        ("=", "b", "2", "2"),
        ("→", "c", "3", "4"),
        ("+", "d", None, "true"),
    ]


def test_what_did_not_exist_has_only_added_fields_and_what_is_gone_only_removed_ones() -> None:
    assert rows(None, {"level": 3}) == [("+", "level", None, "3")]
    assert rows({"level": 3}, None) == [("-", "level", "3", None)]
    assert rows(None, None) == []


def test_fields_of_fields_have_the_names_of_both() -> None:
    before = {"configs": {"a": "1"}, "partitions": {"0": {"leader": 1}}}
    after = {"configs": {}, "partitions": {"0": {"leader": 2}, "1": {"leader": 3}}}
    assert rows(before, after) == [
        ("-", "configs.a", "1", None),
        ("→", "partitions.0.leader", "1", "2"),
        ("+", "partitions.1.leader", None, "3"),
    ]


def test_of_a_list_is_said_what_has_gone_and_what_has_come() -> None:
    (field,) = difference({"isr": [1, 2, 3]}, {"isr": [1, 3, 4]}).fields
    assert (field.before, field.after, field.gone, field.come) == ("1, 2, 3", "1, 3, 4", ("2",), ("4",))


def test_of_too_many_fields_those_that_are_the_same_are_left_out_first() -> None:
    same = {f"same-{number}": number for number in range(MOST_FIELDS)}
    found = difference(same, {**same, "new": 1})
    assert ([field.name for field in found.fields], found.left_out) == (["new"], MOST_FIELDS)
    many = difference(None, {f"{number}": number for number in range(MOST_FIELDS + 3)})
    assert (len(many.fields), many.left_out) == (MOST_FIELDS, 3)


def test_long_values_are_cut_with_a_word() -> None:
    text = "x" * (MOST_CHARACTERS + 1234)
    (field,) = difference(None, {"value": text}).fields
    assert field.as_json()["after"] == "x" * MOST_CHARACTERS + " … and 1,234 more characters"
    assert cut("short", 5) == "short"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "true"),
        ([], "empty"),
        ({}, "empty"),
        ([1, None, "a"], "1, none, a"),
        ([{"a": 1}], '[{"a": 1}]'),
        (1000000.0, "1000000"),
        (0.5, "0.5"),
        ("text", "text"),
    ],
)
def test_values_are_written_as_people_read_them(value: Any, text: str) -> None:
    assert plain_text(value) == text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (None, PARTITION, "new: leader 1; isr 1, 2, 3; replicas 1, 2, 3"),
        (PARTITION, None, "removed: leader 1; isr 1, 2, 3; replicas 1, 2, 3"),
        (PARTITION, {**PARTITION, "isr": [1], "leader_epoch": 5}, "isr 1, 2, 3 → 1; leader_epoch 4 → 5"),
        (PARTITION, PARTITION, "changes nothing"),
        ({"a": "1"}, {"b": "2"}, "- a 1; + b 2"),
        ({}, {str(each): each for each in range(5)}, "+ 0 0; + 1 1; + 2 2; and 2 more"),
        (None, {"name": "orders", "topic_id": "x", "partitions": {}}, "new"),
        (None, {"user": "ann", "salt": "hidden"}, "new: user ann"),
        (None, None, ""),
    ],
)
def test_a_change_is_said_in_one_line(before: Any, after: Any, words: str) -> None:
    assert in_words(before, after) == words


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
_STATES = st.none() | st.dictionaries(st.text(max_size=3), _VALUES, max_size=4)


@given(before=_STATES, after=_STATES)
def test_any_two_states_have_a_difference_that_can_be_sent(before: Any, after: Any) -> None:
    found = difference(before, after)
    json.dumps(found.as_json())
    in_words(before, after)
    if before == after:
        assert {field.mark for field in found.fields} <= {ChangeMark.SAME}


@given(before=_STATES, after=_STATES)
def test_the_way_back_has_the_opposite_marks(before: Any, after: Any) -> None:
    opposite = {ChangeMark.ADDED: ChangeMark.REMOVED, ChangeMark.REMOVED: ChangeMark.ADDED}
    there = {(each.name, opposite.get(each.mark, each.mark)) for each in difference(before, after).fields}
    back = {(each.name, each.mark) for each in difference(after, before).fields}
    assert there == back
