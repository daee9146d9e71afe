"""What descriptions of properties mean."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.client.admin import ConfigEntry, ConfigResource, ResourceType
from tidelog.client.admin.configs import ConfigSynonym
from tidelog.config.definitions import ConfigSource, ConfigType
from tidelog.console.findings.configurations import (
    ConfiguredKind,
    cluster_properties,
    differs,
    in_words,
    kind_of,
    own_value,
    properties_of,
)

TOPIC, BROKER, CLUSTER = ConfiguredKind.TOPIC, ConfiguredKind.BROKER, ConfiguredKind.CLUSTER


def synonym(source: ConfigSource, value: str | None, name: str = "log.retention.ms") -> ConfigSynonym:
    return ConfigSynonym(name=name, value=value, source=source)


DEFAULT = synonym(ConfigSource.DEFAULT_CONFIG, "100")
IN_FILE = synonym(ConfigSource.STATIC_BROKER_CONFIG, "200")
OF_ALL = synonym(ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, "300")
OF_BROKER = synonym(ConfigSource.DYNAMIC_BROKER_CONFIG, "400")


def entry(*synonyms: ConfigSynonym, name: str = "log.retention.ms", **more: Any) -> ConfigEntry:
    first = synonyms[0] if synonyms else DEFAULT
    given = {
        "value": first.value,
        "source": first.source,
        "read_only": False,
        "sensitive": False,
        "type": ConfigType.LONG,
        "documentation": "How <b>long</b>.",
        **more,
    }
    return ConfigEntry(name=name, synonyms=synonyms, **given)


def test_a_property_has_its_source_default_and_documentation_in_words() -> None:
    (document,) = properties_of(BROKER, [entry(OF_BROKER, IN_FILE, DEFAULT)])
    assert document == {
        "name": "log.retention.ms",
        "value": "400",
        "sensitive": False,
        "source": "set for this broker",
        "differs": True,
        "own": True,
        "read_only": False,
        "type": "long",
        "documentation": "How long.",
        "without_effect": False,
        "default": {"name": "log.retention.ms", "value": "100"},
        "synonyms": [
            {"name": "log.retention.ms", "value": "400", "source": "set for this broker"},
            {"name": "log.retention.ms", "value": "200", "source": "from the broker's file"},
            {"name": "log.retention.ms", "value": "100", "source": "default"},
        ],
    }


def test_every_source_has_words() -> None:
    assert len({in_words(source) for source in ConfigSource}) == len(ConfigSource)


def test_what_is_not_told_is_none() -> None:
    untold = entry(type=ConfigType.UNKNOWN, documentation=None, source=ConfigSource.UNKNOWN)
    (document,) = properties_of(TOPIC, [untold])
    assert (document["type"], document["documentation"], document["default"]) == (None, None, None)
    assert document["differs"] is False


def test_a_secret_has_no_value_wherever_it_would_stand() -> None:
    secret = "planted-secret"
    places = (synonym(ConfigSource.DYNAMIC_BROKER_CONFIG, secret), synonym(ConfigSource.DEFAULT_CONFIG, secret))
    leaking = entry(*places, sensitive=True, type=ConfigType.PASSWORD)
    documents = [
        *properties_of(BROKER, [leaking]),
        *cluster_properties([leaking], [leaking]),
        *cluster_properties([], [leaking]),
    ]
    assert secret not in str(documents)
    assert {document["value"] for document in documents} == {None}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (entry(DEFAULT), False),
        (entry(IN_FILE, DEFAULT), True),
        (entry(synonym(ConfigSource.STATIC_BROKER_CONFIG, "100"), DEFAULT), False),
        # Without a default nobody can say that it is the same.
        (entry(IN_FILE), True),
        (entry(IN_FILE, DEFAULT, sensitive=True, value=None), True),
        (entry(DEFAULT, sensitive=True, value=None), False),
    ],
)
def test_what_differs_from_the_default(given: ConfigEntry, expected: bool) -> None:
    assert differs(given) == expected


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (BROKER, entry(OF_BROKER, OF_ALL, DEFAULT), (True, "400")),
        # It is set for the broker, though something stronger is used.
        (CLUSTER, entry(OF_BROKER, OF_ALL, DEFAULT), (True, "300")),
        (BROKER, entry(OF_ALL, DEFAULT), (False, None)),
        (TOPIC, entry(IN_FILE, DEFAULT, name="retention.ms"), (False, None)),
        (TOPIC, entry(source=ConfigSource.DYNAMIC_TOPIC_CONFIG, value="7"), (True, "7")),
        (TOPIC, None, (False, None)),
    ],
)
def test_what_is_set_at_the_place_itself(
    kind: ConfiguredKind, given: ConfigEntry | None, expected: tuple[bool, str | None]
) -> None:
    assert own_value(kind, given) == expected


def test_the_cluster_has_what_is_set_and_what_could_be() -> None:
    set_here = [entry(OF_ALL, name="a")]
    of_broker = [
        entry(synonym(ConfigSource.DYNAMIC_BROKER_CONFIG, "9", "a"), OF_ALL, DEFAULT, name="a"),
        entry(IN_FILE, DEFAULT, name="b"),
        entry(DEFAULT, name="c", read_only=True),
    ]
    first, second = cluster_properties(set_here, of_broker)
    assert (first["name"], first["value"], first["is_set"], first["effective"]) == ("a", "300", True, "9")
    assert first["default"] == {"name": "log.retention.ms", "value": "100"}
    assert (second["name"], second["value"], second["is_set"], second["effective"]) == ("b", None, False, "200")
    assert (second["own"], second["differs"]) == (False, False)


@pytest.mark.parametrize(
    ("type", "name", "kind"),
    [
        (ResourceType.TOPIC, "orders", ConfiguredKind.TOPIC),
        (ResourceType.BROKER, "1", ConfiguredKind.BROKER),
        (ResourceType.BROKER, "", ConfiguredKind.CLUSTER),
        (ResourceType.GROUP, "g", ConfiguredKind.GROUP),
        (ResourceType.CLIENT_METRICS, "m", None),
        (99, "later", None),
    ],
)
def test_resources_lead_to_kinds(type: int, name: str, kind: ConfiguredKind | None) -> None:
    assert kind_of(type, name) == kind


def test_kinds_lead_to_resources() -> None:
    assert TOPIC.resource("orders") == ConfigResource(ResourceType.TOPIC, "orders")
    assert CLUSTER.resource("ignored") == ConfigResource(ResourceType.BROKER, "")
    assert ConfiguredKind.GROUP.resource("g") == ConfigResource(ResourceType.GROUP, "g")
