"""The map of keys against a dictionary, and its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.storage.cleaner.key_map import NO_OFFSET, SLOT_SIZE, KeyMap


@given(
    puts=st.lists(st.tuples(st.binary(max_size=3), st.integers(0, (1 << 63) - 1)), max_size=300),
    asked=st.lists(st.binary(max_size=3), max_size=50),
    slots=st.integers(3, 400),
)
def test_map_agrees_with_a_dictionary_until_it_is_full(
    puts: list[tuple[bytes, int]], asked: list[bytes], slots: int
) -> None:
    keys = KeyMap(slots * SLOT_SIZE, 0.9)
    model: dict[bytes, int] = {}
    for key, offset in puts:
        if keys.full:
            break
        keys.put(key, offset)
        model[key] = offset
    assert keys.size == len(model) <= keys.capacity
    for key in [*asked, *(key for key, _ in puts)]:
        assert keys.get(key) == model.get(key, NO_OFFSET)


def test_memory_is_bounded_and_well_used() -> None:
    keys = KeyMap(1 << 20, 0.9)
    assert keys._table.nbytes <= 1 << 20
    # As many keys as Apache Kafka fits into the same memory, but for the few slots to the next prime.
    assert keys.capacity >= (1 << 20) // 24 * 0.9 - 100
    for number in range(keys.capacity):
        assert not keys.full
        keys.put(b"%d" % number, number)
    assert keys.full
    assert [keys.get(b"%d" % number) for number in range(0, keys.capacity, 97)] == list(range(0, keys.capacity, 97))
    assert keys.get(b"unknown") == NO_OFFSET
    with pytest.raises(ValueError, match="full"):
        keys.put(b"one more", 1)


def test_full_map_still_takes_later_offsets_of_known_keys() -> None:
    keys = KeyMap(7 * SLOT_SIZE, 0.9)
    for number in range(keys.capacity):
        keys.put(b"%d" % number, number)
    keys.put(b"0", 100)
    assert keys.get(b"0") == 100


@pytest.mark.parametrize("size", [0, SLOT_SIZE - 1, SLOT_SIZE])
def test_memory_for_no_key_at_all_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="not enough"):
        KeyMap(size, 0.9)
