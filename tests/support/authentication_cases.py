"""Random inputs of authentication, most of them almost right: for `tests/security/test_same_authentication.py`."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from random import Random
from typing import Any

NOW_MS = 1_700_000_000_000
SCRAM_ALPHABET = b",=nraspimve2C3D+/AzQ\x00\x7f\xc3 "


def jaas_value(random: Random) -> str:
    quote = random.choice('"""\'')
    pieces = ["a", "B7", ";", "=", " ", "//", "/*", "é", "\x85", "😀", "'", '\\"', "\\'", "\\n", "\\\\", "\\q", "\\101"]
    pieces += ["\\7", "\\477", "\\08", "\t", "#", "x" * 9, "\n"]
    return quote + "".join(random.choice(pieces) for _ in range(random.randint(0, 6))) + quote


def jaas_text(random: Random) -> str:
    def some(usual: list[str], odd: list[str]) -> str:
        return random.choice(odd if random.random() < 0.04 else usual)

    blanks = [" "] * 12 + ["  ", "\t", "\n", "\r\n", " /* c * / d */ ", " // e\n", " / f\n"]
    written = []
    for _ in range(random.choice([1, 1, 1, 1, 2, 3])):
        module = some(["a.b.Module", "Module", '"M N"', "'m'", "a$b"], ['""', "5", ";"])
        flag = some(
            ["required"] * 6 + ["Requisite", "SUFFICIENT", "optional", "requıred", '"required"'], ["needed", "5"]
        )
        written += [module, random.choice(blanks), flag]
        for _ in range(random.randint(0, 3)):
            name = some(
                ["username", "password", "user_a", "user_b-c", "a.b", "$x", "_y", "é", '"z z"', "a5"], ["5", "-b"]
            )
            value = some(["true", "abc", "a-b.c", "é", "x5"], ["-1", "5", "=", "x/y", ";"])
            if random.random() < 0.7:
                value = jaas_value(random)
            written += [random.choice(blanks), name, random.choice(["=", "=", "=", " = "]), value]
        written += [some([";", " ;", ";\n"], [""])]
    return "".join(written)


_ATOMS = [
    *["CN", "OU", "=", ",", "a", "B", "[a-z]", "[^,]", "[^,=]", ".", r"\w", r"\d", r"\s", r"\.", r"\,", "[A-Z&&[^C]]"],
    *["[a-c[x-z]]", "[^a[b]]", r"\p{Alpha}", r"\P{Upper}", r"\p{Lu}", r"[\w&&[^\d]]", "é", r"\x41", r"\u0042"],
    *[r"\Q.+\E", "^", "$", r"\b", r"\A", r"\z", r"\Z", r"\1", r"\h", r"[\]a]", "[]a]", "[a-]", "[&]", "[a&b]"],
    *[r"\/", r"\v"],
]
_GROUPS = ["(", "(", "(", "(?:", "(?i:", "(?<n>", "(?=", "(?!", "(?>", "(?<=a", "(?s:", "(?i)(", "(?-i:"]
_QUANTIFIERS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "{2}", "{1,}", "{0,2}", "{1,2}?"]


def java_pattern(random: Random, depth: int = 0) -> str:
    """What is repeated has no repetitions in it, so that no matcher has to try for ever."""
    pieces = []
    for _ in range(random.randint(1, 4)):
        if depth < 2 and random.random() < 0.3:
            pieces.append(random.choice(_GROUPS) + java_pattern(random, depth + 1) + ")")
            pieces.append(random.choice(["", "", "?", "??"]))
        else:
            pieces.append(random.choice(_ATOMS))
            pieces.append(random.choice(_QUANTIFIERS))
    if random.random() < 0.15:
        pieces.append("|" + java_pattern(random, depth + 1))
    return "".join(pieces)


_USUAL_PATTERNS = [
    *["^CN=(.*?),OU=(.*?)$", "CN=([^,]+),.*", ".*", "^(?i)cn=(.*?)(?:,.*)?$", ".*?", "^(.*)$", "(CN|OU)=(.+)"],
    r"^CN=(\w+),OU=([A-Za-z.]+),?(.*)$",
]
_REPLACEMENTS = ["$0", "x", "", r"\$1", r"a\\", "<$0>", r"é\/b"]
_WITH_GROUPS = ["$1", "$1@$2", "$2$1", "$11", "$4@x", "$1$4$5", r"$1\/b", "é$1", "$1$0", "$01", "$3"]
_HARDLY_EVER_RIGHT = ["${n}", "$", "$x", "$99999999999", "$1", "a\\"]


def mapping_rule(random: Random) -> str:
    pattern = random.choice(_USUAL_PATTERNS)
    if random.random() < 0.6:
        pattern = java_pattern(random)
        if random.random() < 0.5:
            pattern = f"(?:CN|OU|a)?=?({pattern}).*"
    replacement = random.choice([*_REPLACEMENTS, *(_WITH_GROUPS * 2 if "(" in pattern.replace("(?", "") else [])])
    if "(?<n>" in pattern and random.random() < 0.3:
        replacement = "${n}"
    if random.random() < 0.06:
        replacement = random.choice(_HARDLY_EVER_RIGHT)
    return f"RULE:{pattern}/{replacement}/{random.choice(['', '', 'L', 'U'])}"


def mapping_rules(random: Random) -> str:
    rules = ["DEFAULT" if random.random() < 0.15 else mapping_rule(random) for _ in range(random.randint(1, 3))]
    return random.choice(["", " "]) + random.choice([",", ", ", " ,"]).join(rules) + random.choice(["", " ", ","])


def distinguished_name(random: Random, *, ascii_only: bool) -> str:
    values = ["alice", "Bob", "a", "C", "x.y", "CN", r"a\,b", "ab12", "", "aa", "Straße"]
    values = [value for value in values if not ascii_only or value.isascii()]
    names = [f"{random.choice(['CN', 'OU', 'O', 'cn'])}={random.choice(values)}" for _ in range(random.randint(0, 3))]
    return ",".join(names) or random.choice(["", "a", "aa", "aB", "C", "B.", "a\n", "\r\n"])


def scram_message(random: Random, kind: str) -> bytes:
    def value(alphabet: str, most: int = 9) -> str:
        return "".join(random.choice(alphabet) for _ in range(random.randint(1, most)))

    def base64() -> str:
        return value("aZ09+/")[: random.randint(0, 3) * 4] or random.choice(
            ["", "YQ==", "YWI=", "YWJj", "YR==", "biws"]
        )

    name = (
        random.choice(["user", "a=2Cb", "=3D", "a b", "=2c", "é", "u\x7f"])
        if random.random() < 0.7
        else value("ab=2C3D.")
    )
    nonce = value("abc+~!=")
    extensions = "".join(
        random.choice([",tokenauth=true", ",a=b=c", ",x=1", ",tokenauth=TRUE"]) for _ in range(random.randrange(3))
    )
    reserved = random.choice(["", "", "", "m=x,"])
    match kind:
        case "client-first":
            asked = random.choice(["", "", "a=user", "a=a=2Cb"])
            text = f"{random.choice('nnnnyp')},{asked},{reserved}n={name},r={nonce}{extensions}"
        case "server-first":
            iterations = random.choice(
                ["4096", "0", "04096", "2147483647", "2147483648", "16384", "99999999999999999999"]
            )
            text = f"{reserved}r={nonce},s={base64()},i={iterations}{extensions}"
        case "client-final":
            text = f"c={base64()},r={nonce}{extensions},p={base64()}"
        case _:
            text = random.choice([f"e={value('abc-')}", f"v={base64()}{extensions}", f"e=a{extensions}"])
    return text.encode()


def unsecured_token(random: Random) -> str:
    def some(usual: Any, *others: Any) -> Any:
        return random.choice(others) if random.random() < 0.2 else usual

    header = {"alg": some("none", "RS256", None, ["none"], 1)}
    seconds = NOW_MS / 1000
    claims = {
        "sub": some("alice", "", " ", None, True, 5, ["a"], {"a": "b"}, " padded "),
        "exp": some(seconds + random.choice([60, 0.5, 1]), seconds, seconds - 1, "5", None, 1e300, int(seconds) + 9),
        "iat": some(seconds - random.choice([60, 0.25]), seconds + 1, seconds + 61, "5", True, -5, int(seconds)),
        "scope": some(
            random.choice(["a", "a b", ["a", "b"]]), [], [" a ", ""], 5, None, {"a": 1}, [None, True, ["x"]], [7]
        ),
        "name": "bob",
    }
    for name in list(claims):
        if random.random() < 0.08:
            del claims[name]

    def section(value: Any) -> str:
        text = json.dumps(value) + random.choice(["", "", "", " ", "x", "}"])
        padding = random.choice(["", "", "="]) if random.random() < 0.2 else "="
        return urlsafe_b64encode(random.choice(["", "", " "]).encode() + text.encode()).decode().rstrip(padding)

    return f"{section(header)}.{section(claims)}." + random.choice(["", "", "", "", "c2ln", "."])
