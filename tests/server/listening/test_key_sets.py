"""Signed tokens on a listener: the key set comes from a file or an address, and is fetched again when keys change."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from server.listening.conftest import SecuredBroker, secured_broker
from server.listening.test_sasl_gate import is_served, principals
from support.processes import HANG_SECONDS, accepts_connections, free_port
from support.raw_client import raw_client
from support.sasl_client import Refused, authenticate, unsecured_token

from tidelog.model.principal import Principal
from tidelog.server.failures import StartFailure
from tidelog.server.listening import key_sets

jwk = pytest.importorskip("joserfc.jwk", reason="signed tokens need the optional package joserfc")
jws = pytest.importorskip("joserfc.jws", reason="signed tokens need the optional package joserfc")

SIGNED = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


def new_key(name: str) -> Any:
    return jwk.ECKey.generate_key("P-256", {"kid": name})


def key_set(*keys: Any) -> bytes:
    return json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()


def signed(key: Any, user: str = "alice", **claims: Any) -> str:
    content = {"sub": user, "iat": int(time.time()) - 5, "exp": int(time.time()) + 60, **claims}
    protected = {"alg": "ES256", "kid": key.as_dict()["kid"]}
    registry = jws.JWSRegistry(algorithms=["ES256"])
    token: str = jws.serialize_compact(protected, json.dumps(content).encode(), key, registry=registry)
    return token


async def log_in(broker: SecuredBroker, token: str) -> bool:
    async with raw_client(broker.secured) as client:
        try:
            await authenticate(client, "OAUTHBEARER", "", token)
        except Refused as refused:
            if refused.message == '{"status":"invalid_token"}':
                return False
            raise
        assert await is_served(client)
        assert Principal(type="User", name="alice") in principals(broker)
        return True


def listener(url: str, **more: str) -> dict[str, str]:
    return {
        "sasl_enabled_mechanisms": "OAUTHBEARER",
        "sasl_oauthbearer_jwks_endpoint_url": url,
        "listener_name_secured_oauthbearer_sasl_server_callback_handler_class": SIGNED,
        "connection_failed_authentication_delay_ms": "0",
        **more,
    }


async def test_a_file_of_keys(tmp_path: Path) -> None:
    key = new_key("a")
    path = tmp_path / "key set.json"
    path.write_bytes(key_set(key))
    properties = listener(path.as_uri(), sasl_oauthbearer_expected_audience="kafka,other")
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker:
        assert await log_in(broker, signed(key, aud="kafka"))
        assert not await log_in(broker, signed(key))
        assert not await log_in(broker, signed(new_key("a"), aud="kafka"))
        # Where signatures are checked, none is missing.
        assert not await log_in(broker, unsecured_token("alice", expires=time.time() + 60))


@pytest.mark.parametrize(("content", "said"), [(None, "No such file or directory"), (b"{}", "is not JSON of the form")])
async def test_a_file_must_have_keys_when_the_listener_opens(content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StartFailure) as raised:
        async with secured_broker("SASL_PLAINTEXT", **listener(path.as_uri())):
            pass
    assert said in str(raised.value)
    assert str(path.as_uri()) in str(raised.value)


class KeyServer:
    """What an identity provider serves."""

    def __init__(self) -> None:
        self.content = b""
        self.asked = 0
        self.before_answer: Callable[[], None] = lambda: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                outer.before_answer()
                self.send_response(200 if outer.content else 503)
                self.end_headers()
                self.wfile.write(outer.content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def provider() -> Iterator[KeyServer]:
    server = KeyServer()
    yield server
    server.close()


async def eventually_logged_in(broker: SecuredBroker, token: str) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not await log_in(broker, token):
        assert time.monotonic() < deadline


async def test_no_listener_is_open_before_all_are_prepared(provider: KeyServer) -> None:
    """Whoever waits for one of the ports may use the others at once."""
    open_port, secured_port = free_port(), free_port()
    open_meanwhile: list[bool] = []
    provider.before_answer = lambda: open_meanwhile.append(accepts_connections(open_port))
    provider.content = key_set(new_key("a"))
    listeners = f"PLAINTEXT://127.0.0.1:{open_port},SECURED://127.0.0.1:{secured_port}"
    async with secured_broker("SASL_PLAINTEXT", listeners=listeners, **listener(provider.url)):
        assert open_meanwhile == [False]
        assert accepts_connections(open_port)
        assert accepts_connections(secured_port)


async def test_an_address_that_answers_later(provider: KeyServer) -> None:
    key = new_key("a")
    properties = listener(provider.url, sasl_oauthbearer_jwks_endpoint_retry_backoff_ms="10")
    async with secured_broker("SASL_PLAINTEXT", **properties) as broker:
        assert not await log_in(broker, signed(key))
        provider.content = key_set(key)
        await eventually_logged_in(broker, signed(key))


async def test_new_keys_are_fetched_when_a_token_is_refused(
    provider: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_sets, "EARLIEST_SECONDS", 0.05)
    old, new = new_key("old"), new_key("new")
    provider.content = key_set(old)
    async with secured_broker("SASL_PLAINTEXT", **listener(provider.url)) as broker:
        assert await log_in(broker, signed(old))
        assert not await log_in(broker, signed(new))
        provider.content = key_set(old, new)
        await eventually_logged_in(broker, signed(new))
        # A provider that is away for a while locks nobody out.
        provider.content = b""
        assert not await log_in(broker, signed(new_key("x")))
        assert await log_in(broker, signed(new))
