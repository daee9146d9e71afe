"""SASL/PLAIN (RFC 4616) as Kafka speaks it: one message with the user and the password, on both sides.

The users of a server are options `user_<name>="<password>"` of its JAAS configuration, which `jaas.py` parses. The
password crosses the network as it is: a listener with this mechanism needs TLS.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.exchange import ClientAuthenticated, OutOfTurn, SaslFailure, SaslSuccess

PLAIN = "PLAIN"
USER_PREFIX = "user_"

_TOKENS = 3
# What an unknown user's password is compared with, so that it takes as long as with a known one.
_NOBODY = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainUsers:
    passwords: Mapping[str, str] = field(repr=False)

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> PlainUsers:
        """The users among the options of a JAAS entry."""
        return cls(
            passwords={
                name.removeprefix(USER_PREFIX): value for name, value in options.items() if name.startswith(USER_PREFIX)
            }
        )

    def verify(self, user: str, password: str) -> bool:
        expected = self.passwords.get(user)
        same = hmac.compare_digest(_NOBODY if expected is None else _bytes(expected), _bytes(password))
        return same and expected is not None


class PlainServerExchange:
    """The server's side: it succeeds or fails with the first token."""

    __slots__ = ("_ended", "_users")

    def __init__(self, *, users: PlainUsers) -> None:
        self._users = users
        self._ended = False

    def evaluate(self, token: bytes, now_ms: int) -> SaslSuccess | SaslFailure:
        if self._ended:
            raise OutOfTurn(f"{PLAIN}: the exchange has ended")
        self._ended = True
        # Kafka reads what is not UTF-8 with replacement characters, and so do we.
        tokens = token.decode(errors="replace").split("\0", _TOKENS)
        if len(tokens) != _TOKENS:
            return _refused(f"Invalid SASL/PLAIN response: expected {_TOKENS} tokens, got {len(tokens)}")
        authorization_id, user, password = tokens
        if not user:
            return _refused("Authentication failed: username not specified")
        if not password:
            return _refused("Authentication failed: password not specified")
        if not self._users.verify(user, password):
            return _refused("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            return _refused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        return SaslSuccess(token=b"", user=user)


class PlainClientExchange:
    """The client's side. What the server answers is only whether it accepts."""

    __slots__ = ("_token",)

    def __init__(self, *, user: str, password: str) -> None:
        for name, value in (("user name", user), ("password", password)):
            if not value:
                raise ValueError(f"{PLAIN} needs a {name}, and it is empty")
            if "\0" in value:
                raise ValueError(f"{PLAIN} cannot send a {name} with a NUL character")
        self._token = f"\0{user}\0{password}".encode()

    def first_token(self) -> bytes:
        return self._token

    def answer(self, token: bytes) -> ClientAuthenticated:
        return ClientAuthenticated()


def _refused(text: str) -> SaslFailure:
    """As in Kafka, the client learns the reason: none of them says whether the user exists."""
    return SaslFailure(reason=text, told=text)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
