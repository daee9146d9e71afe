"""The README's commands and programs, run as they stand; only the address and the directory are this test's own."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client_reading import read_all, read_committed
from support.readme_blocks import DEFAULT_SERVERS, as_coroutine, block_with
from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker, running_tidelog

from tidelog import Consumer, Producer


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    """A broker of its own: the README's topics have no unique names."""
    with running_tidelog(tmp_path_factory.mktemp("readme")) as running:
        yield running


def program(block: str, broker: TidelogBroker) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(block.replace(DEFAULT_SERVERS, broker.bootstrap_servers), "README.md", "exec"), namespace)
    return namespace


def test_the_commands(tidelog: Command, broker: TidelogBroker) -> None:
    printed = []
    for line in block_with("--topic orders").splitlines():
        before, _, command = line.rpartition(" | ")
        _, name, *arguments = shlex.split(command.replace("tidelog-data", str(broker.log_directory)))
        stdin = "\n".join(shlex.split(before)[1:]) + "\n" if before else ""
        reaches = () if name == "dump-log" else ("--bootstrap-server", broker.bootstrap_servers)
        printed.append(tidelog(name, *reaches, *arguments, stdin=stdin).stdout)
    created, _, consumed, dumped = printed
    assert "orders" in created
    assert consumed == "paid\n"
    assert dumped.startswith("Dumping ")


async def test_broker_producer_and_consumer_in_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    block = block_with("tidelog.Broker(port=0)", language="python")
    exec(compile(as_coroutine(block), "README.md", "exec"), namespace)
    await namespace["main"]()
    assert capsys.readouterr().out == "b'hello'\n"


async def test_the_producer_without_asyncio(broker: TidelogBroker) -> None:
    program(block_with("tidelog.sync", language="python"), broker)
    assert [record.value for record in await read_all(broker.bootstrap_servers, "greetings")] == [b"hello"]


async def test_the_transaction(broker: TidelogBroker) -> None:
    servers = broker.bootstrap_servers
    async with Producer(servers) as producer:
        for number in range(20):
            await producer.send("orders", b"%d" % number, partition=0)
    block = "import tidelog\n" + as_coroutine(block_with("transactional_id", language="python"), "consumer")
    # The block imports nothing: it goes on from the first one.
    namespace = program(block, broker)
    options: dict[str, Any] = {"group_id": "billing", "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    async with Consumer("orders", bootstrap_servers=servers, **options) as consumer:
        await anext(aiter(consumer))
        await namespace["main"](consumer)
    assert await read_committed(servers, "invoices") == [b"..."]
    async with Consumer("orders", bootstrap_servers=servers, **options) as successor:
        assert (await anext(aiter(successor))).offset == 17


def test_the_fixture_for_tests(tmp_path: Path) -> None:
    block = block_with("tidelog_broker", language="python")
    ending = '    producer.produce("orders", b"paid")\n    assert producer.flush(30) == 0\n'
    (tmp_path / "test_orders.py").write_text(f"import confluent_kafka\n\n\n{block}{ending}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
