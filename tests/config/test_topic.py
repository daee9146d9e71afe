"""The properties of a topic and where their defaults come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.config.broker import BrokerConfig
from tidelog.config.topic import DAY_MS, HOUR_MS, TOPIC_DEFINITIONS, TopicConfig, topic_problems


def broker(**properties: str) -> BrokerConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig.from_properties({"node.id": "1", **named})


def test_a_broker_without_properties_gives_topics_the_defaults() -> None:
    assert broker().topic_defaults() == TopicConfig()


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, 7 * DAY_MS),
        ({"log_retention_hours": "2"}, 2 * HOUR_MS),
        ({"log_retention_hours": "2", "log_retention_minutes": "3"}, 180_000),
        ({"log_retention_hours": "2", "log_retention_minutes": "3", "log_retention_ms": "4"}, 4),
        ({"log_retention_hours": "-1"}, -1),
        ({"log_retention_ms": "-1", "log_retention_hours": "1"}, -1),
    ],
)
def test_the_most_exact_retention_wins(properties: dict[str, str], expected: int) -> None:
    assert broker(**properties).topic_defaults().retention_ms == expected


def test_a_dynamic_value_in_another_unit_wins_over_the_file() -> None:
    config = broker(log_retention_minutes="3").with_dynamic(cluster={"log.retention.ms": "7"})
    assert config.topic_defaults().retention_ms == 7


def test_layers_win_in_order_topic_broker_cluster_file_default() -> None:
    config = broker(log_segment_bytes="1100000")
    assert config.topic_defaults().segment_bytes == 1_100_000
    config = config.with_dynamic(cluster={"log.segment.bytes": "2000000"})
    assert config.topic_defaults().segment_bytes == 2_000_000
    config = config.with_dynamic(cluster={"log.segment.bytes": "2000000"}, broker={"log.segment.bytes": "3000000"})
    assert config.topic_defaults().segment_bytes == 3_000_000
    assert config.topic_defaults().with_overrides({"segment.bytes": "4000000"}).segment_bytes == 4_000_000
    assert config.with_dynamic().topic_defaults().segment_bytes == 1_100_000


def test_roll_time_jitter_and_flush_have_stand_ins() -> None:
    defaults = broker(
        log_roll_hours="1", log_roll_jitter_hours="2", log_flush_scheduler_interval_ms="5"
    ).topic_defaults()
    assert (defaults.segment_ms, defaults.segment_jitter_ms, defaults.flush_ms) == (HOUR_MS, 2 * HOUR_MS, 5)
    assert broker(log_flush_interval_ms="3", log_flush_scheduler_interval_ms="5").topic_defaults().flush_ms == 3


@pytest.mark.parametrize(
    ("policy", "compacted", "deletes"),
    [
        ("delete", False, True),
        ("compact", True, False),
        ("compact,delete", True, True),
        ("delete , compact", True, True),
        ("", False, False),
    ],
)
def test_cleanup_policies(policy: str, compacted: bool, deletes: bool) -> None:
    config = TopicConfig().with_overrides({"cleanup.policy": policy})
    assert (config.compacted, config.deletes) == (compacted, deletes)


@pytest.mark.parametrize(
    "overrides",
    [
        {"cleanup.policy": ""},
        {"cleanup.policy": "delete,delete"},
        {"cleanup.policy": "compact , delete"},
        {"retention.ms": " 5 "},
        {"retention.bytes": "-5"},
        {"preallocate": "TRUE"},
        {"follower.replication.throttled.replicas": "*"},
        {"follower.replication.throttled.replicas": "0:1,1:2"},
        {"compression.gzip.level": "-1"},
        {"compression.type": "uncompressed"},
        {"local.retention.ms": "-2"},
        {"remote.storage.enable": "false"},
        {},
    ],
)
def test_valid_overrides(overrides: dict[str, str]) -> None:
    assert topic_problems(overrides) == []


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"cleanup.policy": "Delete"}, "cleanup.policy must be one of compact, delete, but is Delete"),
        ({"retention.ms": "5L"}, "retention.ms must be a whole number, but is 5L"),
        ({"retention.ms": "-2"}, "retention.ms must be at least -1, but is -2"),
        ({"preallocate": "1"}, "preallocate must be true or false, but is 1"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "min.compaction.lag.ms=10 is greater than max.compaction.lag.ms=5",
        ),
        ({"retention": "1"}, "retention is not a property of topics; did you mean retention.ms?"),
        (
            {"follower.replication.throttled.replicas": "none"},
            "follower.replication.throttled.replicas must be * or a list of partition:broker pairs, but is none",
        ),
        ({"min.cleanable.dirty.ratio": "1.5"}, "min.cleanable.dirty.ratio must be from 0 to 1, but is 1.5"),
        (
            {"compression.type": "none"},
            "compression.type must be one of uncompressed, zstd, lz4, snappy, gzip, producer, but is none",
        ),
        (
            {"compression.gzip.level": "0"},
            "compression.gzip.level must be from 1 to 9, or -1, but is 0",
        ),
        (
            {"remote.storage.enable": "true"},
            "remote.storage.enable must be false (tidelog keeps all segments on the broker's own disk), but is true",
        ),
    ],
)
def test_invalid_overrides_are_explained(overrides: dict[str, str], problem: str) -> None:
    assert topic_problems(overrides) == [problem]


def test_every_problem_is_reported_at_once() -> None:
    assert len(topic_problems({"retention.ms": "x", "segment.ms": "0", "nonsense": "1"})) == 3


def test_a_stored_override_that_is_no_longer_valid_does_not_count() -> None:
    config = TopicConfig().with_overrides({"retention.ms": "soon", "gone.in.this.version": "1", "segment.ms": "5"})
    assert config == TopicConfig().with_overrides({"segment.ms": "5"})


texts = st.one_of(st.text(max_size=8), st.integers(-3, 2**33).map(str), st.sampled_from(["true", "delete", "0.3"]))


@given(st.dictionaries(st.sampled_from(sorted(TOPIC_DEFINITIONS)), texts, max_size=6))
def test_overrides_without_problems_all_take_effect(overrides: dict[str, str]) -> None:
    if topic_problems(overrides):
        return
    config = TopicConfig().with_overrides(overrides)
    for name, definition in TOPIC_DEFINITIONS.items():
        expected = definition.parse(overrides[name]) if name in overrides else definition.default
        assert getattr(config, name.replace(".", "_")) == expected
