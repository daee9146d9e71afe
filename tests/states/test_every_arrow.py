"""No table has an arrow that nothing takes: each walk goes on until it has taken every step of its table.

The walks are random, each from the number of its seed, so that they are the same in every run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import Any

import pytest
from consensus.chaos import run_history
from coordinators.consumer_groups.test_properties import SUBSCRIPTIONS, TOPICS, Client
from support.consumer_group_driver import ConsumerDriver
from support.default_settings import transaction_settings
from support.group_driver import GROUP, Driver
from support.steps_taken import steps_taken
from support.transaction_driver import ADD_V2, END_V2, INIT_V2, ORDERS, REFUNDS, Coordinator

from tidelog.client.errors import (
    AbortableError,
    ApiTimeout,
    DeliveryFailed,
    FatalError,
    FencedError,
    TransactionError,
    WrongUse,
)
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.producer.sequences import Sequences
from tidelog.client.transactions.coordinator_requests import Asking, Initialized, ProducerIdAndEpoch
from tidelog.client.transactions.prepared import PreparedTransactionState
from tidelog.client.transactions.states import CLIENT_TRANSACTION, Call, TransactionPhase
from tidelog.client.transactions.transactions import Transactions
from tidelog.consensus.transitions import QUORUM_ROLE
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import LEAVE_STATIC_EPOCH, CurrentAssignment
from tidelog.coordinators.consumer_groups.reconciliation import Goal, reconcile
from tidelog.coordinators.consumer_groups.records import current_record
from tidelog.coordinators.consumer_groups.states import CONSUMER_GROUP, CONSUMER_MEMBER, MemberState, MemberStep
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.groups.states import CLASSIC_GROUP
from tidelog.coordinators.transactions.states import TRANSACTION
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.transitions import Transitions
from tidelog.spark.sink import publish as publish_module
from tidelog.spark.sink.errors import PublishFenced, SinkError
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.publish import Publication
from tidelog.spark.sink.states import SINK_BATCH

MAX_WALKS = 400


def missing_after(
    machine: Transitions[Any, Any], walk: Callable[[int], object], seeds: Iterable[int] = ()
) -> set[tuple[Enum, Enum]]:
    """The steps that no walk has taken. `seeds` are tried first: they are known to lead far."""
    with steps_taken(machine) as taken:
        for seed in [*seeds, *range(MAX_WALKS)]:
            walk(seed)
            if taken == set(machine.steps):
                break
    return set(machine.steps) - taken


def test_quorum_role() -> None:
    assert not missing_after(QUORUM_ROLE, run_history, (0, 1, 3, 7, 9, 32, 63, 130))


# ----------------------------------------------------------------------------------------------------------------
# Transactions of the coordinator.


def walk_transactions(seed: int) -> None:
    """Two producers after each other, of both protocol versions and with prepared transactions."""
    chance = Random(seed)
    second = chance.random() < 0.5
    coordinator = Coordinator(settings=transaction_settings(transaction_two_phase_commit_enable=True))
    producer = coordinator.producer()
    for _ in range(40):
        match chance.choice(["init", "keep", "add", "add", "commit", "abort", "markers", "markers", "wait", "expire"]):
            case "init" | "keep" as how:
                two_phase = how == "keep"
                response = coordinator.init(version=6 if two_phase else INIT_V2, two_phase=two_phase, keep=two_phase)
                if response.error_code == ErrorCode.NONE:
                    producer = ProducerIdentity(response.producer_id, response.producer_epoch)
            case "add":
                coordinator.add(producer, chance.choice([ORDERS, REFUNDS]), version=ADD_V2)
            case "commit" | "abort" as how:
                ended = coordinator.end(producer, commit=how == "commit", version=END_V2 if second else END_V2 - 1)
                if second and ended.error_code == ErrorCode.NONE:
                    producer = ProducerIdentity(ended.producer_id, ended.producer_epoch)
            case "markers":
                coordinator.write_markers()
            case "wait":
                coordinator.wait(70_000)
            case "expire" if chance.random() < 0.2:
                coordinator.wait(8 * 24 * 3_600_000)
                return


def test_transaction() -> None:
    assert not missing_after(TRANSACTION, walk_transactions)


# ----------------------------------------------------------------------------------------------------------------
# Groups.


def walk_classic_groups(seed: int) -> None:
    """Members come, fall silent, leave and hand in assignments, and another coordinator loads the log."""
    chance = Random(seed)
    driver = Driver()
    members: dict[str, int] = {}
    for _ in range(30):
        match chance.choice(["join", "join", "again", "sync", "sync", "leave", "wait", "fail over"]):
            case "join" if len(members) < 3:
                instance = chance.choice([None, None, "i"])
                reply = driver.answers.get(token := driver.join(instance=instance))
                if reply is not None and reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    token = driver.join(reply.member_id)
                driver.advance(chance.choice([0, 7_000]))
                if (reply := driver.answers.get(token)) is not None and reply.error_code == ErrorCode.NONE:
                    members[reply.member_id] = reply.generation_id
            case "again" if members:
                member_id = chance.choice(sorted(members))
                token = driver.join(member_id)
                driver.advance(chance.choice([0, 61_000]))
                if (reply := driver.answers.get(token)) is not None and reply.error_code == ErrorCode.NONE:
                    members[member_id] = reply.generation_id
            case "sync":
                for member_id, generation in members.items():
                    driver.sync(member_id, generation, dict.fromkeys(members, b"some"))
            case "leave" if members:
                name = chance.choice(sorted(members))
                del members[name]
                driver.leave((name, None))
            case "wait":
                driver.advance(chance.choice([5_000, 70_000]))
            case "fail over":
                driver.fail_over()


def test_classic_group() -> None:
    assert not missing_after(CLASSIC_GROUP, walk_classic_groups)


def walk_consumer_groups(seed: int) -> ConsumerDriver:
    chance = Random(seed)
    interval_ms = chance.choice([0, 1_000])
    driver = ConsumerDriver({"orders": 3, "returns": 2}, group_consumer_assignment_interval_ms=interval_ms)
    clients: list[Client] = []
    for number in range(150):
        match chance.choice(["come", "beat", "beat", "beat", "beat", "change", "go", "die", "topics", "wait"]):
            case "come" if len(clients) < 5:
                instance = chance.choice([{}, {}, {"instance": "i"}, {"instance": "j"}])
                clients.append(Client(driver, f"m{number}", chance.choice(SUBSCRIPTIONS), **instance))
                clients[-1].step()
            case "beat" if clients:
                chance.choice(clients).step(lost=chance.random() < 0.2)
            case "change" if clients:
                chance.choice(clients).change(chance.choice(SUBSCRIPTIONS))
            case "go" if clients:
                client = clients.pop(chance.randrange(len(clients)))
                client.go(-2 if "instance" in client.options and chance.random() < 0.5 else -1)
            case "die" if clients and chance.random() < 0.3:
                clients.pop(chance.randrange(len(clients)))
            case "topics":
                driver.set_topics(**{topic: chance.randint(1, 5) for topic in TOPICS if chance.random() < 0.7})
            case "wait":
                driver.advance(chance.choice([500, 1_000, 5_000, 5_000, 31_000]))
    return driver


def test_member_of_a_consumer_group() -> None:
    with steps_taken(CONSUMER_MEMBER) as taken:
        for seed in range(40):
            walk_consumer_groups(seed)
        for step in (MemberStep.REVOKE, MemberStep.WAIT, MemberStep.ARRIVE):
            reconcile_from_unknown(step)
        leave_from_unknown()

    assert taken == set(CONSUMER_MEMBER.steps)


def leave_from_unknown() -> None:
    driver = ConsumerDriver()
    driver.join_as("m", instance="i")
    current = replace(driver.consumer_group().members["m"].current, state=MemberState.UNKNOWN)
    driver.shard.replay(current_record(GROUP, "m", current), offset=0)
    driver.heartbeat_as("m", LEAVE_STATIC_EPOCH, instance="i")


def reconcile_from_unknown(step: MemberStep) -> None:
    wanted, surplus = TopicIdPartition(Uuid(bytes(16)), 0), TopicIdPartition(Uuid(bytes(16)), 1)
    group = ConsumerGroup("g")
    if step is MemberStep.WAIT:
        group.put_current("other", CurrentAssignment(epoch=1, assigned={wanted: 1}))
    assigned = {surplus: 1} if step is MemberStep.REVOKE else {}
    reconcile(
        group,
        CurrentAssignment(epoch=1, state=MemberState.UNKNOWN, assigned=assigned),
        Goal(epoch=2, target=frozenset({wanted}), subscribed={wanted.topic_id}),
        known_as=("m",),
        reported=[surplus] if assigned else [],
        subscription_changed=False,
    )


def test_consumer_group() -> None:
    changes = set().union(*(walk_consumer_groups(seed).changes for seed in range(60)))

    assert changes == {(before, after) for (before, _), after in CONSUMER_GROUP.steps.items()}


# ----------------------------------------------------------------------------------------------------------------
# Transactions of a producer.


class FickleCoordinator:
    """Answers what the walk wants next, or raises it."""

    transaction_version = 2

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    async def initialize(self, **_: object) -> Initialized:
        self._fail(FencedError("fenced"), ApiTimeout("no answer"))
        none = ProducerIdAndEpoch(-1, -1)
        open_one = ProducerIdAndEpoch(7, 0)
        return Initialized(ProducerIdAndEpoch(7, 1), self._chance.choice([none, none, open_one]))

    async def commit_offsets(self, *_: object, **__: object) -> None:
        self._fail(AbortableError("stale member"), FatalError("refused"))

    async def end(self, asking: Asking, identity: ProducerIdAndEpoch, **_: object) -> ProducerIdAndEpoch:
        asking.may_be_done = self._chance.random() < 0.5
        self._fail(AbortableError("too late"), FatalError("refused"), ApiTimeout("no answer"))
        return identity

    def _fail(self, *errors: Exception) -> None:
        if self._chance.random() < 0.4:
            raise self._chance.choice(errors)


def walk_client_transactions(seed: int) -> None:
    asyncio.run(_walk_client_transactions(Random(seed)))


async def _walk_client_transactions(chance: Random) -> None:
    transactions = Transactions(FickleCoordinator(chance), Sequences(transactional=True), lambda: None)  # type: ignore[arg-type]

    async def drain() -> None:
        """Deliveries may fail meanwhile, and whoever waits may be cancelled."""
        if chance.random() < 0.1:
            deliveries_fail()
        if chance.random() < 0.2:
            raise asyncio.CancelledError

    def deliveries_fail() -> None:
        code = chance.choice([ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED])
        transactions.delivery_failed(DeliveryFailed("not stored", ApiError(code)))

    for _ in range(30):
        transactions.sending()
        with contextlib.suppress(WrongUse, TransactionError, ApiTimeout, asyncio.CancelledError):
            match chance.choice(
                ["init", "init", "begin", "begin", "offsets", "prepare", "complete", *["end"] * 4, "fail"]
            ):
                case "init":
                    await transactions.initialize(drain)
                case "begin":
                    transactions.begin()
                case "offsets":
                    position = {TopicPartition("t", 0): OffsetAndMetadata(offset=1)}
                    await transactions.send_offsets(position, ConsumerGroupMetadata(group_id="g"))
                case "prepare":
                    await transactions.prepare(drain)
                case "complete":
                    await transactions.complete(PreparedTransactionState(), drain)
                case "end":
                    await (transactions.commit(drain) if chance.random() < 0.5 else transactions.abort(drain))
                case "fail" if chance.random() < 0.3:
                    deliveries_fail()


def test_client_transaction() -> None:
    # A send in an open transaction does not ask the table: it is on the hot path, and changes nothing.
    assert missing_after(CLIENT_TRANSACTION, walk_client_transactions) == {(TransactionPhase.IN_TRANSACTION, Call.SEND)}


# ----------------------------------------------------------------------------------------------------------------
# Micro-batches of the sink.


class FickleProducer:
    """Fails at a place that the walk wants, in a way that allows another attempt or not."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.cluster = self

    async def __aenter__(self) -> FickleProducer:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def init_transactions(self) -> None:
        if self._chance.random() < 0.4:
            raise self._chance.choice([ApiTimeout("no answer"), FencedError("fenced"), PublishFenced("overtaken")])

    begin_transaction = flush = commit_transaction = init_transactions


@dataclass(frozen=True, slots=True, kw_only=True)
class FicklePublication(Publication):
    chance: Random

    def refuse_if_overtaken(self) -> None:
        if self.chance.random() < 0.1:
            raise PublishFenced("overtaken")

    async def is_published(self, cluster: Any) -> bool:
        await cluster.init_transactions()
        return self.chance.random() < 0.3

    async def leave_note(self, producer: Any, deliveries: object) -> None:
        await producer.init_transactions()


def test_micro_batch_of_the_sink(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(publish_module, "_FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(publish_module, "ensure_note_topic", nothing)

    def walk(seed: int) -> None:
        chance = Random(seed)
        monkeypatch.setattr(publish_module, "Producer", lambda **_: FickleProducer(chance))
        options = sink_options({"kafka.bootstrap.servers": "nowhere:9092", "topic": "t"})
        publication = FicklePublication(options=options, name="n", batch=0, outputs=(), chance=chance)
        with contextlib.suppress(SinkError):
            asyncio.run(publish_module.publish(publication))

    assert not missing_after(SINK_BATCH, walk)
