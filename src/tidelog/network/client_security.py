"""How a client secures its connections: TLS, and who it logs in as. From Kafka's properties.

A `ClientSecurity` is part of `ConnectionSettings`, for clients and for nodes that connect to each other. The TLS
contexts themselves are made in `tls.py`, the login in `sasl_login.py`.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import field

from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import SecurityProtocol
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock, Randomness
from tidelog.network.system import SystemClock, SystemRandomness
from tidelog.network.tls import TlsSettings, client_context
from tidelog.network.tokens import TokenProvider, TokenSource, provider_named
from tidelog.security.client_login import (
    ClientLogin,
    GivenTokens,
    InvalidLogin,
    PasswordLogin,
    TokenLogin,
    read_login,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSecurity:
    """Has credentials. Not to be compared, shown or pickled: whoever needs it elsewhere sends the properties there."""

    protocol: SecurityProtocol
    # The context for a new connection; None without TLS. Called in a thread: it may read files.
    tls: Callable[[], ssl.SSLContext] | None = field(default=None, repr=False)
    login: ClientLogin | None = None
    tokens: TokenSource | None = field(default=None, repr=False)
    randomness: Randomness = field(default_factory=SystemRandomness, repr=False)

    @property
    def user(self) -> str:
        """For messages."""
        match self.login:
            case PasswordLogin(user=user):
                return f"the user {user!r}"
            case TokenLogin():
                return "the token"
            case None:
                return "nobody"


def client_security(
    protocol: SecurityProtocol,
    properties: Mapping[str, str],
    *,
    tls: TlsSettings | None = None,
    token_provider: TokenProvider | None = None,
    clock: Clock | None = None,
) -> ClientSecurity:
    """From properties with Java's names, of which those that the protocol does not need are not looked at.

    `tls` is for whoever has read those of TLS already. Raises InvalidConfig, which shows no secret.
    """
    context: Callable[[], ssl.SSLContext] | None = None
    if protocol.uses_tls:
        context = _CurrentContext(tls if tls is not None else TlsSettings.from_properties(properties))
    login: ClientLogin | None = None
    tokens: TokenSource | None = None
    if protocol.uses_sasl:
        try:
            login = read_login(properties, has_provider=token_provider is not None)
        except InvalidLogin as error:
            raise InvalidConfig(str(error)) from None
        if isinstance(login, TokenLogin):
            tokens = _token_source(login, token_provider, clock if clock is not None else SystemClock())
    return ClientSecurity(protocol=protocol, tls=context, login=login, tokens=tokens)


def _token_source(login: TokenLogin, provider: TokenProvider | None, clock: Clock) -> TokenSource:
    if isinstance(login.tokens, GivenTokens):
        return TokenSource(provider if provider is not None else provider_named(login.tokens), clock)
    return TokenSource(login.tokens, clock)


class _CurrentContext:
    """One context for all connections, and another one when a file that it was made of has changed."""

    __slots__ = ("_context", "_seen", "_settings")

    def __init__(self, settings: TlsSettings) -> None:
        self._settings = settings
        self._context: ssl.SSLContext | None = None
        self._seen: list[tuple[int, int]] = []

    def __call__(self) -> ssl.SSLContext:
        seen = [_state(each) for each in self._settings.files]
        if self._context is None:
            self._context, self._seen = client_context(self._settings), seen
        elif seen != self._seen:
            try:
                self._context, self._seen = client_context(self._settings), seen
            except InvalidConfig as error:
                # It may be half written: the next connection looks again.
                logger.warning("the certificates have changed and cannot be used, the old ones are: %s", error)
        return self._context


def _state(path: str) -> tuple[int, int]:
    """What changes with a file; nothing for one that is not there, which reading it reports."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
