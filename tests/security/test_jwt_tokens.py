"""Signed tokens: which keys, algorithms and claims are accepted. Needs the optional package joserfc."""

from __future__ import annotations

import hmac
import json
import sys
import warnings
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from tidelog.security.jwt_tokens import InvalidKeySet, JwtExpectations, JwtLibraryMissing, JwtValidator
from tidelog.security.oauthbearer import BearerToken, TokenRefusal

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
CLAIMS: dict[str, Any] = {"sub": "alice", "exp": NOW + 60, "iat": NOW - 60}


@pytest.fixture(scope="module")
def jose() -> Any:
    """The library's modules for keys and signatures."""
    reason = "signed tokens need the optional package joserfc"
    return pytest.importorskip("joserfc.jwk", reason=reason), pytest.importorskip("joserfc.jws", reason=reason)


@pytest.fixture(scope="module")
def keys(jose: Any) -> dict[str, Any]:
    jwk, _ = jose
    return {
        "rsa": jwk.RSAKey.generate_key(2048, {"kid": "rsa"}),
        "other": jwk.RSAKey.generate_key(2048, {"kid": "other"}),
        "ec": jwk.ECKey.generate_key("P-256", {"kid": "ec"}),
        "wide": jwk.ECKey.generate_key("P-384", {"kid": "wide"}),
    }


def key_set(*described: dict[str, Any]) -> bytes:
    return json.dumps({"keys": described}).encode()


def public(key: Any, **changes: Any) -> dict[str, Any]:
    described = {**key.as_dict(private=False), **changes}
    return {name: value for name, value in described.items() if value is not None}


class Signing:
    def __init__(self, jose: Any, keys: dict[str, Any]) -> None:
        _, self.jws = jose
        self.keys = keys

    def token(self, claims: Any, *, key: str = "rsa", alg: str = "RS256", **header: Any) -> str:
        text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        protected = {"alg": alg, "kid": key, **header}
        protected = {name: value for name, value in protected.items() if value is not None}
        registry = self.jws.JWSRegistry(algorithms=[alg], strict_check_header=False)
        signed: str = self.jws.serialize_compact(protected, text, self.keys[key], registry=registry)
        return signed

    def validator(self, *described: dict[str, Any], **expectations: Any) -> JwtValidator:
        found = described or tuple(public(key) for key in self.keys.values())
        return JwtValidator(key_set=key_set(*found), expectations=JwtExpectations(**expectations))


@pytest.fixture(scope="module")
def signing(jose: Any, keys: dict[str, Any]) -> Signing:
    return Signing(jose, keys)


def test_a_signed_token_is_read(signing: Signing) -> None:
    token = signing.token(CLAIMS | {"sub": " alice ", "scope": ["a ", "b"], "unknown": {"x": 1}})
    assert signing.validator().validate(f" {token}\n", NOW_MS) == BearerToken(
        principal_name="alice",
        scopes=frozenset({"a", "b"}),
        expires_at_ms=NOW_MS + 60_000,
        started_at_ms=NOW_MS - 60_000,
    )


@pytest.mark.parametrize(
    ("key", "alg"), [("rsa", "RS256"), ("rsa", "RS512"), ("rsa", "PS384"), ("ec", "ES256"), ("wide", "ES384")]
)
def test_asymmetric_algorithms_are_accepted(signing: Signing, key: str, alg: str) -> None:
    token = signing.token(CLAIMS, key=key, alg=alg)
    assert isinstance(signing.validator().validate(token, NOW_MS), BearerToken)


SKEW = 30


@pytest.mark.parametrize(
    ("claims", "accepted"),
    [
        ({"exp": NOW - SKEW + 1, "iat": NOW - 90}, True),
        ({"exp": NOW - SKEW, "iat": NOW - 90}, False),
        ({"exp": None}, False),
        ({"exp": "soon"}, False),
        ({"exp": True}, False),
        ({"exp": NOW + 60.9}, True),
        ({"exp": 1e300}, False),
        ({"iat": None}, False),
        ({"iat": NOW + 50}, True),
        ({"iat": NOW + 61}, False),
        ({"iat": -1}, False),
        ({"nbf": NOW + SKEW}, True),
        ({"nbf": NOW + SKEW + 1}, False),
        ({"nbf": NOW + 61}, False),
        ({"nbf": "now"}, False),
        ({"sub": None}, False),
        ({"sub": " "}, False),
        ({"sub": 5}, False),
        ({"sub": "\ud800"}, False),
        ({"scope": "a b"}, True),
        ({"scope": 5}, True),
        ({"scope": ["a", "a "]}, False),
        ({"scope": ["a", ""]}, False),
        ({"scope": ["a", 5]}, False),
        ({"iss": "anybody"}, True),
        ({"iss": 5}, False),
        ({"jti": 5}, False),
        # Without an expected audience, a token that is meant for one is not meant for us.
        ({"aud": "kafka"}, False),
        ({"aud": []}, False),
    ],
)
def test_which_claims_a_token_needs(signing: Signing, claims: dict[str, Any], accepted: bool) -> None:
    written = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    found = signing.validator(clock_skew_seconds=SKEW).validate(signing.token(written), NOW_MS)
    assert isinstance(found, BearerToken) == accepted, found


@pytest.mark.parametrize(
    ("claims", "accepted"),
    [
        ({}, False),
        ({"aud": "kafka"}, False),
        ({"aud": "kafka", "iss": "us"}, True),
        ({"aud": ["x", "logs"], "iss": "us"}, True),
        ({"aud": ["x"], "iss": "us"}, False),
        ({"aud": [5, "kafka"], "iss": "us"}, False),
        ({"aud": 5, "iss": "us"}, False),
        ({"aud": "kafka", "iss": "them"}, False),
    ],
)
def test_audience_and_issuer_can_be_expected(signing: Signing, claims: dict[str, Any], accepted: bool) -> None:
    validator = signing.validator(audiences=frozenset({"kafka", "logs"}), issuer="us")
    assert isinstance(validator.validate(signing.token(CLAIMS | claims), NOW_MS), BearerToken) == accepted


def test_claims_can_have_other_names(signing: Signing) -> None:
    validator = signing.validator(scope_claim_name="scp", sub_claim_name="client")
    found = validator.validate(signing.token(CLAIMS | {"client": "bob", "scp": "x"}), NOW_MS)
    assert isinstance(found, BearerToken)
    assert (found.principal_name, found.scopes) == ("bob", frozenset({"x"}))


def section(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize("alg", ["none", "NONE", "HS256", "HS512", "dir", "", None, 5])
def test_no_other_algorithm_is_accepted(signing: Signing, alg: Any) -> None:
    token = f"{section({'alg': alg, 'kid': 'rsa'})}.{section(CLAIMS)}.{section('signature')}"
    found = signing.validator().validate(token, NOW_MS)
    assert isinstance(found, TokenRefusal)
    assert "algorithm" in found.reason


def test_a_public_key_is_not_a_shared_secret(signing: Signing, keys: dict[str, Any]) -> None:
    """Whoever knows the public key, and that is everybody, signs with it as with a password."""
    signed = f"{section({'alg': 'HS256', 'kid': 'rsa'})}.{section(CLAIMS)}"
    for secret in (keys["rsa"].as_pem(private=False), keys["rsa"].as_der(private=False)):
        signature = urlsafe_b64encode(hmac.digest(secret, signed.encode(), "sha256")).decode().rstrip("=")
        assert isinstance(signing.validator().validate(f"{signed}.{signature}", NOW_MS), TokenRefusal)


def test_a_symmetric_key_in_the_key_set_checks_nothing(signing: Signing, jose: Any, keys: dict[str, Any]) -> None:
    jwk, jws = jose
    secret = jwk.OctKey.generate_key(256, {"kid": "oct"})
    token = jws.serialize_compact({"alg": "HS256", "kid": "oct"}, json.dumps(CLAIMS), secret, algorithms=["HS256"])
    validator = signing.validator(public(keys["rsa"]), secret.as_dict(private=True))
    assert isinstance(validator.validate(token, NOW_MS), TokenRefusal)
    with pytest.raises(InvalidKeySet, match="none of the 1 keys"):
        signing.validator(secret.as_dict(private=True))


@pytest.mark.parametrize(
    ("changes", "header", "accepted"),
    [
        ({}, {}, True),
        ({}, {"kid": None}, True),
        ({}, {"kid": "unknown"}, False),
        ({"kid": None}, {}, False),
        ({"kid": None}, {"kid": None}, True),
        ({"use": "sig"}, {}, True),
        ({"use": "enc"}, {}, False),
        ({"alg": "RS256"}, {}, True),
        ({"alg": "RS512"}, {}, False),
        ({"key_ops": ["verify"]}, {}, True),
        ({"key_ops": ["encrypt"]}, {}, False),
        # A header that nobody knows is no harm, unless it says that it must be understood.
        ({}, {"nonce": "x"}, True),
        ({}, {"x5c": ["A" * 3000]}, True),
    ],
)
def test_which_key_is_taken(
    signing: Signing, keys: dict[str, Any], changes: dict[str, Any], header: dict[str, Any], accepted: bool
) -> None:
    validator = signing.validator(public(keys["rsa"], **changes))
    assert isinstance(validator.validate(signing.token(CLAIMS, **header), NOW_MS), BearerToken) == accepted


def test_what_must_be_understood_is_refused(signing: Signing) -> None:
    head, claims, signature = signing.token(CLAIMS).split(".")
    critical = section({"alg": "RS256", "kid": "rsa", "crit": ["x"], "x": 1})
    assert isinstance(signing.validator().validate(f"{critical}.{claims}.{signature}", NOW_MS), TokenRefusal)
    assert isinstance(signing.validator().validate(f"{head}.{claims}.{signature}", NOW_MS), BearerToken)


def test_a_key_of_another_kind_or_another_key_does_not_verify(signing: Signing, keys: dict[str, Any]) -> None:
    token = signing.token(CLAIMS)
    for described in (public(keys["other"], kid="rsa"), public(keys["ec"], kid="rsa")):
        assert isinstance(signing.validator(described).validate(token, NOW_MS), TokenRefusal)
    forged = signing.token(CLAIMS, key="wide", alg="ES384", kid="ec")
    assert isinstance(signing.validator().validate(forged, NOW_MS), TokenRefusal)


@pytest.mark.parametrize("at", range(3))
def test_a_changed_token_is_refused(signing: Signing, at: int) -> None:
    sections = signing.token(CLAIMS).split(".")
    sections[at] = sections[at][:5] + ("A" if sections[at][5] != "A" else "B") + sections[at][6:]
    assert isinstance(signing.validator().validate(".".join(sections), NOW_MS), TokenRefusal)


def test_a_name_that_is_there_twice_is_refused(signing: Signing) -> None:
    text = f'{{"sub":"alice","sub":"admin","exp":{NOW + 60},"iat":{NOW}}}'.encode()
    assert isinstance(signing.validator().validate(signing.token(text), NOW_MS), TokenRefusal)


@pytest.mark.parametrize("token", ["", "planted", "planted.planted.planted", "planted.planted.", "..", "a.b.c.d.e"])
def test_what_is_not_a_token_is_refused_without_being_repeated(signing: Signing, token: str) -> None:
    found = signing.validator().validate(token, NOW_MS)
    assert isinstance(found, TokenRefusal)
    assert "planted" not in repr(found)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"keys": 5}', b'{"keys": []}', b'{"keys": [5, {}, {"kty": "RSA"}]}', b"\xff"]
)
def test_a_key_set_without_keys_is_refused(jose: Any, text: bytes) -> None:
    with pytest.raises(InvalidKeySet):
        JwtValidator(key_set=text, expectations=JwtExpectations())


def test_a_short_key_is_not_used(jose: Any) -> None:
    with warnings.catch_warnings():
        # Of the library, which warns as well.
        warnings.simplefilter("ignore")
        short = jose[0].RSAKey.generate_key(1024, {"kid": "short"})
        with pytest.raises(InvalidKeySet, match="2048 bits"):
            JwtValidator(key_set=key_set(public(short)), expectations=JwtExpectations())


def test_the_package_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("joserfc", "joserfc.jwk", "joserfc.jws"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(JwtLibraryMissing, match=r"tidelog\[oauth\]"):
        JwtValidator(key_set=b"{}", expectations=JwtExpectations())
