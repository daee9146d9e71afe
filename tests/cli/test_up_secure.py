"""`tidelog up --secure` as its users have it: the files that it writes, and a second user who may do just one thing."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from support.planted_secrets import watch
from support.secure_tidelog import SecureTidelog, running_secure
from support.tidelog_process import tidelog_command

import tidelog
import tidelog.sync
from tidelog.config.properties import parse_properties

PASSWORD = "planted-password-of-alice"


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureTidelog]:
    with running_secure(tmp_path_factory.mktemp("up-secure")) as running:
        yield running


def command(secure: SecureTidelog, *arguments: str, given: str = "", succeeds: bool = True) -> str:
    """As the administrator; what it printed."""
    file = secure.data_dir / "security" / "client.properties"
    done = subprocess.run(
        [tidelog_command(), *arguments, "--command-config", str(file)],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_each_of_the_three_files_is_enough_for_its_client(secure: SecureTidelog) -> None:
    folder = secure.data_dir / "security"
    command(secure, "topics", "--create", "--topic", "orders")
    with tidelog.sync.Producer(config=tidelog.read_config(folder / "tidelog.toml")) as producer:
        producer.send("orders", value=b"paid").result(30)
    options = parse_properties((folder / "librdkafka.conf").read_text())
    watch(options["sasl.password"])
    consumer = Consumer({**options, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    deadline, message = time.monotonic() + 60, None
    while message is None and time.monotonic() < deadline:
        message = consumer.poll(1)
    consumer.close()
    assert message is not None
    assert message.value() == b"paid"


def test_another_user_may_do_what_was_allowed_and_nothing_else(secure: SecureTidelog, tmp_path: Path) -> None:
    command(secure, "users", "add", "alice", "--password-stdin", given=PASSWORD)
    command(secure, "acls", "--add", "--allow-principal", "User:alice", "--producer", "--topic", "hers", given="y\n")
    for topic in ("hers", "others"):
        command(secure, "topics", "--create", "--topic", topic)
    options = {**secure.login.librdkafka(), "sasl.username": "alice", "sasl.password": PASSWORD, "log_level": 0}
    outcomes: dict[str | None, str | None] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        outcomes[message.topic()] = None if error is None else error.name()

    producer = Producer({"bootstrap.servers": secure.servers, **options})
    for topic in ("hers", "others"):
        producer.produce(topic, b"x", on_delivery=delivered)
    assert producer.flush(60) == 0
    assert outcomes == {"hers": None, "others": "TOPIC_AUTHORIZATION_FAILED"}
    listed = command(secure, "acls", "--list", "--topic", "hers")
    assert "User:alice" in listed
    assert "alice" in command(secure, "users", "list")


def test_what_is_open_and_what_is_secured_are_not_mixed_up(secure: SecureTidelog) -> None:
    refused = subprocess.run(
        [tidelog_command(), "up", "--port", "0", "--data-dir", str(secure.data_dir)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "start it with --secure" in refused.stderr + refused.stdout
    stranger = subprocess.run(
        [tidelog_command(), "topics", "--list", "-b", secure.servers], capture_output=True, text=True, check=False
    )
    assert stranger.returncode != 0
    assert "security.protocol" in stranger.stderr + stranger.stdout
