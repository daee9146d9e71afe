"""A machine that loses power: what was flushed is there, the rest is there up to some point or not at all."""

from __future__ import annotations

import random

import pytest
from support.default_settings import log_config
from support.log_harness import ForgetfulFileSystem, Harness, MakeHarness

CONFIG = log_config(segment_bytes=900, index_interval_bytes=150)


@pytest.mark.parametrize("seed", range(120))
def test_flushed_records_survive_and_the_others_are_a_prefix(harness: MakeHarness, seed: int) -> None:
    chance = random.Random(seed)
    disk = ForgetfulFileSystem(seed)
    disk.make_directory("/logs")
    h = harness(CONFIG, filesystem=disk, path="/logs")
    h.open()
    written: list[tuple[int, bytes, int]] = []
    epoch = 0
    for _ in range(4):
        safe = work(h, chance, written, epoch)
        # More than truncations, each of which begins an epoch, can have used up.
        epoch += 100
        if chance.random() < 0.2:
            h.close()
            safe = len(written)
        else:
            h.crash()
        disk.lose_power()
        h.open()
        end = h.log.log_end_offset
        assert safe <= end <= len(written), (safe, end, len(written))
        del written[end:]
        check(h, written)


def work(h: Harness, chance: random.Random, written: list[tuple[int, bytes, int]], epoch: int) -> int:
    """Returns up to where the log was flushed."""
    safe = h.log.recovery_point
    for _ in range(chance.randrange(40)):
        action = chance.random()
        if action < 0.75:
            offset = len(written)
            value = b"%d-%d" % (offset, chance.randrange(1000)) * chance.randrange(1, 8)
            result = h.append(value, epoch=epoch, producer_id=1, producer_epoch=0, base_sequence=offset)
            assert result.base_offset == offset
            written.append((offset, value, epoch))
        elif action < 0.85:
            h.log.flush(h.now)
            safe = len(written)
        elif action < 0.9:
            h.directory.checkpoints.write_recovery_points()
        elif action < 0.95:
            flush = h.log.start_flush(h.now)
            if flush is not None:
                flush.run()
                h.log.finish_flush(flush)
                safe = max(safe, h.log.recovery_point)
        elif written:
            offset = chance.randrange(len(written))
            h.directory.truncate(h.partition, offset, now_ms=h.now)
            del written[offset:]
            safe = min(safe, offset)
            epoch += 1
    return safe


def check(h: Harness, written: list[tuple[int, bytes, int]]) -> None:
    assert h.values() == [(offset, value) for offset, value, _ in written]
    epochs: list[tuple[int, int]] = []
    for offset, _, epoch in written:
        if not epochs or epochs[-1][0] != epoch:
            epochs.append((epoch, offset))
    assert h.log.leader_epochs.entries == tuple(epochs)
    entry = h.log.producer_states.get(1)
    assert (entry.last_sequence if entry is not None else -1) == len(written) - 1
