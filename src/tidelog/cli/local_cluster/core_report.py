"""What `tidelog up --cores` says about its cluster: where it listens, and where the partitions are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import typer

from tidelog.cli.local_cluster.core_settings import CoreSettings
from tidelog.cli.local_cluster.data_directory import shown_processes
from tidelog.model.ids import TopicPartition


def announce(
    settings: CoreSettings,
    metrics_address: tuple[str, int] | None,
    how_to_connect: Iterable[str],
    console: Iterable[str] = (),
) -> None:
    servers = settings.servers
    option = settings.security.options(servers)
    others = [str(port) for number, port in settings.ports.clients.items() if number > 1]
    also = f" (clients learn of {', '.join(others)} from it)" if others else ""
    typer.echo(f"tidelog listens on {servers}{also}, data in {settings.data_dir}")
    typer.echo(f"processes: {settings.count}, one copy of each partition; logs in {settings.data_dir}/core-*.log")
    if metrics_address is not None:
        host, port = metrics_address
        typer.echo(f"metrics: http://{host}:{port}/metrics")
    for line in (*console, *how_to_connect):
        typer.echo(line)
    typer.echo(f"  tidelog topics{option} --create --topic first")
    typer.echo(f"  tidelog produce{option} --topic first")
    typer.echo(f"  tidelog consume{option} --topic first --from-beginning")
    typer.echo("Press Ctrl-C to stop.")


def advise_to_spread(settings: CoreSettings, partitions: Mapping[int, Collection[TopicPartition]]) -> None:
    """After a start with more processes than before: what was there stays where it is."""
    numbers = list(settings.ports.clients)
    idle = [number for number in numbers if not partitions.get(number)]
    most = max((len(each) for each in partitions.values()), default=0)
    # One partition cannot be spread, and a cluster without topics needs no advice.
    if not idle or most < 2:
        return
    spread = f"tidelog cluster{settings.security.options(settings.servers)} --spread-over {','.join(map(str, numbers))}"
    typer.echo(
        f"{shown_processes(idle)} {'holds' if len(idle) == 1 else 'hold'} no partitions yet: new ones will use all "
        f"processes, existing ones stay where they are. To spread them: {spread} --wait"
    )
