"""Which protocol a producer uses: the second where the cluster has finalized it, else the first."""

from __future__ import annotations

from support.client_reading import read_committed
from support.cutting_proxy import running_proxy
from support.processes import free_port

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.protocol.messages.update_features_response import UpdateFeaturesResponse

ADD_PARTITIONS = 24
ADD_OFFSETS = 25
SAFE_DOWNGRADE = 2
UPGRADE = 1


async def set_transaction_version(admin: Admin, level: int, kind: int) -> None:
    update = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=kind)
    reply = await admin._cluster.ask_controller(UpdateFeaturesRequest(feature_updates=[update]), UpdateFeaturesResponse)
    assert reply.error_code == 0, reply.error_message


async def test_a_producer_follows_the_level_that_the_cluster_has_finalized() -> None:
    async with running_proxy() as (proxy, port):
        proxy.target = ("127.0.0.1", free_port())
        servers = f"127.0.0.1:{port}"
        advertised = {"advertised.listeners": f"PLAINTEXT://{servers}"}
        async with Broker(port=proxy.target[1], properties=advertised), Admin(servers) as admin:
            await admin.create_topic("t", partitions=1)
            requests = []
            for level, kind in ((2, UPGRADE), (1, SAFE_DOWNGRADE), (2, UPGRADE)):
                await set_transaction_version(admin, level, kind)
                before = proxy.seen[ADD_PARTITIONS] + proxy.seen[ADD_OFFSETS]
                async with Producer(servers, transactional_id="x") as producer:
                    await producer.init_transactions()
                    async with producer.transaction():
                        await producer.send("t", f"level {level}")
                        await producer.send_offsets({TopicPartition("t", 0): level}, "group")
                requests.append(proxy.seen[ADD_PARTITIONS] + proxy.seen[ADD_OFFSETS] - before)
            assert requests == [0, 2, 0], "only the first protocol tells the coordinator beforehand"
            assert await read_committed(servers, "t") == [b"level 2", b"level 1", b"level 2"]
