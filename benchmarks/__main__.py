"""Runs the measurements and prints a table."""

from __future__ import annotations

import importlib
import sys

from rich.console import Console
from rich.table import Table

ALL = (
    "start_up",
    "hot_path",
    "client",
    "cluster",
    "cluster_fail_over",
    "transactions",
    "compaction",
    "bombs",
    "coordinators",
    "spark",
    "spark_prepared",
)


def main() -> int:
    chosen = sys.argv[1:] or list(ALL)
    unknown = [name for name in chosen if name not in ALL]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(ALL)}", file=sys.stderr)
        return 2
    console = Console()
    table = Table("measured", "result", "bound", title="tidelog benchmarks")
    for name in chosen:
        console.print(f"running {name} ...")
        for row in importlib.import_module(f"benchmarks.{name}").run():
            table.add_row(*row)
            console.print("  " + " ".join(part for part in row if part))
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
