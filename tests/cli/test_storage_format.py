"""`tidelog format --add-scram`: the file is that of Apache Kafka, and a new cluster begins with the users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.apache_kafka import CLUSTER_ID, run_tool
from support.raw_client import raw_client
from support.tidelog_command import Command

from tidelog import Broker
from tidelog.metadata.snapshot_file import decode_snapshot
from tidelog.protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.security.scram import ScramMechanism
from tidelog.server.quorum.first_records import read_first_records
from tidelog.storage.files.file_names import BOOTSTRAP_CHECKPOINT
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.recovery.damage import DamagedLog

USERS = (
    '--add-scram', 'SCRAM-SHA-256=[name=alice,password="planted secret",salt="MTIz",iterations=8192]',
    '--add-scram', "SCRAM-SHA-512=[name=bob,saltedpassword=MTIzNA==,salt=MTIz]",
)  # fmt: skip


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """One that both take."""
    file = tmp_path / "server.properties"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093",
        "controller.quorum.voters": "1@127.0.0.1:19093",
        "log.dirs": str(tmp_path / "data"),
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file


def stored(directory: Path) -> list[UserScramCredentialRecord]:
    records = decode_snapshot((directory / "data" / BOOTSTRAP_CHECKPOINT).read_bytes()).records
    return [record for record in records if isinstance(record, UserScramCredentialRecord)]


def test_the_first_users_are_in_a_file_for_the_controller(
    tidelog: Command, configuration: Path, tmp_path: Path
) -> None:
    output = tidelog("format", "--config", str(configuration), *USERS)
    assert [(each.name, each.mechanism, each.iterations) for each in stored(tmp_path)] == [
        ("alice", ScramMechanism.SHA_256.value, 8192),
        ("bob", ScramMechanism.SHA_512.value, 4096),
    ]
    assert "planted" not in output.stdout + output.stderr
    assert b"planted" not in (tmp_path / "data" / BOOTSTRAP_CHECKPOINT).read_bytes()


def test_without_users_there_is_no_such_file(tidelog: Command, configuration: Path, tmp_path: Path) -> None:
    tidelog("format", "--config", str(configuration))
    assert not (tmp_path / "data" / BOOTSTRAP_CHECKPOINT).exists()


def test_a_bad_user_is_refused_before_anything_is_formatted(
    usage_error: Callable[..., str], configuration: Path, tmp_path: Path
) -> None:
    refused = usage_error("format", "--config", str(configuration), "--add-scram", "SCRAM-SHA-256=[name=a]")
    assert "password= or saltedpassword= is missing" in refused
    assert not (tmp_path / "data").exists()


@pytest.mark.maven
def test_the_records_are_those_of_apache_kafka(
    tidelog: Command, jars: Path, configuration: Path, tmp_path: Path
) -> None:
    run_tool(jars, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(configuration), *USERS)
    theirs = stored(tmp_path)
    (tmp_path / "data").rename(tmp_path / "theirs")
    tidelog("format", "--config", str(configuration), *USERS)
    assert stored(tmp_path) == theirs


async def test_a_new_cluster_begins_with_the_users(tidelog: Command, tmp_path: Path) -> None:
    single = tmp_path / "single.properties"
    single.write_text(f"node.id=1\nlog.dirs={tmp_path / 'data'}\n")
    tidelog("format", "--config", str(single), *USERS)
    for _ in range(2):
        async with Broker(data_dir=str(tmp_path / "data")) as broker, raw_client(broker.bootstrap_servers) as client:
            described = (await client.ask(DescribeUserScramCredentialsRequest(users=None))).results
            assert [(each.user, each.credential_infos[0].iterations) for each in described] == [
                ("alice", 8192),
                ("bob", 4096),
            ]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / BOOTSTRAP_CHECKPOINT).write_bytes(b"garbage" * 20)
    with pytest.raises(DamagedLog, match=BOOTSTRAP_CHECKPOINT):
        read_first_records(LocalFileSystem(), str(tmp_path))
