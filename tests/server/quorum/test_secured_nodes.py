"""Three nodes whose traffic, with clients and among themselves, is all encrypted and logged in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.nodes_in_process import Nodes
from support.tidelog_command import run_tidelog

from tidelog.client.admin import Admin, NewTopic
from tidelog.client.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.config.broker import BrokerConfig
from tidelog.network.client_connection import AuthenticationError
from tidelog.security.certificates import DevelopmentAuthority

HOST = "127.0.0.1"
BOTH = "broker,controller"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
NODE_PASSWORD = "planted-node-secret"
USER_PASSWORD = "planted-user-secret"
LONG_ENOUGH_SECONDS = 3


def node_properties(directory: Path, authority: DevelopmentAuthority) -> dict[str, str]:
    """The listener for clients and brokers is called PLAINTEXT in these tests, and is not."""
    directory.mkdir(exist_ok=True)
    truststore, keystore = directory / "authority.pem", directory / "keystore.pem"
    truststore.write_bytes(authority.pair.certificate)
    keystore.write_bytes(authority.issue("node", hosts=(HOST,)).keystore)
    node = f'{MODULE} required username="node" password="{NODE_PASSWORD}" user_node="{NODE_PASSWORD}"'
    return {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": f'{node} user_alice="{USER_PASSWORD}";',
        "listener.name.controller.plain.sasl.jaas.config": f"{node};",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(truststore),
        # Their own certificates are asked for as well.
        "listener.name.controller.ssl.client.auth": "required",
        "connections.max.reauth.ms": "3000",
    }


def client_options(cluster: Nodes, directory: Path, password: str = USER_PASSWORD) -> dict[str, str]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
        "ssl.ca.location": str(directory / "authority.pem"),
    }


class NodesWithStranger(Nodes):
    """Node 3 has other properties."""

    stranger: dict[str, str]

    def config(self, number: int) -> BrokerConfig:
        same = self._properties
        try:
            self._properties = self.stranger if number == 3 else same
            return super().config(number)
        finally:
            self._properties = same


@asynccontextmanager
async def secured_nodes(directory: Path, properties: Mapping[str, str]) -> AsyncIterator[Nodes]:
    cluster = Nodes(directory / "data", {1: BOTH, 2: BOTH, 3: BOTH}, dict(properties))
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.close()


async def test_records_groups_and_transactions_survive_a_change_of_controller(tmp_path: Path) -> None:
    properties = node_properties(tmp_path, DevelopmentAuthority.new())
    async with secured_nodes(tmp_path, properties) as cluster:
        options = client_options(cluster, tmp_path)
        async with Admin(config=options) as admin:
            topic = NewTopic(name="t", partitions=3, replication_factor=3, configs={"min.insync.replicas": "2"})
            Admin.raise_any(await admin.create_topics([topic]))
        async with Producer(config={**options, "transactional.id": "t1"}) as producer:
            await producer.init_transactions()
            for turn in range(2):
                async with producer.transaction():
                    for number in range(30):
                        await producer.send("t", f"{turn}-{number}".encode(), key=f"{number}".encode())
                controller = cluster.controller()
                if turn == 0 and controller is not None:
                    await cluster.kill(controller)
                    await cluster.until(lambda: cluster.controller() is not None, "another controller")
        reading = {"group.id": "g", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        async with Consumer("t", config={**options, **reading}) as consumer:
            values: list[bytes | None] = []
            while len(values) < 60:
                values += [record.value for record in await consumer.poll(timeout_ms=1000)]
        assert len(set(values)) == 60
        with pytest.raises(AuthenticationError, match="the user 'alice' with PLAIN"):
            await Admin(config=client_options(cluster, tmp_path, "wrong")).start()


class FormattedNodes(Nodes):
    """Formatted as operators do it, with the first users."""

    def format(self, number: int, cluster_id: str) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        file = self._directory / f"node-{number}.properties"
        static = self.config(number).layers.static
        file.write_text("".join(f"{name}={value}\n" for name, value in static.items()))
        users = (("node", NODE_PASSWORD), ("alice", USER_PASSWORD))
        added = [f"--add-scram=SCRAM-SHA-512=[name={name},password={password}]" for name, password in users]
        run_tidelog("format", "--config", str(file), "--cluster-id", cluster_id, *added)


@pytest.mark.slow
async def test_brokers_log_in_to_each_other_with_scram(tmp_path: Path) -> None:
    """Their credentials are in the metadata, so that controllers, which bring it, ask for something else."""
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule"
    properties = {
        **node_properties(tmp_path, DevelopmentAuthority.new()),
        "listener.name.plaintext.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f'{scram} required username="node" '
        f'password="{NODE_PASSWORD}";',
    }
    cluster = FormattedNodes(tmp_path / "data", {1: BOTH, 2: BOTH, 3: "broker"}, properties)
    try:
        await cluster.start()
        options = {**client_options(cluster, tmp_path), "sasl.mechanism": "SCRAM-SHA-512"}
        async with Admin(config=options) as admin, Producer(config=options) as producer:
            topic = NewTopic(name="t", partitions=3, replication_factor=3, configs={"min.insync.replicas": "3"})
            Admin.raise_any(await admin.create_topics([topic]))
            for number in range(30):
                await producer.send("t", f"{number}".encode())
            await producer.flush()
    finally:
        await cluster.close()


async def test_nodes_stay_connected_when_their_sessions_end(tmp_path: Path) -> None:
    """Sessions last for one second, and brokers keep their registrations and their places in sync."""
    properties = {**node_properties(tmp_path, DevelopmentAuthority.new()), "connections.max.reauth.ms": "1500"}
    async with secured_nodes(tmp_path, properties) as cluster:
        options = client_options(cluster, tmp_path)
        async with Admin(config=options) as admin, Producer(config=options) as producer:
            Admin.raise_any(await admin.create_topics([NewTopic(name="t", partitions=1, replication_factor=3)]))
            controller = cluster.controller()
            for number in range(60):
                await producer.send("t", f"{number}".encode())
                await producer.flush()
                await asyncio.sleep(0.1)
            described = Admin.raise_any(await admin.describe_topics(["t"]))["t"]
        assert len(described.partitions[0].in_sync) == 3
        assert cluster.controller() == controller


async def test_a_node_with_another_password_does_not_get_in(tmp_path: Path) -> None:
    properties = node_properties(tmp_path, DevelopmentAuthority.new())
    stranger = {
        name: value.replace(f' password="{NODE_PASSWORD}"', ' password="guessed"') for name, value in properties.items()
    }
    cluster = NodesWithStranger(tmp_path / "data", {1: BOTH, 2: BOTH, 3: BOTH}, properties)
    cluster.stranger = stranger
    try:
        await cluster.start(1, 2)
        begun = asyncio.create_task(cluster.start(3))
        async with Admin(config=client_options(cluster, tmp_path)) as admin:
            # Long enough for a node that may.
            await asyncio.sleep(LONG_ENOUGH_SECONDS)
            described = await admin.describe_cluster()
        assert {node.node_id for node in described.nodes} == {1, 2}
        assert not begun.done()
        begun.cancel()
        await asyncio.gather(begun, return_exceptions=True)
    finally:
        await cluster.close()
