"""Clients of tidelog's own secured listeners: with and without asyncio, and what is raised when they are locked out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from support.processes import HANG_SECONDS

import tidelog
from tidelog import sync
from tidelog.client.admin import NewTopic
from tidelog.client.config import OptionValue
from tidelog.client.errors import DeliveryFailed, TransactionError
from tidelog.network.client_connection import AuthenticationError
from tidelog.security.certificates import DevelopmentAuthority
from tidelog.security.unsecured_login import UnsecuredTokens
from tidelog.testing.broker_thread import BrokerThread

HOST = "127.0.0.1"
PASSWORD = "planted-secret"
_PACKAGE = "org.apache.kafka.common.security"
TOKEN_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    properties: dict[str, str]
    # What every client of it needs, besides who it is.
    trust: dict[str, str]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Secured:
    directory = tmp_path_factory.mktemp("security")
    authority = DevelopmentAuthority.new()
    truststore, keystore = directory / "authority.pem", directory / "keystore.pem"
    truststore.write_bytes(authority.pair.certificate)
    keystore.write_bytes(authority.issue("broker", hosts=(HOST,)).keystore)
    (directory / "client.pem").write_bytes(authority.issue("client").keystore)
    plain, oauth = f"{_PACKAGE}.plain.PlainLoginModule", f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
    properties = {
        "listeners": f"SASL_SSL://{HOST}:0",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{plain} required user_alice="{PASSWORD}";',
        "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": f"{oauth} required;",
        "ssl.keystore.location": str(keystore),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(truststore),
        "ssl.truststore.type": "PEM",
    }
    trust = {"security_protocol": "SASL_SSL", "ssl_ca_location": str(truststore)}
    return Secured(properties=properties, trust=trust)


@asynccontextmanager
async def broker(secured: Secured, **properties: str) -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(properties={**secured.properties, **properties}) as running:
        yield running


def alice(secured: Secured, password: str = PASSWORD) -> dict[str, str]:
    return {**secured.trust, "sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": password}


def with_tokens(secured: Secured, tokens: Tokens) -> dict[str, OptionValue]:
    return {**secured.trust, "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": tokens}


class Tokens:
    """For alice, valid for a moment; from `is_revoked` on, none that a broker takes."""

    def __init__(self) -> None:
        self.is_revoked = False
        self.calls = 0

    async def __call__(self) -> tuple[str, float]:
        self.calls += 1
        now = time.time_ns() // 1_000_000
        tokens = UnsecuredTokens(principal="alice", claims={"sub": "alice"}, lifetime_seconds=TOKEN_SECONDS)
        token, expires_at_ms = tokens.token(now)
        return "planted.token.x" if self.is_revoked else token, expires_at_ms / 1000


def test_clients_without_asyncio(secured: Secured) -> None:
    with BrokerThread(properties=secured.properties) as running:
        servers, options = running.bootstrap_servers, alice(secured)
        with sync.Admin(servers, config=options) as admin:
            admin.create_topics([NewTopic(name="t", partitions=1)])
        with sync.Producer(servers, config=options) as producer:
            producer.send("t", b"hello").result()
        with sync.Consumer("t", bootstrap_servers=servers, auto_offset_reset="earliest", config=options) as consumer:
            assert next(iter(consumer)).value == b"hello"
        with pytest.raises(tidelog.AuthenticationError, match="the user 'alice' with PLAIN"):
            sync.Admin(servers, config=alice(secured, "wrong")).start()


async def test_tokens_of_a_function_are_renewed_while_records_flow(secured: Secured) -> None:
    tokens = Tokens()
    options = with_tokens(secured, tokens)
    async with broker(secured) as running:
        servers = running.bootstrap_servers
        async with (
            tidelog.Producer(servers, config=options) as producer,
            tidelog.Consumer("t", bootstrap_servers=servers, auto_offset_reset="earliest", config=options) as consumer,
        ):
            sent = 0
            received: list[bytes | None] = []
            end = time.monotonic() + 2.5 * TOKEN_SECONDS
            while time.monotonic() < end or len(received) < sent:
                if time.monotonic() < end:
                    await producer.send("t", f"{sent}".encode())
                    sent += 1
                received += [record.value for record in await consumer.poll(timeout_ms=20)]
    assert received == [f"{number}".encode() for number in range(sent)]
    assert tokens.calls >= 4, "each of both clients asked for more than one"


async def test_a_producer_that_is_locked_out_says_so_at_once(secured: Secured) -> None:
    tokens = Tokens()
    async with broker(secured) as running, _producer(running, secured, tokens) as producer:
        await (await producer.send("t", b"1"))
        tokens.is_revoked = True

        async def send() -> None:
            await (await producer.send("t", b"2"))

        with pytest.raises(DeliveryFailed) as failed:
            await again_and_again(send)
    assert isinstance(failed.value.cause, AuthenticationError)
    assert "the broker refuses the token with OAUTHBEARER" in str(failed.value)
    assert "planted" not in str(failed.value)


async def again_and_again(work: Callable[[], Awaitable[None]]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            await work()
            await asyncio.sleep(0.05)


def _producer(running: tidelog.Broker, secured: Secured, tokens: Tokens, **options: OptionValue) -> tidelog.Producer:
    return tidelog.Producer(running.bootstrap_servers, config={**with_tokens(secured, tokens), **options})


async def test_a_transaction_of_a_producer_that_is_locked_out_fails(secured: Secured) -> None:
    tokens = Tokens()
    async with broker(secured) as running, _producer(running, secured, tokens, transactional_id="t1") as producer:
        await producer.init_transactions()
        tokens.is_revoked = True

        async def transact() -> None:
            async with producer.transaction():
                await producer.send("t", b"2")

        with pytest.raises(TransactionError, match="the broker refuses the token with OAUTHBEARER"):
            await again_and_again(transact)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_consumer_that_is_locked_out_raises(secured: Secured, protocol: str) -> None:
    tokens = Tokens()
    async with broker(secured) as running:
        async with tidelog.Admin(running.bootstrap_servers, config=alice(secured)) as admin:
            await admin.create_topics([NewTopic(name="t", partitions=1)])
        consumer = tidelog.Consumer(
            "t",
            bootstrap_servers=running.bootstrap_servers,
            config=with_tokens(secured, tokens),
            group_id="g",
            group_protocol=protocol,
        )
        await consumer.start()

        async def poll() -> None:
            await consumer.poll(timeout_ms=100)

        await poll()
        tokens.is_revoked = True
        with pytest.raises(AuthenticationError, match="the broker refuses the token with OAUTHBEARER"):
            await again_and_again(poll)
        tokens.is_revoked = False
        await consumer.close()
