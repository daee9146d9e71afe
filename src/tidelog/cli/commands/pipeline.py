"""`tidelog pipeline`: ready Spark jobs, from options or from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.output import print_lines
from tidelog.cli.properties import split_properties
from tidelog.cli.session import DEFAULT_SERVERS, client_properties
from tidelog.client.options import WITHOUT_EFFECT
from tidelog.model.lazy_dataclasses import dataclass

DEFAULT_RETRY = "10 minutes"
LOOPBACK = "127.0.0.1"
_SERVERS_SHOWN = f"bootstrap.servers in the file, or {DEFAULT_SERVERS}"

_HELP = """Run a ready pipeline on Spark: exactly once, and resuming after a crash.

Examples:

tidelog pipeline sink-db --name orders --topic orders --url sqlite:///orders.db --table orders

tidelog pipeline run orders.toml

spark-submit --master spark://host:7077 "$(tidelog pipeline entry-point)" orders.toml

The last one is for a Spark cluster; tidelog has to be installed on its machines."""

pipeline = typer.Typer(
    help=_HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Option("--name", help="Identifies the pipeline: its progress is stored under this name.")]
TargetServers = Annotated[
    str, typer.Option("--to-bootstrap-server", metavar="HOST:PORT,...", help="The cluster to write to.")
]
TargetOptions = Annotated[
    list[str] | None, typer.Option("--target-option", metavar="NAME=VALUE", help="An option of the sink. Repeatable.")
]

TargetConfig = Annotated[
    Path | None,
    typer.Option(
        "--producer.config",
        metavar="FILE",
        help="A file with the security of the cluster to write to, as for producers.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """Topics to read."""

    topic: Annotated[list[str] | None, typer.Option("--topic", help="A topic to read. Repeatable.")] = None
    topic_pattern: Annotated[
        str, typer.Option("--topic-pattern", metavar="REGEX", help="Topics to read: all whose names match.")
    ] = ""
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            "-b",
            metavar="HOST:PORT,...",
            show_default=_SERVERS_SHOWN,
            help="The cluster to read from.",
        ),
    ] = None
    consumer_config: Annotated[
        Path | None,
        typer.Option(
            "--consumer.config",
            "--command-config",
            metavar="FILE",
            help="A file with the security of the cluster to read from, as for consumers.",
        ),
    ] = None
    start: Annotated[
        str, typer.Option("--from", metavar="OFFSETS", help="Where a new pipeline begins: earliest, latest, or JSON.")
    ] = "earliest"
    max_records_per_batch: Annotated[
        int, typer.Option("--max-records-per-batch", help="The most records in one batch.")
    ] = 1_000_000
    source_option: Annotated[
        list[str] | None,
        typer.Option("--source-option", metavar="NAME=VALUE", help="An option of the source. Repeatable."),
    ] = None

    def table(self) -> dict[str, Any]:
        servers, options = _cluster(self.consumer_config, self.bootstrap_server)
        return {
            "bootstrap_servers": servers,
            "topics": self.topic or [],
            "topic_pattern": self.topic_pattern,
            "starting_offsets": self.start,
            "max_records_per_batch": self.max_records_per_batch,
            "options": {**options, **split_properties("--source-option", self.source_option or ())},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The cluster to write to, where there is no other."""

    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            "-b",
            metavar="HOST:PORT,...",
            show_default=_SERVERS_SHOWN,
            help="The cluster to write to.",
        ),
    ] = None
    producer_config: Annotated[
        Path | None,
        typer.Option(
            "--producer.config",
            "--command-config",
            metavar="FILE",
            help="A file with the security of the cluster, as for producers.",
        ),
    ] = None
    target_option: TargetOptions = None

    def table(self) -> dict[str, Any]:
        return _target(self.bootstrap_server, self.producer_config, self.target_option)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueOptions:
    """How values are parsed."""

    schema: Annotated[
        str,
        typer.Option("--schema", metavar="DDL", help="Values are JSON with these fields: 'id BIGINT, name STRING'."),
    ] = ""
    skip_malformed: Annotated[
        bool, typer.Option("--skip-malformed", help="Leave out values that do not fit the schema, instead of failing.")
    ] = False

    def table(self) -> dict[str, Any]:
        return {
            "format": "json" if self.schema else "raw",
            "schema": self.schema,
            "malformed": "skip" if self.skip_malformed else "fail",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """How the job runs, whatever it does."""

    checkpoint: Annotated[
        str,
        typer.Option(
            "--checkpoint", metavar="DIR", help="Where Spark stores its progress; by default below ~/.local/state."
        ),
    ] = ""
    once: Annotated[bool, typer.Option("--once", help="Stop when everything that is there now has been processed.")] = (
        False
    )
    interval: Annotated[
        str, typer.Option("--interval", help="How often a batch begins, such as '500 milliseconds'.")
    ] = "1 second"
    retry_for: Annotated[
        str,
        typer.Option(
            "--retry-for",
            metavar="TIME",
            help="How long to wait for a broker or database that is unavailable: '10 minutes', 0 or forever.",
        ),
    ] = DEFAULT_RETRY
    service_port: Annotated[
        int,
        typer.Option("--service-port", metavar="PORT", help="Serve /healthz and /metrics here; 0 takes any free port."),
    ] = -1
    service_host: Annotated[str, typer.Option("--service-host", help="The address to serve them on.")] = LOOPBACK
    master: Annotated[
        str, typer.Option("--master", help="What Spark runs on, such as local[4]; local[*] by default.")
    ] = ""
    spark_config: Annotated[
        list[str] | None, typer.Option("--spark-config", metavar="NAME=VALUE", help="A Spark setting. Repeatable.")
    ] = None

    def tables(self, name: str) -> dict[str, Any]:
        return {
            "run": {
                "name": name,
                "checkpoint": self.checkpoint,
                "once": self.once,
                "interval": self.interval,
                "retry_for": self.retry_for,
            },
            "spark": {"master": self.master, "config": split_properties("--spark-config", self.spark_config or ())},
            "service": {"port": self.service_port, "host": self.service_host},
        }


@pipeline.command("run")
def run_file(
    file: Annotated[Path, typer.Argument(help="A TOML file that describes a pipeline.")],
    retry_for: Annotated[str, typer.Option("--retry-for", metavar="TIME", help="Overrides the file.")] = "",
    service_port: Annotated[
        int | None, typer.Option("--service-port", metavar="PORT", help="Overrides the file.")
    ] = None,
    service_host: Annotated[str, typer.Option("--service-host", help="Overrides the file.")] = "",
) -> None:
    """Run the pipeline that a TOML file describes."""
    reading = _spark_module("tidelog.spark.pipelines.reading")
    instead = reading.instead_of_file(retry_for=retry_for, service_port=service_port, service_host=service_host)
    _run(lambda: reading.read_pipeline_file(file, instead=instead))


@pipeline.command("entry-point")
def entry_point() -> None:
    """Print the path of the program that spark-submit takes."""
    print_lines([str(_spark_module("tidelog.spark.pipelines.__main__").__file__)])


@pipeline.command("sink-db")
@with_groups
def sink_db(
    name: Name,
    records: InputOptions,
    values: ValueOptions,
    *,
    url: Annotated[str, typer.Option("--url", help="postgresql://user@host/database or sqlite:///file.db.")],
    table: Annotated[str, typer.Option("--table", help="The table; it is created if it does not exist.")],
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="SQL", help="A column of the table: 'upper(name) AS name'.")
    ] = None,
    where: Annotated[
        str, typer.Option("--where", metavar="SQL", help="Only records that satisfy this condition.")
    ] = "",
    key: Annotated[
        list[str] | None, typer.Option("--key", help="A key column: rows replace those with the same key. Repeatable.")
    ] = None,
    delete_when: Annotated[
        str,
        typer.Option("--delete-when", metavar="SQL", help="With --key: records that satisfy this delete their row."),
    ] = "",
    deduplicate: Annotated[
        str,
        typer.Option(
            "--deduplicate", metavar="SQL", help="The id of an event, such as header:id: each is written once."
        ),
    ] = "",
    evolve_table: Annotated[bool, typer.Option("--evolve-table", help="Add columns that the table lacks.")] = False,
    job: JobOptions,
) -> None:
    """Topics into a table of PostgreSQL or SQLite: rows and offsets in one transaction of the database.

    Examples:

    tidelog pipeline sink-db --name orders --topic orders --schema 'id BIGINT, total DOUBLE'
    --url sqlite:///orders.db --table orders --key id
    """
    _run_settings(
        "sink-db",
        {
            **job.tables(name),
            "source": records.table(),
            "value": values.table(),
            "database": {
                "url": url,
                "table": table,
                "mode": "upsert" if key else "append",
                "keys": key or [],
                "columns": column or [],
                "where": where,
                "delete_when": delete_when,
                "deduplicate": deduplicate,
                "evolve_table": evolve_table,
            },
        },
    )


@pipeline.command("transform")
@with_groups
def transform(
    name: Name,
    records: InputOptions,
    values: ValueOptions,
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="TOPIC", help="The topic to write to; by default the column `topic`.")
    ] = "",
    sql: Annotated[
        str, typer.Option("--sql", help="A query over `records` that returns `value`, and perhaps `key`.")
    ] = "",
    function: Annotated[
        str, typer.Option("--function", metavar="MODULE:FUNCTION", help="A function from DataFrame to DataFrame.")
    ] = "",
    path: Annotated[str, typer.Option("--path", metavar="DIR", help="The directory of the module of --function.")] = "",
    output_mode: Annotated[
        str,
        typer.Option("--output-mode", help="What aggregations write: append (closed windows), update or complete."),
    ] = "append",
    watermark: Annotated[
        str,
        typer.Option("--watermark", metavar="'COLUMN DELAY'", help="How late records may be: 'at 10 minutes'."),
    ] = "",
    state_store: Annotated[
        str, typer.Option("--state-store", help="Where state is kept: memory or rocksdb.")
    ] = "memory",
    to_bootstrap_server: TargetServers = "",
    producer_config: TargetConfig = None,
    target_option: TargetOptions = None,
    job: JobOptions,
) -> None:
    """Topics through SQL, or a Python function, into topics.

    Examples:

    tidelog pipeline transform --name big --topic orders --schema 'id BIGINT, total DOUBLE' --to big-orders
    --sql "SELECT record.key, to_json(struct(id, total)) AS value FROM records WHERE total > 100"
    """
    _run_settings(
        "transform",
        {
            **job.tables(name),
            "source": records.table(),
            "value": values.table(),
            "query": {
                "sql": sql,
                "function": function,
                "path": path,
                "output_mode": output_mode,
                "watermark": watermark,
                "state_store": state_store,
            },
            "target": _target(
                to_bootstrap_server or (None if producer_config else records.bootstrap_server),
                producer_config or (None if to_bootstrap_server else records.consumer_config),
                target_option,
                topic=to,
            ),
        },
    )


@pipeline.command("outbox")
@with_groups
def outbox(
    name: Name,
    *,
    url: Annotated[str, typer.Option("--url", help="postgresql://user@host/database or sqlite:///file.db.")],
    table: Annotated[str, typer.Option("--table", help="The outbox table.")] = "outbox",
    mode: Annotated[
        str, typer.Option("--mode", help="poll queries the table, log reads PostgreSQL's write-ahead log.")
    ] = "poll",
    slot: Annotated[str, typer.Option("--slot", help="With log: the replication slot; by default from --name.")] = "",
    publication: Annotated[
        str, typer.Option("--publication", help="With log: the publication; by default as the slot.")
    ] = "",
    create_table: Annotated[
        bool, typer.Option("--create-table", help="Create the table if it does not exist; with log also the slot.")
    ] = False,
    delete_relayed: Annotated[
        bool, typer.Option("--delete-relayed", help="Delete rows whose events have been written.")
    ] = False,
    max_events_per_batch: Annotated[int, typer.Option(help="The most events in one batch.")] = 100_000,
    topic_partitions: Annotated[
        int, typer.Option(help="For topics that are created; -1 is the broker's default.")
    ] = -1,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="An option of Debezium's event router. Repeatable."),
    ] = None,
    output: OutputOptions,
    job: JobOptions,
) -> None:
    """Events of an outbox table into topics, with Debezium's columns, routing and options.

    Examples:

    tidelog pipeline outbox --name shop-events --url postgresql://app@127.0.0.1/shop --create-table
    """
    _run_settings(
        "outbox",
        {
            **job.tables(name),
            "outbox": {
                "url": url,
                "table": table,
                "mode": mode,
                "slot": slot,
                "publication": publication,
                "create_table": create_table,
                "delete_relayed": delete_relayed,
                "max_events_per_batch": max_events_per_batch,
                "topic_partitions": topic_partitions,
                "options": split_properties("--option", option or ()),
            },
            "target": output.table(),
        },
    )


@pipeline.command("mirror")
@with_groups
def mirror(
    name: Name,
    records: InputOptions,
    to_bootstrap_server: TargetServers,
    *,
    groups: Annotated[
        str, typer.Option("--groups", metavar="REGEX", help="Consumer groups whose offsets are translated.")
    ] = ".*",
    translate_groups: Annotated[bool, typer.Option(help="Translate offsets of consumer groups.")] = True,
    topic_prefix: Annotated[
        str, typer.Option("--topic-prefix", help="A prefix for the names of topics at the target.")
    ] = "",
    verify: Annotated[bool, typer.Option("--verify", help="Compare both sides record by record, and exit.")] = False,
    producer_config: TargetConfig = None,
    target_option: TargetOptions = None,
    job: JobOptions,
) -> None:
    """Topics of one cluster into another: same partitions, order, headers and timestamps, and offsets of groups.

    Examples:

    tidelog pipeline mirror --name to-backup -b live:9092 --to-bootstrap-server backup:9092
    --topic-pattern 'orders.*'

    With --verify nothing is copied, and Spark is not started: status 0 says that everything that was mirrored is the
    same on both sides, 1 that something differs.
    """
    run = _verify_settings if verify else _run_settings
    run(
        "mirror",
        {
            **job.tables(name),
            "source": records.table(),
            "target": _target(to_bootstrap_server, producer_config, target_option),
            "mirror": {"groups": groups, "translate_groups": translate_groups, "topic_prefix": topic_prefix},
        },
    )


def _target(servers: str | None, file: Path | None, options: list[str] | None, topic: str = "") -> dict[str, Any]:
    found, from_file = _cluster(file, servers)
    return {
        "bootstrap_servers": found,
        "topic": topic,
        "options": {**from_file, **split_properties("--target-option", options or ())},
    }


def _cluster(file: Path | None, servers: str | None) -> tuple[str, dict[str, str]]:
    """Where the cluster is, and what a file says about connections to it, as options of Spark.

    Other properties of producers and consumers are left out: source and sink decide most of them themselves, and would
    refuse such as acks.
    """
    properties = client_properties(file, servers)
    found = str(properties.pop("bootstrap.servers"))
    chosen = {name: str(value) for name, value in properties.items() if name not in WITHOUT_EFFECT}
    return found, {f"kafka.{name}": value for name, value in chosen.items()}


def _run_settings(kind: str, tables: Mapping[str, Any]) -> None:
    reading = _spark_module("tidelog.spark.pipelines.reading")
    _run(lambda: reading.pipeline_from(kind, tables))


def _verify_settings(kind: str, tables: Mapping[str, Any]) -> None:
    expected = _spark_module("tidelog.spark.pipelines.__main__").EXPECTED
    comparison = _spark_module("tidelog.spark.mirror.comparison")
    try:
        settings = _spark_module("tidelog.spark.pipelines.reading").pipeline_from(kind, tables)
        results = _spark_module("tidelog.spark.pipelines.mirror").verify(settings)
    except expected as error:
        raise CommandFailure(str(error)) from error
    print_lines(comparison.describe(results))
    if not all(result.is_equal for result in results):
        raise CommandFailure("the target differs from the source")


def _run(read: Any) -> None:
    expected = _spark_module("tidelog.spark.pipelines.__main__").EXPECTED
    run_pipeline = _spark_module("tidelog.spark.pipelines.run").run_pipeline
    display = _spark_module("tidelog.spark.pipelines.progress").Display
    try:
        settings = read()
        run_pipeline(settings, display(settings.run.name))
    except expected as error:
        raise CommandFailure(str(error)) from error


def _spark_module(name: str) -> Any:
    """Spark is an extra: everything else of tidelog works without it."""
    from importlib import import_module

    try:
        import_module("pyspark")
        return import_module(name)
    except ModuleNotFoundError as error:
        raise CommandFailure(
            f"pipelines run on Spark, and {error.name} is not installed here; install it with: pip install "
            '"tidelog[spark]"'
        ) from error
