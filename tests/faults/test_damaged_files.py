"""Damage to any file of a broker's directory is told or mended: never silent loss, never a traceback (scenario 35).

Each case takes a directory that a real broker has left, after a clean stop or after kill -9, changes one file at a
place drawn from a seed, and starts a broker on it. Then everything that was acknowledged is read; or the start is
refused, or the partition answers an error, and the words name the file. `TIDELOG_DAMAGE_SEEDS=1-5000` runs others.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from pathlib import Path

import pytest
from support.damaged_files import TOPICS, Damage, Stored, draw_damage, node_on, read_partition, write_corpus
from support.raw_client import RawClient, raw_client

from tidelog.model.errors import ErrorCode
from tidelog.server.failures import StartFailure
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.verification.directory import verify
from tidelog.storage.verification.findings import Report

FIRST, _, LAST = os.environ.get("TIDELOG_DAMAGE_SEEDS", "1-250").partition("-")
SEEDS = range(int(FIRST), int(LAST or FIRST) + 1)
# A seed range as one test: starting one test per seed would cost more than the seed.
CHUNK = 50
CHUNKS = [range(start, min(start + CHUNK, SEEDS.stop)) for start in range(SEEDS.start, SEEDS.stop, CHUNK)]
TOLD = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.CORRUPT_MESSAGE)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Stored]:
    directory = tmp_path_factory.mktemp("corpus")
    return directory, asyncio.run(write_corpus(directory))


class Told(logging.Handler):
    """What the broker says, and whether it shows a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.tracebacks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            self.tracebacks.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


@pytest.mark.slow
@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
@pytest.mark.parametrize("stop", ["clean", "killed"])
async def test_scenario_35_damage_is_told_or_mended(
    corpus: tuple[Path, Stored], tmp_path: Path, stop: str, seeds: range
) -> None:
    directory, stored = corpus
    problems = []
    for seed in seeds:
        damage = draw_damage(directory / stop, seed)
        problem = await outcome(directory / stop, tmp_path / str(seed), damage, stored)
        if problem is not None:
            problems.append(f"seed {seed}, {stop}, {damage}: {problem}")
        shutil.rmtree(tmp_path / str(seed))
    assert not problems, "\n".join(problems)


async def test_undamaged_directories_are_read_to_the_end(corpus: tuple[Path, Stored], tmp_path: Path) -> None:
    directory, stored = corpus
    for stop in ("clean", "killed"):
        nothing = Damage(path=".lock", kind="nothing", do=lambda _: None)
        assert await outcome(directory / stop, tmp_path / stop, nothing, stored) is None
        # Nothing was refused either.
        assert not verified(directory / stop)


async def outcome(original: Path, directory: Path, damage: Damage, stored: Stored) -> str | None:
    """None if all is well, else what is not."""
    shutil.copytree(original, directory)
    damage.do(directory / damage.path)
    found = verified(directory)
    told = Told()
    logger = logging.getLogger("tidelog")
    before = logger.propagate
    logger.addHandler(told)
    logger.propagate = False
    node = node_on(directory)
    try:
        await node.start()
    except (StartFailure, StorageFailure) as refusal:
        return None if names(damage, [str(refusal)]) else f"the refusal does not name the file: {refusal}"
    except BaseException as error:
        return f"the start raises {error!r}"
    else:
        host, port = node.addresses[0]
        async with raw_client(f"{host}:{port}") as client:
            for topic in TOPICS:
                problem = await compare(client, topic, stored[topic], damage, told, found)
                if problem is not None:
                    return problem
        return None if not told.tracebacks else f"traceback: {told.tracebacks}"
    finally:
        await node.abandon()
        logger.removeHandler(told)
        logger.propagate = before


async def compare(
    client: RawClient, topic: str, stored: dict[int, bytes], damage: Damage, told: Told, found: list[str]
) -> str | None:
    end_offset = max(stored) + 1
    reading = await read_partition(client, topic, end_offset, committed=True)
    # Nothing is invented, changed or taken from an aborted transaction.
    if any(stored.get(offset) != value for offset, value in reading.values.items()):
        return f"{topic}: other records than were written"
    missing = [offset for offset in stored if offset < reading.offset and offset not in reading.values]
    if missing:
        return f"{topic}: {missing} are skipped; told {told.lines}"
    if reading.offset >= end_offset:
        return None
    if reading.error not in TOLD:
        return f"{topic}: {reading.error.name} at offset {reading.offset}; told {told.lines}"
    if not names(damage, told.lines):
        return f"{topic}: the file is not named in {told.lines}"
    # Whether a topic id is the right one is known only to the cluster.
    is_known = found or Path(damage.path).name == "partition.metadata"
    return None if is_known else f"{topic}: readers get an error, but `tidelog verify` finds nothing"


def names(damage: Damage, lines: list[str]) -> bool:
    """The file, or the partition that it belongs to."""
    path = Path(damage.path)
    return any(path.name in line or (len(path.parts) > 1 and path.parent.name in line) for line in lines)


def verified(directory: Path) -> list[str]:
    report = Report()
    verify(LocalFileSystem(), str(directory), report)
    return [str(finding) for finding in report.damage]
