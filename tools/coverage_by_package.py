"""A table of what the tests execute, package by package, from what `coverage` has measured.

python tools/coverage_by_package.py build/coverage/coverage.json
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Counted:
    """Lines and branches, and how many of them were executed."""

    files: int = 0
    statements: int = 0
    executed: int = 0
    branches: int = 0
    taken: int = 0

    def add(self, summary: dict[str, Any]) -> None:
        self.files += 1
        self.statements += summary["num_statements"]
        self.executed += summary["covered_lines"]
        self.branches += summary.get("num_branches", 0)
        self.taken += summary.get("covered_branches", 0)


def main(arguments: list[str]) -> int:
    measured = json.loads(Path(arguments[0]).read_text())
    sys.stdout.write(table(measured["files"]))
    return 0


def table(files: dict[str, dict[str, Any]]) -> str:
    packages: dict[str, Counted] = defaultdict(Counted)
    total = Counted()
    for path, file in files.items():
        packages[package_of(path)].add(file["summary"])
        total.add(file["summary"])
    width = max(len(name) for name in (*packages, "all"))
    lines = [f"{'package':{width}}  files  lines  executed  branches  taken"]
    lines += [row(name, width, counted) for name, counted in sorted(packages.items())]
    lines.append(row("all", width, total))
    return "\n".join(lines) + "\n"


def package_of(path: str) -> str:
    """Two levels of folders: "src/tidelog/client/producer/pool.py" is in tidelog.client."""
    parts = Path(path).parts
    folders = parts[parts.index("src") + 1 : -1] if "src" in parts else parts[:-1]
    return ".".join(folders[:2])


def row(name: str, width: int, counted: Counted) -> str:
    lines = f"{counted.files:5}  {counted.statements:5}  {share(counted.executed, counted.statements):>8}"
    return f"{name:{width}}  {lines}  {counted.branches:8}  {share(counted.taken, counted.branches):>5}"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
