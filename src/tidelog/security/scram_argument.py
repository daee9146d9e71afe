"""The text of `--add-scram`, as Apache Kafka's kafka-storage has it: a credential for the first user of a new cluster.

    SCRAM-SHA-256=[name=alice,password=...]
    SCRAM-SHA-512=[name=alice,salt="MTIz",saltedpassword="...",iterations=8192]

Salt and salted password are in base64. No complaint repeats what was given: it holds a password.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.security.scram import (
    MINIMUM_ITERATIONS,
    SCRAM_MECHANISMS,
    ScramMechanism,
    credential_of_salted_password,
    credential_record,
    derive_salted_password,
    iterations_problem,
)

_PARTS = ("name", "password", "saltedpassword", "salt", "iterations")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramArgument:
    """A password, or one that is salted already. A salted one needs its salt."""

    mechanism: ScramMechanism
    name: str
    password: str | None = field(default=None, repr=False)
    salted_password: bytes | None = field(default=None, repr=False)
    salt: bytes | None = field(default=None, repr=False)
    iterations: int = MINIMUM_ITERATIONS

    @classmethod
    def parse(cls, text: str) -> ScramArgument:
        """Raises ValueError, in words for whoever has typed it."""
        mechanism_name, equals, rest = text.strip().partition("=")
        mechanism = SCRAM_MECHANISMS.get(mechanism_name)
        if not equals or mechanism is None:
            raise ValueError(f"it must begin with one of {', '.join(f'{name}=[' for name in SCRAM_MECHANISMS)}")
        if not (rest.startswith("[") and rest.endswith("]")):
            raise ValueError(f"what follows {mechanism_name}= must be in brackets: [name=...,password=...]")
        parts = _parts(rest[1:-1])
        if "name" not in parts:
            raise ValueError("name= is missing")
        if "password" not in parts and "saltedpassword" not in parts:
            raise ValueError("password= or saltedpassword= is missing")
        if "password" not in parts and "salt" not in parts:
            raise ValueError("saltedpassword= needs the salt=, in base64, that it was made with")
        salted = None if "password" in parts else _decoded("saltedpassword", parts.get("saltedpassword"))
        return cls(
            mechanism=mechanism,
            name=parts["name"],
            password=parts.get("password"),
            salted_password=salted,
            salt=_decoded("salt", parts.get("salt")),
            iterations=_iterations(parts.get("iterations")),
        )

    def record(self, random_salt: bytes) -> UserScramCredentialRecord:
        """What the cluster keeps of it. Expensive on purpose: it derives the keys."""
        salt = random_salt if self.salt is None else self.salt
        salted = self.salted_password
        if salted is None:
            salted = derive_salted_password(self.mechanism, self.password or "", salt, self.iterations)
        credential = credential_of_salted_password(
            self.mechanism, salt=salt, salted_password=salted, iterations=self.iterations
        )
        return credential_record(self.name, self.mechanism, credential)


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for number, part in enumerate(text.split(","), start=1):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"part {number} has no equals sign; a password must not contain a comma")
        if name not in _PARTS:
            raise ValueError(f"part {number} must be one of {', '.join(f'{each}=' for each in _PARTS)}")
        quoted = len(value) >= 2 and value.startswith('"') and value.endswith('"')
        parts[name] = value[1:-1] if quoted else value
    return parts


def _decoded(name: str, text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        # Java does not insist on the padding.
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{name}= is not base64") from None


def _iterations(text: str | None) -> int:
    if text is None:
        return MINIMUM_ITERATIONS
    try:
        iterations = int(text)
    except ValueError:
        raise ValueError(f"iterations={text} is not a number") from None
    problem = iterations_problem(iterations)
    if problem is not None:
        raise ValueError(problem)
    return iterations
