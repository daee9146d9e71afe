"""OAUTHBEARER (RFC 7628, KIP-255) with extensions (KIP-342): the exchange on both sides.

What makes a token valid is behind `TokenValidator`: `unsecured_tokens.py` for development, `jwt_tokens.py` for signed
tokens. How a client obtains a token is not known here. No error and no repr contains a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.exchange import (
    ClientAuthenticated,
    ClientToken,
    OutOfTurn,
    SaslChallenge,
    SaslFailure,
    SaslOutcome,
    SaslSuccess,
)

OAUTHBEARER = "OAUTHBEARER"

_SEPARATOR = "\x01"
# The client's answer to an error: the server then fails the exchange.
_ERROR_SEEN = b"\x01"
_AUTH = "auth"

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_EXTENSION_NAME = r"[A-Za-z]+"
_EXTENSION_VALUE = r"[\x21-\x7e \t\r\n]+"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,\x01(?P<pairs>(?:{_EXTENSION_NAME}={_EXTENSION_VALUE}\x01)*)\x01"
)
_BEARER = re.compile(r"(?P<scheme>[A-Za-z0-9_]+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """What a valid token says, without the token itself."""

    principal_name: str
    scopes: frozenset[str] = frozenset()
    # Both in milliseconds since 1970.
    expires_at_ms: int
    started_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRefusal:
    """Why a token is not valid. The client learns the status and the scope, the log the reason."""

    reason: str
    status: str = "invalid_token"
    # What would have been needed.
    scope: str | None = None

    def as_json(self) -> str:
        """Spelled as Kafka does, spaces included: clients show it, and some compare it."""
        scope = "" if self.scope is None else f', "scope":"{self.scope}"'
        return f'{{"status":"{self.status}"{scope}}}'


class TokenValidator(Protocol):
    """Checking a signature takes tenths of a millisecond and is done where it is called."""

    def validate(self, token: str, now_ms: int) -> BearerToken | TokenRefusal: ...


class MalformedBearerMessage(Exception):
    """Says what is wrong, never what is in the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerFirstMessage:
    """The client's first message. Of a pair that is there twice, the last counts."""

    authorization_id: str = ""
    token: str = field(repr=False)
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, message: bytes) -> BearerFirstMessage:
        """Raises MalformedBearerMessage."""
        try:
            found = _FIRST.fullmatch(message.decode("ascii"))
        except UnicodeDecodeError:
            # The cause would carry the message.
            raise MalformedBearerMessage("the client's first message has bytes that are not ASCII") from None
        if found is None:
            raise MalformedBearerMessage("the client's first message is malformed")
        split = (pair.partition("=") for pair in found["pairs"].split(_SEPARATOR)[:-1])
        pairs = {name: value for name, _, value in split}
        authorization = pairs.pop(_AUTH, None)
        if authorization is None:
            raise MalformedBearerMessage("the client's first message has no 'auth'")
        bearer = _BEARER.fullmatch(authorization)
        if bearer is None:
            raise MalformedBearerMessage("'auth' of the client's first message is malformed")
        if bearer["scheme"].lower() != "bearer":
            raise MalformedBearerMessage("'auth' of the client's first message has another scheme than Bearer")
        return cls(
            authorization_id=found["authorization_id"] or "",
            token=bearer["token"],
            extensions=pairs,
        )

    def to_bytes(self) -> bytes:
        authorization_id = f"a={self.authorization_id}" if self.authorization_id else ""
        pairs = {_AUTH: f"Bearer {self.token}", **self.extensions}
        written = "".join(f"{name}={value}{_SEPARATOR}" for name, value in pairs.items())
        return f"n,{authorization_id},{_SEPARATOR}{written}{_SEPARATOR}".encode()


class OAuthBearerServerExchange:
    """The server's side. A refused token is answered with an error, which the client acknowledges before it fails.

    Kafka's server would take another token instead of the acknowledgement, as often as the client likes. Here nothing
    else is accepted, so that each guess costs a connection and its delay.
    """

    __slots__ = ("_ended", "_refusal", "_validator")

    def __init__(self, *, validator: TokenValidator) -> None:
        self._validator = validator
        self._refusal: TokenRefusal | None = None
        self._ended = False

    def evaluate(self, token: bytes, now_ms: int) -> SaslOutcome:
        if self._ended:
            raise OutOfTurn(f"{OAUTHBEARER}: the exchange has ended")
        outcome = self._first(token, now_ms) if self._refusal is None else self._acknowledged(token, self._refusal)
        self._ended = not isinstance(outcome, SaslChallenge)
        return outcome

    def _first(self, message: bytes, now_ms: int) -> SaslOutcome:
        try:
            first = BearerFirstMessage.parse(message)
        except MalformedBearerMessage as error:
            return SaslFailure(reason=str(error))
        token = self._validator.validate(first.token, now_ms)
        if isinstance(token, TokenRefusal):
            self._refusal = token
            return SaslChallenge(token=token.as_json().encode())
        if first.authorization_id not in ("", token.principal_name):
            text = (
                f"Authentication failed: Client requested an authorization id ({first.authorization_id}) that is "
                f"different from the token's principal name ({token.principal_name})"
            )
            return SaslFailure(reason=text, told=text)
        # Both validators of Kafka accept every extension.
        return SaslSuccess(
            token=b"",
            user=token.principal_name,
            expires_at_ms=token.expires_at_ms,
            extensions=first.extensions,
        )

    def _acknowledged(self, message: bytes, refusal: TokenRefusal) -> SaslFailure:
        if message != _ERROR_SEEN:
            return SaslFailure(reason=f"the client did not acknowledge the error: {refusal.reason}")
        return SaslFailure(reason=refusal.reason, told=refusal.as_json())


class OAuthBearerClientExchange:
    """The client's side. After a refusal it sends the acknowledgement, and the server's reply has the error."""

    __slots__ = ("_ended", "_message")

    def __init__(self, *, token: str, extensions: Mapping[str, str] | None = None) -> None:
        problem = extensions_problem(extensions or {})
        if problem:
            raise ValueError(problem)
        self._message = BearerFirstMessage(token=token, extensions=dict(extensions or {}))
        self._ended = False

    def first_token(self) -> bytes:
        return self._message.to_bytes()

    def answer(self, token: bytes) -> ClientToken | ClientAuthenticated:
        if self._ended:
            raise OutOfTurn(f"{OAUTHBEARER}: the exchange has ended")
        self._ended = True
        return ClientToken(token=_ERROR_SEEN) if token else ClientAuthenticated()


def extensions_problem(extensions: Mapping[str, str]) -> str | None:
    """Why a client cannot send these extensions, or None. Values are not shown: they may be secret."""
    for name, value in extensions.items():
        if name == _AUTH:
            return "an extension cannot have the name 'auth': the token has it"
        if not re.fullmatch(_EXTENSION_NAME, name):
            return f"the extension {name!r} has an invalid name: use letters a-z and A-Z only"
        if not re.fullmatch(_EXTENSION_VALUE, value):
            return f"the value of the extension {name!r} must be printable ASCII and not empty"
    return None


def is_encodable(name: str) -> bool:
    """JSON can spell halves of surrogate pairs, which are not characters and have no UTF-8. No name may have one."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
