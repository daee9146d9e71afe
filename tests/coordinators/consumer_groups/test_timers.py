"""Members that fall silent, and members that do not give up what they must."""

from __future__ import annotations

from support.consumer_group_driver import Consumer, ConsumerDriver, settle
from support.default_settings import consumer_group_settings
from support.group_driver import GROUP

from tidelog.coordinators.consumer_groups.states import ConsumerGroupState
from tidelog.model.errors import ErrorCode


def test_a_silent_member_is_removed_when_its_session_ends() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    driver.advance(44_999)
    assert set(driver.consumer_group().members) == {"a"}
    driver.advance(1)
    assert driver.consumer_group().state is ConsumerGroupState.EMPTY
    assert driver.heartbeat_as("a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_has_the_session_timeout_of_its_own_properties() -> None:
    own = consumer_group_settings(group_consumer_session_timeout_ms=60_000, group_consumer_assignment_interval_ms=0)
    driver = ConsumerDriver(
        groups={GROUP: own, "another": consumer_group_settings(group_consumer_session_timeout_ms=1)}
    )
    driver.join_as("a")
    driver.advance(59_999)
    assert set(driver.consumer_group().members) == {"a"}
    driver.advance(1)
    assert driver.consumer_group().state is ConsumerGroupState.EMPTY


def test_a_heartbeat_renews_the_session() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    for _ in range(5):
        driver.advance(40_000)
        assert driver.heartbeat_as("a", 2).error_code == 0


def test_members_that_fall_silent_together_are_removed_one_after_another() -> None:
    driver = ConsumerDriver({"orders": 4, "returns": 4})
    driver.join_as("a")
    driver.join_as("b", topics=["returns"])
    epoch = driver.consumer_group().epoch
    driver.advance(45_000)
    group = driver.consumer_group()
    assert group.members == {}
    assert (group.epoch, group.metadata_hash) == (epoch + 2, 0)
    assert group.owners == {}


def test_who_does_not_give_up_within_its_rebalance_timeout_is_removed() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a", rebalance_ms=20_000), Consumer(driver, "b")
    first.join()
    second.join()
    first.beat()
    for _ in range(4):
        # It is alive, but goes on owning everything.
        driver.advance(4_999)
        assert driver.heartbeat_as("a", 2).error_code == 0
        second.beat()
        assert second.owned == set()
    driver.advance(4)
    assert driver.heartbeat_as("a", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    settle([second])
    assert len(second.owned) == 4


def test_who_gives_up_in_time_stays() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a", rebalance_ms=20_000), Consumer(driver, "b")
    first.join()
    second.join()
    first.beat()
    driver.advance(10_000)
    settle([first, second])
    driver.advance(20_000)
    assert first.beat() == 0


def test_a_new_coordinator_expects_everybody_within_a_session() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a", rebalance_ms=20_000), Consumer(driver, "b")
    first.join()
    second.join()
    first.beat()
    driver.advance(19_000)
    driver.fail_over()
    driver.advance(19_999)
    assert set(driver.consumer_group().members) == {"a", "b"}
    driver.advance(1)
    assert set(driver.consumer_group().members) == {"b"}, "the time to give up begins anew with the coordinator"
    driver.advance(25_000)
    assert driver.consumer_group().members == {}


def test_a_removal_that_the_log_did_not_take_is_tried_again() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    driver.log_is_broken = True
    driver.advance(46_000)
    assert set(driver.consumer_group(GROUP).members) == {"a"}
    driver.log_is_broken = False
    driver.advance(1_000)
    assert driver.consumer_group().members == {}
    assert driver.reloaded().describe_consumer_group(GROUP).members == []
