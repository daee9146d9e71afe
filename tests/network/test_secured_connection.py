"""Connections with TLS and SASL, against a peer on a real socket: who gets in, who does not, and what is said then."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.processes import HANG_SECONDS
from support.secured_peer import secured_peer

from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import SecurityProtocol
from tidelog.network import sasl_login
from tidelog.network.client_connection import (
    AuthenticationError,
    CannotConnect,
    ClientConnection,
    ConnectionLost,
    ConnectionSettings,
    open_connection,
)
from tidelog.network.client_security import client_security
from tidelog.network.port import AsyncioNetwork
from tidelog.network.tls import TlsSettings, server_context
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.list_groups_response import ListGroupsResponse
from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority
from tidelog.security.oauthbearer import OAUTHBEARER, OAuthBearerServerExchange
from tidelog.security.plain import PLAIN, PlainServerExchange, PlainUsers
from tidelog.security.sasl_session import EnabledMechanism
from tidelog.security.scram import (
    NONCE_BYTES,
    ScramMechanism,
    ScramServerExchange,
    credential_of_salted_password,
    derive_salted_password,
    scram_nonce,
)
from tidelog.security.unsecured_tokens import UnsecuredTokenValidator

HOST = "127.0.0.1"
PASSWORD = "planted-secret"
SALT = b"salt" * 4
SCRAM_256 = ScramMechanism.SHA_256.sasl_name
SCRAM_512 = ScramMechanism.SHA_512.sasl_name


@pytest.fixture(scope="module")
def authority() -> DevelopmentAuthority:
    return DevelopmentAuthority.new()


@pytest.fixture(scope="module")
def server_pair(authority: DevelopmentAuthority) -> CertificateWithKey:
    return authority.issue("broker", hosts=(HOST,))


def server_tls(pair: CertificateWithKey, **properties: str) -> ssl.SSLContext:
    inline = {"ssl.keystore.key": pair.key.decode(), "ssl.keystore.certificate.chain": pair.certificate.decode()}
    return server_context(TlsSettings.from_properties({**inline, **properties}))


def trusting(authority: DevelopmentAuthority) -> dict[str, str]:
    return {"ssl.truststore.certificates": authority.pair.certificate.decode()}


def mechanisms(max_reauthentication_ms: int = 0) -> Mapping[str, EnabledMechanism]:
    def scram(mechanism: ScramMechanism) -> EnabledMechanism:
        salted = derive_salted_password(mechanism, PASSWORD, SALT, 4096)
        credential = credential_of_salted_password(mechanism, salt=SALT, salted_password=salted, iterations=4096)
        return EnabledMechanism(
            start=lambda: ScramServerExchange(
                mechanism=mechanism,
                nonce=scram_nonce(bytes(NONCE_BYTES)),
                find_credential={"alice": credential}.get,
            ),
            max_reauthentication_ms=max_reauthentication_ms,
        )

    users = PlainUsers(passwords={"alice": PASSWORD})
    return {
        PLAIN: EnabledMechanism(
            start=lambda: PlainServerExchange(users=users), max_reauthentication_ms=max_reauthentication_ms
        ),
        SCRAM_256: scram(ScramMechanism.SHA_256),
        SCRAM_512: scram(ScramMechanism.SHA_512),
        OAUTHBEARER: EnabledMechanism(
            start=lambda: OAuthBearerServerExchange(validator=UnsecuredTokenValidator()),
            max_reauthentication_ms=max_reauthentication_ms,
        ),
    }


def password_login(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": password}


UNSECURED_LOGIN = {
    "sasl.mechanism": OAUTHBEARER,
    "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="alice";',
}


async def connect(
    port: int, protocol: SecurityProtocol, properties: Mapping[str, str], **others: Any
) -> ClientConnection:
    security = client_security(protocol, properties, **others)
    settings = ConnectionSettings(connect_timeout_ms=10_000, request_timeout_ms=10_000, security=security)
    return await open_connection(AsyncioNetwork(), HOST, port, settings)


async def who_am_i(connection: ClientConnection) -> str:
    reply = await connection.request(ListGroupsRequest(), ListGroupsResponse)
    return reply.groups[0].group_id


@pytest.mark.parametrize(
    "login", [password_login(PLAIN), password_login(SCRAM_256), password_login(SCRAM_512), UNSECURED_LOGIN]
)
@pytest.mark.parametrize("protocol", [SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL])
async def test_each_mechanism_logs_in(
    login: dict[str, str],
    protocol: SecurityProtocol,
    authority: DevelopmentAuthority,
    server_pair: CertificateWithKey,
) -> None:
    tls = server_tls(server_pair) if protocol is SecurityProtocol.SASL_SSL else None
    async with secured_peer(mechanisms(), tls) as peer:
        connection = await connect(peer.port, protocol, {**login, **(trusting(authority) if tls else {})})
        assert await who_am_i(connection) == "User:alice"
        connection.close()


@pytest.mark.parametrize("mechanism", [PLAIN, SCRAM_256])
async def test_a_wrong_password_is_an_authentication_error_that_does_not_show_it(mechanism: str) -> None:
    async with secured_peer(mechanisms()) as peer:
        with pytest.raises(AuthenticationError) as refused:
            await connect(peer.port, SecurityProtocol.SASL_PLAINTEXT, password_login(mechanism, "not-the-secret"))
    said = str(refused.value)
    assert f"cannot log in at {HOST}:{peer.port}: the broker refuses the user 'alice' with {mechanism}" in said
    assert "Check the user name and the password (sasl.jaas.config)" in said
    assert "not-the-secret" not in said


async def test_a_refused_token_is_an_authentication_error() -> None:
    async with secured_peer(mechanisms()) as peer:
        with pytest.raises(AuthenticationError, match=r"refuses the token with OAUTHBEARER: .*invalid_token"):
            await connect(
                peer.port,
                SecurityProtocol.SASL_PLAINTEXT,
                {"sasl.mechanism": OAUTHBEARER},
                token_provider=lambda: ("planted.token.x", 0),
            )


async def test_a_mechanism_that_is_not_enabled_is_answered_with_those_that_are() -> None:
    async with secured_peer({PLAIN: mechanisms()[PLAIN]}) as peer:
        with pytest.raises(
            AuthenticationError, match="does not enable the mechanism SCRAM-SHA-256, only PLAIN: set sasl"
        ):
            await connect(peer.port, SecurityProtocol.SASL_PLAINTEXT, password_login(SCRAM_256))


async def test_the_password_is_derived_outside_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def watched(*arguments: Any) -> bytes:
        threads.append(threading.current_thread())
        return derive_salted_password(*arguments)

    monkeypatch.setattr(sasl_login, "derive_salted_password", watched)
    async with secured_peer(mechanisms()) as peer:
        connection = await connect(peer.port, SecurityProtocol.SASL_PLAINTEXT, password_login(SCRAM_512))
        connection.close()
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


# -- renewal (KIP-368) ---------------------------------------------------------------------------------------------


async def test_a_session_is_renewed_before_it_ends_and_requests_meanwhile_are_answered() -> None:
    async with secured_peer(mechanisms(max_reauthentication_ms=1200)) as peer:
        connection = await connect(peer.port, SecurityProtocol.SASL_PLAINTEXT, password_login(SCRAM_256))
        async with asyncio.timeout(HANG_SECONDS):
            while peer.seen.count(ApiKey.SASL_HANDSHAKE) < 3:
                # Many at once: some of them come while the session is renewed.
                assert set(await asyncio.gather(*(who_am_i(connection) for _ in range(5)))) == {"User:alice"}
                await asyncio.sleep(0.01)
        assert not connection.closed
        assert peer.closed == []
        connection.close()
    between = "".join(
        {ApiKey.SASL_HANDSHAKE: "h", ApiKey.SASL_AUTHENTICATE: "a"}.get(ApiKey(key), ".") for key in peer.seen
    )
    assert "haa" in between.replace(".", ""), between
    assert "h." not in between, "nothing may be sent between the handshake and the last token"


async def test_a_session_that_cannot_be_renewed_ends_with_the_reason() -> None:
    users = {"alice": PASSWORD}
    enabled = EnabledMechanism(
        start=lambda: PlainServerExchange(users=PlainUsers(passwords=users)), max_reauthentication_ms=1000
    )
    async with secured_peer({PLAIN: enabled}) as peer:
        connection = await connect(peer.port, SecurityProtocol.SASL_PLAINTEXT, password_login(PLAIN))
        users["alice"] = "changed"
        async with asyncio.timeout(HANG_SECONDS):
            await connection.ended
        with pytest.raises(AuthenticationError, match=r"refuses the user 'alice' with PLAIN: Authentication failed"):
            await who_am_i(connection)


async def test_a_connection_that_is_closed_renews_nothing() -> None:
    async with secured_peer(mechanisms(max_reauthentication_ms=1000)) as peer:
        connection = await connect(peer.port, SecurityProtocol.SASL_PLAINTEXT, password_login(PLAIN))
        connection.close()
        await asyncio.sleep(1.1)
        assert peer.seen.count(ApiKey.SASL_HANDSHAKE) == 1


# -- certificates --------------------------------------------------------------------------------------------------


async def test_tls_without_a_login(authority: DevelopmentAuthority, server_pair: CertificateWithKey) -> None:
    async with secured_peer(None, server_tls(server_pair)) as peer:
        connection = await connect(peer.port, SecurityProtocol.SSL, trusting(authority))
        assert await who_am_i(connection) == "nobody"
        connection.close()


async def test_a_certificate_of_another_authority_is_refused(server_pair: CertificateWithKey) -> None:
    async with secured_peer(None, server_tls(server_pair)) as peer:
        with pytest.raises(AuthenticationError, match=r"certificate is not trusted .*: set ssl.truststore.location"):
            await connect(peer.port, SecurityProtocol.SSL, trusting(DevelopmentAuthority.new("other")))


async def test_a_certificate_for_another_host_is_refused_unless_the_check_is_off(
    authority: DevelopmentAuthority,
) -> None:
    async with secured_peer(None, server_tls(authority.issue("broker", hosts=("broker.example",)))) as peer:
        with pytest.raises(AuthenticationError, match=r"certificate is not for '127.0.0.1' .*: connect to a name"):
            await connect(peer.port, SecurityProtocol.SSL, trusting(authority))
        connection = await connect(
            peer.port, SecurityProtocol.SSL, {**trusting(authority), "ssl.endpoint.identification.algorithm": ""}
        )
        connection.close()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
async def test_a_client_certificate_is_asked_for(
    version: str, authority: DevelopmentAuthority, server_pair: CertificateWithKey
) -> None:
    asking = server_tls(
        server_pair, **trusting(authority), **{"ssl.client.auth": "required", "ssl.enabled.protocols": version}
    )
    async with secured_peer(None, asking) as peer:
        # With TLS 1.2 the handshake fails, and only after it with 1.3. A server on asyncio says nothing more.
        with pytest.raises(CannotConnect, match=r"asks? for a certificate of this client.*ssl\.keystore\.location"):
            await connect(peer.port, SecurityProtocol.SSL, trusting(authority))
        own = authority.issue("client")
        identity = {"ssl.keystore.key": own.key.decode(), "ssl.keystore.certificate.chain": own.certificate.decode()}
        connection = await connect(peer.port, SecurityProtocol.SSL, {**trusting(authority), **identity})
        assert await who_am_i(connection) == "nobody"
        connection.close()


async def test_another_trust_store_counts_for_the_next_connection(
    tmp_path: Path, authority: DevelopmentAuthority, server_pair: CertificateWithKey
) -> None:
    store = tmp_path / "authority.pem"
    store.write_bytes(DevelopmentAuthority.new("other").pair.certificate)
    security = client_security(SecurityProtocol.SSL, {"ssl.truststore.location": str(store)})
    settings = ConnectionSettings(connect_timeout_ms=10_000, request_timeout_ms=10_000, security=security)
    async with secured_peer(None, server_tls(server_pair)) as peer:
        with pytest.raises(AuthenticationError, match="not trusted"):
            await open_connection(AsyncioNetwork(), HOST, peer.port, settings)
        store.write_bytes(authority.pair.certificate)
        connection = await open_connection(AsyncioNetwork(), HOST, peer.port, settings)
        connection.close()
        store.write_text("half of a fi")
        connection = await open_connection(AsyncioNetwork(), HOST, peer.port, settings)
        connection.close()


async def test_a_store_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidConfig, match=r"ssl.truststore.location=/nowhere.pem cannot be read"):
        await connect(1, SecurityProtocol.SSL, {"ssl.truststore.location": "/nowhere.pem"})


# -- both ends speak differently -----------------------------------------------------------------------------------


async def test_plain_text_to_a_port_with_tls(server_pair: CertificateWithKey) -> None:
    async with secured_peer(None, server_tls(server_pair)) as peer:
        with pytest.raises(CannotConnect, match=r"speaks TLS on this port: .*set security.protocol=SSL"):
            await connect(peer.port, SecurityProtocol.PLAINTEXT, {})


async def test_a_tls_alert_in_plain_text_is_recognized() -> None:
    async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x0a")
        writer.close()

    server = await asyncio.start_server(alert, HOST, 0)
    with pytest.raises(CannotConnect, match=r"the broker speaks TLS on this port: set security.protocol=SSL"):
        await connect(server.sockets[0].getsockname()[1], SecurityProtocol.PLAINTEXT, {})
    server.close()


async def test_tls_to_a_port_with_plain_text(authority: DevelopmentAuthority) -> None:
    async with secured_peer() as peer:
        with pytest.raises(CannotConnect, match=r"probably does not speak TLS on this port: set security.protocol to"):
            await connect(peer.port, SecurityProtocol.SSL, trusting(authority))


async def test_no_login_where_one_is_asked_for() -> None:
    async with secured_peer(mechanisms()) as peer:
        connection = await connect(peer.port, SecurityProtocol.PLAINTEXT, {})
        with pytest.raises(ConnectionLost, match=r"at the first request, as a broker does that asks for a login"):
            await who_am_i(connection)
