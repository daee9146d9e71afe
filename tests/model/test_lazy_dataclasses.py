"""Each class is made twice, by the standard library and by ours, and both are asked the same."""

# mypy does not know the classes that a parameter decorates.
# mypy: disable-error-code="call-arg, attr-defined, misc"

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from tidelog.model.lazy_dataclasses import lazy_dataclass

T = TypeVar("T")
Decorate = Callable[..., Callable[[type], Any]]

BOTH = pytest.mark.parametrize("decorate", [dataclasses.dataclass, lazy_dataclass], ids=["standard", "lazy"])


def point(decorate: Decorate, **parameters: Any) -> Any:
    @decorate(**parameters)
    class Point:
        x: int
        y: int = 2
        KIND: ClassVar[str] = "point"
        notes: list[str] = dataclasses.field(default_factory=list, compare=False)
        hidden: str = dataclasses.field(default="h", repr=False)
        sum: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "sum", self.x + self.y)

    return Point


PARAMETERS = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"slots": True, "eq": False},
    {"repr": False, "kw_only": True},
]


@BOTH
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_objects_have_their_fields(decorate: Decorate, parameters: dict[str, bool]) -> None:
    made = point(decorate, **parameters)(x=1)
    assert (made.x, made.y, made.notes, made.hidden, made.sum, made.KIND) == (1, 2, [], "h", 3, "point")
    assert made.notes is not point(decorate, **parameters)(x=1).notes
    assert hasattr(made, "__dict__") != parameters.get("slots", False)


@BOTH
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_objects_are_compared_hashed_and_shown(decorate: Decorate, parameters: dict[str, bool]) -> None:
    made = point(decorate, **parameters)
    one, same, other = made(x=1), made(x=1, notes=["n"]), made(x=2)
    by_value = parameters.get("eq", True)
    assert (one == same, one == one, one == other, one == 1) == (by_value, True, False, False)
    if not by_value:
        assert hash(one) == hash(one)
    elif parameters.get("frozen", False):
        assert hash(one) == hash(same)
    else:
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)
    shown = f"{made.__qualname__}(x=1, y=2, notes=[], sum=3)"
    assert (repr(one) == shown) == parameters.get("repr", True)


@BOTH
def test_frozen_objects_stay_as_they_are(decorate: Decorate) -> None:
    made = point(decorate, frozen=True, slots=True)(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x


@BOTH
def test_wrong_arguments_are_refused_each_time(decorate: Decorate) -> None:
    made = point(decorate, slots=True, kw_only=True)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required keyword-only argument: 'x'"):
            made()
        with pytest.raises(TypeError, match=r"__init__\(\) takes 1 positional argument"):
            made(1)
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            made(x=1, z=1)


@BOTH
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_the_functions_of_the_standard_library_work(decorate: Decorate, parameters: dict[str, bool]) -> None:
    made = point(decorate, **parameters)
    assert list(inspect.signature(made).parameters) == ["x", "y", "notes", "hidden"]
    assert bool(dataclasses.is_dataclass(made))
    assert [field.name for field in dataclasses.fields(made)] == ["x", "y", "notes", "hidden", "sum"]
    assert [field.type for field in dataclasses.fields(made)][:2] == ["int", "int"]
    changed = dataclasses.replace(made(x=1), y=5)
    assert (changed.x, changed.y, changed.sum) == (1, 5, 6)
    assert dataclasses.asdict(changed) == {"x": 1, "y": 5, "notes": [], "hidden": "h", "sum": 6}
    assert copy.copy(changed).y == 5
    assert list(inspect.signature(made).parameters) == ["x", "y", "notes", "hidden"]


@BOTH
def test_patterns_match(decorate: Decorate) -> None:
    positional, named = point(decorate, slots=True), point(decorate, slots=True, kw_only=True)
    assert positional.__match_args__ == ("x", "y", "notes", "hidden")
    assert named.__match_args__ == ()
    match named(x=7):
        case named(x=found):
            assert found == 7
        case _:
            raise AssertionError


@BOTH
def test_fields_are_inherited(decorate: Decorate) -> None:
    @decorate(frozen=True, slots=True, kw_only=True)
    class First:
        a: int
        b: int = 1

    @decorate(frozen=True, slots=True, kw_only=True)
    class Second(First):
        c: int = 3
        b: int = 2

    assert repr(Second(a=0)).endswith("Second(a=0, b=2, c=3)")
    assert First(a=0) != Second(a=0)
    assert Second.__slots__ == ("c",)


@BOTH
def test_a_class_derived_from_a_frozen_one_may_have_attributes_of_its_own(decorate: Decorate) -> None:
    class Derived(point(decorate, frozen=True)):
        pass

    derived = Derived(x=1)
    derived.own = 1
    del derived.own
    with pytest.raises(dataclasses.FrozenInstanceError):
        derived.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del derived.x


@BOTH
def test_classes_may_be_generic(decorate: Decorate) -> None:
    @decorate(frozen=True)
    class Box(Generic[T]):
        content: T

    assert Box[int](1) == Box(1)


@BOTH
def test_own_methods_are_kept(decorate: Decorate) -> None:
    @decorate(frozen=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    assert (Own(1) == Own(2), repr(Own(1)), hash(Own(1)) == hash(Own(1))) == (True, "own", True)


@BOTH
def test_what_contains_itself_can_be_shown(decorate: Decorate) -> None:
    @decorate(eq=False)
    class Node:
        next: Any

    node = Node(None)
    node.next = node
    assert repr(node).endswith("Node(next=...)")


@BOTH
def test_a_default_that_all_objects_would_share_is_refused(decorate: Decorate) -> None:
    class Shared:
        x: list[int] = []  # noqa: RUF012

    with pytest.raises(ValueError, match=r"x"):
        decorate(slots=True)(Shared)


@lazy_dataclass(frozen=True, slots=True, kw_only=True)
class Pickled:
    x: int
    y: tuple[int, ...] = ()


def test_objects_can_be_pickled_before_and_after_the_first_is_made() -> None:
    made = Pickled(x=1, y=(2,))
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made


def test_what_is_not_supported_is_refused() -> None:
    class Initial:
        x: dataclasses.InitVar[int]

    with pytest.raises(TypeError, match="InitVar"):
        lazy_dataclass()(Initial)

    @dataclasses.dataclass
    class Standard:
        x: int

    with pytest.raises(TypeError, match="the other kind"):
        lazy_dataclass()(type("Derived", (Standard,), {}))


def test_first_objects_may_be_made_in_several_threads() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for number in range(50):
                made = point(lazy_dataclass, frozen=True, slots=True)
                assert {each.x for each in pool.map(made, [number] * 8)} == {number}
    finally:
        sys.setswitchinterval(interval)
