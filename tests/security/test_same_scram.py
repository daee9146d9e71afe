"""Whole exchanges of SCRAM with Apache Kafka's client and server, some of them with damaged messages."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from support.authentication_cases import SCRAM_ALPHABET
from support.authentication_verdicts import AuthenticationVerdicts, mutated, same_failure

from tidelog.security.exchange import ClientAuthenticated, SaslChallenge, SaslFailure, SaslSuccess
from tidelog.security.scram import (
    DelegationTokenCredential,
    PasswordSalting,
    ScramClientExchange,
    ScramCredential,
    ScramMechanism,
    ScramServerExchange,
    credential_of_salted_password,
    derive_salted_password,
    scram_nonce,
)
from tidelog.security.scram_messages import ClientFirstMessage, ServerFirstMessage

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

SEED = 20_431


class Users:
    """One user or one delegation token, known to a server of Kafka and to one of ours."""

    def __init__(self, kafka: AuthenticationVerdicts, random: Random, number: int) -> None:
        self.kafka = kafka
        self.exchange = str(number)
        self.mechanism = random.choice(list(ScramMechanism))
        self.user = "".join(
            random.choice("abcXYZ=, .-_~é"[: -1 if random.random() < 0.9 else None])
            for _ in range(random.randint(1, 8))
        )
        self.password = "".join(random.choice('ab,="\\ éß😀1') for _ in range(random.randint(1, 12)))
        self.iterations = 4096 if random.random() < 0.95 else random.choice([4095, 5000])
        self.owner = "owner" if random.random() < 0.25 else None
        self.nonce = scram_nonce(random.randbytes(18))
        salt = random.randbytes(random.randint(1, 20))
        salted = derive_salted_password(self.mechanism, self.password, salt, self.iterations)
        self.credential = credential_of_salted_password(
            self.mechanism, salt=salt, salted_password=salted, iterations=self.iterations
        )
        stored, server = self.credential.stored_key.hex(), self.credential.server_key.hex()
        self.kafka_has = (salt.hex(), stored, server, self.iterations)

    def credential_is_kafkas(self) -> bool:
        salt, stored, server, iterations = self.kafka_has
        made = self.kafka.ask("credential", self.mechanism.sasl_name, self.password, salt, iterations)
        return made == ["yes", stored, server]

    def kafka_server(self) -> None:
        mechanism, user = self.mechanism.sasl_name, self.user
        assert self.kafka.ask("scram-server", self.exchange, mechanism, user, *self.kafka_has, self.owner) == ["yes"]

    def our_server(self, nonce: str) -> ScramServerExchange:
        def find(name: str) -> ScramCredential | None:
            return self.credential if self.owner is None and name == self.user else None

        def find_token(name: str) -> DelegationTokenCredential | None:
            if self.owner is None or name != self.user:
                return None
            return DelegationTokenCredential(owner=self.owner, credential=self.credential, expires_at_ms=1)

        return ScramServerExchange(
            mechanism=self.mechanism, nonce=nonce, find_credential=find, find_delegation_token=find_token
        )


def one_exchange_with_kafkas_server(users: Users, random: Random) -> str:
    """Our client and Kafka's server, while our server hears the same and must say the same."""
    wrong = random.random() < 0.15
    by_token = (users.owner is not None) != (random.random() < 0.1)
    client = ScramClientExchange(
        mechanism=users.mechanism,
        user="somebody else" if random.random() < 0.1 else users.user,
        nonce=users.nonce,
        by_delegation_token=by_token,
    )
    users.kafka_server()
    sent = client.first_token()
    first = mutated(random, sent, SCRAM_ALPHABET) if random.random() < 0.25 else sent
    theirs = users.kafka.ask("server-token", users.exchange, first.hex())
    if theirs[0] == "no":
        assert same_failure(users.our_server("x").evaluate(first, 0), theirs), (first, theirs)
        return "refused at first"
    challenge = bytes.fromhex(theirs[1])
    nonce = ServerFirstMessage.parse(challenge).nonce.removeprefix(ClientFirstMessage.parse(first).nonce)
    server = users.our_server(nonce)
    assert server.evaluate(first, 0) == SaslChallenge(token=challenge)
    salting = client.answer(challenge)
    if not isinstance(salting, PasswordSalting):
        assert first != sent
        return "the client gave up"
    password = users.password + "x" if wrong else users.password
    salted = derive_salted_password(salting.mechanism, password, salting.salt, salting.iterations)
    proved = client.prove(salted).token
    final = mutated(random, proved, SCRAM_ALPHABET) if random.random() < 0.3 else proved
    ours = server.evaluate(final, 0)
    theirs = users.kafka.ask("server-token", users.exchange, final.hex())
    if theirs[0] == "no":
        assert same_failure(ours, theirs), (final, theirs)
        return "refused in the end"
    assert not wrong
    if isinstance(ours, SaslFailure):
        # Kafka signs what it has read, not what was sent, and does not notice changes to what it overlooks.
        assert (first, final) != (sent, proved)
        return "only Kafka accepts"
    assert ours == SaslSuccess(
        token=bytes.fromhex(theirs[1]),
        user=theirs[2],
        expires_at_ms=1 if users.owner else None,
        by_delegation_token=users.owner is not None,
    )
    assert isinstance(client.answer(bytes.fromhex(theirs[1])), ClientAuthenticated)
    return "accepted"


def test_our_client_and_our_server_speak_with_kafkas_server(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED)
    seen = Counter(one_exchange_with_kafkas_server(Users(kafka, random, number), random) for number in range(1500))
    assert seen["accepted"] > 500, seen
    assert min(seen["refused at first"], seen["refused in the end"]) > 150, seen
    assert seen["only Kafka accepts"] < 60, seen


def one_exchange_with_kafkas_client(users: Users, random: Random) -> str:
    assert users.credential_is_kafkas()
    wrong = random.random() < 0.2
    password = users.password + "x" if wrong else users.password
    server = users.our_server(users.nonce)
    mechanism, by_token = users.mechanism.sasl_name, users.owner is not None
    theirs = users.kafka.ask("scram-client", users.exchange, mechanism, users.user, password, by_token)
    challenge = server.evaluate(bytes.fromhex(theirs[1]), 0)
    if isinstance(challenge, SaslFailure):
        assert users.iterations < 4096 or not users.user.isascii()
        return "refused at first"
    theirs = users.kafka.ask("client-token", users.exchange, challenge.token.hex())
    assert theirs[0] == "yes"
    outcome = server.evaluate(bytes.fromhex(theirs[1]), 0)
    if isinstance(outcome, SaslFailure):
        assert wrong
        return "refused in the end"
    assert not wrong
    assert isinstance(outcome, SaslSuccess)
    assert outcome.user == (users.owner or users.user)
    token = outcome.token
    damaged = mutated(random, token, SCRAM_ALPHABET) if random.random() < 0.2 else token
    verdict = users.kafka.ask("client-token", users.exchange, damaged.hex())
    if damaged == token:
        assert verdict == ["yes", "", "complete"]
    return "accepted" if verdict[0] == "yes" else "the client refused"


def test_kafkas_client_speaks_with_our_server(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED + 1)
    seen = Counter(one_exchange_with_kafkas_client(Users(kafka, random, number), random) for number in range(250))
    assert seen["accepted"] > 100, seen
    assert min(seen["refused in the end"], seen["the client refused"], seen["refused at first"]) > 10, seen
