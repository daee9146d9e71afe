"""ssl.principal.mapping.rules, and the regular expressions of Java that they are written in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.model.principal import Principal
from tidelog.security.java_characters import UntranslatablePattern, complement, intersection, union
from tidelog.security.java_patterns import JavaPattern
from tidelog.security.principal_mapping import DEFAULT_RULES, InvalidMappingRules, PrincipalMapper

NAME = "CN=Duke,OU=JavaSoft,O=Sun Microsystems,C=US"


def mapped(rules: str, name: str = NAME) -> str | None:
    return PrincipalMapper.of(rules).name_of(name)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (DEFAULT_RULES, NAME),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", None),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", NAME),
        ("RULE:^CN=(.*?),.*$/$1/", "Duke"),
        ("RULE:^CN=(.*?),.*$/$1/L", "duke"),
        ("RULE:^CN=(.*?),.*$/$1/U", "DUKE"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),.*$/$1@$2/L , DEFAULT", "duke@javasoft"),
        ("RULE:^CN=([^,]+),OU=([^,]+),.*$/$2\\/$1/", "JavaSoft/Duke"),
        ("RULE:^(?i)cn=(\\w+),.*/$1/", "Duke"),
        ("RULE:^CN=(?<user>[A-Za-z]+),.*$/${user}/", "Duke"),
        ("RULE:^CN=([A-Z&&[^A-C]]\\p{Lower}+),.*$/$1/", "Duke"),
        # A group that does not exist is meant literally, and takes no more digits than there are groups.
        ("RULE:^CN=(.*?),.*$/$1$4/", "Duke$4"),
        ("RULE:^CN=(.*?),.*$/$12/", "Duke2"),
        # Java replaces the empty match at the end as well.
        ("RULE:.*/x/", "xx"),
        ("RULE:^.*$/x/", "x"),
        # The first rule that matches counts.
        ("RULE:^OU=.*$/a/,RULE:^CN=.*$/b/,RULE:^CN=.*$/c/", "b"),
        ("", None),
        (" , ", None),
    ],
)
def test_names_are_mapped(rules: str, expected: str | None) -> None:
    assert mapped(rules) == expected


def test_a_mapped_name_is_a_user() -> None:
    mapper = PrincipalMapper.of("RULE:^CN=(.*?),.*$/$1/")
    assert mapper.principal_of(NAME) == Principal(type="User", name="Duke")
    assert mapper.principal_of("OU=x") is None


@pytest.mark.parametrize(
    "rules",
    [
        "duke",
        "DEFAULTS",
        "RULE:a/b",
        "RULE:a/b/X",
        "RULE:a/b/LU",
        "rule:a/b/",
        "DEFAULT,RULE:^CN=(.*/$1/",
        "RULE:a/$1/",
        "RULE:(a)/$4$5/",
        "RULE:(a)/$/",
        "RULE:(a)/${n}/",
        "RULE:(a)/$99999999999/",
        "RULE:(?x)a/b/",
        "RULE:(?<=a+)b/c/",
    ],
)
def test_rules_that_cannot_be_used_are_refused_by_name(rules: str) -> None:
    with pytest.raises(InvalidMappingRules) as caught:
        PrincipalMapper.of(rules)
    assert "ssl.principal.mapping.rules" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (".", ["a", "\v"], ["\n", "\r", "\x85", "\u2028", "\u2029"]),
        ("(?s).", ["\n", "\r"], [""]),
        ("a$", ["a"], ["a\n"]),
        (r"a\Z\n", ["a\n"], ["a"]),
        (r"a\z", ["a"], ["a\n"]),
        (r"\d", ["5"], ["٣"]),
        (r"\w", ["a", "_"], ["é"]),
        ("(?i)é", ["é"], ["É"]),
        ("(?i)[^a]", ["b"], ["a", "A"]),
        ("a(?i)b|c", ["ab", "aB", "C"], ["AB"]),
        ("(?i:a)b", ["Ab"], ["AB"]),
        (r"(a)(?i)\1", ["aa", "aA"], ["Aa"]),
        ("[a-d[m-p]]", ["a", "n"], ["e"]),
        ("[a-z&&[def]]", ["d"], ["a"]),
        ("[a-z&&[^bc]&&[^d]]", ["a"], ["b", "d"]),
        ("[]a]", ["]", "a"], ["[]"]),
        ("[^]a]", ["b"], ["]"]),
        (r"[\]\[]", ["]", "["], ["\\"]),
        ("[a&b]", ["&"], ["c"]),
        (r"[\w-]", ["-", "a"], ["."]),
        (r"\Qa.b\E+", ["a.b", "a.bb"], ["axb"]),
        (r"\Qa.b", ["a.b"], ["axb"]),
        (r"\x41\u0042\x{43}\0104\t", ["ABCD\t"], []),
        (r"(?<n>a)\k<n>", ["aa"], ["ab"]),
        (r"(a)\11", ["aa1"], ["aa"]),
        ("a{2}", ["aa"], ["a"]),
        ("a{2,}+", ["aaa"], ["a"]),
        ("(?>a|ab)c", ["ac"], ["abc"]),
        (r"\p{Lu}\p{Alpha}\P{L}", ["Éa5"], ["éa5"]),
        (r"\h\v", ["\u3000\u2028"], ["ab"]),
        ("}]", ["}]"], []),
        ("[a&&[b]]?", [""], ["a", "b"]),
    ],
)
def test_patterns_mean_what_they_mean_in_java(pattern: str, matching: list[str], others: list[str]) -> None:
    compiled = JavaPattern.of(pattern).compiled
    assert [text for text in matching if not compiled.fullmatch(text)] == []
    assert [text for text in others if compiled.fullmatch(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *["(", ")", "[", "[a", "*", "a**", "{", "a{,2}", "a{x}", "\\", r"\y", r"[\b]", "[b-a]", r"\p{Greek}", r"\2"],
        *["(?#x)", "(?P<n>a)", "(?<1>a)", "(?<n>a)(?<n>b)", r"\k<n>", "[a&&]", r"(?i)\p{Lu}", r"\ud800", r"\G"],
        # Java takes both characters of a line break at once if it is repeated, and else may take one.
        *["(?u)a", "(?m)a", "(?<=a*)b", r"\R"],
    ],
)
def test_what_python_cannot_do_is_refused(pattern: str) -> None:
    with pytest.raises(UntranslatablePattern):
        JavaPattern.of(pattern)


def test_after_an_empty_match_the_search_goes_one_character_on() -> None:
    """Python would look for a longer match at the same place first."""
    assert [found.span() for found in JavaPattern.of("|a").find_all("a")] == [(0, 0), (1, 1)]
    assert [found.span() for found in re.finditer("|a", "a")] == [(0, 0), (0, 1), (1, 1)]


@given(pattern=st.text("CNa=,(.*?)[]{}+\\$/|^-&1<: ", max_size=16), name=st.text("CNa=,", max_size=8))
def test_rules_are_used_or_refused(pattern: str, name: str) -> None:
    try:
        mapper = PrincipalMapper.of(f"RULE:{pattern}/$0/,DEFAULT")
    except InvalidMappingRules:
        return
    assert isinstance(mapper.name_of(name), str | None)


character_sets = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9))).map(
    lambda pairs: union(tuple((low, low + size) for low, size in pairs), ())
)


@given(first=character_sets, second=character_sets)
def test_sets_of_characters_are_sets(first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> None:
    def members(ranges: tuple[tuple[int, int], ...]) -> set[int]:
        return {code for low, high in ranges for code in range(low, min(high, 100) + 1)}

    assert members(union(first, second)) == members(first) | members(second)
    assert members(intersection(first, second)) == members(first) & members(second)
    assert members(complement(first)) == set(range(101)) - members(first)
    assert complement(complement(first)) == first
