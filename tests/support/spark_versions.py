"""Environments with other versions of Spark, and tests that run in them: `python -m support.spark_versions 3.5 4.0`.

An environment has its own Spark and takes everything else from the one that makes it, in which it is kept.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.class_archives import NO_ARCHIVE
from support.download_cache import Unavailable, cached, run_downloader

# Oldest first. The newest is that of the project's own environment.
VERSIONS = ("3.5", "4.0", "4.1", "4.2", "4.3")
RUN_TIMEOUT_SECONDS = 900

_ROOT = Path(__file__).parents[2]
_TESTS = "tests/spark/versions"


def environment(version: str) -> Path:
    """The interpreter of the environment with the newest Spark of this line. Raises Unavailable."""
    folder = cached(
        f"spark-{version}", functools.partial(_fill, version=version), within=Path(sys.prefix, "spark-versions")
    )
    return folder / "bin" / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    succeeded: bool
    passed: int
    output: str


def run_tests(version: str, *, arguments: Sequence[str] = ()) -> Report:
    """The tests of `tests/spark/versions` on this version, one after another. Raises Unavailable."""
    python = environment(version)
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:rerunfailures", *arguments, _TESTS]
    done = subprocess.run(
        command,
        cwd=_ROOT,
        # Workers take the interpreter of the environment, whatever the shell says.
        env={**os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python), NO_ARCHIVE: "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    passed = re.search(r"^(?:.* )?(\d+) passed", done.stdout, re.MULTILINE)
    return Report(succeeded=done.returncode == 0, passed=int(passed[1]) if passed else 0, output=done.stdout)


def _fill(folder: Path, *, version: str) -> None:
    run_downloader((sys.executable, "-m", "venv", str(folder)), directory=folder)
    python = str(folder / "bin" / "python")
    run_downloader((python, "-m", "pip", "install", "--quiet", f"pyspark=={version}.*"), directory=folder)
    # After its own packages, so that its Spark is found first.
    packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    shared = sysconfig.get_path("purelib")
    Path(packages, "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n")


def main() -> int:
    failed = []
    for version in sys.argv[1:] or VERSIONS:
        print(f"Spark {version}:", flush=True)
        try:
            report = run_tests(version, arguments=("-q",))
        except Unavailable as problem:
            print(f"not tested: {problem}", flush=True)
            failed.append(version)
            continue
        print(report.output, flush=True)
        if not report.succeeded:
            failed.append(version)
    if failed:
        print(f"failed, or not tested: Spark {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
