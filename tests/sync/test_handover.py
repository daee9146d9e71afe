"""Records on their way from the user's threads to the loop's."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

from support.intake import KnownCluster, Taking
from support.processes import HANG_SECONDS

from tidelog.sync.handover import MOST_HANDED_OVER, BlockingDelivery, Handover


def put(handover: Handover, value: bytes) -> BlockingDelivery:
    return handover.put("t", value, None, (), None, None)


def new_handover() -> tuple[Handover, list[str]]:
    wakes: list[str] = []
    return Handover(cast(Any, None), lambda: wakes.append("wake")), wakes


def test_the_loop_is_woken_once_until_it_falls_asleep() -> None:
    handover, wakes = new_handover()
    put(handover, b"a")
    put(handover, b"b")
    assert wakes == ["wake"]
    assert not handover.fall_asleep(), "there are records"
    assert handover.take_some(Taking(KnownCluster(t=1)).intake) is None
    assert handover.is_empty
    assert handover.fall_asleep()
    put(handover, b"c")
    assert wakes == ["wake", "wake"]


def test_records_are_taken_in_order_until_a_batch_is_full() -> None:
    handover, _ = new_handover()
    taking = Taking(KnownCluster(t=1))
    deliveries = [put(handover, bytes([number]) * 300) for number in range(5)]

    assert handover.take_some(taking.intake) is None

    # The third does not fit into the batch of the first two, which is closed by it.
    assert [len(batch.records) for batch in taking.batches()] == [2, 1]
    assert [delivery.delivery is not None for delivery in deliveries] == [True, True, True, False, False]
    while not handover.is_empty:
        assert handover.take_some(taking.intake) is None
    values = [record[2] for batch in taking.batches() for record in batch.records]
    assert values == [bytes([number]) * 300 for number in range(5)]


def test_a_record_that_has_to_wait_is_given_to_the_caller_with_those_behind_it_left() -> None:
    handover, _ = new_handover()
    taking = Taking(KnownCluster())
    first, second = put(handover, b"a"), put(handover, b"b")
    assert handover.take_some(taking.intake) is first
    assert not handover.is_empty
    assert handover.take_some(None) is second, "nothing may be sent now"
    assert (first.arguments, first.failure, first.done()) == (("t", b"a", None, (), None, None), None, False)


def test_what_a_partitioner_raises_is_the_failure_of_the_record() -> None:
    problem = ValueError("no partition for this")

    def partitioner(*_: object) -> int:
        raise problem

    handover, _ = new_handover()
    refused = put(handover, b"a")
    assert handover.take_some(Taking(KnownCluster(t=1), partitioner).intake) is refused
    assert refused.failure is problem


def test_who_sends_too_much_waits_until_everything_is_taken() -> None:
    handover, _ = new_handover()
    for _ in range(MOST_HANDED_OVER - 1):
        put(handover, b"")
    sender = threading.Thread(target=put, args=(handover, b"one too many"), daemon=True)
    sender.start()
    deadline = time.monotonic() + HANG_SECONDS
    while not is_waited_for(handover._room):
        assert time.monotonic() < deadline, "the sender does not wait"
        time.sleep(0.001)
    for _ in range(MOST_HANDED_OVER - 1):
        assert handover.take_some(None) is not None
    assert is_waited_for(handover._room), "one record is left"
    assert handover.take_some(None) is not None
    sender.join(HANG_SECONDS)
    assert not sender.is_alive()


def is_waited_for(event: threading.Event) -> bool:
    return bool(event._cond._waiters)  # type: ignore[attr-defined]
