"""The short form of `soak.chaos`: a few kinds of faults, once each, and everything that must hold afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.chaos import Chaos
from support.foreign_causes import librdkafka_waits_forever

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster"), pytest.mark.timeout(600)]

KINDS = ("kill", "kill two", "kill while another is paused", "wipe", "stop while it starts")


@librdkafka_waits_forever
def test_a_cluster_survives_kills_pauses_wiped_disks_and_restarts_under_load(tmp_path: Path) -> None:
    chaos = Chaos(tmp_path, seed=1, seconds=0, say=print, kinds=KINDS)
    chaos.run()
    assert chaos.violations == [], "\n".join(chaos.report())
    assert set(chaos.actions) == set(KINDS)
