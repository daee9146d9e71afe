"""The client's side of SASL, against the server's: no network, only what each of both decides."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.metadata_response import MetadataResponse
from tidelog.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tidelog.protocol.schema import Message, Versions
from tidelog.security.client_handshake import (
    RENEWAL_FROM,
    RENEWAL_TO,
    AskServer,
    ClientStep,
    LoggedIn,
    LoginRefusal,
    SaslClientExchange,
    SaslClientHandshake,
    renewal_after_ms,
)
from tidelog.security.client_login import PasswordLogin
from tidelog.security.exchange import OutOfTurn
from tidelog.security.oauthbearer import OAuthBearerClientExchange, OAuthBearerServerExchange
from tidelog.security.plain import PlainServerExchange, PlainUsers
from tidelog.security.sasl_session import (
    SHORTEST_REAUTHENTICATION_INTERVAL_MS,
    AnswerApiVersions,
    CloseConnection,
    EnabledMechanism,
    SaslAnswer,
    SaslMoment,
    SaslSession,
)
from tidelog.security.scram import (
    PasswordSalting,
    ScramMechanism,
    ScramServerExchange,
    credential_of_salted_password,
    derive_salted_password,
)
from tidelog.security.unsecured_tokens import UnsecuredTokenValidator

PASSWORD = "planted-secret"
SALT = b"0123456789"
VERSIONS: Mapping[int, Versions] = {ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)}
NOW = SaslMoment(now_ms=1_700_000_000_000, monotonic_ms=0)


def server(mechanism: str, *, lifetime_ms: int = 0) -> SaslSession:
    def start() -> PlainServerExchange | ScramServerExchange | OAuthBearerServerExchange:
        if mechanism == "PLAIN":
            return PlainServerExchange(users=PlainUsers(passwords={"alice": PASSWORD}))
        if mechanism == "OAUTHBEARER":
            return OAuthBearerServerExchange(validator=UnsecuredTokenValidator())
        scram = ScramMechanism.SHA_256 if mechanism.endswith("256") else ScramMechanism.SHA_512
        salted = derive_salted_password(scram, PASSWORD, SALT, 4096)
        credential = credential_of_salted_password(scram, salt=SALT, salted_password=salted, iterations=4096)
        return ScramServerExchange(mechanism=scram, nonce="b" * 36, find_credential={"alice": credential}.get)

    session = SaslSession(mechanisms={mechanism: EnabledMechanism(start=start, max_reauthentication_ms=lifetime_ms)})
    assert isinstance(session.receive_request(ApiKey.API_VERSIONS, 0, None, NOW), AnswerApiVersions)
    session.api_versions_answered(ErrorCode.NONE)
    return session


def handshake(
    mechanism: str, exchange: SaslClientExchange, versions: Mapping[int, Versions] = VERSIONS
) -> SaslClientHandshake:
    return SaslClientHandshake(
        mechanism=mechanism, user="the user 'alice'", exchange=exchange, versions=versions, remedy="Check it."
    )


def talk(client: SaslClientHandshake, session: SaslSession, password: str = PASSWORD) -> ClientStep:
    """Until one of both has enough. The steps on the way have no secret in their repr."""
    step: ClientStep = client.begin()
    for _ in range(10):
        assert password not in repr(step)
        if isinstance(step, PasswordSalting):
            step = client.salted(derive_salted_password(step.mechanism, password, step.salt, step.iterations))
        elif isinstance(step, AskServer):
            answer = session.receive_request(type(step.request).SCHEMA.api_key, step.version, step.request, NOW)
            assert isinstance(answer, SaslAnswer | CloseConnection)
            assert isinstance(answer.reply, Message)
            step = client.answered(answer.reply)
        else:
            return step
    raise AssertionError("they talk endlessly")


def password_exchange(mechanism: str, password: str = PASSWORD) -> SaslClientExchange:
    return PasswordLogin(mechanism=mechanism, user="alice", password=password).start("a" * 36)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_both_sides_come_to_an_end(mechanism: str) -> None:
    session = server(mechanism, lifetime_ms=90_000)
    outcome = talk(handshake(mechanism, password_exchange(mechanism)), session)
    assert outcome == LoggedIn(session_lifetime_ms=90_000)
    assert session.session is not None
    assert session.session.principal.name == "alice"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused_with_what_the_server_says(mechanism: str) -> None:
    outcome = talk(handshake(mechanism, password_exchange(mechanism, "wrong")), server(mechanism), "wrong")
    assert isinstance(outcome, LoginRefusal)
    assert outcome.reason.startswith(f"the broker refuses the user 'alice' with {mechanism}: Authentication failed")
    assert outcome.reason.endswith(". Check it.")


def test_a_refused_token_is_acknowledged_before_it_fails() -> None:
    outcome = talk(handshake("OAUTHBEARER", OAuthBearerClientExchange(token="a.b.c")), server("OAUTHBEARER"))
    assert isinstance(outcome, LoginRefusal)
    assert '{"status":"invalid_token"}' in outcome.reason


def test_a_mechanism_that_is_not_enabled() -> None:
    outcome = talk(handshake("SCRAM-SHA-512", password_exchange("SCRAM-SHA-512")), server("PLAIN"))
    assert outcome == LoginRefusal(
        reason="the broker does not enable the mechanism SCRAM-SHA-512, only PLAIN: set sasl.mechanism to one of these"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.ILLEGAL_SASL_STATE, "does not use SASL on this port: set security.protocol to PLAINTEXT instead of"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "refuses the handshake of PLAIN with error code -1"),
    ],
)
def test_a_refused_handshake(code: ErrorCode, said: str) -> None:
    client = handshake("PLAIN", password_exchange("PLAIN"))
    client.begin()
    outcome = client.answered(SaslHandshakeResponse(error_code=code))
    assert isinstance(outcome, LoginRefusal)
    assert said in outcome.reason


@pytest.mark.parametrize("served", [{}, {17: (0, 0), 36: (0, 2)}, {17: (0, 1)}, {17: (0, 1), 36: (9, 9)}])
def test_a_broker_without_the_requests(served: Mapping[int, Versions]) -> None:
    outcome = handshake("PLAIN", password_exchange("PLAIN"), served).begin()
    assert isinstance(outcome, LoginRefusal)
    assert "older than Kafka 1.0" in outcome.reason


def test_the_newest_version_that_both_know_is_used() -> None:
    client = handshake("PLAIN", password_exchange("PLAIN"), {17: (0, 1), 36: (0, 1)})
    client.begin()
    step = client.answered(SaslHandshakeResponse())
    assert isinstance(step, AskServer)
    assert step.version == 1


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    """It can answer anything, but not prove that it has the credential."""
    client = handshake("SCRAM-SHA-256", password_exchange("SCRAM-SHA-256"))
    client.begin()
    client.answered(SaslHandshakeResponse())
    first = f"r={'a' * 36}xyz,s=MDEyMzQ1Njc4OQ==,i=4096".encode()
    salting = client.answered(SaslAuthenticateResponse(auth_bytes=first))
    assert isinstance(salting, PasswordSalting)
    client.salted(derive_salted_password(salting.mechanism, PASSWORD, salting.salt, salting.iterations))
    outcome = client.answered(SaslAuthenticateResponse(auth_bytes=b"v=AAAA"))
    assert isinstance(outcome, LoginRefusal)
    assert "the server's signature is wrong" in outcome.reason


def test_another_reply_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(OutOfTurn, match="MetadataResponse is no reply to a request of SASL"):
        handshake("PLAIN", password_exchange("PLAIN")).answered(MetadataResponse())


def test_sessions_are_renewed_as_in_kafkas_client() -> None:
    assert (RENEWAL_FROM, RENEWAL_TO) == (0.85, 0.95)
    assert renewal_after_ms(100_000, RENEWAL_FROM) == 85_000
    assert renewal_after_ms(0, RENEWAL_FROM) is None


def test_a_session_that_hardly_lasts_is_not_renewed_more_often_than_brokers_allow() -> None:
    assert renewal_after_ms(100, RENEWAL_FROM) == SHORTEST_REAUTHENTICATION_INTERVAL_MS
