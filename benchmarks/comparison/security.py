"""What TLS costs in and out, and how fast clients log in with SCRAM inside of it.

Both sides have the same certificate, and the TLS that their runtimes choose with this client: 1.3, of OpenSSL and of
Java.
"""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from benchmarks.comparison.contestants import Server
from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import TIMEOUT_SECONDS, consume, create_topic, produce, spending
from benchmarks.comparison.scenario import Measured, Scenario, Turn
from benchmarks.comparison.throughput import SIZE, TOUCHED_MEGABYTES, rates
from tidelog.config.listeners import SecurityProtocol
from tidelog.network.client_connection import ConnectionSettings, open_connection
from tidelog.network.client_security import ClientSecurity, client_security
from tidelog.network.port import AsyncioNetwork
from tidelog.security.certificates import DevelopmentAuthority

RECORDS = 200_000
LOGINS = 400
# As many at a time: more wait for one another on two cores.
AT_ONCE = 8
ITERATIONS = 4096
ADMIN, USER, PASSWORD = "admin", "alice", "a password of the benchmark"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def scenarios() -> Iterator[Scenario]:
    traffic = (
        Figure(name=f"produce over TLS, {SIZE} B", unit="MB/s", goal=1.0),
        Figure(name=f"broker CPU per GB in over TLS, {SIZE} B", unit="s", more_is_better=False),
        Figure(name=f"consume over TLS, {SIZE} B", unit="MB/s", goal=0.8),
        Figure(name=f"broker CPU per GB out over TLS, {SIZE} B", unit="s", more_is_better=False),
    )
    logins = (
        Figure(name=f"SCRAM-SHA-512 logins over TLS, {AT_ONCE} at a time", unit="/s"),
        Figure(name="broker CPU per login", unit="ms", more_is_better=False),
    )
    yield Scenario(
        name="tls",
        figures=traffic,
        measure=partial(_measure_traffic, traffic),
        properties=_broker_properties(),
        touched_megabytes=TOUCHED_MEGABYTES,
    )
    yield Scenario(
        name="logins", figures=logins, measure=partial(_measure_logins, logins), properties=_broker_properties()
    )


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tidelog-tls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    authority = DevelopmentAuthority.new()
    (folder / "ca.pem").write_bytes(authority.pair.certificate)
    (folder / "keystore.pem").write_bytes(authority.issue("broker", hosts=["127.0.0.1"]).keystore)
    return folder


@cache
def _broker_properties() -> dict[str, str]:
    """The listener that all scenarios have, with another protocol. The first user comes with PLAIN."""
    jaas = f'{_PLAIN} required username="{ADMIN}" password="{PASSWORD}" user_{ADMIN}="{PASSWORD}";'
    return {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": jaas,
        "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(_folder() / "keystore.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(_folder() / "ca.pem"),
    }


def _secured(server: Server) -> Server:
    """As the administrator."""
    return replace(
        server,
        client={
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": ADMIN,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(_folder() / "ca.pem"),
        },
    )


def _measure_traffic(figures: tuple[Figure, ...], turn: Turn) -> Measured:
    server, count = _secured(turn.server), turn.scaled(RECORDS)
    create_topic(server, turn.label)
    into = produce(server, turn.label, size=SIZE, count=count)
    out = consume(server, turn.label, count=count)
    values = (*rates(into, SIZE * count), *rates(out, SIZE * count))
    return {figure.name: value for figure, value in zip(figures, values, strict=True)}


def _measure_logins(figures: tuple[Figure, ...], turn: Turn) -> Measured:
    server, count = _secured(turn.server), turn.scaled(LOGINS)
    admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, **server.client})
    wanted = UserScramCredentialUpsertion(
        USER, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS), PASSWORD.encode()
    )
    for done in admin.alter_user_scram_credentials([wanted]).values():
        done.result(TIMEOUT_SECONDS)
    jaas = f'{_SCRAM} required username="{USER}" password="{PASSWORD}";'
    security = client_security(
        SecurityProtocol.SASL_SSL,
        {
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": jaas,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(_folder() / "ca.pem"),
        },
    )
    host, port = server.bootstrap_servers.split(":")
    with spending(server) as spent:
        asyncio.run(_log_in(host, int(port), security, count))
    values = (count / spent.seconds, spent.cpu_seconds / count * 1000)
    return {figure.name: value for figure, value in zip(figures, values, strict=True)}


async def _log_in(host: str, port: int, security: ClientSecurity, count: int) -> None:
    settings = ConnectionSettings(
        connect_timeout_ms=TIMEOUT_SECONDS * 1000, request_timeout_ms=TIMEOUT_SECONDS * 1000, security=security
    )
    network = AsyncioNetwork()
    left = iter(range(count))

    async def some() -> None:
        for _ in left:
            (await open_connection(network, host, port, settings)).close()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(some())
