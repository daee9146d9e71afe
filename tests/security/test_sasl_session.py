"""SASL on one connection: the order of requests, what is answered, and how sessions end and are renewed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.model.errors import ErrorCode
from tidelog.model.principal import Principal
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tidelog.protocol.schema import Message
from tidelog.security.exchange import SaslChallenge, SaslFailure, SaslOutcome, SaslServerExchange, SaslSuccess
from tidelog.security.plain import PlainServerExchange, PlainUsers
from tidelog.security.sasl_session import (
    AnswerApiVersions,
    CloseConnection,
    EnabledMechanism,
    SaslAnswer,
    SaslDecision,
    SaslMoment,
    SaslSession,
    ServeRequest,
)

ALICE = Principal(type="User", name="alice")
NOW_MS = 1_700_000_000_000
USERS = PlainUsers(passwords={"alice": "planted", "bob": "planted-2"})
LOGIN = b"\0alice\0planted"


class Steps:
    """A mechanism with two tokens: `go`, then the user's name and, after a space, when its credential ends."""

    def evaluate(self, token: bytes, now_ms: int) -> SaslOutcome:
        match [] if b"\0" in token else token.split():
            case [b"go"]:
                return SaslChallenge(token=b"on")
            case [user]:
                return SaslSuccess(token=b"done", user=user.decode())
            case [user, expires]:
                return SaslSuccess(token=b"done", user=user.decode(), expires_at_ms=int(expires))
            case _:
                return SaslFailure(reason="for the log")


def at(milliseconds: float) -> SaslMoment:
    return SaslMoment(now_ms=NOW_MS + int(milliseconds), monotonic_ms=milliseconds)


class Connection:
    def __init__(self, *, max_reauthentication_ms: int = 0) -> None:
        def enabled(start: Callable[[], SaslServerExchange]) -> EnabledMechanism:
            return EnabledMechanism(start=start, max_reauthentication_ms=max_reauthentication_ms)

        self.session = SaslSession(
            mechanisms={"PLAIN": enabled(lambda: PlainServerExchange(users=USERS)), "STEPS": enabled(Steps)}
        )
        self.now = 0.0

    def send(self, key: int, request: Message | None, version: int = 1) -> SaslDecision:
        return self.session.receive_request(key, version, request, at(self.now))

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> SaslDecision:
        return self.send(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=mechanism), version)

    def token(self, token: bytes) -> SaslDecision:
        return self.send(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token))

    def metadata(self) -> SaslDecision:
        return self.send(ApiKey.METADATA, MetadataRequest())

    def api_versions(self) -> SaslDecision:
        return self.send(ApiKey.API_VERSIONS, ApiVersionsRequest())

    def log_in(self, mechanism: str = "PLAIN", token: bytes = LOGIN) -> SaslDecision:
        self.handshake(mechanism)
        return self.token(token)


def reply(decision: SaslDecision) -> Message | bytes | None:
    assert isinstance(decision, SaslAnswer | CloseConnection), decision
    return decision.reply


def is_open_after(decision: SaslDecision) -> bool:
    return not isinstance(decision, CloseConnection)


def handshake_reply(decision: SaslDecision) -> tuple[int, list[str]]:
    found = reply(decision)
    assert isinstance(found, SaslHandshakeResponse)
    return found.error_code, list(found.mechanisms)


def authenticate_reply(decision: SaslDecision) -> tuple[int, str | None, bytes, int]:
    found = reply(decision)
    assert isinstance(found, SaslAuthenticateResponse)
    return found.error_code, found.error_message, found.auth_bytes, found.session_lifetime_ms


def test_a_client_asks_for_versions_logs_in_and_is_served() -> None:
    connection = Connection()
    assert connection.session.is_authenticating

    assert connection.api_versions() == AnswerApiVersions()
    connection.session.api_versions_answered(0)
    assert handshake_reply(connection.handshake()) == (0, ["PLAIN", "STEPS"])
    accepted = connection.token(LOGIN)

    assert authenticate_reply(accepted) == (0, "", b"", 0)
    assert isinstance(accepted, SaslAnswer)
    assert accepted.session is not None
    assert accepted.session is connection.session.session
    assert (accepted.session.principal, accepted.session.mechanism, accepted.session.renewed) == (ALICE, "PLAIN", False)
    assert not connection.session.is_authenticating
    assert connection.metadata() == ServeRequest(principal=ALICE)
    assert connection.api_versions() == ServeRequest(principal=ALICE)


def test_tokens_go_back_and_forth() -> None:
    connection = Connection()
    connection.handshake("STEPS")
    challenge = connection.token(b"go")
    assert authenticate_reply(challenge) == (0, "", b"on", 0)
    assert isinstance(challenge, SaslAnswer)
    assert challenge.session is None
    assert connection.session.session is None
    assert authenticate_reply(connection.token(b"alice")) == (0, "", b"done", 0)


def test_old_clients_send_bare_tokens() -> None:
    connection = Connection()
    connection.handshake("STEPS", version=0)
    assert connection.session.expects_token
    assert connection.session.receive_token(b"go", at(0)) == SaslAnswer(reply=b"on")
    done = connection.session.receive_token(b"alice", at(0))
    assert isinstance(done, SaslAnswer)
    assert (done.reply, done.session is connection.session.session is not None) == (b"done", True)
    assert not connection.session.expects_token
    assert connection.metadata() == ServeRequest(principal=ALICE)


def test_an_empty_token_is_a_frame_of_its_own() -> None:
    connection = Connection()
    connection.handshake(version=0)
    done = connection.session.receive_token(LOGIN, at(0))
    assert isinstance(done, SaslAnswer)
    assert done.reply == b""


def test_a_failure_with_bare_tokens_has_no_reply() -> None:
    connection = Connection()
    connection.handshake(version=0)
    closed = connection.session.receive_token(b"\0alice\0wrong", at(0))
    assert isinstance(closed, CloseConnection)
    assert (closed.reply, closed.refusal, closed.after_delay) == (None, None, True)


def test_a_mechanism_that_is_not_enabled_is_answered_with_those_that_are() -> None:
    closed = Connection().handshake("GSSAPI")
    assert isinstance(closed, CloseConnection)
    assert closed.after_delay
    assert handshake_reply(closed) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["PLAIN", "STEPS"])


@pytest.mark.parametrize(
    ("mechanism", "token", "told"),
    [
        ("PLAIN", b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (
            "STEPS",
            b"",
            "Authentication failed during authentication due to invalid credentials with SASL mechanism STEPS",
        ),
    ],
)
def test_a_failure_is_told_after_the_delay(mechanism: str, token: bytes, told: str) -> None:
    closed = Connection().log_in(mechanism, token)
    assert isinstance(closed, CloseConnection)
    assert closed.after_delay
    assert authenticate_reply(closed) == (ErrorCode.SASL_AUTHENTICATION_FAILED, told, b"", 0)


def test_versions_are_asked_once() -> None:
    connection = Connection()
    connection.api_versions()
    connection.session.api_versions_answered(0)
    closed = connection.api_versions()
    assert isinstance(closed, CloseConnection)
    assert (closed.reply, closed.refusal, closed.after_delay) == (None, None, False)


def test_versions_are_asked_again_after_an_error() -> None:
    connection = Connection()
    connection.api_versions()
    connection.session.api_versions_answered(ErrorCode.UNSUPPORTED_VERSION)
    assert connection.api_versions() == AnswerApiVersions()


@pytest.mark.parametrize("asks_versions", [False, True])
@pytest.mark.parametrize("key", [ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.SASL_AUTHENTICATE])
def test_other_requests_before_the_handshake_are_not_even_decoded(key: ApiKey, asks_versions: bool) -> None:
    connection = Connection()
    if asks_versions:
        connection.api_versions()
        connection.session.api_versions_answered(0)
    assert not connection.session.may_decode(key)
    assert connection.session.may_decode(ApiKey.SASL_HANDSHAKE)
    closed = connection.send(key, None)
    assert isinstance(closed, CloseConnection)
    assert (closed.reply, closed.refusal, closed.after_delay) == (None, None, False)


@pytest.mark.parametrize(
    ("key", "request_"),
    [
        (ApiKey.METADATA, MetadataRequest()),
        (ApiKey.API_VERSIONS, ApiVersionsRequest()),
        (ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism="PLAIN")),
    ],
)
def test_other_requests_between_tokens_are_refused_in_their_own_shape(key: ApiKey, request_: Message) -> None:
    connection = Connection()
    connection.handshake()
    assert connection.session.may_decode(key)
    closed = connection.send(key, request_)
    assert isinstance(closed, CloseConnection)
    assert closed.reply is None
    assert closed.refusal is not None
    assert (closed.refusal.code, closed.after_delay) == (ErrorCode.ILLEGAL_SASL_STATE, True)


def test_what_cannot_be_read_closes_the_connection() -> None:
    connection = Connection()
    closed = connection.session.unreadable("no header")
    assert "another security protocol" in closed.reason
    assert not is_open_after(connection.handshake())


def test_a_session_without_end_cannot_be_renewed() -> None:
    connection = Connection()
    connection.log_in()
    connection.now = 1e12
    assert handshake_reply(connection.handshake()) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert authenticate_reply(connection.token(LOGIN)) == (
        ErrorCode.ILLEGAL_SASL_STATE,
        "SaslAuthenticate request received after successful authentication",
        b"",
        0,
    )
    assert connection.metadata() == ServeRequest(principal=ALICE)


@pytest.mark.parametrize(
    ("allowed_ms", "credential_ms", "lifetime_ms"),
    [
        (0, None, None),
        (5000, None, 5000),
        (0, 3000, 3000),
        (5000, 3000, 3000),
        (3000, 5000, 3000),
        # A credential that has ended meanwhile: the session ends with the next millisecond.
        (5000, -1, 0),
        (0, -1, 0),
    ],
)
def test_a_session_lasts_as_long_as_both_allow(
    allowed_ms: int, credential_ms: int | None, lifetime_ms: int | None
) -> None:
    connection = Connection(max_reauthentication_ms=allowed_ms)
    token = b"alice" if credential_ms is None else f"alice {NOW_MS + credential_ms}".encode()

    accepted = connection.log_in("STEPS", token)

    assert authenticate_reply(accepted)[3] == (lifetime_ms or 0)
    connection.now = lifetime_ms if lifetime_ms is not None else 1e15
    assert connection.metadata() == ServeRequest(principal=ALICE)
    connection.now += 0.5
    assert is_open_after(connection.metadata()) == (lifetime_ms is None)


def test_a_session_that_has_ended_closes_without_a_reply() -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in()
    connection.now = 5001
    closed = connection.metadata()
    assert isinstance(closed, CloseConnection)
    assert (closed.reply, closed.refusal, closed.after_delay) == (None, None, False)
    assert not is_open_after(connection.handshake())


@pytest.mark.parametrize("when", [1.0, 4000.0, 60_000.0])
def test_a_session_is_renewed_also_after_its_end(when: float) -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in()
    connection.now = when
    renewed = connection.log_in()
    assert isinstance(renewed, SaslAnswer)
    assert renewed.session is not None
    assert (renewed.session.principal, renewed.session.renewed) == (ALICE, True)
    assert renewed.session.expires_at_ms == when + 5000
    assert connection.metadata() == ServeRequest(principal=ALICE)


def test_a_session_is_not_renewed_more_often_than_each_second() -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in()
    connection.now = 10
    connection.log_in()
    connection.now = 1009
    assert handshake_reply(connection.handshake())[0] == ErrorCode.ILLEGAL_SASL_STATE
    connection.now = 1010
    assert handshake_reply(connection.handshake())[0] == 0


def test_a_renewal_cannot_change_who_the_client_is() -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in()
    connection.now = 10
    closed = connection.log_in(token=b"\0bob\0planted-2")
    assert isinstance(closed, CloseConnection)
    assert authenticate_reply(closed)[:2] == (
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        "Cannot change principals during re-authentication from User.alice: User.bob",
    )
    assert connection.session.session is not None
    assert connection.session.session.principal == ALICE


@pytest.mark.parametrize("readable", [True, False])
def test_a_renewal_cannot_change_the_mechanism(readable: bool) -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in()
    connection.now = 10
    assert handshake_reply(connection.handshake("STEPS"))[0] == 0
    closed = connection.token(b"alice") if readable else connection.session.unreadable("no header")
    assert isinstance(closed, CloseConnection)
    assert (closed.reply, closed.refusal, closed.after_delay) == (None, None, True)


def test_a_failed_renewal_is_called_one() -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in("STEPS", b"alice")
    connection.now = 10
    assert authenticate_reply(connection.log_in("STEPS", b""))[1] == (
        "Authentication failed during re-authentication due to invalid credentials with SASL mechanism STEPS"
    )


def test_nothing_is_served_while_a_session_is_renewed() -> None:
    connection = Connection(max_reauthentication_ms=5000)
    connection.log_in("STEPS", b"alice")
    connection.now = 10
    connection.handshake("STEPS")
    assert connection.session.is_authenticating
    assert not is_open_after(connection.metadata())


def wait(connection: Connection) -> None:
    connection.now += 1500


EVENTS: dict[str, Callable[[Connection], SaslDecision | None]] = {
    "versions": lambda connection: connection.api_versions(),
    "answered": lambda connection: connection.session.api_versions_answered(0),
    "handshake": lambda connection: connection.handshake(),
    "old": lambda connection: connection.handshake(version=0),
    "steps": lambda connection: connection.handshake("STEPS"),
    "login": lambda connection: connection.token(LOGIN),
    "wrong": lambda connection: connection.token(b"\0alice\0wrong"),
    "bare": lambda connection: connection.session.receive_token(LOGIN, at(connection.now)),
    "metadata": lambda connection: connection.metadata(),
    "wait": wait,
}


@given(taken=st.lists(st.sampled_from(sorted(EVENTS)), max_size=12), allowed_ms=st.sampled_from([0, 2000]))
def test_nobody_is_served_without_having_logged_in(taken: list[str], allowed_ms: int) -> None:
    connection = Connection(max_reauthentication_ms=allowed_ms)
    closed = logged_in = False
    for event in taken:
        decision = EVENTS[event](connection)
        assert not closed or decision is None or isinstance(decision, CloseConnection)
        assert logged_in or not isinstance(decision, ServeRequest)
        logged_in = logged_in or (isinstance(decision, SaslAnswer) and decision.session is not None)
        closed = closed or isinstance(decision, CloseConnection)
        assert logged_in == (connection.session.session is not None)
        assert "planted" not in repr(decision)
