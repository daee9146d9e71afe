"""One of the two that are compared: its nodes, connections to them, and what it calls things."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from support.raw_client import RawClient
from twin.comparison import tree
from twin.normalisation import Normaliser

from tidelog.protocol.api import response_class
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from tidelog.protocol.schema import Message, Versions

CLOSED = "(the connection is closed)"
NO_REPLY = "(no reply)"
WAIT_SECONDS = 20.0
REPLY_SECONDS = 8.0

# The ids of topics are learned where they are given out; elsewhere they are compared with what was learned.
_TELLS_IDS = {ApiKey.CREATE_TOPICS, ApiKey.METADATA}


class Side:
    """Nodes are numbered from 1; `addresses` are host and port of each."""

    def __init__(self, name: str, addresses: Mapping[int, tuple[str, int]]) -> None:
        self.name = name
        self.addresses = addresses
        self.memory: dict[str, Any] = {}
        self.versions: dict[ApiKey, Versions] = {}
        self.normalise = Normaliser({}, "")
        self._connections: dict[tuple[int, int], tuple[RawClient, asyncio.StreamWriter]] = {}

    async def open(self) -> None:
        hello = ApiVersionsRequest(client_software_name="twin", client_software_version="1")
        served = (await self.message(1, hello, 3)).api_keys
        known = set(ApiKey)
        self.versions = {
            ApiKey(each.api_key): (each.min_version, each.max_version) for each in served if each.api_key in known
        }
        cluster = await self.message(1, DescribeClusterRequest(), 0)
        ports = {port: number for number, (_, port) in self.addresses.items()}
        self.normalise = Normaliser(ports, cluster.cluster_id)

    async def close(self) -> None:
        for _, writer in self._connections.values():
            writer.close()
        self._connections.clear()

    async def message(self, node: int, request: Message, version: int, lane: int = 0) -> Any:
        """The reply as a message; raises if the connection is closed."""
        client = await self._connection(node, lane)
        return await client.ask(request, version)

    async def outcome(self, node: int, request: Message, version: int, lane: int = 0) -> Any:
        """The reply as a tree, or one of CLOSED and NO_REPLY."""
        api = ApiKey(request.SCHEMA.api_key)
        try:
            client = await self._connection(node, lane)
            asked = client.send(request, version)
            if api == ApiKey.PRODUCE and getattr(request, "acks", None) == 0:
                # Nothing comes back; the next reply on the connection must be that of the next request.
                hello = ApiVersionsRequest(client_software_name="twin", client_software_version="1")
                await client.receive(client.send(hello, 3))
                return NO_REPLY
            reply = await asyncio.wait_for(client.receive(asked), REPLY_SECONDS)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._forget(node, lane)
            return CLOSED
        except TimeoutError:
            self._forget(node, lane)
            return NO_REPLY
        except ProtocolError as error:
            self._forget(node, lane)
            return f"(not a {response_class(api).__name__}: {error})"
        found = tree(reply, version)
        if api in _TELLS_IDS:
            self._learn(found)
        return found

    async def unserved(self, node: int, api: ApiKey, version: int) -> str:
        """What comes of a version that is not served: the first bytes of a reply, or CLOSED."""
        reader, writer = await asyncio.open_connection(*self.addresses[node])
        try:
            header = api.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff" + bytes(64)
            writer.write(len(header).to_bytes(4, "big") + header)
            reply = await asyncio.wait_for(reader.read(4096), REPLY_SECONDS)
            # Length and correlation id, and then an error code and what is served, which is compared elsewhere.
            return f"a reply that begins with {reply[4:10].hex()}" if reply else CLOSED
        except ConnectionError:
            return CLOSED
        finally:
            writer.close()

    def keep(self, run: str, name: str, value: Any) -> None:
        """A value that the broker made up, by its name in a script."""
        self.memory[name] = value
        self.normalise.learn(value, f"({name} of {run})")

    async def settle(self) -> None:
        """Until every node has seen all of the metadata log that there is now."""
        topics = [TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
        node = next(iter(self.addresses))
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                reply = await self.message(node, DescribeQuorumRequest(topics=topics), 1)
                if not reply.error_code and not reply.topics[0].partitions[0].error_code:
                    break
                await asyncio.sleep(0.02)
            end = max(each.log_end_offset for each in reply.topics[0].partitions[0].current_voters)
            hello = ApiVersionsRequest(client_software_name="twin", client_software_version="1")
            for number in self.addresses:
                while (await self.message(number, hello, 3)).finalized_features_epoch < end - 1:
                    await asyncio.sleep(0.005)

    def _learn(self, found: Any) -> None:
        if isinstance(found, list):
            for element in found:
                self._learn(element)
        if not isinstance(found, dict):
            return
        topic_id, name = found.get("topic_id"), found.get("name")
        if topic_id and any(topic_id) and name:
            self.memory["@" + name] = topic_id
            self.normalise.learn(topic_id, f"(id of {name})")
        for element in found.values():
            if isinstance(element, list | dict):
                self._learn(element)

    async def _connection(self, node: int, lane: int) -> RawClient:
        found = self._connections.get((node, lane))
        if found is None:
            reader, writer = await asyncio.open_connection(*self.addresses[node])
            found = RawClient(reader, writer), writer
            self._connections[node, lane] = found
        return found[0]

    def _forget(self, node: int, lane: int) -> None:
        found = self._connections.pop((node, lane), None)
        if found is not None:
            found[1].close()
