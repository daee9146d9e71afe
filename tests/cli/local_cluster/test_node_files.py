"""The properties file of each process."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tidelog.cli.local_cluster.node_files import write_properties
from tidelog.config.properties import parse_properties


@pytest.mark.parametrize("exists", [False, True])
def test_only_this_user_reads_what_may_hold_passwords(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "node-1.properties"
    if exists:
        path.write_text("node.id=9\nmuch=longer than what follows, and readable by everybody\n")
        path.chmod(0o644)
    write_properties(path, "a comment", {"node.id": "1", "sasl.jaas.config": 'x required password="planted-word";'})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert parse_properties(path.read_text()) == {
        "node.id": "1",
        "sasl.jaas.config": 'x required password="planted-word";',
    }
