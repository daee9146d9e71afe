"""Where a client's bearer tokens come from: itself, a token endpoint, a file, or a function of the user's.

A token is kept and used for all connections, and replaced by the next one before it ends. What a token says is not
looked at, and no error shows one. How it is sent is in `tidelog.security.oauthbearer`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from base64 import b64encode
from collections.abc import Callable
from dataclasses import field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from tidelog.config.definitions import InvalidConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.security.client_login import TOKEN_PROVIDER, GivenTokens, TokenEndpoint
from tidelog.security.unsecured_login import UnsecuredTokens
from tidelog.security.unsecured_tokens import expiry_of_token

logger = logging.getLogger(__name__)

# A token, and when it ends; or the token alone, if it says that itself. See `as_milliseconds` for the number.
TokenProvider = Callable[[], Any]

# Of the time that a token has: the next one is asked for when so much is over.
REFRESH_AFTER = 0.8
ENDPOINT_TIMEOUT_SECONDS = 10
_LARGEST_REPLY_BYTES = 1 << 20
# Numbers below are seconds since 1970, and from it on milliseconds: it is the year 5138 in the one, 1973 in the other.
_SECONDS_BELOW = 10**11


class NoToken(Exception):
    """There is none now. `final` if asking again will not help."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeldToken:
    text: str = field(repr=False)
    # None for one that nobody knows the end of: it is asked for each time.
    refresh_at_ms: float | None
    expires_at_ms: float | None


class TokenSource:
    """The current token. Those who ask at the same time share one request for the next."""

    def __init__(self, tokens: UnsecuredTokens | TokenEndpoint | TokenProvider, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock
        self._current: _HeldToken | None = None
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        """Raises NoToken."""
        async with self._lock:
            current, now = self._current, self._clock.now_ms()
            if current is not None and current.refresh_at_ms is not None and now < current.refresh_at_ms:
                return current.text
            try:
                self._current = await self._next()
            except NoToken as error:
                if current is None or current.expires_at_ms is None or now >= current.expires_at_ms:
                    raise
                logger.warning("%s; the old token is used as long as it is valid", error)
                return current.text
            return self._current.text

    async def _next(self) -> _HeldToken:
        now = self._clock.now_ms()
        match self._tokens:
            case UnsecuredTokens():
                text, expires_at_ms = self._tokens.token(now)
                return _token(text, expires_at_ms, now)
            case TokenEndpoint():
                return await asyncio.to_thread(_from_endpoint, self._tokens, now)
            case _:
                return await _from_function(self._tokens, now)


def provider_named(tokens: GivenTokens) -> TokenProvider:
    """The function that `module:function` names. Raises InvalidConfig."""
    module, colon, name = tokens.name.partition(":")
    if not colon or not module or not name:
        raise InvalidConfig(f"{TOKEN_PROVIDER}={tokens.name} is not of the form module:function")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidConfig(f"{TOKEN_PROVIDER}={tokens.name} cannot be loaded: {error}") from None
    if not callable(found):
        raise InvalidConfig(f"{TOKEN_PROVIDER}={tokens.name} is not a function")
    provider: TokenProvider = found
    return provider


def as_milliseconds(expiry: object) -> float | None:
    """When a token ends: a number of seconds or milliseconds since 1970, a datetime, or None. Raises ValueError."""
    if expiry is None:
        return None
    if isinstance(expiry, datetime):
        return expiry.timestamp() * 1000
    if isinstance(expiry, bool) or not isinstance(expiry, int | float):
        raise ValueError(f"when it ends is a {type(expiry).__name__}, and not a number or a datetime")
    return expiry * 1000 if expiry < _SECONDS_BELOW else float(expiry)


def _token(text: str, expires_at_ms: float | None, now_ms: int) -> _HeldToken:
    refresh_at = None if expires_at_ms is None else now_ms + REFRESH_AFTER * max(0.0, expires_at_ms - now_ms)
    return _HeldToken(text=text, refresh_at_ms=refresh_at, expires_at_ms=expires_at_ms)


async def _from_function(provider: TokenProvider, now_ms: int) -> _HeldToken:
    """One that is not async may take its time: it runs in a thread."""
    try:
        is_async = inspect.iscoroutinefunction(provider)
        answer = provider() if is_async else await asyncio.to_thread(provider)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:
        raise NoToken(f"the token provider failed with {type(error).__name__}: {error}") from error
    token, expiry = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    if not isinstance(token, str) or not token:
        raise NoToken(
            f"the token provider must return a token and when it ends, such as (token, seconds since 1970), but "
            f"returned a {type(answer).__name__}",
            final=True,
        )
    try:
        ends = as_milliseconds(expiry)
    except ValueError as error:
        raise NoToken(f"the token provider returned a token of which {error}", final=True) from None
    return _token(token, ends if ends is not None else expiry_of_token(token), now_ms)


def _from_endpoint(endpoint: TokenEndpoint, now_ms: int) -> _HeldToken:
    parts = urlsplit(endpoint.url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        try:
            text = path.read_text().strip()
        except OSError as error:
            raise NoToken(f"the token in {path} cannot be read: {error.strerror}") from None
        return _token(text, expiry_of_token(text), now_ms)
    # Not at the top: it takes long to import, and few clients need it.
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    form = {"grant_type": "client_credentials", **({"scope": endpoint.scope} if endpoint.scope else {})}
    request = Request(endpoint.url, data=urlencode(form).encode(), method="POST")
    request.add_header("Content-Type", "application/x-www-form-urlencoded")
    request.add_header("Accept", "application/json")
    request.add_header("Authorization", f"Basic {_basic(endpoint)}")
    try:
        with urlopen(request, timeout=ENDPOINT_TIMEOUT_SECONDS) as reply:
            document = json.loads(reply.read(_LARGEST_REPLY_BYTES))
    except HTTPError as error:
        # What the server says about it could repeat the secret.
        refused = 400 <= error.code < 500
        raise NoToken(
            f"{endpoint.url} refuses a token for the client {endpoint.client_id!r} with HTTP status {error.code}",
            final=refused,
        ) from None
    except (URLError, OSError) as error:
        raise NoToken(f"{endpoint.url} gives no token: {getattr(error, 'reason', error)}") from None
    except ValueError:
        raise NoToken(f"{endpoint.url} did not answer with JSON") from None
    token = document.get("access_token") if isinstance(document, dict) else None
    if not isinstance(token, str) or not token:
        raise NoToken(f"the answer of {endpoint.url} has no access_token")
    lifetime = document.get("expires_in")
    ends = now_ms + float(lifetime) * 1000 if isinstance(lifetime, int | float) else expiry_of_token(token)
    return _token(token, ends, now_ms)


def _basic(endpoint: TokenEndpoint) -> str:
    halves = (endpoint.client_id, endpoint.client_secret)
    if endpoint.encode_header:
        halves = (quote(halves[0], safe=""), quote(halves[1], safe=""))
    return b64encode(":".join(halves).encode()).decode()
