"""Members of a classic group on raw connections, each joining and syncing when it is asked to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.network.client_connection import ClientConnection, ConnectionSettings, open_connection
from tidelog.network.port import AsyncioNetwork
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse

SESSION_TIMEOUT_MS = 300_000


@contextlib.asynccontextmanager
async def connections(address: str, count: int) -> AsyncIterator[list[ClientConnection]]:
    network = AsyncioNetwork()
    settings = ConnectionSettings(client_id="benchmark", connect_timeout_ms=10_000, request_timeout_ms=60_000)
    host, _, port = address.partition(":")
    opened = [await open_connection(network, host, int(port), settings) for _ in range(count)]
    try:
        yield opened
    finally:
        for connection in opened:
            connection.close()


async def find_coordinator(address: str, group_id: str) -> None:
    """Ask until there is one: the first question creates the coordinator's topic."""
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group_id])
    async with connections(address, 1) as (connection,):
        while True:
            response = await connection.request(request, FindCoordinatorResponse)
            if response.coordinators[0].error_code == ErrorCode.NONE:
                return
            await asyncio.sleep(0.1)


class Formed(NamedTuple):
    members: list[str]
    generation: int


async def form_group(
    opened: list[ClientConnection],
    group_id: str,
    *,
    members: list[str] | None = None,
    subscription: bytes = b"first",
) -> Formed:
    """One member after the other gets its id; then all join at once, until they are in one generation."""
    if members is None:
        members = [(await _join(connection, group_id, "")).member_id for connection in opened]
    connection_of = dict(zip(members, opened, strict=True))
    generation, joined = await _join_together(connection_of, group_id, subscription)
    await asyncio.gather(
        *(_sync(connection_of[each.member_id], group_id, each, generation, members) for each in joined)
    )
    return Formed(members=members, generation=generation)


async def _join_together(
    connection_of: Mapping[str, ClientConnection], group_id: str, subscription: bytes
) -> tuple[int, list[JoinGroupResponse]]:
    """The first members may get a generation of their own, before the others have come: they join again."""

    def join(member: str) -> asyncio.Task[JoinGroupResponse]:
        return asyncio.create_task(_join(connection_of[member], group_id, member, subscription))

    under_way = {join(member) for member in connection_of}
    generations: dict[int, list[JoinGroupResponse]] = {}
    too_small: set[int] = set()
    while True:
        done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        for joined in (task.result() for task in done):
            generations.setdefault(joined.generation_id, []).append(joined)
            if joined.leader == joined.member_id and len(joined.members) < len(connection_of):
                too_small.add(joined.generation_id)
        for generation in too_small & generations.keys():
            under_way |= {join(each.member_id) for each in generations.pop(generation)}
        for generation, together in generations.items():
            if len(together) == len(connection_of):
                return generation, together


async def _join(
    connection: ClientConnection, group_id: str, member_id: str, subscription: bytes = b"first"
) -> JoinGroupResponse:
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=SESSION_TIMEOUT_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    response = await connection.request(request, JoinGroupResponse)
    if response.error_code not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
        raise RuntimeError(f"JoinGroup: {ErrorCode(response.error_code).name}")
    return response


async def _sync(
    connection: ClientConnection, group_id: str, joined: JoinGroupResponse, generation: int, members: list[str]
) -> None:
    leads = joined.leader == joined.member_id
    request = SyncGroupRequest(
        group_id=group_id,
        generation_id=generation,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=each, assignment=b"y" * 32) for each in members]
        if leads
        else [],
    )
    response = await connection.request(request, SyncGroupResponse)
    if response.error_code:
        raise RuntimeError(f"SyncGroup: {ErrorCode(response.error_code).name}")
