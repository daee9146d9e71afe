"""A client that others wrote logs in over SASL_SSL, is refused with a wrong password, and authenticates again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from server.listening.conftest import key_store, secured_broker
from server.listening.test_sasl_gate import principals
from support.processes import HANG_SECONDS

from tidelog.model.principal import Principal
from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority
from tidelog.security.scram import ScramMechanism


def produced_and_consumed(settings: dict[str, Any]) -> list[bytes]:
    producer = Producer(settings)
    for number in range(20):
        producer.produce("over-tls", value=b"%d" % number)
    assert producer.flush(HANG_SECONDS) == 0
    consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["over-tls"])
    values: list[bytes] = []
    while len(values) < 20:
        message = consumer.poll(HANG_SECONDS)
        assert message is not None
        assert message.error() is None, message.error()
        values.append(message.value() or b"")
    consumer.close()
    return values


def first_error(settings: dict[str, Any]) -> KafkaError:
    errors: list[KafkaError] = []
    producer = Producer({**settings, "error_cb": errors.append})
    while not errors:
        producer.poll(0.1)
    return errors[0]


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
async def test_scram_over_tls(
    mechanism: ScramMechanism, authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    properties = {
        **key_store(server, tmp_path / "server.pem"),
        "sasl_enabled_mechanisms": mechanism.sasl_name,
        # It authenticates again while the test runs.
        "connections_max_reauth_ms": "3000",
    }
    async with secured_broker("SASL_SSL", **properties) as broker:
        await broker.add_user("alice", "a-secret", mechanism)
        settings = {
            "bootstrap.servers": broker.secured,
            "security.protocol": "SASL_SSL",
            "ssl.ca.pem": authority.pair.certificate.decode(),
            "sasl.mechanism": mechanism.sasl_name,
            "sasl.username": "alice",
            "sasl.password": "a-secret",
        }
        values = await asyncio.to_thread(produced_and_consumed, settings)
        assert values == [b"%d" % number for number in range(20)]
        assert set(principals(broker)) <= {Principal(type="User", name="alice")}
        error = await asyncio.to_thread(first_error, {**settings, "sasl.password": "b-secret"})
        assert error.code() == KafkaError._AUTHENTICATION
        assert "invalid credentials" in str(error)
