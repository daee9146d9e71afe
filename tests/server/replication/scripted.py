"""Replicas of one partition that a script drives: real logs in files, and no network or time between them.

A script says who leads, who fetches and who dies. What a fetch carries and what follows from it is decided by the code
of the brokers: `Replica`, `partition.divergence`, and the log under them.
"""

from __future__ import annotations

from pathlib import Path

from support.decoding import decode_all
from support.default_settings import MAX_LAG_MS, log_config, replica_settings
from support.log_harness import NOW, PARTITION, TOPIC_ID, Harness, UnsyncedFileSystem
from support.transcripts import Scripted

from tidelog.metadata.image import PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.partition.divergence import diverging_epoch, truncation_offset
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.records.batch import parse_header
from tidelog.server.replicas.replica import Replica
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import ReadResult


class _StandingClock:
    def now_ms(self) -> int:
        return NOW

    def monotonic_ms(self) -> float:
        return 0.0


class _Broker:
    """Its log stays when it dies, as the page cache does; what it knew of others and of the watermark is gone."""

    def __init__(self, number: int, directory: Path) -> None:
        self.number = number
        directory.mkdir()
        self.harness = Harness(str(directory), UnsyncedFileSystem(), log_config())
        self.replica: Replica | None = None

    def start(self) -> Replica:
        self.replica = Replica(
            topic_partition=PARTITION,
            topic_id=bytes(TOPIC_ID),
            broker_id=self.number,
            log=self.harness.open(),
            settings=replica_settings(min_in_sync=2),
            clock=_StandingClock(),
            flush_wanted=lambda _: None,
        )
        return self.replica

    def die(self) -> None:
        self.harness.crash()
        self.replica = None


class ScriptedReplicas(Scripted):
    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._brokers: dict[int, _Broker] = {}
        self._leadership: PartitionImage | None = None

    def close(self) -> None:
        for broker in self._brokers.values():
            if broker.replica is not None:
                broker.die()

    # --- Commands

    def do_brokers(self, *numbers: str) -> None:
        for number in map(int, numbers):
            self._brokers[number] = _Broker(number, self._directory / str(number))
            self._brokers[number].start()

    def do_lead(self, leader: str, epoch: str, *in_sync: str) -> None:
        """The controller has decided who leads in which epoch, and who is in sync. All that run learn of it."""
        self._leadership = PartitionImage(
            leader=int(leader),
            leader_epoch=int(epoch),
            replicas=tuple(self._brokers),
            isr=tuple(map(int, in_sync)),
            partition_epoch=int(epoch),
        )
        for broker in self._brokers.values():
            if broker.replica is not None:
                self._learn(broker.replica, broker.number)

    def do_append(self, number: str, *values: str) -> None:
        """A producer with acks=all writes one batch."""
        self._append(number, values, all_in_sync=True)

    def do_append_to_leader(self, number: str, *values: str) -> None:
        """The same with acks=1."""
        self._append(number, values, all_in_sync=False)

    def do_fetch(self, *numbers: str) -> None:
        for number in map(int, numbers):
            self._fetch(number)

    def do_kill(self, number: str) -> None:
        self._brokers[int(number)].die()

    def do_start(self, number: str) -> None:
        self._learn(self._brokers[int(number)].start(), int(number))

    def do_show(self) -> None:
        for number, broker in self._brokers.items():
            if broker.replica is None:
                self.lines.append(f"{number} is dead")
                continue
            replica = broker.replica
            values = " ".join(value.decode() for _, value in broker.harness.values() if value is not None)
            epochs = ", ".join(f"{epoch} from {start}" for epoch, start in replica.log.leader_epochs.entries)
            role = "leads" if replica.is_leader else f"follows {replica.leader_id}"
            self.lines.append(
                f"{number} {role} in epoch {replica.leader_epoch}: {values} | epochs {epochs or 'none'} "
                f"| high watermark {replica.log.high_watermark}"
            )

    # --- What brokers do

    def _learn(self, replica: Replica, number: int) -> None:
        if self._leadership is None:
            return
        if self._leadership.leader == number:
            replica.become_leader(self._leadership, MAX_LAG_MS)
        else:
            replica.become_follower(self._leadership)

    def _append(self, number: str, values: tuple[str, ...], *, all_in_sync: bool) -> None:
        broker = self._brokers[int(number)]
        replica = self._running(int(number))
        data = broker.harness.batch(*(value.encode() for value in values))
        before = replica.log.high_watermark
        result = replica.append(data, [parse_header(data)], origin=AppendOrigin.CLIENT, all_in_sync=all_in_sync)
        if isinstance(result, AppendRefusal):
            self.lines.append(f"{number} refuses: {result.code.name}")
            return
        start = replica.log.log_end_offset - len(values)
        self.lines.append(f"{number} appends {' '.join(values)} at {start} in epoch {replica.leader_epoch}")
        self._show_watermark(int(number), before)

    def _fetch(self, number: int) -> None:
        follower = self._running(number)
        leader_id = follower.leader_id
        leader = self._running(leader_id)
        offset, last_epoch = follower.log.log_end_offset, follower.log.latest_epoch
        self.lines.append(
            f"{number} -> {leader_id} Fetch(epoch={follower.leader_epoch}, offset={offset}, last_epoch={last_epoch})"
        )
        code = leader.check_leader_epoch(follower.leader_epoch)
        if code is not ErrorCode.NONE:
            self.lines.append(f"{leader_id} -> {number} {code.name}")
            return
        log = leader.log
        parted = None
        if last_epoch >= 0:
            parted = diverging_epoch(
                log.leader_epochs, log.log_end_offset, fetch_offset=offset, last_fetched_epoch=last_epoch
            )
        if parted is not None:
            self.lines.append(
                f"{leader_id} -> {number} diverging: for me epoch {parted.epoch} ends at {parted.end_offset}"
            )
            cut = truncation_offset(follower.log.leader_epochs, offset, parted)
            self._brokers[number].harness.directory.truncate(PARTITION, cut, now_ms=NOW)
            self.lines.append(f"{number} truncates its log to {cut}")
            return
        before = log.high_watermark
        leader.record_fetch(number, broker_epoch=-1, fetch_offset=offset, log_start_offset=0)
        self._show_watermark(leader_id, before)
        found = read_records(leader.log, offset, max_bytes=1 << 20, upper_bound=log.log_end_offset)
        assert isinstance(found, ReadResult)
        values = [value.decode() for value in (record.value for record in decode_all(found.records)) if value]
        self.lines.append(
            f"{leader_id} -> {number} {' '.join(values) or 'nothing new'}, high watermark {log.high_watermark}"
        )
        follower.append_fetched(
            found.records, leader_high_watermark=log.high_watermark, leader_log_start=log.log_start_offset
        )

    def _show_watermark(self, number: int, before: int) -> None:
        after = self._running(number).log.high_watermark
        if after != before:
            self.lines.append(f"{number} commits up to {after}")

    def _running(self, number: int) -> Replica:
        replica = self._brokers[number].replica
        assert replica is not None, f"broker {number} is dead"
        return replica
