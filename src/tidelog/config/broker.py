"""The settings of one node, read from the properties of Kafka's server.properties.

`BrokerConfig` has a field for every property that a part of the server reads, named like the property with underscores;
those with a syntax of their own (listeners, voters, directories) are parsed. The tables of properties are under
`tidelog.config.catalogue`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tidelog.config.catalogue.authorization import AuthorizationSection
from tidelog.config.catalogue.cluster import ClusterSection
from tidelog.config.catalogue.coordinators import GroupSection, TransactionSection
from tidelog.config.catalogue.network import NetworkSection
from tidelog.config.catalogue.node import NODE_DEFINITIONS
from tidelog.config.catalogue.refused import refusal
from tidelog.config.catalogue.security import SecuritySection
from tidelog.config.catalogue.storage import StorageSection
from tidelog.config.catalogue.topic_defaults import TOPIC_DEFAULT_DEFINITIONS, TOPIC_SYNONYMS
from tidelog.config.catalogue.without_effect import WITHOUT_EFFECT_DEFINITIONS
from tidelog.config.definitions import (
    ConfigDefinition,
    ConfigValue,
    Effect,
    InvalidConfig,
    UpdateMode,
    by_name,
    unknown_name_problem,
)
from tidelog.config.fields import definitions_of, field_name
from tidelog.config.layers import NOTHING, BrokerLayers
from tidelog.config.listener_properties import (
    LISTENER_PREFIX,
    listener_definition,
    listener_fields,
    listener_prefix,
    mechanism_problems,
    unknown_listeners,
)
from tidelog.config.listeners import Listener, QuorumVoter
from tidelog.config.node import parse_node
from tidelog.config.topic import TopicConfig
from tidelog.model.lazy_dataclasses import dataclass

_SECTIONS = (
    NetworkSection,
    SecuritySection,
    AuthorizationSection,
    StorageSection,
    ClusterSection,
    GroupSection,
    TransactionSection,
)
_SECTION_DEFINITIONS = by_name(definition for section in _SECTIONS for definition in definitions_of(section))

BROKER_DEFINITIONS = by_name(
    (
        *NODE_DEFINITIONS.values(),
        *_SECTION_DEFINITIONS.values(),
        *TOPIC_DEFAULT_DEFINITIONS.values(),
        *WITHOUT_EFFECT_DEFINITIONS.values(),
    )
)

_ONE_MEBIBYTE = 1 << 20


@dataclass(frozen=True, kw_only=True, repr=False)
class BrokerConfig(
    NetworkSection,
    SecuritySection,
    AuthorizationSection,
    StorageSection,
    ClusterSection,
    GroupSection,
    TransactionSection,
):
    """The effective settings of one node. Build it with `from_properties`."""

    node_id: int
    process_roles: frozenset[str]
    broker_rack: str | None
    listeners: tuple[Listener, ...]
    advertised_listeners: tuple[Listener, ...]
    inter_broker_listener_name: str | None
    controller_listener_names: tuple[str, ...]
    controller_quorum_voters: tuple[QuorumVoter, ...]
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    layers: BrokerLayers

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> BrokerConfig:
        """Read the properties a node is started with; raises InvalidConfig that lists every problem."""
        values, problems = _parse(properties)
        if problems:
            raise InvalidConfig(*problems)
        node = parse_node(values, properties.keys())
        config = cls(**_section_fields(values), **node, layers=BrokerLayers(static=dict(properties)))
        problems = [*cross_check(values), *config.listener_problems()]
        if problems:
            raise InvalidConfig(*problems)
        return config

    def with_dynamic(
        self, *, cluster: Mapping[str, str] = NOTHING, broker: Mapping[str, str] = NOTHING
    ) -> BrokerConfig:
        """The same node with other dynamic values. Those that are not valid here are left out: they were checked
        when they were stored, so they can only stem from another version, and a broker must be able to start.
        """
        cluster = _usable(cluster)
        broker = _usable(broker)
        values, _ = _parse({**self.layers.static, **cluster, **broker})
        layers = BrokerLayers(static=self.layers.static, cluster=cluster, broker=broker)
        return dataclasses.replace(self, **_section_fields(values), layers=layers)

    def of_listener(self, listener: str, mechanism: str | None = None) -> BrokerConfig:
        """The settings as they are for one listener, and on it for one mechanism of SASL."""
        layers = self.layers
        texts = {**layers.static, **layers.cluster, **layers.broker}
        return dataclasses.replace(self, **listener_fields(texts, listener, mechanism))

    def listener_problems(self) -> list[str]:
        """What is wrong with the properties of single listeners."""
        known = {each.name for each in (*self.listeners, *self.advertised_listeners)}
        known.update(self.controller_listener_names, filter(None, [self.inter_broker_listener_name]))
        problems = unknown_listeners(self.layers.static, frozenset(known))
        for listener in self.listeners:
            if listener.protocol.uses_sasl:
                name = f"{listener_prefix(listener.name)}sasl.enabled.mechanisms"
                shown = name if name in self.layers.static else "sasl.enabled.mechanisms"
                problems.extend(mechanism_problems(shown, self.of_listener(listener.name).sasl_enabled_mechanisms))
        return problems or self._own_login_problems()

    def _own_login_problems(self) -> list[str]:
        """Nodes log in to listeners of their own kind: the mechanism for it must be enabled there."""
        logins = (
            (
                "sasl.mechanism.controller.protocol",
                self.sasl_mechanism_controller_protocol,
                self.controller_listeners[:1],
            ),
            ("sasl.mechanism.inter.broker.protocol", self.sasl_mechanism_inter_broker_protocol, self.broker_listeners),
        )
        problems = []
        for name, mechanism, listeners in logins:
            for listener in listeners:
                enabled = self.of_listener(listener.name).sasl_enabled_mechanisms
                is_used = listener in self.controller_listeners or listener.name == self.inter_broker_listener_name
                if is_used and listener.protocol.uses_sasl and mechanism not in enabled:
                    problems.append(
                        f"{name}={mechanism} is not enabled on the listener {listener.name}, which nodes use among "
                        f"themselves; set it to one of {', '.join(enabled)}"
                    )
        return problems

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles

    @property
    def broker_listeners(self) -> tuple[Listener, ...]:
        """The listeners for clients and other brokers."""
        return tuple(each for each in self.listeners if each.name not in self.controller_listener_names)

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """The listeners of the controller; none where a single node is its own quorum."""
        return tuple(each for each in self.listeners if each.name in self.controller_listener_names)

    @property
    def properties_without_effect(self) -> tuple[str, ...]:
        """What is set, in the file or while the node runs, and changes nothing: worth a line in the log."""
        layers = self.layers
        names = dict.fromkeys((*layers.static, *layers.cluster, *layers.broker))
        found = ((name, definition_of(name)) for name in names)
        return tuple(name for name, each in found if each is not None and each.effect is Effect.NONE)

    def topic_defaults(self) -> TopicConfig:
        """What a topic without properties of its own gets; `TopicConfig.with_overrides` puts those on top."""
        texts: dict[str, str] = {}
        for name, synonyms in TOPIC_SYNONYMS.items():
            for found in self.layers.values_of(tuple(synonym.name for synonym in synonyms)):
                texts[name] = convert_synonym(BROKER_DEFINITIONS[found.name], found.text)
                break
        return TopicConfig().with_overrides(texts)


def definition_of(name: str) -> ConfigDefinition | None:
    """Of a property with or without the prefix of a listener."""
    return BROKER_DEFINITIONS.get(name) or listener_definition(name)


def convert_synonym(synonym: ConfigDefinition, text: str) -> str:
    """The text of a broker property in the unit of the topic property that it stands behind."""
    if synonym.factor == 1:
        return text
    value = synonym.parse(text)
    assert isinstance(value, int)
    # Every negative number means "no limit", which the topic property writes as -1.
    return str(value * synonym.factor if value >= 0 else -1)


def _section_fields(values: Mapping[str, ConfigValue]) -> dict[str, Any]:
    return {field_name(name): values[name] for name in _SECTION_DEFINITIONS}


def _parse(properties: Mapping[str, str]) -> tuple[dict[str, ConfigValue], list[str]]:
    """The value of every property, defaults included, and what is wrong with those that are given."""
    values = {name: definition.default for name, definition in BROKER_DEFINITIONS.items()}
    problems: list[str] = []
    for name, text in properties.items():
        definition = definition_of(name)
        if definition is None:
            problem = _unknown_problem(name, text)
            problems.extend([problem] if problem else [])
            continue
        try:
            value = definition.parse(text)
            if name in BROKER_DEFINITIONS:
                values[name] = value
        except InvalidConfig as error:
            problems.extend(error.problems)
    return values, problems


def _unknown_problem(name: str, text: str) -> str | None:
    reason = refusal(name)
    if reason is None and name.startswith(LISTENER_PREFIX):
        return f"{name} is not a property that a single listener can have"
    if reason is None:
        return unknown_name_problem("brokers", name, BROKER_DEFINITIONS.keys())
    # Files often carry such a property with an empty value, which asks for nothing.
    return f"{name} is not supported: {reason}" if text.strip() else None


def _usable(dynamic: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in dynamic.items() if not _dynamic_problems(name, text, strangers=False)}


def broker_problems(static: Mapping[str, str], dynamic: Mapping[str, str]) -> list[str]:
    """Why these dynamic properties cannot be stored, for one broker or for all; empty if they can."""
    problems = [problem for name, text in dynamic.items() for problem in _dynamic_problems(name, text, strangers=True)]
    if not problems:
        known = {name: text for name, text in dynamic.items() if name in BROKER_DEFINITIONS}
        values, _ = _parse({**static, **known})
        problems = cross_check(values)
    return problems


def _dynamic_problems(name: str, text: str, *, strangers: bool) -> tuple[str, ...]:
    """`strangers` may be stored: a plug-in or another version may know them. What would be missed is refused."""
    definition = definition_of(name)
    if definition is None:
        reason = refusal(name)
        if reason and text.strip():
            return (f"{name} is not supported: {reason}",)
        return () if strangers else (f"{name} is not known",)
    if definition.update_mode is UpdateMode.PER_LISTENER:
        return (f"{name} can be changed only for a listener while the broker runs: listener.name.<name>.{name}",)
    if not definition.dynamic:
        return (
            f"{name} cannot be changed while the broker runs; set it in the broker's properties file and restart it",
        )
    try:
        definition.parse(text)
    except InvalidConfig as error:
        return error.problems
    return ()


def cross_check(values: Mapping[str, ConfigValue]) -> list[str]:
    """Rules between several properties."""
    problems: list[str] = []

    def at_most(smaller: str, greater: str, reason: str) -> None:
        low, high = values[smaller], values[greater]
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        if low > high:
            problems.append(f"{smaller}={low} is greater than {greater}={high}; {reason}")

    at_most("replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "fetches would time out while they wait for data")
    at_most("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "idle followers would leave the in-sync replicas")
    at_most("broker.heartbeat.interval.ms", "broker.session.timeout.ms", "brokers would be fenced between heartbeats")
    at_most("group.min.session.timeout.ms", "group.max.session.timeout.ms", "no session timeout would be allowed")
    for kind in ("heartbeat.interval.ms", "session.timeout.ms"):
        reason = "the default must lie within its own bounds"
        at_most(f"group.consumer.min.{kind}", f"group.consumer.{kind}", reason)
        at_most(f"group.consumer.{kind}", f"group.consumer.max.{kind}", reason)
    at_most(
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.session.timeout.ms",
        "members would be removed between heartbeats",
    )
    if values["connections.max.idle.ms"] not in (None, -1):
        at_most(
            "connection.failed.authentication.delay.ms",
            "connections.max.idle.ms",
            "connections would be closed before they have their reply",
        )
    at_most("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", "no record could be compacted")
    for name in ("log.retention.minutes", "log.retention.hours"):
        if values[name] == 0:
            problems.append(f"{name} must be at least 1, or -1 for no limit, but is 0")
    buffer, threads = values["log.cleaner.dedupe.buffer.size"], values["log.cleaner.threads"]
    assert isinstance(buffer, int)
    assert isinstance(threads, int)
    if threads and buffer // threads < _ONE_MEBIBYTE:
        problems.append(
            f"log.cleaner.dedupe.buffer.size={buffer} must be at least 1 MiB for each of log.cleaner.threads={threads}"
        )
    return problems
