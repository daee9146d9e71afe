"""The client's end of a connection, against peers on real sockets that answer by a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from struct import pack, unpack_from
from typing import Any, cast

import pytest
from support.processes import free_port

from tidelog.network.client_connection import (
    CannotConnect,
    ConnectionLost,
    ConnectionSettings,
    RequestTimedOut,
    UnsupportedByBroker,
    open_connection,
)
from tidelog.network.port import AsyncioNetwork
from tidelog.protocol.frames import response_frame
from tidelog.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tidelog.protocol.schema import Message

API_VERSIONS = 18
LIST_GROUPS = 16
# A client that is answered with nothing, and does not wait for it.
GIVES_UP_AFTER_SECONDS = 0.05


class Peer:
    """The other end: reads requests and writes what the script says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.seen: list[tuple[int, int]] = []

    async def request(self) -> tuple[int, int, int]:
        """(api key, version, correlation id) of the next request."""
        (size,) = unpack_from(">i", await self._reader.readexactly(4))
        api_key, version, correlation_id = unpack_from(">hhi", await self._reader.readexactly(size))
        self.seen.append((api_key, version))
        return api_key, version, correlation_id

    def reply(self, api_key: int, version: int, correlation_id: int, response: Message) -> None:
        self.writer.writelines(cast(list[bytes], response_frame(api_key, version, correlation_id, response)))

    async def negotiate(self, *apis: ApiVersion) -> None:
        api_key, version, correlation_id = await self.request()
        assert api_key == API_VERSIONS
        served = (ApiVersion(api_key=API_VERSIONS, max_version=4), *apis)
        self.reply(API_VERSIONS, version, correlation_id, ApiVersionsResponse(api_keys=served))


Script = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def peer(script: Script) -> AsyncIterator[tuple[int, list[Peer]]]:
    peers: list[Peer] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(Peer(reader, writer))
        try:
            await script(peers[-1])
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], peers
    finally:
        server.close()


def settings(**changes: Any) -> ConnectionSettings:
    return replace(
        ConnectionSettings(client_id="test", connect_timeout_ms=10_000, request_timeout_ms=30_000), **changes
    )


async def forever(a_peer: Peer) -> None:
    """Read on, so that the connection stays open until the client ends it."""
    while True:
        await a_peer.request()


def groups(name: str) -> ListGroupsResponse:
    return ListGroupsResponse(groups=[ListedGroup(group_id=name)])


SERVES_GROUPS = ApiVersion(api_key=LIST_GROUPS, max_version=5)


async def test_versions_are_known_once_the_connection_is_open() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
        assert connection.version_for(ListGroupsRequest) == 5
        assert connection.version_for(ListGroupsRequest, at_most=2) == 2
        connection.close()


async def test_a_missing_api_is_named() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS, ApiVersion(api_key=1, min_version=90, max_version=91))
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
        with pytest.raises(UnsupportedByBroker, match="serves versions 90 to 91, but this client needs one of 4 to"):
            connection.version_for(FetchRequest)
        connection.versions = {}
        with pytest.raises(UnsupportedByBroker, match="does not serve Fetch"):
            connection.version_for(FetchRequest)
        connection.close()


@pytest.mark.parametrize(("listed", "expected_versions"), [((1,), [4, 1]), ((), [4, 0])])
async def test_an_older_broker_is_asked_again_in_a_version_it_knows(
    listed: tuple[int, ...], expected_versions: list[int]
) -> None:
    async def script(a_peer: Peer) -> None:
        api_key, _, correlation_id = await a_peer.request()
        offered = [ApiVersion(api_key=API_VERSIONS, max_version=newest) for newest in listed]
        # What a broker that does not know the version answers, whatever was asked: version 0 (KIP-511).
        a_peer.reply(api_key, 0, correlation_id, ApiVersionsResponse(error_code=35, api_keys=offered))
        await a_peer.negotiate(SERVES_GROUPS)
        await forever(a_peer)

    async with peer(script) as (port, peers):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
        assert [version for _, version in peers[0].seen] == expected_versions
        assert connection.version_for(ListGroupsRequest) == 5
        connection.close()


async def test_replies_find_their_requests_in_any_order() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        waiting = [await a_peer.request() for _ in range(5)]
        for number, (api_key, version, correlation_id) in reversed(list(enumerate(waiting))):
            a_peer.reply(api_key, version, correlation_id, groups(f"group-{number}"))
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
        replies = await asyncio.gather(*(connection.request(ListGroupsRequest(), ListGroupsResponse) for _ in range(5)))
        assert [reply.groups[0].group_id for reply in replies] == [f"group-{number}" for number in range(5)]
        connection.close()


async def test_no_more_requests_than_allowed_are_in_flight() -> None:
    two_arrived = asyncio.Event()
    release = asyncio.Event()

    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        waiting = [await a_peer.request() for _ in range(2)]
        two_arrived.set()
        await release.wait()
        for api_key, version, correlation_id in waiting:
            a_peer.reply(api_key, version, correlation_id, groups("x"))
        for _ in range(2):
            api_key, version, correlation_id = await a_peer.request()
            a_peer.reply(api_key, version, correlation_id, groups("x"))
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings(max_in_flight=2))
        asked = [asyncio.create_task(connection.request(ListGroupsRequest(), ListGroupsResponse)) for _ in range(4)]
        await two_arrived.wait()
        # Replies to the first two are held back, and nothing of the others can have been written.
        assert len(connection._pending) == 2
        release.set()
        assert len(await asyncio.gather(*asked)) == 4
        connection.close()


async def test_nothing_is_sent_to_a_broker_that_throttles_until_the_time_is_over() -> None:
    at: list[float] = []

    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        api_key, version, correlation_id = await a_peer.request()
        throttled = ListGroupsResponse(throttle_time_ms=200)
        a_peer.reply(api_key, version, correlation_id, throttled)
        at.append(asyncio.get_running_loop().time())
        api_key, version, correlation_id = await a_peer.request()
        at.append(asyncio.get_running_loop().time())
        a_peer.reply(api_key, version, correlation_id, groups("x"))
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
        reply = await connection.request(ListGroupsRequest(), ListGroupsResponse)
        assert reply.throttle_time_ms == 200
        assert connection.congested
        assert (await connection.request(ListGroupsRequest(), ListGroupsResponse)).groups
        assert not connection.congested
        # The broker may look late, but never early.
        assert at[1] - at[0] >= 0.199
        connection.close()


async def test_of_several_throttle_times_the_last_to_end_counts() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        for throttle_ms in (3_600_000, 1):
            api_key, version, correlation_id = await a_peer.request()
            a_peer.reply(api_key, version, correlation_id, ListGroupsResponse(throttle_time_ms=throttle_ms))
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
        asked = [connection.submit(ListGroupsRequest(), ListGroupsResponse) for _ in range(2)]
        await asyncio.gather(*asked)
        await asyncio.sleep(0.05)
        assert connection.congested
        waiting = asyncio.create_task(connection.request(ListGroupsRequest(), ListGroupsResponse))
        await asyncio.sleep(0)
        connection.close()
        with pytest.raises(ConnectionLost):
            await waiting


async def test_a_cancelled_request_does_not_confuse_the_next_one() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        first = await a_peer.request()
        second = await a_peer.request()
        a_peer.reply(*first, groups("first"))
        a_peer.reply(*second, groups("second"))
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings(max_in_flight=2))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(GIVES_UP_AFTER_SECONDS):
                await connection.request(ListGroupsRequest(), ListGroupsResponse)
        reply = await connection.request(ListGroupsRequest(), ListGroupsResponse)
        assert reply.groups[0].group_id == "second"
        connection.close()


async def test_silence_ends_the_connection_and_says_which_request_timed_out() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        await forever(a_peer)

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings(request_timeout_ms=50))
        other = connection.submit(ListGroupsRequest(), ListGroupsResponse, timeout_ms=60_000)
        with pytest.raises(RequestTimedOut, match=r"did not answer ListGroups within 50 ms"):
            await connection.request(ListGroupsRequest(), ListGroupsResponse)
        with pytest.raises(RequestTimedOut):
            await other
        assert connection.closed
        with pytest.raises(RequestTimedOut):
            await connection.request(ListGroupsRequest(), ListGroupsResponse)


async def test_a_peer_that_hangs_up_fails_all_that_wait() -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.negotiate(SERVES_GROUPS)
        await a_peer.request()

    async with peer(script) as (port, _):
        connection = await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings(max_in_flight=1))
        outcomes = await asyncio.gather(
            *(connection.request(ListGroupsRequest(), ListGroupsResponse) for _ in range(3)), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [ConnectionLost] * 3


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(pack(">i", -5), id="negative length"),
        pytest.param(pack(">i", 2**31 - 1), id="huge length"),
        pytest.param(pack(">ih", 2, 1), id="no correlation id"),
        pytest.param(pack(">ii", 4, 999), id="unknown correlation id"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="another protocol"),
        pytest.param(pack(">iihi", 10, 0, 0, 2**31 - 1), id="array bomb"),
    ],
)
async def test_garbage_is_not_taken_for_a_broker(answer: bytes) -> None:
    async def script(a_peer: Peer) -> None:
        await a_peer.request()
        a_peer.writer.write(answer)
        await a_peer.writer.drain()

    async with peer(script) as (port, _):
        with pytest.raises(CannotConnect, match=f"127.0.0.1:{port} does not answer as a Kafka broker does"):
            await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())


async def test_a_peer_that_says_nothing_is_given_up() -> None:
    async with peer(forever) as (port, _):
        with pytest.raises(CannotConnect, match="did not answer within 50 ms"):
            await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings(connect_timeout_ms=50))


async def test_nobody_there_names_address_and_reason() -> None:
    port = free_port()
    with pytest.raises(CannotConnect, match=f"cannot connect to 127.0.0.1:{port}: Connection refused"):
        await open_connection(AsyncioNetwork(), "127.0.0.1", port, settings())
