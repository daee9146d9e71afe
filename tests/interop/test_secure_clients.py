"""Unmodified clients of several languages over SASL_SSL with SCRAM, on one node and on three that talk so among
themselves: what `tidelog up --secure` starts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from interop.conftest import CLIENT_NAMES, ON_JVM, ON_NODE, OpenClient
from support.clients.confluent import ConfluentClient
from support.clients.contract import Message
from support.clients.credentials import ScramLogin
from support.clients.json_lines import JavaClient
from support.download_cache import Unavailable
from support.processes import ProcessFailed
from support.secure_tidelog import SecureTidelog, running_secure
from support.streams import count_words, streams_jars

from tidelog.security.certificates import DevelopmentAuthority

MARKS = {"java": ON_JVM, "kafkajs": ON_NODE}
CLIENTS = [pytest.param(name, marks=MARKS.get(name, [])) for name in CLIENT_NAMES]


@pytest.fixture(scope="module")
def secure_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureTidelog]:
    with running_secure(tmp_path_factory.mktemp("secure")) as node:
        yield node


@pytest.fixture(scope="module")
def secure_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureTidelog]:
    with running_secure(tmp_path_factory.mktemp("secure-cluster"), "--nodes", "3", nodes=3) as cluster:
        yield cluster


def daily_work(open_client: OpenClient, name: str, target: SecureTidelog, topic: str) -> None:
    client = open_client(name, target.servers, target.login)
    assert client.create_topic(topic, partitions=2) == 0
    now = int(time.time() * 1000)
    messages = [
        Message(key=b"k", value=f"{number}".encode(), timestamp_ms=now + number, offset=number) for number in range(20)
    ]
    assert client.produce(topic, messages, idempotent=True) == list(range(20))
    assert client.read(topic, count=20) == messages
    assert len(client.read_in_group(topic, f"group-of-{topic}", count=20)) == 20
    assert client.committed_offset(topic, f"group-of-{topic}") == 20


@pytest.mark.parametrize("name", CLIENTS)
def test_daily_work_on_one_node(open_client: OpenClient, secure_node: SecureTidelog, topic: str, name: str) -> None:
    daily_work(open_client, name, secure_node, topic)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
def test_daily_work_on_three_nodes(
    open_client: OpenClient, secure_cluster: SecureTidelog, topic: str, name: str
) -> None:
    daily_work(open_client, name, secure_cluster, topic)


@pytest.mark.parametrize("wrong", ["password", "user", "authority"])
def test_whoever_does_not_belong_is_refused(secure_node: SecureTidelog, tmp_path: Path, wrong: str) -> None:
    login = secure_node.login
    if wrong == "authority":
        other = tmp_path / "other.pem"
        other.write_bytes(DevelopmentAuthority.new().pair.certificate)
        login = dataclasses.replace(login, authority=other)
    else:
        login = ScramLogin(
            user="nobody" if wrong == "user" else login.user,
            password="nothing" if wrong == "password" else login.password,
            authority=login.authority,
        )
    problems: list[str] = []
    settings: dict[str, Any] = {"bootstrap.servers": secure_node.servers, **login.librdkafka(), "log_level": 0}
    settings["error_cb"] = lambda error: problems.append(error.name())
    admin = AdminClient(settings)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=3)
    # Callbacks are called in here.
    admin.poll(1)
    assert ("_SSL" if wrong == "authority" else "_AUTHENTICATION") in problems


@pytest.mark.slow
@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("where", ["secure_node", "secure_cluster"])
def test_kafka_streams_counts_exactly_once(
    request: pytest.FixtureRequest, tmp_path: Path, topic: str, where: str
) -> None:
    target: SecureTidelog = request.getfixturevalue(where)
    try:
        jars = streams_jars()
    except Unavailable as error:
        pytest.skip(f"Kafka Streams cannot be had from Maven Central: {error}")
    client = ConfluentClient(target.servers, target.login)
    counts = f"{topic}-counts"
    assert [client.create_topic(each) for each in (topic, counts)] == [0, 0]
    now = int(time.time() * 1000)
    words = [f"word-{number % 3}".encode() for number in range(60)]
    client.produce(topic, [Message(key=word, value=b"", timestamp_ms=now) for word in words])
    settings = {"bootstrap.servers": target.servers, "replication.factor": "1", **target.login.java()}
    count_words(jars, tmp_path, settings, topic, counts, len(words))
    read = client.read(counts, count=60)
    assert {message.key: message.value for message in read} == {f"word-{n}".encode(): b"20" for n in range(3)}


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
def test_the_tools_of_java_take_the_file_as_it_is(
    open_client: OpenClient, secure_node: SecureTidelog, topic: str
) -> None:
    java = open_client("java", secure_node.servers)
    assert isinstance(java, JavaClient)
    file = secure_node.data_dir / "security" / "client.properties"
    options = ("--command-config", str(file), "--topic", topic)
    tool = "org.apache.kafka.tools.TopicCommand"
    java.run_tool(tool, *options, "--create", "--partitions", "3")
    assert "PartitionCount: 3" in java.run_tool(tool, *options, "--describe")
    with pytest.raises(ProcessFailed):
        java.run_tool(tool, "--topic", topic, "--describe")
