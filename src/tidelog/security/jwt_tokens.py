"""Signed JSON web tokens, checked with the keys of a JSON web key set, as Kafka's BrokerJwtValidator does (KIP-768).

It needs the optional package `joserfc`, which checks the signature; the claims are checked here. Where the key set
comes from (`sasl.oauthbearer.jwks.endpoint.url`), and when it is fetched again, is not known here: a new set is a new
validator.

Only asymmetric algorithms are accepted, each with the kind of key that it is for. So a token cannot be unsigned, and
nobody can use a public key as if it were a shared secret. Checking a signature takes tenths of a millisecond.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NoReturn

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.oauthbearer import BearerToken, TokenRefusal, is_encodable

# Each with the kind of key that it needs, and the curve.
_ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
}
_SMALLEST_RSA_KEY_BITS = 2048
# Headers with a chain of certificates are large. A whole request has at most sasl.server.max.receive.size bytes.
_LARGEST_HEADER = 65536
_SECTIONS = 3
# What Java's String.trim() removes.
_BLANKS = "".join(map(chr, range(0x21)))


class JwtLibraryMissing(Exception):
    """The optional package is not installed."""


class InvalidKeySet(Exception):
    """A key set without a key that could check a token."""


class _Invalid(Exception):
    """Why a token is refused. Never contains any part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtExpectations:
    """By the properties `sasl.oauthbearer.*` with the same names."""

    # expected.audience: without it, tokens for any audience are refused, as in Kafka; those without one are accepted.
    audiences: frozenset[str] = frozenset()
    # expected.issuer
    issuer: str | None = None
    clock_skew_seconds: int = 30
    scope_claim_name: str = "scope"
    sub_claim_name: str = "sub"


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerificationKey:
    parameters: Mapping[str, Any]
    # Of joserfc.
    key: Any

    def fits(self, *, key_id: object, algorithm: str) -> bool:
        kind, curve = _ALGORITHMS[algorithm]
        described = self.parameters
        return (
            described["kty"] == kind
            and (curve is None or described.get("crv") == curve)
            and described.get("use", "sig") == "sig"
            and described.get("alg", algorithm) == algorithm
            and "verify" in described.get("key_ops", ("verify",))
            and (key_id is None or described.get("kid") == key_id)
        )


class JwtValidator:
    """Of the keys that fit a token, the first one counts, as in Kafka: tokens should name theirs (`kid`)."""

    __slots__ = ("_expectations", "_keys", "_registry", "_verify")

    def __init__(self, *, key_set: bytes, expectations: JwtExpectations) -> None:
        """Raises JwtLibraryMissing, or InvalidKeySet."""
        signatures = _library("jws")
        self._expectations = expectations
        self._keys = _verification_keys(key_set)
        # Headers may have parameters that nobody knows, unless they are marked as critical.
        self._registry: Any = signatures.JWSRegistry(algorithms=sorted(_ALGORITHMS), strict_check_header=False)
        self._registry.max_header_length = _LARGEST_HEADER
        self._verify: Callable[..., Any] = signatures.deserialize_compact

    def validate(self, token: str, now_ms: int) -> BearerToken | TokenRefusal:
        try:
            claims = self._verified_claims(token.strip(_BLANKS))
            self._check_times(claims, now_ms // 1000)
            self._check_parties(claims)
            return self._read(claims)
        except _Invalid as error:
            return TokenRefusal(reason=str(error))

    def _verified_claims(self, token: str) -> Mapping[str, Any]:
        sections = token.split(".")
        if len(sections) != _SECTIONS or not all(section.strip(_BLANKS) for section in sections):
            raise _Invalid("the token does not have a header, claims and a signature, with dots between them")
        header = _object(_decoded(sections[0], "header"), "header")
        algorithm = header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
            raise _Invalid(f"the token's algorithm is not one of {', '.join(_ALGORITHMS)}")
        key_id = header.get("kid")
        fitting = (each for each in self._keys if each.fits(key_id=key_id, algorithm=algorithm))
        key = next(fitting, None)
        if key is None:
            raise _Invalid(f"no key of the key set fits the token's key id and its algorithm {algorithm}")
        try:
            found = self._verify(token, key.key, registry=self._registry)
        except Exception as error:
            # Whatever the library raises for a token that a stranger sent, the token is not valid. The cause is left
            # out: it may quote the token.
            raise _Invalid(f"the token's signature could not be verified ({type(error).__name__})") from None
        return _object(found.payload, "claims")

    def _check_times(self, claims: Mapping[str, Any], now: int) -> None:
        """In whole seconds, as Kafka's library counts."""
        skew = self._expectations.clock_skew_seconds
        expires, issued, begins = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
        if expires is None or issued is None:
            raise _Invalid("the token lacks the claim exp or iat: both are required")
        if now - skew >= expires:
            raise _Invalid(f"the token has expired by now ({now} seconds): its claim exp is {expires}")
        if expires < issued or (begins is not None and expires < begins):
            raise _Invalid(f"the token expires ({expires}) before it is issued ({issued}) or begins ({begins})")
        if begins is not None and now + skew < begins:
            raise _Invalid(f"the token is not valid yet ({now} seconds): its claim nbf is {begins}")

    def _check_parties(self, claims: Mapping[str, Any]) -> None:
        expected = self._expectations
        for name in ("iss", "sub", "jti"):
            if not isinstance(claims.get(name), str | None):
                raise _Invalid(f"the claim {name} is not a text")
        if expected.issuer is not None and claims.get("iss") != expected.issuer:
            raise _Invalid("the token's issuer is not the expected one (sasl.oauthbearer.expected.issuer)")
        audience = claims.get("aud")
        if audience is None:
            if expected.audiences:
                raise _Invalid("the token has no audience, and one is expected (sasl.oauthbearer.expected.audience)")
            return
        listed = audience if isinstance(audience, list) else [audience]
        if not all(isinstance(each, str) for each in listed):
            raise _Invalid("the claim aud is neither a text nor a list of texts")
        if expected.audiences.isdisjoint(listed):
            raise _Invalid("the token is for another audience than expected (sasl.oauthbearer.expected.audience)")

    def _read(self, claims: Mapping[str, Any]) -> BearerToken:
        expected = self._expectations
        scopes = claims.get(expected.scope_claim_name)
        # A text is one scope as a whole, also if it has spaces in it.
        listed = scopes if isinstance(scopes, list) else [scopes] if isinstance(scopes, str) else []
        trimmed = [_name(scope, expected.scope_claim_name) for scope in listed]
        if len(set(trimmed)) != len(trimmed):
            raise _Invalid(f"the claim {expected.scope_claim_name} lists a scope more than once")
        expires, issued = _seconds(claims, "exp"), _seconds(claims, "iat")
        if expires is None or issued is None or expires < 0 or issued < 0:
            raise _Invalid("the claims exp and iat must not be negative")
        return BearerToken(
            principal_name=_name(claims.get(expected.sub_claim_name), expected.sub_claim_name),
            scopes=frozenset(trimmed),
            expires_at_ms=expires * 1000,
            started_at_ms=issued * 1000,
        )


def _library(name: str) -> Any:
    try:
        return import_module(f"joserfc.{name}")
    except ImportError as error:
        raise JwtLibraryMissing(
            "signed tokens need the package joserfc, which is not installed: pip install 'tidelog[oauth]'"
        ) from error


def _verification_keys(key_set: bytes) -> tuple[_VerificationKey, ...]:
    """Keys of other kinds are left out, as RFC 7517 wants it."""
    importing = _library("jwk").JWKRegistry.import_key
    try:
        described = json.loads(key_set)["keys"]
        candidates = [each for each in described if isinstance(each, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidKeySet('the JSON web key set is not JSON of the form {"keys": [...]}') from None
    kinds = {kind for kind, _ in _ALGORITHMS.values()}
    keys = []
    for parameters in candidates:
        if parameters.get("kty") not in kinds:
            continue
        try:
            key = importing(parameters)
            bits = key.raw_value.key_size
        except Exception:  # noqa: S112, RUF100
            # The library raises what its own libraries raise. A key that cannot be read checks nothing.
            continue
        if parameters["kty"] != "RSA" or bits >= _SMALLEST_RSA_KEY_BITS:
            keys.append(_VerificationKey(parameters=parameters, key=key))
    if not keys:
        raise InvalidKeySet(
            f"none of the {len(candidates)} keys of the JSON web key set can check a signature: use RSA keys of at "
            f"least {_SMALLEST_RSA_KEY_BITS} bits, or EC keys"
        )
    return tuple(keys)


def _decoded(section: str, subject: str) -> bytes:
    try:
        return urlsafe_b64decode(section + "=" * (-len(section) % 4))
    except ValueError:
        raise _Invalid(f"the token's {subject} is not Base64 for URLs") from None


def _object(text: bytes, subject: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _Invalid(f"the token's {subject} is not JSON, or has a name twice") from None
    if not isinstance(found, dict):
        raise _Invalid(f"the token's {subject} is not a JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers could take different ones of two claims with one name, so there may be only one (RFC 7519)."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _seconds(claims: Mapping[str, Any], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        raise _Invalid(f"the claim {name} is not a number of seconds")
    return int(value)


def _name(value: object, claim: str) -> str:
    trimmed = value.strip(_BLANKS) if isinstance(value, str) else ""
    if not trimmed or not is_encodable(trimmed):
        raise _Invalid(f"the claim {claim} is not there, not a text, or empty")
    return trimmed
