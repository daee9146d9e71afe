"""`tidelog verify` on directories of a broker: good ones, and those that somebody has damaged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from support.tidelog_command import Command

from tidelog import Broker
from tidelog.client.admin import Admin, NewTopic
from tidelog.client.producer.producer import Producer


@pytest.fixture
async def data_dir(tmp_path: Path) -> Path:
    """The directory of a broker that was filled and stopped."""
    async with Broker(data_dir=str(tmp_path / "data")) as broker:
        async with Admin(broker.bootstrap_servers) as admin:
            Admin.raise_any(
                await admin.create_topics(
                    [NewTopic(name="t", partitions=2, configs={"internal.segment.bytes": "2000"})]
                )
            )
        async with Producer(broker.bootstrap_servers) as producer:
            for number in range(60):
                await (await producer.send("t", b"value %d" % number * 8, partition=number % 2))
    return tmp_path / "data"


def test_good_directory_is_told_so(tidelog: Command, data_dir: Path) -> None:
    done = tidelog("verify", str(data_dir))
    assert done.stdout.endswith("no damage found\n")
    assert "3 partitions" in done.stdout
    told = json.loads(tidelog("verify", str(data_dir), "--json").stdout)
    assert told["damaged"] is False
    assert told["damage"] == []
    assert told["records"] >= 60


def test_damage_is_told_with_its_place_and_by_the_exit_code(tidelog: Command, data_dir: Path) -> None:
    path = data_dir / "t-0" / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[8:12], "big") + 12
    content[size + 70] ^= 1
    path.write_bytes(content)
    done = tidelog("verify", str(data_dir), code=1)
    assert f"{path} at byte {size}: the checksum does not match\n" in done.stdout
    assert "damaged\n" in done.stdout
    told = json.loads(tidelog("verify", str(data_dir / "t-0"), "--json", code=1).stdout)
    assert {"path": str(path), "position": size, "reason": "the checksum does not match"} in told["damage"]
    assert tidelog("verify", str(data_dir / "t-1")).stdout.endswith("no damage found\n")


def test_other_directories_are_refused(tidelog: Command, tmp_path: Path) -> None:
    done = tidelog("verify", str(tmp_path), code=1)
    assert "neither a log directory nor the directory of a partition" in done.stderr
    assert "is not a directory" in tidelog("verify", str(tmp_path / "none"), code=1).stderr


async def test_directory_in_use_is_noted(tidelog: Command, tmp_path: Path) -> None:
    async with Broker(data_dir=str(tmp_path / "data")):
        done = await asyncio.to_thread(tidelog, "verify", str(tmp_path / "data"))
    assert "note: " in done.stdout
    assert "a broker is using it" in done.stdout
