"""Apache Kafka with every security protocol on a port of its own, and certificates and users for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.apache_kafka import CLUSTER_ID, START_TIMEOUT_SECONDS, java_command, run_tool
from support.processes import free_port, running_server

from tidelog.security.certificates import DevelopmentAuthority

HOST = "127.0.0.1"
USER = "alice"
PASSWORD = "planted-secret"
_PACKAGE = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{_PACKAGE}.plain.PlainLoginModule"
SCRAM_MODULE = f"{_PACKAGE}.scram.ScramLoginModule"
OAUTH_MODULE = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
# Listeners, with their protocols. Clients of MUTUAL need a certificate; sessions of SHORT end after so long.
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_SSL",
}
SHORT_SESSION_MS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredKafka:
    addresses: Mapping[str, str]
    authority: DevelopmentAuthority = field(repr=False)
    # PEM, with the authority's certificate.
    truststore: Path

    def trust(self) -> dict[str, str]:
        return {"ssl.truststore.location": str(self.truststore), "ssl.truststore.type": "PEM"}


def login_properties(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    """As in the files of Java's users."""
    module = {"PLAIN": PLAIN_MODULE, "OAUTHBEARER": OAUTH_MODULE}.get(mechanism, SCRAM_MODULE)
    options = f'username="{USER}" password="{password}"'
    if mechanism == "OAUTHBEARER":
        options = f'unsecuredLoginStringClaim_sub="{USER}"'
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} required {options};"}


@contextmanager
def running_secured_kafka(jars: Path, directory: Path) -> Iterator[SecuredKafka]:
    directory.mkdir(parents=True, exist_ok=True)
    authority = DevelopmentAuthority.new()
    truststore, keystore = directory / "authority.pem", directory / "keystore.pem"
    truststore.write_bytes(authority.pair.certificate)
    keystore.write_bytes(authority.issue("broker", hosts=(HOST,)).keystore)
    ports = {name: free_port() for name in (*LISTENERS, "CONTROLLER")}
    configuration = directory / "server.properties"
    settings = _settings(ports, truststore, keystore, directory / "data")
    configuration.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    scram = [f"SCRAM-SHA-{bits}=[name={USER},password={PASSWORD}]" for bits in (256, 512)]
    added = [word for each in scram for word in ("--add-scram", each)]
    run_tool(
        jars, "kafka.tools.StorageTool", "format", "--standalone", "-t", CLUSTER_ID, "-c", str(configuration), *added
    )
    command = java_command(jars, "kafka.Kafka", str(configuration))
    output = directory / "kafka.log"
    first, *others = (ports[name] for name in LISTENERS)
    within = START_TIMEOUT_SECONDS
    with running_server(command, port=first, output=output, within_seconds=within, more_ports=others):
        yield SecuredKafka(
            addresses={name: f"{HOST}:{port}" for name, port in ports.items()},
            authority=authority,
            truststore=truststore,
        )


def _settings(ports: Mapping[str, int], truststore: Path, keystore: Path, data: Path) -> dict[str, str]:
    listeners = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
    protocols = ",".join(f"{name}:{protocol}" for name, protocol in (*LISTENERS.items(), ("CONTROLLER", "PLAINTEXT")))
    users = f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";'
    sasl: dict[str, str] = {}
    for listener, protocol in LISTENERS.items():
        if protocol.startswith("SASL"):
            prefix = f"listener.name.{listener.lower()}"
            sasl |= {
                f"{prefix}.plain.sasl.jaas.config": users,
                f"{prefix}.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
                f"{prefix}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
                f"{prefix}.oauthbearer.sasl.jaas.config": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="x";',
            }
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"{HOST}:{ports['CONTROLLER']}",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": protocols,
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        "offsets.topic.num.partitions": "2",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **sasl,
        **{
            f"listener.name.short.{each.lower()}.connections.max.reauth.ms": str(SHORT_SESSION_MS)
            for each in MECHANISMS
        },
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(truststore),
        "listener.name.mutual.ssl.client.auth": "required",
    }
