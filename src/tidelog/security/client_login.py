"""Who a client logs in as: the properties of SASL, read as Kafka's client reads them.

Properties have Java's names. Beside `sasl.jaas.config` there are `sasl.username` and `sasl.password`, which librdkafka
has. Obtaining tokens is not done here, only said how: `tidelog.network.tokens` does it. No error and no repr has a
secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.client_handshake import SaslClientExchange
from tidelog.security.jaas import LOGIN_MODULES, InvalidJaasConfig, login_options
from tidelog.security.oauthbearer import OAUTHBEARER, extensions_problem
from tidelog.security.plain import PLAIN, PlainClientExchange
from tidelog.security.scram import SCRAM_MECHANISMS, TOKEN_EXTENSION, ScramClientExchange
from tidelog.security.unsecured_login import EXTENSION, UnsecuredTokens
from tidelog.security.unsecured_tokens import InvalidTokenOption

_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
_ENDPOINT_HANDLERS = frozenset(
    {
        f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
        # As it was called before Kafka 3.4.
        f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
    }
)
_UNSECURED_HANDLER = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_HANDLER = "sasl.login.callback.handler.class"
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
# Extensions of a token from an endpoint (KIP-342).
_ENDPOINT_EXTENSION = "extension_"
TOKEN_PROVIDER = "sasl.oauth.token.provider"


class InvalidLogin(ValueError):
    """A sentence that names the property, never a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLogin:
    """PLAIN and SCRAM."""

    mechanism: str
    user: str
    password: str = field(repr=False)
    by_delegation_token: bool = False

    def start(self, nonce: str) -> SaslClientExchange:
        scram = SCRAM_MECHANISMS.get(self.mechanism)
        if scram is None:
            return PlainClientExchange(user=self.user, password=self.password)
        return ScramClientExchange(
            mechanism=scram, user=self.user, nonce=nonce, by_delegation_token=self.by_delegation_token
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEndpoint:
    """Tokens from a server, for the credentials of a client (RFC 6749, section 4.4), or from a file."""

    url: str
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    # Whether id and secret are encoded as in a form (RFC 6749, section 2.3.1), which many servers do not expect.
    encode_header: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTokens:
    """Tokens from a function of the user's; by its name (`module:function`) where it is not there itself."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogin:
    """OAUTHBEARER."""

    tokens: UnsecuredTokens | TokenEndpoint | GivenTokens
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)


ClientLogin = PasswordLogin | TokenLogin


def read_login(properties: Mapping[str, str], *, has_provider: bool = False) -> ClientLogin:
    """`has_provider` says that there is a function for tokens. Raises InvalidLogin."""
    mechanism = properties.get("sasl.mechanism", "").strip()
    if not mechanism:
        raise InvalidLogin(
            f"sasl.mechanism is missing: set it to one of {', '.join(LOGIN_MODULES)}. Kafka's own default, GSSAPI "
            "(Kerberos), is not supported"
        )
    if mechanism not in LOGIN_MODULES:
        raise InvalidLogin(f"sasl.mechanism={mechanism} must be one of {', '.join(LOGIN_MODULES)}{_hint(mechanism)}")
    try:
        if mechanism == OAUTHBEARER:
            return _token_login(properties, has_provider=has_provider)
        if has_provider or properties.get(TOKEN_PROVIDER):
            raise InvalidLogin(f"{TOKEN_PROVIDER} is for sasl.mechanism={OAUTHBEARER}, but it is {mechanism}")
        return _password_login(properties, mechanism)
    except (InvalidJaasConfig, InvalidTokenOption) as error:
        raise InvalidLogin(str(error)) from None


def _hint(mechanism: str) -> str:
    if mechanism == "AWS_MSK_IAM":
        return ". For Amazon MSK use OAUTHBEARER with a token provider that calls aws-msk-iam-sasl-signer-python"
    upper = mechanism.upper()
    return f"; did you mean {upper}?" if upper in LOGIN_MODULES else ""


def _password_login(properties: Mapping[str, str], mechanism: str) -> PasswordLogin:
    jaas = properties.get("sasl.jaas.config")
    user, password = properties.get("sasl.username"), properties.get("sasl.password")
    if jaas is not None and (user is not None or password is not None):
        raise InvalidLogin("sasl.jaas.config and sasl.username or sasl.password are both set: set only one of them")
    options: Mapping[str, str] = {}
    if jaas is not None:
        options = login_options(jaas, mechanism)
        user, password = options.get("username"), options.get("password")
    if not user or not password:
        missing = "user name" if not user else "password"
        raise InvalidLogin(
            f"{mechanism} needs a user name and a password, and there is no {missing}: set sasl.jaas.config to "
            f'{LOGIN_MODULES[mechanism]} required username="..." password="..."; or set sasl.username and sasl.password'
        )
    if mechanism == PLAIN and ("\0" in user or "\0" in password):
        raise InvalidLogin("PLAIN cannot send a user name or a password with a NUL character")
    return PasswordLogin(
        mechanism=mechanism,
        user=user,
        password=password,
        by_delegation_token=options.get(TOKEN_EXTENSION, "").lower() == "true",
    )


def _token_login(properties: Mapping[str, str], *, has_provider: bool) -> TokenLogin:
    for name in ("sasl.username", "sasl.password"):
        if name in properties:
            raise InvalidLogin(f"{name} has no effect with sasl.mechanism={OAUTHBEARER}, which uses tokens: remove it")
    handler = properties.get(_HANDLER, "").strip()
    name = properties.get(TOKEN_PROVIDER, "").strip()
    if handler and handler != _UNSECURED_HANDLER and handler not in _ENDPOINT_HANDLERS:
        raise InvalidLogin(
            f"{_HANDLER}={handler} is a Java class that is not known here: use Kafka's OAuthBearerLoginCallbackHandler "
            f"with {_ENDPOINT}, or a Python function as {TOKEN_PROVIDER}"
        )
    jaas = properties.get("sasl.jaas.config")
    options = {} if jaas is None else login_options(jaas, OAUTHBEARER)
    if has_provider or name:
        for other in (_ENDPOINT, _HANDLER):
            if properties.get(other):
                raise InvalidLogin(f"{TOKEN_PROVIDER} and {other} are both set: set only one of them")
        extensions = _extensions(options, _ENDPOINT_EXTENSION)
        return TokenLogin(tokens=GivenTokens(name=name), extensions=extensions)
    if handler in _ENDPOINT_HANDLERS or (properties.get(_ENDPOINT) and handler != _UNSECURED_HANDLER):
        extensions = _extensions(options, _ENDPOINT_EXTENSION)
        return TokenLogin(tokens=_endpoint(properties, options), extensions=extensions)
    return TokenLogin(tokens=UnsecuredTokens.of_options(options), extensions=_extensions(options, EXTENSION))


def _endpoint(properties: Mapping[str, str], options: Mapping[str, str]) -> TokenEndpoint:
    """The properties of KIP-1139, or the options that were there before them."""

    def either(name: str, option: str) -> str:
        return properties.get(name, "") or options.get(option, "")

    url = properties.get(_ENDPOINT, "").strip()
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "file"):
        raise InvalidLogin(f"{_ENDPOINT}={url} must be an address that begins with https://, http:// or file://")
    client_id = either("sasl.oauthbearer.client.credentials.client.id", "clientId")
    client_secret = either("sasl.oauthbearer.client.credentials.client.secret", "clientSecret")
    if parts.scheme != "file" and not (client_id and client_secret):
        raise InvalidLogin(
            f"{_ENDPOINT} needs a client: set clientId and clientSecret in sasl.jaas.config, or "
            "sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret"
        )
    return TokenEndpoint(
        url=url,
        client_id=client_id,
        client_secret=client_secret,
        scope=either("sasl.oauthbearer.scope", "scope"),
        encode_header=properties.get("sasl.oauthbearer.header.urlencode", "").strip().lower() == "true",
    )


def _extensions(options: Mapping[str, str], prefix: str) -> Mapping[str, str]:
    found = {name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)}
    problem = extensions_problem(found)
    if problem:
        raise InvalidLogin(f"sasl.jaas.config: {problem}")
    return found
