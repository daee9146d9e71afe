"""Members of a classic group on raw connections, each joining and syncing when it is asked to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
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
    while True:
        joined = await asyncio.gather(
            *(
                _join(connection, group_id, member, subscription)
                for connection, member in zip(opened, members, strict=True)
            )
        )
        leaders = [each for each in joined if each.leader == each.member_id]
        generations = {each.generation_id for each in joined}
        if len(generations) == 1 and len(leaders) == 1 and len(leaders[0].members) == len(members):
            break
    generation = generations.pop()
    await asyncio.gather(
        *(
            _sync(connection, group_id, each, generation, members)
            for connection, each in zip(opened, joined, strict=True)
        )
    )
    return Formed(members=members, generation=generation)


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
