"""Pages of a cluster in which one broker has stopped to answer, and everybody still believes in it.

That is a process that hangs, or a machine that swaps: its connections stay open. What only it knows is left out with a
word, and all the rest is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.cluster_processes import NUMBERS, ClusterProcesses, running_cluster
from support.console_api import ConsoleApi, console_of
from support.console_clusters import Cluster, ClusterKind
from support.console_process import ConsoleOfTest, Consoles
from support.eventually import eventually
from support.processes import HANG_SECONDS

from tidelog import Admin, OffsetAndMetadata, Producer, TopicPartition

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console-silent-broker")]

# So long nobody takes the broker for dead.
_FAITH = {"broker.session.timeout.ms": "600000", "replica.lag.time.max.ms": "600000"}
_SEVERAL = 12
GROUPS = [f"group-{number}" for number in range(_SEVERAL)]
IDS = [f"id-{number}" for number in range(_SEVERAL)]


def topic_of(number: int) -> str:
    """Led by that node."""
    return f"on-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    cluster: ClusterProcesses
    number: int

    @property
    def for_consoles(self) -> Cluster:
        return Cluster(
            name="three nodes of which one is silent",
            kind=ClusterKind.TIDELOG,
            bootstrap_servers=self.cluster.bootstrap_servers,
            processes=self.cluster,
        )

    @property
    def others(self) -> list[int]:
        return [number for number in NUMBERS if number != self.number]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, consoles: Consoles) -> Iterator[Stopped]:
    with running_cluster(tmp_path_factory.mktemp("silent"), _FAITH) as cluster:
        for number in NUMBERS:
            first, second = (each for each in NUMBERS if each != number)
            cluster.create_topic(topic_of(number), [number, first, second])
        asyncio.run(_fill(cluster))
        controller = cluster.active_controller()
        stopped = Stopped(cluster=cluster, number=next(number for number in NUMBERS if number != controller))
        cluster.pause(stopped.number)
        yield stopped
        consoles.end(stopped.for_consoles)


async def _fill(cluster: ClusterProcesses) -> None:
    places = {TopicPartition(topic_of(number), 0): OffsetAndMetadata(offset=1) for number in NUMBERS}
    async with Admin(cluster.bootstrap_servers) as admin:
        for group in GROUPS:
            await admin.alter_group_offsets(group, places)
    for transactional_id in IDS:
        async with Producer(cluster.bootstrap_servers, transactional_id=transactional_id) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                for number in NUMBERS:
                    await producer.send(topic_of(number), value=b"paid")


@pytest.fixture
async def api(stopped: Stopped) -> AsyncIterator[ConsoleApi]:
    async with console_of({"bootstrap.servers": stopped.cluster.bootstrap_servers}) as console:
        yield console


async def shown(api: ConsoleApi, path: str, **parameters: object) -> Any:
    async with asyncio.timeout(HANG_SECONDS):
        return await api.live(path, **parameters)


def by(name: str, rows: list[Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
    return {row[name]: row for row in rows}


async def test_the_overview_says_who_does_not_answer(stopped: Stopped, api: ConsoleApi) -> None:
    reading = await shown(api, "overview/live")
    latencies = {row["id"]: row["latency_ms"] for row in reading["brokers"]}
    assert [number for number, latency in latencies.items() if latency is None] == [stopped.number]
    assert f"Broker {stopped.number} is in the metadata, but it does not answer this console." in [
        concern["text"] for concern in reading["attention"]
    ]
    assert reading["quorum"]["leader"] in stopped.others
    assert not reading["quorum_silent"]


async def test_topics_count_what_the_others_lead(stopped: Stopped, api: ConsoleApi) -> None:
    topics = by("name", (await shown(api, "topics/live"))["topics"])
    for number in stopped.others:
        assert (topics[topic_of(number)]["silent"], topics[topic_of(number)]["offsets"]) == (0, 2 * _SEVERAL)
        assert topics[topic_of(number)]["size"] > 0
    silent = topics[topic_of(stopped.number)]
    assert (silent["silent"], silent["offline"]) == (1, 0)


async def test_a_topic_shows_the_replicas_that_answer(stopped: Stopped, api: ConsoleApi) -> None:
    reading = await shown(api, "topic/live", name=topic_of(stopped.others[0]))
    (partition,) = reading["partitions"]
    replicas = by("broker", partition["replicas"])
    for number in stopped.others:
        assert replicas[number]["offsets"]["end"] == 2 * _SEVERAL
    assert replicas[stopped.number]["offsets"] is None
    assert "has not answered" in replicas[stopped.number]["problem"]
    assert by("broker", reading["shown"]["segments"])[stopped.others[0]]["segments"]
    assert [each["epoch"] for each in reading["shown"]["epochs"]] == [0]


async def test_a_topic_of_a_silent_leader_shows_its_followers(stopped: Stopped, api: ConsoleApi) -> None:
    reading = await shown(api, "topic/live", name=topic_of(stopped.number))
    replicas = by("broker", reading["partitions"][0]["replicas"])
    assert {number: replicas[number]["offsets"]["end"] for number in stopped.others} == dict.fromkeys(
        stopped.others, 2 * _SEVERAL
    )


async def test_groups_of_other_coordinators_are_shown(stopped: Stopped, api: ConsoleApi) -> None:
    reading = await shown(api, "groups/live")
    assert reading["silent"] == [stopped.number]
    groups = by("id", reading["groups"])
    assert 0 < len(groups) < _SEVERAL
    for group in groups.values():
        assert group["coordinator"] in stopped.others
        assert group["lag"]["records"] == 2 * (_SEVERAL - 1), "of the partitions whose leaders answer"
        assert group["lag"]["unknown"] == 1


async def test_a_group_has_its_lag_in_the_partitions_that_answer(stopped: Stopped, api: ConsoleApi) -> None:
    group = (await shown(api, "groups/live"))["groups"][0]["id"]
    partitions = by("topic", (await shown(api, "group/live", id=group))["partitions"])
    for number in stopped.others:
        assert partitions[topic_of(number)]["lag"]["records"] == _SEVERAL - 1
    assert partitions[topic_of(stopped.number)]["lag"] is None


async def test_transactional_ids_of_other_coordinators_are_shown(stopped: Stopped, api: ConsoleApi) -> None:
    reading = await shown(api, "transactions/live")
    assert reading["silent"] == [stopped.number]
    ids = by("id", reading["transactions"])
    assert 0 < len(ids) < _SEVERAL
    assert {row["coordinator"] for row in ids.values()} <= set(stopped.others)
    one = await shown(api, "transaction/live", id=next(iter(ids)))
    assert one["described"]["state"] == "CompleteCommit"


async def test_producers_have_the_ids_that_are_known(stopped: Stopped, api: ConsoleApi) -> None:
    reading = await shown(api, "producers/live", topic=topic_of(stopped.others[0]), partition=0)
    assert len(reading["producers"]) == _SEVERAL
    assert reading["ids_silent"] == [stopped.number]
    assert 0 < sum(row["transactional_id"] is not None for row in reading["producers"]) < _SEVERAL


async def test_brokers_metadata_and_pipelines_are_shown(stopped: Stopped, api: ConsoleApi) -> None:
    brokers = by("id", (await shown(api, "brokers/live"))["brokers"])
    assert [number for number in NUMBERS if brokers[number]["directories"] is None] == [stopped.number]
    metadata = await shown(api, "metadata/live")
    assert metadata["quorum"]["leader"] in stopped.others
    assert metadata["log"]["rows"]
    assert (await shown(api, "pipelines/live"))["pipelines"] == []
    async with asyncio.timeout(HANG_SECONDS):
        resources = await api.get("configs/resources")
    assert {group["name"] for group in resources["groups"]} < set(GROUPS)
    assert resources["groups_silent"] == [stopped.number]


async def test_messages_of_other_leaders_are_read(stopped: Stopped, api: ConsoleApi) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        page = await api.get("messages", topic=topic_of(stopped.others[0]), partition=0)
    assert page


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/", "Broker {} is in the metadata, but it does not answer this console."),
        ("/topics", "1 silent"),
        ("/groups", "Broker {} does not answer: the groups that it coordinates are left out."),
        ("/transactions", "Broker {} does not answer: the transactional ids that it coordinates are left out."),
        ("/configs", "Broker {} does not answer: the groups that it coordinates are left out."),
    ],
)
def test_pages_say_what_is_left_out(stopped: Stopped, console: ConsoleOfTest, page: Page, path: str, said: str) -> None:
    page.goto(console(stopped.for_consoles) + path)
    expect(page.get_by_text(said.format(stopped.number))).to_be_visible(timeout=HANG_SECONDS * 1000)


async def test_pages_go_on_while_the_controller_hangs_and_are_whole_when_it_is_back(stopped: Stopped) -> None:
    """The last test: it wakes the broker, and stops the one that leads the metadata quorum."""
    cluster = stopped.cluster
    async with console_of({"bootstrap.servers": cluster.bootstrap_servers}) as api:

        async def all_is_well() -> None:
            assert len((await api.live("groups/live"))["groups"]) == _SEVERAL
            assert len((await api.live("transactions/live"))["transactions"]) == _SEVERAL
            assert (await api.live("overview/live"))["attention"] == []

        async def another_leads() -> None:
            overview = await api.live("overview/live")
            assert overview["quorum"] is not None
            assert overview["quorum"]["leader"] not in (None, before)
            assert (await api.live("metadata/live"))["quorum"]["leader"] == overview["quorum"]["leader"]
            assert (await api.live("transactions/live"))["silent"] == [before]

        cluster.resume(stopped.number)
        await eventually(all_is_well)
        before = (await api.live("overview/live"))["quorum"]["leader"]
        cluster.pause(before)
        try:
            await eventually(another_leads)
        finally:
            cluster.resume(before)
        await eventually(all_is_well)
