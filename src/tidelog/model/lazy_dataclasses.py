"""`dataclass` as in the standard library, but its methods are made when they are first used.

`dataclasses.dataclass` writes the source of five or six methods for each class and compiles it: 0.7 ms, and a node
imports three hundred classes before it listens. Most of them are for requests that this process may never receive. Here
a class gets its slots at once. Its `__init__` is compiled when the first object is made; the other
methods are the same closures for all classes. See docs/decisions/0044-what-a-start-imports.md.

Type checkers and mypyc see the function of the standard library, and instances are dataclasses for everybody else:
`fields`, `replace`, `asdict`, `match` and pickle work. InitVar and ordering are not supported: a class that needs one
of them imports the original.

Two threads that make the first object at the same time both compile the same function, and either one stays.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

_FIELDS = "__dataclass_fields__"
# Where a class keeps its own and inherited fields: what `dataclasses.field` returned for each, and its annotation.
_DECLARED = "__lazy_fields__"
_Declared = dict[str, tuple["dataclasses.Field[Any]", Any]]


def lazy_dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True, repr: bool = True
) -> Callable[[type], type]:
    """The parameters mean what they mean in the standard library."""

    def decorate(cls: type) -> type:
        declared = _declare(cls, kw_only)
        if slots and not hasattr(cls, "__mypyc_attrs__"):
            cls = _with_slots(cls, declared)
        _add_methods(cls, declared, frozen=frozen, slots=slots, eq=eq, show=repr)
        return cls

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = lazy_dataclass


def _declare(cls: type, kw_only: bool) -> _Declared:
    declared: _Declared = {}
    for parent in cls.__mro__[-1:0:-1]:
        declared |= parent.__dict__.get(_DECLARED, {})
        if _DECLARED not in parent.__dict__ and _FIELDS in parent.__dict__:
            raise TypeError(f"{cls.__qualname__}: its parent {parent.__qualname__} is a dataclass of the other kind")
    for name, annotation in inspect.get_annotations(cls).items():
        # All our modules have annotations as text: `from __future__ import annotations`.
        kind = str(annotation).partition("[")[0].rpartition(".")[2]
        if kind == "ClassVar":
            continue
        if kind == "InitVar":
            raise TypeError(f"{cls.__qualname__}.{name} is an InitVar: use dataclasses.dataclass")
        value = cls.__dict__.get(name, dataclasses.MISSING)
        field: dataclasses.Field[Any] = (
            value if isinstance(value, dataclasses.Field) else dataclasses.field(default=value)
        )
        if field.default.__class__.__hash__ is None:
            raise ValueError(f"{cls.__qualname__}.{name}: all objects would share {field.default!r}; use a factory")
        if field.kw_only is dataclasses.MISSING:
            field.kw_only = kw_only
        declared[name] = (field, annotation)
        if field is value:
            # What is not a default is no attribute of the class.
            if field.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, field.default)
    return declared


def _with_slots(cls: type, declared: _Declared) -> type:
    """Slots cannot be added to a class: it is made once more."""
    inherited = {slot for parent in cls.__mro__[1:] for slot in getattr(parent, "__slots__", ())}
    left_out = {"__dict__", "__weakref__", *declared}
    attributes = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    attributes["__slots__"] = tuple(name for name in declared if name not in inherited)
    attributes["__qualname__"] = cls.__qualname__
    return type(cls)(cls.__name__, cls.__bases__, attributes)


def _add_methods(cls: Any, declared: _Declared, *, frozen: bool, slots: bool, eq: bool, show: bool) -> None:
    own = cls.__dict__
    setattr(cls, _DECLARED, declared)
    setattr(cls, _FIELDS, _Fields())
    if "__match_args__" not in own:
        positional = tuple(name for name, (field, _) in declared.items() if field.init and not field.kw_only)
        setattr(cls, "__match_args__", positional)  # noqa: B010  # mypy has it for a constant
    if "__init__" not in own:
        cls.__init__ = _first_init(cls, declared, frozen)
        cls.__signature__ = _Signature()
    if show and "__repr__" not in own:
        cls.__repr__ = _repr_of([name for name, (field, _) in declared.items() if field.repr])
    if eq:
        values = _values_of([name for name, (field, _) in declared.items() if field.compare])
        if "__eq__" not in own:
            cls.__eq__ = _eq_of(values)
        if own.get("__hash__") is None:
            cls.__hash__ = _hash_of(values) if frozen else None
    if frozen:
        _freeze(cls, declared)
        if slots and "__getstate__" not in own:
            # Without a __dict__, unpickling would set attributes, which is refused.
            names = tuple(declared)
            cls.__getstate__ = lambda self: [getattr(self, name) for name in names]
            cls.__setstate__ = lambda self, state: _restore(self, names, state)


class _Fields:
    """In place of the fields that the standard library asks classes for, until it does."""

    def __get__(self, instance: object, owner: Any) -> Any:
        declared: _Declared = getattr(owner, _DECLARED)
        stand_in = type(owner.__name__, (), {name: field for name, (field, _) in declared.items()})
        stand_in.__annotations__ = {name: annotation for name, (_, annotation) in declared.items()}
        stand_in.__module__ = owner.__module__
        # Without one, the standard library writes the signature there, which takes longer than all the rest.
        stand_in.__doc__ = owner.__doc__ or ""
        fields = getattr(dataclasses.dataclass(init=False, repr=False, eq=False)(stand_in), _FIELDS)
        setattr(owner, _FIELDS, fields)
        return fields


class _Signature:
    """`inspect.signature` looks here first. It finds nothing, and then the parameters of the real `__init__`."""

    def __get__(self, instance: object, owner: Any) -> NoReturn:
        compile_init = getattr(owner.__init__, "compile_init", None)
        if compile_init is not None:
            compile_init()
        raise AttributeError("__signature__")


def _first_init(cls: Any, declared: _Declared, frozen: bool) -> Callable[..., None]:
    def compile_init() -> Callable[..., None]:
        cls.__init__ = compiled = _compile_init(cls, declared, frozen)
        return compiled

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        compile_init()(self, *arguments, **named)

    setattr(__init__, "compile_init", compile_init)  # noqa: B010
    return __init__


def _compile_init(cls: Any, declared: _Declared, frozen: bool) -> Callable[..., None]:
    """Parameters and assignments in the order of the fields, keyword-only parameters last."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    positional, keywords = ["self"], list[str]()
    body: list[str] = []
    for name, (field, _) in declared.items():
        value = name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}()" if not field.init else f"_make_{name}() if {name} is _missing else {name}"
            default = "=_missing"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            value = name if field.init else f"_default_{name}"
            default = f"=_default_{name}"
        else:
            default = ""
            if not field.init:
                continue
        if field.init:
            (keywords if field.kw_only else positional).append(f"{name}{default}")
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*"] if keywords else []), *keywords])
    lines = "\n  ".join(body) or "pass"
    source = f"def make({', '.join(known)}):\n def __init__({parameters}):\n  {lines}\n return __init__"
    namespace: dict[str, Any] = {}
    exec(source, sys.modules[cls.__module__].__dict__, namespace)
    compiled: Callable[..., None] = namespace["make"](**known)
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    compiled.__annotations__ = {name: annotation for name, (field, annotation) in declared.items() if field.init}
    return compiled


def _values_of(names: list[str]) -> Callable[[Any], Any]:
    if len(names) > 1:
        return attrgetter(*names)
    # One name alone would be its value, not a tuple.
    return lambda self: tuple(getattr(self, name) for name in names)


def _eq_of(values: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_of(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr_of(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _freeze(cls: Any, declared: _Declared) -> None:
    """A class that is derived from it, and is not one of these, may have attributes of its own."""

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in declared:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in declared:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__ = __setattr__
    cls.__delattr__ = __delattr__


def _restore(instance: Any, names: tuple[str, ...], state: list[Any]) -> None:
    for name, value in zip(names, state, strict=True):
        object.__setattr__(instance, name, value)
