"""A node whose quorum is gone says so at once, says again and again who is missing, and says when it is over."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from support.nodes_in_process import nodes

from tidelog.server.quorum import leader_watch
from tidelog.server.quorum.leader_watch import REPEAT_MS, LeaderAbsence

BOTH = "broker,controller"


def test_the_absence_of_a_leader_is_said_at_once_and_then_every_half_minute() -> None:
    absence = LeaderAbsence()
    assert absence.look(1, 0.0, ()) is None
    first = absence.look(None, 1000.0, (3, 2))
    assert first is not None
    assert "no leader for 0 s" in first
    assert first.endswith("do not answer: 2, 3")
    assert absence.look(None, 2000.0, (2, 3)) is None
    again = absence.look(None, 1000.0 + REPEAT_MS, (3,))
    assert again is not None
    assert "no leader for 30 s" in again
    assert absence.seconds(1000.0 + REPEAT_MS) == 30.0
    assert absence.look(2, 62_000.0, ()) == "the metadata quorum is led by node 2, after 61 s"
    assert absence.look(2, 63_000.0, ()) is None
    assert absence.seconds(63_000.0) == 0.0


@pytest.mark.parametrize("leader_stays", [False, True])
async def test_a_node_that_is_left_alone_says_who_is_missing(
    leader_stays: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_watch, "LOOK_SECONDS", 0.05)
    caplog.set_level(logging.INFO, logger=leader_watch.__name__)

    def said(text: str) -> bool:
        return any(text in record.getMessage() for record in caplog.records)

    async with nodes(tmp_path, dict.fromkeys((1, 2, 3), BOTH)) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        left = next(number for number in (1, 2, 3) if (number == cluster.controller()) is leader_stays)
        gone = [number for number in (1, 2, 3) if number != left]
        caplog.clear()
        await asyncio.gather(*(cluster.kill(number) for number in gone))
        await cluster.until(lambda: said("has had no leader"), "words about it")
        metric = cluster.running[left].node.metrics.registry().get_sample_value("tidelog_quorum_leader_absent_seconds")
        assert metric is not None
        assert metric >= 0
        monkeypatch.setattr(leader_watch, "REPEAT_MS", 100.0)
        await cluster.until(lambda: said(f"do not answer: {gone[0]}, {gone[1]}"), "who is missing")
        await cluster.start(gone[0])
        await cluster.until(lambda: said("the metadata quorum is led by node"), "the end of it")
