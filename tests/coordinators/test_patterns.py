"""Patterns against Python's `re`, which understands the same syntax; and what must not be slow or large."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tidelog.coordinators.patterns import PatternProblem, compile_pattern

TEXTS = ["", "a", "b", "ab", "aab", "abc", "orders-1", "orders-12", "Orders", "a.b", "x\ny", "-", "]", "^", "a]b", "é"]


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a",
        "a*",
        "a+b?",
        "(a|b)*",
        "(?:a|bc)+",
        "(?P<name>a)b",
        "orders-[0-9]+",
        "orders-\\d{1,2}",
        "orders-\\d{2}",
        "orders-\\d{2,}",
        "[^a-c]+",
        "[]a]b?",
        "[a^]",
        "[a-]",
        "[\\]\\-]",
        "^ab$",
        "a^b",
        "^$",
        ".*",
        "(?s).*",
        "(?i)ORDERS.*",
        "(?i)[A-C]+",
        "a\\.b",
        "\\x61",
        "\\w+",
        "\\W",
        "(|a)",
        "(a*)*",
        "((a?){3}){2}",
        "a{0}b",
        "a*?b",
        "(^a|b$)",
    ],
)
def test_patterns_match_what_re_matches(pattern: str) -> None:
    matches = compile_pattern(pattern)

    for text in TEXTS:
        assert matches(text) == (re.fullmatch(pattern, text, re.ASCII) is not None), text


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("[[:alpha:]]+", "abc", True),
        ("[[:alpha:]]+", "ab1", False),
        ("\\Qa.b\\E+", "a.b", True),
        ("\\Qa.b\\E", "axb", False),
        ("\\x{e9}", "é", True),
        ("\\Aa\\z", "a", True),
        ("a{,2}", "a{,2}", True),
        ("a{x}", "a{x}", True),
    ],
)
def test_what_re2_understands_differently(pattern: str, text: str, expected: bool) -> None:
    assert compile_pattern(pattern)(text) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "(a",
        "a)",
        "[a",
        "[",
        "*",
        "a|*",
        "\\",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "\\1",
        "\\b",
        "(?P<a",
        "(?x)",
        "[b-a]",
        "[[:nonsense:]]",
        "\\xzz",
        "\\x{110000}",
        "a{2,1}",
        "a{1001}",
        "a**",
        "a" + "*" * 5000,
        "((a{1000}){1000}){1000}",
        "(" * 1000,
    ],
)
def test_what_is_not_supported_is_named(pattern: str) -> None:
    with pytest.raises(PatternProblem, match="pattern"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a*)*b", "(a|aa)*b", "(a+)+b", "(.*)*(.*)*x", "(a?){50}a{50}b", "((((){1000}){1000}){1000}){1000}b"]
)
def test_patterns_that_keep_re_busy_for_years_take_no_time(pattern: str) -> None:
    matches = compile_pattern(pattern)
    started = time.perf_counter()

    assert not matches("a" * 2000)
    assert time.perf_counter() - started < 5


_atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "^", "$", "\\w", "c"])
_repetitions = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])
_patterns = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=400)
@given(pattern=_patterns, texts=st.lists(st.text("abc\n", max_size=6), max_size=6))
def test_random_patterns_match_what_re_matches(pattern: str, texts: list[str]) -> None:
    # In Python `$` also matches before a newline at the end; RE2 has `\z` for both.
    expected = re.compile(pattern.replace("$", "\\Z"))
    matches = compile_pattern(pattern)

    for text in texts:
        assert matches(text) == (expected.fullmatch(text) is not None)


@settings(max_examples=300)
@given(pattern=st.text("ab()[]{}|*+?\\^$.-,1?:iPx<>=!", max_size=20))
def test_any_text_is_a_pattern_or_a_problem(pattern: str) -> None:
    with suppress(PatternProblem):
        compile_pattern(pattern)("ab")
