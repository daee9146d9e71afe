"""SASL on real connections: each mechanism, and what a client gets before it is authenticated."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time

import pytest
from server.listening.conftest import SecuredBroker, alter, secured_broker
from support.eventually import eventually
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client
from support.sasl_client import Refused, authenticate, handshake, send_token, unsecured_token

from tidelog.model.errors import ErrorCode
from tidelog.model.principal import Principal
from tidelog.network.server_connection import ServerConnection
from tidelog.protocol.frames import request_frame
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.security.scram import ScramMechanism
from tidelog.server.listening import listener_security, listeners, sasl_gate

JAAS = "listener_name_secured_plain_sasl_jaas_config"
USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a-secret" user_bob="b-secret";'
VERSIONS = ApiVersionsRequest(client_software_name="raw", client_software_version="1")


def plain(**properties: str) -> dict[str, str]:
    return {"sasl_enabled_mechanisms": "PLAIN", JAAS: USERS, **properties}


def principals(broker: SecuredBroker) -> list[Principal]:
    """Of the connections to the second listener."""
    open_ones: list[ServerConnection] = list(broker.broker.running.node.connections._open)
    return [each.principal for each in open_ones if each.listener == "SECURED"]


def outcomes(broker: SecuredBroker, outcome: str) -> float | None:
    labels = {"listener": "SECURED", "outcome": outcome}
    return broker.broker.running.node.metrics.registry().get_sample_value("tidelog_authentications_total", labels)


async def is_served(client: RawClient) -> bool:
    reply = await client.ask(MetadataRequest(topics=()))
    return bool(reply.brokers)


async def test_plain() -> None:
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker, raw_client(broker.secured) as client:
        versions = await client.ask(VERSIONS)
        assert {17, 36} <= {each.api_key for each in versions.api_keys}
        await authenticate(client, "PLAIN", "alice", "a-secret")
        assert await is_served(client)
        assert principals(broker) == [Principal(type="User", name="alice")]


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
async def test_scram(mechanism: ScramMechanism) -> None:
    mechanisms = ",".join(each.sasl_name for each in ScramMechanism)
    async with secured_broker("SASL_PLAINTEXT", sasl_enabled_mechanisms=mechanisms) as broker:
        await broker.add_user("alice", "a-secret", mechanism)
        async with raw_client(broker.secured) as client:
            await authenticate(client, mechanism.sasl_name, "alice", "a-secret")
            assert await is_served(client)
            assert principals(broker) == [Principal(type="User", name="alice")]
        for user, password in (("alice", "b-secret"), ("bob", "a-secret")):
            async with raw_client(broker.secured) as client:
                with pytest.raises(Refused) as refused:
                    await authenticate(client, mechanism.sasl_name, user, password)
                assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
                assert refused.value.message == (
                    f"Authentication failed during authentication due to invalid credentials with SASL mechanism "
                    f"{mechanism.sasl_name}"
                )
                assert await client.closed_by_broker()


async def test_unsecured_tokens_are_accepted_where_no_key_set_is_given() -> None:
    async with secured_broker("SASL_PLAINTEXT", sasl_enabled_mechanisms="OAUTHBEARER") as broker:
        async with raw_client(broker.secured) as client:
            # Kafka rounds parts of a millisecond up, too: a token with a fraction may last 60,001 ms.
            token = unsecured_token("alice", expires=int(time.time()) + 60)
            reply = await authenticate(client, "OAUTHBEARER", "", token)
            # The session ends with the token.
            assert 0 < reply.session_lifetime_ms <= 60_000
            assert await is_served(client)
            assert principals(broker) == [Principal(type="User", name="alice")]
        async with raw_client(broker.secured) as client:
            with pytest.raises(Refused) as refused:
                await authenticate(client, "OAUTHBEARER", "", unsecured_token("alice", expires=5))
            assert refused.value.message == '{"status":"invalid_token"}'
            assert await client.closed_by_broker()


async def test_bare_tokens_of_old_clients() -> None:
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker:
        async with raw_client(broker.secured) as client:
            await handshake(client, "PLAIN", version=0)
            client.send_frame(b"\0alice\0a-secret")
            assert await client.receive_frame() == b""
            assert await is_served(client)
        async with raw_client(broker.secured) as client:
            await handshake(client, "PLAIN", version=0)
            client.send_frame(b"\0alice\0wrong")
            assert await client.closed_by_broker()


@pytest.mark.parametrize("step", ["first", "after ApiVersions", "after SaslHandshake"])
async def test_nothing_else_is_answered_before(step: str) -> None:
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker, raw_client(broker.secured) as client:
        if step != "first":
            await client.ask(VERSIONS)
        if step == "after SaslHandshake":
            await handshake(client, "PLAIN")
        client.send(MetadataRequest(topics=()))
        assert await client.closed_by_broker()


async def test_other_mechanisms_are_refused_with_a_list() -> None:
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker, raw_client(broker.secured) as client:
        reply = await client.ask(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        assert (reply.error_code, list(reply.mechanisms)) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["PLAIN"])
        assert await client.closed_by_broker()


@pytest.mark.parametrize(("limit", "size"), [("524288", 65_537), ("1000", 1001)])
async def test_large_frames_are_refused_by_their_length(limit: str, size: int) -> None:
    properties = plain(listener_name_secured_sasl_server_max_receive_size=limit)
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker:
        for received in (b"", b"\0\x12\0\4"):
            async with raw_client(broker.secured) as client:
                client._writer.write(size.to_bytes(4, "big") + received)
                assert await client.closed_by_broker()
        # Afterwards, requests are as large as anywhere.
        async with raw_client(broker.secured) as client:
            await authenticate(client, "PLAIN", "alice", "a-secret")
            names = [MetadataRequestTopic(name="x" * 200) for _ in range(size // 200)]
            asked = MetadataRequest(topics=names, allow_auto_topic_creation=False)
            assert (await client.ask(asked)).topics


async def test_a_frame_just_as_large_as_allowed_is_read() -> None:
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker, raw_client(broker.secured) as client:
        await handshake(client, "PLAIN")
        empty = sum(map(len, request_frame(36, 2, 2, "raw", SaslAuthenticateRequest(auth_bytes=bytes(60_000))))) - 4
        token = b"\0alice\0" + b"x" * (60_000 + sasl_gate.LARGEST_FRAME_BYTES - empty - 7)
        with pytest.raises(Refused) as refused:
            await send_token(client, token)
        assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_a_refusal_waits() -> None:
    properties = plain(connection_failed_authentication_delay_ms="300")
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker, raw_client(broker.secured) as client:
        await handshake(client, "PLAIN")
        began = time.monotonic()
        reply = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        assert time.monotonic() - began >= 0.3
        assert reply.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert reply.error_message == "Authentication failed: Invalid username or password"
        assert await client.closed_by_broker()


async def test_nothing_is_read_while_a_refusal_waits() -> None:
    properties = plain(connection_failed_authentication_delay_ms="100")
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker, raw_client(broker.secured) as client:
        await handshake(client, "PLAIN")
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        for _ in range(1000):
            client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0a-secret"))
        # What was not read makes the system reset the connection, which may overtake the reply.
        received = 0
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                await client.receive_frame()
                received += 1
        assert received <= 1
        assert principals(broker) == []


async def test_who_is_not_authenticated_in_time_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_security, "DEADLINE_SECONDS", 0.2)
    async with (
        secured_broker("SASL_PLAINTEXT", **plain()) as broker,
        raw_client(broker.secured) as done,
        raw_client(broker.secured) as silent,
        raw_client(broker.secured) as halfway,
    ):
        await authenticate(done, "PLAIN", "alice", "a-secret")
        await handshake(halfway, "PLAIN")
        assert await halfway.closed_by_broker()
        assert await silent.closed_by_broker()
        assert await is_served(done)


async def test_of_too_many_newcomers_the_oldest_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_security, "Newcomers", lambda: sasl_gate.Newcomers(most=5))
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker, contextlib.AsyncExitStack() as stack:
        done = await stack.enter_async_context(raw_client(broker.secured))
        await authenticate(done, "PLAIN", "alice", "a-secret")
        clients = [await stack.enter_async_context(raw_client(broker.secured)) for _ in range(20)]
        for client in clients:
            # The length of a frame, and a part of it.
            client._writer.write(b"\0\0\xff\xff\0\x12")
        for client in clients[:15]:
            assert await client.closed_by_broker()
        newest = await stack.enter_async_context(raw_client(broker.secured))
        await authenticate(newest, "PLAIN", "bob", "b-secret")
        assert await is_served(newest)
        assert await is_served(done)


async def test_sessions_end_and_are_renewed() -> None:
    # Only the time of one mechanism on this listener counts.
    properties = plain(
        connections_max_reauth_ms="3600000", listener_name_secured_plain_connections_max_reauth_ms="1500"
    )
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker, raw_client(broker.secured) as client:
        reply = await authenticate(client, "PLAIN", "alice", "a-secret")
        assert reply.session_lifetime_ms == 1500
        assert await is_served(client)
        # Not before, and also after the end of the session.
        await asyncio.sleep(1.7)
        await authenticate(client, "PLAIN", "alice", "a-secret")
        assert await is_served(client)
        await asyncio.sleep(1.7)
        client.send(MetadataRequest(topics=()))
        assert await client.closed_by_broker()
        assert [outcomes(broker, each) for each in ("succeeded", "renewed", "failed")] == [1, 1, 1]


async def test_nobody_becomes_another_user() -> None:
    properties = plain(listener_name_secured_connections_max_reauth_ms="60000")
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker, raw_client(broker.secured) as client:
        await authenticate(client, "PLAIN", "alice", "a-secret")
        with pytest.raises(Refused) as refused:
            await authenticate(client, "PLAIN", "bob", "b-secret")
        assert "Cannot change principals during re-authentication" in (refused.value.message or "")
        assert await client.closed_by_broker()


async def test_users_can_be_changed_while_the_broker_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "CHANGE_CHECK_SECONDS", 0.05)
    async with secured_broker("SASL_PLAINTEXT", **plain()) as broker:
        name = JAAS.removeprefix("listener_name_secured_")
        assert await alter(broker, **{name: USERS.replace("a-secret", "new")}) == (0, None)

        async def new_password_is_accepted() -> None:
            async with raw_client(broker.secured) as client:
                reply = await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
                reply = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0new"))
                assert reply.error_code == 0

        await eventually(new_password_is_accepted)


async def test_mutated_frames_before_authentication_do_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    whole = [
        b"".join(request_frame(18, 4, 1, "raw", VERSIONS))[4:],
        b"".join(request_frame(17, 1, 2, "raw", SaslHandshakeRequest(mechanism="SCRAM-SHA-256")))[4:],
        b"".join(request_frame(36, 2, 3, "raw", SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=abcdef")))[4:],
        b"".join(request_frame(36, 2, 4, "raw", SaslAuthenticateRequest(auth_bytes=b"c=biws,r=x,p=YWJj")))[4:],
    ]
    bearer = b"n,,\x01auth=Bearer " + unsecured_token("alice", expires=time.time() + 60).encode() + b"\x01\x01"
    others = [
        b"".join(request_frame(17, 1, 2, "raw", SaslHandshakeRequest(mechanism="OAUTHBEARER")))[4:],
        b"".join(request_frame(36, 2, 3, "raw", SaslAuthenticateRequest(auth_bytes=bearer)))[4:],
        b"".join(request_frame(36, 2, 3, "raw", SaslAuthenticateRequest(auth_bytes=b"\x01")))[4:],
    ]
    chance = random.Random(22)
    properties = plain(
        sasl_enabled_mechanisms="PLAIN,SCRAM-SHA-256,OAUTHBEARER", connection_failed_authentication_delay_ms="0"
    )
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker:
        await broker.add_user("alice", "a-secret")
        for _ in range(1500):
            async with raw_client(broker.secured) as client:
                for frame in chance.choice((whole, others))[: chance.randint(1, 4)]:
                    client.send_frame(_mutated(chance, frame))
                await client._writer.drain()
                client._writer.write_eof()
                await asyncio.wait_for(client._reader.read(), HANG_SECONDS)
        async with raw_client(broker.secured) as client:
            await authenticate(client, "SCRAM-SHA-256", "alice", "a-secret")
            assert await is_served(client)
            assert len(principals(broker)) == 1
    # Nothing was a surprise.
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


def _mutated(chance: random.Random, frame: bytes) -> bytes:
    changed = bytearray(frame)
    for _ in range(chance.choice((0, 0, 1, 3))):
        match chance.randrange(3):
            case 0:
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            case 1:
                del changed[chance.randrange(len(changed)) :]
                changed += b"\0"
            case _:
                changed.insert(chance.randrange(len(changed) + 1), chance.randrange(256))
    return bytes(changed)
