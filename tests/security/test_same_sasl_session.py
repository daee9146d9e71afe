"""A connection goes the way that Apache Kafka's SaslServerAuthenticator takes: random requests are answered alike."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from support.authentication_verdicts import AuthenticationVerdicts

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import (
    request_class,
    request_header_version,
    response_class,
    response_header_version,
    schema_versions,
)
from tidelog.protocol.codec import decode_whole
from tidelog.protocol.frames import parse_request_header, peek_request, request_frame, skip_tagged_fields
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.schema import Message
from tidelog.security.oauthbearer import OAuthBearerServerExchange
from tidelog.security.plain import PlainServerExchange, PlainUsers
from tidelog.security.sasl_session import (
    SHORTEST_REAUTHENTICATION_INTERVAL_MS,
    AnswerApiVersions,
    CloseConnection,
    EnabledMechanism,
    SaslAnswer,
    SaslDecision,
    SaslMoment,
    SaslSession,
)
from tidelog.security.scram import (
    PasswordSalting,
    ScramClientExchange,
    ScramMechanism,
    ScramServerExchange,
    credential_of_salted_password,
    derive_salted_password,
)
from tidelog.security.unsecured_tokens import UnsecuredTokenValidator

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

SEED = 20_431
NOW_MS = 1_700_000_000_000
USERS = {"alice": "a", "bob": "b"}
SALTED = derive_salted_password(ScramMechanism.SHA_256, "a", b"salt", 4096)
CREDENTIAL = credential_of_salted_password(
    ScramMechanism.SHA_256, salt=b"salt", salted_password=SALTED, iterations=4096
)
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]


def our_session(max_reauthentication_ms: int) -> SaslSession:
    starts = {
        "PLAIN": lambda: PlainServerExchange(users=PlainUsers(passwords=USERS)),
        "SCRAM-SHA-256": lambda: ScramServerExchange(
            mechanism=ScramMechanism.SHA_256, nonce="ours", find_credential={"alice": CREDENTIAL}.get
        ),
        "OAUTHBEARER": lambda: OAuthBearerServerExchange(validator=UnsecuredTokenValidator()),
    }
    return SaslSession(
        mechanisms={
            name: EnabledMechanism(start=start, max_reauthentication_ms=max_reauthentication_ms)  # type: ignore[arg-type]
            for name, start in starts.items()
        }
    )


@dataclass(kw_only=True)
class Client:
    """What one side of the comparison is sent. With SCRAM, each side has a client of its own, because of the nonces."""

    scram: ScramClientExchange | None = None
    challenge: bytes = b""

    def token(self, mechanism: str, user: str, right: bool, ends_ms: int) -> bytes:
        if mechanism == "PLAIN":
            return f"\0{user}\0{USERS[user] if right else 'x'}".encode()
        if mechanism == "OAUTHBEARER":
            if self.challenge:
                return b"\x01"
            claims = {"sub": user, "exp": ends_ms / 1000}
            sections = [urlsafe_b64encode(json.dumps(each).encode()).decode() for each in ({"alg": "none"}, claims)]
            token = ".".join(section.rstrip("=") for section in sections) + ("." if right else ".c2ln")
            return f"n,,\x01auth=Bearer {token}\x01\x01".encode()
        if self.scram is None or not self.challenge:
            self.scram = ScramClientExchange(mechanism=ScramMechanism.SHA_256, user=user, nonce="client")
            return self.scram.first_token()
        salting = self.scram.answer(self.challenge)
        assert isinstance(salting, PasswordSalting)
        return self.scram.prove(SALTED if right else bytes(32)).token


@dataclass(kw_only=True)
class Request:
    """A frame that both sides receive, apart from the token in it."""

    key: int
    version: int
    message: Message
    bare: bool = False

    def payload(self, token: bytes) -> bytes:
        if self.bare:
            return token
        message = SaslAuthenticateRequest(auth_bytes=token) if self.key == ApiKey.SASL_AUTHENTICATE else self.message
        # Of a version that nobody knows, only the header counts.
        known = min(self.version, schema_versions(self.key)[1])
        frame = b"".join(bytes(piece) for piece in request_frame(self.key, known, 7, "client", message))[4:]
        return frame[:2] + self.version.to_bytes(2, "big") + frame[4:]


@dataclass(kw_only=True)
class Comparison:
    kafka: AuthenticationVerdicts
    random: Random
    name: str
    max_reauthentication_ms: int
    mechanism: str = ""
    now: int = 0
    ours: Client = field(default_factory=Client)
    theirs: Client = field(default_factory=Client)
    seen: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        self.session = our_session(self.max_reauthentication_ms)
        stored = (b"salt".hex(), CREDENTIAL.stored_key.hex(), CREDENTIAL.server_key.hex(), 4096)
        asked = ("session", self.name, USERS, "alice", *stored, self.max_reauthentication_ms)
        assert self.kafka.ask(*asked) == ["yes"]
        while len(self.seen) < 10 and self.step():
            self.now += self.random.choice([0, 1, 1500])
        return self.seen

    def step(self) -> bool:
        """False once the connection is closed, or the request is one for the router."""
        request = self.chosen()
        renews = not self.session.is_authenticating
        if renews and (request.key != ApiKey.SASL_HANDSHAKE or self.session.session.expires_at_ms is None):  # type: ignore[union-attr]
            return False
        # How often sessions may be renewed is not up to Kafka's class.
        self.now += SHORTEST_REAUTHENTICATION_INTERVAL_MS if renews else 0
        user, right = self.random.choice(["alice", "alice", "alice", "bob"]), self.random.random() < 0.85
        ends = NOW_MS + self.now + self.random.choice([500, 60_000])
        tokens = [b"", b""]
        if request.bare or request.key == ApiKey.SASL_AUTHENTICATE:
            tokens = [each.token(self.mechanism, user, right, ends) for each in (self.ours, self.theirs)]
        theirs = self.kafka.ask(
            "renewal" if renews else "frame", self.name, request.payload(tokens[1]).hex(), NOW_MS + self.now
        )
        ours = self.decided(request.payload(tokens[0]))
        return self.compare(request, ours, theirs)

    def chosen(self) -> Request:
        """Mostly what comes next, sometimes anything."""
        handshake = SaslHandshakeRequest(mechanism=self.random.choice([*MECHANISMS, self.mechanism or "PLAIN"]))
        if self.random.random() < 0.04:
            handshake = SaslHandshakeRequest(mechanism="GSSAPI")
        every = [
            Request(key=ApiKey.API_VERSIONS, version=self.random.choice([0, 2, 99]), message=ApiVersionsRequest()),
            Request(key=ApiKey.SASL_HANDSHAKE, version=self.random.choice([0, 1, 1, 1]), message=handshake),
            Request(key=ApiKey.SASL_AUTHENTICATE, version=self.random.choice([0, 1, 2]), message=handshake),
            Request(key=ApiKey.METADATA, version=1, message=MetadataRequest()),
            Request(key=ApiKey.SASL_HANDSHAKE, version=9, message=handshake),
        ]
        if self.session.expects_token:
            return Request(key=-1, version=0, message=handshake, bare=True)
        if self.random.random() < 0.1:
            return self.random.choice(every if self.mechanism else [*every[:2], *every[3:]])
        if not self.mechanism or not self.session.is_authenticating:
            return self.random.choice([every[0], every[1], every[1]]) if not self.mechanism else every[1]
        return every[2]

    def decided(self, payload: bytes) -> SaslDecision:
        moment = SaslMoment(now_ms=NOW_MS + self.now, monotonic_ms=NOW_MS + self.now)
        if self.session.expects_token:
            return self.session.receive_token(payload, moment)
        key, version, _ = peek_request(payload)
        if not self.session.may_decode(key) or (key, version) == (ApiKey.API_VERSIONS, 99):
            return self.session.receive_request(key, version, None, moment)
        low, high = schema_versions(key)
        if not low <= version <= high:
            return self.session.unreadable("an unknown version")
        _, start = parse_request_header(payload, flexible=request_header_version(key, version) == 2)
        request = decode_whole(request_class(key), payload[start:], version)
        return self.session.receive_request(key, version, request, moment)

    def compare(self, request: Request, ours: SaslDecision, theirs: list[str]) -> bool:
        _, state, exception, written, principal, expires = theirs
        context = (self.name, self.seen, request.key, request.version, ours, theirs)
        output = bytes.fromhex(written)[4:] if written else None
        if isinstance(ours, CloseConnection):
            self.compare_closing(request, ours, state, exception, output, context)
            self.seen.append(f"closed: {exception}")
            return False
        assert state == "open", context
        assert output is not None, context
        if isinstance(ours, AnswerApiVersions):
            self.session.api_versions_answered(self.read(request, output).error_code)
            self.seen.append("versions")
            return True
        assert isinstance(ours, SaslAnswer), context
        if request.key == ApiKey.SASL_HANDSHAKE:
            self.mechanism = request.message.mechanism  # type: ignore[attr-defined]
            self.ours, self.theirs = Client(), Client()
        if request.bare:
            assert isinstance(ours.reply, bytes)
            self.ours.challenge, self.theirs.challenge = ours.reply, output
        else:
            self.compare_replies(request, ours.reply, self.read(request, output), context)
        assert (ours.session is not None) == bool(principal), context
        if ours.session:
            assert str(ours.session.principal) == principal, context
            ends = ours.session.expires_at_ms
            assert expires == ("null" if ends is None else str(int(ends) * 1_000_000)), context
        self.seen.append(f"logged in: {self.mechanism}" if ours.session else "answered")
        return True

    def compare_closing(
        self, request: Request, ours: CloseConnection, state: str, exception: str, output: bytes | None, context: Any
    ) -> None:
        if state == "closed" and exception == "UnsupportedSaslMechanismException":
            # In a renewal, Kafka forgets the reply, and the delay.
            assert isinstance(ours.reply, Message), context
            assert self.session.session is not None, context
            return
        # Kafka does not delay what fails with bare tokens in this way, and not the wrong length of a proof.
        undelayed = exception == "SaslException" and request.bare
        assert ours.after_delay == (state == "delayed" or undelayed), context
        assert state != "open", context
        assert (ours.refusal is not None) == (exception == "IllegalSaslStateException"), context
        if ours.reply is not None:
            assert output is not None, context
            self.compare_replies(request, ours.reply, self.read(request, output), context)
        elif ours.refusal is not None:
            assert ours.refusal.code == ErrorCode.ILLEGAL_SASL_STATE, context
            assert output, context
        else:
            assert output is None, context

    def compare_replies(self, request: Request, ours: Message | bytes, theirs: Any, context: Any) -> None:
        kind: Any = response_class(request.key)
        assert isinstance(ours, kind), context
        for name in kind.__slots__:
            one, other = getattr(ours, name), getattr(theirs, name)
            if name == "mechanisms":
                one, other = sorted(one), sorted(other)
            elif name == "auth_bytes":
                self.ours.challenge, self.theirs.challenge = one, other
                if self.mechanism == "SCRAM-SHA-256":
                    # They differ with the nonces, but for their kind.
                    one, other = one[:2], other[:2]
            elif name == "session_lifetime_ms" and request.version == 0:
                continue
            assert one == other, (name, context)

    def read(self, request: Request, output: bytes) -> Any:
        """A reply to a version that Kafka does not know has version 0."""
        version = 0 if request.version == 99 else request.version
        start = 4
        if response_header_version(request.key, version) > 0:
            start = skip_tagged_fields(output, start)
        return decode_whole(response_class(request.key), output[start:], version)


def test_connections_go_the_way_that_kafka_takes(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED)
    seen: Counter[str] = Counter()
    for number in range(3000):
        comparison = Comparison(
            kafka=kafka, random=random, name=str(number), max_reauthentication_ms=random.choice([0, 0, 1000, 30_000])
        )
        seen.update(comparison.run())
    for mechanism in MECHANISMS:
        assert seen[f"logged in: {mechanism}"] > 200, seen
    failures = ("SaslAuthenticationException", "IllegalSaslStateException", "UnsupportedSaslMechanismException")
    for exception in (*failures, "InvalidRequestException"):
        assert seen[f"closed: {exception}"] > 20, seen
    assert seen["versions"] > 200, seen
