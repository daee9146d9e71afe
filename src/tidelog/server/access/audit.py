"""The log of all decisions about access, in Apache Kafka's words and under its name.

Denied: INFO. Allowed: DEBUG. Decisions that only look: TRACE, if they deny, and whatever they say if they are about
what a client may do in general. On the standard error of a node `LogThrottle` counts what one client is denied beyond a
number in a minute; other handlers of this logger get every line.
"""

from __future__ import annotations

import logging
from typing import Protocol

from tidelog.model.principal import Principal
from tidelog.protocol.messages import APIS
from tidelog.security.acls import AclResourceType, Operation
from tidelog.security.authorizer import AccessDecision
from tidelog.server.observability.logs import AUTHORIZER_LOGGER

logger = logging.getLogger(AUTHORIZER_LOGGER)

# As Apache Kafka writes them.
_TYPES = {each: each.title.title().replace(" ", "") for each in AclResourceType}
# Clients choose the names of groups, and may send very long ones.
_SHOWN_CHARACTERS = 500


class Caller(Protocol):
    """Who asks for something, from where, and with which API."""

    @property
    def principal(self) -> Principal: ...

    @property
    def acl_host(self) -> str:
        """The address as ACLs name it."""
        ...

    @property
    def api_key(self) -> int: ...

    @property
    def client_id(self) -> str | None: ...


def is_audited(level: int) -> bool:
    """Whether anybody reads lines of this level. Nearly always the answer is no."""
    return logger.isEnabledFor(level)


def audit(
    level: int,
    caller: Caller,
    operation: Operation,
    resource_type: AclResourceType,
    name: str,
    decision: AccessDecision,
) -> None:
    if not is_audited(level):
        return
    who = _on_one_line(str(caller.principal))
    logger.log(
        level,
        "Principal = %s is %s operation = %s from host = %s on resource = %s:LITERAL:%s for request = %s "
        "based on rule %s",
        who,
        "Allowed" if decision.allowed else "Denied",
        operation.name,
        caller.acl_host,
        _TYPES[resource_type],
        _on_one_line(name),
        APIS.get(caller.api_key, str(caller.api_key)),
        _on_one_line(decision.rule),
        extra={"throttled_as": f"{who} {caller.acl_host}"},
    )


def _on_one_line(text: str) -> str:
    """Nobody can write a line of their own into the log by choosing a name."""
    shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    return shown if shown.isprintable() else repr(shown)
