"""What DescribeConfigs shows about topics and brokers."""

from __future__ import annotations

import pytest

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.definitions import ConfigSource, ConfigType
from tidelog.config.describe import (
    DescribedConfig,
    DescribedSynonym,
    describe_broker,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from tidelog.config.topic import TOPIC_DEFINITIONS


def broker(**properties: str) -> BrokerConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig.from_properties({"node.id": "1", **named})


def topic(name: str, config: BrokerConfig, overrides: dict[str, str] | None = None) -> DescribedConfig:
    return {each.name: each for each in describe_topic(overrides or {}, config)}[name]


def of_broker(name: str, config: BrokerConfig) -> DescribedConfig:
    return {each.name: each for each in describe_broker(config)}[name]


def test_a_topic_shows_every_property_once() -> None:
    shown = [each.name for each in describe_topic({}, broker())]
    assert shown == [name for name in TOPIC_DEFINITIONS if name != "internal.segment.bytes"]
    assert topic("internal.segment.bytes", broker(), {"internal.segment.bytes": "200"}).value == "200"


def test_the_value_shown_is_the_one_in_effect() -> None:
    config = broker(log_retention_hours="2", log_roll_ms="5").with_dynamic(cluster={"message.max.bytes": "77"})
    overrides = {"cleanup.policy": "compact , delete", "flush.messages": " 9 "}
    effective = config.topic_defaults().with_overrides(overrides)
    for shown in describe_topic(overrides, config):
        value = getattr(effective, shown.name.replace(".", "_"))
        assert TOPIC_DEFINITIONS[shown.name].parse(shown.value or "") == value


def test_sources_and_synonyms_are_listed_in_the_order_in_which_they_win() -> None:
    config = broker(log_segment_bytes="1200000").with_dynamic(
        cluster={"log.segment.bytes": "2200000"}, broker={"log.segment.bytes": "3200000"}
    )
    shown = topic("segment.bytes", config, {"segment.bytes": "4200000"})
    assert (shown.value, shown.source, shown.is_default) == ("4200000", ConfigSource.DYNAMIC_TOPIC_CONFIG, False)
    assert shown.synonyms == (
        DescribedSynonym(name="segment.bytes", value="4200000", source=ConfigSource.DYNAMIC_TOPIC_CONFIG),
        DescribedSynonym(name="log.segment.bytes", value="3200000", source=ConfigSource.DYNAMIC_BROKER_CONFIG),
        DescribedSynonym(name="log.segment.bytes", value="2200000", source=ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        DescribedSynonym(name="log.segment.bytes", value="1200000", source=ConfigSource.STATIC_BROKER_CONFIG),
        DescribedSynonym(name="log.segment.bytes", value="1073741824", source=ConfigSource.DEFAULT_CONFIG),
    )


def test_a_default_in_hours_is_shown_in_milliseconds() -> None:
    shown = topic("retention.ms", broker(log_retention_hours="2"))
    # As in Kafka: what is set in another unit gives the value, but is no source of it.
    assert (shown.value, shown.source, shown.synonyms) == ("7200000", ConfigSource.DEFAULT_CONFIG, ())
    assert topic("retention.ms", broker()).value == "604800000"
    assert topic("retention.ms", broker()).is_default


def test_types_and_documentation_are_given() -> None:
    shown = topic("min.cleanable.dirty.ratio", broker())
    assert (shown.type, shown.value, shown.read_only) == (ConfigType.DOUBLE, "0.5", False)
    assert shown.documentation


def test_a_broker_shows_every_property_once() -> None:
    shown = [each.name for each in describe_broker(broker())]
    assert len(shown) == len(set(shown))
    hidden = set(BROKER_DEFINITIONS) - set(shown)
    assert {"leader.replication.throttled.rate", "unclean.leader.election.interval.ms"} <= hidden
    assert "leader.replication.throttled.rate" in {
        each.name for each in describe_broker(broker().with_dynamic(cluster={"leader.replication.throttled.rate": "5"}))
    }


@pytest.mark.parametrize("given", [{"node.id": "7"}, {"broker.id": "7"}])
def test_both_names_show_the_nodes_number(given: dict[str, str]) -> None:
    config = BrokerConfig.from_properties(given)
    for name in ("node.id", "broker.id"):
        shown = of_broker(name, config)
        assert (shown.value, shown.source) == ("7", ConfigSource.STATIC_BROKER_CONFIG)


def test_what_is_stored_but_not_known_is_shown_without_its_value() -> None:
    shown = {each.name: each for each in describe_broker(broker(), cluster={"unheard.of": "1"}, own={"other": "2"})}
    assert (shown["unheard.of"].value, shown["unheard.of"].sensitive, shown["unheard.of"].read_only) == (
        None,
        True,
        True,
    )
    assert shown["unheard.of"].source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    assert shown["other"].source is ConfigSource.DYNAMIC_BROKER_CONFIG


def test_a_group_shows_its_own_values_before_those_of_the_broker() -> None:
    config = broker(group_consumer_session_timeout_ms="46000")
    shown = {each.name: each for each in describe_group({"consumer.heartbeat.interval.ms": "6000"}, config)}
    beat = shown["consumer.heartbeat.interval.ms"]
    assert (beat.value, beat.source) == ("6000", ConfigSource.DYNAMIC_GROUP_CONFIG)
    assert [each.name for each in beat.synonyms] == [
        "consumer.heartbeat.interval.ms",
        "group.consumer.heartbeat.interval.ms",
    ]
    assert shown["consumer.session.timeout.ms"].value == "46000"


def test_a_broker_property_is_read_only_unless_it_is_dynamic() -> None:
    config = broker(num_partitions="4")
    partitions = of_broker("num.partitions", config)
    assert (partitions.value, partitions.source, partitions.read_only) == (
        "4",
        ConfigSource.STATIC_BROKER_CONFIG,
        True,
    )
    assert not of_broker("log.retention.ms", config).read_only


def test_a_broker_property_is_not_shown_with_the_value_of_its_synonym() -> None:
    config = broker(log_retention_minutes="3")
    assert of_broker("log.retention.ms", config).value is None
    assert of_broker("log.retention.minutes", config).value == "3"
    assert of_broker("log.retention.hours", config).value == "168"


def test_cluster_defaults_show_only_what_is_set() -> None:
    shown = list(describe_cluster_defaults({"log.retention.ms": "5", "unheard.of": "1"}))
    assert [(each.name, each.value, each.source) for each in shown] == [
        ("log.retention.ms", "5", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("unheard.of", None, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
    ]
