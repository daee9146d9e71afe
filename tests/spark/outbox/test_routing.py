from __future__ import annotations

import datetime
import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.outbox.routing import InvalidRoute, parse_routing, route, topic_of

EVENT_ID = uuid.UUID("406c07f3-26f0-4eea-a50c-109940064b8f")
ROW = {"id": EVENT_ID, "aggregatetype": "Order", "aggregateid": "1", "type": "OrderCreated", "payload": '{"a": 1}'}


def test_the_defaults_are_debeziums() -> None:
    message = route(parse_routing({}), ROW)
    assert message is not None
    assert message.topic == "outbox.event.Order"
    assert message.key == b"1"
    assert message.value == b'{"a": 1}'
    assert message.headers == (("id", str(EVENT_ID).encode()),)
    assert (message.partition, message.timestamp) == (None, None)


@pytest.mark.parametrize(
    ("options", "routed_by", "topic"),
    [
        ({}, "Order", "outbox.event.Order"),
        ({"route.topic.replacement": "${routedByValue}.events"}, "Order", "Order.events"),
        ({"route.topic.replacement": "all"}, "Order", "all"),
        ({"route.topic.regex": "(.*)-(.*)", "route.topic.replacement": "$2.$1"}, "a-b", "b.a"),
        ({"route.topic.regex": "(?<kind>[a-z]+)\\d*", "route.topic.replacement": "x.${kind}"}, "order12", "x.order"),
        # What does not fit stays as it is, as with Kafka Connect's own router.
        ({"route.topic.regex": "[a-z]+", "route.topic.replacement": "x"}, "Order", "Order"),
    ],
)
def test_topics_come_from_the_routed_field(options: dict[str, str], routed_by: str, topic: str) -> None:
    assert topic_of(parse_routing(options), routed_by) == topic


def test_fields_can_have_other_names() -> None:
    routing = parse_routing(
        {
            "table.field.event.id": "event",
            "table.field.event.key": "entity",
            "table.field.event.payload": "body",
            "table.field.event.timestamp": "at",
            "route.by.field": "kind",
        }
    )
    assert routing.columns == ("event", "entity", "body", "kind", "at")
    row = {"event": 7, "entity": 12, "body": b"\x00\x01", "kind": "k", "at": 1_556_890_294_484}
    message = route(routing, row)
    assert message is not None
    assert (message.topic, message.key, message.value) == ("outbox.event.k", b"12", b"\x00\x01")
    assert message.headers == (("id", b"7"),)
    assert message.timestamp == datetime.datetime(2019, 5, 3, 13, 31, 34, 484000, tzinfo=datetime.UTC)


@pytest.mark.parametrize("moment", ["2026-01-02 03:04:05", "2026-01-02T04:04:05+01:00"])
def test_timestamps_may_be_text(moment: str) -> None:
    message = route(parse_routing({"table.field.event.timestamp": "at"}), {**ROW, "at": moment})
    assert message is not None
    assert message.timestamp == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def test_additional_fields_go_where_they_are_placed() -> None:
    placement = "type:header:eventType,region:header,type:envelope,version:envelope:v,shard:partition"
    routing = parse_routing({"table.fields.additional.placement": placement})
    message = route(routing, {**ROW, "region": None, "version": 3, "shard": "2"})
    assert message is not None
    assert message.headers[1:] == (("eventType", b"OrderCreated"), ("region", None))
    assert message.value is not None
    assert json.loads(message.value) == {"payload": '{"a": 1}', "type": "OrderCreated", "v": 3}
    assert message.partition == 2


def test_a_missing_additional_field_is_an_error_unless_it_may_be_missing() -> None:
    options = {"table.fields.additional.placement": "region:header"}
    with pytest.raises(InvalidRoute, match="no column region"):
        route(parse_routing(options), ROW)
    message = route(parse_routing({**options, "table.fields.additional.error.on.missing": "false"}), ROW)
    assert message is not None
    assert [key for key, _ in message.headers] == ["id"]


def test_events_without_payload_are_left_out_or_become_tombstones() -> None:
    row = {**ROW, "payload": None}
    assert route(parse_routing({}), row) is None
    tombstone = route(parse_routing({"route.tombstone.on.empty.payload": "true"}), row)
    assert tombstone is not None
    assert (tombstone.key, tombstone.value) == (b"1", None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"route.by.fields": "x"}, "did you mean route.by.field"),
        ({"table.fields.additional.placement": "type:footer"}, "header, envelope, partition"),
        ({"table.fields.additional.placement": "type"}, "column:placement"),
        ({"route.topic.regex": "("}, "not a regular expression"),
        ({"route.topic.replacement": "x.${nobody}"}, "the group nobody"),
        ({"route.tombstone.on.empty.payload": "yes"}, "must be true or false"),
    ],
)
def test_wrong_options_are_told_by_name(options: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidRoute, match=told):
        parse_routing(options)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": None}, "no event id in column id"),
        ({"aggregatetype": None}, "nothing in column aggregatetype"),
        ({"shard": "x"}, "not the number of a partition"),
        ({"shard": -1}, "not the number of a partition"),
    ],
)
def test_rows_that_cannot_be_sent_are_told(change: dict[str, Any], told: str) -> None:
    routing = parse_routing({"table.fields.additional.placement": "shard:partition"})
    with pytest.raises(InvalidRoute, match=told):
        route(routing, {**ROW, "shard": 0, **change})


def test_options_for_connect_schemas_are_taken_and_ignored() -> None:
    assert parse_routing({"table.expand.json.payload": "true"}) == parse_routing({})


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1))
def test_every_value_is_put_into_the_default_topic_name_unchanged(routed_by: str) -> None:
    assert topic_of(parse_routing({}), routed_by) == f"outbox.event.{routed_by}"
