"""Who may use the console. In front of everything else, files and live data included.

- **Host names.** A page of somebody else can make a browser ask a name of its own that leads to 127.0.0.1 (DNS
  rebinding). On loopback only names of this machine are answered.
- **The token.** Off loopback each request needs it: once in the address (`/?token=...`) or in the form, then in a
  cookie that scripts cannot read; programs send `Authorization: Bearer`.
- **Changes** are POST requests with the token against cross-site requests, which only pages of this console can read,
  and from this console's own origin. With `--read-only` there are none.
- **Headers.** Nothing but this console's own files is loaded or executed, and nothing from a string becomes a script or
  markup (`require-trusted-types-for`), whatever a record holds.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelog.console.replies import FORBIDDEN, reply
from tidelog.console.settings import ConsoleSettings, is_loopback

COOKIE = "tidelog-console"
CSRF_HEADER = "x-csrf-token"
LOGIN = "/login"

_UNAUTHORIZED = 401
_MISDIRECTED = 421
# A form with a token; more is not read.
_MOST_FORM_BYTES = 4096
_YEAR_SECONDS = 365 * 24 * 3600

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

_LOGIN_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tidelog console</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/css/console.css"></head>
<body class="login"><main><h1>tidelog console</h1>
<p>This console is not on your own machine: it needs the token that <code>tidelog console</code> printed when it
started.</p>
<form method="post" action="/login"><label>Token <input name="token" type="password" autocomplete="current-password"
autofocus required></label> <button>Open</button></form>{problem}</main></body></html>
"""


class Guard:
    """An ASGI application around the console."""

    def __init__(self, app: ASGIApp, settings: ConsoleSettings) -> None:
        self._app = app
        self._settings = settings
        self._token = settings.token
        # Not the token itself: whoever sees the cookie does not learn it.
        self._cookie = "" if settings.token is None else hashlib.sha256(settings.token.encode()).hexdigest()
        self.csrf_token = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        refusal = await self._refusal(request)
        answer = self._app if refusal is None else refusal
        await answer(scope, receive, send_with_headers)

    async def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that does not reach the console."""
        host = _name_of(request.headers.get("host", ""))
        if self._settings.is_local and not is_loopback(host):
            return reply(
                {"problem": "refused", "message": f"this console answers on loopback only, not as {host!r}"},
                _MISDIRECTED,
            )
        if self._token is not None:
            refusal = await self._without_token(request)
            if refusal is not None:
                return refusal
        if request.method not in ("GET", "HEAD"):
            return self._refused_change(request)
        return None

    # -- the token -----------------------------------------------------------------------------------------------

    async def _without_token(self, request: Request) -> Response | None:
        if self._is_known(request.headers):
            return None
        path = request.url.path
        if path.startswith("/static/css/"):
            return None
        if path == LOGIN and request.method == "POST":
            return await self._log_in(request)
        given = request.query_params.get("token")
        if given is not None and self._matches(given):
            rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
            return self._welcome(path + (f"?{rest}" if rest else ""))
        if path.startswith("/api/"):
            return reply({"problem": "token", "message": "this console needs its token"}, _UNAUTHORIZED)
        return _login_page("" if given is None else "<p role='alert'>That is not the token of this console.</p>")

    async def _log_in(self, request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_FORM_BYTES:
                break
        form = dict(parse_qsl(body[:_MOST_FORM_BYTES].decode("utf-8", "replace")))
        if self._matches(form.get("token", "")):
            return self._welcome("/")
        return _login_page("<p role='alert'>That is not the token of this console.</p>")

    def _welcome(self, path: str) -> Response:
        # One slash: a second one would make the rest a host.
        answer = RedirectResponse("/" + path.lstrip("/"), 303)
        answer.set_cookie(COOKIE, self._cookie, max_age=_YEAR_SECONDS, httponly=True, samesite="strict")
        return answer

    def _is_known(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._matches(given.strip()):
            return True
        cookies = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(COOKIE)
        return found is not None and hmac.compare_digest(found.value.encode(), self._cookie.encode())

    def _matches(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())

    # -- changes -------------------------------------------------------------------------------------------------

    def _refused_change(self, request: Request) -> Response | None:
        if self._settings.read_only:
            return _refusal("this console was started with --read-only: it changes nothing")
        if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), self.csrf_token.encode()):
            return _refusal("this change does not come from a page of this console that is up to date: load it again")
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
            return _refusal(f"this change comes from {origin}, which is not this console")
        return None


def _refusal(message: str) -> Response:
    return reply({"problem": "refused", "message": message}, FORBIDDEN)


def _login_page(problem: str) -> Response:
    return HTMLResponse(_LOGIN_PAGE.format(problem=problem), _UNAUTHORIZED, headers={"cache-control": "no-store"})


def _name_of(host: str) -> str:
    """Without the port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host
