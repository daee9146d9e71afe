"""Which starts on a data directory are refused: those that would run without data that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.data_directory import StartKind, kind_of, require_access, require_kind

SERVERS = "127.0.0.1:9092"


def hold(data: Path, process: int, *names: str) -> None:
    for name in (*names, "__cluster_metadata-0"):
        (data / f"core-{process}" / name).mkdir(parents=True, exist_ok=True)


def refusal(data: Path, cores: int) -> str:
    with pytest.raises(CommandFailure) as refused:
        require_access(data, cores, SERVERS)
    return str(refused.value)


def test_the_kind_of_a_directory(tmp_path: Path) -> None:
    assert kind_of(tmp_path / "missing") is None
    for name, kind in (("core-2", StartKind.CORES), ("node-1", StartKind.NODES)):
        (tmp_path / kind.name / name).mkdir(parents=True)
        assert kind_of(tmp_path / kind.name) is kind
    (tmp_path / "meta.properties").touch()
    assert kind_of(tmp_path) is StartKind.SINGLE


@pytest.mark.parametrize("wanted", list(StartKind))
@pytest.mark.parametrize(("made", "found"), [("core-1", StartKind.CORES), ("node-1", StartKind.NODES)])
def test_another_kind_of_start_is_refused(tmp_path: Path, made: str, found: StartKind, wanted: StartKind) -> None:
    (tmp_path / made).mkdir()
    if wanted is found:
        require_kind(tmp_path, wanted)
        return
    with pytest.raises(CommandFailure, match=f"start it with `{found.value}`, or use another --data-dir"):
        require_kind(tmp_path, wanted)


def test_as_many_or_more_processes_are_fine(tmp_path: Path) -> None:
    require_access(tmp_path, 2, SERVERS)
    hold(tmp_path, 1, "orders-0")
    hold(tmp_path, 2, "orders-1")
    require_access(tmp_path, 2, SERVERS)
    require_access(tmp_path, 3, SERVERS)


def test_fewer_are_refused_with_what_would_be_out_of_reach(tmp_path: Path) -> None:
    hold(tmp_path, 1, "orders-0")
    hold(tmp_path, 2, *(f"orders-{number}" for number in range(1, 6)), "__consumer_offsets-3")
    hold(tmp_path, 10, "orders-9")
    said = refusal(tmp_path, 1)
    assert "process 2 holds orders-1, orders-2, orders-3 and 3 more; process 10 holds orders-9. " in said
    assert "Start with --cores 10." in said
    assert "`tidelog cluster --spread-over 1 --wait`" in said


def test_processes_that_hold_nothing_can_be_left_out(tmp_path: Path) -> None:
    hold(tmp_path, 1, "orders-0", "orders-1")
    hold(tmp_path, 2, "orders-1.0123456789abcdef0123456789abcdef-delete")
    require_access(tmp_path, 1, SERVERS)


def test_without_the_metadata_nothing_starts(tmp_path: Path) -> None:
    """A new controller would know no topic, and the others would set their partitions aside as strays."""
    hold(tmp_path, 2, "orders-1")
    said = refusal(tmp_path, 2)
    assert "core-1/__cluster_metadata-0 is missing, which says what the partitions are that process 2 holds" in said
