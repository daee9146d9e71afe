"""The APIs of the protocol: their message classes and the versions of their headers.

Which of them a broker serves, and in which versions, is decided by the handlers that exist: see
`tidelog.server.api`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from re import sub

from tidelog.protocol.messages import APIS, ApiKey
from tidelog.protocol.schema import Message, Versions, covers


def message_class(name: str) -> type[Message]:
    """The generated class of that name, from the module named after it."""
    module = sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)).lower()
    found: type[Message] = getattr(import_module(f"tidelog.protocol.messages.{module}"), name)
    return found


@cache
def request_class(api_key: int) -> type[Message]:
    """Imported on first use: a broker that starts does not pay for APIs that nobody calls."""
    return message_class(f"{APIS[api_key]}Request")


@cache
def response_class(api_key: int) -> type[Message]:
    return message_class(f"{APIS[api_key]}Response")


def schema_versions(api_key: int) -> Versions:
    """All versions that the schemas describe."""
    return request_class(api_key).SCHEMA.valid


@cache
def request_header_version(api_key: int, version: int) -> int:
    return 2 if covers(request_class(api_key).SCHEMA.flexible, version) else 1


@cache
def response_header_version(api_key: int, version: int) -> int:
    # A client that asks for the versions does not know yet what the broker understands (KIP-511).
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if covers(request_class(api_key).SCHEMA.flexible, version) else 0
