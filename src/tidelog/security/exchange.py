"""What a mechanism of SASL returns for each token of the other side, on the server and on the client.

The mechanisms are in `scram.py`, `plain.py` and `oauthbearer.py`. The requests that carry the tokens of a server are in
`sasl_session.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslChallenge:
    """The server sends this token and waits for the next one."""

    token: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSuccess:
    """The server knows who the client is."""

    # For the client, which needs it to know the server in turn (SCRAM). Empty in the other mechanisms.
    token: bytes = field(repr=False)
    user: str
    # When the credential ends, in milliseconds since 1970, if it does.
    expires_at_ms: int | None = None
    # Whether the credential was a delegation token (KIP-48), which may not create others.
    by_delegation_token: bool = False
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslFailure:
    """The exchange has ended. Neither text contains a secret, nor any part of a token."""

    # For the log.
    reason: str
    # For the client. None for what could help to guess, such as whether a user exists: the client then learns only that
    # its credentials are invalid.
    told: str | None = None


SaslOutcome = SaslChallenge | SaslSuccess | SaslFailure


class SaslServerExchange(Protocol):
    """One authentication of one client. It ends with a success or a failure and is then not used any more."""

    def evaluate(self, token: bytes, now_ms: int) -> SaslOutcome:
        """`now_ms` is wall time: credentials say in it when they end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientToken:
    """The client sends this token."""

    token: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAuthenticated:
    """The server has accepted the client and, if the mechanism can, has proved that it is the server."""


class OutOfTurn(Exception):
    """A token for an exchange that has ended or not begun: a mistake of the caller, not of the other side."""
