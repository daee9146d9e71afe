"""Requests of clients that only the controller can answer: every broker takes them and passes them on (KIP-590)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from tidelog.model.errors import ApiError
from tidelog.protocol.schema import Message
from tidelog.server.refusals import refuse

if TYPE_CHECKING:
    from tidelog.server.node import Node

R = TypeVar("R", bound=Message)

MINIMUM_TIMEOUT_SECONDS = 5.0


async def ask_controller(node: Node, request: Message, expected: type[R], timeout_ms: int = 30_000) -> R:
    """The controller's reply, or one that says why there is none."""
    try:
        return await node.controller.ask(request, expected, max(MINIMUM_TIMEOUT_SECONDS, timeout_ms / 1000))
    except ApiError as error:
        return cast(R, refuse(request, error))
