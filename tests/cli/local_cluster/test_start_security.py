"""A data directory stays what it was: secured, or open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.start_security import require_same_security, start_security
from tidelog.server.secure_start.folder import FOLDER, prepare_folder


def test_a_directory_stays_what_it_was(tmp_path: Path) -> None:
    require_same_security(tmp_path, secure=True)
    require_same_security(tmp_path, secure=False)
    (tmp_path / "meta.properties").touch()
    with pytest.raises(CommandFailure, match="was made without --secure"):
        require_same_security(tmp_path, secure=True)
    prepare_folder(tmp_path, "127.0.0.1")
    require_same_security(tmp_path, secure=True)
    with pytest.raises(CommandFailure, match="was made with --secure; start it with --secure"):
        require_same_security(tmp_path, secure=False)


def test_what_is_damaged_is_said(tmp_path: Path) -> None:
    start_security(tmp_path, "127.0.0.1", secure=True)
    (tmp_path / FOLDER / "ca.pem").unlink()
    with pytest.raises(CommandFailure, match="missing or damaged"):
        start_security(tmp_path, "127.0.0.1", secure=True)


def test_commands_are_shown_with_what_they_need(tmp_path: Path) -> None:
    open_to_all = start_security(tmp_path / "open", "127.0.0.1", secure=False)
    assert open_to_all.options("127.0.0.1:9092") == ""
    assert open_to_all.options("127.0.0.1:1") == " -b 127.0.0.1:1"
    assert open_to_all.listening("127.0.0.1:1") == []
    secured = start_security(tmp_path / "secured", "127.0.0.1", secure=True)
    file = tmp_path / "secured" / FOLDER / "client.properties"
    assert secured.options("127.0.0.1:1") == f" -b 127.0.0.1:1 --command-config {file}"
    shown = "\n".join(secured.listening("127.0.0.1:1"))
    assert file.exists()
    assert str(file) in shown
    assert not any(password in shown for password in secured.users.values())
