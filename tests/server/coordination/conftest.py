"""As for all tests of the server, but with few partitions to coordinate groups on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import tidelog


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(properties={"offsets.topic.num.partitions": "3"}) as running:
        yield running
