"""Options of clients from files: each format, and what is said about those that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.client.config import producer_config
from tidelog.client.config_files import read_config
from tidelog.config.definitions import InvalidConfig


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("client.properties", "bootstrap.servers = broker:9093\nlinger.ms: 7\nenable.idempotence=false\n"),
        ("librdkafka.conf", "bootstrap.servers=broker:9093\nlinger.ms=7\nenable.idempotence=false\n"),
        ("tidelog.toml", 'bootstrap_servers = "broker:9093"\nlinger_ms = 7\nenable_idempotence = false\n'),
    ],
)
def test_each_format_gives_the_same_client(tmp_path: Path, name: str, text: str) -> None:
    config = producer_config(read_config(written(tmp_path, name, text)))
    assert list(config.bootstrap_servers) == [("broker", 9093)]
    assert config.linger_ms == 7
    assert not config.enable_idempotence


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sasl_password = "hush', "is not TOML"),
        ('[sasl]\npassword = "hush"', "sasl.*is a table"),
        ("started = 2026-01-01", "started is a date"),
    ],
)
def test_what_cannot_be_read_is_said_without_values(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, "tidelog.toml", text)
    with pytest.raises(InvalidConfig, match=message) as failure:
        read_config(path)
    assert str(path) in str(failure.value)
    assert "hush" not in str(failure.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_config(tmp_path / "nowhere.toml")
