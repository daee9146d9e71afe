"""Brokers and foreign clients for the interop tests.

Every client runs against tidelog. Two of them also run against Apache Kafka, which shows that the tests ask for what
Kafka does and not for what tidelog does; `TIDELOG_INTEROP_APACHE=all` runs all of them there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
from support.apache_kafka import ApacheKafka, kafka_jars, running_apache_kafka
from support.clients.aiokafka_client import AiokafkaClient
from support.clients.confluent import ConfluentClient
from support.clients.contract import ForeignClient
from support.clients.credentials import ScramLogin
from support.clients.json_lines import JavaClient, kafkajs_client
from support.clients.kafka_python import KafkaPythonClient
from support.download_cache import Unavailable
from support.node_packages import kafkajs_folder
from support.tidelog_process import TidelogBroker, running_tidelog

# One worker of a parallel run gets all that needs a JVM, so that there is one Apache Kafka and one Java client.
ON_JVM = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]
ON_NODE = [pytest.mark.npm, pytest.mark.xdist_group("node")]

CLIENT_NAMES = ("confluent-kafka", "kafka-python", "aiokafka", "kafkajs", "java")
_ALSO_ON_APACHE = CLIENT_NAMES if os.environ.get("TIDELOG_INTEROP_APACHE") == "all" else ("aiokafka", "java")

_topic_numbers = itertools.count()


class OpenClient(Protocol):
    def __call__(self, name: str, bootstrap_servers: str, login: ScramLogin | None = None) -> ForeignClient: ...


@pytest.fixture(scope="session")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


@pytest.fixture(scope="session")
def apache_kafka(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with running_apache_kafka(jars, tmp_path_factory.mktemp("apache-kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def tidelog_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("tidelog")) as broker:
        # A broker that cannot even do this fails here once, and not slowly in each of the tests.
        assert ConfluentClient(broker.bootstrap_servers).create_topic("ready") == 0
        yield broker


@pytest.fixture(scope="session")
def open_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClient]:
    """Open a client by its name and bootstrap servers; all are closed at the end."""
    with ExitStack() as stack:

        def open_one(name: str, bootstrap_servers: str, login: ScramLogin | None = None) -> ForeignClient:
            log = tmp_path_factory.mktemp(name) / "client.log"
            client: ForeignClient
            match name:
                case "confluent-kafka":
                    client = ConfluentClient(bootstrap_servers, login)
                case "kafka-python":
                    client = KafkaPythonClient(bootstrap_servers, login)
                case "aiokafka":
                    client = AiokafkaClient(bootstrap_servers, login)
                case "kafkajs":
                    try:
                        node_modules = kafkajs_folder()
                    except Unavailable as error:
                        pytest.skip(f"kafkajs cannot be had from npm: {error}")
                    client = kafkajs_client(bootstrap_servers, node_modules=node_modules, log=log, login=login)
                case "java":
                    client = JavaClient(bootstrap_servers, jars=request.getfixturevalue("jars"), log=log, login=login)
                case _:
                    raise ValueError(name)
            stack.callback(client.close)
            return client

        yield open_one


def _client_parameters() -> list[object]:
    marks_of = {"java": ON_JVM, "kafkajs": ON_NODE}
    ours = [pytest.param(("tidelog", name), id=name, marks=marks_of.get(name, [])) for name in CLIENT_NAMES]
    theirs = [pytest.param(("apache", name), id=f"apache-{name}", marks=ON_JVM) for name in _ALSO_ON_APACHE]
    return [*ours, *theirs]


@pytest.fixture(scope="session", params=_client_parameters())
def client_and_address(request: pytest.FixtureRequest, open_client: OpenClient) -> tuple[ForeignClient, str]:
    target, name = request.param
    broker = request.getfixturevalue("tidelog_process" if target == "tidelog" else "apache_kafka")
    return open_client(name, broker.bootstrap_servers), broker.bootstrap_servers


@pytest.fixture
def client(client_and_address: tuple[ForeignClient, str]) -> ForeignClient:
    """A foreign client that is connected to one of the two brokers."""
    return client_and_address[0]


@pytest.fixture
def writer(client_and_address: tuple[ForeignClient, str]) -> ConfluentClient:
    """confluent-kafka, connected to the same broker as `client`."""
    return ConfluentClient(client_and_address[1])


@pytest.fixture
def broker_address(client_and_address: tuple[ForeignClient, str]) -> tuple[str, int]:
    """Host and port of the broker that `client` is connected to."""
    host, port = client_and_address[1].split(":")
    return host, int(port)


@pytest.fixture
def topic() -> str:
    """A topic name that no other test uses."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return f"interop-{worker}-{next(_topic_numbers)}"
