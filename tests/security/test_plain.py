"""SASL/PLAIN: who is accepted, what the others are told, and that no password is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.exchange import ClientAuthenticated, OutOfTurn, SaslFailure, SaslSuccess
from tidelog.security.plain import PlainClientExchange, PlainServerExchange, PlainUsers

PASSWORD = "planted-Secret-7"
USERS = PlainUsers(passwords={"alice": PASSWORD, "é": "ü", "bob": "\0x"})


def evaluate(token: bytes) -> SaslSuccess | SaslFailure:
    return PlainServerExchange(users=USERS).evaluate(token, 0)


@pytest.mark.parametrize(
    ("token", "user"),
    [
        ("\0alice\0planted-Secret-7", "alice"),
        ("alice\0alice\0planted-Secret-7", "alice"),
        ("\0é\0ü", "é"),
    ],
)
def test_users_are_accepted(token: str, user: str) -> None:
    assert evaluate(token.encode()) == SaslSuccess(token=b"", user=user)


INVALID = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0x\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0\0\0\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0wrong", INVALID),
        (b"\0nobody\0planted-Secret-7", INVALID),
        (b"\0\xff\0x", INVALID),
        # An unknown user has no password, also not the one that its password is compared with.
        (b"\0bob\0x", INVALID),
        (
            b"bob\0alice\0planted-Secret-7",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        # That is told to nobody who does not know the password.
        (b"bob\0alice\0wrong", INVALID),
    ],
)
def test_others_are_told_why_they_are_refused(token: bytes, told: str) -> None:
    assert evaluate(token) == SaslFailure(reason=told, told=told)


def test_an_unknown_user_has_no_password_at_all() -> None:
    assert not USERS.verify("nobody", "\0")


def test_an_exchange_has_one_token() -> None:
    exchange = PlainServerExchange(users=USERS)
    exchange.evaluate(b"\0alice\0wrong", 0)
    with pytest.raises(OutOfTurn):
        exchange.evaluate(b"\0alice\0planted-Secret-7", 0)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(user=texts, password=texts)
def test_a_server_accepts_what_a_client_sends(user: str, password: str) -> None:
    client = PlainClientExchange(user=user, password=password)
    server = PlainServerExchange(users=PlainUsers(passwords={user: password}))
    assert server.evaluate(client.first_token(), 0) == SaslSuccess(token=b"", user=user)
    assert client.answer(b"") == ClientAuthenticated()


@pytest.mark.parametrize(
    ("user", "password", "problem"),
    [("", "x", "user name"), ("a", "", "password"), ("a\0", "x", "user name"), ("a", "planted\0", "password")],
)
def test_a_client_needs_a_name_and_a_password(user: str, password: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        PlainClientExchange(user=user, password=password)
    assert "planted" not in str(caught.value)


def test_users_are_options_of_the_login_module() -> None:
    options = {"username": "broker", "password": "p", "user_alice": "a", "user_": "nobody", "user_user_x": "y"}
    assert PlainUsers.of_options(options).passwords == {"alice": "a", "": "nobody", "user_x": "y"}


def test_nothing_shows_a_password() -> None:
    exchange = PlainServerExchange(users=USERS)
    shown = [USERS, exchange, exchange.evaluate(b"\0alice\0planted-Secret-7", 0)]
    shown += [evaluate(b"planted-Secret-7\0alice\0planted-Secret-7"), evaluate(b"planted-Secret-7")]
    shown.append(PlainClientExchange(user="alice", password=PASSWORD))
    assert not [each for each in shown if "planted" in repr(each)]
