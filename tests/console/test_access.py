"""Who gets past the guard, in front of an application that answers everything."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from tidelog.console.access import COOKIE, CSRF_HEADER, LOGIN_STYLE, MOST_BODY_BYTES, MOST_FORM_BYTES, Guard
from tidelog.console.settings import ConsoleSettings, is_loopback

TOKEN = "planted-token-of-the-console"
OTHER = "planted-token-of-nobody"
LOCAL = "http://127.0.0.1:8080"
REMOTE = "http://console.example:8080"


async def everything(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] in ("http", "lifespan")
    await PlainTextResponse("reached")(scope, receive, send)


def settings(
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    read_only: bool = False,
    client: Mapping[str, str] | None = None,
) -> ConsoleSettings:
    given = client or {"bootstrap.servers": "127.0.0.1:1"}
    return ConsoleSettings(client=given, host=host, port=0, token=token, read_only=read_only)


def guard(**given: Any) -> Guard:
    return Guard(everything, settings(**given))


def visitor(app: Guard, base: str = LOCAL, **more: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=base, **more)


def remote_guard(**more: Any) -> Guard:
    return guard(host="0.0.0.0", token=TOKEN, **more)


def changing(app: Guard, **more: str) -> dict[str, str]:
    return {CSRF_HEADER: app.csrf_token, **more}


# -- host names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200),
        ("127.9.9.9:8080", 200),
        ("localhost:8080", 200),
        ("localhost", 200),
        ("[::1]:8080", 200),
        ("[::1]", 200),
        # Names of others that lead here (DNS rebinding), and what could be taken for a name of ours.
        ("evil.example:8080", 421),
        ("localhost.evil.example:8080", 421),
        ("127.0.0.1.evil.example:8080", 421),
        ("127.0.0.1:8080:evil.example", 421),
        ("127.0.0.1@evil.example", 421),
        ("evil.example/127.0.0.1", 421),
        ("192.168.1.7:8080", 421),
        ("0.0.0.0:8080", 421),
        ("[::]:8080", 421),
        ("[fe80::1]:8080", 421),
        ("", 421),
    ],
)
async def test_on_loopback_only_names_of_this_machine_are_answered(host: str, status: int) -> None:
    for app in (guard(), guard(token=TOKEN)):
        async with visitor(app) as client:
            reply = await client.get("/api/session", headers={"host": host, "authorization": f"Bearer {TOKEN}"})
        assert reply.status_code == status
        if status == 421:
            assert reply.json()["message"].startswith("this console answers on loopback only, not as ")


async def test_off_loopback_the_token_counts_and_not_the_name() -> None:
    for name in ("console.example", "10.0.0.7:8080", "127.0.0.1"):
        async with visitor(remote_guard(), f"http://{name}") as client:
            assert (await client.get("/api/session")).status_code == 401
            assert (await client.get("/", headers={"authorization": f"Bearer {TOKEN}"})).text == "reached"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "console.example", ""])
def test_without_a_token_nothing_but_loopback_is_possible(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(ValueError, match="needs a token"):
        guard(host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1", "::1", "[::1]", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    assert is_loopback(host)
    guard(host=host)


# -- the token -----------------------------------------------------------------------------------------------------


async def test_a_token_in_the_address_becomes_a_cookie_and_leaves_the_address() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        reply = await client.get("/topics/a%20b%3Fc", params={"token": TOKEN, "show": "x&y", "view": "é"})
        assert (reply.status_code, reply.headers["location"]) == (303, "/topics/a%20b%3Fc?show=x%26y&view=%C3%A9")
        cookie = reply.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}-8080=")
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert TOKEN not in cookie
        assert (await client.get("/topics/a")).text == "reached"
        assert (await client.get("/api/session")).text == "reached"


async def test_a_token_leaves_the_address_of_those_who_are_known_as_well() -> None:
    async with visitor(remote_guard(), REMOTE, follow_redirects=True) as client:
        await client.get("/", params={"token": TOKEN})
        again = await client.get("/groups", params={"token": TOKEN})
        assert (str(again.url), again.text) == (f"{REMOTE}/groups", "reached")


async def test_a_token_in_the_form_becomes_a_cookie() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        page = await client.get("/topics")
        assert page.status_code == 401
        assert '<form method="post" action="/login">' in page.text
        reply = await client.post("/login", data={"token": TOKEN})
        assert (reply.status_code, reply.headers["location"]) == (303, "/")
        assert (await client.get("/topics")).text == "reached"
        # A second form that was open already.
        assert (await client.post("/login", data={"token": TOKEN})).status_code == 303


@pytest.mark.parametrize(
    "address",
    [
        "/topics/orders?partition=3&view=messages",
        "/groups/a%20%22b%3E?view=members",
        "/topics?show=%22%3E%3Cscript%3E",
        "//elsewhere.example/topics",
        "/%5C%5Celsewhere.example",
    ],
)
async def test_who_logs_in_gets_what_was_asked_for(address: str) -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        page = await client.get(f"{REMOTE}{address}")
        assert page.status_code == 401
        place = html.unescape(re.findall('name="place" value="([^"]*)"', page.text)[0])
        assert "<script" not in page.text
        wrong = await client.post("/login", data={"token": OTHER, "place": place})
        assert html.unescape(re.findall('name="place" value="([^"]*)"', wrong.text)[0]) == place
        reply = await client.post("/login", data={"token": TOKEN, "place": place})
        assert reply.status_code == 303
        found = httpx.URL(f"{REMOTE}/").join(reply.headers["location"])
        assert (found.host, found.port) == ("console.example", 8080)
        wanted = httpx.URL(f"{REMOTE}/{address.lstrip('/')}")
        assert found.params == wanted.params
        if "elsewhere" not in address:
            assert found.path == wanted.path


async def test_the_form_leads_to_no_other_host() -> None:
    for place in ("//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", "", "/\r\nx: y"):
        async with visitor(remote_guard(), REMOTE) as client:
            reply = await client.post("/login", data={"token": TOKEN, "place": place})
        assert reply.status_code == 303
        assert httpx.URL(f"{REMOTE}/").join(reply.headers["location"]).host == "console.example"
        assert reply.headers["location"].startswith("/")
        assert "x" not in reply.headers


async def test_half_an_address_leads_to_the_overview() -> None:
    for length, place in ((2_000, "/topics?filter="), (6_000, "/")):
        async with visitor(remote_guard(), REMOTE) as client:
            reply = await client.post("/login", data={"token": TOKEN, "place": f"/topics?filter={'%D1' * length}"})
        assert reply.headers["location"].partition("%")[0] == place


async def test_the_address_of_the_form_itself_leads_to_the_overview() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        assert 'name="place" value="/">' in (await client.get("/login")).text


async def test_programs_send_the_token_in_a_header() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        for header in (f"Bearer {TOKEN}", f"bearer  {TOKEN} "):
            assert (await client.get("/api/session", headers={"authorization": header})).text == "reached"


async def test_tokens_may_have_any_character() -> None:
    token = "planted-é&?+=# %"
    async with visitor(guard(token=token)) as client:
        bearer = await client.get("/", headers={b"authorization": b"Bearer " + token.encode()})
        assert bearer.text == "reached"
        assert (await client.get("/", params={"token": token})).status_code == 303
    async with visitor(guard(token=token)) as client:
        assert (await client.post("/login", data={"token": token})).status_code == 303


@pytest.mark.parametrize("given", [OTHER, "", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\x00", "é"])
async def test_a_wrong_token_opens_nothing(given: str) -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        by_address = await client.get("/", params={"token": given})
        by_form = await client.post("/login", data={"token": given})
        by_header = await client.get("/api/session", headers={b"authorization": f"Bearer {given}".encode()})
        basic = await client.get("/api/session", headers={"authorization": f"Basic {TOKEN}"})
        by_cookie = await client.get("/api/session", headers={b"cookie": f"{COOKIE}-8080={given}".encode()})
    for reply in (by_address, by_form):
        assert reply.status_code == 401
        assert "That is not the token of this console." in reply.text
    for reply in (by_header, basic, by_cookie):
        assert reply.json() == {"problem": "token", "message": "this console needs its token"}
    for reply in (by_address, by_form, by_header, basic, by_cookie):
        assert reply.status_code == 401
        assert "set-cookie" not in reply.headers


async def test_the_token_itself_is_no_cookie() -> None:
    async with visitor(remote_guard(), REMOTE, cookies={f"{COOKIE}-8080": TOKEN}) as client:
        assert (await client.get("/api/session")).status_code == 401


async def test_cookies_of_others_do_not_hide_ours() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        await client.get("/", params={"token": TOKEN})
        ours = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        for header in (f'odd={{"json": [1, 2]}}; {ours}', f"a@b/c=1; ; =; {ours}", f"{ours}; x"):
            client.cookies.clear()
            assert (await client.get("/", headers={"cookie": header})).text == "reached"


async def test_consoles_on_one_machine_do_not_replace_each_others_cookies() -> None:
    """Browsers send cookies to all ports of a host."""
    first, second = guard(token=TOKEN), guard(token=OTHER)
    async with visitor(first, "http://127.0.0.1:8080") as client:
        ours = (await client.get("/", params={"token": TOKEN})).headers["set-cookie"].partition(";")[0]
    async with visitor(second, "http://127.0.0.1:8081") as client:
        theirs = (await client.get("/", params={"token": OTHER})).headers["set-cookie"].partition(";")[0]
    both = {"cookie": f"{ours}; {theirs}"}
    async with visitor(first, "http://127.0.0.1:8080", headers=both) as client:
        assert (await client.get("/")).text == "reached"
    async with visitor(second, "http://127.0.0.1:8081", headers=both) as client:
        assert (await client.get("/")).text == "reached"
    async with visitor(second, "http://127.0.0.1:8081", headers={"cookie": ours}) as client:
        assert (await client.get("/")).status_code == 401


async def test_without_the_token_there_is_a_form_with_its_style_and_nothing_else() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        assert (await client.get(LOGIN_STYLE)).text == "reached"
        for path in (
            "/",
            "/topics",
            "/static/js/main.js",
            "/static/css/",
            "/static/css/../js/main.js",
            f"{LOGIN_STYLE}/../../../api/session",
            "/api/session",
            "/api/overview/live",
            "/login",
            "/favicon.ico",
        ):
            # httpx would resolve the dots.
            status, body = await ask(remote_guard(), path)
            assert (status, b"reached" in body) == (401, False), path
        assert (await client.post(LOGIN_STYLE)).status_code == 401
        assert (await client.post("/api/topics/delete", headers={CSRF_HEADER: "x"})).status_code == 401


async def ask(
    app: Guard, path: str, headers: Mapping[str, str] | None = None, query: str = "", method: str = "GET"
) -> tuple[int, bytes]:
    """With a path and headers that no client library lets pass."""
    named = {"host": "console.example", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
        "server": ("10.0.0.7", 8080),
        "client": ("10.0.0.8", 40000),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("host", ["x/static/css/", "x/static/css/console.css", "x/static/css/console.css?", "x/login#"])
async def test_the_name_of_the_host_is_no_part_of_the_path(host: str) -> None:
    for path in ("/api/session", "", "/static/css/console.css/../../api/session"):
        assert (await ask(remote_guard(), path, {"host": host}))[0] == 401


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/x",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\r\nx: y",
        "//",
    ],
)
async def test_a_token_in_the_address_leads_nowhere_else(path: str) -> None:
    app = remote_guard()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": f"token={TOKEN}".encode(),
        "headers": [(b"host", b"console.example")],
    }
    await app(scope, everything_at_once, send)
    location = dict(sent[0]["headers"])[b"location"].decode()
    assert sent[0]["status"] == 303
    assert location.startswith("/")
    assert not location.startswith("//")
    assert not set(location) & set("\\\t\r\n")
    # As browsers resolve it.
    assert httpx.URL(REMOTE).join(location).host == "console.example"


async def everything_at_once() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def test_a_token_in_the_address_of_a_change_or_of_the_api_opens_nothing() -> None:
    async with visitor(remote_guard(), REMOTE) as client:
        assert (await client.post("/", params={"token": TOKEN})).status_code == 401
        assert (await client.get("/api/session", params={"token": TOKEN})).status_code == 401


async def test_no_more_of_a_form_is_read_than_a_token_and_an_address_need() -> None:
    taken = itertools.count()

    async def endless() -> AsyncIterator[bytes]:
        for number in taken:
            assert number < 100, "it reads on"
            yield b"x" * 1000

    async with visitor(remote_guard(), REMOTE) as client:
        # What httpx gives to an application in one message.
        assert (await client.post("/login", content=b"token=" + b"x" * 1_000_000)).status_code == 401
    sent: list[Any] = []
    parts = endless()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": await anext(parts), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"console.example")]
    scope = {"type": "http", "method": "POST", "path": "/login", "query_string": b"", "headers": headers}
    await remote_guard()(scope, receive, send)
    assert sent[0]["status"] == 401
    assert next(taken) <= MOST_FORM_BYTES // 1000 + 2


async def test_who_goes_away_while_logging_in_leaves_no_exception() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError("nobody is there")

    headers = [(b"host", b"console.example")]
    scope = {"type": "http", "method": "POST", "path": "/login", "query_string": b"", "headers": headers}
    await remote_guard()(scope, receive, send)


async def test_websockets_do_not_get_past_the_guard() -> None:
    async def fail(*_: Any) -> Any:
        raise AssertionError("the application was reached, or answers")

    await Guard(fail, settings())({"type": "websocket", "path": "/", "headers": []}, fail, fail)


# -- changes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
async def test_changes_need_the_token_against_cross_site_requests(method: str) -> None:
    app = guard()
    async with visitor(app) as client:
        for headers in ({}, {CSRF_HEADER: ""}, {CSRF_HEADER: "wrong"}, {CSRF_HEADER: app.csrf_token + "x"}):
            reply = await client.request(method, "/api/topics/delete", headers=headers, content=b"{}")
            assert (reply.status_code, reply.json()["problem"]) == (403, "refused")
            assert "does not come from a page of this console that is up to date" in reply.json()["message"]
        reply = await client.request(method, "/api/topics/delete", headers=changing(app), content=b"{}")
        assert reply.text == "reached"


def test_each_console_has_a_token_of_its_own_against_cross_site_requests() -> None:
    tokens = {guard().csrf_token for _ in range(20)}
    assert len(tokens) == 20
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize(
    ("origin", "passes"),
    [
        (LOCAL, True),
        ("http://127.0.0.1", False),
        ("http://127.0.0.1:8081", False),
        ("http://localhost:8080", False),
        ("http://evil.example", False),
        ("http://evil.example:8080", False),
        ("null", False),
        ("", False),
        ("http://[", False),
    ],
)
async def test_changes_come_from_the_console_itself(origin: str, passes: bool) -> None:
    app = guard()
    async with visitor(app) as client:
        reply = await client.post("/api/x", headers=changing(app, origin=origin), json={})
    assert (reply.text == "reached") is passes
    if not passes:
        assert reply.status_code == 403
        assert reply.json()["message"] == f"this change comes from {origin}, which is not this console"


async def test_programs_without_an_origin_may_change_with_the_token() -> None:
    app = guard()
    async with visitor(app) as client:
        assert (await client.post("/api/x", headers=changing(app), json={})).text == "reached"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
async def test_a_console_that_only_reads_refuses_every_change(method: str) -> None:
    app = guard(read_only=True)
    async with visitor(app) as client:
        reply = await client.request(method, "/api/x", headers=changing(app, origin=LOCAL), content=b"{}")
        assert reply.status_code == 403
        assert reply.json()["message"] == "this console was started with --read-only: it changes nothing"
        assert (await client.get("/api/x")).text == "reached"
        assert (await client.head("/")).status_code == 200


async def test_changes_have_a_bound() -> None:
    app = guard()

    async def in_parts() -> AsyncIterator[bytes]:
        yield b"{}"

    async with visitor(app) as client:
        unknown = await client.post("/api/x", headers=changing(app), content=in_parts())
        assert (unknown.status_code, unknown.json()["problem"]) == (411, "refused")
        for length, status in ((MOST_BODY_BYTES, 200), (MOST_BODY_BYTES + 1, 413)):
            headers = changing(app, **{"content-length": str(length)})
            assert (await client.post("/api/x", headers=headers, content=b"{}")).status_code == status
        # A server reads chunks, whatever length is declared beside them.
        both = changing(app, **{"content-length": "2", "transfer-encoding": "chunked"})
        assert (await client.post("/api/x", headers=both, content=b"{}")).status_code == 411
        odd = await client.post("/api/x", headers=changing(app, **{"content-length": "-1"}), content=b"{}")
        assert odd.status_code == 411


# -- questions of other pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("site", "passes"), [("same-origin", True), ("none", True), ("same-site", False), ("cross-site", False)]
)
async def test_other_pages_cannot_make_the_console_ask_its_cluster(site: str, passes: bool) -> None:
    async with visitor(guard()) as client:
        reply = await client.get("/api/overview/live", headers={"sec-fetch-site": site})
        assert reply.status_code == (200 if passes else 403)
        # Links from elsewhere lead to pages.
        assert (await client.get("/topics", headers={"sec-fetch-site": site})).text == "reached"


# -- secrets -------------------------------------------------------------------------------------------------------


def test_settings_do_not_show_secrets() -> None:
    client = {"bootstrap.servers": "127.0.0.1:1", "sasl.password": "planted-password"}
    assert "planted" not in repr(settings(token=TOKEN, client=client))
