"""The README's streaming query, run as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.client_reading import read_committed
from support.readme_blocks import block_with

from tidelog import Producer
from tidelog.testing.broker_thread import BrokerThread


@pytest.mark.slow
async def test_the_streaming_query(spark: SparkSession, tmp_path: Path) -> None:
    with BrokerThread() as broker:
        async with Producer(broker.bootstrap_servers) as producer:
            for value in (b"one", b"two"):
                await producer.send("orders", value)
        namespace: dict[str, Any] = {"spark": spark, "servers": broker.bootstrap_servers}
        # By default a query begins at the latest offsets; the records are there before this one starts.
        changes = {
            "checkpoints/shout": str(tmp_path / "shout"),
            '"subscribe"': '"startingOffsets", "earliest").option("subscribe"',
        }
        block = block_with("checkpoints/shout", language="python")
        for shown, used in changes.items():
            block = block.replace(shown, used)
        exec(compile(block, "README.md", "exec"), namespace)
        query = namespace["query"]
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        assert sorted(await read_committed(broker.bootstrap_servers, "shouted")) == [b"ONE", b"TWO"]
