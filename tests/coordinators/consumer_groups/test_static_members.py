"""Static members of a consumer group: they come back to what they had."""

from __future__ import annotations

from support.consumer_group_driver import Consumer, ConsumerDriver, settle

from tidelog.model.errors import ErrorCode


def _two(driver: ConsumerDriver) -> tuple[Consumer, Consumer]:
    first, second = Consumer(driver, "a", instance="left"), Consumer(driver, "b", instance="right")
    first.join()
    second.join()
    settle([first, second])
    return first, second


def test_a_restart_costs_no_rebalance() -> None:
    driver = ConsumerDriver()
    first, second = _two(driver)
    had, epoch = set(first.owned), driver.consumer_group().epoch
    assert first.leave(-2) == 0
    assert driver.consumer_group().members["a"].epoch == -2
    returned = Consumer(driver, "c", instance="left")
    assert returned.join() == 0
    assert (returned.owned, returned.epoch) == (had, epoch)
    assert driver.consumer_group().epoch == epoch
    assert set(driver.consumer_group().members) == {"b", "c"}
    assert second.beat() == 0


def test_the_place_of_a_member_that_is_there_cannot_be_taken() -> None:
    driver = ConsumerDriver()
    _two(driver)
    assert Consumer(driver, "c", instance="left").join() == ErrorCode.UNRELEASED_INSTANCE_ID


def test_the_old_self_is_fenced() -> None:
    driver = ConsumerDriver()
    first, _ = _two(driver)
    first.leave(-2)
    assert first.beat() == ErrorCode.FENCED_MEMBER_EPOCH
    Consumer(driver, "c", instance="left").join()
    assert first.beat() == ErrorCode.FENCED_INSTANCE_ID
    assert first.leave() == ErrorCode.FENCED_INSTANCE_ID


def test_an_unknown_instance_is_told_so() -> None:
    driver = ConsumerDriver()
    _two(driver)
    reply = driver.heartbeat_as("c", 1, instance="middle")
    assert reply.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_come_back_is_removed_when_its_session_ends() -> None:
    driver = ConsumerDriver()
    first, second = _two(driver)
    first.leave(-2)
    for _ in range(10):
        driver.advance(5_000)
        assert second.beat() == 0
    settle([second])
    assert len(second.owned) == 4
    assert set(driver.consumer_group().members) == {"b"}


def test_who_leaves_for_good_is_removed_at_once() -> None:
    driver = ConsumerDriver()
    first, second = _two(driver)
    assert first.leave(-1) == 0
    settle([second])
    assert len(second.owned) == 4


def test_the_same_member_can_come_back_under_its_own_id() -> None:
    driver = ConsumerDriver()
    first, _ = _two(driver)
    had = set(first.owned)
    first.leave(-2)
    assert first.join() == 0
    assert first.owned == had


def test_a_member_that_was_giving_up_releases_it_when_it_goes_for_a_while() -> None:
    driver = ConsumerDriver()
    first = Consumer(driver, "a", instance="left")
    first.join()
    second = Consumer(driver, "b", instance="right")
    second.join()
    first.beat()
    assert driver.consumer_group().members["a"].current.pending_revocation
    first.leave(-2)
    second.beat()
    assert len(second.owned) == 2
    driver.advance(44_000)
    second.beat()
    returned = Consumer(driver, "c", instance="left")
    returned.join()
    assert len(returned.owned) == 2
    assert not returned.owned & second.owned


def test_a_return_with_another_subscription_is_a_reason_to_rebalance() -> None:
    driver = ConsumerDriver({"orders": 2, "returns": 2})
    first, second = _two(driver)
    first.leave(-2)
    returned = Consumer(driver, "c", instance="left", topics=["returns"])
    returned.join()
    settle([second, returned])
    assert returned.owned == {("returns", 0), ("returns", 1)}
    assert second.owned == {("orders", 0), ("orders", 1)}
