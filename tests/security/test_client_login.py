"""Who a client logs in as, from the properties that Java's users have; and tokens that it makes itself."""

from __future__ import annotations

import re

import pytest

from tidelog.security.client_login import (
    GivenTokens,
    InvalidLogin,
    PasswordLogin,
    TokenEndpoint,
    TokenLogin,
    read_login,
)
from tidelog.security.oauthbearer import BearerToken
from tidelog.security.unsecured_login import UnsecuredTokens
from tidelog.security.unsecured_tokens import UnsecuredTokenValidator, expiry_of_token

PACKAGE = "org.apache.kafka.common.security"
PLAIN_JAAS = f'{PACKAGE}.plain.PlainLoginModule required username="alice" password="planted-secret";'
SCRAM_JAAS = f'{PACKAGE}.scram.ScramLoginModule required username="alice" password="planted-secret";'
OAUTH = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
HANDLER = "sasl.login.callback.handler.class"
NOW_MS = 1_700_000_000_000


def oauth(options: str = "", **properties: str) -> dict[str, str]:
    return {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH} {options};", **properties}


@pytest.mark.parametrize(
    "properties",
    [
        {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN_JAAS},
        {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": SCRAM_JAAS},
        {"sasl.mechanism": " SCRAM-SHA-512 ", "sasl.jaas.config": SCRAM_JAAS},
        {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": "planted-secret"},
    ],
)
def test_users_and_passwords(properties: dict[str, str]) -> None:
    login = read_login(properties)
    assert isinstance(login, PasswordLogin)
    assert (login.mechanism, login.user) == (properties["sasl.mechanism"].strip(), "alice")
    assert login.password == "planted-secret"
    assert not login.by_delegation_token
    assert "planted-secret" not in repr(login)


def test_a_delegation_token() -> None:
    jaas = SCRAM_JAAS.replace(";", ' tokenauth="true";')
    login = read_login({"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": jaas})
    assert isinstance(login, PasswordLogin)
    assert login.by_delegation_token


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "sasl.mechanism is missing: set it to one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI must be one of PLAIN"),
        ({"sasl.mechanism": "plain"}, "did you mean PLAIN?"),
        ({"sasl.mechanism": "AWS_MSK_IAM"}, "For Amazon MSK use OAUTHBEARER with a token provider"),
        ({"sasl.mechanism": "PLAIN"}, "there is no user name: set sasl.jaas.config"),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "alice"}, "there is no password"),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN_JAAS, "sasl.password": "planted-secret"},
            "sasl.jaas.config and sasl.username or sasl.password are both set",
        ),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": SCRAM_JAAS},
            f"sasl.jaas.config for PLAIN must have the login module {PACKAGE}.plain.PlainLoginModule",
        ),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN_JAAS[:-1]}, "must end with a semicolon"),
        (
            {"sasl.mechanism": "PLAIN", "sasl.username": "a\0b", "sasl.password": "planted-secret"},
            "PLAIN cannot send a user name or a password with a NUL",
        ),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN_JAAS, "sasl.oauth.token.provider": "a:b"},
            "sasl.oauth.token.provider is for sasl.mechanism=OAUTHBEARER",
        ),
        ({"sasl.mechanism": "OAUTHBEARER"}, "needs the option unsecuredLoginStringClaim_sub in sasl.jaas.config"),
        ({"sasl.mechanism": "OAUTHBEARER", "sasl.username": "x"}, "sasl.username has no effect"),
        (oauth('unsecuredLoginNumberClaim_x="planted-secret"'), "unsecuredLoginNumberClaim_x in sasl.jaas.config must"),
        (oauth('unsecuredLoginStringClaim_exp="1"'), "a claim cannot have the name 'exp'"),
        (oauth('unsecuredLoginStringClaim_sub="u" unsecuredLoginExtension_auth="x"'), "cannot have the name 'auth'"),
        (oauth(**{HANDLER: "com.example.Mine"}), "is a Java class that is not known here"),
        (oauth(**{ENDPOINT: "ftp://x"}), "must be an address that begins with https://"),
        (oauth('clientId="x"', **{ENDPOINT: "https://x/token"}), "needs a client: set clientId and clientSecret"),
        (
            oauth(**{ENDPOINT: "https://x/token", "sasl.oauth.token.provider": "a:b"}),
            f"sasl.oauth.token.provider and {ENDPOINT} are both set",
        ),
    ],
)
def test_what_cannot_work_is_named_without_secrets(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidLogin, match=re.escape(said)) as refused:
        read_login(properties)
    assert "planted-secret" not in str(refused.value)


def test_a_token_endpoint_by_options_or_by_properties() -> None:
    handler = {HANDLER: f"{PACKAGE}.oauthbearer.secured.OAuthBearerLoginCallbackHandler", ENDPOINT: "https://idp/token"}
    options = 'clientId="app" clientSecret="planted-secret" scope="kafka" extension_logicalCluster="lkc-1"'
    login = read_login(oauth(options, **handler))
    assert login == TokenLogin(
        tokens=TokenEndpoint(url="https://idp/token", client_id="app", client_secret="planted-secret", scope="kafka"),
        extensions={"logicalCluster": "lkc-1"},
    )
    assert "planted-secret" not in repr(login)
    by_properties = {
        "sasl.oauthbearer.client.credentials.client.id": "app",
        "sasl.oauthbearer.client.credentials.client.secret": "planted-secret",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.header.urlencode": "true",
    }
    newer = read_login(oauth("", **{ENDPOINT: "https://idp/token"}, **by_properties))
    assert isinstance(newer, TokenLogin)
    assert newer.tokens == TokenEndpoint(
        url="https://idp/token", client_id="app", client_secret="planted-secret", scope="kafka", encode_header=True
    )


def test_a_function_for_tokens_by_itself_or_by_name() -> None:
    given = read_login({"sasl.mechanism": "OAUTHBEARER"}, has_provider=True)
    assert given == TokenLogin(tokens=GivenTokens())
    named = read_login({"sasl.mechanism": "OAUTHBEARER", "sasl.oauth.token.provider": "tokens:current"})
    assert named == TokenLogin(tokens=GivenTokens(name="tokens:current"))


def test_unsecured_tokens_say_what_the_options_say() -> None:
    options = (
        'unsecuredLoginStringClaim_user="alice" unsecuredLoginPrincipalClaimName="user" '
        'unsecuredLoginListClaim_scope="|read|write" unsecuredLoginNumberClaim_level="3" '
        'unsecuredLoginLifetimeSeconds="60" unsecuredLoginExtension_traceId="7"'
    )
    login = read_login(oauth(options))
    assert isinstance(login, TokenLogin)
    assert isinstance(login.tokens, UnsecuredTokens)
    assert login.extensions == {"traceId": "7"}
    token, expires_at_ms = login.tokens.token(NOW_MS)
    assert expires_at_ms == NOW_MS + 60_000 == expiry_of_token(token)
    validator = UnsecuredTokenValidator(principal_claim_name="user", required_scopes=("read",))
    assert validator.validate(token, NOW_MS) == BearerToken(
        principal_name="alice",
        scopes=frozenset({"read", "write"}),
        expires_at_ms=expires_at_ms,
        started_at_ms=NOW_MS,
    )


@pytest.mark.parametrize("token", ["", "a.b", "x.!!.y", "e30.e30.", "a.eyJleHAiOiJ4In0.b"])
def test_a_token_that_does_not_say_when_it_ends(token: str) -> None:
    assert expiry_of_token(token) is None
