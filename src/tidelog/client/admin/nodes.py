"""The brokers themselves: which there are, what they can do, and what lies in their directories."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import BrokerAddress, known
from tidelog.client.cluster.routing import ask_each_broker
from tidelog.client.errors import api_error, outcome, raise_for_code
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_cluster_response import DescribeClusterResponse
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from tidelog.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from tidelog.protocol.messages.unregister_broker_response import UnregisterBrokerResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescription:
    node_id: int
    host: str
    port: int
    rack: str | None
    fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    cluster_id: str
    controller: int | None
    nodes: tuple[NodeDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerVersions:
    """What one broker serves, or why it could not be asked."""

    node: BrokerAddress
    apis: tuple[ApiRange, ...] = ()
    features: Mapping[str, int] | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReplica:
    """A future replica is one that is being moved to this directory."""

    topic_partition: TopicPartition
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectoryDescription:
    """The totals, in bytes, are -1 where the broker does not tell."""

    path: str
    error: ApiError | None
    replicas: tuple[StoredReplica, ...]
    total_bytes: int
    usable_bytes: int

    @property
    def sizes(self) -> dict[TopicPartition, int]:
        """Bytes on disk, of replicas that are in use."""
        return {replica.topic_partition: replica.size for replica in self.replicas if not replica.is_future}


class NodeAdmin:
    _cluster: Cluster

    async def describe_cluster(self, *, include_fenced: bool = False) -> ClusterDescription:
        """The brokers that are alive; with `include_fenced` also the registered ones that are not."""
        request = DescribeClusterRequest(include_fenced_brokers=include_fenced)

        async def attempt() -> ClusterDescription:
            try:
                reply = await self._cluster.ask_any(request, DescribeClusterResponse)
            except UnsupportedByBroker:
                return await self._cluster_by_metadata()
            raise_for_code(reply.error_code, reply.error_message)
            return ClusterDescription(
                cluster_id=reply.cluster_id,
                controller=known(reply.controller_id),
                nodes=tuple(
                    NodeDescription(
                        node_id=broker.broker_id,
                        host=broker.host,
                        port=broker.port,
                        rack=broker.rack,
                        fenced=broker.is_fenced,
                    )
                    for broker in sorted(reply.brokers, key=lambda broker: broker.broker_id)
                ),
            )

        return await self._cluster.retry("describing the cluster", attempt)

    async def _cluster_by_metadata(self) -> ClusterDescription:
        metadata = await self._cluster.fetch_metadata(())
        return ClusterDescription(
            cluster_id=metadata.cluster_id or "",
            controller=known(metadata.controller),
            nodes=tuple(
                NodeDescription(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
                for _, node in sorted(metadata.brokers.items())
            ),
        )

    async def unregister_broker(self, node_id: int, *, timeout_ms: float | None = None) -> None:
        """Let the cluster forget a broker that will not come back."""

        async def attempt() -> None:
            request = UnregisterBrokerRequest(broker_id=node_id)
            reply = await self._cluster.ask_controller(request, UnregisterBrokerResponse)
            raise_for_code(reply.error_code, reply.error_message or f"broker {node_id}")

        await self._cluster.retry(f"unregistering broker {node_id}", attempt, timeout_ms=timeout_ms)

    async def broker_versions(self) -> list[BrokerVersions]:
        """The APIs and versions of every broker; one that does not answer is reported, not raised."""

        async def ask(node: BrokerAddress) -> BrokerVersions:
            try:
                connection = await self._cluster.connection(node.node_id)
            except ConnectionProblem as error:
                return BrokerVersions(node=node, problem=str(error))
            apis = tuple(
                ApiRange(api_key=api_key, min_version=low, max_version=high)
                for api_key, (low, high) in sorted(connection.versions.items())
            )
            return BrokerVersions(node=node, apis=apis, features=connection.features)

        nodes = [node for _, node in sorted(self._cluster.metadata.brokers.items())]
        return list(await asyncio.gather(*(ask(node) for node in nodes)))

    async def describe_log_dirs(
        self, node_ids: Collection[int] | None = None, *, timeout_ms: float | None = None
    ) -> dict[int, tuple[LogDirectoryDescription, ...] | ApiError]:
        """What lies in the log directories of these brokers, or of all. One that does not answer until the time is up
        has an error."""

        async def ask(node: int) -> tuple[LogDirectoryDescription, ...] | ApiError:
            reply = await self._cluster.ask_node(node, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
            if reply.error_code:
                return api_error(reply.error_code, f"broker {node}")
            return tuple(
                LogDirectoryDescription(
                    path=result.log_dir,
                    error=outcome(result.error_code, result.log_dir, None),
                    replicas=tuple(
                        StoredReplica(
                            topic_partition=TopicPartition(topic.name, entry.partition_index),
                            size=entry.partition_size,
                            offset_lag=entry.offset_lag,
                            is_future=entry.is_future_key,
                        )
                        for topic in result.topics
                        for entry in topic.partitions
                    ),
                    total_bytes=result.total_bytes,
                    usable_bytes=result.usable_bytes,
                )
                for result in reply.results
            )

        return await ask_each_broker(self._cluster, "describing log directories", node_ids, ask, timeout_ms=timeout_ms)

    async def alter_replica_log_dirs(
        self, directories: Mapping[tuple[TopicPartition, int], str]
    ) -> dict[tuple[TopicPartition, int], ApiError | None]:
        """Move replicas, by partition and broker, to these log directories of their brokers. It goes on after the
        reply: `describe_log_dirs` shows the copies that are being made."""

        async def ask(node: int) -> dict[tuple[TopicPartition, int], ApiError | None]:
            dirs: dict[str, dict[str, list[int]]] = {}
            for (partition, broker), path in directories.items():
                if broker == node:
                    dirs.setdefault(path, {}).setdefault(partition.topic, []).append(partition.partition)
            request = AlterReplicaLogDirsRequest(
                dirs=[
                    AlterReplicaLogDir(
                        path=path,
                        topics=[AlterReplicaLogDirTopic(name=name, partitions=each) for name, each in topics.items()],
                    )
                    for path, topics in dirs.items()
                ]
            )
            reply = await self._cluster.ask_node(node, request, AlterReplicaLogDirsResponse)
            return {
                (TopicPartition(topic.topic_name, entry.partition_index), node): outcome(
                    entry.error_code, f"{topic.topic_name}-{entry.partition_index} on broker {node}", None
                )
                for topic in reply.results
                for entry in topic.partitions
            }

        async def attempt() -> dict[tuple[TopicPartition, int], ApiError | None]:
            nodes = sorted({broker for _, broker in directories})
            answers = await asyncio.gather(*map(ask, nodes))
            return {key: error for answer in answers for key, error in answer.items()}

        return await self._cluster.retry("moving replicas", attempt)
