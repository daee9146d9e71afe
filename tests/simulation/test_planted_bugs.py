"""The simulation finds mistakes that are planted in the broker: each of them within a number of seeds.

A mistake is planted by replacing a method for the time of the test. The seeds are those that `tidelog simulate` would
run with these faults; nothing is arranged for the mistake.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tidelog.controller import in_sync
from tidelog.controller.departures import Departures
from tidelog.coordinators.groups import offset_commit
from tidelog.metadata.image import PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.partition.progress import PartitionProgress
from tidelog.protocol.api import response_class
from tidelog.protocol.schema import Message
from tidelog.server.api import fetch
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.shard_runtime import ShardRuntime
from tidelog.server.declaration import Api
from tidelog.server.replicas import replica as replica_module
from tidelog.server.replicas.reconciling import Reconciler, is_current
from tidelog.server.replicas.replica import Replica
from tidelog.server.replicas.waits import FetchWait, FetchWaits
from tidelog.server.replication.directories import DirectoryAssignments
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import Forwarder
from tidelog.server.startup import RunningNode
from tidelog.simulation.checks.invariants import InvariantWatch
from tidelog.simulation.faults.plan import FaultKind
from tidelog.simulation.machines.network import ProcessNetwork
from tidelog.simulation.run import run
from tidelog.simulation.scenario import draw_scenario
from tidelog.storage.directories import disk_health, log_directory
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.log import Log
from tidelog.storage.log.truncation import truncate_to
from tidelog.storage.recovery.evidence import Evidence

pytestmark = pytest.mark.plain_python

SECONDS = 40.0
# When files that are cut off may be removed; never, in so short a time.
NOW_MS = 1_800_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    plant: Callable[[pytest.MonkeyPatch], None]
    nodes: int
    faults: tuple[FaultKind, ...]
    # What the mistake shows as; any of them.
    shows_as: frozenset[str]
    seeds: int = 40
    # What one of these violations has to say, if only that shows the mistake.
    says: str = ""


def wrap(patch: pytest.MonkeyPatch, owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a method by a function that gets the original one first."""
    original = getattr(owner, name)

    def replaced(*arguments: Any, **options: Any) -> Any:
        return replacement(original, *arguments, **options)

    patch.setattr(owner, name, replaced)


# -- mistakes of one broker ----------------------------------------------------------------------------------------


def answer_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "flushed_end_offset", property(lambda self: self.log_end_offset))


def after_start(patch: pytest.MonkeyPatch, act: Callable[[Replica], None]) -> None:
    async def start(original: Any, self: RunningNode) -> None:
        await original(self)
        for replica in self.node.replicas:
            act(replica)

    wrap(patch, RunningNode, "start", start)


def forget_producers_on_restart(patch: pytest.MonkeyPatch) -> None:
    after_start(patch, lambda replica: replica.log.producer_states.reset(replica.log.log_end_offset))


def cut_too_much_in_recovery(patch: pytest.MonkeyPatch) -> None:
    def cut(replica: Replica) -> None:
        log = replica.log
        if replica.topic_partition.topic == "records" and log.log_end_offset > 0:
            truncate_to(log, log.log_end_offset - 1, now_ms=NOW_MS)

    after_start(patch, cut)


def cut_damage_away(patch: pytest.MonkeyPatch) -> None:
    """Recovery takes whatever it cannot read for the torn end of the log, whatever is known to be committed."""

    def forget(original: Any, *arguments: Any) -> Evidence:
        original(*arguments)
        return Evidence()

    wrap(patch, log_directory, "read_evidence", forget)


def take_a_want_of_descriptors_for_a_failed_disk(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(disk_health, "TOO_MANY_OPEN_FILES", ())
    patch.setattr(StorageFailure, "is_shortage", property(lambda self: False))


# -- mistakes in replication ---------------------------------------------------------------------------------------


def serve_beyond_the_watermark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Replica, "readable_end", lambda self, isolation_level: self.log.log_end_offset)


def cut_at_the_watermark(patch: pytest.MonkeyPatch) -> None:
    """What Kafka did before KIP-101."""

    def become_follower(original: Any, self: Replica, partition: PartitionImage) -> None:
        if partition.leader_epoch != self.leader_epoch:
            truncate_to(self.log, self.log.high_watermark, now_ms=NOW_MS)
        original(self, partition)

    wrap(patch, Replica, "become_follower", become_follower)


def skip_the_epoch_check(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fetch, "_divergence", lambda replica, wanted: None)


def acknowledge_before_the_followers_have_it(patch: pytest.MonkeyPatch) -> None:
    def when_committed(self: Replica, end_offset: int) -> asyncio.Future[ErrorCode]:
        done: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        done.set_result(ErrorCode.NONE)
        return done

    patch.setattr(Replica, "when_committed", when_committed)


def count_an_in_sync_set_that_was_not_granted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        PartitionProgress,
        "maximal_in_sync",
        property(lambda self: self.in_sync if self.proposed is None else self.proposed),
    )

    def propose(original: Any, self: PartitionProgress, in_sync: Iterable[int]) -> None:
        original(self, in_sync)
        self._advance(self.max_lag_ms)

    wrap(patch, PartitionProgress, "propose", propose)


def forget_producers_on_fail_over(patch: pytest.MonkeyPatch) -> None:
    def begin(original: Any, self: Replica, partition: PartitionImage, max_lag_ms: int) -> PartitionProgress:
        self.log.producer_states.reset(self.log.log_end_offset)
        progress: PartitionProgress = original(self, partition, max_lag_ms)
        return progress

    wrap(patch, Replica, "_begin_to_lead", begin)


# -- mistakes with transactions --------------------------------------------------------------------------------------


def show_open_transactions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Replica, "readable_end", lambda self, isolation_level: self.log.high_watermark)


def keep_offsets_of_aborted_transactions(patch: pytest.MonkeyPatch) -> None:
    def ended(original: Any, self: GroupCoordinator, partition: int, producer_id: int, *, commit: bool) -> None:
        original(self, partition, producer_id, commit=True)

    wrap(patch, GroupCoordinator, "transaction_ended", ended)


# -- mistakes with disks ---------------------------------------------------------------------------------------------


def keep_the_directory_of_a_replaced_disk(patch: pytest.MonkeyPatch) -> None:
    """The replica is in sync again, but may not be elected: the metadata still names a directory that is gone."""
    patch.setattr(DirectoryAssignments, "compare", lambda self, topics: None)
    wrap(
        patch,
        in_sync,
        "_eligible",
        lambda original, image, partition, state: (
            image.is_active(state.broker_id) and state.broker_epoch in (-1, image.brokers[state.broker_id].epoch)
        ),
    )
    patch.setattr(Reconciler, "_eligible", lambda self, at, *broker: is_current(self.replicas.image(), *broker))


# -- mistakes between nodes ------------------------------------------------------------------------------------------


def forward_in_the_newest_version(patch: pytest.MonkeyPatch) -> None:
    """Fields that only the client's version has get lost."""

    async def send(self: Any, api: Api, request: Message, context: RequestContext, request_data: bytes) -> Any:
        return await self.controller.ask(request, response_class(context.api_key))

    patch.setattr(Forwarder, "send", send)


def take_silence_for_a_refusal(patch: pytest.MonkeyPatch) -> None:
    """Whoever does not answer at its ports counts as gone, which a broker that is cut off is not."""

    async def refuses(self: ProcessNetwork, host: str, port: int, timeout_seconds: float) -> bool:
        try:
            async with asyncio.timeout(timeout_seconds):
                transport, _ = await self.connect(asyncio.Protocol, host, port)
        except OSError:
            return True
        transport.abort()
        return False

    patch.setattr(ProcessNetwork, "refuses", refuses)


def take_a_lost_connection_for_a_death(patch: pytest.MonkeyPatch) -> None:
    """The ports are not even asked."""
    patch.setattr(Departures, "not_refused", lambda self, broker_id: self.refused(broker_id, 0.0))


# -- mistakes of coordinators ----------------------------------------------------------------------------------------


def forget_the_latest_expiry(patch: pytest.MonkeyPatch) -> None:
    """Now and the longest retention do not fit into the record: the decision raises."""
    patch.setattr(offset_commit, "LATEST_EXPIRY_MS", 1 << 80)


def discard_the_shard_with_a_failed_decision(patch: pytest.MonkeyPatch) -> None:
    """Every group of the shard has to wait until it is loaded."""
    forget_the_latest_expiry(patch)
    patch.setattr(ShardRuntime, "_decision_failed", lambda self, request: self._give_up())


# -- mistakes in waiting ---------------------------------------------------------------------------------------------


def register_waits_one_turn_late(patch: pytest.MonkeyPatch) -> None:
    """What is written between the read and the registration wakes nobody."""

    def watch(original: Any, self: FetchWait, place: FetchWaits) -> None:
        async def register() -> None:
            if self._woken is not None and not self._woken.done():
                original(self, place)

        asyncio.get_running_loop().create_task(register())

    wrap(patch, FetchWait, "watch", watch)


def wake_no_followers(patch: pytest.MonkeyPatch) -> None:
    """Followers find the new records when their patience is over."""

    def append(original: Any, self: Replica, *arguments: Any, **options: Any) -> Any:
        waiting, self.follower_waits = self.follower_waits, {}
        try:
            return original(self, *arguments, **options)
        finally:
            self.follower_waits = waiting

    wrap(patch, Replica, "append", append)


ENDS = (FaultKind.KILL, FaultKind.RESTART)
CUTS = (FaultKind.PARTITION, FaultKind.ONE_WAY_PARTITION, FaultKind.PAUSE)

PLANTED = {
    "answer before the flush": Planted(
        plant=answer_before_the_flush, nodes=1, faults=(FaultKind.POWER_LOSS,), shows_as=frozenset({"I1", "I2"})
    ),
    "forget producers on restart": Planted(
        plant=forget_producers_on_restart,
        nodes=1,
        faults=(FaultKind.CRASH_IN_CALL,),
        shows_as=frozenset({"I3", "I4"}),
    ),
    "cut too much in recovery": Planted(
        plant=cut_too_much_in_recovery, nodes=1, faults=(FaultKind.KILL,), shows_as=frozenset({"I1", "I2", "invariant"})
    ),
    "cut damage away": Planted(
        plant=cut_damage_away, nodes=1, faults=(FaultKind.DAMAGE,), shows_as=frozenset({"I1", "I2", "stuck"})
    ),
    "take a want of descriptors for a failed disk": Planted(
        plant=take_a_want_of_descriptors_for_a_failed_disk,
        nodes=1,
        faults=(FaultKind.NO_DESCRIPTORS,),
        shows_as=frozenset({"I7", "failure"}),
    ),
    "serve beyond the watermark": Planted(
        plant=serve_beyond_the_watermark, nodes=3, faults=(*ENDS, *CUTS), shows_as=frozenset({"I1", "I5"})
    ),
    "cut at the watermark on restart": Planted(
        plant=cut_at_the_watermark, nodes=3, faults=(*ENDS, *CUTS), shows_as=frozenset({"I1", "I2"})
    ),
    "skip the epoch check": Planted(
        plant=skip_the_epoch_check, nodes=3, faults=(*ENDS, *CUTS), shows_as=frozenset({"I1", "I7"})
    ),
    "acknowledge before the in-sync replicas have it": Planted(
        plant=acknowledge_before_the_followers_have_it, nodes=3, faults=(*ENDS, *CUTS), shows_as=frozenset({"I2"})
    ),
    "count an in-sync set that was not granted yet": Planted(
        plant=count_an_in_sync_set_that_was_not_granted, nodes=3, faults=CUTS, shows_as=frozenset({"I1", "I2"})
    ),
    "forget producers on fail-over": Planted(
        plant=forget_producers_on_fail_over, nodes=3, faults=(*ENDS, *CUTS), shows_as=frozenset({"I4"})
    ),
    "forward in the newest version": Planted(
        plant=forward_in_the_newest_version, nodes=3, faults=(), shows_as=frozenset({"I9"}), seeds=10
    ),
    "forget the latest expiry": Planted(
        plant=forget_the_latest_expiry, nodes=1, faults=(), shows_as=frozenset({"I12"})
    ),
    "forget the latest expiry, on three nodes": Planted(
        plant=forget_the_latest_expiry, nodes=3, faults=(), shows_as=frozenset({"I12"})
    ),
    "discard the shard with a failed decision": Planted(
        plant=discard_the_shard_with_a_failed_decision,
        nodes=1,
        faults=(),
        shows_as=frozenset({"I12"}),
        says=r"^bystander-1",
    ),
    "keep the directory of a replaced disk": Planted(
        plant=keep_the_directory_of_a_replaced_disk,
        nodes=3,
        faults=(FaultKind.REPLACED_DISK,),
        shows_as=frozenset({"I7"}),
    ),
    "take silence for a refusal": Planted(
        plant=take_silence_for_a_refusal, nodes=3, faults=(*CUTS, FaultKind.RESET), shows_as=frozenset({"I10"})
    ),
    "take a lost connection for a death": Planted(
        plant=take_a_lost_connection_for_a_death,
        nodes=3,
        faults=(FaultKind.RESET, FaultKind.PAUSE),
        shows_as=frozenset({"I10"}),
    ),
    "register waits one turn late": Planted(
        plant=register_waits_one_turn_late, nodes=3, faults=(), shows_as=frozenset({"I11"}), seeds=6
    ),
    "register waits one turn late, among faults": Planted(
        plant=register_waits_one_turn_late, nodes=3, faults=(*ENDS, *CUTS), shows_as=frozenset({"I11"}), seeds=12
    ),
    "wake no followers": Planted(plant=wake_no_followers, nodes=3, faults=(), shows_as=frozenset({"I11"}), seeds=3),
    "show open transactions": Planted(plant=show_open_transactions, nodes=1, faults=(), shows_as=frozenset({"I3"})),
    "keep offsets of aborted transactions": Planted(
        plant=keep_offsets_of_aborted_transactions,
        nodes=3,
        faults=(*ENDS, *CUTS),
        shows_as=frozenset({"I8"}),
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    planted.plant(monkeypatch)
    seen: set[str] = set()
    for seed in range(1, planted.seeds + 1):
        report = run(draw_scenario(seed, seconds=SECONDS, nodes=planted.nodes, faults=planted.faults))
        seen |= {each.invariant for each in report.violations if re.search(planted.says, each.message)}
        if seen & planted.shows_as:
            return
    pytest.fail(f"not found in {planted.seeds} seeds; other violations: {sorted(seen)}")


def take_the_watermark_of_the_leader_unseen(patch: pytest.MonkeyPatch) -> None:
    """A follower believes that it has what is committed, whether or not it has fetched that yet."""
    patch.setattr(
        replica_module,
        "follower_high_watermark",
        lambda current, *, leader_high_watermark, log_end_offset: max(current, leader_high_watermark),
    )

    def update(self: Log, offset: int) -> int:
        self.high_watermark = max(self.log_start_offset, offset)
        return self.high_watermark

    patch.setattr(Log, "update_high_watermark", update)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_invariant_catches_a_mistake_sooner_than_the_checkers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkers decide over the whole history, and only if a client happened to see the consequence."""
    take_the_watermark_of_the_leader_unseen(monkeypatch)
    for seed in range(1, 11):
        scenario = draw_scenario(seed, seconds=SECONDS, nodes=3, faults=(*ENDS, *CUTS))
        report = run(scenario)
        if report.failed:
            break
    assert [each.invariant for each in report.violations] == ["invariant"]
    assert "the high watermark lies in the log: at=" in report.violations[0].message
    monkeypatch.setattr(InvariantWatch, "check", lambda self: None)
    assert report.virtual_seconds < run(scenario).virtual_seconds
