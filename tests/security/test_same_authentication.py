"""Authentication is that of Apache Kafka: its classes judge thousands of random and damaged inputs in the same way."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.authentication_cases import (
    NOW_MS,
    SCRAM_ALPHABET,
    distinguished_name,
    jaas_text,
    mapping_rules,
    scram_message,
    unsecured_token,
)
from support.authentication_verdicts import AuthenticationVerdicts, mutated, same_failure

from tidelog.security.exchange import SaslChallenge, SaslFailure, SaslSuccess
from tidelog.security.jaas import InvalidJaasConfig, parse_jaas_config
from tidelog.security.jwt_tokens import JwtExpectations, JwtValidator
from tidelog.security.oauthbearer import (
    BearerFirstMessage,
    BearerToken,
    MalformedBearerMessage,
    OAuthBearerServerExchange,
)
from tidelog.security.plain import PlainServerExchange, PlainUsers
from tidelog.security.principal_mapping import InvalidMappingRules, PrincipalMapper
from tidelog.security.scram_messages import (
    ClientFinalMessage,
    ClientFirstMessage,
    MalformedScramMessage,
    ServerFinalMessage,
    ServerFirstMessage,
)
from tidelog.security.unsecured_tokens import UnsecuredTokenValidator

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

SEED = 20_431


# JAAS


def test_jaas_configurations_are_read_alike(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED)
    seen: Counter[str] = Counter()
    for number in range(8000):
        text = jaas_text(random)
        if number % 2:
            text = mutated(random, text, "\"';=/*\\ \n\r.-5aé\x7f\x9f\xa0")
        theirs = kafka.ask("jaas", text)
        try:
            ours = ["yes"]
            for entry in parse_jaas_config(text):
                ours += [entry.login_module, entry.control_flag.name, dict(sorted(entry.options.items()))]  # type: ignore[list-item]
        except InvalidJaasConfig:
            ours = ["no"]
        expected: list[Any] = [json.loads(part) if at and at % 3 == 0 else part for at, part in enumerate(theirs)]
        if theirs[0] == "no" or any("u0000without a name" in part for part in theirs):
            # Kafka keeps an option whose name is a number or a sign, which nobody can ask for. We refuse it.
            expected = ["no"]
        assert ours == expected, repr(text)
        seen[ours[0]] += 1
    assert min(seen.values()) > 1500, seen


# ssl.principal.mapping.rules


def test_principals_are_mapped_alike(kafka: AuthenticationVerdicts) -> None:
    """What we accept means the same. We may refuse more: rules that Kafka cannot apply, and what `re` cannot do."""
    random = Random(SEED)
    seen: Counter[str] = Counter()
    for number in range(8000):
        rules = mapping_rules(random)
        if number % 4 == 0:
            rules = mutated(random, rules, "/,\\$()[]{}LU.*+?|^& 1a")
        # Java 17 takes letters of all languages for words where \b is concerned, Java 19 those of ASCII.
        name = distinguished_name(random, ascii_only="\\b" in rules.lower())
        theirs = kafka.ask("mapping", rules, name)
        verdict = theirs[1] if theirs[0] == "yes" else "refused"
        try:
            mapped = PrincipalMapper.of(rules).name_of(name)
        except InvalidMappingRules:
            seen[f"we refuse, Kafka: {verdict}"] += 1
            continue
        expected = theirs[2] if verdict == "mapped" else None
        assert verdict in ("mapped", "unmapped"), (rules, name, theirs, mapped)
        assert mapped == expected, (rules, name, theirs)
        seen[verdict] += 1
    assert seen["mapped"] > 2000, seen
    assert seen["unmapped"] > 1500, seen
    assert seen["we refuse, Kafka: failed"] > 50, seen
    assert seen["we refuse, Kafka: refused"] > 300, seen
    # Replacements that Kafka would stumble over with another name, and references to groups that are not there (yet).
    assert seen["we refuse, Kafka: mapped"] + seen["we refuse, Kafka: unmapped"] < 1600, seen


# The messages of SCRAM


def read_scram(kind: str, token: bytes) -> list[str]:
    match kind:
        case "client-first":
            first = ClientFirstMessage.parse(token)
            return [
                first.authorization_id,
                first.sasl_name,
                first.nonce,
                json.dumps(dict(first.extensions), sort_keys=True),
            ]
        case "server-first":
            answer = ServerFirstMessage.parse(token)
            return [answer.nonce, answer.salt.hex(), str(answer.iterations)]
        case "client-final":
            final = ClientFinalMessage.parse(token)
            return [final.channel_binding.hex(), final.nonce, final.proof.hex()]
        case _:
            last = ServerFinalMessage.parse(token)
            return ["signature", last.signature.hex()] if last.error is None else ["error", last.error]


@pytest.mark.parametrize("kind", ["client-first", "server-first", "client-final", "server-final"])
def test_messages_of_scram_are_read_alike(kafka: AuthenticationVerdicts, kind: str) -> None:
    random = Random(SEED)
    seen: Counter[str] = Counter()
    for number in range(5000):
        token = scram_message(random, kind)
        if number % 2:
            token = mutated(random, token, SCRAM_ALPHABET)
        verdict, *parts = kafka.ask(kind, token.hex())
        if kind == "client-first" and verdict == "yes":
            parts[3] = json.dumps(json.loads(parts[3]), sort_keys=True)
        try:
            ours = ["yes", *read_scram(kind, token)]
        except MalformedScramMessage:
            ours = ["no"]
        assert ours == ["no" if verdict == "no" else "yes", *(parts if verdict == "yes" else [])], token
        seen[verdict] += 1
    assert min(seen["yes"], seen["no"]) > 1000, seen


# PLAIN


def test_plain_is_accepted_and_refused_alike(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED)
    users = {"alice": "secret", "bob": "pä55 wörd", "é": "\U0001f600", "a b": "=,", "\ufffd": "r"}
    seen: Counter[str] = Counter()
    for number in range(6000):
        user, password = random.choice(list(users.items()))
        if random.random() < 0.2:
            password = random.choice(["", "x", *users.values()])
        asked = random.choice(["", "", user, "bob"])
        token = "\0".join([asked, user, password]).encode()
        if number % 2:
            token = mutated(random, token, b"\x00\x00ab\xc3\xa9\xff")
        verdict, *rest = kafka.ask("plain", users, token.hex())
        ours = PlainServerExchange(users=PlainUsers(passwords=users)).evaluate(token, 0)
        if verdict == "yes":
            assert ours == SaslSuccess(token=b"", user=rest[0]), token
        else:
            assert ours == SaslFailure(reason=rest[1], told=rest[1]), token
        seen[verdict] += 1
    assert min(seen.values()) > 1500, seen


# OAUTHBEARER


def test_first_messages_of_oauthbearer_are_read_alike(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED)
    seen: Counter[str] = Counter()
    for number in range(6000):
        auth = random.choice(
            ["auth=Bearer ab.c-_~+/=", "auth=bearer  x==", "auth=BEARER y", "auth=Basic z", "auth=Bearer", ""]
        )
        pairs = [
            auth,
            *random.sample(
                ["k=v", "traceId=1 2", "K=a=b", "k=w", "a1=b", "x=\t", "auth=Bearer q"], random.randrange(3)
            ),
        ]
        random.shuffle(pairs)
        asked = random.choice(["", "", "a=user", "a=u=2C"])
        text = f"{random.choice('nnnny')},{asked},\x01" + "".join(f"{pair}\x01" for pair in pairs if pair) + "\x01"
        token = text.encode()
        if number % 2:
            token = mutated(random, token, b"\x01\x01n,=a. Bearer\x00\xc3")
        verdict, *rest = kafka.ask("bearer-first", token.hex())
        try:
            read = BearerFirstMessage.parse(token)
            assert verdict == "yes", token
            assert [read.authorization_id, read.token, dict(read.extensions)] == [*rest[:2], json.loads(rest[2])], token
        except MalformedBearerMessage:
            assert verdict == "no", token
        seen[verdict] += 1
    assert min(seen.values()) > 1000, seen


def test_unsecured_tokens_are_valid_alike(kafka: AuthenticationVerdicts) -> None:
    random = Random(SEED)
    seen: Counter[str] = Counter()
    for number in range(8000):
        given = {
            "unsecuredValidatorAllowableClockSkewMs": random.choice(["", "0", "1000", " 60000 "]),
            "unsecuredValidatorPrincipalClaimName": random.choice(["", "sub", "name"]),
            "unsecuredValidatorRequiredScope": random.choice(["", "", "a", "a b", " b "]),
        }
        token = unsecured_token(random)
        if number % 3 == 0:
            token = mutated(random, token.encode(), b"eyJAQg.-_=").decode()
        asked = random.choice(["", "", "", "a=alice"])
        message = f"n,{asked},\x01auth=Bearer {token}\x01\x01".encode()
        theirs = kafka.ask("unsecured", given, message.hex(), NOW_MS)
        validator = UnsecuredTokenValidator.of_options(given)
        ours = OAuthBearerServerExchange(validator=validator).evaluate(message, NOW_MS)
        if theirs[:2] == ["yes", "accepted"]:
            assert isinstance(ours, SaslSuccess), (token, theirs, ours)
            found = validator.validate(token, NOW_MS)
            read = [found.principal_name, sorted(found.scopes), str(found.expires_at_ms), str(found.started_at_ms)]  # type: ignore[union-attr]
            assert read == [theirs[2], json.loads(theirs[3]), theirs[4], theirs[5].replace("null", "None")], token
            assert (ours.user, ours.expires_at_ms) == (theirs[2], int(theirs[4]))
        elif theirs[0] == "yes":
            assert ours == SaslChallenge(token=theirs[2].encode()), (token, theirs, ours)
        else:
            # An exception of Kafka's closes the connection; ours may say that the token is not valid.
            assert not isinstance(ours, SaslSuccess), (token, theirs)
            assert theirs[1] != "SaslAuthenticationException" or same_failure(ours, theirs), (token, theirs, ours)
        seen[theirs[1] if theirs[0] == "yes" else "no"] += 1
    assert min(seen.values()) > 300, seen


# Signed tokens


def signed_claims(random: Random, now: int) -> bytes:
    """Nothing near a bound: Kafka's library looks at the clock of the system."""

    def some(usual: Any, *others: Any) -> Any:
        return random.choice(others) if random.random() < 0.06 else usual

    claims = {
        "sub": some("alice", " alice ", "", " ", None, 5, ["a"]),
        "exp": some(now + 600, now - 600, now + 0.5 + 600, str(now), None, True),
        "iat": some(now - 60, now + 300, now + 900, "5", None, -5),
        "nbf": some(None, now - 60, now + 300, now + 900, "5"),
        "aud": some(random.choice([None, "kafka", ["x", "logs"]]), "x", [], 5, ["kafka", 5]),
        "iss": some(random.choice([None, "us"]), "them", 5),
        "scope": some(random.choice(["a b", ["a", "b"], None]), ["a", "a "], [""], 5, []),
        "scp": "x",
        "jti": some(None, "id", 5),
    }
    text = json.dumps({name: value for name, value in claims.items() if value is not None or random.random() < 0.1})
    return (text[:-1] + ', "sub": "admin"}' if random.random() < 0.03 else text).encode()


def test_signed_tokens_are_valid_alike(kafka: AuthenticationVerdicts, tmp_path: Path) -> None:
    reason = "signed tokens need the optional package joserfc"
    jwk, jws = (pytest.importorskip(f"joserfc.{name}", reason=reason) for name in ("jwk", "jws"))
    random = Random(SEED)
    keys = {"rsa": jwk.RSAKey.generate_key(2048, {"kid": "rsa"}), "ec": jwk.ECKey.generate_key("P-256", {"kid": "ec"})}
    stranger = jwk.RSAKey.generate_key(2048, {"kid": "rsa"})
    key_set = json.dumps({"keys": [key.as_dict(private=False) for key in keys.values()]})
    (tmp_path / "keys.json").write_text(key_set)
    seen: Counter[str] = Counter()
    for number in range(3000):
        if number % 100 == 0:
            settings: dict[str, Any] = {
                "audiences": random.choice([[], ["kafka", "logs"]]),
                "issuer": random.choice([None, "us"]),
            }
            names = {"scope": random.choice(["scope", "scp"]), "sub": "sub"}
            url = f"file://{tmp_path / 'keys.json'}"
            assert kafka.ask("jwt-validator", {**settings, **names, "skew": 30, "url": url}) == ["yes"]
            expectations = JwtExpectations(
                audiences=frozenset(settings["audiences"] or ()),
                issuer=settings["issuer"],
                scope_claim_name=names["scope"],
            )
            validator = JwtValidator(key_set=key_set.encode(), expectations=expectations)
        now_ms = int(time.time() * 1000)
        kind, alg = random.choice([("rsa", "RS256"), ("rsa", "PS512"), ("ec", "ES256")])
        header = {"alg": alg, "kid": random.choice([kind] * 8 + ["unknown"])}
        key = stranger if kind == "rsa" and random.random() < 0.1 else keys[kind]
        token = jws.serialize_compact(header, signed_claims(random, now_ms // 1000), key, algorithms=[alg])
        if random.random() < 0.1:
            token = mutated(random, token, "eyJAQg.-_")
        verdict, *rest = kafka.ask("jwt", token)
        ours = validator.validate(token, now_ms)
        if isinstance(ours, BearerToken):
            read = [ours.principal_name, sorted(ours.scopes), str(ours.expires_at_ms), str(ours.started_at_ms)]
            assert ["yes", *read] == [verdict, rest[0], json.loads(rest[1]), *rest[2:]], token
        else:
            assert verdict == "no", (token, rest, ours)
        seen[verdict] += 1
    assert min(seen.values()) > 400, seen
