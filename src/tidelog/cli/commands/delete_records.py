"""`tidelog delete-records`: delete from the beginning of partitions, with the file or the lines of Kafka's tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tidelog.cli.output import print_json, print_lines
from tidelog.cli.session import (
    DEFAULT_SERVERS,
    BootstrapServer,
    CommandConfig,
    CommandFailure,
    Json,
    client_options,
    run,
)
from tidelog.client.admin import Admin
from tidelog.client.config import Options
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition


def delete_records(
    bootstrap_server: BootstrapServer = DEFAULT_SERVERS,
    offset_json_file: Annotated[
        Path | None,
        typer.Option(
            "--offset-json-file",
            metavar="FILE",
            help='{"partitions": [{"topic": "t", "partition": 0, "offset": 10}], "version": 1}',
        ),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="The topic, instead of a file.")] = None,
    partition: Annotated[int, typer.Option("--partition", min=0, help="The partition of --topic.")] = 0,
    offset: Annotated[
        int | None,
        typer.Option("--offset", min=-1, help="Delete what is before this offset; -1 deletes everything."),
    ] = None,
    command_config: CommandConfig = None,
    as_json: Json = False,
) -> None:
    """Delete the records before an offset. They cannot be brought back.

    \b
    Examples:
      tidelog delete-records --topic orders --partition 0 --offset 1000
      tidelog delete-records --offset-json-file delete.json
    """
    if (offset_json_file is None) == (topic is None):
        raise typer.BadParameter("either --offset-json-file or --topic (with --offset) is needed")
    if offset_json_file is not None:
        before = _read_file(offset_json_file)
    else:
        assert topic is not None
        if offset is None:
            raise typer.BadParameter("--topic needs --offset: the first offset to keep, or -1 for none")
        before = {TopicPartition(topic, partition): offset}
    run(_delete(client_options(bootstrap_server, command_config), before, as_json))


def _read_file(path: Path) -> dict[TopicPartition, int]:
    try:
        content: Any = json.loads(path.read_text())
        if content.get("version", 1) != 1:
            raise CommandFailure(f"{path}: version {content['version']} is unknown: it must be 1")
        entries = content["partitions"]
        before = {TopicPartition(str(one["topic"]), int(one["partition"])): int(one["offset"]) for one in entries}
    except OSError as error:
        raise CommandFailure(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandFailure(
            f'{path} is not of the form {{"partitions": [{{"topic": "t", "partition": 0, "offset": 10}}], '
            f'"version": 1}}: {error}'
        ) from error
    if len(before) != len(entries):
        raise CommandFailure(f"{path} names a partition twice")
    return before


async def _delete(options: Options, before: dict[TopicPartition, int], as_json: bool) -> None:
    async with Admin(config=options) as admin:
        results = await admin.delete_records(before)
    good = {part: result for part, result in results.items() if not isinstance(result, ApiError)}
    bad = {part: result for part, result in results.items() if isinstance(result, ApiError)}
    if as_json:
        print_json(
            [{"topic": part.topic, "partition": part.partition, "lowWatermark": low} for part, low in good.items()]
        )
    else:
        print_lines(
            [
                "Executing records delete operation",
                "Records delete operation completed:",
                *(f"partition: {part}\tlow_watermark: {low}" for part, low in good.items()),
                *(f"partition: {part}\terror: {error}" for part, error in bad.items()),
            ]
        )
    if bad:
        raise CommandFailure("; ".join(f"{part}: {error}" for part, error in bad.items()))
