"""What the modules of pages have in common: the parts that they work with, and how a request finds them."""

from __future__ import annotations

from typing import Annotated, TypeAlias, cast

from fastapi import Depends
from starlette.requests import Request

from tidelog.console.connection import ClusterConnection
from tidelog.console.feeds import Feeds
from tidelog.console.settings import ConsoleSettings
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleParts:
    settings: ConsoleSettings
    cluster: ClusterConnection
    feeds: Feeds


def _parts_of(request: Request) -> ConsoleParts:
    return cast(ConsoleParts, request.app.state.parts)


# `async def overview(parts: Parts) -> Response: ...`
Parts: TypeAlias = Annotated[ConsoleParts, Depends(_parts_of)]
