"""What descriptions of properties mean: where a value comes from, in words, and what it would be otherwise. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from tidelog.client.admin import ConfigEntry, ConfigResource, ResourceType
from tidelog.client.admin.configs import ConfigSynonym
from tidelog.config.definitions import ConfigSource, ConfigType
from tidelog.console.findings.documentation import as_text, is_without_effect
from tidelog.console.replies import Json


class ConfiguredKind(StrEnum):
    """What has properties. A cluster's are the defaults that all brokers share while they run."""

    TOPIC = "topic"
    BROKER = "broker"
    CLUSTER = "cluster"
    GROUP = "group"

    def resource(self, name: str) -> ConfigResource:
        return ConfigResource(_TYPES[self], "" if self is ConfiguredKind.CLUSTER else name)

    @property
    def own_source(self) -> ConfigSource:
        """Of what can be set here, and be reset."""
        return _OWN[self]


_TYPES: Mapping[ConfiguredKind, ResourceType] = {
    ConfiguredKind.TOPIC: ResourceType.TOPIC,
    ConfiguredKind.BROKER: ResourceType.BROKER,
    ConfiguredKind.CLUSTER: ResourceType.BROKER,
    ConfiguredKind.GROUP: ResourceType.GROUP,
}
_OWN: Mapping[ConfiguredKind, ConfigSource] = {
    ConfiguredKind.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ConfiguredKind.BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfiguredKind.CLUSTER: ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfiguredKind.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
}
_WORDS: Mapping[ConfigSource, str] = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "set for this topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "set for this broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "set for all brokers",
    ConfigSource.STATIC_BROKER_CONFIG: "from the broker's file",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG: "set for this logger",
    ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG: "set for this subscription",
    ConfigSource.DYNAMIC_GROUP_CONFIG: "set for this group",
}
_NOT_SET = "not set for all brokers"


def kind_of(type: int, name: str) -> ConfiguredKind | None:
    """None of what this console has no page for, such as loggers and subscriptions of metrics."""
    if type == ResourceType.BROKER:
        return ConfiguredKind.BROKER if name else ConfiguredKind.CLUSTER
    if type == ResourceType.TOPIC:
        return ConfiguredKind.TOPIC
    return ConfiguredKind.GROUP if type == ResourceType.GROUP else None


def in_words(source: ConfigSource) -> str:
    return _WORDS.get(source, "the broker does not say")


def properties_of(kind: ConfiguredKind, entries: Iterable[ConfigEntry]) -> list[dict[str, Json]]:
    return [_document(kind, entry) for entry in sorted(entries, key=lambda entry: entry.name)]


def cluster_properties(set_here: Iterable[ConfigEntry], of_broker: Iterable[ConfigEntry]) -> list[dict[str, Json]]:
    """What is set for all brokers, and what could be: a cluster tells only the former, so one of its brokers is asked
    what it would take. `effective` is the value that this broker works with."""
    cluster = ConfiguredKind.CLUSTER
    found = {entry.name: {**_document(cluster, entry), "is_set": True, "effective": None} for entry in set_here}
    for entry in of_broker:
        effective = None if entry.sensitive else entry.value
        if entry.name in found:
            found[entry.name] |= {"effective": effective, "default": _default(entry), "synonyms": _synonyms(entry)}
        elif not entry.read_only:
            found[entry.name] = {
                **_document(cluster, entry),
                "value": None,
                "source": _NOT_SET,
                "differs": False,
                "own": False,
                "is_set": False,
                "effective": effective,
            }
    return [found[name] for name in sorted(found)]


def own_value(kind: ConfiguredKind, entry: ConfigEntry | None) -> tuple[bool, str | None]:
    """Whether the property is set at this very place, and to what; None for a secret."""
    if entry is None:
        return False, None
    if entry.source == kind.own_source:
        return True, entry.value
    found = _own_synonym(kind, entry)
    return (False, None) if found is None else (True, found.value)


def _document(kind: ConfiguredKind, entry: ConfigEntry) -> dict[str, Json]:
    documentation = as_text(entry.documentation)
    is_own = own_value(kind, entry)[0]
    return {
        "name": entry.name,
        # Brokers do not send secrets. If one did, it would not get further.
        "value": None if entry.sensitive else entry.value,
        "sensitive": entry.sensitive,
        "source": in_words(entry.source),
        "differs": differs(entry),
        "own": is_own,
        "read_only": entry.read_only,
        "type": None if entry.type is ConfigType.UNKNOWN else entry.type.name.lower(),
        "documentation": documentation,
        "without_effect": is_without_effect(documentation),
        "default": _default(entry),
        "synonyms": _synonyms(entry),
    }


def differs(entry: ConfigEntry) -> bool:
    """Whether the value is another one than the default. One that somebody has set to the default does not differ."""
    if entry.source in (ConfigSource.DEFAULT_CONFIG, ConfigSource.UNKNOWN):
        return False
    default = _default_synonym(entry)
    return entry.sensitive or default is None or default.value != entry.value


def _default(entry: ConfigEntry) -> dict[str, Json] | None:
    """With its name, which may be that of a broker's property in another unit. None where nobody tells."""
    if entry.sensitive:
        return None
    if entry.is_default:
        return {"name": entry.name, "value": entry.value}
    found = _default_synonym(entry)
    return None if found is None else {"name": found.name, "value": found.value}


def _default_synonym(entry: ConfigEntry) -> ConfigSynonym | None:
    return next((each for each in entry.synonyms if each.source == ConfigSource.DEFAULT_CONFIG), None)


def _own_synonym(kind: ConfiguredKind, entry: ConfigEntry) -> ConfigSynonym | None:
    return next((each for each in entry.synonyms if each.source == kind.own_source and each.name == entry.name), None)


def _synonyms(entry: ConfigEntry) -> list[Json]:
    return [
        {"name": each.name, "value": None if entry.sensitive else each.value, "source": in_words(each.source)}
        for each in entry.synonyms
    ]
