"""The four messages of SCRAM, parsed and written with Kafka's grammar, which is narrower than that of RFC 5802.

Names are ASCII, there is no channel binding, and extensions are read but not needed. What the messages mean is in
`scram.py`. No error contains any part of a message.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_ERROR = r"[\x01-\x2b\x2d-\x3c\x3e-\x7f]+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_RESERVED = rf"(?:m={_VALUE},)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_VALUE})*"

_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,"
    rf"(?P<bare>{_RESERVED}n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_SERVER_FIRST = re.compile(
    rf"{_RESERVED}r=(?P<nonce>{_NONCE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]+){_EXTENSIONS}"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<without_proof>c=(?P<channel>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_SERVER_FINAL = re.compile(rf"e=(?P<error>{_ERROR})|v=(?P<signature>{_BASE64}){_EXTENSIONS}")

# Kafka counts iterations in an int.
_MOST_ITERATIONS = 2**31 - 1
_MOST_DIGITS = 10


class MalformedScramMessage(Exception):
    """Says which message, never what is in it."""


def sasl_name(user: str) -> str:
    """A user name as messages spell it."""
    return user.replace("=", "=3D").replace(",", "=2C")


def user_name(sasl_name: str) -> str:
    return sasl_name.replace("=2C", ",").replace("=3D", "=")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFirstMessage:
    # As it was written: an escaped character is still escaped. Empty if there is none.
    authorization_id: str = ""
    sasl_name: str
    nonce: str
    extensions: Mapping[str, str] = field(default_factory=dict)
    # The message without the gs2-header: the part that is signed.
    bare: str

    @classmethod
    def of(cls, *, sasl_name: str, nonce: str, extensions: Mapping[str, str]) -> ClientFirstMessage:
        written = "".join(f",{name}={value}" for name, value in extensions.items())
        return cls(sasl_name=sasl_name, nonce=nonce, extensions=extensions, bare=f"n={sasl_name},r={nonce}{written}")

    @classmethod
    def parse(cls, token: bytes) -> ClientFirstMessage:
        found = _match(_CLIENT_FIRST, token, "the client's first message")
        # Of an extension that is there twice, the last counts.
        pairs = (pair.partition("=") for pair in found["extensions"].split(",")[1:])
        return cls(
            authorization_id=found["authorization_id"] or "",
            sasl_name=found["name"],
            nonce=found["nonce"],
            extensions={name: value for name, _, value in pairs},
            bare=found["bare"],
        )

    @property
    def text(self) -> str:
        """As our client sends it, which never asks to act for somebody else."""
        return f"n,,{self.bare}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFirstMessage:
    nonce: str
    salt: bytes = field(repr=False)
    iterations: int
    text: str = field(repr=False)

    @classmethod
    def of(cls, *, nonce: str, salt: bytes, iterations: int) -> ServerFirstMessage:
        text = f"r={nonce},s={b64encode(salt).decode()},i={iterations}"
        return cls(nonce=nonce, salt=salt, iterations=iterations, text=text)

    @classmethod
    def parse(cls, token: bytes) -> ServerFirstMessage:
        found = _match(_SERVER_FIRST, token, "the server's first message")
        digits = found["iterations"].lstrip("0")
        if not digits or len(digits) > _MOST_DIGITS or int(digits) > _MOST_ITERATIONS:
            raise MalformedScramMessage("the server's first message has an invalid number of iterations")
        return cls(nonce=found["nonce"], salt=b64decode(found["salt"]), iterations=int(digits), text=found[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFinalMessage:
    channel_binding: bytes
    nonce: str
    proof: bytes = field(default=b"", repr=False)
    # The part that is signed.
    without_proof: str = field(repr=False)

    @classmethod
    def of(cls, *, channel_binding: bytes, nonce: str) -> ClientFinalMessage:
        written = f"c={b64encode(channel_binding).decode()},r={nonce}"
        return cls(channel_binding=channel_binding, nonce=nonce, without_proof=written)

    @classmethod
    def parse(cls, token: bytes) -> ClientFinalMessage:
        found = _match(_CLIENT_FINAL, token, "the client's final message")
        return cls(
            channel_binding=b64decode(found["channel"]),
            nonce=found["nonce"],
            proof=b64decode(found["proof"]),
            without_proof=found["without_proof"],
        )

    def proved(self, proof: bytes) -> ClientFinalMessage:
        return ClientFinalMessage(
            channel_binding=self.channel_binding, nonce=self.nonce, proof=proof, without_proof=self.without_proof
        )

    @property
    def text(self) -> str:
        return f"{self.without_proof},p={b64encode(self.proof).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFinalMessage:
    """Either an error or the server's signature."""

    error: str | None = None
    signature: bytes = field(default=b"", repr=False)

    @classmethod
    def parse(cls, token: bytes) -> ServerFinalMessage:
        found = _match(_SERVER_FINAL, token, "the server's final message")
        if found["error"] is not None:
            return cls(error=found["error"])
        return cls(signature=b64decode(found["signature"]))

    @property
    def text(self) -> str:
        return f"v={b64encode(self.signature).decode()}" if self.error is None else f"e={self.error}"


def _match(pattern: re.Pattern[str], token: bytes, subject: str) -> re.Match[str]:
    """`from None`: the cause would carry the message itself."""
    try:
        found = pattern.fullmatch(token.decode("ascii"))
    except UnicodeDecodeError:
        raise MalformedScramMessage(f"{subject} is malformed: it has bytes that are not ASCII") from None
    if found is None:
        raise MalformedScramMessage(f"{subject} is malformed")
    return found
