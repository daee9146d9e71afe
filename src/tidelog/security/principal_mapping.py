"""`ssl.principal.mapping.rules` (KIP-371): the name of a principal, from the distinguished name of its certificate.

    RULE:^CN=([^,]+),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),.*$/$1@org/L,DEFAULT

The first rule whose pattern matches the whole name counts. Patterns are Java's regular expressions, which
`java_patterns.py` translates.

Rules are written for the text that Java's X500Principal.getName() returns, and that is what has to be passed: the
subject as RFC 2253 spells it. The most specific part is first (the reverse of the order in the certificate), parts are
separated by `,` and the values of one part by `+`, both without spaces. The attributes CN, C, L, ST, O, OU, STREET, DC
and UID have these names; any other one, such as an e-mail address, is its object identifier with `=#` and the value's
DER encoding in lowercase hexadecimal digits: `1.2.840.113549.1.9.1=#160d612e62406578616d706c652e...`. In values, a
backslash stands before `,` `+` `"` `\\` `<` `>` `;`, before `#` at the start, and before spaces at the start and at the
end.
"""

from __future__ import annotations

import re
from functools import cache

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.principal import Principal
from tidelog.security.java_characters import UntranslatablePattern
from tidelog.security.java_patterns import JavaPattern, JavaReplacement

DEFAULT_RULES = "DEFAULT"

_RULE = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
# As Kafka cuts the list: commas within a rule are not separators.
_LIST = rf"\s*({_RULE})\s*(,\s*|$)"
# What Java's String.trim() removes.
_BLANKS = "".join(map(chr, range(0x21)))
_REFERENCE = re.compile(r"\$([0-9]+)")
_LARGEST_INT = 2**31 - 1


class InvalidMappingRules(Exception):
    """A list of rules that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    pattern: JavaPattern
    replacement: JavaReplacement
    to_lower: bool
    to_upper: bool

    def apply(self, name: str) -> str | None:
        if not self.pattern.compiled.fullmatch(name):
            return None
        # The match above is of the whole name, but Kafka replaces every match that it finds in it, which may be shorter
        # ones, and an empty one at the end.
        found = self.replacement.replace_all(self.pattern, name)
        return found.lower() if self.to_lower else found.upper() if self.to_upper else found


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalMapper:
    # None is DEFAULT: the distinguished name itself.
    rules: tuple[_Rule | None, ...]

    @classmethod
    def of(cls, rules: str) -> PrincipalMapper:
        """Raises InvalidMappingRules. Kafka finds a wrong replacement with the first name that its rule matches."""
        text = rules.strip(_BLANKS)
        if text == DEFAULT_RULES:
            # As almost every listener has it, without TLS as well: there is nothing to parse.
            return cls(rules=(None,))
        written = (found[1] for found in _pattern(_LIST).find_all(text))
        return cls(rules=tuple(rule for text in written for rule in _parsed(text)))

    def name_of(self, distinguished_name: str) -> str | None:
        """None if no rule applies: such a client cannot be authenticated."""
        for rule in self.rules:
            name = distinguished_name if rule is None else rule.apply(distinguished_name)
            if name is not None:
                return name
        return None

    def principal_of(self, distinguished_name: str) -> Principal | None:
        name = self.name_of(distinguished_name)
        return None if name is None else Principal(type="User", name=name)


@cache
def _pattern(text: str) -> JavaPattern:
    return JavaPattern.of(text)


def _parsed(text: str) -> tuple[_Rule | None, ...]:
    """One rule, or none at all for an empty text."""
    found = _pattern(_RULE).compiled.match(text)
    if found is None or found.end() != len(text):
        raise InvalidMappingRules(
            f"ssl.principal.mapping.rules: {text!r} is not a rule: use DEFAULT, or RULE:pattern/replacement/ with "
            "L or U at the end for lowercase or uppercase"
        )
    if found[1]:
        return (None,)
    if found[2] is None:
        return ()
    try:
        pattern = JavaPattern.of(found[2])
        template = _literal_references(found[4], pattern.compiled.groups)
        replacement = JavaReplacement.of(template, pattern)
    except UntranslatablePattern as error:
        raise InvalidMappingRules(f"ssl.principal.mapping.rules: {text!r} cannot be used: {error}") from error
    return (_Rule(pattern=pattern, replacement=replacement, to_lower=found[6] == "L", to_upper=found[6] == "U"),)


def _literal_references(replacement: str, groups: int) -> str:
    """A reference to a group that does not exist is meant literally: `$4` with three groups is the text `$4`.

    Kafka escapes the first of those correctly. It inserts the backslash of each further one at the position that was
    right before the insertions, so that reference stays one, and the rule cannot be used. It is the same here, except
    that the mistake is found when the rules are read.
    """
    written = replacement
    if groups == 0:
        return written
    for found in _REFERENCE.finditer(replacement):
        number = int(found[1]) if len(found[1]) <= len(str(_LARGEST_INT)) else _LARGEST_INT + 1
        if found[1].startswith("0"):
            continue
        if number > _LARGEST_INT:
            raise UntranslatablePattern("the replacement has a number of a group that is too large")
        while number > groups and number >= 10:
            number //= 10
        if number > groups:
            written = written[: found.start()] + "\\" + written[found.start() :]
    return written
