"""The judge of the demonstration has to see what is wrong."""

from __future__ import annotations

from tidelog.spark.demo.comparison import compare
from tidelog.spark.demo.orders import expected_result, make_orders

VALUES = [order.value for order in make_orders(10)]
SOURCE = {0: VALUES[:6], 1: VALUES[6:]}
RIGHT = {number: [expected_result(value) for value in values] for number, values in SOURCE.items()}


def test_the_result_of_an_order_is_its_total() -> None:
    assert expected_result(b'{"id": 7, "price": 250, "quantity": 3}') == b'{"id":7,"total":750}'


def test_orders_are_the_same_each_time() -> None:
    assert list(make_orders(100)) == list(make_orders(100))


def test_right_output_is_exact() -> None:
    found = compare(SOURCE, RIGHT)

    assert found.exact
    assert (found.rows_in, found.rows_out, found.missing, found.duplicates, found.foreign) == (10, 10, 0, 0, 0)
    assert found.sum_found == found.sum_expected


def test_a_row_that_came_twice_is_a_duplicate() -> None:
    found = compare(SOURCE, {0: [*RIGHT[0], RIGHT[0][2]], 1: RIGHT[1]})

    assert not found.exact
    assert (found.rows_out, found.missing, found.duplicates) == (11, 0, 1)
    assert found.sum_found > found.sum_expected


def test_a_row_that_did_not_come_is_missing() -> None:
    found = compare(SOURCE, {0: RIGHT[0][1:], 1: RIGHT[1]})

    assert not found.exact
    assert (found.missing, found.duplicates) == (1, 0)


def test_a_partition_without_any_row_is_missing() -> None:
    found = compare(SOURCE, {0: RIGHT[0]})

    assert not found.exact
    assert found.missing == 4


def test_one_missing_and_one_twice_do_not_make_up_for_each_other() -> None:
    found = compare(SOURCE, {0: [*RIGHT[0][1:], RIGHT[0][1]], 1: RIGHT[1]})

    assert found.rows_in == found.rows_out
    assert not found.exact
    assert (found.missing, found.duplicates) == (1, 1)


def test_rows_in_another_order_or_partition_are_not_exact() -> None:
    turned = compare(SOURCE, {0: RIGHT[0][::-1], 1: RIGHT[1]})
    moved = compare(SOURCE, {0: RIGHT[1], 1: RIGHT[0]})

    assert (turned.missing, turned.duplicates, turned.exact) == (0, 0, False)
    assert (moved.missing, moved.duplicates, moved.exact) == (0, 0, False)


def test_a_row_that_nobody_asked_for_is_foreign() -> None:
    found = compare(SOURCE, {0: [*RIGHT[0], b'{"id":99,"total":1}'], 1: RIGHT[1]})

    assert (found.foreign, found.duplicates, found.exact) == (1, 0, False)
