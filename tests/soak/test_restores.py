"""The short form of `soak.restores`: twenty rounds, and no row lost or written twice without an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from soak.restores import Restores

from tidelog.spark.session.java import find_java

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(find_java(dict(os.environ)) is None, reason="Spark needs Java 17 or newer"),
]

ROUNDS = 20


def test_scenario_37_output_equals_input_or_the_query_stops_whatever_dies_or_is_restored(tmp_path: Path) -> None:
    restores = Restores(tmp_path, seed=1, rounds=ROUNDS, say=print)
    restores.run()
    assert restores.violations == [], "\n".join(restores.report())
    # The rounds are random, but the same ones each time: all kinds of disasters are among them.
    assert restores.happened["restore"] >= 3
    assert restores.happened["stopped"] >= 2
    assert sum(count for what, count in restores.happened.items() if what.startswith("lose")) >= 3
    assert sum(count for what, count in restores.happened.items() if what.startswith("kill")) >= 5
