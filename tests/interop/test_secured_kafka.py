"""Our client against Apache Kafka with TLS and SASL: who gets in, who does not, and sessions that are renewed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.secured_kafka import (
    LISTENERS,
    MECHANISMS,
    SHORT_SESSION_MS,
    USER,
    SecuredKafka,
    login_properties,
    running_secured_kafka,
)

from tidelog.client.admin import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.consumer import Consumer
from tidelog.client.errors import NoBrokerAvailable
from tidelog.client.producer.producer import Producer
from tidelog.network.client_connection import AuthenticationError, ClientConnection
from tidelog.security.certificates import DevelopmentAuthority

pytestmark = [pytest.mark.slow, pytest.mark.maven, pytest.mark.xdist_group("jvm")]


@pytest.fixture(scope="module")
def kafka(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(jars, tmp_path_factory.mktemp("secured-kafka")) as running:
        yield running


def options(kafka: SecuredKafka, listener: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    protocol = LISTENERS[listener]
    trust = kafka.trust() if protocol.endswith("SSL") else {}
    return {
        "bootstrap.servers": kafka.addresses[listener],
        "security.protocol": protocol,
        **trust,
        **(given or {}),
    }


async def round_trip(config: dict[str, str], topic: str) -> None:
    async with Admin(config=config) as admin:
        Admin.raise_any(await admin.create_topics([NewTopic(name=topic, partitions=1)]))
    async with Producer(config=config) as producer:
        for number in range(10):
            await producer.send(topic, f"{number}".encode())
        await producer.flush()
    reading = {**config, "auto.offset.reset": "earliest", "group.id": f"group-{topic}"}
    async with Consumer(topic, config=reading) as consumer:
        values: list[bytes | None] = []
        while len(values) < 10:
            values += [record.value for record in await consumer.poll(timeout_ms=1000)]
    assert values == [f"{number}".encode() for number in range(10)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_records_go_in_and_out_with_each_mechanism(kafka: SecuredKafka, listener: str, mechanism: str) -> None:
    topic = f"records-{listener}-{mechanism}".lower().replace("_", "-")
    await round_trip(options(kafka, listener, login_properties(mechanism)), topic)


async def test_tls_alone(kafka: SecuredKafka) -> None:
    await round_trip(options(kafka, "SSL"), "tls-alone")


async def test_a_client_certificate_from_a_file(kafka: SecuredKafka, tmp_path: Path) -> None:
    keystore = tmp_path / "client.pem"
    keystore.write_bytes(kafka.authority.issue("client").keystore)
    given = {"ssl.keystore.location": str(keystore), "ssl.keystore.type": "PEM"}
    await round_trip(options(kafka, "MUTUAL", given), "mutual")


@pytest.mark.parametrize("versions", ["TLSv1.2", "TLSv1.3"])
async def test_no_client_certificate(kafka: SecuredKafka, versions: str) -> None:
    with pytest.raises((AuthenticationError, NoBrokerAvailable), match=r"certificate.*ssl\.keystore\.location"):
        await Admin(config=options(kafka, "MUTUAL", {"ssl.enabled.protocols": versions})).start()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_wrong_password_ends_at_once_with_what_kafka_says(kafka: SecuredKafka, mechanism: str) -> None:
    config = options(kafka, "SASL_SSL", login_properties(mechanism, "not-the-secret"))
    begun = time.monotonic()
    with pytest.raises(
        AuthenticationError, match=rf"the user '{USER}' with {mechanism}: Authentication failed"
    ) as error:
        await Producer(config=config).start()
    assert time.monotonic() - begun < 10
    assert "not-the-secret" not in str(error.value)


async def test_a_token_that_has_expired(kafka: SecuredKafka) -> None:
    config = options(kafka, "SASL_SSL", {"sasl.mechanism": "OAUTHBEARER"})
    expired = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MX0."
    with pytest.raises(AuthenticationError, match=r"the token with OAUTHBEARER: .*invalid_token"):
        await Admin(config=config, sasl_oauth_token_provider=lambda: (expired, None)).start()


async def test_a_broker_of_another_authority(kafka: SecuredKafka) -> None:
    other = DevelopmentAuthority.new("other").pair.certificate.decode()
    config = {"bootstrap.servers": kafka.addresses["SSL"], "security.protocol": "SSL"}
    with pytest.raises(AuthenticationError, match=r"not trusted .*ssl\.truststore\.location"):
        await Admin(config={**config, "ssl.truststore.certificates": other}).start()


async def test_a_broker_by_another_name(kafka: SecuredKafka) -> None:
    config = options(kafka, "SSL")
    config["bootstrap.servers"] = config["bootstrap.servers"].replace("127.0.0.1", "localhost")
    with pytest.raises(AuthenticationError, match=r"the broker's certificate is not for 'localhost'"):
        await Admin(config=config).start()
    async with Admin(config={**config, "ssl.endpoint.identification.algorithm": ""}) as admin:
        assert await admin.list_topics() is not None


@pytest.mark.parametrize(
    ("listener", "protocol", "said"),
    [
        ("SSL", "PLAINTEXT", r"speaks TLS on this port: .*set security\.protocol=SSL"),
        ("PLAINTEXT", "SSL", r"probably does not speak TLS on this port: set security\.protocol to PLAINTEXT"),
        ("PLAINTEXT", "SASL_PLAINTEXT", r"does not use SASL on this port: set security\.protocol to PLAINTEXT"),
        ("SASL_PLAINTEXT", "PLAINTEXT", r"asks for a login on this port: then set security\.protocol=SASL_PLAINTEXT"),
    ],
)
async def test_both_ends_speak_differently(kafka: SecuredKafka, listener: str, protocol: str, said: str) -> None:
    trust = kafka.trust() if protocol == "SSL" else {}
    login = login_properties("PLAIN") if protocol.startswith("SASL") else {}
    config = {"bootstrap.servers": kafka.addresses[listener], "security.protocol": protocol, **trust, **login}
    with pytest.raises(Exception, match=said):
        await Admin(config=config).start()


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_sessions_are_renewed_while_records_flow(kafka: SecuredKafka, mechanism: str) -> None:
    """Kafka closes connections whose sessions have ended: all of them live through several."""
    config = options(kafka, "SHORT", login_properties(mechanism))
    topic = f"renewed-{mechanism}".lower()
    async with Admin(config=config) as admin:
        Admin.raise_any(await admin.create_topics([NewTopic(name=topic, partitions=1)]))
    reading = {**config, "auto.offset.reset": "earliest", "group.id": f"group-{topic}"}
    sent = 0
    received: list[bytes | None] = []
    async with Producer(config=config) as producer, Consumer(topic, config=reading) as consumer:
        begun = time.monotonic()
        early: list[ClientConnection] = []
        while time.monotonic() < begun + 3.5 * SHORT_SESSION_MS / 1000:
            await producer.send(topic, f"{sent}".encode())
            sent += 1
            received += [record.value for record in await consumer.poll(timeout_ms=10)]
            await asyncio.sleep(0.01)
            if received and not early:
                clusters = (producer._cluster, consumer._cluster)
                early = [connection for cluster in clusters for connection in cluster._connections.values()]
        await producer.flush()
        while len(received) < sent:
            received += [record.value for record in await consumer.poll(timeout_ms=1000)]
        # The first session had ended long before.
        assert len(early) >= 3
        assert [connection.address for connection in early if connection.closed] == []
    assert received == [f"{number}".encode() for number in range(sent)]
