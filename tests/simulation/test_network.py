"""Connections keep TCP's promises, and break in TCP's ways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.machines.clock import draw_from
from tidelog.simulation.machines.loop import SimulatedLoop, new_loop
from tidelog.simulation.machines.network import Fabric, ProcessNetwork
from tidelog.simulation.machines.process import Process


class Peer(asyncio.Protocol):
    """Keeps what comes, with the time."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.lost: list[Exception | None] = []
        self.paused = False
        self.pauses = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)

    def pause_writing(self) -> None:
        self.paused = True
        self.pauses += 1

    def resume_writing(self) -> None:
        self.paused = False


class BufferedPeer(asyncio.BufferedProtocol):
    """Takes seven bytes at a time."""

    def __init__(self) -> None:
        self.received = bytearray()
        self._buffer = bytearray(7)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]


class Net:
    """Two hosts, one of which listens on port 1."""

    def __init__(self, loop: SimulatedLoop, factory: Callable[[], Any] = Peer) -> None:
        self.loop = loop
        self.fabric = Fabric(loop, draw_from(1, "test"), Trace())
        self.server, self.client = Process("server", "a"), Process("client", "b")
        self.accepted: list[Any] = []
        self._factory = factory

    def _make(self) -> Any:
        peer = self._factory()
        self.accepted.append(peer)
        return peer

    async def listen(self) -> None:
        port = ProcessNetwork(self.fabric, self.server)
        await self.loop.create_task(port.listen(self._make, "a", 1), context=self.server.context.copy())

    async def connect(self) -> Peer:
        port = ProcessNetwork(self.fabric, self.client)
        _, peer = await self.loop.create_task(port.connect(Peer, "a", 1), context=self.client.context.copy())
        return peer


def run(main: Callable[[Net], Awaitable[None]], factory: Callable[[], Any] = Peer) -> Net:
    loop = new_loop()
    net = Net(loop, factory)

    async def body() -> None:
        await net.listen()
        await main(net)

    try:
        loop.run_until_complete(body())
    finally:
        loop.close()
    assert loop.failures == []
    return net


def numbered(count: int) -> list[bytes]:
    return [b"%06d" % number for number in range(count)]


def test_bytes_arrive_in_order_although_delays_differ_and_packets_are_lost() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        net.fabric.link("b", "a").loss = 0.3
        for piece in numbered(300):
            peer.transport.write(piece)
            await asyncio.sleep(0.001)
        await asyncio.sleep(10)
        assert net.accepted[0].received == b"".join(numbered(300))

    run(main)


def test_a_buffered_protocol_gets_everything_in_its_own_portions() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        peer.transport.writelines(numbered(50))
        await asyncio.sleep(1)
        assert net.accepted[0].received == b"".join(numbered(50))

    run(main, BufferedPeer)


def test_what_is_written_is_what_arrives_even_if_the_buffer_is_used_again() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        data = bytearray(b"first")
        peer.transport.write(data)
        data[:] = b"XXXXX"
        await asyncio.sleep(1)
        assert net.accepted[0].received == b"first"

    run(main)


def test_a_reader_that_pauses_stops_the_writer() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        await asyncio.sleep(0.1)
        server = net.accepted[0]
        server.transport.pause_reading()
        written = 0
        while not peer.paused and written < 10_000_000:
            peer.transport.write(bytes(10_000))
            written += 10_000
        assert peer.paused
        assert not server.received
        await asyncio.sleep(1)
        assert not server.received
        server.transport.resume_reading()
        await asyncio.sleep(10)
        assert len(server.received) == written
        assert not peer.paused

    run(main)


def test_a_blocked_link_says_nothing_and_goes_on_later() -> None:
    async def main(net: Net) -> None:
        delivered = broken = 0
        for _ in range(30):
            peer = await net.connect()
            await asyncio.sleep(0.1)
            server = net.accepted[-1]
            net.fabric.block("b", "a")
            peer.transport.write(b"hello")
            await asyncio.sleep(30)
            assert not server.received
            assert not peer.lost
            net.fabric.unblock("b", "a")
            await asyncio.sleep(5)
            delivered += server.received == b"hello"
            broken += bool(peer.lost)
            peer.transport.abort()
        # Some connections do not survive it.
        assert delivered + broken == 30
        assert delivered > 10
        assert broken > 2

    run(main)


def test_one_direction_can_be_blocked_alone() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        await asyncio.sleep(0.1)
        net.fabric.block("a", "b")
        peer.transport.write(b"there")
        net.accepted[0].transport.write(b"back")
        await asyncio.sleep(5)
        assert net.accepted[0].received == b"there"
        assert not peer.received

    run(main)


def test_an_answer_can_be_lost_after_its_request_has_arrived() -> None:
    async def main(net: Net) -> None:
        near = await net.connect()
        net.fabric.link("a", "b").lost_answers = 1.0
        near.transport.write(b"request")
        await asyncio.sleep(1)
        (far,) = net.accepted
        assert far.received == b"request"
        far.transport.write(b"answer")
        await asyncio.sleep(1)
        assert near.received == b""
        assert isinstance(near.lost[0], ConnectionResetError)
        assert isinstance(far.lost[0], ConnectionResetError)

    run(main)


def test_overlapping_partitions_end_with_the_last_one() -> None:
    async def main(net: Net) -> None:
        net.fabric.block("b", "a")
        net.fabric.block("b", "a")
        net.fabric.unblock("b", "a")
        assert net.fabric.link("b", "a").blocked
        net.fabric.unblock("b", "a")
        assert not net.fabric.link("b", "a").blocked

    run(main)


def test_connecting_through_a_partition_takes_until_it_ends() -> None:
    async def main(net: Net) -> None:
        net.fabric.block("a", "b")
        waiting = asyncio.ensure_future(net.connect())
        await asyncio.sleep(5)
        assert not waiting.done()
        net.fabric.unblock("a", "b")
        await asyncio.wait_for(waiting, 10)

    run(main)


def test_connecting_to_a_machine_without_power_times_out() -> None:
    async def main(net: Net) -> None:
        net.server.kill()
        net.fabric.power_lost(net.server)
        with pytest.raises(OSError, match="timed out"):
            await net.connect()

    run(main)


def test_connecting_where_nobody_listens_is_refused() -> None:
    async def main(net: Net) -> None:
        net.server.kill()
        net.fabric.process_killed(net.server)
        with pytest.raises(ConnectionRefusedError):
            await net.connect()

    run(main)


def test_the_peer_of_a_killed_process_is_told() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        await asyncio.sleep(0.1)
        net.server.kill()
        net.fabric.process_killed(net.server)
        await asyncio.sleep(1)
        assert isinstance(peer.lost[0], ConnectionResetError)

    run(main)


def test_the_peer_of_a_machine_without_power_is_told_when_the_machine_is_back() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        await asyncio.sleep(0.1)
        net.server.kill()
        net.fabric.power_lost(net.server)
        await asyncio.sleep(60)
        assert peer.lost == []
        net.fabric.machine_started("a")
        await asyncio.sleep(10)
        assert isinstance(peer.lost[0], ConnectionResetError)

    run(main)


def test_closing_delivers_what_was_written_before() -> None:
    async def main(net: Net) -> None:
        peer = await net.connect()
        peer.transport.write(b"last words")
        peer.transport.close()
        await asyncio.sleep(1)
        server = net.accepted[0]
        assert server.received == b"last words"
        assert server.lost == [None]
        assert peer.lost == [None]

    run(main)


def test_bytes_that_were_under_way_arrive_although_the_sender_gave_up() -> None:
    """So a request may be carried out after its client has asked again elsewhere."""

    async def main(net: Net) -> None:
        peer = await net.connect()
        await asyncio.sleep(0.1)
        net.fabric.link("b", "a").latency = (1.0, 1.0)
        peer.transport.write(b"late")
        peer.transport.abort()
        await asyncio.sleep(0.5)
        assert not net.accepted[0].received
        await asyncio.sleep(2)
        assert net.accepted[0].received == b"late"

    run(main)


def test_a_paused_process_accepts_through_its_kernel_and_reads_later() -> None:
    async def main(net: Net) -> None:
        net.loop.pause(net.server)
        peer = await net.connect()
        peer.transport.write(b"anybody there?")
        await asyncio.sleep(5)
        assert net.accepted == []
        net.loop.resume(net.server)
        await asyncio.sleep(0.1)
        assert net.accepted[0].received == b"anybody there?"

    run(main)


def test_an_address_that_is_taken_cannot_be_taken_again() -> None:
    async def main(net: Net) -> None:
        with pytest.raises(OSError, match="in use"):
            await net.listen()

    run(main)
