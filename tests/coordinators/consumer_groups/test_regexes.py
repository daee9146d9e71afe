"""Subscriptions by regular expression."""

from __future__ import annotations

import pytest
from support.consumer_group_driver import Consumer, ConsumerDriver, settle

from tidelog.coordinators.consumer_groups.member import Profile
from tidelog.coordinators.consumer_groups.records import profile_record
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey


def _regex_log(driver: ConsumerDriver) -> list[tuple[str, list[str] | None]]:
    return [
        (record.key.regular_expression, None if record.value is None else list(record.value.topics))  # type: ignore[attr-defined]
        for record in driver.records()
        if isinstance(record.key, ConsumerGroupRegularExpressionKey)
    ]


def test_whole_names_are_matched() -> None:
    driver = ConsumerDriver({"orders-eu": 1, "orders-us": 1, "reorders-us": 1, "other": 1})
    member = Consumer(driver, "a", topics=None, regex="orders-.*")
    member.join()
    assert member.owned == {("orders-eu", 0), ("orders-us", 0)}
    assert _regex_log(driver) == [("orders-.*", ["orders-eu", "orders-us"])]


def test_names_and_an_expression_go_together() -> None:
    driver = ConsumerDriver({"orders-eu": 1, "other": 1})
    member = Consumer(driver, "a", topics=["other"], regex="orders-.*")
    member.join()
    assert member.owned == {("orders-eu", 0), ("other", 0)}


def test_topics_that_come_and_go_are_noticed() -> None:
    driver = ConsumerDriver({"orders-eu": 1})
    member = Consumer(driver, "a", topics=[], regex="orders-.*")
    member.join()
    driver.set_topics(**{"orders-eu": 1, "orders-us": 2, "other": 1})
    settle([member])
    assert member.owned == {("orders-eu", 0), ("orders-us", 0), ("orders-us", 1)}
    driver.set_topics(**{"orders-us": 2, "other": 1})
    settle([member])
    assert member.owned == {("orders-us", 0), ("orders-us", 1)}


def test_an_expression_that_is_none_is_refused() -> None:
    driver = ConsumerDriver()
    reply = driver.join_as("a", topics=None, regex="orders(")
    assert reply.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "'orders('" in reply.error_message
    assert driver.log == []


def test_an_expression_that_only_another_broker_understood_matches_nothing() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    profile = Profile(topic_regex=r"\p{Lu}.*", rebalance_timeout_ms=1000)
    driver.shard.replay(profile_record("orders", "b", profile), offset=99)
    driver.apply(driver.shard.on_loaded(driver.now))
    driver.set_topics(orders=5)
    assert driver.heartbeat_as("a", 2).error_code == 0
    assert len(driver.consumer_group().target_of("a")) == 5


def test_members_can_change_to_names_and_back() -> None:
    driver = ConsumerDriver({"orders": 1, "returns": 1})
    member = Consumer(driver, "a", topics=[], regex="o.*")
    member.join()
    member.beat(topics=["returns"], regex="")
    settle([member])
    assert member.owned == {("returns", 0)}
    member.beat(topics=[], regex="[or].*")
    settle([member])
    assert member.owned == {("orders", 0), ("returns", 0)}
    assert _regex_log(driver) == [("o.*", ["orders"]), ("o.*", None), ("[or].*", ["orders", "returns"])]


def test_an_expression_goes_with_the_last_who_used_it() -> None:
    driver = ConsumerDriver()
    first, second = (Consumer(driver, name, topics=[], regex="o.*") for name in "ab")
    first.join()
    second.join()
    settle([first, second])
    first.leave()
    assert _regex_log(driver)[-1] == ("o.*", ["orders"])
    second.leave()
    assert _regex_log(driver)[-1] == ("o.*", None)
    assert driver.consumer_group().resolved == {}


@pytest.mark.parametrize("topic", ["orders", "returns"])
def test_a_group_is_subscribed_to_what_its_expressions_match(topic: str) -> None:
    driver = ConsumerDriver({"orders": 1, "returns": 1})
    driver.join_as("a", topics=[], regex="o.*")
    assert driver.consumer_group().is_subscribed_to(topic) == (topic == "orders")


def test_an_expression_finds_only_topics_that_its_member_may_know_of() -> None:
    driver = ConsumerDriver({"orders-eu": 1, "orders-us": 1})
    driver.sees = {"orders-eu"}.__contains__
    member = Consumer(driver, "a", topics=[], regex="orders-.*")
    member.join()
    assert member.owned == {("orders-eu", 0)}
    assert _regex_log(driver) == [("orders-.*", ["orders-eu"])]


def test_what_a_member_may_know_of_is_looked_at_again_after_a_while() -> None:
    settings = {"group_consumer_regex_refresh_interval_ms": 30_000}
    driver = ConsumerDriver({"orders-eu": 1, "orders-us": 1}, **settings)
    driver.sees = {"orders-eu"}.__contains__
    member = Consumer(driver, "a", topics=[], regex="orders-.*")
    member.join()
    settle([member])
    driver.sees = {"orders-eu", "orders-us"}.__contains__
    driver.advance(29_000)
    settle([member])
    assert member.owned == {("orders-eu", 0)}
    driver.advance(1000)
    settle([member])
    assert member.owned == {("orders-eu", 0), ("orders-us", 0)}


def test_other_members_with_the_same_expression_get_the_same_topics() -> None:
    driver = ConsumerDriver({"orders-eu": 1, "orders-us": 1})
    first, second = (Consumer(driver, name, topics=[], regex="orders-.*") for name in "ab")
    driver.sees = {"orders-eu", "orders-us"}.__contains__
    first.join()
    driver.sees = set[str]().__contains__
    # It joins and so has the expression resolved again, for what it may know of itself.
    second.join()
    settle([first, second])
    assert first.owned | second.owned == set()
