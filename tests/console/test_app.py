"""The whole application without a server: what each kind of answer has and hides, and a cluster that is not there."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from support.console_visits import Answer, event, visit
from support.planted_secrets import watch
from support.processes import HANG_SECONDS, free_port
from support.secure_tidelog import running_secure
from support.tidelog_process import restarted_tidelog

import tidelog
from tidelog.config.definitions import InvalidConfig
from tidelog.console.access import CSRF_HEADER
from tidelog.console.app import PLACES, STATIC, Console
from tidelog.console.pages import ROUTERS
from tidelog.console.settings import ConsoleSettings

AWAY = {"bootstrap.servers": "127.0.0.1:1"}
TOKEN = "planted-token-of-the-console"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def made(client: Mapping[str, Any] = AWAY, **more: Any) -> Console:
    given = {"host": "127.0.0.1", "port": 0, "token": None, "read_only": False, **more}
    return Console(ConsoleSettings(client=client, **given))


@pytest.fixture
async def console() -> AsyncIterator[Console]:
    running = made()
    yield running
    await closed(running)


async def closed(console: Console) -> None:
    await console.end_live_data()
    await console.parts.cluster.close()


def check_headers(answer: Answer) -> None:
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "'none'"
    assert not re.search("unsafe|https?:|\\*|blob:", " ".join(policy.values()))
    assert "server" not in answer.headers
    assert not [name for name in answer.headers if name.startswith("access-control-")]


# -- each kind of answer -------------------------------------------------------------------------------------------

KINDS = [
    ("/", 200),
    ("/topics", 200),
    ("/topics/a%2Fb", 200),
    ("/static/js/main.js", 200),
    ("/static/css/console.css", 200),
    ("/static/nothing.js", 404),
    ("/favicon.ico", 200),
    ("/nothing", 404),
    ("/api/session", 200),
    ("/api/nothing", 404),
    ("/api", 404),
    ("/api/overview/live", 200),
]


@pytest.mark.parametrize(("path", "status"), KINDS)
async def test_every_answer_tells_browsers_to_be_strict(console: Console, path: str, status: int) -> None:
    answer = await visit(console.app, path)
    assert answer.status == status
    check_headers(answer)
    # Nothing is shown that an upgrade, or another cluster, has made untrue.
    assert answer.headers.get("cache-control") == ("no-store" if path.startswith("/api/") else "no-cache") or (
        status == 404 and not path.startswith("/api/")
    )


async def test_answers_of_the_guard_and_of_failures_are_as_strict(console: Console) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("planted-detail of a mistake")

    console.app._app.add_api_route("/broken", broken)  # type: ignore[attr-defined]
    console.app._app.router.routes.insert(0, console.app._app.router.routes.pop())  # type: ignore[attr-defined]
    changing = {CSRF_HEADER: console.app.csrf_token}
    answers = {
        421: await visit(console.app, "/", headers={"host": "evil.example"}),
        403: await visit(console.app, "/api/x", method="POST"),
        404: await visit(console.app, "/api/x", method="POST", headers=changing),
        405: await visit(console.app, "/api/session", method="PUT", headers=changing),
        411: await visit(console.app, "/api/x", method="POST", headers={**changing, "content-length": "x"}),
        413: await visit(console.app, "/api/x", method="POST", headers={**changing, "content-length": "99999999999"}),
    }
    fresh = await visit(console.app, "/static/js/main.js")
    answers[304] = await visit(console.app, "/static/js/main.js", headers={"if-none-match": fresh.headers["etag"]})
    secured = made(host="0.0.0.0", token=TOKEN)
    answers[401] = await visit(secured.app, "/")
    answers[303] = await visit(secured.app, "/", query=f"token={TOKEN}")
    for status, answer in answers.items():
        assert answer.status == status
        check_headers(answer)
    failed: list[Any] = []

    async def keep(message: Any) -> None:
        failed.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/broken",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    with pytest.raises(ZeroDivisionError):
        # For the log of the server, after the answer.
        await console.app(scope, never, keep)
    found = {name.decode(): value.decode() for name, value in failed[0]["headers"]}
    check_headers(Answer(status=failed[0]["status"], headers=found, body=b""))
    assert failed[0]["status"] == 500
    assert b"planted" not in b"".join(message.get("body", b"") for message in failed)


async def never() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def test_what_a_request_lacks_is_said_in_a_sentence(console: Console) -> None:
    answer = await visit(console.app, "/api/topic/live", query="topic=a&name=a&partition=" + "x" * 5000)
    assert answer.status == 400
    assert answer.document["problem"] == "refused"
    assert "partition" in answer.document["message"]
    assert len(answer.document["message"]) < 400


@pytest.mark.parametrize("path", ["/", "/topics", "/groups/a", "/static/js/main.js", "/favicon.ico", "/nothing"])
async def test_pages_and_files_have_a_head(console: Console, path: str) -> None:
    head, whole = await visit(console.app, path, method="HEAD"), await visit(console.app, path)
    assert (head.status, head.body) == (whole.status, b"")
    assert head.headers == whole.headers


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "BREW"])
async def test_the_api_knows_no_other_methods(console: Console, method: str) -> None:
    headers = {CSRF_HEADER: console.app.csrf_token}
    for path in ("/api/session", "/api/overview/live"):
        assert (await visit(console.app, path, method=method, headers=headers)).status in (404, 405)


async def test_who_mistypes_an_address_gets_a_page_that_says_so(console: Console) -> None:
    answer = await visit(console.app, "/topic")
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert answer.body == (STATIC / "index.html").read_bytes()
    of_api = await visit(console.app, "/api/topic<script>")
    assert of_api.document == {"problem": "missing", "message": "there is nothing at /api/topic<script>"}
    assert of_api.headers["content-type"] == "application/json"


async def test_a_session_tells_what_pages_need(console: Console) -> None:
    assert (await visit(console.app, "/api/session")).document == {
        "version": tidelog.__version__,
        "servers": "127.0.0.1:1",
        "read_only": False,
        "csrf_token": console.app.csrf_token,
    }


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml"), (".html", "text/html")],
)
async def test_files_are_what_browsers_need_them_to_be(console: Console, suffix: str, kind: str) -> None:
    """With `nosniff` a script of another type is not run."""
    files = [path.relative_to(STATIC) for path in STATIC.rglob(f"*{suffix}")]
    assert files
    for path in files:
        answer = await visit(console.app, f"/static/{path}", messages=1000)
        assert (answer.status, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
        assert answer.body == (STATIC / path).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../access.py",
        "/static/js/../../access.py",
        "/static/js/../../../console/access.py",
        "/static/..\\access.py",
        "/static//etc/passwd",
        "/static/" + "../" * 20 + "etc/passwd",
        "/static/%2e%2e/access.py",
        "/static/..%2faccess.py",
        "/static/....//access.py",
        "/static/\x00/../access.py",
        "/static/js/main.js\x00.css",
        "/static/" + "x" * 5000,
        "/static/",
        "/static/js",
        "/static/.",
        "/static/..",
        "/staticx/js/main.js",
        "//static/js/main.js",
    ],
)
async def test_nothing_but_files_of_pages_is_served(console: Console, path: str) -> None:
    answer = await visit(console.app, path)
    assert answer.status == 404
    assert b"def " not in answer.body
    assert b"root:" not in answer.body


async def test_no_page_describes_the_api_with_scripts_from_elsewhere(console: Console) -> None:
    for path in ("/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"):
        assert (await visit(console.app, path)).status == 404


def test_addresses_that_can_be_bookmarked_are_those_of_the_pages() -> None:
    table = re.search(r"const PAGES = \{(.*?)\n\};", (STATIC / "js" / "main.js").read_text(), re.DOTALL)
    assert table is not None
    pages = re.findall(r"^  '?(\w*)'?: \{ label", table[1], re.MULTILINE)
    assert set(pages) - {""} == set(PLACES)


# -- secrets -------------------------------------------------------------------------------------------------------

# What the addresses of the API may need.
_VALUES = {
    "partition": "0",
    "broker": "1",
    "node": "1",
    "offset": "0",
    "kind": "topic",
    "type": "topic",
    "resource": "topic",
}


def questions() -> list[APIRoute]:
    return [
        route
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    ]


async def ask_everything(console: Console) -> str:
    """All that the API tells about a topic, a group and so on that do not exist, or do."""
    told = []
    for route in questions():
        names = [each.alias for each in route.dependant.query_params if each.field_info.is_required()]
        query = "&".join(f"{name}={_VALUES.get(name, 'orders')}" for name in names)
        answer = await visit(console.app, f"/api{route.path}", query=query, messages=1 if "live" in route.path else 200)
        told.append(f"{route.path} {answer.status} {answer.text} {answer.headers}")
    return "\n".join(told)


async def test_nothing_that_the_api_tells_holds_a_secret_of_the_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with running_secure(tmp_path) as secure:
        file = secure.data_dir / "security" / "client.properties"
        properties = {**tidelog.read_config(file), "bootstrap.servers": secure.servers}
        password = watch(secure.login.password)
        assert password in str(properties)
        console = made(properties, token=TOKEN)
        admin = await console.parts.cluster.admin()
        await admin.create_topic("orders")
        await closed(console)
        console = made(properties)
        told = await ask_everything(console)
        await closed(console)
        other = {name: str(value).replace(password, "planted-wrong") for name, value in properties.items()}
        console = made(other)
        refused = await visit(console.app, "/api/overview/live")
        await closed(console)
        assert event(refused)[0] == "problem"
        told += refused.text
    assert len(told) > 10_000, "that it asks anything at all"
    for secret in (password, TOKEN, "planted", "sasl.jaas.config=", "BEGIN PRIVATE KEY"):
        assert secret not in told
        assert secret not in caplog.text


@pytest.mark.parametrize(
    "properties",
    [
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u"},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u"},
    ],
)
async def test_a_login_that_fails_is_told_without_its_password(
    properties: Mapping[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with tidelog.Broker(port=0) as broker:
        given = {**properties, "sasl.password": "planted-password", "bootstrap.servers": broker.bootstrap_servers}
        console = made(given)
        name, problem = event(await visit(console.app, "/api/overview/live"))
        await closed(console)
    assert name == "problem"
    assert problem["message"]
    assert "planted" not in json.dumps(problem) + caplog.text


def test_properties_that_are_wrong_are_told_without_secrets() -> None:
    wrong = {
        **AWAY,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-999",
        "sasl.username": "u",
        "sasl.password": "planted-password",
    }
    with pytest.raises(InvalidConfig) as refused:
        made(wrong)
    assert "planted" not in str(refused.value)


# -- a cluster that is not there -----------------------------------------------------------------------------------


async def next_event(console: Console, name: str) -> Any:
    """The first one of this kind that the overview shows, to somebody who looks all the time."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            found, document = event(await visit(console.app, "/api/overview/live"))
            if found == name:
                return document
            await asyncio.sleep(0.05)


async def test_pages_say_that_the_cluster_is_away_and_recover_when_it_is_back(tmp_path: Path) -> None:
    with restarted_tidelog(tmp_path / "broker") as broker:
        console = made({"bootstrap.servers": broker.bootstrap_servers})
        away = await next_event(console, "problem")
        assert away["problem"] == "unavailable"
        assert broker.bootstrap_servers in away["message"]
        answer = await visit(console.app, "/api/session")
        assert answer.status == 200
        for _ in range(2):
            broker.start()
            there = await next_event(console, "reading")
            assert len(there["brokers"]) == 1
            broker.kill()
            gone = await next_event(console, "problem")
            assert gone["problem"] == "unavailable"
        await closed(console)


async def test_another_cluster_at_the_same_address_is_shown(tmp_path: Path) -> None:
    """A cluster for trying things out begins anew each time."""
    port = free_port()
    console = made({"bootstrap.servers": f"127.0.0.1:{port}"})
    clusters: set[str] = set()
    for _ in range(2):
        async with tidelog.Broker(port=port):
            async with asyncio.timeout(HANG_SECONDS):
                while len(clusters | {(seen := await next_event(console, "reading"))["cluster_id"]}) == len(clusters):
                    await asyncio.sleep(0.05)
            clusters.add(seen["cluster_id"])
    await closed(console)
    assert len(clusters) == 2


async def test_many_who_ask_while_the_cluster_is_away_wait_for_one_try() -> None:
    """A host that does not answer at all: each try takes until its timeout."""
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    console = made({"bootstrap.servers": f"127.0.0.1:{port}", "request.timeout.ms": 500, "default.api.timeout.ms": 500})
    loop = asyncio.get_running_loop()
    began = loop.time()
    results = await asyncio.gather(*(console.parts.cluster.admin() for _ in range(50)), return_exceptions=True)
    assert all(isinstance(result, Exception) for result in results)
    assert len(set(map(id, results))) == 1
    assert loop.time() - began < HANG_SECONDS / 4
    await closed(console)
    silent.close()


async def test_who_gives_up_does_not_end_the_try_of_others() -> None:
    async with tidelog.Broker(port=0) as broker:
        console = made({"bootstrap.servers": broker.bootstrap_servers})
        first, second = (asyncio.create_task(console.parts.cluster.admin()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        admin = await second
        assert (await console.parts.cluster.admin()) is admin
        await closed(console)
