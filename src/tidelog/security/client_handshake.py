"""The client's side of SASL on one connection: which request to send next, and what the server's replies come to.

The counterpart of `sasl_session.py`, which is the server's side. It serves one authentication; the next one, which
renews the session before it ends (KIP-368), is another object. The mechanisms are behind `SaslClientExchange`.

    begin --> SaslHandshake --> SaslAuthenticate, once per token --> accepted, or refused
                                     ^      |
                                     +------+  (SCRAM: with a salted password, which the caller derives in a thread)

Sending, and deriving, belong to the caller: `tidelog.network.sasl_login`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tidelog.protocol.schema import Message, Versions
from tidelog.security.exchange import ClientAuthenticated, ClientToken, OutOfTurn, SaslFailure
from tidelog.security.scram import PasswordSalting

# Before this version of SaslHandshake, tokens are frames of their own. Brokers have it since Kafka 1.0.
_HANDSHAKE_VERSION = 1

# A session is renewed when so much of it is over, as in Kafka's client: early enough for a slow network and for clocks
# that differ, and not at the same moment on all connections.
RENEWAL_FROM = 0.85
RENEWAL_TO = 0.95
# Brokers do not let a session be renewed more often. One that ends before can still be renewed afterwards.
_SHORTEST_INTERVAL_MS = 1000.0


class SaslClientExchange(Protocol):
    """One authentication of this client with a mechanism."""

    def first_token(self) -> bytes: ...

    def answer(self, token: bytes) -> PasswordSalting | ClientToken | ClientAuthenticated | SaslFailure: ...


@runtime_checkable
class _Proving(Protocol):
    """An exchange that needs the salted password: SCRAM."""

    def prove(self, salted_password: bytes) -> ClientToken: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskServer:
    """Send the request in this version, and give the reply to `answered`. The request may carry a secret."""

    request: SaslHandshakeRequest | SaslAuthenticateRequest
    expected: type[Message]
    version: int

    def __repr__(self) -> str:
        return f"<AskServer {type(self.request).__name__} version {self.version}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedIn:
    """The server has accepted the client. 0 if the session does not end."""

    session_lifetime_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRefusal:
    """The server, or this client, does not go on. `reason` is a sentence for the user, without any secret."""

    reason: str


ClientStep = AskServer | PasswordSalting | LoggedIn | LoginRefusal


class SaslClientHandshake:
    """`remedy` says what to look at when the server refuses the credentials."""

    __slots__ = ("_exchange", "_mechanism", "_remedy", "_token_version", "_user", "_versions")

    def __init__(
        self,
        *,
        mechanism: str,
        user: str,
        exchange: SaslClientExchange,
        versions: Mapping[int, Versions],
        remedy: str,
    ) -> None:
        self._mechanism = mechanism
        self._user = user
        self._exchange = exchange
        self._versions = versions
        self._remedy = remedy
        self._token_version = 0

    def begin(self) -> AskServer | LoginRefusal:
        newest = self._newest(SaslHandshakeRequest)
        tokens = self._newest(SaslAuthenticateRequest)
        if newest is None or newest < _HANDSHAKE_VERSION or tokens is None:
            return LoginRefusal(
                reason="the broker does not serve SaslHandshake and SaslAuthenticate, which SASL needs: it is older "
                "than Kafka 1.0, or not a broker"
            )
        self._token_version = tokens
        request = SaslHandshakeRequest(mechanism=self._mechanism)
        return AskServer(request=request, expected=SaslHandshakeResponse, version=_HANDSHAKE_VERSION)

    def answered(self, reply: Message) -> ClientStep:
        match reply:
            case SaslHandshakeResponse():
                return self._after_handshake(reply.error_code, reply.mechanisms)
            case SaslAuthenticateResponse():
                return self._after_token(reply)
            case _:
                raise OutOfTurn(f"{type(reply).__name__} is no reply to a request of SASL")

    def salted(self, salted_password: bytes) -> ClientStep:
        assert isinstance(self._exchange, _Proving)
        return self._send(self._exchange.prove(salted_password).token)

    def _after_handshake(self, code: int, enabled: Sequence[str]) -> ClientStep:
        if code == ErrorCode.NONE:
            return self._send(self._exchange.first_token())
        if code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            return LoginRefusal(
                reason=f"the broker does not enable the mechanism {self._mechanism}, only {', '.join(enabled)}: set "
                "sasl.mechanism to one of these"
            )
        if code == ErrorCode.ILLEGAL_SASL_STATE:
            return LoginRefusal(
                reason="the broker does not use SASL on this port: set security.protocol to PLAINTEXT instead of "
                "SASL_PLAINTEXT, or to SSL instead of SASL_SSL, or connect to the port of another listener"
            )
        return LoginRefusal(reason=f"the broker refuses the handshake of {self._mechanism} with error code {code}")

    def _after_token(self, reply: SaslAuthenticateResponse) -> ClientStep:
        if reply.error_code != ErrorCode.NONE:
            said = reply.error_message or f"error code {reply.error_code}"
            return LoginRefusal(
                reason=f"the broker refuses {self._user} with {self._mechanism}: {said.rstrip('.')}. {self._remedy}"
            )
        outcome = self._exchange.answer(bytes(reply.auth_bytes))
        match outcome:
            case PasswordSalting():
                return outcome
            case ClientToken():
                return self._send(outcome.token)
            case ClientAuthenticated():
                return LoggedIn(session_lifetime_ms=max(0, reply.session_lifetime_ms))
            case SaslFailure():
                return LoginRefusal(reason=f"{self._mechanism} for {self._user}: {outcome.reason}")

    def _send(self, token: bytes) -> AskServer:
        request = SaslAuthenticateRequest(auth_bytes=token)
        return AskServer(request=request, expected=SaslAuthenticateResponse, version=self._token_version)

    def _newest(self, request_class: type[Message]) -> int | None:
        schema = request_class.SCHEMA
        theirs = self._versions.get(schema.api_key)
        if theirs is None:
            return None
        version = min(schema.valid[1], theirs[1])
        return version if version >= max(schema.valid[0], theirs[0]) else None


def renewal_after_ms(session_lifetime_ms: int, part: float) -> float | None:
    """When to renew a session, counted from its beginning; None for one that does not end.

    `part` is a random number from `RENEWAL_FROM` to `RENEWAL_TO`.
    """
    return max(session_lifetime_ms * part, _SHORTEST_INTERVAL_MS) if session_lifetime_ms > 0 else None
