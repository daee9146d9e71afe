"""Who may use the console. In front of everything else, files and live data included.

- **Host names.** A page of somebody else can make a browser ask a name of its own that leads to 127.0.0.1 (DNS
  rebinding). On loopback only names of this machine are answered.
- **The token.** Off loopback each request needs it: once in the address (`/?token=...`) or in the form, then in a
  cookie that scripts cannot read; programs send `Authorization: Bearer`.
- **Changes** are POST requests with the token against cross-site requests, which only pages of this console can read,
  and from this console's own origin. With `--read-only` there are none. Their bodies have a bound.
- **Questions** of other pages cannot be read by them. They are refused all the same where the browser says that they
  are: each would cost the cluster something.
- **Headers.** Nothing but this console's own files is loaded or executed, and nothing from a string becomes a script or
  markup (`require-trusted-types-for`), whatever a record holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
from html import escape
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelog.console.replies import FORBIDDEN, reply
from tidelog.console.settings import ConsoleSettings, is_loopback

COOKIE = "tidelog-console"
CSRF_HEADER = "x-csrf-token"
LOGIN = "/login"
# The form needs it before anybody has shown a token.
LOGIN_STYLE = "/static/css/console.css"
# A record that is produced may be large, and its bytes are text here.
MOST_BODY_BYTES = 16 << 20

_UNAUTHORIZED = 401
_LENGTH_REQUIRED = 411
_TOO_LARGE = 413
_MISDIRECTED = 421
# A form with a token and an address; more is not read, and nobody waits longer for it.
MOST_FORM_BYTES = 16 << 10
_FORM_SECONDS = 10.0
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
<link rel="stylesheet" href="{style}"></head>
<body class="login"><main><h1>tidelog console</h1>
<p>This console is not on your own machine: it needs the token that <code>tidelog console</code> printed when it
started.</p>
<form method="post" action="/login"><label>Token <input name="token" type="password" autocomplete="current-password"
autofocus required></label> <input type="hidden" name="{place_field}" value="{place}">
<button>Open</button></form>{problem}</main></body></html>
"""
# What was asked for before the form came.
_PLACE_FIELD = "place"
_WRONG_TOKEN = "<p role='alert'>That is not the token of this console.</p>"


class Guard:
    """An ASGI application around the console."""

    def __init__(self, app: ASGIApp, settings: ConsoleSettings) -> None:
        if settings.token is None and not settings.is_local:
            raise ValueError(f"whoever reaches {settings.host} could use the console: it needs a token there")
        self._app = app
        self._settings = settings
        self._token = settings.token
        # Not the token itself: whoever sees the cookie does not learn it.
        self._cookie = "" if settings.token is None else hashlib.sha256(settings.token.encode()).hexdigest()
        self.csrf_token = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # There are no WebSockets here, and none must get past this.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        path: str = scope["path"]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if path.startswith("/api/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        request = Request(scope, receive)
        try:
            refusal = await self._refusal(request, path)
        except ClientDisconnect:
            return
        answer = self._app if refusal is None else refusal
        await answer(scope, receive, send_with_headers)

    async def _refusal(self, request: Request, path: str) -> Response | None:
        """The answer to a request that does not reach the console.

        `path` is the one by which the application chooses what answers. That of `request.url` also depends on the host
        that the client names.
        """
        host = _name_of(request.headers.get("host", ""))
        if self._settings.is_local and not is_loopback(host):
            return reply(
                {"problem": "refused", "message": f"this console answers on loopback only, not as {host!r}"},
                _MISDIRECTED,
            )
        if self._token is not None:
            refusal = await self._without_token(request, path)
            if refusal is not None:
                return refusal
        if request.method not in ("GET", "HEAD"):
            return self._refused_change(request) or _refused_body(request)
        if path.startswith("/api/") and request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _refusal("a page from elsewhere asks this: only pages of this console may")
        return None

    # -- the token -----------------------------------------------------------------------------------------------

    async def _without_token(self, request: Request, path: str) -> Response | None:
        if path == LOGIN and request.method == "POST":
            return await self._log_in(request)
        given = request.query_params.get("token")
        if request.method == "GET" and given is not None and not path.startswith("/api/") and self._matches(given):
            # Also if the browser has a cookie already: the token does not stay in the address.
            rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
            return self._welcome(request, path, rest)
        if self._is_known(request) or (path == LOGIN_STYLE and request.method in ("GET", "HEAD")):
            return None
        if path.startswith("/api/"):
            return reply({"problem": "token", "message": "this console needs its token"}, _UNAUTHORIZED)
        return _login_page("" if given is None else _WRONG_TOKEN, _place_of(request, path))

    async def _log_in(self, request: Request) -> Response:
        body = bytearray()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FORM_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > MOST_FORM_BYTES:
                        break
        form = dict(parse_qsl(body[:MOST_FORM_BYTES].decode("utf-8", "replace")))
        # Half an address would be another one.
        place = form.get(_PLACE_FIELD, "/") if len(body) <= MOST_FORM_BYTES else "/"
        # Only a path of this console, whoever has written it there: `_welcome` sees to that.
        path, _, query = place.partition("?")
        if self._matches(form.get("token", "")):
            return self._welcome(request, unquote(path), query)
        return _login_page(_WRONG_TOKEN, f"{path}?{query}" if query else path)

    def _welcome(self, request: Request, path: str, query: str) -> Response:
        # One slash: a second one would make the rest a host.
        place = "/" + quote(path.lstrip("/\\"), safe="/") + (f"?{query}" if query else "")
        answer = RedirectResponse(place, 303, headers={"cache-control": "no-store"})
        # Lax: who follows a link that a colleague has sent is known. Nothing changes by a GET.
        answer.set_cookie(_cookie_of(request), self._cookie, max_age=_YEAR_SECONDS, httponly=True, samesite="lax")
        return answer

    def _is_known(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        # Headers are bytes, which the framework has read as Latin-1.
        if kind.lower() == "bearer" and self._matches(given.strip(), "latin-1"):
            return True
        found = request.cookies.get(_cookie_of(request), "")
        return hmac.compare_digest(found.encode(), self._cookie.encode())

    def _matches(self, given: str, encoding: str = "utf-8") -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(encoding, "replace"), self._token.encode())

    # -- changes -------------------------------------------------------------------------------------------------

    def _refused_change(self, request: Request) -> Response | None:
        if self._settings.read_only:
            return _refusal("this console was started with --read-only: it changes nothing")
        if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), self.csrf_token.encode()):
            return _refusal("this change does not come from a page of this console that is up to date: load it again")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host", ""):
            return _refusal(f"this change comes from {origin}, which is not this console")
        return None


def _refusal(message: str, status: int = FORBIDDEN) -> Response:
    return reply({"problem": "refused", "message": message}, status)


def _refused_body(request: Request) -> Response | None:
    """The server holds clients to the length that they have declared, unless the body comes in chunks: then it reads
    chunks, whatever length is declared beside them."""
    if "transfer-encoding" in request.headers:
        return _refusal("this change comes in chunks (Transfer-Encoding): send its length", _LENGTH_REQUIRED)
    length = request.headers.get("content-length")
    if length is None or not (length.isascii() and length.isdigit()):
        return _refusal("this change does not say how long it is (Content-Length)", _LENGTH_REQUIRED)
    if int(length) > MOST_BODY_BYTES:
        return _refusal(
            f"this change has {int(length):,} bytes; the console takes at most {MOST_BODY_BYTES:,}", _TOO_LARGE
        )
    return None


def _place_of(request: Request, path: str) -> str:
    """What was asked for, without the token, as the form sends it back."""
    if path == LOGIN:
        return "/"
    rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
    return quote(path, safe="/") + (f"?{rest}" if rest else "")


def _login_page(problem: str, place: str) -> Response:
    page = _LOGIN_PAGE.format(problem=problem, style=LOGIN_STYLE, place_field=_PLACE_FIELD, place=escape(place))
    return HTMLResponse(page, _UNAUTHORIZED, headers={"cache-control": "no-store"})


def _cookie_of(request: Request) -> str:
    """Browsers do not tell ports apart, and several consoles may be on one machine, or seem to be through tunnels."""
    _, _, port = request.headers.get("host", "").rpartition(":")
    return f"{COOKIE}-{port}" if port.isascii() and port.isdigit() else COOKIE


def _name_of(host: str) -> str:
    """Without the port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host
