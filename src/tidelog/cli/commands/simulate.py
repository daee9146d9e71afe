"""`tidelog simulate`: run whole clusters in virtual time, break them by seed, and check what clients saw."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tidelog.simulation.campaign import Campaign, Coverage, run_campaign
from tidelog.simulation.faults.plan import FaultKind
from tidelog.simulation.run import RunReport, run
from tidelog.simulation.scenario import draw_scenario

# Violations of one seed that are printed; the trace has all of them.
_SHOWN_VIOLATIONS = 5
# How often a run whose output is no terminal says how far it is.
_PROGRESS_SECONDS = 30.0


def simulate(
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds to run.")] = 100,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Virtual seconds of faults in each run.")] = 60,
    first_seed: Annotated[int, typer.Option("--first-seed", min=0, help="The first seed.")] = 1,
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=9, help="How many nodes the cluster has.")] = 3,
    faults: Annotated[
        str, typer.Option("--faults", metavar="all|none|NAME,...", help="Which faults may happen.")
    ] = "all",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many processes to use.")] = 1,
    trace: Annotated[bool, typer.Option("--trace", help="Print what happens, line by line.")] = False,
) -> None:
    """Run the real broker and the real client on a simulated network, disk and clock, with faults drawn from a seed.

    The same seed gives the same run, byte for byte. Ends with 1 if any seed has violated an invariant.

    \b
    Examples:
      tidelog simulate --seeds 1000 --seconds 60
      tidelog simulate --nodes 1 --faults kill,power-loss
      tidelog simulate --first-seed 42 --seeds 1 --trace
    """
    campaign = Campaign(
        first_seed=first_seed, seeds=seeds, seconds=seconds, nodes=nodes, faults=_parse_faults(faults), jobs=jobs
    )
    failed = _trace(campaign) if trace else _run(campaign)
    if failed:
        raise typer.Exit(1)


def _parse_faults(text: str) -> tuple[FaultKind, ...]:
    if text == "all":
        return tuple(FaultKind)
    if text in ("", "none"):
        return ()
    try:
        return tuple(FaultKind(name.strip()) for name in text.split(","))
    except ValueError as error:
        known = ", ".join(FaultKind)
        raise typer.BadParameter(f"{error}; known faults: all, none, {known}", param_hint="--faults") from error


def _trace(campaign: Campaign) -> bool:
    """One after the other, with everything that happens."""
    failed = False
    for seed in range(campaign.first_seed, campaign.first_seed + campaign.seeds):
        scenario = draw_scenario(seed, seconds=campaign.seconds, nodes=campaign.nodes, faults=campaign.faults)
        _print(f"seed {seed}: {scenario}")
        report = run(scenario, write_line=_print)
        _print(f"seed {seed}: trace {report.digest}, {report.events} events")
        for violation in report.violations:
            _print(f"seed {seed}: {violation}")
        failed = failed or report.failed
    return failed


def _run(campaign: Campaign) -> bool:
    console = Console(highlight=False)
    coverage = Coverage()
    failed: list[RunReport] = []
    began = printed = time.monotonic()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("seeds", total=campaign.seeds, speed="")
        for number, report in enumerate(run_campaign(campaign), 1):
            coverage.add(report)
            if report.failed:
                failed.append(report)
                _print_failure(console, campaign, report)
            now = time.monotonic()
            speed = f"{number / (now - began) * 60:.0f} seeds per minute"
            progress.update(bar, completed=number, speed=speed)
            if not console.is_terminal and now - printed >= _PROGRESS_SECONDS:
                printed = now
                _print(f"{number} of {campaign.seeds} seeds, {speed}")
    _print_coverage(campaign, coverage, time.monotonic() - began)
    if failed:
        _print(f"{len(failed)} of {campaign.seeds} seeds failed: {', '.join(str(report.seed) for report in failed)}")
    else:
        _print(f"all {campaign.seeds} seeds kept all invariants")
    return bool(failed)


def _print_failure(console: Console, campaign: Campaign, report: RunReport) -> None:
    console.print(f"seed {report.seed} failed:", markup=False)
    for violation in report.violations[:_SHOWN_VIOLATIONS]:
        console.print(f"  {violation}", markup=False, soft_wrap=True)
    console.print(f"  replay: {campaign.command(report.seed)}", markup=False, soft_wrap=True)


def _print_coverage(campaign: Campaign, coverage: Coverage, seconds: float) -> None:
    _print(
        f"{campaign.seeds} seeds in {seconds:.1f} s ({campaign.seeds / seconds * 60:.0f} per minute), "
        f"{coverage.virtual_seconds:.0f} virtual seconds, {coverage.events} events"
    )
    sections = {"faults": "fault ", "error codes": "error ", "transactions": "transaction ", "history": "history "}
    for title, prefix in sections.items():
        _print(f"{title}: {_listed(coverage.with_prefix(prefix))}")
    others = {
        name: count for name, count in sorted(coverage.counts.items()) if not name.startswith(tuple(sections.values()))
    }
    _print(f"other events: {_listed(others)}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
