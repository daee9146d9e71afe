"""Subjects of certificates as text: with names from real certificates, and compared with Java's own text."""

from __future__ import annotations

from random import Random

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from support.authentication_verdicts import AuthenticationVerdicts

from tidelog.security.certificates import DevelopmentAuthority
from tidelog.security.distinguished_names import MalformedCertificate, subject_name

TEXTS = (0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E)
NUMBERS = ((2, 5, 4, 3), (2, 5, 4, 6), (2, 5, 4, 9), (2, 5, 4, 12), (1, 2, 840, 113549, 1, 9, 1), (2, 999, 3))
USER_ID = (0, 9, 2342, 19200300, 100, 1, 1)


def element(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def identifier(numbers: tuple[int, ...]) -> bytes:
    encoded = b""
    for number in (40 * numbers[0] + numbers[1], *numbers[2:]):
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.insert(0, number & 0x7F | 0x80)
        encoded += bytes(groups)
    return element(6, encoded)


def attribute(numbers: tuple[int, ...], tag: int, value: bytes) -> bytes:
    return element(0x30, identifier(numbers), element(tag, value))


def certificate_of(name: bytes) -> bytes:
    nothing = element(0x30)
    signed = element(0x30, element(0xA0, element(2, b"\2")), element(2, b"\1"), nothing, nothing, nothing, name)
    return element(0x30, signed, nothing, element(3, b"\0"))


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("CN=orders,OU=Payments,O=Example,C=DE", "CN=orders,OU=Payments,O=Example,C=DE"),
        ("UID=7+CN=a,DC=example,DC=org", "CN=a+UID=7,DC=example,DC=org"),
        (r"CN=a\,b\+c\"d\\e", r"CN=a\,b\+c\"d\\e"),
        ("CN=Grüße,L=Köln", "CN=Grüße,L=Köln"),
        ("2.5.4.12=Dr,CN=x", "2.5.4.12=#0c024472,CN=x"),
    ],
)
def test_real_certificates(subject: str, expected: str) -> None:
    issued = DevelopmentAuthority.new().issue(subject)
    der = x509.load_pem_x509_certificate(issued.certificate).public_bytes(Encoding.DER)
    assert subject_name(der) == expected


def test_what_is_not_a_certificate_is_refused() -> None:
    whole = certificate_of(element(0x30, element(0x31, attribute((2, 5, 4, 3), 0x0C, b"x"))))
    assert subject_name(whole) == "CN=x"
    for broken in (b"", b"\x30", whole[:-1], whole + b"\0", element(0x30, element(0x30)), whole[:30] + b"\x30\x80"):
        with pytest.raises(MalformedCertificate):
            subject_name(broken)


@pytest.mark.slow
@pytest.mark.maven
def test_subjects_are_written_as_java_writes_them(kafka: AuthenticationVerdicts) -> None:
    random = Random(7)
    alphabet = list(' \r\n,=+<>#;"\\/aZ09.üß\x00\t')
    refused = 0
    for _ in range(2000):
        parts = []
        for _ in range(random.randint(0, 3)):
            values = []
            for _ in range(random.choice((1, 1, 1, 2))):
                tag = random.choice(TEXTS)
                text = "".join(random.choices(alphabet, k=random.randint(0, 6)))
                encoding = {0x1E: "utf-16-be", 0x1C: "utf-32-be", 0x14: "latin-1"}.get(tag, "utf-8")
                values.append(attribute(random.choice((*NUMBERS, USER_ID)), tag, text.encode(encoding)))
            parts.append(element(0x31, *sorted(values)))
        name = element(0x30, *parts)
        theirs = kafka.ask("subject", name.hex())
        if theirs[0] == "no":
            refused += 1
            continue
        assert subject_name(certificate_of(name)) == theirs[1], name.hex()
    assert refused < 200
