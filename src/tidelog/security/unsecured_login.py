"""Unsecured JSON web tokens, made by the client itself: Kafka's default for OAUTHBEARER, for development only.

The options are those of Kafka's OAuthBearerUnsecuredLoginCallbackHandler. How a server checks such tokens is in
`unsecured_tokens.py`.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.unsecured_tokens import InvalidTokenOption

_PREFIX = "unsecuredLogin"
_STRING = f"{_PREFIX}StringClaim_"
_NUMBER = f"{_PREFIX}NumberClaim_"
_LIST = f"{_PREFIX}ListClaim_"
EXTENSION = f"{_PREFIX}Extension_"
_PRINCIPAL = f"{_PREFIX}PrincipalClaimName"
_SCOPE = f"{_PREFIX}ScopeClaimName"
_LIFETIME = f"{_PREFIX}LifetimeSeconds"
_DEFAULT_LIFETIME_SECONDS = 3600.0
# Written by this client.
_RESERVED = ("iat", "exp")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsecuredTokens:
    """What every token says, besides when it begins and ends."""

    principal: str
    claims: Mapping[str, object] = field(repr=False)
    lifetime_seconds: float

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> UnsecuredTokens:
        """From the options of OAuthBearerLoginModule. Raises InvalidTokenOption."""
        claims: dict[str, object] = {}
        for name, value in options.items():
            if name.startswith(_STRING):
                claims[_claim(name, _STRING)] = value
            elif name.startswith(_NUMBER):
                claims[_claim(name, _NUMBER)] = _number(name, value)
            elif name.startswith(_LIST):
                # The first character separates the others, so that any can be chosen: ",a,b" or "|a|b".
                claims[_claim(name, _LIST)] = value[1:].split(value[0]) if value else []
        principal_claim = options.get(_PRINCIPAL, "").strip() or "sub"
        principal = claims.get(principal_claim)
        if not isinstance(principal, str) or not principal.strip():
            raise InvalidTokenOption(
                f"OAUTHBEARER with unsecured tokens needs the option {_STRING}{principal_claim} in sasl.jaas.config, "
                "the name of the user. For real tokens set sasl.oauthbearer.token.endpoint.url, or "
                "sasl_oauth_token_provider"
            )
        lifetime = _number(_LIFETIME, options.get(_LIFETIME, "").strip() or str(_DEFAULT_LIFETIME_SECONDS))
        return cls(principal=principal, claims=claims, lifetime_seconds=lifetime)

    def token(self, now_ms: int) -> tuple[str, int]:
        """A token, and when it ends, in milliseconds since 1970."""
        now = now_ms / 1000
        claims = {**self.claims, "iat": now, "exp": now + self.lifetime_seconds}
        sections = (_encoded({"alg": "none"}), _encoded(claims), "")
        return ".".join(sections), now_ms + int(self.lifetime_seconds * 1000)


def _claim(option: str, prefix: str) -> str:
    name = option.removeprefix(prefix)
    if not name or name in _RESERVED:
        raise InvalidTokenOption(f"{option}: a claim cannot have the name {name!r}, which the client writes itself")
    return name


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        # Not shown: claims may be secret.
        raise InvalidTokenOption(f"{name} in sasl.jaas.config must be a number") from None


def _encoded(document: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).decode().rstrip("=")
