"""Properties of single listeners: `listener.name.<name>.<property>`, and of single mechanisms of SASL on them:
`listener.name.<name>.<mechanism>.<property>`. Both parts of the prefix are in lower case.

The more specific one wins: that of the mechanism, then that of the listener, then the one without a prefix. Each of
them may be in the file or dynamic: `tidelog.config.layers`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from tidelog.config.catalogue.network import NetworkSection
from tidelog.config.catalogue.security import SecuritySection
from tidelog.config.catalogue.without_effect import WITHOUT_EFFECT_DEFINITIONS
from tidelog.config.definitions import ConfigDefinition, UpdateMode, by_name
from tidelog.config.fields import definitions_of, field_name

LISTENER_PREFIX = "listener.name."
SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_MECHANISM_PREFIXES = tuple(f"{mechanism.lower()}." for mechanism in SASL_MECHANISMS)

# Of the nodes' own logins, or of the whole node.
_NOT_OF_LISTENERS = frozenset({"sasl.mechanism.inter.broker.protocol", "sasl.mechanism.controller.protocol"})
_LIMITS = frozenset({"max.connections", "max.connection.creation.rate"})
LISTENER_DEFINITIONS: Mapping[str, ConfigDefinition] = {
    **by_name(each for each in definitions_of(SecuritySection) if each.name not in _NOT_OF_LISTENERS),
    **by_name(each for each in definitions_of(NetworkSection) if each.name in _LIMITS),
    # Without effect there as well.
    **{name: each for name, each in WITHOUT_EFFECT_DEFINITIONS.items() if name.startswith(("ssl.", "sasl."))},
}
_MECHANISM_PROPERTIES = frozenset(
    {"sasl.jaas.config", "sasl.server.callback.handler.class", "connections.max.reauth.ms"}
    | {name for name in LISTENER_DEFINITIONS if name.startswith("sasl.oauthbearer.")}
)


class ListenerProperty(NamedTuple):
    # In lower case.
    listener: str
    # Without its prefixes.
    name: str


def split_listener_property(name: str) -> ListenerProperty | None:
    """None if it is not a property that a listener can have."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    of_mechanism = next((prefix for prefix in _MECHANISM_PREFIXES if rest.startswith(prefix)), None)
    if of_mechanism is not None and rest.removeprefix(of_mechanism) in _MECHANISM_PROPERTIES:
        return ListenerProperty(listener, rest.removeprefix(of_mechanism))
    return ListenerProperty(listener, rest) if listener and rest in LISTENER_DEFINITIONS else None


def listener_definition(name: str) -> ConfigDefinition | None:
    """The definition of a property with the prefix of a listener, under its whole name."""
    split = split_listener_property(name)
    if split is None:
        return None
    definition = LISTENER_DEFINITIONS[split.name]
    mode = UpdateMode.ON_CHANGE if definition.update_mode is UpdateMode.PER_LISTENER else definition.update_mode
    return dataclasses.replace(definition, name=name, update_mode=mode)


def listener_prefix(listener: str, mechanism: str | None = None) -> str:
    prefix = f"{LISTENER_PREFIX}{listener.lower()}."
    return prefix if mechanism is None else f"{prefix}{mechanism.lower()}."


def listener_fields(texts: Mapping[str, str], listener: str, mechanism: str | None) -> dict[str, Any]:
    """What a listener, or a mechanism on it, has other than the node: fields of BrokerConfig by their names."""
    prefixes = [listener_prefix(listener)] + ([listener_prefix(listener, mechanism)] if mechanism else [])
    fields: dict[str, Any] = {}
    for prefix in prefixes:
        for name, text in texts.items():
            definition = LISTENER_DEFINITIONS.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
            if definition is not None and definition.ignored_because is None:
                fields[field_name(definition.name)] = definition.parse(text)
    return fields


def unknown_listeners(texts: Mapping[str, str], known: frozenset[str]) -> list[str]:
    """Problems with properties of listeners that do not exist: what they should protect would not be protected."""
    problems = []
    for name in texts:
        split = split_listener_property(name)
        if split is not None and split.listener.upper() not in known:
            problems.append(
                f"{name}: there is no listener {split.listener.upper()}; there are {', '.join(sorted(known))}"
            )
    return problems


def mechanism_problems(name: str, mechanisms: tuple[str, ...]) -> list[str]:
    """Why a listener with SASL cannot have these mechanisms."""
    unknown = [each for each in mechanisms if each not in SASL_MECHANISMS]
    if not unknown and mechanisms:
        return []
    return [
        f"{name}={','.join(mechanisms)}: tidelog has no SASL mechanism {', '.join(unknown) or '(none is given)'}; use "
        f"{', '.join(SASL_MECHANISMS)}"
    ]
