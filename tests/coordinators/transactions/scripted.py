"""A coordinator of transactions that a script drives: every line is a reply, a record in the log, or work to do."""

from __future__ import annotations

from support.transaction_driver import ADD_V2, END_V2, INIT_V2, TRANSACTIONAL_ID, Coordinator
from support.transcripts import Scripted

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.markers import MarkerWork
from tidelog.coordinators.transactions.records import decode_record
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue


class ScriptedCoordinator(Scripted):
    """One transactional id, `payments`. A producer knows what it was answered, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._coordinator = Coordinator()
        self._producers: dict[str, ProducerIdentity] = {}
        self._markers: MarkerWork | None = None
        # How much of the log is in the lines.
        self._shown = 0

    # --- What producers do

    def do_init(self, name: str) -> None:
        response = self._coordinator.init(version=INIT_V2)
        if response.error_code == ErrorCode.NONE:
            self._producers[name] = ProducerIdentity(response.producer_id, response.producer_epoch)
        self._answered(name, "InitProducerId", response.error_code)

    def do_add(self, name: str, *partitions: str) -> None:
        code = self._coordinator.add(self._producers[name], *map(_partition, partitions), version=ADD_V2)
        self._answered(name, "AddPartitionsToTxn", code)

    def do_commit(self, name: str) -> None:
        response = self._coordinator.end(self._producers[name], commit=True, version=END_V2)
        if response.error_code == ErrorCode.NONE:
            self._producers[name] = ProducerIdentity(response.producer_id, response.producer_epoch)
        self._answered(name, "EndTxn", response.error_code)

    def do_commit_unanswered(self, name: str) -> None:
        """The coordinator decides, and dies before the answer is on its way."""
        producer = self._producers[name]
        request = EndTxnRequest(
            transactional_id=TRANSACTIONAL_ID,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=True,
        )
        self._coordinator.ask(request, END_V2)
        self._show_log()
        self.lines.append(f"{name} gets no answer")

    # --- What happens around the coordinator

    def do_fail_over(self) -> None:
        """The next broker loads the log. What the one before was about to do is forgotten."""
        self._coordinator.fail_over()
        transaction = self._coordinator.transaction
        self.lines.append(f"coordinator {self._coordinator.coordinator_epoch} loads {transaction.state.label}")
        self._show_markers()

    def do_marker(self, *partitions: str) -> None:
        """The leaders of these partitions have written their markers, and have answered."""
        work = self._markers
        assert work is not None
        for partition in partitions:
            self._coordinator.write_marker(work, _partition(partition))
            self.lines.append(f"{partition} has its {'commit' if work.commit else 'abort'} marker")
            self._show_log()

    def do_log(self, what: str) -> None:
        """`log breaks` or `log heals`: as when too few replicas are in sync."""
        self._coordinator.log_broken = what == "breaks"

    # --- What is shown

    def _answered(self, name: str, api: str, code: int) -> None:
        self._show_log()
        now = ""
        if code == ErrorCode.NONE:
            producer = self._producers[name]
            now = f", producer {producer.producer_id} in epoch {producer.producer_epoch}"
        self.lines.append(f"{name} is answered {api} {ErrorCode(code).name}{now}")
        self._show_markers()

    def _show_log(self) -> None:
        for offset, (key, value) in enumerate(self._coordinator.log[self._shown :], self._shown):
            record = decode_record(key, value).value
            assert isinstance(record, TransactionLogValue)
            partitions = [
                f"{topic.topic}-{partition}"
                for topic in record.transaction_partitions or ()
                for partition in topic.partition_ids
            ]
            self.lines.append(
                f"log {offset}: {TransactionState(record.transaction_status).label} "
                f"epoch={record.producer_epoch} partitions=[{', '.join(sorted(partitions))}]"
            )
        self._shown = len(self._coordinator.log)

    def _show_markers(self) -> None:
        while self._coordinator.marker_work:
            work = self._markers = self._coordinator.marker_work.pop()
            what = "commit" if work.commit else "abort"
            places = ", ".join(sorted(f"{each.topic}-{each.partition}" for each in work.partitions))
            self.lines.append(f"to do: {what} markers of epoch {work.producer.producer_epoch} in [{places}]")


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
