"""OAUTHBEARER: messages, the exchange on both sides, unsecured tokens, and that no token is shown."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.exchange import (
    ClientAuthenticated,
    ClientToken,
    OutOfTurn,
    SaslChallenge,
    SaslFailure,
    SaslSuccess,
)
from tidelog.security.oauthbearer import (
    BearerFirstMessage,
    BearerToken,
    MalformedBearerMessage,
    OAuthBearerClientExchange,
    OAuthBearerServerExchange,
    TokenRefusal,
)
from tidelog.security.unsecured_tokens import InvalidTokenOption, UnsecuredTokenValidator

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
TOKEN = "planted.Token-7"


class Validator:
    """Knows one token."""

    def validate(self, token: str, now_ms: int) -> BearerToken | TokenRefusal:
        if token != TOKEN:
            return TokenRefusal(reason="unknown")
        return BearerToken(principal_name="alice", expires_at_ms=now_ms + 5)


def server() -> OAuthBearerServerExchange:
    return OAuthBearerServerExchange(validator=Validator())


def test_a_token_is_accepted() -> None:
    client = OAuthBearerClientExchange(token=TOKEN, extensions={"traceId": "1 2", "k": "v=w"})

    outcome = server().evaluate(client.first_token(), NOW_MS)

    extensions = {"traceId": "1 2", "k": "v=w"}
    assert outcome == SaslSuccess(token=b"", user="alice", expires_at_ms=NOW_MS + 5, extensions=extensions)
    assert client.answer(b"") == ClientAuthenticated()
    with pytest.raises(OutOfTurn):
        client.answer(b"")


def test_a_refused_token_is_acknowledged_and_then_fails() -> None:
    client, answering = OAuthBearerClientExchange(token="other"), server()

    challenge = answering.evaluate(client.first_token(), NOW_MS)

    assert challenge == SaslChallenge(token=b'{"status":"invalid_token"}')
    assert client.answer(b'{"status":"invalid_token"}') == ClientToken(token=b"\x01")
    assert answering.evaluate(b"\x01", NOW_MS) == SaslFailure(reason="unknown", told='{"status":"invalid_token"}')
    with pytest.raises(OutOfTurn):
        answering.evaluate(b"\x01", NOW_MS)


def test_a_connection_has_one_guess() -> None:
    answering = server()
    answering.evaluate(OAuthBearerClientExchange(token="other").first_token(), NOW_MS)
    outcome = answering.evaluate(OAuthBearerClientExchange(token=TOKEN).first_token(), NOW_MS)
    assert isinstance(outcome, SaslFailure)
    assert outcome.told is None


def test_a_client_cannot_act_for_somebody_else() -> None:
    message = BearerFirstMessage(authorization_id="bob", token=TOKEN)
    outcome = server().evaluate(message.to_bytes(), NOW_MS)
    assert isinstance(outcome, SaslFailure)
    assert outcome.told == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)"
    )
    same = BearerFirstMessage(authorization_id="alice", token=TOKEN)
    assert isinstance(server().evaluate(same.to_bytes(), NOW_MS), SaslSuccess)


def test_the_first_message_is_spelled_as_in_kafka() -> None:
    client = OAuthBearerClientExchange(token="t", extensions={"a": "b"})
    assert client.first_token() == b"n,,\x01auth=Bearer t\x01a=b\x01\x01"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01k=v\x01\x01",
        b"y,,\x01auth=Bearer t\x01\x01",
        b"n,,\x01auth=Bearer t\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Basic t\x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01auth=Bearer t\x01k1=v\x01\x01",
        b"n,,\x01auth=Bearer t\x01k=\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
        b"n,,\x01auth=Bearer planted\x01planted\x01\x01",
    ],
)
def test_malformed_first_messages_are_refused_without_being_repeated(message: bytes) -> None:
    with pytest.raises(MalformedBearerMessage) as caught:
        BearerFirstMessage.parse(message)
    assert "planted" not in str(caught.value)
    assert caught.value.__cause__ is None
    outcome = server().evaluate(message, NOW_MS)
    assert isinstance(outcome, SaslFailure)
    assert outcome.told is None


extension_names = st.from_regex(r"[A-Za-z]+", fullmatch=True).filter(lambda name: name != "auth")
extension_values = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x7E) | st.sampled_from("\t\r\n"), min_size=1
)


@given(
    token=st.from_regex(r"[-_~+/.a-zA-Z0-9]+=*", fullmatch=True),
    extensions=st.dictionaries(extension_names, extension_values, max_size=3),
)
def test_a_first_message_is_read_back(token: str, extensions: dict[str, str]) -> None:
    client = OAuthBearerClientExchange(token=token, extensions=extensions)
    read = BearerFirstMessage.parse(client.first_token())
    assert (read.authorization_id, read.token, dict(read.extensions)) == ("", token, extensions)


@pytest.mark.parametrize("extensions", [{"auth": "x"}, {"a1": "x"}, {"": "x"}, {"a": ""}, {"a": "planted\x01"}])
def test_extensions_that_cannot_be_sent_are_refused(extensions: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="extension") as caught:
        OAuthBearerClientExchange(token="t", extensions=extensions)
    assert "planted" not in str(caught.value)


def unsecured(claims: Any, header: Any = None, signature: str = "") -> str:
    def section(value: Any) -> str:
        return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{section({'alg': 'none'} if header is None else header)}.{section(claims)}.{signature}"


VALID: dict[str, Any] = {"sub": "alice", "exp": NOW + 60, "iat": NOW - 60, "scope": ["a", "b"]}


def test_an_unsecured_token_is_read() -> None:
    assert UnsecuredTokenValidator().validate(unsecured(VALID), NOW_MS) == BearerToken(
        principal_name="alice",
        scopes=frozenset({"a", "b"}),
        expires_at_ms=NOW_MS + 60_000,
        started_at_ms=NOW_MS - 60_000,
    )


@pytest.mark.parametrize(
    ("claims", "accepted"),
    [
        ({"exp": NOW + 0.001}, True),
        ({"exp": NOW}, False),
        ({"exp": None}, False),
        ({"exp": str(NOW + 60)}, False),
        ({"iat": NOW}, True),
        ({"iat": NOW + 0.001}, False),
        ({"iat": None}, False),
        ({"exp": NOW + 1, "iat": NOW + 1}, False),
        ({"sub": ""}, False),
        ({"sub": "  "}, False),
        ({"sub": 5}, False),
        ({"sub": "\ud800"}, False),
        # Kafka takes the text of what is neither a number nor a list.
        ({"sub": True}, True),
        ({"scope": 5}, False),
        ({"scope": {"a": 1}}, True),
    ],
)
def test_which_claims_an_unsecured_token_needs(claims: dict[str, Any], accepted: bool) -> None:
    found = UnsecuredTokenValidator().validate(unsecured(VALID | claims), NOW_MS)
    assert isinstance(found, BearerToken) == accepted


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a",
        "..",
        "planted.planted.",
        unsecured(VALID, signature="planted"),
        unsecured(VALID, header={"alg": "RS256"}),
        unsecured(VALID, header={}),
        unsecured(VALID, header=[]),
        unsecured([VALID]),
        unsecured(VALID) + ".",
        unsecured(VALID).replace(".", "..", 1),
    ],
)
def test_what_is_not_an_unsecured_token_is_refused_without_being_repeated(token: str) -> None:
    found = UnsecuredTokenValidator().validate(token, NOW_MS)
    assert isinstance(found, TokenRefusal)
    assert found.status == "invalid_token"
    assert "planted" not in repr(found)


@pytest.mark.parametrize("scope", ["a b", ["a"], None])
def test_a_missing_scope_is_named(scope: Any) -> None:
    """A text is one scope as a whole."""
    validator = UnsecuredTokenValidator.of_options({"unsecuredValidatorRequiredScope": "a  b"})
    found = validator.validate(unsecured(VALID | {"scope": scope}), NOW_MS)
    assert isinstance(found, TokenRefusal)
    assert found.as_json() == '{"status":"insufficient_scope", "scope":"[a, b]"}'


def test_options_change_what_is_needed() -> None:
    validator = UnsecuredTokenValidator.of_options(
        {
            "unsecuredValidatorPrincipalClaimName": " name ",
            "unsecuredValidatorScopeClaimName": "scp",
            "unsecuredValidatorRequiredScope": "x",
            "unsecuredValidatorAllowableClockSkewMs": "2000",
        }
    )
    found = validator.validate(unsecured({"name": "bob", "scp": " x ", "exp": NOW - 1, "iat": NOW - 2}), NOW_MS)
    assert isinstance(found, BearerToken)
    assert (found.principal_name, found.scopes) == ("bob", frozenset({"x"}))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("AllowableClockSkewMs", "-1"),
        ("AllowableClockSkewMs", "soon"),
        ("AllowableClockSkewMs", "2147483648"),
        ("RequiredScope", 'a "b"'),
    ],
)
def test_options_that_cannot_be_used_are_refused(option: str, value: str) -> None:
    with pytest.raises(InvalidTokenOption, match=f"unsecuredValidator{option}"):
        UnsecuredTokenValidator.of_options({f"unsecuredValidator{option}": value})


@given(token=st.text() | st.from_regex(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.", fullmatch=True))
def test_no_token_breaks_the_validator(token: str) -> None:
    assert isinstance(UnsecuredTokenValidator().validate(token, NOW_MS), BearerToken | TokenRefusal)


def test_nothing_shows_a_token() -> None:
    client, answering = OAuthBearerClientExchange(token=TOKEN), server()
    message = BearerFirstMessage.parse(client.first_token())
    shown = [client, answering, message, answering.evaluate(client.first_token(), NOW_MS)]
    assert not [each for each in shown if "planted" in repr(each)]
