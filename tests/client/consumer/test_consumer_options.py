"""What a consumer's options say, and which of them cannot go together."""

from __future__ import annotations

import re

import pytest

from tidelog.client.config import OptionValue, consumer_config
from tidelog.client.offset_reset import parse_offset_reset
from tidelog.config.definitions import InvalidConfig
from tidelog.model.offset_times import EARLIEST, LATEST

SERVERS = {"bootstrap.servers": "127.0.0.1:9092"}


def test_defaults_are_kafkas() -> None:
    config = consumer_config({**SERVERS, "group.id": "g"})
    assert config.auto_offset_reset.place == LATEST
    assert (config.enable_auto_commit, config.auto_commit_interval_ms, config.max_poll_records) == (True, 5000, 500)
    assert (config.session_timeout_ms, config.heartbeat_interval_ms, config.max_poll_interval_ms) == (
        45_000,
        3_000,
        300_000,
    )
    assert (config.fetch_min_bytes, config.fetch_max_bytes, config.max_partition_fetch_bytes) == (1, 50 << 20, 1 << 20)
    assert (config.group_protocol, config.read_committed) == ("classic", False)
    assert config.partition_assignment_strategy == ("range", "cooperative-sticky")


def test_names_may_have_dots_or_underscores() -> None:
    assert consumer_config({**SERVERS, "max_poll_records": 7}).max_poll_records == 7
    assert consumer_config({**SERVERS, "max.poll.records": "7"}).max_poll_records == 7


def test_java_names_of_assignors_are_understood() -> None:
    package = "org.apache.kafka.clients.consumer"
    names = f"{package}.CooperativeStickyAssignor, roundrobin, {package}.StickyAssignor, {package}.RoundRobinAssignor"
    config = consumer_config({**SERVERS, "partition.assignment.strategy": names})
    assert config.partition_assignment_strategy == ("cooperative-sticky", "roundrobin", "sticky")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"enable.auto.commit": True}, "enable.auto.commit=true needs a group.id"),
        ({"group.id": ""}, "group.id must not be empty"),
        ({"group.instance.id": "i"}, "group.instance.id has no effect without group.id"),
        ({"group.protocol": "modern"}, "group.protocol must be one of classic, consumer, but is modern"),
        ({"heartbeat.interval.ms": 5000, "session.timeout.ms": 5000}, "heartbeat.interval.ms=5000 must be less"),
        ({"auto.offset.reset": "beginning"}, "auto.offset.reset=beginning is not one of earliest, latest, none"),
        ({"auto.offset.reset": "by_duration:1h"}, "auto.offset.reset=by_duration:1h is not one of"),
        ({"partition.assignment.strategy": "fair"}, "partition.assignment.strategy must be one of"),
        ({"partition.assignment.strategy": []}, "partition.assignment.strategy must be one of"),
        ({"group.id": "g", "group.remote.assignor": "uniform"}, "group.remote.assignor needs group.protocol=consumer"),
        (
            {"group.id": "g", "group.protocol": "consumer", "session.timeout.ms": 6000},
            "session.timeout.ms cannot be set with group.protocol=consumer",
        ),
        (
            {"group.id": "g", "group.protocol": "consumer", "partition.assignment.strategy": "range"},
            "use group.remote.assignor",
        ),
        ({"max.pol.records": 5}, "max.pol.records is not a property of consumers; did you mean max.poll.records?"),
        ({"fetch_min_byte": 5}, "fetch.min.byte is not a property of consumers; did you mean fetch.min.bytes?"),
        ({"isolation.level": "serializable"}, "isolation.level must be one of"),
        ({"max.poll.records": 0}, "max.poll.records must be at least 1, but is 0"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(options: dict[str, OptionValue], said: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(said)):
        consumer_config({**SERVERS, **options})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidConfig) as refused:
        consumer_config({**SERVERS, "enable.auto.commit": True, "auto.offset.reset": "start", "group.instance.id": "i"})
    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P7D", 7 * 86_400_000),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 86_400_000 + 2 * 3_600_000 + 3 * 60_000 + 4_500),
        ("PT0S", 0),
        ("pt15m", 900_000),
    ],
)
def test_a_reset_may_go_back_by_a_duration(text: str, milliseconds: int) -> None:
    reset = parse_offset_reset(f"by_duration:{text}")
    assert reset.duration_ms == milliseconds
    assert reset.time(10**12) == 10**12 - milliseconds
    assert not reset.forbidden


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "P-1D", "1D", "P1Y", "PT1S ", "by_duration"])
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        parse_offset_reset(f"by_duration:{text}")


def test_places_to_reset_to() -> None:
    assert parse_offset_reset("earliest").time(5) == EARLIEST
    assert parse_offset_reset("latest").time(5) == LATEST
    assert parse_offset_reset("none").forbidden
