"""Logs a client in over a connection: does what `tidelog.security.client_handshake` decides.

Deriving a key from a password takes milliseconds (SCRAM), so it is done in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from tidelog.network.client_security import ClientSecurity
from tidelog.network.tokens import NoToken
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
from tidelog.security.client_login import PasswordLogin, TokenLogin
from tidelog.security.oauthbearer import OAUTHBEARER, OAuthBearerClientExchange
from tidelog.security.scram import NONCE_BYTES, PasswordSalting, derive_salted_password, scram_nonce

# Sends a request in a version, and gives the reply.
Ask = Callable[[Message, type[Message], int], Awaitable[Message]]

_PASSWORD_REMEDY = "Check the user name and the password (sasl.jaas.config), and that the user has them on this cluster"
_TOKEN_REMEDY = "Check the token: whether it has expired, and whether its issuer, audience and scope are those required"


class LoginFailed(Exception):
    """A sentence for the user. `is_final` if trying again will not help."""

    def __init__(self, message: str, *, is_final: bool = True) -> None:
        super().__init__(message)
        self.is_final = is_final


async def log_in(security: ClientSecurity, versions: Mapping[int, Versions], ask: Ask) -> float | None:
    """Authenticate; returns after how many milliseconds to do it again, or None. Raises LoginFailed."""
    login = security.login
    assert login is not None
    handshake = SaslClientHandshake(
        mechanism=login.mechanism if isinstance(login, PasswordLogin) else OAUTHBEARER,
        user=security.user,
        exchange=await _exchange(security, login),
        versions=versions,
        remedy=_PASSWORD_REMEDY if isinstance(login, PasswordLogin) else _TOKEN_REMEDY,
    )
    step: ClientStep = handshake.begin()
    while True:
        match step:
            case AskServer():
                step = handshake.answered(await ask(step.request, step.expected, step.version))
            case PasswordSalting():
                assert isinstance(login, PasswordLogin)
                step = handshake.salted(
                    await asyncio.to_thread(
                        derive_salted_password, step.mechanism, login.password, step.salt, step.iterations
                    )
                )
            case LoggedIn():
                part = security.randomness.uniform(RENEWAL_FROM, RENEWAL_TO)
                return renewal_after_ms(step.session_lifetime_ms, part)
            case LoginRefusal():
                raise LoginFailed(step.reason)


async def _exchange(security: ClientSecurity, login: PasswordLogin | TokenLogin) -> SaslClientExchange:
    if isinstance(login, PasswordLogin):
        return login.start(scram_nonce(security.randomness.random_bytes(NONCE_BYTES)))
    assert security.tokens is not None
    try:
        token = await security.tokens.token()
    except NoToken as error:
        raise LoginFailed(str(error), is_final=error.final) from error
    return OAuthBearerClientExchange(token=token, extensions=login.extensions)
