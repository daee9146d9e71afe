"""The folder that a secure start makes: what is in it, who may read it, and what stays the same."""

from __future__ import annotations

import ssl
import stat
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidelog.config.properties import parse_properties
from tidelog.server.secure_start.folder import FOLDER, DamagedSecurityFolder, prepare_folder, write_client_files
from tidelog.server.secure_start.settings import client_files, node_security

SERVERS = "127.0.0.1:9092"


def contents(data_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((data_dir / FOLDER).iterdir())}


def test_everything_is_there_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    files = prepare_folder(tmp_path, "127.0.0.1")
    write_client_files(tmp_path, files, SERVERS)
    folder = tmp_path / FOLDER
    assert sorted(contents(tmp_path)) == [
        "ca.key",
        "ca.pem",
        "client.properties",
        "keystore.pem",
        "librdkafka.conf",
        "passwords.json",
        "tidelog.toml",
    ]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert len(files.admin_password) >= 32
    assert files.admin_password != files.node_password
    assert files.admin_password not in repr(files)


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    write_client_files(tmp_path, prepare_folder(tmp_path, "127.0.0.1"), SERVERS)
    before = contents(tmp_path)
    write_client_files(tmp_path, prepare_folder(tmp_path, "127.0.0.1"), SERVERS)
    assert contents(tmp_path) == before


def test_the_three_files_say_the_same(tmp_path: Path) -> None:
    files = prepare_folder(tmp_path, "127.0.0.1")
    written = client_files(files, SERVERS)
    java = parse_properties(written["client.properties"])
    librdkafka = parse_properties(written["librdkafka.conf"])
    ours = tomllib.loads(written["tidelog.toml"])
    assert {name.replace(".", "_"): value for name, value in java.items()} == ours
    assert java["bootstrap.servers"] == librdkafka["bootstrap.servers"] == SERVERS
    assert f'password="{files.admin_password}"' in java["sasl.jaas.config"]
    assert librdkafka["sasl.password"] == files.admin_password
    assert java["ssl.truststore.location"] == librdkafka["ssl.ca.location"] == str(files.authority)


@pytest.mark.parametrize("change", ["host", "time", "damage"])
def test_the_certificate_of_the_nodes_is_replaced_and_the_authority_stays(tmp_path: Path, change: str) -> None:
    files = prepare_folder(tmp_path, "127.0.0.1")
    before = contents(tmp_path)
    host, at = "127.0.0.1", datetime.now(UTC)
    if change == "host":
        host = "broker.example"
    elif change == "time":
        at += timedelta(days=380)
    else:
        files.keystore.write_bytes(b"-----BEGIN CERTIFICATE-----\nnonsense")
    prepare_folder(tmp_path, host, now=at)
    after = contents(tmp_path)
    assert after.pop("keystore.pem") != before.pop("keystore.pem")
    assert after == before
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.keystore)


def test_a_lost_key_of_the_authority_is_said(tmp_path: Path) -> None:
    prepare_folder(tmp_path, "127.0.0.1")
    (tmp_path / FOLDER / "ca.key").unlink()
    with pytest.raises(DamagedSecurityFolder, match=r"ca\.key are missing or damaged; restore them"):
        prepare_folder(tmp_path, "127.0.0.1")


def test_damaged_passwords_are_said_without_showing_them(tmp_path: Path) -> None:
    prepare_folder(tmp_path, "127.0.0.1")
    path = tmp_path / FOLDER / "passwords.json"
    path.write_text('{"admin": "secret-word"')
    with pytest.raises(DamagedSecurityFolder, match="is damaged") as failure:
        prepare_folder(tmp_path, "127.0.0.1")
    assert "secret-word" not in str(failure.value)


@pytest.mark.parametrize("alone", [True, False])
def test_no_listener_is_left_without_authentication(tmp_path: Path, alone: bool) -> None:
    properties = node_security(prepare_folder(tmp_path, "127.0.0.1"), alone=alone)
    protocols = {pair.split(":")[1] for pair in properties["listener.security.protocol.map"].split(",")}
    assert protocols == {"SASL_SSL"}
    assert properties["authorizer.class.name"].endswith("StandardAuthorizer")
