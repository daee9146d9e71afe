"""Every property is effective, fixed to its default, or declared as accepted without effect.

That a dynamic one takes effect while a broker runs is tested in `tests/server/test_dynamic_properties.py`.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping

import pytest
from support.property_reads import any_attribute_read, fields_behind, fields_read, keys_read, sources_of

from tidelog.client.options import CONSUMER_OPTIONS, PRODUCER_OPTIONS, ClientConfig, ConsumerConfig, ProducerConfig
from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.catalogue.node import NODE_DEFINITIONS
from tidelog.config.definitions import ConfigDefinition, ConfigType, Effect, Only, UpdateMode
from tidelog.config.fields import field_name
from tidelog.config.topic import TOPIC_DEFINITIONS, TopicConfig

# The parts that obey the configuration of a node. In `config` itself only the bounds of groups are obeyed.
SERVER = sources_of("server/**/*.py", "controller/**/*.py", "cli/**/*.py", "config/group.py")
CONFIGURATION = sources_of("config/*.py")
CLASSES = ("BrokerConfig", "TopicConfig")


def server_reads(trees: Mapping[str, ast.Module] = SERVER) -> set[str]:
    """Fields of BrokerConfig and TopicConfig that are read, directly or through a property of the class."""
    found = fields_read(trees, CLASSES, CONFIGURATION)
    for path, name in (("config/broker.py", "BrokerConfig"), ("config/topic.py", "TopicConfig")):
        for method, fields in fields_behind(CONFIGURATION[path], name).items():
            found |= fields if method in found else set()
    return found


def unread(definitions: Mapping[str, ConfigDefinition], reads: set[str]) -> list[str]:
    """The properties that claim to be effective and that nothing reads."""
    names = []
    for name, definition in definitions.items():
        # A broker property that gives topics their default is as effective as the topic property is.
        read = field_name(definition.default_of or name) in reads
        if definition.effect is Effect.EFFECTIVE and not read:
            names.append(name)
    return names


def test_every_effective_property_of_brokers_is_read() -> None:
    parsed = keys_read(CONFIGURATION["config/node.py"], "values")
    assert NODE_DEFINITIONS.keys() - {"listener.security.protocol.map"} <= parsed
    others = {name: each for name, each in BROKER_DEFINITIONS.items() if name not in NODE_DEFINITIONS}
    assert unread(others, server_reads()) == []


def test_every_field_of_a_nodes_configuration_is_read() -> None:
    fields = {field.name for field in dataclasses.fields(BrokerConfig)}
    fixed = {field_name(name) for name, each in BROKER_DEFINITIONS.items() if each.effect is Effect.FIXED}
    assert fields - fixed - server_reads() == set()


def test_every_effective_property_of_topics_is_read() -> None:
    assert unread(TOPIC_DEFINITIONS, server_reads()) == []


def test_what_has_no_effect_is_read_by_nobody() -> None:
    reads = server_reads()
    for definitions, config in ((BROKER_DEFINITIONS, BrokerConfig), (TOPIC_DEFINITIONS, TopicConfig)):
        fields = {field.name for field in dataclasses.fields(config)}
        for name, definition in definitions.items():
            if definition.effect is Effect.NONE:
                assert definition.ignored_because
                assert field_name(name) not in reads & fields, f"{name} is read, but declared as without effect"


@pytest.mark.parametrize(
    ("config", "options"), [(ProducerConfig, PRODUCER_OPTIONS), (ConsumerConfig, CONSUMER_OPTIONS)], ids=str
)
def test_every_option_of_clients_is_read(config: type, options: Mapping[str, ConfigDefinition]) -> None:
    readers = sources_of("client/**/*.py", "spark/**/*.py", "cli/**/*.py")
    reading = readers.pop("client/config.py")
    fields = {field.name for field in dataclasses.fields(config)}
    classes = (ClientConfig.__name__, ProducerConfig.__name__, ConsumerConfig.__name__)
    assert fields - fields_read(readers, classes) == set()
    # Options that are not fields are turned into some, or have only one value.
    words = constants(reading)
    security = sources_of("client/security_options.py", "security/client_login.py", "network/tls_settings.py")
    security_words = {word for tree in security.values() for word in constants(tree)}
    for name, option in options.items():
        is_level = name.startswith("compression.") and name.endswith(".level")
        is_security = bool({name, name.removeprefix("ssl.")} & security_words)
        is_read = field_name(name) in fields | words or is_level or is_security
        assert is_read or isinstance(option.allowed, Only), name


def constants(tree: ast.Module) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_settings_that_parts_receive_are_read_by_them() -> None:
    """A value that is passed on into an object of settings must not end there."""
    trees = sources_of(
        "server/**/*.py", "coordinators/**/*.py", "consensus/*.py", "storage/**/*.py", "records/*.py", "network/*.py"
    )
    reads = any_attribute_read(trees)
    found = 0
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Settings", "Limits", "Rules", "Config")):
                names = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}  # type: ignore[union-attr]
                assert names <= reads, f"{path}: {node.name} has {', '.join(names - reads)}, which nothing reads"
                found += 1
    assert found >= 8


def defaults_of_settings(trees: Mapping[str, ast.Module]) -> set[str]:
    """The fields of objects of settings that have a number, word or truth value as their default."""
    return {
        f"{node.name}.{each.target.id}"
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Settings", "Limits", "Rules", "Config"))
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        if isinstance(each.value, ast.Constant | ast.BinOp) and getattr(each.value, "value", 0) is not None
    }


def test_defaults_stand_in_the_catalogue_only() -> None:
    trees = sources_of("server/**/*.py", "coordinators/**/*.py", "consensus/*.py", "storage/**/*.py", "records/*.py")
    assert defaults_of_settings(trees) == {
        # Not configurable.
        "ConsumerGroupSettings.removal_retry_ms",
        "GroupSettings.new_member_join_timeout_ms",
    }
    planted = ast.parse("class LogConfig:\n    segment_bytes: int = 1 << 30\n    retention_ms: int")
    assert defaults_of_settings({"planted": planted}) == {"LogConfig.segment_bytes"}


# -- the mechanism finds what it is for ------------------------------------------------------------------------------

PLANTED = ConfigDefinition(name="planted.ms", type=ConfigType.INT, default=1, documentation="Planted.")
USES = {
    "read from a parameter": ("def f(config: BrokerConfig): return config.planted_ms", True),
    "read from a field": (
        "class A:\n  def __init__(self, config: BrokerConfig):\n    self._config = config\n"
        "  def f(self):\n    return self._config.planted_ms",
        True,
    ),
    "read from a node": ("class Node:\n  config: BrokerConfig\ndef f(node): return node.config.planted_ms", True),
    "read from a function": ("def current() -> BrokerConfig: ...\ndef f(): return current().planted_ms", True),
    "mentioned in a string": ("NAME = 'planted_ms'", False),
    "written": ("def f(config: BrokerConfig): config.planted_ms = 3", False),
    "an argument of the same name": ("def f(config: BrokerConfig): return g(planted_ms=3)", False),
    "read from something else": ("def f(config: BrokerConfig, other): return other.planted_ms", False),
}


@pytest.mark.parametrize(("source", "is_read"), USES.values(), ids=USES)
def test_a_planted_property_is_found_if_nothing_reads_it(source: str, is_read: bool) -> None:
    reads = server_reads({"server/planted.py": ast.parse(source)})
    assert unread({PLANTED.name: PLANTED}, reads) == ([] if is_read else [PLANTED.name])


def test_a_planted_default_of_an_unread_topic_property_is_found() -> None:
    reads = server_reads()
    planted = dataclasses.replace(
        PLANTED, name="log.planted", default_of="planted", update_mode=UpdateMode.TOPIC_DEFAULT
    )
    assert unread({planted.name: planted}, reads) == ["log.planted"]
    assert unread({planted.name: dataclasses.replace(planted, ignored_because="x")}, reads) == []
