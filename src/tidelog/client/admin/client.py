"""`Admin`: one face for what the modules beside this one do.

Calls about several things return a dict that has for each of them its result or an `ApiError`; calls about one thing
raise the error. `raise_any` turns the first kind into the second.
"""

from __future__ import annotations

from tidelog.client.admin.acls import AclAdmin
from tidelog.client.admin.configs import ConfigAdmin
from tidelog.client.admin.groups import GroupAdmin
from tidelog.client.admin.log_segments import LogSegmentsAdmin
from tidelog.client.admin.nodes import NodeAdmin
from tidelog.client.admin.quorum import QuorumAdmin
from tidelog.client.admin.quotas import QuotaAdmin
from tidelog.client.admin.replica_offsets import ReplicaOffsetsAdmin
from tidelog.client.admin.replicas import ReplicaAdmin
from tidelog.client.admin.transactions import TransactionAdmin
from tidelog.client.admin.users import UserAdmin
from tidelog.client.cluster.cluster import Cluster
from tidelog.client.config import Options, OptionValue, client_config, given_options
from tidelog.client.errors import raise_any
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network


class Admin(
    ReplicaOffsetsAdmin,
    LogSegmentsAdmin,
    TransactionAdmin,
    ReplicaAdmin,
    ConfigAdmin,
    GroupAdmin,
    NodeAdmin,
    QuorumAdmin,
    AclAdmin,
    UserAdmin,
    QuotaAdmin,
):
    """`async with Admin(bootstrap_servers="127.0.0.1:9092") as admin: ...`"""

    def __init__(
        self,
        bootstrap_servers: OptionValue = None,
        *,
        config: Options | None = None,
        network: Network | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        **options: OptionValue,
    ) -> None:
        given = given_options(bootstrap_servers, config, options)
        self._cluster = Cluster(client_config(given), network=network, clock=clock, randomness=randomness)

    @property
    def cluster(self) -> Cluster:
        """The connections, for what reads logs beside it."""
        return self._cluster

    async def __aenter__(self) -> Admin:
        await self._cluster.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        await self._cluster.start()

    async def close(self) -> None:
        await self._cluster.close()

    raise_any = staticmethod(raise_any)
