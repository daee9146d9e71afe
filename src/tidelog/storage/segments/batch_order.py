"""Whether the batches of a log follow each other as they must: offsets rise, and leader epochs never fall.

Both fields lie outside of a batch's checksum, so a flipped bit in them shows only by the neighbours. A batch is
therefore passed on once the next one has been seen. Where two neighbours contradict each other, the first one is
at fault if it also stands out from what came before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.records.batch import BatchHeader, CorruptBatch
from tidelog.storage.segments.batch_scan import GoodBatch

# Of batches whose leader did not know epochs.
_NO_EPOCH = -1


def in_order(
    batches: Iterable[GoodBatch],
    *,
    start_offset: int,
    start_epoch: int = _NO_EPOCH,
    gapless: bool = False,
    following: BatchHeader | None = None,
) -> Iterator[GoodBatch]:
    """Pass batches on, each with its position in the file. Raises CorruptBatch for the first that is out of place.

    `start_offset` and `start_epoch` are the least that may come, `following` the batch behind the last one. A log that
    no cleaner has touched is `gapless`.
    """
    held: GoodBatch | None = None
    # Where the batches before the held one end.
    offset, epoch = start_offset, start_epoch
    try:
        for placed in batches:
            position, header, _ = placed
            if header.partition_leader_epoch < _NO_EPOCH:
                raise CorruptBatch(position, f"leader epoch {header.partition_leader_epoch} is invalid")
            if held is None:
                if (
                    header.base_offset < offset
                    or (gapless and header.base_offset > offset)
                    or _NO_EPOCH < header.partition_leader_epoch < epoch
                ):
                    raise _misplaced(position, header, offset, epoch=epoch)
            else:
                before = held[1]
                if _is_at_fault(before, header, offset, epoch=epoch):
                    problem = _misplaced(held[0], before, offset, epoch=epoch)
                    held = None
                    raise problem
                if not _fits(before, header, gapless):
                    raise _misplaced(position, header, before.next_offset, epoch=before.partition_leader_epoch)
                yield held
                offset, epoch = before.next_offset, max(epoch, before.partition_leader_epoch)
            held = placed
    except CorruptBatch:
        # What follows is unreadable or misplaced, which says nothing against this one.
        if held is not None:
            yield held
        raise
    if held is not None:
        if following is not None and _is_at_fault(held[1], following, offset, epoch=epoch):
            raise _misplaced(held[0], held[1], offset, epoch=epoch)
        yield held


def _is_at_fault(header: BatchHeader, following: BatchHeader, offset: int, *, epoch: int) -> bool:
    if following.base_offset < header.next_offset:
        return header.base_offset > offset
    return _epoch_falls(header, following) and header.partition_leader_epoch > epoch


def _fits(header: BatchHeader, following: BatchHeader, gapless: bool) -> bool:
    if following.base_offset < header.next_offset or (gapless and following.base_offset > header.next_offset):
        return False
    return not _epoch_falls(header, following)


def _epoch_falls(header: BatchHeader, following: BatchHeader) -> bool:
    return _NO_EPOCH < following.partition_leader_epoch < header.partition_leader_epoch


def _misplaced(position: int, header: BatchHeader, offset: int, *, epoch: int) -> CorruptBatch:
    return CorruptBatch(
        position,
        f"offset {header.base_offset} of leader epoch {header.partition_leader_epoch} cannot follow offset "
        f"{offset - 1} of epoch {epoch}",
    )
