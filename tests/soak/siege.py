"""Strangers at the gate of a node: fuzzed frames before authentication, and TLS handshakes that stop half-way, beside a
client that must not notice.

`python -m soak.siege --frames 200000 --handshakes 10000`, in the directory `tests`. Ends with status 1 for the reasons
of `soak.fuzz`.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random

import psutil
from soak.fuzz import CONNECTIONS, FuzzReport, beside_another_client, judge
from support.fuzzing import FrameSender, fuzzed_frames
from support.processes import free_port
from support.served_versions import versions_on

from tidelog.protocol.messages import ApiKey
from tidelog.security.certificates import DevelopmentAuthority
from tidelog.server.declaration import ListenerKind

# Half-open at the same time: what the tests' own process has descriptors for.
MOST_OPEN = 500
_SASL = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
# How often frames are of the APIs that are answered at all.
_GATE_SHARE = 0.9
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="planted-word";'


def besiege(
    directory: Path, *, frames: int, handshakes: int, seed: int, progress: Callable[[str], None] = lambda _: None
) -> FuzzReport:
    port, gate, tls = free_port(), free_port(), free_port()
    directory.mkdir(parents=True, exist_ok=True)
    keystore = directory / "keystore.pem"
    keystore.write_bytes(DevelopmentAuthority.new().issue("broker", hosts=["127.0.0.1"]).keystore)
    properties = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},GATE://127.0.0.1:{gate},TLS://127.0.0.1:{tls}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GATE:SASL_PLAINTEXT,TLS:SSL",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.gate.plain.sasl.jaas.config": _JAAS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        # Otherwise each refused connection is kept for a while, and this would take an hour.
        "connection.failed.authentication.delay.ms": "0",
    }

    def disturb(process: psutil.Process) -> tuple[list[FrameSender], int]:
        random = Random(seed)
        served = versions_on(ListenerKind.BROKER)
        at_gate = fuzzed_frames({key: served[key] for key in _SASL}, random)
        others = fuzzed_frames(served, random)
        sender = FrameSender(("127.0.0.1", gate), 3 * CONNECTIONS)
        half_open = HalfOpenHandshakes(tls, random)
        highest = process.memory_info().rss
        said = 0
        while sender.sent < frames or half_open.begun < handshakes:
            if sender.sent < frames:
                sender.pump(iter(lambda: next(at_gate if random.random() < _GATE_SHARE else others), None))
            if half_open.begun < (handshakes if sender.sent >= frames else sender.sent * handshakes // frames):
                half_open.begin()
            highest = max(highest, process.memory_info().rss)
            if sender.sent >= said:
                progress(f"{sender.sent} frames, {half_open.begun} handshakes, {highest >> 20} MiB")
                said += 10_000
        half_open.close()
        sender.close()
        return [sender], highest

    return beside_another_client(directory, port, properties, disturb, [gate, tls])


class HalfOpenHandshakes:
    """Connections that say nothing, a part of a ClientHello, a whole one, or something else, and stop there."""

    def __init__(self, port: int, random: Random) -> None:
        self._port = port
        self._random = random
        self._hello = _client_hello()
        self._open: deque[socket.socket] = deque()
        self.begun = 0

    def begin(self) -> None:
        hello, random = self._hello, self._random
        said = random.choice((b"", hello[: random.randrange(len(hello))], hello, random.randbytes(50)))
        # Not accepted, if the broker has enough of them.
        with contextlib.suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", self._port), timeout=5)
            self._open.append(connection)
            connection.sendall(said)
        self.begun += 1
        while len(self._open) > MOST_OPEN:
            self._open.popleft().close()

    def close(self) -> None:
        for each in self._open:
            each.close()


def _client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--handshakes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20261118)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidelog-siege-") as directory:
        report = besiege(
            Path(directory),
            frames=options.frames,
            handshakes=options.handshakes,
            seed=options.seed,
            progress=lambda said: print(said, flush=True),
        )
    return judge(report)


if __name__ == "__main__":
    sys.exit(main())
