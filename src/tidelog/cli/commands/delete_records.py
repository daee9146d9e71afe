"""`tidelog delete-records`: delete from the beginning of partitions, with the file or the lines of Kafka's tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.cluster_options import ClusterOptions, raise_failures
from tidelog.cli.option_groups import with_groups
from tidelog.cli.partition_files import read_partition_file
from tidelog.cli.session import run
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

_EXAMPLE = '{"partitions": [{"topic": "t", "partition": 0, "offset": 10}], "version": 1}'


@with_groups
def delete_records(
    offset_json_file: Annotated[
        Path | None,
        typer.Option("--offset-json-file", metavar="FILE", help=_EXAMPLE),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="The topic, instead of a file.")] = None,
    partition: Annotated[int, typer.Option("--partition", min=0, help="The partition of --topic.")] = 0,
    offset: Annotated[
        int | None,
        typer.Option("--offset", min=-1, help="Delete what is before this offset; -1 deletes everything."),
    ] = None,
    *,
    cluster: ClusterOptions,
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
        before = read_partition_file(offset_json_file, _EXAMPLE, lambda one: int(one["offset"]))
    else:
        assert topic is not None
        if offset is None:
            raise typer.BadParameter("--topic needs --offset: the first offset to keep, or -1 for none")
        before = {TopicPartition(topic, partition): offset}
    run(_delete(cluster, before))


async def _delete(cluster: ClusterOptions, before: dict[TopicPartition, int]) -> None:
    async with cluster.admin() as admin:
        results = await admin.delete_records(before)
    good = {part: result for part, result in results.items() if not isinstance(result, ApiError)}
    bad = {part: result for part, result in results.items() if isinstance(result, ApiError)}
    lines = [
        "Executing records delete operation",
        "Records delete operation completed:",
        *(f"partition: {part}\tlow_watermark: {low}" for part, low in good.items()),
        *(f"partition: {part}\terror: {error}" for part, error in bad.items()),
    ]
    document = [{"topic": part.topic, "partition": part.partition, "lowWatermark": low} for part, low in good.items()]
    cluster.show(document, lines)
    raise_failures(bad)
