"""What is left on a simulated disk: after a kill everything, after a loss of power what was synced, and pieces."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable

import pytest

from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.machines.disk import Disk
from tidelog.simulation.machines.filesystem import ProcessFileSystem
from tidelog.simulation.machines.process import Process, ProcessKilled
from tidelog.storage.files.filesystem import read_whole, replace_file


class Machine:
    def __init__(self, seed: int = 0) -> None:
        self.disk = Disk(random.Random(seed), lambda: 1_700_000_000_000)
        self.disk.make_directory("/data")
        self.boot()

    def boot(self) -> None:
        self.process = Process("process", "host")
        self.files = ProcessFileSystem(self.disk, self.process, Trace())

    def lose_power(self) -> None:
        self.process.kill()
        self.disk.lose_power()
        self.boot()


def many_machines() -> list[Machine]:
    return [Machine(seed) for seed in range(200)]


def test_a_killed_process_loses_nothing_that_it_has_written() -> None:
    machine = Machine()
    machine.files.open("/data/file", create=True).write(0, b"content")
    machine.process.kill()
    machine.boot()
    assert read_whole(machine.files, "/data/file") == b"content"


def test_a_dead_process_has_no_effect() -> None:
    machine = Machine()
    file = machine.files.open("/data/file", create=True)
    machine.process.kill()
    acts: list[Callable[[], object]] = [
        lambda: file.write(0, b"x"),
        file.sync,
        lambda: machine.files.remove("/data/file"),
    ]
    for act in acts:
        with pytest.raises(ProcessKilled):
            act()
    machine.boot()
    assert read_whole(machine.files, "/data/file") == b""


def test_what_was_synced_is_there_after_a_loss_of_power() -> None:
    for machine in many_machines():
        file = machine.files.open("/data/file", create=True)
        file.write(0, b"a" * 5_000)
        file.sync()
        machine.files.sync_directory("/data")
        file.write(5_000, b"b" * 3_000)
        machine.lose_power()
        assert read_whole(machine.files, "/data/file")[:5_000] == b"a" * 5_000


def test_what_was_not_synced_is_lost_kept_torn_or_full_of_holes() -> None:
    kinds = set()
    for machine in many_machines():
        file = machine.files.open("/data/file", create=True)
        machine.files.sync_directory("/data")
        file.write(0, b"x" * 4_000)
        machine.lose_power()
        left = read_whole(machine.files, "/data/file")
        if not left:
            kinds.add("lost")
        elif left == b"x" * 4_000:
            kinds.add("kept")
        elif left == b"x" * len(left):
            kinds.add("torn")
        else:
            assert set(left) <= {0, ord("x")}
            kinds.add("holes")
    assert kinds == {"lost", "kept", "torn", "holes"}


def test_an_overwritten_file_has_only_old_and_new_content() -> None:
    for machine in many_machines():
        file = machine.files.open("/data/file", create=True)
        file.write(0, b"o" * 2_048)
        file.sync()
        machine.files.sync_directory("/data")
        file.write(0, b"n" * 2_048)
        machine.lose_power()
        assert set(read_whole(machine.files, "/data/file")) <= {ord("o"), ord("n")}


def test_a_name_that_was_not_synced_may_be_gone() -> None:
    fates = set()
    for machine in many_machines():
        machine.files.open("/data/file", create=True).sync()
        machine.lose_power()
        fates.add(machine.files.exists("/data/file"))
    assert fates == {True, False}


def test_names_follow_the_journal_of_their_directory() -> None:
    """What came later is not there without what came before."""
    for machine in many_machines():
        for number in range(5):
            machine.files.open(f"/data/{number}", create=True)
        machine.lose_power()
        names = machine.files.list_names("/data")
        assert names == [str(number) for number in range(len(names))]


def test_a_replaced_file_has_the_old_or_the_new_content() -> None:
    contents = set()
    for machine in many_machines():
        replace_file(machine.files, "/data/file", b"old")
        machine.files.remove("/data/file.tmp")
        file = machine.files.open("/data/file.tmp", create=True)
        file.write(0, b"new")
        file.sync()
        machine.files.rename("/data/file.tmp", "/data/file")
        machine.lose_power()
        contents.add(read_whole(machine.files, "/data/file"))
    assert contents == {b"old", b"new"}


def test_a_directory_takes_its_content_along_when_it_is_renamed() -> None:
    machine = Machine()
    machine.files.make_directory("/data/a/b")
    machine.files.open("/data/a/b/file", create=True).write(0, b"content")
    machine.files.rename("/data/a", "/data/c")
    assert machine.files.list_names("/data") == ["c"]
    assert read_whole(machine.files, "/data/c/b/file") == b"content"


def test_after_a_failed_sync_the_next_one_succeeds_without_having_written() -> None:
    for machine in many_machines():
        file = machine.files.open("/data/file", create=True)
        machine.files.sync_directory("/data")
        file.write(0, b"content")
        machine.disk.failing = frozenset({"sync"})
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        machine.disk.heal()
        file.sync()
        assert file.read(0, 7) == b"content"
        machine.lose_power()
        assert read_whole(machine.files, "/data/file") == b""


def test_a_full_disk_takes_a_part_and_then_refuses() -> None:
    machine = Machine()
    file = machine.files.open("/data/file", create=True)
    machine.disk.fill(10)
    with pytest.raises(OSError, match="No space") as caught:
        file.write(0, b"x" * 25)
    assert caught.value.errno == errno.ENOSPC
    assert file.size() == 10
    file.truncate(4)
    file.write(4, b"y" * 6)
    machine.files.remove("/data/file")
    machine.files.open("/data/other", create=True).write(0, b"z" * 10)


def test_a_process_can_be_caught_in_the_middle_of_its_work() -> None:
    machine = Machine()
    machine.files.crash_after_calls(2, machine.process.kill)
    file = machine.files.open("/data/file", create=True)
    file.write(0, b"first")
    with pytest.raises(ProcessKilled):
        file.write(5, b"second")
    machine.boot()
    assert read_whole(machine.files, "/data/file") == b"first"


def test_a_lock_lasts_as_long_as_its_process() -> None:
    machine = Machine()
    assert machine.files.lock("/data/.lock") is not None
    assert machine.files.lock("/data/.lock") is None
    machine.process.kill()
    machine.boot()
    lock = machine.files.lock("/data/.lock")
    assert lock is not None
    lock.release()
    assert machine.files.lock("/data/.lock") is not None
