"""Runs the measurements: tidelog beside Apache Kafka, then what is measured of tidelog alone."""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time
from collections.abc import Sequence

from rich.console import Console

from benchmarks.comparison import report
from benchmarks.comparison.catalogue import all_scenarios
from benchmarks.comparison.contestants import ApacheKafka, Contestant, EmptyServer, Tidelog, Unavailable
from benchmarks.comparison.figures import APACHE_KAFKA, Result
from benchmarks.comparison.scenario import Say, Scenario, run_together, without_plain

# Each module has `run`, which yields rows: what, result, bound.
ALONE = (
    "client",
    "cluster_fail_over",
    "transactions",
    "compaction",
    "bombs",
    "console",
    "coordinators",
    "spark",
    "spark_prepared",
)
QUICK_SCALE, QUICK_ROUNDS = 0.3, 1


def main() -> int:
    options = _options()
    scenarios = all_scenarios()
    known = [*(scenario.name for scenario in scenarios), *ALONE]
    unknown = [name for name in (*options.names, *options.without) if name not in known]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    if options.again and not options.names:
        print("--again needs names: without names everything is measured, as a new run", file=sys.stderr)
        return 2
    console = Console()
    begun = time.monotonic()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - begun:6.0f} s  {text}", highlight=False, soft_wrap=True)

    chosen = [
        each
        for each in scenarios
        if each.name not in options.without
        and (each.name in options.names or (not options.names and _wanted(each, options)))
    ]
    results, rows = _compare(chosen, options, say)
    for name in ALONE:
        if name not in options.without and (name in options.names or not (options.names or options.quick)):
            say(f"running {name}")
            for row in importlib.import_module(f"benchmarks.{name}").run():
                rows.append(row)
                say("  " + " ".join(part for part in row if part))
    kind = "quick" if options.quick else "full"
    machine = report.describe_machine()
    if options.scale:
        machine["counts and times"] = f"{options.scale:g} of the usual ones"
    if options.rounds:
        machine["rounds"] = f"at most {options.rounds} of each scenario"
    if options.without:
        machine["left out"] = ", ".join(options.without)
    run = report.Run(taken_at=report.now(), kind=kind, machine=machine, results=results, rows=rows)
    if options.again:
        order = [figure.name for scenario in scenarios for figure in scenario.figures]
        say(f"written to {report.write_again(run, options.names, order)}")
    elif options.names:
        # A part of the figures is no run of its own in the history.
        console.print(report.render(run, [run], drawing=f"{kind}.svg"), highlight=False, soft_wrap=True)
    else:
        say(f"written to {report.write(run)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure tidelog beside Apache Kafka, in turns and with the same clients, and write "
        "docs/benchmarks/. With names, only these are measured, and printed instead of written.",
    )
    parser.add_argument("names", nargs="*", help="scenarios or modules; none: all of them")
    parser.add_argument("--quick", action="store_true", help="the main figures in about three minutes")
    parser.add_argument(
        "--again", action="store_true", help="put what is measured into the newest run of docs/benchmarks"
    )
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave it out; repeatable")
    parser.add_argument("--rounds", type=int, help="at most so many rounds of each scenario")
    parser.add_argument("--scale", type=float, help="multiplies all counts and times")
    parser.add_argument("--alone", action="store_true", help="without Apache Kafka")
    return parser.parse_args()


def _wanted(scenario: Scenario, options: argparse.Namespace) -> bool:
    return scenario.quick or not options.quick


def _compare(
    scenarios: Sequence[Scenario], options: argparse.Namespace, say: Say
) -> tuple[list[Result], list[report.Row]]:
    """The figures, in the order of the scenarios, and why some could not be measured."""
    sides: list[Contestant] = [Tidelog()]
    problems: list[report.Row] = []
    if not options.alone and any(not scenario.libraries for scenario in scenarios):
        try:
            sides.append(ApacheKafka.from_maven())
        except Unavailable as problem:
            say(f"Apache Kafka cannot be had: {problem}. tidelog is measured alone.")
            problems.append((APACHE_KAFKA, f"cannot be had: {problem}", ""))
    scale = options.scale or (QUICK_SCALE if options.quick else 1.0)
    most_rounds = options.rounds or (QUICK_ROUNDS if options.quick else 100)
    if options.quick:
        scenarios = [without_plain(scenario) for scenario in scenarios]
    found: dict[str, Result] = {}
    for _, group in itertools.groupby(sorted(scenarios, key=_servers), key=_servers):
        together = list(group)
        # Client libraries need a server, not something to compare it with.
        contestants = sides[:1] if together[0].libraries else sides
        if together[0].plain:
            contestants = [*contestants, Tidelog.without_compiled_parts()]
        if together[0].empty:
            contestants = [*contestants, EmptyServer()]
        for scenario, outcome in run_together(together, contestants, scale=scale, most_rounds=most_rounds, say=say):
            if isinstance(outcome, Exception):
                say(f"{scenario.name} was not measured: {outcome}")
                problems.append((scenario.name, f"not measured: {outcome}", ""))
                continue
            found.update((result.figure.name, result) for result in outcome)
    order = [figure.name for scenario in scenarios for figure in scenario.figures]
    return [found[name] for name in order if name in found], problems


def _servers(scenario: Scenario) -> tuple[int, bool, bool, bool, str]:
    """Scenarios that are equal in this run on the same servers."""
    return (
        scenario.nodes,
        bool(scenario.libraries),
        scenario.plain,
        scenario.empty,
        str(sorted(scenario.properties.items())),
    )


if __name__ == "__main__":
    sys.exit(main())
