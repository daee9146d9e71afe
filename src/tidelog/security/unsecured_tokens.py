"""Unsecured JSON web tokens, which anybody can make: for development only, and Kafka's default for OAUTHBEARER.

The rules and the options are those of Kafka's OAuthBearerUnsecuredValidatorCallbackHandler. Signed tokens are in
`jwt_tokens.py`.
"""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, NoReturn

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.oauthbearer import BearerToken, TokenRefusal, is_encodable

_OPTION_PREFIX = "unsecuredValidator"
# What Java's String.trim() removes.
_BLANKS = "".join(map(chr, range(0x21)))
_BASE64 = re.compile(r"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_SECTIONS = 3
_LAST_MS = 2**63 - 1

_Claims = Mapping[str, float | str | list[str]]


class InvalidTokenOption(Exception):
    """An option of the login module that cannot be used."""


class _Illegal(Exception):
    """Why a token is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsecuredTokenValidator:
    principal_claim_name: str = "sub"
    scope_claim_name: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_ms: int = 0

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> UnsecuredTokenValidator:
        """From the options of OAuthBearerLoginModule. A blank one is one that is not there.

        Raises InvalidTokenOption. Kafka finds such a mistake with the first token that it is given.
        """

        def option(name: str, default: str) -> str:
            return options.get(_OPTION_PREFIX + name, "").strip(_BLANKS) or default

        return cls(
            principal_claim_name=option("PrincipalClaimName", "sub"),
            scope_claim_name=option("ScopeClaimName", "scope"),
            required_scopes=_scopes(option("RequiredScope", "")),
            clock_skew_ms=_clock_skew(option("AllowableClockSkewMs", "0")),
        )

    def validate(self, token: str, now_ms: int) -> BearerToken | TokenRefusal:
        try:
            claims = _claims(token)
            found = self._read(claims)
            self._check_times(_number(claims, "iat"), _needed(_number(claims, "exp"), "exp"), now_ms)
        except _Illegal as error:
            return TokenRefusal(reason=str(error))
        missing = [scope for scope in self.required_scopes if scope not in found.scopes]
        if missing:
            required = f"[{', '.join(self.required_scopes)}]"
            return TokenRefusal(
                reason=f"the token lacks the scope {missing[0]}: {required} are required",
                status="insufficient_scope",
                scope=required,
            )
        return found

    def _read(self, claims: _Claims) -> BearerToken:
        scopes = self._scopes(claims)
        expires = _needed(_number(claims, "exp"), "exp")
        principal = claims.get(self.principal_claim_name)
        if not isinstance(principal, str) or not principal.strip(_BLANKS) or not is_encodable(principal):
            raise _Illegal(f"the claim {self.principal_claim_name} is not there or not a name")
        started = _number(claims, "iat")
        return BearerToken(
            principal_name=principal,
            scopes=scopes,
            expires_at_ms=_milliseconds(expires),
            started_at_ms=None if started is None else _milliseconds(started),
        )

    def _scopes(self, claims: _Claims) -> frozenset[str]:
        """A text is one scope as a whole, also if it has spaces in it."""
        value = claims.get(self.scope_claim_name)
        if isinstance(value, float):
            raise _Illegal(f"the claim {self.scope_claim_name} is neither a text nor a list")
        listed = value if isinstance(value, list) else [] if value is None else [value]
        return frozenset(each.strip(_BLANKS) for each in listed if each.strip(_BLANKS))

    def _check_times(self, issued: float | None, expires: float, now_ms: int) -> None:
        if issued is not None and 1000 * issued > now_ms + self.clock_skew_ms:
            raise _Illegal(f"the token is issued later than now ({now_ms} ms): its claim iat is {issued} seconds")
        if now_ms - self.clock_skew_ms >= 1000 * expires:
            raise _Illegal(f"the token has expired by now ({now_ms} ms): its claim exp is {expires} seconds")
        if issued is not None and expires <= issued:
            raise _Illegal(f"the token expires at {expires} seconds and is issued at {issued} seconds, not before that")


def expiry_of_token(token: str) -> int | None:
    """When any JSON web token ends, signed or not, in milliseconds since 1970; None for one that does not say so.

    Nothing is checked: it is for those who want to know when to ask for the next one.
    """
    sections = token.split(".")
    try:
        expires = _number(_object(sections[1], "claims"), "exp") if len(sections) == _SECTIONS else None
    except _Illegal:
        return None
    return None if expires is None else _milliseconds(expires)


def _claims(token: str) -> _Claims:
    sections = token.split(".")
    if len(sections) != _SECTIONS or not sections[1]:
        raise _Illegal("the token does not have a header, claims and an empty signature, with dots between them")
    header, claims = _object(sections[0], "header"), _object(sections[1], "claims")
    if header.get("alg") != "none":
        raise _Illegal("the token is not unsecured: the algorithm in its header must be 'none'")
    if sections[2]:
        raise _Illegal("the token is not unsecured: it has a signature")
    return claims


def _object(section: str, subject: str) -> _Claims:
    """What is not an object has no members, as in Kafka."""
    if not _BASE64.fullmatch(section):
        raise _Illegal(f"the token's {subject} is not Base64 for URLs")
    decoded = urlsafe_b64decode(section.rstrip("=") + "=" * (-len(section.rstrip("=")) % 4))
    # What follows the first value is not read, and may be anything: bytes that are not UTF-8 become surrogates.
    text = decoded.decode("utf-8-sig", errors="surrogateescape").lstrip(" \t\r\n")
    try:
        found, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        # The cause would carry the section.
        raise _Illegal(f"the token's {subject} is not JSON") from None
    if not is_encodable(text[:end]):
        raise _Illegal(f"the token's {subject} is not UTF-8")
    return {name: _converted(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_no_constant)


def _converted(value: Any) -> float | str | list[str]:
    """Numbers stay numbers; of everything else Kafka takes the text."""
    match value:
        case bool():
            return _text(value)
        case int():
            return _as_float(value)
        case float():
            return value
        case list():
            return [_text(each) for each in value]
        case _:
            return _text(value)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return ""


def _number(claims: _Claims, name: str) -> float | None:
    value = claims.get(name)
    if value is not None and not isinstance(value, float):
        raise _Illegal(f"the claim {name} is not a number")
    return value


def _needed(value: float | None, name: str) -> float:
    if value is None:
        raise _Illegal(f"the claim {name} is not there")
    return value


def _milliseconds(seconds: float) -> int:
    """As Math.round does, which also stays within a long."""
    product = seconds * 1000
    if math.isinf(product) or abs(product) > _LAST_MS:
        return _LAST_MS if product > 0 else -_LAST_MS - 1
    whole = math.floor(product)
    return whole + (product - whole >= 0.5)


def _scopes(text: str) -> tuple[str, ...]:
    found = tuple(scope for scope in text.split(" ") if scope)
    for scope in found:
        if not _SCOPE.fullmatch(scope):
            raise InvalidTokenOption(
                f"unsecuredValidatorRequiredScope: {scope!r} is not a scope (RFC 6749, section 3.3): use printable "
                'ASCII without " and \\'
            )
    return found


def _clock_skew(text: str) -> int:
    if not re.fullmatch(r"\+?[0-9]{1,10}", text) or int(text) > 2**31 - 1:
        raise InvalidTokenOption(
            f"unsecuredValidatorAllowableClockSkewMs: {text!r} must be a number of milliseconds, from 0 to {2**31 - 1}"
        )
    return int(text)
