"""Properties that people may bring from Apache Kafka and that tidelog refuses, with the reason.

Ignoring them would be worse than refusing: whoever sets a password relies on its protection.
"""

from __future__ import annotations

_NO_TOKENS = "tidelog has no delegation tokens; remove it"
_NO_LOGIN = "brokers of tidelog do not fetch tokens to log in with; remove it and use SCRAM between nodes"
_NO_PLUGINS = "tidelog cannot load Java classes; remove it"
_NO_TIERED_STORAGE = "tidelog has no tiered storage; remove it"
_NO_ZOOKEEPER = "Apache Kafka 4.0 has removed ZooKeeper; use process.roles and controller.quorum.voters instead"
_REMOVED = "Apache Kafka 4.0 has removed it; remove it"

REFUSED_PREFIXES = (
    ("sasl.login.", _NO_LOGIN),
    ("sasl.oauthbearer.assertion.", _NO_LOGIN),
    ("sasl.oauthbearer.client.credentials.", _NO_LOGIN),
    ("delegation.token.", _NO_TOKENS),
    ("password.encoder.", _NO_ZOOKEEPER),
    ("zookeeper.", _NO_ZOOKEEPER),
    ("remote.log.storage.", _NO_TIERED_STORAGE),
    ("remote.log.metadata.manager.", _NO_TIERED_STORAGE),
    ("rsm.config.", _NO_TIERED_STORAGE),
    ("rlmm.config.", _NO_TIERED_STORAGE),
)

REFUSED_NAMES = {
    "alter.config.policy.class.name": _NO_PLUGINS,
    "broker.id.generation.enable": _NO_ZOOKEEPER,
    "client.quota.callback.class": _NO_PLUGINS,
    "config.providers": _NO_PLUGINS,
    "control.plane.listener.name": _NO_ZOOKEEPER,
    "cordoned.log.dirs": "tidelog cannot cordon directories yet; remove it",
    "create.topic.policy.class.name": _NO_PLUGINS,
    "early.start.listeners": "tidelog opens all listeners at the same time; remove it",
    "group.share.persister.class.name": _NO_PLUGINS,
    "inter.broker.protocol.version": _REMOVED,
    "log.message.format.version": _REMOVED,
    "log.message.timestamp.difference.max.ms": (
        "Apache Kafka 4.0 has removed it; use log.message.timestamp.before.max.ms and .after.max.ms"
    ),
    "reserved.broker.max.id": _NO_ZOOKEEPER,
    "sasl.client.callback.handler.class": _NO_PLUGINS,
    "sasl.oauthbearer.jwt.retriever.class": _NO_LOGIN,
    "sasl.oauthbearer.scope": _NO_LOGIN,
    "sasl.oauthbearer.token.endpoint.url": _NO_LOGIN,
    "security.providers": _NO_PLUGINS,
    "zookeeper.metadata.migration.enable": _NO_ZOOKEEPER,
}


def refusal(name: str) -> str | None:
    """Why a property of Apache Kafka is refused here, or None if it is not one of these."""
    reason = REFUSED_NAMES.get(name)
    if reason is not None:
        return reason
    for prefix, prefix_reason in REFUSED_PREFIXES:
        if name.startswith(prefix):
            return prefix_reason
    return None
