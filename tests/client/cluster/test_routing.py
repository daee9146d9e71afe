"""Asking many brokers at once, of which one is silent: it costs what it alone could have answered, and nothing else."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
from support.processes import HANG_SECONDS
from support.scripted_brokers import TOPIC, ScriptedCluster, scripted_brokers

from tidelog.client.admin import Admin, ConfigResource, ResourceType
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.config import OptionValue
from tidelog.client.consumer.consumer import Consumer
from tidelog.client.errors import ApiTimeout
from tidelog.client.offsets.listing import OffsetAndTimestamp
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST
from tidelog.network.client_connection import RequestTimedOut
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest
from tidelog.protocol.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest
from tidelog.protocol.messages.describe_producers_response import DescribeProducersResponse, PartitionResponse
from tidelog.protocol.messages.describe_producers_response import TopicResponse as ProducersOfTopic
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tidelog.protocol.messages.list_offsets_request import ListOffsetsRequest
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.metadata_response import MetadataResponse
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequest
from tidelog.protocol.messages.offset_fetch_response import OffsetFetchResponse, OffsetFetchResponseGroup

PARTITIONS = [TopicPartition(TOPIC, number) for number in range(3)]
SHORT_MS = 400
PATIENT: dict[str, OptionValue] = {"request.timeout.ms": 60_000, "retry.backoff.ms": 10}


@pytest.fixture
async def brokers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedCluster]:
    monkeypatch.setattr("tidelog.client.cluster.cluster._SILENT_MS", SHORT_MS / 8)
    async with scripted_brokers(3) as cluster:
        yield cluster


def admin_of(brokers: ScriptedCluster, **options: OptionValue) -> Admin:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return Admin(brokers.bootstrap_servers, config={**PATIENT, **given})


async def ends(admin: Admin, timeout_ms: float | None = None) -> list[int | str]:
    """Of the three partitions: the offset, or the error."""
    found = await admin.list_offsets(dict.fromkeys(PARTITIONS, LATEST), timeout_ms=timeout_ms)
    assert list(found) == PARTITIONS
    return [answer.offset if isinstance(answer, OffsetAndTimestamp) else str(answer) for answer in found.values()]


async def test_what_others_have_answered_is_kept(brokers: ScriptedCluster) -> None:
    brokers.brokers[1].ignores.add(ListOffsetsRequest)
    async with admin_of(brokers) as admin:
        silence = "REQUEST_TIMED_OUT: broker 1 has not answered for 400 ms"
        assert await ends(admin, SHORT_MS) == [0, silence, 200]


async def test_a_request_that_ends_with_the_call_does_not_end_it_for_all(brokers: ScriptedCluster) -> None:
    """The defaults of many programs: request.timeout.ms is default.api.timeout.ms."""
    brokers.brokers[1].ignores.add(ListOffsetsRequest)
    async with admin_of(brokers, request_timeout_ms=SHORT_MS, default_api_timeout_ms=SHORT_MS) as admin:
        first, second, third = await ends(admin)
        assert (first, third) == (0, 200)
        assert "did not answer ListOffsets" in str(second) or "broker 1 has not answered" in str(second)


async def test_a_broker_that_takes_no_connection_costs_only_its_partitions(brokers: ScriptedCluster) -> None:
    async with admin_of(brokers, socket_connection_setup_timeout_ms=100) as admin:
        await ends(admin)
        silent = brokers.brokers[1]
        silent.silent = True
        admin.cluster.open_connection_to(1).close()  # type: ignore[union-attr]
        first, second, third = await ends(admin, SHORT_MS)
        assert (first, third) == (0, 200)
        assert f"127.0.0.1:{silent.port} did not answer within 100 ms" in str(second)


async def test_the_call_fails_where_nobody_answers(brokers: ScriptedCluster) -> None:
    async with admin_of(brokers) as admin:
        brokers.brokers[1].ignores.add(ListOffsetsRequest)
        said = r"listing offsets did not succeed within 400 ms: broker 1 has not answered for 400 ms"
        with pytest.raises(ApiTimeout, match=said):
            await admin.list_offsets({PARTITIONS[1]: LATEST}, timeout_ms=SHORT_MS)


async def test_those_who_answer_are_asked_again_meanwhile(brokers: ScriptedCluster) -> None:
    brokers.brokers[1].ignores.add(ListOffsetsRequest)
    brokers.brokers[0].refusals += [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE]
    async with admin_of(brokers) as admin:
        first, second, third = await ends(admin, SHORT_MS)
        assert (first, third) == (0, 200)
        assert "broker 1" in str(second)


async def test_a_silent_broker_is_asked_again_while_time_is_left(brokers: ScriptedCluster) -> None:
    late = brokers.brokers[1]
    late.ignores.add(ListOffsetsRequest)

    async def wake() -> None:
        while late.seen[ListOffsetsRequest] < 2:
            await asyncio.sleep(0.01)
        late.ignores.clear()

    async with admin_of(brokers, request_timeout_ms=100) as admin:
        waking = asyncio.create_task(wake())
        assert await ends(admin, HANG_SECONDS * 1000) == [0, 100, 200]
        await waking
        assert brokers.brokers[0].seen[ListOffsetsRequest] == 1, "who has answered is not asked again"


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID])
async def test_a_leader_that_has_not_learned_of_a_topic_is_asked_again(
    brokers: ScriptedCluster, code: ErrorCode
) -> None:
    brokers.brokers[1].refusals = [code, code]
    async with admin_of(brokers) as admin:
        assert all(isinstance(each, int) for each in await ends(admin))


async def test_the_next_leader_answers_for_a_silent_one(brokers: ScriptedCluster) -> None:
    brokers.brokers[1].ignores.add(ListOffsetsRequest)
    async with admin_of(brokers, request_timeout_ms=100) as admin:
        asking = asyncio.create_task(ends(admin, HANG_SECONDS * 1000))
        while not brokers.brokers[1].seen[ListOffsetsRequest]:
            await asyncio.sleep(0.01)
        brokers.leaders[1] = 2
        assert await asking == [0, 200, 200]


async def test_a_topic_that_is_not_there_does_not_wait_for_a_silent_broker(brokers: ScriptedCluster) -> None:
    brokers.brokers[1].ignores.add(ListOffsetsRequest)
    missing = TopicPartition("missing", 0)
    async with admin_of(brokers) as admin:
        found = await admin.list_offsets({PARTITIONS[1]: LATEST, missing: LATEST}, timeout_ms=SHORT_MS)
    refused, silent = found[missing], found[PARTITIONS[1]]
    assert isinstance(refused, ApiError)
    assert refused.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert isinstance(silent, ApiError)
    assert silent.code == ErrorCode.REQUEST_TIMED_OUT


async def test_metadata_comes_from_another_broker_while_one_is_silent(brokers: ScriptedCluster) -> None:
    async with admin_of(brokers) as admin:
        (asked,) = [broker for broker in brokers.brokers if broker.seen[MetadataRequest]]
        asked.silent = True
        async with asyncio.timeout(HANG_SECONDS):
            assert TOPIC in (await admin.cluster.fetch_metadata([TOPIC])).topics


@pytest.mark.parametrize("answers", [(False, True), (True, False), (False, False)])
async def test_several_brokers_that_end_together_leave_nothing_behind(
    brokers: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, answers: tuple[bool, bool]
) -> None:
    """One that answers is enough, whichever was asked first, and what the other one raises is nobody's."""
    async with admin_of(brokers) as admin:
        reply: object = await admin.cluster.fetch_metadata([TOPIC])
        futures: list[asyncio.Future[object]] = []

        async def ask(*_: object) -> object:
            futures.append(asyncio.get_running_loop().create_future())
            return await futures[-1]

        class Silent:
            request = staticmethod(ask)

        async def any_connection() -> Silent:
            return Silent()

        monkeypatch.setattr(admin.cluster, "_any_connection", any_connection)
        monkeypatch.setattr(admin.cluster, "ask_node", ask)
        unheard: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        asking = asyncio.create_task(admin.cluster._first_reply(MetadataRequest(), MetadataResponse))
        async with asyncio.timeout(HANG_SECONDS):
            while len(futures) < 2:
                await asyncio.sleep(0.01)
        for future, answered in zip(list(futures), answers, strict=False):
            if answered:
                future.set_result(reply)
            else:
                future.set_exception(RequestTimedOut("did not answer"))
        for future in futures[2:]:
            future.set_exception(RequestTimedOut("did not answer either"))
        if any(answers):
            assert await asking is reply
        else:
            with pytest.raises(RequestTimedOut):
                await asking
        futures.clear()
        del asking, future
        gc.collect()
        await asyncio.sleep(0)
        gc.collect()
        assert unheard == []


async def test_whoever_may_choose_asks_a_broker_that_others_do_not_wait_for(brokers: ScriptedCluster) -> None:
    coordinate(brokers)
    async with admin_of(brokers) as admin:
        (asked,) = [broker for broker in brokers.brokers if broker.seen[MetadataRequest]]
        asked.silent = True
        async with asyncio.timeout(HANG_SECONDS):
            await admin.cluster.fetch_metadata([TOPIC])
            assert await admin.cluster.coordinator(CoordinatorKind.GROUP, "g0") == 0
            assert not asked.seen[FindCoordinatorRequest]


def list_groups(brokers: ScriptedCluster) -> None:
    """Each broker coordinates one group and one transactional id, which have its number in their names."""
    for broker in brokers.brokers:
        name = f"group-{broker.node_id}"
        groups = ListGroupsResponse(groups=[ListedGroup(group_id=name)])
        transaction = TransactionState(transactional_id=name, producer_id=1, transaction_state="Ongoing")
        broker.always(ListGroupsRequest, groups)
        broker.always(ListTransactionsRequest, ListTransactionsResponse(transaction_states=[transaction]))


async def test_lists_of_each_broker_tell_who_has_not_answered(brokers: ScriptedCluster) -> None:
    list_groups(brokers)
    brokers.brokers[1].ignores |= {ListGroupsRequest, ListTransactionsRequest}
    async with admin_of(brokers, default_api_timeout_ms=SHORT_MS) as admin:
        groups = await admin.list_groups_by_broker(timeout_ms=SHORT_MS)
        assert [isinstance(found, ApiError) for found in groups.values()] == [False, True, False]
        assert [each.group_id for each in groups[2]] == ["group-2"]  # type: ignore[union-attr]
        assert str(groups[1]) == "REQUEST_TIMED_OUT: broker 1 has not answered for 400 ms"
        transactions = await admin.list_transactions_by_broker([0, 1], timeout_ms=SHORT_MS)
        assert [isinstance(found, ApiError) for found in transactions.values()] == [False, True]
        assert [each.coordinator for each in transactions[0]] == [0]  # type: ignore[union-attr]
        # Who asks for all of them at once must not take a part for the whole.
        with pytest.raises(ApiTimeout):
            await admin.list_groups()
        with pytest.raises(ApiTimeout):
            await admin.list_transactions()


def coordinate(brokers: ScriptedCluster) -> None:
    """The last letter of a group's name is its coordinator."""

    def find(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, node_id=int(key[-1]), host="127.0.0.1", port=brokers.brokers[int(key[-1])].port)
                for key in request.coordinator_keys
            ]
        )

    for broker in brokers.brokers:
        broker.answer(FindCoordinatorRequest, find)
        broker.answer(
            OffsetFetchRequest,
            lambda request: OffsetFetchResponse(
                groups=[OffsetFetchResponseGroup(group_id=group.group_id) for group in request.groups]
            ),
        )
        broker.answer(
            DeleteGroupsRequest,
            lambda request: DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id=name) for name in request.groups_names]
            ),
        )


async def test_a_silent_coordinator_costs_only_its_groups(brokers: ScriptedCluster) -> None:
    coordinate(brokers)
    brokers.brokers[1].ignores |= {OffsetFetchRequest, DeleteGroupsRequest}
    async with admin_of(brokers, default_api_timeout_ms=SHORT_MS) as admin:
        offsets = await admin.list_offsets_of_groups(["g0", "g1", "h1", "g2"], timeout_ms=SHORT_MS)
        assert [name for name, found in offsets.items() if isinstance(found, ApiError)] == ["g1", "h1"]
        deleted = await admin.delete_groups(["g0", "g1", "g2"])
        assert (deleted["g0"], deleted["g2"]) == (None, None)
        assert str(deleted["g1"]) == "REQUEST_TIMED_OUT: its coordinator has not answered for 400 ms"
        assert brokers.brokers[0].seen[DeleteGroupsRequest] == 1
        with pytest.raises(ApiTimeout):
            await admin.delete_groups(["g1"])


async def test_configurations_of_brokers_come_from_those_that_answer(brokers: ScriptedCluster) -> None:
    for broker in brokers.brokers:
        broker.answer(
            DescribeConfigsRequest,
            lambda request: DescribeConfigsResponse(
                results=[
                    DescribeConfigsResult(resource_type=each.resource_type, resource_name=each.resource_name)
                    for each in request.resources
                ]
            ),
        )
    brokers.brokers[1].ignores.add(DescribeConfigsRequest)
    resources = [ConfigResource(ResourceType.BROKER, name) for name in ("0", "1", "2")]
    async with admin_of(brokers) as admin:
        found = await admin.describe_configs(resources, timeout_ms=SHORT_MS)
    assert [isinstance(found[each], ApiError) for each in resources] == [False, True, False]


async def test_who_looks_for_hanging_transactions_learns_where_nobody_has_looked(brokers: ScriptedCluster) -> None:
    for broker in brokers.brokers:
        broker.answer(
            DescribeProducersRequest,
            lambda request: DescribeProducersResponse(
                topics=[
                    ProducersOfTopic(
                        name=topic.name,
                        partitions=[PartitionResponse(partition_index=number) for number in topic.partition_indexes],
                    )
                    for topic in request.topics
                ]
            ),
        )
    async with admin_of(brokers, default_api_timeout_ms=SHORT_MS) as admin:
        assert await admin.find_hanging_transactions(PARTITIONS, silent_since_ms=0) == []
        brokers.brokers[1].ignores.add(DescribeProducersRequest)
        with pytest.raises(ApiError, match="broker 1 has not answered"):
            await admin.find_hanging_transactions(PARTITIONS, silent_since_ms=0)


async def test_a_question_that_waits_for_a_controller_keeps_nobody_else_waiting(brokers: ScriptedCluster) -> None:
    for broker in brokers.brokers:
        broker.ignores.add(DescribeQuorumRequest)
    async with admin_of(brokers) as admin:
        asking = asyncio.create_task(admin.describe_quorum(broker=0, timeout_ms=SHORT_MS))
        while not brokers.brokers[0].seen[DescribeQuorumRequest]:
            await asyncio.sleep(0.01)
        assert await ends(admin, HANG_SECONDS * 1000) == [0, 100, 200]
        assert not asking.done()
        with pytest.raises(ApiTimeout):
            await asking
        assert await ends(admin, HANG_SECONDS * 1000) == [0, 100, 200]


async def test_a_reader_waits_for_the_position_in_a_silent_leaders_partition(
    brokers: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not fail, and gets the position once the leader answers."""
    monkeypatch.setattr("tidelog.client.consumer.positioning._ROUND_MS", SHORT_MS)
    for broker in brokers.brokers:
        broker.ignores.add(FetchRequest)
    late = brokers.brokers[1]
    late.ignores.add(ListOffsetsRequest)
    config: dict[str, OptionValue] = {**PATIENT, "request.timeout.ms": 2 * SHORT_MS, "auto.offset.reset": "latest"}
    async with Consumer(bootstrap_servers=brokers.bootstrap_servers, config=config) as consumer:
        consumer.assign(PARTITIONS)
        async with asyncio.timeout(HANG_SECONDS):
            assert await consumer.position(PARTITIONS[2]) == 200
            asking = asyncio.create_task(consumer.position(PARTITIONS[1]))
            while late.seen[ListOffsetsRequest] < 2:
                await asyncio.sleep(0.01)
            assert not asking.done()
            late.ignores.discard(ListOffsetsRequest)
            assert await asking == 100
