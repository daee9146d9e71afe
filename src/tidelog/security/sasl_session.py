"""The server's side of SASL on one connection: which request may come when, and what is answered, as in Kafka.

It begins before the first request and goes on for as long as the connection lives, because a session may end and be
renewed (KIP-368). The mechanisms are behind `SaslServerExchange`; they are cheap enough to run where they are called.
Frames, the delay before a failed connection is closed (`connection.failed.authentication.delay.ms`), and the reply to
ApiVersions belong to the caller.

    first request --SaslHandshake--> authenticating --last token--> authenticated --SaslHandshake--> authenticating ...
       | ApiVersions                   ^                              (again, if sessions have a lifetime)
       v                               |
    handshake -------SaslHandshake-----+            any mistake, from everywhere: closed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import NamedTuple

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.principal import Principal
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tidelog.protocol.schema import Message
from tidelog.security.exchange import SaslChallenge, SaslFailure, SaslServerExchange, SaslSuccess

# From this version of SaslHandshake on, tokens are in SaslAuthenticate requests; before, they are frames of their own.
_TOKENS_IN_REQUESTS_FROM = 1
# A client may not begin to renew its session more often.
SHORTEST_REAUTHENTICATION_INTERVAL_MS = 1000

_HANDSHAKE_APIS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE})
_NOT_SASL = (
    "the first request on a SASL listener must be ApiVersions or SaslHandshake: the client is configured with another "
    "security protocol, or is not a Kafka client"
)


class SaslMoment(NamedTuple):
    """Credentials end by wall time; sessions by monotonic time, which nobody can set back."""

    now_ms: int
    monotonic_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EnabledMechanism:
    """A mechanism of a listener."""

    # Makes the exchange for one authentication.
    start: Callable[[], SaslServerExchange]
    # connections.max.reauth.ms, by listener and mechanism. 0: sessions last as long as their credentials.
    max_reauthentication_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticatedSession:
    principal: Principal
    mechanism: str
    by_delegation_token: bool
    extensions: Mapping[str, str] = field(repr=False)
    # What the reply to the client says; 0 if the session does not end.
    lifetime_ms: int
    # In monotonic time; None if the session does not end.
    expires_at_ms: float | None
    renewed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslAnswer:
    """Send the reply, or the bare token as a frame of its own, also if it is empty. Then read on."""

    reply: Message | bytes
    # If the client is authenticated with this.
    session: AuthenticatedSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerApiVersions:
    """Answer as on any listener, then call `api_versions_answered`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """The request is none of SASL's: it is served for this principal."""

    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseConnection:
    """Close: after the delay for failed authentications if `after_delay`, and after the reply, which waits as well.

    The connection is not read meanwhile. `reason` is for the log.
    """

    reason: str
    after_delay: bool
    reply: Message | None = None
    # Instead of a reply: the error in the shape that the request's own API has for it.
    refusal: ApiError | None = None


SaslDecision = SaslAnswer | AnswerApiVersions | ServeRequest | CloseConnection


class _Step(Enum):
    FIRST_REQUEST = "ApiVersions or SaslHandshake is expected"
    HANDSHAKE = "SaslHandshake is expected"
    AUTHENTICATING = "tokens are expected"
    # The handshake was answered. Kafka refuses with the first token, so that the failure is counted as a renewal's.
    OTHER_MECHANISM = "a token is expected, for another mechanism than the session has"
    AUTHENTICATED = "requests are expected"
    CLOSED = "nothing is expected"


class SaslSession:
    """What is expected next is in `expects_token` and `may_decode`."""

    __slots__ = (
        "_exchange",
        "_mechanism",
        "_mechanisms",
        "_renewal_began_ms",
        "_session",
        "_step",
        "_tokens_in_requests",
    )

    def __init__(self, *, mechanisms: Mapping[str, EnabledMechanism]) -> None:
        """Mechanisms in the order in which replies list them."""
        self._mechanisms = mechanisms
        self._step = _Step.FIRST_REQUEST
        self._mechanism = ""
        self._exchange: SaslServerExchange | None = None
        self._tokens_in_requests = False
        # The last one: it stays while it is renewed.
        self._session: AuthenticatedSession | None = None
        self._renewal_began_ms: float | None = None

    @property
    def session(self) -> AuthenticatedSession | None:
        return self._session

    @property
    def is_authenticating(self) -> bool:
        """Whether frames are bounded by `sasl.server.max.receive.size`."""
        return self._step is not _Step.AUTHENTICATED

    @property
    def expects_token(self) -> bool:
        """Whether the next frame is a bare token, without a header, for `receive_token`."""
        return self._step is _Step.AUTHENTICATING and not self._tokens_in_requests

    def may_decode(self, api_key: int) -> bool:
        """Strangers get no further than the header with anything but the two requests that they may send."""
        return self._step not in (_Step.FIRST_REQUEST, _Step.HANDSHAKE) or api_key in _HANDSHAKE_APIS

    def receive_request(self, api_key: int, version: int, request: Message | None, moment: SaslMoment) -> SaslDecision:
        """`request` is None if `may_decode` forbids to decode it."""
        match self._step:
            case _Step.FIRST_REQUEST | _Step.HANDSHAKE:
                return self._before_tokens(api_key, version, request)
            case _Step.AUTHENTICATING:
                return self._token_request(api_key, request, moment)
            case _Step.OTHER_MECHANISM:
                return self._other_mechanism()
            case _Step.AUTHENTICATED:
                return self._authenticated_request(api_key, version, request, moment)
            case _Step.CLOSED:
                return self._close("a request after the connection was closed", after_delay=False)

    def receive_token(self, token: bytes, moment: SaslMoment) -> SaslAnswer | CloseConnection:
        """A bare token, of clients that sent SaslHandshake 0."""
        if not self.expects_token:
            return self._close(f"a token, but {self._step.value}", after_delay=False)
        answer = self._evaluate(token, moment)
        if isinstance(answer, SaslFailure):
            # There is no room for an error. Kafka skips the delay for some of these.
            return self._close(answer.reason, after_delay=True)
        return SaslAnswer(reply=answer.token, session=self._session if self._is_complete else None)

    def unreadable(self, reason: str) -> CloseConnection:
        """For a frame without a valid header, or a request that cannot be decoded in its version."""
        if self._step is _Step.OTHER_MECHANISM:
            return self._other_mechanism()
        return self._close(_NOT_SASL if self._step is _Step.FIRST_REQUEST else reason, after_delay=False)

    def api_versions_answered(self, error_code: int) -> None:
        """After an error, the client may ask again, with another version."""
        if self._step is _Step.FIRST_REQUEST and error_code == ErrorCode.NONE:
            self._step = _Step.HANDSHAKE

    def _before_tokens(
        self, api_key: int, version: int, request: Message | None
    ) -> SaslAnswer | AnswerApiVersions | CloseConnection:
        if isinstance(request, SaslHandshakeRequest):
            return self._handshake(request, version)
        if api_key == ApiKey.API_VERSIONS and self._step is _Step.FIRST_REQUEST:
            return AnswerApiVersions()
        if self._step is _Step.FIRST_REQUEST:
            return self._close(_NOT_SASL, after_delay=False)
        return self._close(f"a request with the API key {api_key}, but {self._step.value}", after_delay=False)

    def _handshake(self, request: SaslHandshakeRequest, version: int) -> SaslAnswer | CloseConnection:
        mechanisms = tuple(self._mechanisms)
        mechanism = self._mechanisms.get(request.mechanism)
        if mechanism is None:
            return self._close(
                f"the client asks for a mechanism that is not enabled; enabled are {', '.join(mechanisms)}",
                after_delay=True,
                reply=SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=mechanisms),
            )
        self._mechanism = request.mechanism
        self._tokens_in_requests = version >= _TOKENS_IN_REQUESTS_FROM
        if self._session is not None and self._session.mechanism != request.mechanism:
            self._step = _Step.OTHER_MECHANISM
        else:
            self._step = _Step.AUTHENTICATING
            self._exchange = mechanism.start()
        return SaslAnswer(reply=SaslHandshakeResponse(mechanisms=mechanisms))

    def _token_request(self, api_key: int, request: Message | None, moment: SaslMoment) -> SaslAnswer | CloseConnection:
        if not self._tokens_in_requests:
            return self._close("a request where a bare token is expected", after_delay=False)
        if not isinstance(request, SaslAuthenticateRequest):
            text = f"Unexpected Kafka request with the API key {api_key} during SASL authentication."
            return self._close(text, after_delay=True, refusal=ApiError(ErrorCode.ILLEGAL_SASL_STATE, text))
        answer = self._evaluate(request.auth_bytes, moment)
        if isinstance(answer, SaslFailure):
            reply = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
                error_message=answer.told or self._credentials_invalid(),
            )
            return self._close(answer.reason, after_delay=True, reply=reply)
        session = self._session if self._is_complete else None
        lifetime_ms = session.lifetime_ms if session else 0
        return SaslAnswer(
            reply=SaslAuthenticateResponse(auth_bytes=answer.token, session_lifetime_ms=lifetime_ms), session=session
        )

    def _other_mechanism(self) -> CloseConnection:
        """Whatever comes, it is not looked at."""
        reason = f"SASL mechanism {self._mechanism!r} is not the one of the session that it should renew"
        return self._close(reason, after_delay=True)

    def _authenticated_request(
        self, api_key: int, version: int, request: Message | None, moment: SaslMoment
    ) -> SaslDecision:
        session = self._session
        assert session is not None
        if isinstance(request, SaslHandshakeRequest) and self._begins_renewal(session, moment):
            return self._handshake(request, version)
        if session.expires_at_ms is not None and moment.monotonic_ms > session.expires_at_ms:
            return self._close("the session has expired, and the client did not renew it", after_delay=False)
        if api_key == ApiKey.SASL_HANDSHAKE:
            return SaslAnswer(reply=SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE))
        if api_key == ApiKey.SASL_AUTHENTICATE:
            return SaslAnswer(
                reply=SaslAuthenticateResponse(
                    error_code=ErrorCode.ILLEGAL_SASL_STATE,
                    error_message="SaslAuthenticate request received after successful authentication",
                )
            )
        return ServeRequest(principal=session.principal)

    def _begins_renewal(self, session: AuthenticatedSession, moment: SaslMoment) -> bool:
        """A session that does not end cannot be renewed; one that has ended can."""
        began, now = self._renewal_began_ms, moment.monotonic_ms
        if session.expires_at_ms is None:
            return False
        if began is not None and now - began < SHORTEST_REAUTHENTICATION_INTERVAL_MS:
            return False
        self._renewal_began_ms = now
        return True

    @property
    def _is_complete(self) -> bool:
        return self._step is _Step.AUTHENTICATED

    def _evaluate(self, token: bytes, moment: SaslMoment) -> SaslChallenge | SaslSuccess | SaslFailure:
        assert self._exchange is not None
        outcome = self._exchange.evaluate(token, moment.now_ms)
        return self._accept(outcome, moment) if isinstance(outcome, SaslSuccess) else outcome

    def _accept(self, outcome: SaslSuccess, moment: SaslMoment) -> SaslSuccess | SaslFailure:
        previous = self._session
        principal = Principal(type="User", name=outcome.user)
        if previous is not None and previous.principal != principal:
            old, new = previous.principal, principal
            text = (
                f"Cannot change principals during re-authentication from {old.type}.{old.name}: {new.type}.{new.name}"
            )
            return SaslFailure(reason=text, told=text)
        lifetime_ms = self._lifetime_ms(outcome, moment)
        self._session = AuthenticatedSession(
            principal=principal,
            mechanism=self._mechanism,
            by_delegation_token=outcome.by_delegation_token,
            extensions=outcome.extensions,
            lifetime_ms=lifetime_ms or 0,
            expires_at_ms=None if lifetime_ms is None else moment.monotonic_ms + lifetime_ms,
            renewed=previous is not None,
        )
        self._step = _Step.AUTHENTICATED
        self._exchange = None
        return outcome

    def _lifetime_ms(self, outcome: SaslSuccess, moment: SaslMoment) -> int | None:
        """The shorter one of what the listener and the credential allow. None if neither has an end."""
        allowed = self._mechanisms[self._mechanism].max_reauthentication_ms
        ends = [] if outcome.expires_at_ms is None else [max(0, outcome.expires_at_ms - moment.now_ms)]
        return min(ends + ([allowed] if allowed > 0 else []), default=None)

    def _credentials_invalid(self) -> str:
        """All that a client learns of most failures: not whether the user exists."""
        during = "authentication" if self._session is None else "re-authentication"
        return f"Authentication failed during {during} due to invalid credentials with SASL mechanism {self._mechanism}"

    def _close(
        self, reason: str, *, after_delay: bool, reply: Message | None = None, refusal: ApiError | None = None
    ) -> CloseConnection:
        self._step = _Step.CLOSED
        self._exchange = None
        return CloseConnection(reason=reason, after_delay=after_delay, reply=reply, refusal=refusal)
