"""The client's side of SASL, on a raw connection: one authentication, or single steps of it."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

from support.raw_client import RawClient

from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.security.exchange import ClientAuthenticated, ClientToken
from tidelog.security.oauthbearer import OAuthBearerClientExchange
from tidelog.security.plain import PlainClientExchange
from tidelog.security.scram import (
    SCRAM_MECHANISMS,
    PasswordSalting,
    ScramClientExchange,
    derive_salted_password,
    scram_nonce,
)

NONCE = scram_nonce(bytes(range(18)))


class Refused(Exception):
    """The broker's reply has an error."""

    def __init__(self, reply: Any) -> None:
        super().__init__(reply.error_code, getattr(reply, "error_message", None))
        self.code: int = reply.error_code
        self.message: str | None = getattr(reply, "error_message", None)


async def handshake(client: RawClient, mechanism: str, version: int = 1) -> None:
    reply = await client.ask(SaslHandshakeRequest(mechanism=mechanism), version)
    if reply.error_code:
        raise Refused(reply)


async def send_token(client: RawClient, token: bytes) -> Any:
    reply = await client.ask(SaslAuthenticateRequest(auth_bytes=token))
    if reply.error_code:
        raise Refused(reply)
    return reply


async def authenticate(client: RawClient, mechanism: str, user: str, password: str) -> Any:
    """The last reply. `password` of OAUTHBEARER is a token. Raises Refused."""
    await handshake(client, mechanism)
    exchange: PlainClientExchange | ScramClientExchange | OAuthBearerClientExchange
    if mechanism == "PLAIN":
        exchange = PlainClientExchange(user=user, password=password)
    elif mechanism == "OAUTHBEARER":
        exchange = OAuthBearerClientExchange(token=password)
    else:
        exchange = ScramClientExchange(mechanism=SCRAM_MECHANISMS[mechanism], user=user, nonce=NONCE)
    token = exchange.first_token()
    while True:
        reply = await send_token(client, token)
        answer = exchange.answer(reply.auth_bytes)
        if isinstance(answer, PasswordSalting):
            salted = derive_salted_password(answer.mechanism, password, answer.salt, answer.iterations)
            assert isinstance(exchange, ScramClientExchange)
            answer = exchange.prove(salted)
        if isinstance(answer, ClientAuthenticated):
            return reply
        assert isinstance(answer, ClientToken), answer
        token = answer.token


def unsecured_token(name: str, *, expires: float, **claims: Any) -> str:
    """A token that anybody can make."""
    sections = ({"alg": "none"}, {"sub": name, "iat": 1, "exp": expires, **claims})
    return ".".join(urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in sections) + "."
