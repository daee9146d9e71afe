"""What a secure start sets, and what its clients need: properties and the files that hold them. Pure.

Clients come in with SCRAM-SHA-512, over TLS, on every listener of a broker; either can be left out. Nodes talk to each
other in the same way, as the user `node`. Controllers ask for PLAIN instead, inside of TLS: the SCRAM credentials are
in the metadata, which a controller does not have before it has talked to the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tidelog.config.listeners import SecurityProtocol
from tidelog.model.lazy_dataclasses import dataclass

ADMIN = "admin"
NODE = "node"
MECHANISM = "SCRAM-SHA-512"
LISTENER = "SECURED"
_CONTROLLER_MECHANISM = "PLAIN"
_CONTROLLER = "listener.name.controller"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySecrets:
    """What is spoken with clients, where certificates are, and passwords."""

    protocol: SecurityProtocol = SecurityProtocol.SASL_SSL
    authority: Path
    keystore: Path
    admin_password: str = field(repr=False)
    node_password: str = field(repr=False)

    @property
    def has_tls(self) -> bool:
        return self.protocol in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_users(self) -> bool:
        return self.protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    @property
    def users(self) -> Mapping[str, str]:
        """With their passwords: a cluster has to know them from its first moment on."""
        return {ADMIN: self.admin_password, NODE: self.node_password} if self.has_users else {}


def node_security(secrets: SecuritySecrets, *, alone: bool) -> dict[str, str]:
    """Of each node, besides its addresses. Listeners are named SECURED and, unless a node is alone, CONTROLLER."""
    name = secrets.protocol.name
    properties = {
        "listener.security.protocol.map": f"{LISTENER}:{name}" if alone else f"{LISTENER}:{name},CONTROLLER:{name}",
        "inter.broker.listener.name": LISTENER,
    }
    if secrets.has_tls:
        properties |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(secrets.keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(secrets.authority),
        }
    if secrets.has_users:
        node = f'username="{NODE}" password="{secrets.node_password}"'
        scram = f"{_SCRAM_MODULE} required {node};"
        properties |= {
            "sasl.enabled.mechanisms": f"{MECHANISM},SCRAM-SHA-256",
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            f"listener.name.{LISTENER.lower()}.{MECHANISM.lower()}.sasl.jaas.config": scram,
            "authorizer.class.name": _AUTHORIZER,
            "super.users": f"User:{ADMIN};User:{NODE}",
        }
        if not alone:
            plain = f'{_PLAIN_MODULE} required {node} user_{NODE}="{secrets.node_password}";'
            properties |= {
                "sasl.mechanism.controller.protocol": _CONTROLLER_MECHANISM,
                f"{_CONTROLLER}.sasl.enabled.mechanisms": _CONTROLLER_MECHANISM,
                f"{_CONTROLLER}.plain.sasl.jaas.config": plain,
            }
    return properties


def client_properties(secrets: SecuritySecrets) -> dict[str, str]:
    """What the administrator's clients need besides the address, by Java's names."""
    properties = {"security.protocol": secrets.protocol.name}
    if secrets.has_users:
        login = f'username="{ADMIN}" password="{secrets.admin_password}"'
        properties |= {"sasl.mechanism": MECHANISM, "sasl.jaas.config": f"{_SCRAM_MODULE} required {login};"}
    if secrets.has_tls:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(secrets.authority)}
    return properties


def librdkafka_properties(secrets: SecuritySecrets) -> dict[str, str]:
    """The same by librdkafka's names."""
    properties = {"security.protocol": secrets.protocol.name.lower()}
    if secrets.has_users:
        properties |= {
            "sasl.mechanisms": MECHANISM,
            "sasl.username": ADMIN,
            "sasl.password": secrets.admin_password,
        }
    if secrets.has_tls:
        properties["ssl.ca.location"] = str(secrets.authority)
    return properties


def client_files(secrets: SecuritySecrets, servers: str) -> Mapping[str, str]:
    """By their names: for Java's tools and clients, for librdkafka, for tidelog's own client."""
    address = {"bootstrap.servers": servers}
    java = {**address, **client_properties(secrets)}
    return {
        "client.properties": _lines(java),
        "librdkafka.conf": _lines({**address, **librdkafka_properties(secrets)}),
        # A string in JSON is one in TOML, too.
        "tidelog.toml": "".join(f"{name.replace('.', '_')} = {json.dumps(value)}\n" for name, value in java.items()),
    }


def _lines(properties: Mapping[str, str]) -> str:
    # Backslashes have a meaning in properties files; the paths of POSIX systems may have them, though hardly any has.
    return "".join(f"{name}={value}\n" for name, value in properties.items())
