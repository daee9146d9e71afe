"""The key sets that check signed tokens (`sasl.oauthbearer.jwks.endpoint.url`): fetched when a listener opens, then
again and again, in a thread. While none is there, tokens are refused.

A token that is refused may be signed with a key that is newer than the set, so the set is fetched earlier then, but at
most once in a while: strangers can make up such tokens.
"""

from __future__ import annotations

import asyncio
import logging
import urllib.request
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urlsplit

from tidelog.config.definitions import InvalidConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.jwt_tokens import InvalidKeySet, JwtExpectations, JwtLibraryMissing, JwtValidator
from tidelog.security.oauthbearer import BearerToken, TokenRefusal

logger = logging.getLogger(__name__)

_SCHEMES = ("file", "http", "https")
_TIMEOUT_SECONDS = 10.0
_LARGEST_SET_BYTES = 1 << 20
# Between two fetches that refused tokens cause.
EARLIEST_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteKeySet:
    url: str
    refresh_ms: int
    retry_ms: int
    retry_max_ms: int


class KeySet:
    """The `TokenValidator` over the newest key set. `keep_fetching` runs as long as the listener is open."""

    def __init__(self, remote: RemoteKeySet, expectations: JwtExpectations) -> None:
        """Raises InvalidConfig."""
        scheme = urlsplit(remote.url).scheme.lower()
        if scheme not in _SCHEMES:
            raise InvalidConfig(
                f"sasl.oauthbearer.jwks.endpoint.url={remote.url} must begin with https://, http:// or file://"
            )
        self._remote = remote
        self._is_file = scheme == "file"
        self._expectations = expectations
        self._validator: JwtValidator | None = None
        self._asked_for = asyncio.Event()

    def validate(self, token: str, now_ms: int) -> BearerToken | TokenRefusal:
        if self._validator is None:
            return TokenRefusal(reason="the key set that checks tokens could not be fetched yet")
        found = self._validator.validate(token, now_ms)
        if isinstance(found, TokenRefusal):
            self._asked_for.set()
        return found

    async def fetch_first(self) -> None:
        """A file must be there; an address may answer later. Raises InvalidConfig."""
        try:
            await self._fetch()
        except JwtLibraryMissing as error:
            raise InvalidConfig(str(error)) from None
        except (OSError, InvalidKeySet) as error:
            if self._is_file:
                raise InvalidConfig(f"sasl.oauthbearer.jwks.endpoint.url={self._remote.url}: {error}") from None
            self._complain(error)

    async def keep_fetching(self) -> None:
        delay_ms = self._remote.refresh_ms if self._validator is not None else self._remote.retry_ms
        while True:
            await self._wait(delay_ms / 1000)
            try:
                await self._fetch()
                delay_ms = self._remote.refresh_ms
            except (OSError, InvalidKeySet) as error:
                self._complain(error)
                doubled = self._remote.retry_ms if delay_ms == self._remote.refresh_ms else 2 * delay_ms
                delay_ms = min(doubled, self._remote.retry_max_ms)

    async def _wait(self, seconds: float) -> None:
        soonest = min(seconds, EARLIEST_SECONDS)
        self._asked_for.clear()
        await asyncio.sleep(soonest)
        try:
            await asyncio.wait_for(self._asked_for.wait(), seconds - soonest)
        except TimeoutError:
            return

    async def _fetch(self) -> None:
        self._validator = await asyncio.get_running_loop().run_in_executor(None, self._read)

    def _read(self) -> JwtValidator:
        """In a thread. Raises OSError, InvalidKeySet or JwtLibraryMissing."""
        if self._is_file:
            content = Path(unquote(urlsplit(self._remote.url).path)).read_bytes()
        else:
            with urllib.request.urlopen(self._remote.url, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310, RUF100
                content = answer.read(_LARGEST_SET_BYTES + 1)
        if len(content) > _LARGEST_SET_BYTES:
            raise InvalidKeySet(f"the JSON web key set has more than {_LARGEST_SET_BYTES} bytes")
        return JwtValidator(key_set=content, expectations=self._expectations)

    def _complain(self, error: Exception) -> None:
        cause = error.reason if isinstance(error, URLError) else error
        logger.warning("the key set at %s could not be fetched: %s", self._remote.url, cause)
