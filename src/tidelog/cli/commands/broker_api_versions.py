"""`tidelog broker-api-versions`: which APIs each broker serves, in the lines of Kafka's tool."""

from __future__ import annotations

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.session import run
from tidelog.client.admin import ApiRange, BrokerVersions
from tidelog.protocol.api import schema_versions
from tidelog.protocol.messages import APIS, ApiKey

# What controllers and brokers say among themselves: nobody misses it on a broker's listener.
_AMONG_SERVERS = frozenset(
    {
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
    }
)


@with_groups
def broker_api_versions(cluster: ClusterOptions) -> None:
    """Show which APIs and versions the brokers serve, and which of them this client would use.

    \b
    Examples:
      tidelog broker-api-versions
      tidelog broker-api-versions -b kafka-1:9092 --json
    """
    run(_show(cluster))


async def _show(cluster: ClusterOptions) -> None:
    async with cluster.admin() as admin:
        brokers = await admin.broker_versions()
    cluster.show([_as_json(broker) for broker in brokers], (line for broker in brokers for line in _lines(broker)))
    unreachable = [broker.problem for broker in brokers if broker.problem is not None]
    if unreachable:
        raise CommandFailure("; ".join(unreachable))


def _lines(broker: BrokerVersions) -> list[str]:
    rack = "null" if broker.node.rack is None else broker.node.rack
    head = f"{broker.node.host}:{broker.node.port} (id: {broker.node.node_id} rack: {rack} isFenced: false) -> "
    if broker.problem is not None:
        return [f"{head}ERROR: {broker.problem}"]
    described = {api.api_key: _describe(api) for api in broker.apis}
    for api_key, name in APIS.items():
        if api_key not in _AMONG_SERVERS:
            described.setdefault(api_key, f"{name}({api_key}): UNSUPPORTED")
    apis = [text for _, text in sorted(described.items())]
    return [f"{head}(", *(f"\t{api}," for api in apis[:-1]), *(f"\t{api}" for api in apis[-1:]), ")"]


def _describe(api: ApiRange) -> str:
    name = APIS.get(api.api_key)
    versions = str(api.min_version) if api.min_version == api.max_version else f"{api.min_version} to {api.max_version}"
    if name is None:
        return f"UNKNOWN({api.api_key}): {versions}"
    return f"{name}({api.api_key}): {versions} [{_usable(api)}]"


def _usable(api: ApiRange) -> str:
    oldest, newest = schema_versions(api.api_key)
    if newest < api.min_version:
        return "unusable: node too new"
    if api.max_version < oldest:
        return "unusable: node too old"
    return f"usable: {min(newest, api.max_version)}"


def _as_json(broker: BrokerVersions) -> dict[str, object]:
    return {
        "id": broker.node.node_id,
        "host": broker.node.host,
        "port": broker.node.port,
        "rack": broker.node.rack,
        "problem": broker.problem,
        "features": dict(broker.features or {}),
        "apis": [
            {
                "key": api.api_key,
                "name": APIS.get(api.api_key),
                "minVersion": api.min_version,
                "maxVersion": api.max_version,
            }
            for api in broker.apis
        ],
    }
