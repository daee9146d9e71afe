"""`tidelog up --cores` where it refuses to start: one line, exit code 1, and no process."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from support.processes import free_port
from support.tidelog_command import run_tidelog

from tidelog.cli.local_cluster.ports import following_free_ports


@pytest.fixture
def taken() -> socket.socket:
    """A port that another program listens on."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", free_port()))
    listener.listen()
    return listener


def test_a_port_that_is_taken_is_named(taken: socket.socket, tmp_path: Path) -> None:
    with taken:
        port = taken.getsockname()[1]
        said = run_tidelog("up", "--cores", "2", "--port", str(port), "--data-dir", str(tmp_path / "d"), code=1).stderr
    assert said == (
        f"tidelog: cannot listen on 127.0.0.1:{port}: Address already in use; is another broker running there? Choose "
        "another port with --port\n"
    )
    assert not list((tmp_path / "d").glob("core-*"))


def test_other_processes_take_the_next_ports_that_are_free(taken: socket.socket) -> None:
    with taken:
        port = taken.getsockname()[1]
        first, second = following_free_ports("127.0.0.1", port - 1, 2)
    assert first == port - 1
    assert second > port


def test_a_port_of_metrics_that_is_taken_is_named(taken: socket.socket, tmp_path: Path) -> None:
    with taken:
        port = taken.getsockname()[1]
        options = ("--override", f"tidelog.metrics.port={port}", "--data-dir", str(tmp_path / "d"))
        said = run_tidelog("up", "--cores", "2", "--port", "0", *options, code=1).stderr
    assert f"cannot serve the metrics on 127.0.0.1:{port}: Address already in use" in said


def test_cores_and_nodes_are_two_things() -> None:
    assert "use one of them" in run_tidelog("up", "--cores", "2", "--nodes", "3", code=2).stderr


def test_a_process_that_cannot_start_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "core-2").mkdir()
    (tmp_path / "core-2" / "meta.properties").write_text("version=1\ncluster.id=other\nnode.id=7\n")
    said = run_tidelog("up", "--cores", "2", "--port", "0", "--data-dir", str(tmp_path), code=1).stderr
    assert "process 2 exited with code 1 before it was ready: " in said
    assert "belongs to node 7, but node.id=2" in said
    assert said.endswith("core-2.log)\n")


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    from tidelog.storage.files.local_filesystem import LocalFileSystem

    lock = LocalFileSystem().lock(str(tmp_path / ".lock"))
    assert lock is not None
    try:
        said = run_tidelog("up", "--cores", "2", "--port", "0", "--data-dir", str(tmp_path), code=1).stderr
    finally:
        lock.release()
    assert said == f"tidelog: {tmp_path} is in use by another `tidelog up`; stop it, or use another --data-dir\n"
