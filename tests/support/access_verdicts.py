"""Asks a node the matrix of `support.access_cases`, and compares what tidelog answers with what Apache Kafka does.

Apache Kafka's answers are recorded in `access_verdicts.json` beside this file: `python -m tools.record_access_verdicts`
writes it. A verdict names the error code of each topic, group or transactional id of the reply, those without one, and
what the client may do with it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from support.access_cases import (
    ACL_SETS,
    ADMINISTRATOR,
    CONSUMER_GROUP,
    DOOMED_TOPIC,
    GROUP,
    KNOWN_NAMES,
    OPEN_TRANSACTION,
    OTHER_TOPIC,
    PROBES,
    TOPIC,
    TOPICS,
    TRANSACTION,
    Acls,
    Probe,
    digest,
)
from support.apache_kafka import running_apache_kafka
from support.nodes_in_process import Nodes
from support.processes import HANG_SECONDS, free_port
from support.raw_client import RawClient, raw_client
from support.raw_transactions import RawProducer
from twin.asking import build
from twin.cases.security import acl_filter

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.envelope_response import EnvelopeResponse
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.schema import Message, covers
from tidelog.server.declaration import ListenerKind
from tidelog.server.quorum.envelope import unseal_reply

RECORDED = Path(__file__).parent / "access_verdicts.json"
CLOSED = "closed"
PASSWORD = "administrators-secret"

_LOGIN = (
    f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{ADMINISTRATOR.name}" '
    f'password="{PASSWORD}" user_{ADMINISTRATOR.name}="{PASSWORD}";'
)

# A node with an authorizer, and with an administrator.
ACL_PROPERTIES: dict[str, str] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": str(ADMINISTRATOR),
}

# What both need so that nothing of the stage ends while the matrix is asked.
LASTING: Mapping[str, str] = {
    **ACL_PROPERTIES,
    "auto.create.topics.enable": "true",
    "group.consumer.session.timeout.ms": "3600000",
    "group.consumer.max.session.timeout.ms": "3600000",
    # Records of the past stay.
    "log.retention.ms": "-1",
    "transaction.max.timeout.ms": "3600000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


# --------------------------------------------------------------------------------------------------------------
# What is asked about.


class Stage:
    """A node with topics, groups and transactions, and an administrator who puts them back where a probe took them."""

    def __init__(self, addresses: Mapping[ListenerKind, str], administrators: Mapping[ListenerKind, RawClient]) -> None:
        """An administrator at each listener that has ACLs of its own to wait for."""
        self._addresses = addresses
        self._administrators = administrators
        self._administrator = administrators[ListenerKind.BROKER]
        # As `twin.asking.build` wants them.
        self._ids: dict[str, Any] = {}
        self._clients: dict[ListenerKind, RawClient] = {}

    async def prepare(self) -> None:
        await self._create(*TOPICS)
        for key_type, key in ((0, GROUP), (1, TRANSACTION)):
            given = {"key_type": key_type, "coordinator_keys": [key]}
            await self._until(ApiKey.FIND_COORDINATOR, 4, given, lambda reply: not reply.coordinators[0].error_code)
        await self._commit_offsets()
        joining = {
            "group_id": CONSUMER_GROUP,
            "member_id": "member",
            "rebalance_timeout_ms": 3_600_000,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": [],
        }
        heartbeat = await self._until(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, joining, lambda reply: not reply.error_code and reply.assignment
        )
        assert heartbeat.assignment.topic_partitions, heartbeat
        for transactional_id in (TRANSACTION, OPEN_TRANSACTION):
            producer = RawProducer(self._administrator, transactional_id)
            assert not await producer.init(timeout_ms=3_600_000)
        assert not await producer.add(TOPIC)

    async def ask_all(self, probes: Sequence[Probe], acl_sets: Sequence[Acls]) -> dict[str, list[str]]:
        """The verdicts on each probe, by its name, in the order of the sets."""
        verdicts: dict[str, list[str]] = {probe.name: [] for probe in probes}
        for acls in acl_sets:
            await self._commit_offsets()
            await self._create(DOOMED_TOPIC)
            await self.set_acls(acls)
            for probe in probes:
                if probe.key is ApiKey.DELETE_TOPICS:
                    await self._create(DOOMED_TOPIC)
                verdicts[probe.name].append(await self.ask(probe))
        return verdicts

    async def ask(self, probe: Probe) -> str:
        request = build(probe.key, probe.given, probe.version, "", self._ids)
        client = self._clients.get(probe.listener)
        try:
            if client is None:
                host, _, port = self._addresses[probe.listener].partition(":")
                reader, writer = await asyncio.open_connection(host, int(port))
                client = self._clients[probe.listener] = RawClient(reader, writer)
            reply = await client.ask(request, probe.version)
        except (asyncio.IncompleteReadError, ConnectionError):
            del self._clients[probe.listener]
            return CLOSED
        return self._verdict(reply, probe.version)

    async def set_acls(self, acls: Acls) -> None:
        await self._ask(ApiKey.DELETE_ACLS, 3, {"filters": [acl_filter()]})
        reply = await self._ask(ApiKey.CREATE_ACLS, 3, {"creations": list(acls.entries)})
        assert all(not result.error_code for result in reply.results), reply
        for administrator in self._administrators.values():
            question = build(ApiKey.DESCRIBE_ACLS, acl_filter(), 3, "", {})
            async with asyncio.timeout(HANG_SECONDS):
                while await _count_acls(administrator, question) != len(acls.entries):
                    await asyncio.sleep(0.002)

    # -- the administrator ---------------------------------------------------------------------------------------

    async def _ask(self, key: ApiKey, version: int, given: Mapping[str, Any]) -> Any:
        return await self._administrator.ask(build(key, given, version, "", self._ids), version)

    async def _until(self, key: ApiKey, version: int, given: Mapping[str, Any], done: Any) -> Any:
        async with asyncio.timeout(HANG_SECONDS):
            while not done(reply := await self._ask(key, version, given)):
                await asyncio.sleep(0.05)
        return reply

    async def _create(self, *names: str) -> None:
        """Those that are missing."""
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
        reply = await self._administrator.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
        for result in reply.topics:
            if not result.error_code:
                self._ids[f"@{result.name}"] = result.topic_id
        fresh = [result.name for result in reply.topics if not result.error_code]
        if fresh:
            offsets = [{"name": name, "partitions": [{"partition_index": 0, "timestamp": -2}]} for name in fresh]
            await self._until(
                ApiKey.LIST_OFFSETS,
                7,
                {"replica_id": -1, "topics": offsets},
                lambda reply: all(not each.partitions[0].error_code for each in reply.topics),
            )

    async def _commit_offsets(self) -> None:
        stored = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        given = {
            "group_id": GROUP,
            "generation_id_or_member_epoch": -1,
            "topics": [{"name": name, "partitions": [stored]} for name in (TOPIC, OTHER_TOPIC)],
        }
        await self._until(
            ApiKey.OFFSET_COMMIT,
            8,
            given,
            lambda reply: all(not each.partitions[0].error_code for each in reply.topics),
        )

    # -- verdicts ------------------------------------------------------------------------------------------------

    def _verdict(self, reply: Message, version: int) -> str:
        said = set(self._said(reply, version, ""))
        if isinstance(reply, EnvelopeResponse) and reply.response_data is not None:
            said |= set(self._said(unseal_reply(reply, ApiKey.CREATE_TOPICS, 5), 5, "in it "))
        return " ".join(sorted(said))

    def _said(self, message: Message, version: int, about: str) -> Iterator[str]:
        present = [field for field in message.SCHEMA.fields if covers(field.versions, version)]
        ids = {topic_id: name for name, topic_id in self._ids.items()}
        own = ""
        for field in present:
            value = getattr(message, field.name)
            if isinstance(value, str) and value in KNOWN_NAMES:
                own = value
                yield own
            elif isinstance(value, bytes) and value in ids:
                own = own or ids[value]
                yield ids[value]
        about = own or about
        for field in present:
            value = getattr(message, field.name)
            if field.name.endswith("error_code"):
                yield f"{about}={value}"
            elif field.name.endswith("authorized_operations"):
                yield f"{about}~{value}"
            elif isinstance(value, Message):
                yield from self._said(value, version, about)
            elif isinstance(value, list | tuple):
                for each in value:
                    if isinstance(each, Message):
                        yield from self._said(each, version, about)
                    elif each in KNOWN_NAMES:
                        yield each


async def _count_acls(administrator: RawClient, question: Message) -> int:
    found = await administrator.ask(question, 3)
    return sum(len(each.acls) for each in found.resources)


# --------------------------------------------------------------------------------------------------------------
# Apache Kafka.


@asynccontextmanager
async def authenticated(address: str) -> AsyncIterator[RawClient]:
    """A connection of the administrator."""
    async with raw_client(address) as client:
        handshake = await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert not handshake.error_code, handshake
        secret = f"\0{ADMINISTRATOR.name}\0{PASSWORD}".encode()
        reply = await client.ask(SaslAuthenticateRequest(auth_bytes=secret), 2)
        assert not reply.error_code, reply
        yield client


@contextmanager
def running_kafka_with_acls(jars: Path, directory: Path) -> Iterator[Mapping[str, str]]:
    """The addresses of its listeners: PLAINTEXT and OPEN, a controller's, for anybody; ADMIN and CONTROLLER."""
    ports = {"ADMIN": free_port(), "OPEN": free_port()}
    anybody, secured = ("PLAINTEXT", "OPEN"), ("ADMIN", "CONTROLLER")
    protocols = dict.fromkeys(anybody, "PLAINTEXT") | dict.fromkeys(secured, "SASL_PLAINTEXT")
    properties = {
        **LASTING,
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "controller.listener.names": "CONTROLLER,OPEN",
        "inter.broker.listener.name": "ADMIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.admin.plain.sasl.jaas.config": _LOGIN,
        "listener.name.controller.plain.sasl.jaas.config": _LOGIN,
    }
    with running_apache_kafka(jars, directory, properties, ports) as broker:
        lines = (directory / "server.properties").read_text().splitlines()
        (listeners,) = (line.partition("=")[2] for line in lines if line.startswith("listeners="))
        addresses = dict(each.split("://") for each in listeners.split(","))
        assert addresses["PLAINTEXT"] == broker.bootstrap_servers
        yield addresses


async def ask_apache_kafka(
    addresses: Mapping[str, str], probes: Sequence[Probe] = PROBES, acl_sets: Sequence[Acls] = ACL_SETS
) -> dict[str, list[str]]:
    open_ones = {ListenerKind.BROKER: addresses["PLAINTEXT"], ListenerKind.CONTROLLER: addresses["OPEN"]}
    async with authenticated(addresses["ADMIN"]) as broker, authenticated(addresses["CONTROLLER"]) as controller:
        stage = Stage(open_ones, {ListenerKind.BROKER: broker, ListenerKind.CONTROLLER: controller})
        await stage.prepare()
        return await stage.ask_all(probes, acl_sets)


# --------------------------------------------------------------------------------------------------------------
# tidelog.


def plain_listeners(nodes: Nodes, number: int, administrators: str) -> dict[str, str]:
    """The usual listeners of a node, where everybody is ANONYMOUS, and one for its administrator."""
    usual = {each.name: f"{each.host}:{each.port}" for each in nodes.config(number).listeners}
    listeners = usual | {"ADMIN": administrators}
    return {
        "listeners": ",".join(f"{name}://{address}" for name, address in listeners.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ADMIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.admin.plain.sasl.jaas.config": _LOGIN,
    }


@asynccontextmanager
async def staged_tidelog(directory: Path) -> AsyncIterator[Stage]:
    """A node in this process."""
    nodes = Nodes(directory, {1: "broker,controller"}, dict(LASTING))
    administrators = f"127.0.0.1:{free_port()}"
    nodes.own_properties[1] = plain_listeners(nodes, 1, administrators)
    (voter,) = nodes.config(1).controller_quorum_voters
    addresses = {
        ListenerKind.BROKER: nodes.address(1),
        ListenerKind.CONTROLLER: f"{voter.host}:{voter.port}",
    }
    try:
        await nodes.start()
        async with authenticated(administrators) as administrator:
            stage = Stage(addresses, {ListenerKind.BROKER: administrator})
            await stage.prepare()
            yield stage
    finally:
        await nodes.close()


# --------------------------------------------------------------------------------------------------------------
# What was recorded.

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def record(kafka_version: str, verdicts: Mapping[str, Sequence[str]]) -> None:
    """Each verdict on a probe has a letter, and a line has the letters in the order of the sets of ACLs."""
    probes: dict[str, Any] = {}
    for name, said in verdicts.items():
        letters = {verdict: _LETTERS[number] for number, verdict in enumerate(dict.fromkeys(said))}
        probes[name] = {
            "verdicts": "".join(letters[verdict] for verdict in said),
            **{letter: verdict for verdict, letter in letters.items()},
        }
    recorded = {"apache kafka": kafka_version, "digest of the cases": digest(), "probes": probes}
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")


def recorded_verdicts() -> dict[str, list[str]]:
    recorded = json.loads(RECORDED.read_text())
    assert recorded["digest of the cases"] == digest(), "run: python -m tools.record_access_verdicts"
    return {name: [probe[letter] for letter in probe["verdicts"]] for name, probe in recorded["probes"].items()}
