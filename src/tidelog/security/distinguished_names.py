"""The subject of a certificate as text, as Java's X500Principal.getName() writes it: RFC 2253.

`ssl.principal.mapping.rules` and ACLs are written for that text. It is read from the certificate's own bytes (DER),
because libraries write names in another way: which attributes have a name, and which characters have a backslash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_SEQUENCE = 0x30
_VERSION = 0xA0
_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# UTF8String, PrintableString, TeletexString, IA5String, GeneralString and BMPString. Java takes all for UTF-8.
_TEXTS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
_ESCAPED = frozenset(',=+<>#;"\\')
_BLANKS = " \r"


class MalformedCertificate(Exception):
    """Bytes that are not a certificate."""


class _Element(NamedTuple):
    tag: int
    content: bytes
    # With tag and length.
    whole: bytes


def subject_name(certificate: bytes) -> str:
    """The most specific part first. Raises MalformedCertificate."""
    try:
        (signed,) = _elements(certificate)
        to_be_signed = next(_elements(signed.content))
        fields = [each for each in _elements(to_be_signed.content) if each.tag != _VERSION]
        # Serial number, algorithm, issuer, validity, subject.
        subject = fields[4]
        if signed.tag != _SEQUENCE or subject.tag != _SEQUENCE:
            raise MalformedCertificate("the certificate has no subject")
        parts = [_part(part.content) for part in _elements(subject.content)]
    except (IndexError, ValueError, StopIteration):
        raise MalformedCertificate("the certificate cannot be read") from None
    return ",".join(reversed(parts))


def _part(content: bytes) -> str:
    return "+".join(_attribute(each.content) for each in _elements(content))


def _attribute(content: bytes) -> str:
    kind, value = _elements(content)
    identifier = _identifier(kind.content)
    keyword = _KEYWORDS.get(identifier)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or identifier}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(errors='replace'))}"


def _escaped(text: str) -> str:
    written = "".join(f"\\{each}" if each in _ESCAPED else "\\00" if each == "\0" else each for each in text)
    inner = written.lstrip(_BLANKS)
    if not inner:
        return "".join(f"\\{each}" for each in written)
    leading = written[: len(written) - len(inner)]
    middle = inner.rstrip(_BLANKS)
    return "".join(f"\\{each}" for each in leading) + middle + "".join(f"\\{each}" for each in inner[len(middle) :])


def _elements(content: bytes) -> Iterator[_Element]:
    """The elements that follow one another. Raises IndexError or ValueError."""
    position = 0
    while position < len(content):
        tag, length, start = content[position], content[position + 1], position + 2
        if length >= 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4:
                raise ValueError("a length in another form than DER")
            length = int.from_bytes(content[start : start + count], "big")
            start += count
        end = start + length
        if end > len(content):
            raise ValueError("an element is cut off")
        yield _Element(tag, content[start:end], content[position:end])
        position = end


def _identifier(content: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
