"""Records of the metadata log as rows, and what each of them is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tidelog.client.browsing import MetadataEntry
from tidelog.console.findings.metadata_records import (
    RecordFilter,
    Row,
    Subject,
    details_of,
    rows_of,
    subjects_of,
    whole_of,
    words_for,
)


def entry(
    offset: int = 0, type: str = "TopicRecord", kind: str | None = None, name: str | None = None, **more: Any
) -> MetadataEntry:
    plain = MetadataEntry(
        offset=offset,
        leader_epoch=1,
        timestamp_ms=1_000 + offset,
        is_control=False,
        type=type,
        type_number=2,
        version=0,
        size_bytes=10,
        fields={},
        entity_kind=kind,
        entity_name=name,
        before=None,
        after=None,
        problem=None,
    )
    return replace(plain, **more)


def idle(offset: int, epoch: int = 1) -> MetadataEntry:
    return entry(offset, "NoOpRecord", leader_epoch=epoch)


def offsets(rows: list[Row]) -> list[tuple[int, int]]:
    return [(row.first.offset, row.last.offset) for row in rows]


def test_records_that_only_say_that_the_log_goes_on_are_one_row() -> None:
    rows = rows_of([entry(0), idle(1), idle(2), idle(3), entry(4), idle(5)])
    assert offsets(rows) == [(0, 0), (1, 3), (4, 4), (5, 5)]
    assert (rows[1].as_json()["offset"], rows[1].as_json()["end"]) == (1, 3)


def test_a_row_goes_on_with_the_next_page() -> None:
    rows = rows_of([entry(0), idle(1)])
    assert offsets(rows_of([idle(2), idle(3), entry(4)], rows)) == [(0, 0), (1, 3), (4, 4)]


def test_a_row_ends_with_a_leader_and_with_a_gap() -> None:
    assert offsets(rows_of([idle(1), idle(2, epoch=2), idle(4, epoch=2)])) == [(1, 1), (2, 2), (4, 4)]


ACL = {"resource_type": "TOPIC", "resource_name": "orders", "principal": "User:ann", "operation": "READ"}


@pytest.mark.parametrize(
    ("record", "about"),
    [
        (entry(kind="topic", name="orders"), [("topic", "orders")]),
        (entry(kind="partition", name="a-b-12"), [("topic", "a-b"), ("partition", "a-b-12")]),
        (entry(kind="broker", name="1"), [("broker", "1")]),
        (entry(kind="controller", name="1"), [("controller", "1")]),
        (entry(kind="feature", name="metadata.version"), [("feature", "metadata.version")]),
        (entry(kind="scram credential", name="ann b SCRAM-SHA-256"), [("user", "ann b")]),
        (entry(kind="eligible leaders", name="orders"), [("topic", "orders")]),
        (entry(kind="eligible leaders", name=""), []),
        (entry(kind="acl", name="x", after=ACL), [("topic", "orders"), ("user", "ann")]),
        (entry(kind="acl", name="x", before={**ACL, "principal": "Group:g"}), [("topic", "orders")]),
        (entry(kind="acl", name="x", after={**ACL, "resource_type": "CLUSTER"}), [("user", "ann")]),
        (
            entry(kind="acl", name="x", after={**ACL, "resource_type": "TRANSACTIONAL_ID"}),
            [("transactional-id", "orders"), ("user", "ann")],
        ),
        (entry(kind="producer ids", name=""), []),
        (entry(), []),
    ],
)
def test_what_a_record_is_about(record: MetadataEntry, about: list[tuple[str, str]]) -> None:
    assert [(each.subject.value, each.name) for each in subjects_of(record)] == about


@pytest.mark.parametrize(
    ("fields", "about"),
    [
        ({"resource_type": 2, "resource_name": "orders"}, [("topic", "orders")]),
        ({"resource_type": 4, "resource_name": ""}, [("broker", "<default>")]),
        ({"resource_type": 32, "resource_name": "g h"}, [("group", "g h")]),
        ({"resource_type": 16, "resource_name": "metrics"}, []),
        ({"resource_type": 99, "resource_name": "later"}, []),
    ],
)
def test_whose_configuration_a_record_changes(fields: Mapping[str, Any], about: list[tuple[str, str]]) -> None:
    record = entry(type="ConfigRecord", kind="configs", name="...", fields=fields)
    assert [(each.subject.value, each.name) for each in subjects_of(record)] == about


def test_quotas_are_about_each_part_of_their_entity() -> None:
    parts = [
        {"entity_type": "user", "entity_name": "a, b"},
        {"entity_type": "client-id", "entity_name": None},
        {"entity_type": "later", "entity_name": "x"},
    ]
    record = entry(type="ClientQuotaRecord", kind="quotas", name="...", fields={"entity": parts})
    assert [tuple(each) for each in subjects_of(record)] == [(Subject.USER, "a, b"), (Subject.CLIENT_ID, "<default>")]


def test_a_filter_takes_what_fits_in_all_its_parts() -> None:
    partition = entry(type="PartitionRecord", kind="partition", name="orders-0")
    assert not RecordFilter()
    for wanted in (
        RecordFilter(),
        RecordFilter(type="PartitionRecord"),
        RecordFilter(subject=Subject.TOPIC),
        RecordFilter(name="orders"),
        RecordFilter(name="orders-0"),
        RecordFilter(subject=Subject.TOPIC, name="orders", type="PartitionRecord"),
    ):
        assert wanted.accepts(partition), wanted
    for other in (
        RecordFilter(type="TopicRecord"),
        RecordFilter(subject=Subject.USER),
        RecordFilter(subject=Subject.TOPIC, name="orders-0"),
        RecordFilter(name="order"),
    ):
        assert not other.accepts(partition), other


def test_words_tell_the_change_or_the_first_fields() -> None:
    assert words_for(idle(1)) == "only says that the log goes on"
    assert words_for(entry(before={"level": 1}, after={"level": 2})) == "level 1 → 2"
    control = entry(type="LEADER_CHANGE", fields={"version": 0, "leader_id": 2, "voters": [{"voter_id": 2}]})
    assert words_for(control) == "leader_id 2"
    assert len(words_for(entry(fields={"name": "x" * 10_000}))) < 300


def test_an_acl_is_a_sentence() -> None:
    whole = {**ACL, "host": "*", "permission_type": "ALLOW", "pattern_type": "LITERAL"}
    assert words_for(entry(kind="acl", name="x", after=whole)) == "new: User:ann may read: topic orders"
    denied = {**whole, "permission_type": "DENY", "pattern_type": "PREFIXED", "host": "10.0.0.7"}
    expected = "removed: User:ann may not read: topic names that begin with orders from 10.0.0.7"
    assert words_for(entry(kind="acl", name="x", before=denied)) == expected


def test_details_have_the_image_before_and_after() -> None:
    details = details_of(entry(7, kind="feature", name="f", fields={"name": "f"}, before={"level": 1}))
    assert (details["existed"], details["exists"]) == (True, False)
    assert details["image"] == {
        "fields": [{"mark": "-", "name": "level", "before": "1", "after": None, "gone": [], "come": []}],
        "left_out": 0,
    }
    assert details_of(idle(1))["image"] is None
    whole = whole_of(entry(7, before={"value": "x" * 5_000}))
    assert (whole["offset"], whole["before"], whole["after"]) == (7, {"value": "x" * 5_000}, None)
