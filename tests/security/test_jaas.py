"""sasl.jaas.config: what is read, what is refused and where, and that no secret is shown."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.jaas import (
    PLAIN_LOGIN_MODULE,
    SCRAM_LOGIN_MODULE,
    ControlFlag,
    InvalidJaasConfig,
    JaasEntry,
    login_options,
    parse_jaas_config,
)

PLAIN_CONFIG = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b;c\\"d" user_x="y";'
)


def options(text: str) -> dict[str, str]:
    (entry,) = parse_jaas_config(f"M required {text};")
    return dict(entry.options)


def test_an_entry_is_read() -> None:
    assert parse_jaas_config(PLAIN_CONFIG) == (
        JaasEntry(
            login_module=PLAIN_LOGIN_MODULE,
            control_flag=ControlFlag.REQUIRED,
            options={"username": "a", "password": 'b;c"d', "user_x": "y"},
        ),
    )


def test_several_entries_are_read() -> None:
    entries = parse_jaas_config("A required; B OPTIONAL x=y;\nC Sufficient;")
    assert [(each.login_module, each.control_flag) for each in entries] == [
        ("A", ControlFlag.REQUIRED),
        ("B", ControlFlag.OPTIONAL),
        ("C", ControlFlag.SUFFICIENT),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a = 'b'", {"a": "b"}),
        ("a=b a=c", {"a": "c"}),
        ('"a b"="c"', {"a b": "c"}),
        (r'a="\t\n\\\"\'\q"', {"a": "\t\n\\\"'q"}),
        (r'a="\101\7\60\477\08"', {"a": "A\x070'7\x008"}),
        ("a='\"' b=\"'\"", {"a": '"', "b": "'"}),
        ('a="" b=""', {"a": "", "b": ""}),
        # The quote ends with its line.
        ('a="b\n', {"a": "b"}),
        ('a="b\\\nc"', {"a": "b\nc"}),
        ("a=b // c=d\ne=f", {"a": "b", "e": "f"}),
        ("a=b / c=d\ne=f", {"a": "b", "e": "f"}),
        ("a=b //\ne=f", {"a": "b", "e": "f"}),
        # After a single slash, the end of the line is overlooked.
        ("a=b /\ne=f\ng=h", {"a": "b", "g": "h"}),
        ("a=/* x = y; */b", {"a": "b"}),
        ("a=b/c\n", {"a": "b"}),
        ('a="//b"', {"a": "//b"}),
        ("user_a-b.c$1=x", {"user_a-b.c$1": "x"}),
        ("a=é\u4e00😀", {"a": "é\u4e00😀"}),
    ],
)
def test_options_are_read_as_java_does(text: str, expected: dict[str, str]) -> None:
    assert options(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no login module"),
        (" // nothing\n", "no login module"),
        ("M", "control flag such as 'required' is missing at line 1, column 2"),
        ("M username=a;", "control flag at line 1, column 3"),
        ("M 5;", "control flag at line 1, column 3"),
        ("M required", "semicolon, which is missing at line 1, column 11"),
        ("M required\n a=b\n", "semicolon, which is missing at line 3, column 1"),
        ("M required a;", "the one at line 1, column 12"),
        ("M required\r\n a=;", "the one at line 2, column 2"),
        ("M required a=5;", "the one at line 1, column 12"),
        ("M required a=-b;", "the one at line 1, column 12"),
        ("M required a==b;", "the one at line 1, column 12"),
        ("M required 5=b;", "the one at line 1, column 12"),
        ("M required a=b c d=e;", "the one at line 1, column 16"),
        ("M required /* a=b;", "semicolon"),
        ("; required;", "class of a login module is missing at line 1, column 1"),
        ('"" required;', "class of a login module is missing"),
    ],
)
def test_what_is_wrong_is_located(text: str, problem: str) -> None:
    with pytest.raises(InvalidJaasConfig) as caught:
        parse_jaas_config(text)
    assert problem in str(caught.value)


@given(
    values=st.dictionaries(
        st.from_regex(r"[a-zA-Z_$][a-zA-Z0-9_.$-]*", fullmatch=True), st.text(st.characters(codec="utf-8")), max_size=4
    )
)
def test_quoted_values_are_read_back(values: dict[str, str]) -> None:
    def quoted(value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        return f'"{escaped}"'

    assert options(" ".join(f"{name}={quoted(value)}" for name, value in values.items())) == values


@given(text=st.text() | st.text("ab=;\"'\\/* \n5-"))
def test_no_text_breaks_the_parser(text: str) -> None:
    with suppress(InvalidJaasConfig):
        assert parse_jaas_config(text)


def test_the_options_of_a_mechanism_are_found() -> None:
    assert login_options(PLAIN_CONFIG, "PLAIN")["username"] == "a"
    assert login_options(f"{SCRAM_LOGIN_MODULE} required;", "SCRAM-SHA-512") == {}


@pytest.mark.parametrize(
    ("text", "mechanism", "problem"),
    [
        (PLAIN_CONFIG + PLAIN_CONFIG, "PLAIN", "has 2 login modules and must have 1"),
        (PLAIN_CONFIG, "SCRAM-SHA-256", SCRAM_LOGIN_MODULE),
        ("planted required;", "PLAIN", PLAIN_LOGIN_MODULE),
    ],
)
def test_a_mechanism_has_one_login_module_of_its_own(text: str, mechanism: str, problem: str) -> None:
    with pytest.raises(InvalidJaasConfig) as caught:
        login_options(text, mechanism)
    assert problem in str(caught.value)
    assert "planted" not in str(caught.value)


def test_an_entry_shows_no_secret() -> None:
    (entry,) = parse_jaas_config(
        f'{PLAIN_LOGIN_MODULE} required username="alice" password="planted-1" clientSecret="planted-2" '
        'user_bob="planted-3" planted_4="x" somethingNew="planted-5";'
    )
    text = repr(entry)
    assert "planted" not in text
    assert text == str(entry) == f"{entry}"
    assert "username='alice'" in text
    assert "password=[hidden]" in text
    assert text.endswith(", 3 other options>")


@pytest.mark.parametrize(
    "text",
    [
        'M required password="planted-1',
        "M required password=planted 1=x;",
        "M required password=pass planted;",
        "M planted password=x;",
        'M required password="x" "planted"',
        "planted",
        "M required planted;",
        "M required password=5planted;",
    ],
)
def test_an_error_shows_no_word_of_the_text(text: str) -> None:
    with pytest.raises(InvalidJaasConfig) as caught:
        parse_jaas_config(text)
    assert "planted" not in str(caught.value)


def test_an_unknown_login_module_is_not_shown() -> None:
    assert "planted" not in repr(parse_jaas_config("planted required;"))
