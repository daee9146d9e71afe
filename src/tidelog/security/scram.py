"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) as Kafka speaks them: credentials, and the exchange itself.

The grammar of the messages is in `scram_messages.py`. Where credentials are stored, and who may change them, is not
known here. Nonces are arguments, made of random bytes by `scram_nonce`.

`derive_salted_password` is the only expensive step: milliseconds for the iterations that Kafka allows. Whoever has an
event loop runs it in a thread. The server never needs it: its side is a handful of HMACs.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import field
from enum import Enum

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.security.exchange import (
    ClientAuthenticated,
    ClientToken,
    OutOfTurn,
    SaslChallenge,
    SaslFailure,
    SaslOutcome,
    SaslSuccess,
)
from tidelog.security.scram_messages import (
    ClientFinalMessage,
    ClientFirstMessage,
    MalformedScramMessage,
    ServerFinalMessage,
    ServerFirstMessage,
    sasl_name,
    user_name,
)

MINIMUM_ITERATIONS = 4096
# What AlterUserScramCredentials and `storage format --add-scram` accept. An exchange has no maximum in Kafka.
MAXIMUM_ITERATIONS = 16384
# What our client derives at most. Kafka's client does what the server asks for, up to 2^31-1 iterations: hours of work
# for the price of one message.
CLIENT_ITERATIONS_LIMIT = 1_000_000
# Kafka draws 130 bits, also for a salt.
NONCE_BYTES = 18
SALT_BYTES = 17

TOKEN_EXTENSION = "tokenauth"
_OTHER_AUTHORIZATION_ID = "Authentication failed: Client requested an authorization id that is different from username"
# Of the gs2-header without channel binding and authorization id.
_CHANNEL_BINDING = b"n,,"


class ScramMechanism(Enum):
    """By the numbers of UserScramCredentialRecord and of the requests about credentials."""

    SHA_256 = 1
    SHA_512 = 2

    @property
    def sasl_name(self) -> str:
        """As in `sasl.enabled.mechanisms`."""
        return "SCRAM-" + self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """As hashlib has it."""
        return self.name.replace("_", "").lower()


SCRAM_MECHANISMS = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """What a server keeps of a password. Whoever has it cannot log in with it, but can try passwords against it."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenCredential:
    """The credential of a delegation token (KIP-48): its user name is the token's id, its password the token's HMAC."""

    owner: str
    credential: ScramCredential
    expires_at_ms: int


def derive_salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Hi() of RFC 5802. Expensive on purpose: run it in a thread.

    As in Kafka, the password is not normalized (SASLprep) but encoded as it is.
    """
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of_salted_password(
    mechanism: ScramMechanism, *, salt: bytes, salted_password: bytes, iterations: int
) -> ScramCredential:
    """What the server stores. AlterUserScramCredentials carries the salted password (KIP-554)."""
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(mechanism.hash_name, _client_key(mechanism, salted_password)).digest(),
        server_key=_server_key(mechanism, salted_password),
        iterations=iterations,
    )


def iterations_problem(iterations: int) -> str | None:
    """Why no credential may be stored with so many iterations, or None."""
    if iterations < MINIMUM_ITERATIONS:
        return f"{iterations} iterations are too few: at least {MINIMUM_ITERATIONS} are needed"
    if iterations > MAXIMUM_ITERATIONS:
        return f"{iterations} iterations are too many: at most {MAXIMUM_ITERATIONS} are allowed"
    return None


def credential_record(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism.value,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def credential_of_record(record: UserScramCredentialRecord) -> ScramCredential:
    return ScramCredential(
        salt=record.salt,
        stored_key=record.stored_key,
        server_key=record.server_key,
        iterations=record.iterations,
    )


def scram_nonce(random_bytes: bytes) -> str:
    """A nonce of `NONCE_BYTES` random bytes: printable, without commas."""
    if len(random_bytes) < NONCE_BYTES:
        raise ValueError(f"a nonce needs {NONCE_BYTES} random bytes, not {len(random_bytes)}")
    return random_bytes.hex()


FindCredential = Callable[[str], ScramCredential | None]
FindDelegationToken = Callable[[str], DelegationTokenCredential | None]


def no_delegation_tokens(token_id: str) -> None:
    """For servers without delegation tokens: such a client fails like one with an unknown user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Whom the first message names, and what is needed to check the second."""

    user: str
    credential: ScramCredential = field(repr=False)
    expires_at_ms: int | None
    by_delegation_token: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Challenged:
    """What has been said when the client's proof is expected."""

    known: _Known
    client_first: ClientFirstMessage
    server_first: ServerFirstMessage


class ScramServerExchange:
    """The server's side.

    An unknown user fails with the first message, a wrong password with the second, as in Kafka; both receive the same.
    """

    __slots__ = ("_challenged", "_ended", "_find_credential", "_find_token", "_mechanism", "_nonce")

    def __init__(
        self,
        *,
        mechanism: ScramMechanism,
        nonce: str,
        find_credential: FindCredential,
        find_delegation_token: FindDelegationToken = no_delegation_tokens,
    ) -> None:
        self._mechanism = mechanism
        self._nonce = nonce
        self._find_credential = find_credential
        self._find_token = find_delegation_token
        self._challenged: _Challenged | None = None
        self._ended = False

    def evaluate(self, token: bytes, now_ms: int) -> SaslOutcome:
        if self._ended:
            raise OutOfTurn(f"{self._mechanism.sasl_name}: the exchange has ended")
        outcome = self._first(token) if self._challenged is None else self._final(token, self._challenged)
        self._ended = not isinstance(outcome, SaslChallenge)
        if self._ended:
            self._challenged = None
        return outcome

    def _first(self, token: bytes) -> SaslChallenge | SaslFailure:
        try:
            message = ClientFirstMessage.parse(token)
        except MalformedScramMessage as error:
            return SaslFailure(reason=str(error))
        name = user_name(message.sasl_name)
        known = self._look_up(name, by_token=message.extensions.get(TOKEN_EXTENSION, "").lower() == "true")
        if isinstance(known, SaslFailure):
            return known
        # Kafka compares the authorization id as it is written with the user name as it is meant, so one with an escaped
        # character is never the same.
        if message.authorization_id not in ("", name):
            return SaslFailure(reason=_OTHER_AUTHORIZATION_ID, told=_OTHER_AUTHORIZATION_ID)
        credential = known.credential
        if credential.iterations < MINIMUM_ITERATIONS:
            return SaslFailure(reason=f"the stored credential is too weak: {iterations_problem(credential.iterations)}")
        answer = ServerFirstMessage.of(
            nonce=message.nonce + self._nonce, salt=credential.salt, iterations=credential.iterations
        )
        self._challenged = _Challenged(known=known, client_first=message, server_first=answer)
        return SaslChallenge(token=answer.text.encode())

    def _look_up(self, name: str, *, by_token: bool) -> _Known | SaslFailure:
        if by_token:
            token = self._find_token(name)
            if token is None:
                return SaslFailure(reason="there is no delegation token with this id")
            return _Known(
                user=token.owner,
                credential=token.credential,
                expires_at_ms=token.expires_at_ms,
                by_delegation_token=True,
            )
        credential = self._find_credential(name)
        if credential is None:
            return SaslFailure(reason=f"there is no user with a credential for {self._mechanism.sasl_name}")
        return _Known(user=name, credential=credential, expires_at_ms=None, by_delegation_token=False)

    def _final(self, token: bytes, said: _Challenged) -> SaslSuccess | SaslFailure:
        try:
            message = ClientFinalMessage.parse(token)
        except MalformedScramMessage as error:
            return SaslFailure(reason=str(error))
        if not hmac.compare_digest(message.nonce, said.server_first.nonce):
            return SaslFailure(reason="the nonce of the client's final message is not the one that it was sent")
        # The channel binding is not compared, as in Kafka: the grammar refuses every client that asks for one, and what
        # the client has written is part of what it signs.
        known = said.known
        signed = _auth_message(said.client_first, said.server_first, message.without_proof)
        signature = _hmac(self._mechanism, known.credential.stored_key, signed)
        if len(message.proof) != len(signature):
            return SaslFailure(reason="the proof has the wrong length")
        client_key = _xor(signature, message.proof)
        stored_key = hashlib.new(self._mechanism.hash_name, client_key).digest()
        if not hmac.compare_digest(stored_key, known.credential.stored_key):
            return SaslFailure(reason="the password is wrong")
        answer = ServerFinalMessage(signature=_hmac(self._mechanism, known.credential.server_key, signed))
        return SaslSuccess(
            token=answer.text.encode(),
            user=known.user,
            expires_at_ms=known.expires_at_ms,
            by_delegation_token=known.by_delegation_token,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordSalting:
    """The client needs `derive_salted_password` of its password, in a thread, and gives it to `prove`."""

    mechanism: ScramMechanism
    salt: bytes = field(repr=False)
    iterations: int


class _ClientStep(Enum):
    FIRST_MESSAGE = "the first message is to be sent"
    SALT = "the server's salt is expected"
    SALTED_PASSWORD = "the salted password is expected"
    SIGNATURE = "the server's signature is expected"
    ENDED = "the exchange has ended"


class ScramClientExchange:
    """The client's side. It never has the password itself, only the salted one while it is needed."""

    __slots__ = ("_client_first", "_expected", "_mechanism", "_server_first", "_step")

    def __init__(self, *, mechanism: ScramMechanism, user: str, nonce: str, by_delegation_token: bool = False) -> None:
        self._mechanism = mechanism
        self._client_first = ClientFirstMessage.of(
            sasl_name=sasl_name(user),
            nonce=nonce,
            extensions={TOKEN_EXTENSION: "true"} if by_delegation_token else {},
        )
        self._server_first: ServerFirstMessage | None = None
        # The signature of the server, once the client could work it out.
        self._expected = b""
        self._step = _ClientStep.FIRST_MESSAGE

    def first_token(self) -> bytes:
        self._leave(_ClientStep.FIRST_MESSAGE, _ClientStep.SALT)
        return self._client_first.text.encode()

    def answer(self, token: bytes) -> PasswordSalting | ClientAuthenticated | SaslFailure:
        """What follows from a token of the server. Call `prove` after a PasswordSalting."""
        step = self._step
        if step not in (_ClientStep.SALT, _ClientStep.SIGNATURE):
            raise OutOfTurn(f"{self._mechanism.sasl_name}: a token of the server, but {step.value}")
        self._step = _ClientStep.ENDED
        try:
            if step is _ClientStep.SIGNATURE:
                return self._verify(ServerFinalMessage.parse(token))
            return self._salting(ServerFirstMessage.parse(token))
        except MalformedScramMessage as error:
            return SaslFailure(reason=str(error))

    def prove(self, salted_password: bytes) -> ClientToken:
        self._leave(_ClientStep.SALTED_PASSWORD, _ClientStep.SIGNATURE)
        server_first = self._server_first
        assert server_first is not None
        final = ClientFinalMessage.of(channel_binding=_CHANNEL_BINDING, nonce=server_first.nonce)
        signed = _auth_message(self._client_first, server_first, final.without_proof)
        client_key = _client_key(self._mechanism, salted_password)
        stored_key = hashlib.new(self._mechanism.hash_name, client_key).digest()
        self._expected = _hmac(self._mechanism, _server_key(self._mechanism, salted_password), signed)
        proof = _xor(client_key, _hmac(self._mechanism, stored_key, signed))
        return ClientToken(token=final.proved(proof).text.encode())

    def _salting(self, message: ServerFirstMessage) -> PasswordSalting | SaslFailure:
        if not message.nonce.startswith(self._client_first.nonce):
            return SaslFailure(reason="the server's nonce does not begin with the client's")
        if message.iterations < MINIMUM_ITERATIONS:
            return SaslFailure(
                reason=f"the server asks for {message.iterations} iterations: at least {MINIMUM_ITERATIONS} are needed"
            )
        if message.iterations > CLIENT_ITERATIONS_LIMIT:
            return SaslFailure(
                reason=f"the server asks for {message.iterations} iterations: more than {CLIENT_ITERATIONS_LIMIT}"
            )
        self._server_first = message
        self._step = _ClientStep.SALTED_PASSWORD
        return PasswordSalting(mechanism=self._mechanism, salt=message.salt, iterations=message.iterations)

    def _verify(self, message: ServerFinalMessage) -> ClientAuthenticated | SaslFailure:
        if message.error is not None:
            return SaslFailure(reason=f"the server answered with the error {message.error!r}")
        if not hmac.compare_digest(message.signature, self._expected):
            return SaslFailure(reason="the server's signature is wrong: it does not know the password's keys")
        return ClientAuthenticated()

    def _leave(self, step: _ClientStep, following: _ClientStep) -> None:
        if self._step is not step:
            raise OutOfTurn(f"{self._mechanism.sasl_name}: {self._step.value}")
        self._step = following


def _auth_message(client_first: ClientFirstMessage, server_first: ServerFirstMessage, client_final: str) -> bytes:
    """What both sides sign: the messages as they were sent (RFC 5802).

    Kafka writes them again from their parts and so drops extensions of other sides; with its own the two are the same.
    """
    return f"{client_first.bare},{server_first.text},{client_final}".encode()


def _hmac(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, mechanism.hash_name)


def _client_key(mechanism: ScramMechanism, salted_password: bytes) -> bytes:
    return _hmac(mechanism, salted_password, b"Client Key")


def _server_key(mechanism: ScramMechanism, salted_password: bytes) -> bytes:
    return _hmac(mechanism, salted_password, b"Server Key")


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(first, second, strict=True))
