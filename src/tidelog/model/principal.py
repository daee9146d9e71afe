"""Who sends a request, as Kafka names it: a type and a name, such as `User:ANONYMOUS`."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


# Everybody, on listeners that ask nobody for credentials.
ANONYMOUS = Principal(type="User", name="ANONYMOUS")
