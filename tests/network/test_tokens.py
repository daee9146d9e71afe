"""Where tokens come from, and when the next one is asked for."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tidelog.config.definitions import InvalidConfig
from tidelog.network.tokens import NoToken, TokenSource, as_milliseconds, provider_named
from tidelog.security.client_login import GivenTokens, TokenEndpoint
from tidelog.security.unsecured_login import UnsecuredTokens

START_MS = 1_700_000_000_000


class Time:
    def __init__(self) -> None:
        self.ms = START_MS

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> float:
        return float(self.ms)


@dataclass
class Provider:
    """A new token each time, which is valid for 100 seconds."""

    time: Time
    calls: int = 0
    fails: bool = False

    def __call__(self) -> tuple[str, float]:
        assert threading.current_thread() is not threading.main_thread(), "it may take its time"
        self.calls += 1
        if self.fails:
            raise ConnectionError("the token server is away")
        return f"token-{self.calls}", self.time.ms / 1000 + 100

    async def ask(self) -> tuple[str, int]:
        await asyncio.sleep(0)
        self.calls += 1
        return f"token-{self.calls}", self.time.ms + 100_000


async def test_a_token_is_used_again_and_replaced_before_it_ends() -> None:
    time = Time()
    provider = Provider(time)
    source = TokenSource(provider, time)
    assert await asyncio.gather(*(source.token() for _ in range(5))) == ["token-1"] * 5
    time.ms += 79_000
    assert await source.token() == "token-1"
    time.ms += 1_000
    assert await source.token() == "token-2"
    assert provider.calls == 2


async def test_an_async_function_is_awaited() -> None:
    time = Time()
    provider = Provider(time)
    source = TokenSource(provider.ask, time)
    assert await source.token() == "token-1"
    assert await source.token() == "token-1"


async def test_an_old_token_serves_while_there_is_no_new_one() -> None:
    time = Time()
    provider = Provider(time)
    source = TokenSource(provider, time)
    await source.token()
    provider.fails = True
    time.ms += 90_000
    assert await source.token() == "token-1"
    time.ms += 10_000
    with pytest.raises(
        NoToken, match="the token provider failed with ConnectionError: the token server is away"
    ) as error:
        await source.token()
    assert not error.value.final


@pytest.mark.parametrize("answer", [None, 3, "", ("token",), ("token", "tomorrow"), ("token", True), (b"x", 1)])
async def test_what_a_function_must_return(answer: object) -> None:
    with pytest.raises(NoToken, match="the token provider") as error:
        await TokenSource(lambda: answer, Time()).token()
    assert error.value.final


@pytest.mark.parametrize(
    ("expiry", "expected"),
    [
        (None, None),
        (START_MS, START_MS),
        (START_MS / 1000, START_MS),
        (datetime.fromtimestamp(START_MS / 1000, UTC), START_MS),
    ],
)
def test_the_end_of_a_token_in_seconds_or_milliseconds(expiry: object, expected: float | None) -> None:
    assert as_milliseconds(expiry) == expected


async def test_a_token_that_says_itself_when_it_ends() -> None:
    time = Time()
    tokens = UnsecuredTokens(principal="alice", claims={"sub": "alice"}, lifetime_seconds=100)
    calls = []

    def provider() -> str:
        calls.append(time.ms)
        return tokens.token(time.ms)[0]

    source = TokenSource(provider, time)
    await source.token()
    time.ms += 50_000
    await source.token()
    assert len(calls) == 1
    time.ms += 50_000
    await source.token()
    assert len(calls) == 2


def test_a_function_by_its_name() -> None:
    assert provider_named(GivenTokens(name="os.path:join")) is __import__("os").path.join


@pytest.mark.parametrize("name", ["nothing", "no.such.module:x", "os.path:missing", "os:sep", ":x"])
def test_a_name_that_is_not_that_of_a_function(name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"sasl.oauth.token.provider={name}"):
        provider_named(GivenTokens(name=name))


# -- the token endpoint --------------------------------------------------------------------------------------------


@dataclass
class Endpoint:
    url: str = ""
    status: int = 200
    reply: bytes = b'{"access_token": "issued", "expires_in": 100}'
    bodies: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            found.authorizations.append(self.headers["Authorization"])
            self.send_response(found.status)
            self.end_headers()
            self.wfile.write(found.reply)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/token"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asking(url: str, **others: object) -> TokenSource:
    return TokenSource(
        TokenEndpoint(url=url, client_id="a b", client_secret="planted:secret", scope="kafka", **others),  # type: ignore[arg-type]
        Time(),
    )


async def test_credentials_of_a_client_become_a_token() -> None:
    with endpoint() as server:
        assert await asking(server.url).token() == "issued"
        assert await asking(server.url, encode_header=True).token() == "issued"
    assert server.bodies == ["grant_type=client_credentials&scope=kafka"] * 2
    plain, encoded = (base64.b64decode(each.removeprefix("Basic ")).decode() for each in server.authorizations)
    assert plain == "a b:planted:secret"
    assert encoded == "a%20b:planted%3Asecret"


@pytest.mark.parametrize(
    ("status", "reply", "said", "final"),
    [
        (
            401,
            b'{"error": "planted:secret is wrong"}',
            "refuses a token for the client 'a b' with HTTP status 401",
            True,
        ),
        (503, b"", "with HTTP status 503", False),
        (200, b"<html>", "did not answer with JSON", False),
        (200, json.dumps([1]).encode(), "has no access_token", False),
    ],
)
async def test_an_endpoint_that_gives_no_token(status: int, reply: bytes, said: str, final: bool) -> None:
    with endpoint() as server:
        server.status, server.reply = status, reply
        with pytest.raises(NoToken, match=said) as error:
            await asking(server.url).token()
    assert error.value.final is final
    assert "planted" not in str(error.value)


async def test_nobody_at_the_endpoint() -> None:
    with pytest.raises(NoToken, match=r"http://127.0.0.1:1/token gives no token: .*refused"):
        await asking("http://127.0.0.1:1/token").token()


async def test_a_token_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "my token"
    with pytest.raises(NoToken, match="cannot be read: No such file"):
        await asking(path.as_uri()).token()
    path.write_text("from-a-file\n")
    assert await asking(path.as_uri()).token() == "from-a-file"
