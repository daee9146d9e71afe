"""Handshakes of TLS on real sockets: bounded in number and in time, and nobody waits for those that stand still."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Awaitable, Callable

import pytest
import uvloop
from support.processes import HANG_SECONDS

from tidelog.network import handshakes
from tidelog.network.handshakes import EncryptedListening, own_sockets
from tidelog.network.port import AsyncioNetwork
from tidelog.network.tls import TlsSettings, client_context, server_context
from tidelog.security.certificates import DevelopmentAuthority


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport.get_extra_info("ssl_object"), ssl.SSLObject)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = DevelopmentAuthority.new()
    identity = authority.issue("server", hosts=["127.0.0.1"])
    server = TlsSettings(keystore_key=identity.key.decode(), keystore_certificate_chain=identity.certificate.decode())
    client = TlsSettings(truststore_certificates=authority.pair.certificate.decode())
    return server_context(server), client_context(client)


async def echoed(port: int, context: ssl.SSLContext) -> bytes:
    async with asyncio.timeout(HANG_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(b"hello")
        received = await reader.readexactly(5)
        writer.close()
        return received


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[None]], None]:
    def running(work: Awaitable[None]) -> None:
        async def whole() -> None:
            await work

        with asyncio.Runner(loop_factory=uvloop.new_event_loop if request.param == "uvloop" else None) as runner:
            runner.run(whole())

    return running


def listening_socket() -> socket.socket:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        (own,) = own_sockets([bound], 128)
    return own


def test_handshakes_that_stand_still_hold_up_nobody(
    run: Callable[[Awaitable[None]], None], contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    server, client = contexts

    async def crowd() -> None:
        listening = EncryptedListening([listening_socket()], Echo, lambda: server, most=20)
        silent = [socket.create_connection(("127.0.0.1", listening.port)) for _ in range(100)]
        assert await echoed(listening.port, client) == b"hello"
        assert 0 < listening.handshakes <= 20
        for each in silent[:80]:
            each.settimeout(HANG_SECONDS)
            assert await asyncio.to_thread(each.recv, 1) == b""
        listening.close()
        await until(lambda: listening.handshakes == 0)
        for each in silent:
            each.close()

    run(crowd())


def test_a_handshake_has_a_deadline(
    run: Callable[[Awaitable[None]], None], contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    async def slow() -> None:
        listening = EncryptedListening([listening_socket()], Echo, lambda: contexts[0], timeout_seconds=0.2)
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
        # The beginning of a ClientHello.
        writer.write(b"\x16\x03\x01\x02\x00\x01")
        assert await asyncio.wait_for(reader.read(), HANG_SECONDS) == b""
        await until(lambda: listening.handshakes == 0)
        listening.close()
        writer.close()

    run(slow())


def test_what_is_not_tls_is_closed(
    run: Callable[[Awaitable[None]], None], contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    async def stray() -> None:
        listening = await AsyncioNetwork().listen(Echo, "127.0.0.1", 0, tls=lambda: contexts[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await asyncio.wait_for(reader.read(), HANG_SECONDS)
        assert await echoed(listening.port, contexts[1]) == b"hello"
        listening.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", listening.port)
        writer.close()

    run(stray())


async def test_each_connection_has_the_context_of_its_time(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    authority = DevelopmentAuthority.new()
    identity = authority.issue("server", hosts=["127.0.0.1"])
    other = server_context(
        TlsSettings(keystore_key=identity.key.decode(), keystore_certificate_chain=identity.certificate.decode())
    )
    current = [contexts[0]]
    listening = await AsyncioNetwork().listen(Echo, "127.0.0.1", 0, tls=lambda: current[0])
    assert await echoed(listening.port, contexts[1]) == b"hello"
    current[0] = other
    with pytest.raises(ssl.SSLCertVerificationError):
        await echoed(listening.port, contexts[1])
    listening.close()


async def test_without_descriptors_it_tries_again_later(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(handshakes, "PAUSE_SECONDS", 0.05)
    failures = iter([OSError(24, "Too many open files")])

    class Full(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            for failure in failures:
                raise failure
            return super().accept()

    own = listening_socket()
    full = Full(own.family, own.type, own.proto, fileno=own.detach())
    listening = EncryptedListening([full], Echo, lambda: contexts[0])
    assert await echoed(listening.port, contexts[1]) == b"hello"
    assert "Too many open files" in caplog.text
    listening.close()
    gc.collect()
