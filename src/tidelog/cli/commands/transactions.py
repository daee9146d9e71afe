"""`tidelog transactions`: what transactions do, which of them hang, and an end to those (KIP-664).

The commands, options and lines are those of Kafka's kafka-transactions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

import typer

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.output import columns
from tidelog.cli.session import BootstrapServer, CommandConfig, Json, run
from tidelog.client.admin import Admin, HangingTransaction, ProducerState, TransactionDescription, TransactionListing
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

MINUTE_MS = 60_000
# A partition that no coordinator has written to has no epoch to show.
_NO_EPOCH = -1

Row = TypeVar("Row")

Topic = Annotated[str, typer.Option("--topic", help="The topic.")]
Partition = Annotated[int, typer.Option("--partition", min=0, help="The number of the partition.")]

transactions = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False
)


@transactions.callback()
def _cluster(
    context: typer.Context, bootstrap_server: BootstrapServer = None, command_config: CommandConfig = None
) -> None:
    """Look at transactions, and end those that hang. With the commands of kafka-transactions.

    \b
    Examples:
      tidelog transactions list
      tidelog transactions describe --transactional-id payments-1
      tidelog transactions describe-producers --topic orders --partition 0
      tidelog transactions find-hanging --topic orders
      tidelog transactions abort --topic orders --partition 0 --start-offset 1234
    """
    context.obj = ClusterOptions(bootstrap_server=bootstrap_server, command_config=command_config)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Who has got used to other commands gives the servers behind the command's name."""

    bootstrap_server: Annotated[str | None, typer.Option("--bootstrap-server", "-b", hidden=True)] = None
    as_json: Json = False

    def cluster(self, context: typer.Context) -> ClusterOptions:
        given: ClusterOptions = context.obj
        return replace(given, bootstrap_server=self.bootstrap_server or given.bootstrap_server, as_json=self.as_json)


# ----------------------------------------------------------------------------------------------------------------
# Looking.


@transactions.command("list")
@with_groups
def list_transactions(
    context: typer.Context,
    duration_filter: Annotated[
        int,
        typer.Option(
            "--duration-filter", metavar="MS", help="Only transactions that have been running for longer than this."
        ),
    ] = -1,
    pattern: Annotated[
        str | None, typer.Option("--transactional-id-pattern", help="Only ids that match this regular expression.")
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", help="Only those in this state, such as Ongoing. Repeatable.")
    ] = None,
    *,
    common: CommonOptions,
) -> None:
    """List the transactional ids of all coordinators."""
    cluster = common.cluster(context)

    async def show() -> None:
        async with cluster.admin() as admin:
            found = await admin.list_transactions(states=state or (), longer_than_ms=duration_filter, pattern=pattern)
        document = [
            {
                "transactionalId": each.transactional_id,
                "coordinator": each.coordinator,
                "producerId": each.producer_id,
                "state": each.state,
            }
            for each in found
        ]
        cluster.show(document, _table(found, _LISTED))

    run(show())


@transactions.command("describe")
@with_groups
def describe(
    context: typer.Context,
    transactional_id: Annotated[str, typer.Option("--transactional-id", help="The id that the producer has set.")],
    common: CommonOptions,
) -> None:
    """Show the state of a transactional id and the partitions of its transaction."""
    cluster = common.cluster(context)

    async def show() -> None:
        async with cluster.admin() as admin:
            found = Admin.raise_any(await admin.describe_transactions([transactional_id]))[transactional_id]
        cluster.show(_description_json(found), _table([found], _DESCRIBED))

    run(show())


def _description_json(found: TransactionDescription) -> dict[str, object]:
    return {
        "coordinator": found.coordinator,
        "transactionalId": found.transactional_id,
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
        "state": found.state,
        "timeoutMs": found.timeout_ms,
        "startTimeMs": found.start_ms,
        "partitions": [{"topic": topic, "partition": number} for topic, number in sorted(found.partitions)],
    }


@transactions.command("describe-producers")
@with_groups
def describe_producers(context: typer.Context, topic: Topic, partition: Partition, common: CommonOptions) -> None:
    """Show the producers that the leader of a partition remembers, and their open transactions."""
    cluster = common.cluster(context)

    async def show() -> None:
        at = TopicPartition(topic, partition)
        async with cluster.admin() as admin:
            producers = await _producers(admin, at)
        cluster.show([_producer_json(at, producer) for producer in producers], _table(producers, _PRODUCERS))

    run(show())


# ----------------------------------------------------------------------------------------------------------------
# Hanging ones.


@transactions.command("find-hanging")
@with_groups
def find_hanging(
    context: typer.Context,
    broker_id: Annotated[
        int | None, typer.Option("--broker-id", help="Only partitions that have a replica on this broker.")
    ] = None,
    max_transaction_timeout: Annotated[
        int,
        typer.Option(
            "--max-transaction-timeout",
            min=0,
            metavar="MINUTES",
            help="The longest transaction timeout of any producer.",
        ),
    ] = 15,
    topic: Annotated[str | None, typer.Option("--topic", help="Only partitions of this topic.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Only this partition of --topic.")] = None,
    *,
    common: CommonOptions,
) -> None:
    """Find transactions that no coordinator will end. They hold back all readers of committed records."""
    if topic is None and broker_id is None:
        raise typer.BadParameter("either --topic or --broker-id is needed, to say where to look")
    if partition is not None and topic is None:
        raise typer.BadParameter("--partition needs --topic")
    cluster = common.cluster(context)

    async def show() -> None:
        async with cluster.admin() as admin:
            where = await _search_space(admin, broker_id, topic, partition)
            since_ms = _now_ms() - max_transaction_timeout * MINUTE_MS
            found = await admin.find_hanging_transactions(where, silent_since_ms=since_ms) if where else []
        cluster.show([_producer_json(each.partition, each.producer) for each in found], _table(found, _HANGING))

    run(show())


async def _search_space(
    admin: Admin, broker_id: int | None, topic: str | None, partition: int | None
) -> list[TopicPartition]:
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    names = [topic] if topic is not None else [each.name for each in await admin.list_topics(internal=True)]
    described = Admin.raise_any(await admin.describe_topics(names)) if names else {}
    return [
        TopicPartition(name, entry.partition)
        for name, description in sorted(described.items())
        for entry in description.partitions
        if broker_id is None or broker_id in entry.replicas
    ]


@transactions.command("abort")
@with_groups
def abort(
    context: typer.Context,
    topic: Topic,
    partition: Partition,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", min=0, help="Where the transaction begins; find-hanging shows it.")
    ] = None,
    producer_id: Annotated[int | None, typer.Option("--producer-id", help="Instead of --start-offset.")] = None,
    producer_epoch: Annotated[int | None, typer.Option("--producer-epoch", help="With --producer-id.")] = None,
    coordinator_epoch: Annotated[int | None, typer.Option("--coordinator-epoch", help="With --producer-id.")] = None,
    *,
    common: CommonOptions,
) -> None:
    """End a hanging transaction in one partition. What was written in it stays invisible for good."""
    by_producer = (producer_id, producer_epoch, coordinator_epoch)
    if start_offset is None and None in by_producer:
        raise typer.BadParameter(
            "either --start-offset is needed, or --producer-id, --producer-epoch and --coordinator-epoch together"
        )
    if start_offset is not None and by_producer != (None, None, None):
        raise typer.BadParameter("--start-offset identifies the transaction: leave out the producer")
    cluster = common.cluster(context)

    async def do() -> None:
        at = TopicPartition(topic, partition)
        async with cluster.admin() as admin:
            if start_offset is not None:
                found = await _transaction_at(admin, at, start_offset)
                ids = (found.producer_id, found.producer_epoch, _epoch(found))
            else:
                assert producer_id is not None
                assert producer_epoch is not None
                assert coordinator_epoch is not None
                ids = (producer_id, producer_epoch, coordinator_epoch)
            await admin.abort_transaction(at, producer_id=ids[0], producer_epoch=ids[1], coordinator_epoch=ids[2])
        cluster.show({"topic": topic, "partition": partition, "producerId": ids[0], "aborted": True}, ())

    run(do())


async def _transaction_at(admin: Admin, at: TopicPartition, start_offset: int) -> ProducerState:
    for producer in await _producers(admin, at):
        if producer.transaction_start == start_offset:
            return producer
    raise CommandFailure(
        f"no open transaction of {at} begins at offset {start_offset}; `tidelog transactions describe-producers` "
        f"shows those that are open"
    )


async def _producers(admin: Admin, at: TopicPartition) -> tuple[ProducerState, ...]:
    return Admin.raise_any(await admin.describe_producers([at]))[at]


def _producer_json(at: TopicPartition, producer: ProducerState) -> dict[str, object]:
    return {
        "topic": at.topic,
        "partition": at.partition,
        "producerId": producer.producer_id,
        "producerEpoch": producer.producer_epoch,
        "coordinatorEpoch": producer.coordinator_epoch,
        "lastSequence": producer.last_sequence,
        "lastTimestamp": producer.last_timestamp,
        "transactionStartOffset": producer.transaction_start,
    }


def _epoch(producer: ProducerState) -> int:
    return _NO_EPOCH if producer.coordinator_epoch is None else producer.coordinator_epoch


def _now_ms() -> int:
    return int(time.time() * 1000)


# ----------------------------------------------------------------------------------------------------------------
# Columns, with the titles that Kafka's tool gives them.

_LISTED: Mapping[str, Callable[[TransactionListing], object]] = {
    "TransactionalId": lambda each: each.transactional_id,
    "Coordinator": lambda each: each.coordinator,
    "ProducerId": lambda each: each.producer_id,
    "TransactionState": lambda each: each.state,
}
_DESCRIBED: Mapping[str, Callable[[TransactionDescription], object]] = {
    "CoordinatorId": lambda found: found.coordinator,
    "TransactionalId": lambda found: found.transactional_id,
    "ProducerId": lambda found: found.producer_id,
    "ProducerEpoch": lambda found: found.producer_epoch,
    "TransactionState": lambda found: found.state,
    "TransactionTimeoutMs": lambda found: found.timeout_ms,
    "CurrentTransactionStartTimeMs": lambda found: found.start_ms,
    "TransactionDurationMs": lambda found: None if found.start_ms is None else _now_ms() - found.start_ms,
    "TopicPartitions": lambda found: ",".join(map(str, sorted(found.partitions))),
}
_PRODUCERS: Mapping[str, Callable[[ProducerState], object]] = {
    "ProducerId": lambda producer: producer.producer_id,
    "ProducerEpoch": lambda producer: producer.producer_epoch,
    "LatestCoordinatorEpoch": _epoch,
    "LastSequence": lambda producer: producer.last_sequence,
    "LastTimestamp": lambda producer: producer.last_timestamp,
    "CurrentTransactionStartOffset": lambda producer: producer.transaction_start,
}
_HANGING: Mapping[str, Callable[[HangingTransaction], object]] = {
    "Topic": lambda each: each.partition.topic,
    "Partition": lambda each: each.partition.partition,
    "ProducerId": lambda each: each.producer.producer_id,
    "ProducerEpoch": lambda each: each.producer.producer_epoch,
    "CoordinatorEpoch": lambda each: _epoch(each.producer),
    "StartOffset": lambda each: each.producer.transaction_start,
    "LastTimestamp": lambda each: each.producer.last_timestamp,
    "Duration(min)": lambda each: (_now_ms() - each.producer.last_timestamp) // MINUTE_MS,
}


def _table(rows: Sequence[Row], cells: Mapping[str, Callable[[Row], object]]) -> list[str]:
    """As Kafka's tool prints it: every column as wide as its widest cell, and a tab behind each."""
    table = [[cell(row) for cell in cells.values()] for row in rows]
    return [f"{line}\t" for line in columns(list(cells), table, least=[1] * len(cells), separator="\t")]
