"""The programs in examples/, run as users run them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from support.client_reading import read_all, read_committed

from tidelog.client.admin import Admin
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition
from tidelog.security.certificates import DevelopmentAuthority
from tidelog.server.broker import Broker

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 120


async def run(name: str, servers: str, *arguments: str) -> str:
    """What the program prints; it must end well."""
    command = [sys.executable, str(EXAMPLES / name), "--bootstrap-servers", servers, *arguments]
    finished = await asyncio.to_thread(
        subprocess.run, command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


async def send(servers: str, topic: str, *values: str) -> None:
    async with Producer(servers) as producer:
        for value in values:
            await producer.send(topic, value)


async def test_delivery_guarantees(servers: str, unique: str) -> None:
    printed = await run("delivery_guarantees.py", servers, "--topic", unique)
    assert "at most once: stored somewhere, as far as we know" in printed
    assert "exactly once: stored at offset" in printed
    assert "refused: enable.idempotence=true needs acks=all, but acks=1" in printed
    values = {record.value for record in await read_all(servers, unique)}
    assert values == {b"at most once", b"at least once", b"exactly once"}


async def test_partitioners(servers: str, unique: str) -> None:
    printed = await run("partitioners.py", servers, "--topic", unique)
    names, sizes = zip(*((line.split()[0], float(line.split()[1])) for line in printed.splitlines()), strict=True)
    assert names == ("round-robin", "sticky", "uniform-sticky")
    assert sizes[0] < min(sizes[1:]), "sticky partitioners fill batches"


async def test_exactly_once_producer(servers: str, unique: str) -> None:
    arguments = ("--topic", unique, "--transactional-id", unique, "--count", "3")
    assert "Message sent successfully" in await run("exactly_once_producer.py", servers, *arguments)
    expected = [b"Apache Kafka is a distributed streaming platform - %d" % number for number in range(3)]
    assert await read_committed(servers, unique) == expected


async def test_consume_process_produce(admin: Admin, servers: str, unique: str) -> None:
    target = f"{unique}-upper"
    for topic in (unique, target):
        await admin.create_topic(topic, partitions=1)
    options = ("--source", unique, "--target", target, "--group-id", unique, "--transactional-id", unique)
    for values in (["one", "two", "three"], ["four", "five"]):
        await send(servers, unique, *values)
        await run("consume_process_produce.py", servers, *options, "--stop-after", str(len(values)))
    assert await read_committed(servers, target) == [b"ONE", b"TWO", b"THREE", b"FOUR", b"FIVE"]
    assert (await admin.list_group_offsets(unique))[TopicPartition(unique, 0)].offset == 5


async def test_exactly_once_loop(admin: Admin, servers: str, unique: str) -> None:
    # The names are fixed in the program: what was counted before does not count here.
    for topic in ("lines", "words"):
        await admin.create_topic(topic, partitions=2)
    await send(servers, "lines", "the tide comes", "the tide goes", "and the log stays")
    await run("exactly_once_loop.py", servers, "--stop-after", "3")
    # Once the markers are written.
    await read_committed(servers, "words")
    words = Counter(record.key for record in await read_all(servers, "words", isolation_level="read_committed"))
    assert words[b"the"] == 3
    assert words[b"tide"] == 2
    assert words.total() == 10


SIGNER = """\
import time
from tidelog.security.unsecured_login import UnsecuredTokens

class MSKAuthTokenProvider:
    @staticmethod
    def generate_auth_token(region):
        tokens = UnsecuredTokens(principal=region, claims={"sub": region}, lifetime_seconds=900)
        return tokens.token(time.time_ns() // 1_000_000)
"""


async def test_amazon_msk(tmp_path: Path) -> None:
    """With a package of the same name, whose tokens this broker takes."""
    authority = DevelopmentAuthority.new()
    (tmp_path / "ca.pem").write_bytes(authority.pair.certificate)
    (tmp_path / "keystore.pem").write_bytes(authority.issue("broker", hosts=("127.0.0.1",)).keystore)
    (tmp_path / "aws_msk_iam_sasl_signer.py").write_text(SIGNER)
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    properties = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": f"{module} required;",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "keystore.pem"),
    }
    async with Broker(properties=properties) as broker:
        command = [sys.executable, str(EXAMPLES / "amazon_msk.py"), "--bootstrap-servers", broker.bootstrap_servers]
        paths = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
        finished = await asyncio.to_thread(
            subprocess.run,
            [*command, "--region", "eu-central-1", "--ca", str(tmp_path / "ca.pem")],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert (finished.returncode, finished.stderr) == (0, "")
