"""The argument of --add-scram. That the records are Kafka's is compared in tests/cli/test_storage_format.py."""

from __future__ import annotations

import re

import pytest

from tidelog.security.scram import ScramMechanism, credential_of_record, credential_of_salted_password
from tidelog.security.scram_argument import ScramArgument


def test_a_password_is_salted_with_what_is_given_or_drawn() -> None:
    given = ScramArgument.parse('SCRAM-SHA-256=[name=alice,password="a secret",salt="MTIz",iterations=8192]')
    assert (given.mechanism, given.name, given.salt, given.iterations) == (
        ScramMechanism.SHA_256,
        "alice",
        b"123",
        8192,
    )
    drawn = ScramArgument.parse("SCRAM-SHA-256=[name=alice,password=a secret]")
    assert given.record(b"random").salt == b"123"
    assert (drawn.record(b"random").salt, drawn.iterations) == (b"random", 4096)


def test_a_salted_password_is_taken_as_it_is() -> None:
    given = ScramArgument.parse("SCRAM-SHA-512=[name=bob,saltedpassword=MTIz,salt=c2FsdA]")
    expected = credential_of_salted_password(
        ScramMechanism.SHA_512, salt=b"salt", salted_password=b"123", iterations=4096
    )
    assert credential_of_record(given.record(b"random")) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("planted-secret", "it must begin with one of SCRAM-SHA-256="),
        ("SCRAM-SHA-1=[name=a,password=planted-secret]", "it must begin with"),
        ("SCRAM-SHA-256=name=a,password=planted-secret", "in brackets"),
        ("SCRAM-SHA-256=[password=planted-secret]", "name= is missing"),
        ("SCRAM-SHA-256=[name=a]", "password= or saltedpassword= is missing"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=MTIz]", "needs the salt="),
        ("SCRAM-SHA-256=[name=a,password=,planted-secret]", "part 3 has no equals sign"),
        ("SCRAM-SHA-256=[name=a,planted-secret=x]", "part 2 must be one of name="),
        ("SCRAM-SHA-256=[name=a,saltedpassword=planted-secret!,salt=MTIz]", "saltedpassword= is not base64"),
        ("SCRAM-SHA-256=[name=a,password=planted-secret,salt=!]", "salt= is not base64"),
        ("SCRAM-SHA-256=[name=a,password=planted-secret,iterations=x]", "iterations=x is not a number"),
        ("SCRAM-SHA-256=[name=a,password=planted-secret,iterations=4095]", "4095 iterations are too few"),
        ("SCRAM-SHA-256=[name=a,password=planted-secret,iterations=16385]", "16385 iterations are too many"),
    ],
)
def test_a_complaint_says_what_is_wrong_and_no_secret(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)) as refused:
        ScramArgument.parse(text)

    assert "planted-secret" not in str(refused.value)


def test_no_secret_is_shown_with_the_argument() -> None:
    shown = repr(ScramArgument.parse("SCRAM-SHA-256=[name=alice,password=planted-secret,salt=MTIz]"))
    assert "alice" in shown
    assert "planted-secret" not in shown
