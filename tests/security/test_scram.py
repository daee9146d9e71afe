"""SCRAM: the published example, both sides with each other, and what ends an exchange."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.security.exchange import ClientAuthenticated, OutOfTurn, SaslChallenge, SaslFailure, SaslSuccess
from tidelog.security.scram import (
    CLIENT_ITERATIONS_LIMIT,
    SCRAM_MECHANISMS,
    DelegationTokenCredential,
    PasswordSalting,
    ScramClientExchange,
    ScramCredential,
    ScramMechanism,
    ScramServerExchange,
    credential_of_record,
    credential_of_salted_password,
    credential_record,
    derive_salted_password,
    iterations_problem,
    scram_nonce,
)
from tidelog.security.scram_messages import (
    ClientFirstMessage,
    MalformedScramMessage,
    ServerFirstMessage,
    sasl_name,
    user_name,
)

PASSWORD = "planted-Secret-7"
SALT = b"salt of the test"
SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"


def credential(
    mechanism: ScramMechanism = SHA_256, password: str = PASSWORD, iterations: int = 4096
) -> ScramCredential:
    salted = derive_salted_password(mechanism, password, SALT, iterations)
    return credential_of_salted_password(mechanism, salt=SALT, salted_password=salted, iterations=iterations)


def server(
    users: dict[str, ScramCredential],
    *,
    mechanism: ScramMechanism = SHA_256,
    nonce: str = "server",
    tokens: dict[str, DelegationTokenCredential] | None = None,
) -> ScramServerExchange:
    return ScramServerExchange(
        mechanism=mechanism, nonce=nonce, find_credential=users.get, find_delegation_token=(tokens or {}).get
    )


def client(user: str = "alice", *, mechanism: ScramMechanism = SHA_256, by_token: bool = False) -> ScramClientExchange:
    return ScramClientExchange(mechanism=mechanism, user=user, nonce="client", by_delegation_token=by_token)


def prove(exchange: ScramClientExchange, challenge: bytes, password: str = PASSWORD) -> bytes:
    salting = exchange.answer(challenge)
    assert isinstance(salting, PasswordSalting)
    salted = derive_salted_password(salting.mechanism, password, salting.salt, salting.iterations)
    return exchange.prove(salted).token


def challenged(exchange: ScramServerExchange, token: bytes) -> bytes:
    outcome = exchange.evaluate(token, 0)
    assert isinstance(outcome, SaslChallenge)
    return outcome.token


def test_the_example_of_rfc_7677() -> None:
    """Section 3: user "user", password "pencil"."""
    nonce, servers = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    signature = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    salt = ServerFirstMessage.parse(challenge).salt
    salted = derive_salted_password(SHA_256, "pencil", salt, 4096)
    stored = credential_of_salted_password(SHA_256, salt=salt, salted_password=salted, iterations=4096)
    asking = ScramClientExchange(mechanism=SHA_256, user="user", nonce=nonce)
    answering = server({"user": stored}, nonce=servers)

    assert asking.first_token() == first
    assert challenged(answering, first) == challenge
    assert prove(asking, challenge, "pencil") == final
    assert answering.evaluate(final, 0) == SaslSuccess(token=signature, user="user")
    assert asking.answer(signature) == ClientAuthenticated()


names = st.text(st.characters(min_codepoint=1, max_codepoint=0x7F), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(
    user=names,
    password=st.text(st.characters(codec="utf-8"), min_size=1, max_size=12),
    mechanism=st.sampled_from(ScramMechanism),
)
def test_both_sides_understand_each_other(user: str, password: str, mechanism: ScramMechanism) -> None:
    asking = client(user, mechanism=mechanism)
    answering = server({user: credential(mechanism, password)}, mechanism=mechanism)

    outcome = answering.evaluate(prove(asking, challenged(answering, asking.first_token()), password), 0)

    assert isinstance(outcome, SaslSuccess)
    assert (outcome.user, outcome.expires_at_ms, outcome.by_delegation_token) == (user, None, False)
    assert asking.answer(outcome.token) == ClientAuthenticated()


@given(user=st.text())
def test_a_name_is_escaped_and_back(user: str) -> None:
    written = sasl_name(user)
    assert "," not in written
    assert written.replace("=2C", "").replace("=3D", "").count("=") == 0
    assert user_name(written) == user


@given(
    token=st.binary(max_size=60) | st.from_regex(r"n,(a=\w*)?,n=[a-z=,]*,r=[a-z]*.*").map(lambda text: text.encode())
)
def test_no_first_message_breaks_a_server(token: bytes) -> None:
    assert isinstance(server({"a": credential()}).evaluate(token, 0), SaslChallenge | SaslFailure)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (b"n,,n=bob,r=x", None),
        (b"n,,n=alice,r=", None),
        (b"y,,n=alice,r=x", None),
        (b"p=tls-unique,,n=alice,r=x", None),
        (b"n,,n=al=ice,r=x", None),
        (b"n,,n=alice,r=\xff", None),
        (b"", None),
        (b"n,a=bob,n=alice,r=x", OTHER_ID),
        # Of unknown users, not even this is told.
        (b"n,a=alice,n=bob,r=x", None),
        (b"n,,n=alice,r=x,tokenauth=true", None),
    ],
)
def test_first_messages_that_end_the_exchange(first: bytes, told: str | None) -> None:
    exchange = server({"alice": credential()})

    outcome = exchange.evaluate(first, 0)

    assert isinstance(outcome, SaslFailure)
    assert outcome.told == told
    with pytest.raises(OutOfTurn):
        exchange.evaluate(first, 0)


@pytest.mark.parametrize("first", [b"n,a=alice,n=alice,r=x", b"n,,m=y,n=alice,r=x", b"n,,n=alice,r=x,a=b,c=d"])
def test_first_messages_that_are_challenged(first: bytes) -> None:
    assert challenged(server({"alice": credential()}), first).startswith(b"r=xserver,s=")


def test_an_unknown_user_and_a_wrong_password_are_told_the_same() -> None:
    unknown = server({}).evaluate(client().first_token(), 0)
    asking, answering = client(), server({"alice": credential()})
    wrong = answering.evaluate(prove(asking, challenged(answering, asking.first_token()), "other"), 0)

    assert isinstance(unknown, SaslFailure)
    assert isinstance(wrong, SaslFailure)
    assert unknown.told is wrong.told is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda final: final.replace(b"r=client", b"r=xlient"), "nonce"),
        # A nonce that only ends with the right one was once accepted by Kafka (CVE-2024-56128).
        (lambda final: final.replace(b"r=client", b"r=xxclient"), "nonce"),
        (lambda final: final[:-8] + b"AAAAAAA=", "password"),
        (lambda final: final[: final.index(b"p=")] + b"p=AAAA", "length"),
        (lambda final: final[: final.index(b"p=")] + b"p=", "length"),
        (lambda final: final[:-1], "malformed"),
        # Any channel binding is well-formed, but it is signed.
        (lambda final: final.replace(b"c=biws", b"c=eSws"), "password"),
    ],
)
def test_final_messages_that_end_the_exchange(change: object, reason: str) -> None:
    asking, answering = client(), server({"alice": credential()})
    final = prove(asking, challenged(answering, asking.first_token()))

    outcome = answering.evaluate(change(final), 0)  # type: ignore[operator]

    assert isinstance(outcome, SaslFailure)
    assert outcome.told is None
    assert reason in outcome.reason


def test_a_stored_credential_that_is_too_weak_is_not_used() -> None:
    outcome = server({"alice": credential(iterations=4095)}).evaluate(client().first_token(), 0)
    assert isinstance(outcome, SaslFailure)
    assert outcome.told is None


def test_a_delegation_token_stands_for_its_owner() -> None:
    token = DelegationTokenCredential(owner="owner", credential=credential(), expires_at_ms=77)
    asking = client("token-id", by_token=True)
    answering = server({"token-id": credential(password="of a user")}, tokens={"token-id": token})

    outcome = answering.evaluate(prove(asking, challenged(answering, asking.first_token())), 0)

    assert isinstance(outcome, SaslSuccess)
    assert (outcome.user, outcome.expires_at_ms, outcome.by_delegation_token) == ("owner", 77, True)


@pytest.mark.parametrize(
    "challenge",
    [
        b"r=other,s=YQ==,i=4096",
        b"r=clien,s=YQ==,i=4096",
        b"r=clientx,s=YQ==,i=4095",
        f"r=clientx,s=YQ==,i={CLIENT_ITERATIONS_LIMIT + 1}".encode(),
        b"r=clientx,s=YQ==,i=2147483648",
        b"r=clientx,s=YQ==,i=0",
        b"r=clientx,s=Y,i=4096",
        b"e=other-error",
    ],
)
def test_a_client_gives_up(challenge: bytes) -> None:
    exchange = client()
    exchange.first_token()
    assert isinstance(exchange.answer(challenge), SaslFailure)
    with pytest.raises(OutOfTurn):
        exchange.answer(challenge)


@pytest.mark.parametrize("signature", [b"e=unknown-user", b"v=AAAA", b"v=", b"x"])
def test_a_client_recognizes_a_server_that_does_not_know_the_password(signature: bytes) -> None:
    asking, answering = client(), server({"alice": credential()})
    prove(asking, challenged(answering, asking.first_token()))
    assert isinstance(asking.answer(signature), SaslFailure)


def test_a_client_keeps_the_order() -> None:
    exchange = client()
    with pytest.raises(OutOfTurn):
        exchange.answer(b"")
    with pytest.raises(OutOfTurn):
        exchange.prove(b"")
    exchange.first_token()
    with pytest.raises(OutOfTurn):
        exchange.first_token()


@pytest.mark.parametrize(("iterations", "allowed"), [(4095, False), (4096, True), (16384, True), (16385, False)])
def test_how_many_iterations_may_be_stored(iterations: int, allowed: bool) -> None:
    problem = iterations_problem(iterations)
    assert (problem is None) == allowed
    assert allowed or str(iterations) in str(problem)


def test_mechanisms_have_kafkas_names_and_numbers() -> None:
    assert {name: (each.value, each.hash_name) for name, each in SCRAM_MECHANISMS.items()} == {
        "SCRAM-SHA-256": (1, "sha256"),
        "SCRAM-SHA-512": (2, "sha512"),
    }


def test_a_credential_is_a_record_and_back() -> None:
    stored = credential(SHA_512)
    record = credential_record("alice", SHA_512, stored)
    assert isinstance(record, UserScramCredentialRecord)
    assert (record.name, record.mechanism, record.iterations) == ("alice", 2, 4096)
    assert (len(record.stored_key), len(record.server_key)) == (64, 64)
    assert credential_of_record(record) == stored


def test_a_nonce_needs_enough_randomness() -> None:
    assert ClientFirstMessage.parse(f"n,,n=a,r={scram_nonce(bytes(range(18)))}".encode()).nonce
    with pytest.raises(ValueError, match="18 random bytes"):
        scram_nonce(b"too short")


def test_nothing_shows_a_secret() -> None:
    stored = credential()
    asking, answering = client(), server({"alice": stored})
    challenge = answering.evaluate(asking.first_token(), 0)
    assert isinstance(challenge, SaslChallenge)
    salting = asking.answer(challenge.token)
    assert isinstance(salting, PasswordSalting)
    proved = asking.prove(derive_salted_password(SHA_256, PASSWORD, SALT, 4096))
    shown = [stored, challenge, salting, proved, asking, answering, ServerFirstMessage.parse(challenge.token)]
    outcome = answering.evaluate(proved.token, 0)
    assert isinstance(outcome, SaslSuccess)
    shown.append(outcome)
    secrets = [PASSWORD.encode(), SALT, stored.stored_key, stored.server_key, proved.token, outcome.token]

    for each in shown:
        text = repr(each).encode()
        assert not [secret for secret in secrets if secret in text or repr(secret).encode() in text], type(each)


@pytest.mark.parametrize("token", [b"n,,n=planted-Secret-7", b"planted-Secret-7\xff"])
def test_an_error_does_not_repeat_the_message(token: bytes) -> None:
    with pytest.raises(MalformedScramMessage) as caught:
        ClientFirstMessage.parse(token)
    error: BaseException | None = caught.value
    assert "planted" not in str(error)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    outcome = server({}).evaluate(token, 0)
    assert "planted" not in repr(outcome)
