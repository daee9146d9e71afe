"""What `tidelog up --secure` sets, and what its clients need: properties and the files that hold them. Pure.

Clients come in over SASL_SSL with SCRAM-SHA-512, on every listener of a broker. Nodes talk to each other in the same
way, as the user `node`. Controllers ask for PLAIN instead, inside of TLS: the SCRAM credentials are in the metadata,
which a controller does not have before it has talked to the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ADMIN = "admin"
NODE = "node"
MECHANISM = "SCRAM-SHA-512"
LISTENER = "SASL_SSL"
_CONTROLLER_MECHANISM = "PLAIN"
_CONTROLLER = "listener.name.controller"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySecrets:
    """Where certificates are, and passwords."""

    authority: Path
    keystore: Path
    admin_password: str = field(repr=False)
    node_password: str = field(repr=False)


def node_security(secrets: SecuritySecrets) -> dict[str, str]:
    """Of each node, besides its addresses: listeners are named SASL_SSL and CONTROLLER."""
    node = f'username="{NODE}" password="{secrets.node_password}"'
    plain = f'{_PLAIN_MODULE} required {node} user_{NODE}="{secrets.node_password}";'
    return {
        "listener.security.protocol.map": f"{LISTENER}:SASL_SSL,CONTROLLER:SASL_SSL",
        "inter.broker.listener.name": LISTENER,
        "sasl.enabled.mechanisms": f"{MECHANISM},SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "sasl.mechanism.controller.protocol": _CONTROLLER_MECHANISM,
        f"listener.name.{LISTENER.lower()}.{MECHANISM.lower()}.sasl.jaas.config": f"{_SCRAM_MODULE} required {node};",
        f"{_CONTROLLER}.sasl.enabled.mechanisms": _CONTROLLER_MECHANISM,
        f"{_CONTROLLER}.plain.sasl.jaas.config": plain,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(secrets.keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secrets.authority),
        "authorizer.class.name": _AUTHORIZER,
        "super.users": f"User:{ADMIN};User:{NODE}",
    }


def client_files(secrets: SecuritySecrets, servers: str) -> Mapping[str, str]:
    """By their names: for Java's tools and clients, for librdkafka, for tidelog's own client."""
    password = secrets.admin_password
    java = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": f'{_SCRAM_MODULE} required username="{ADMIN}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secrets.authority),
    }
    librdkafka = {
        "bootstrap.servers": servers,
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": MECHANISM,
        "sasl.username": ADMIN,
        "sasl.password": password,
        "ssl.ca.location": str(secrets.authority),
    }
    return {
        "client.properties": _lines(java),
        "librdkafka.conf": _lines(librdkafka),
        # A string in JSON is one in TOML, too.
        "tidelog.toml": "".join(f"{name.replace('.', '_')} = {json.dumps(value)}\n" for name, value in java.items()),
    }


def _lines(properties: Mapping[str, str]) -> str:
    # Backslashes have a meaning in properties files; the paths of POSIX systems may have them, though hardly any has.
    return "".join(f"{name}={value}\n" for name, value in properties.items())
