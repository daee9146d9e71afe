"""The request path, compiled and in plain Python: which tests run with which.

`make test` runs the suite with the compiled modules of `tidelog.hot_path`, as users do, and then a part of it again in
plain Python (TIDELOG_PURE_PYTHON=1):

- tests of the folders below get the mark `both_ways`, unless they are slow;
- tests with the mark `plain_python` replace functions or constants of compiled modules, which compiled code would not
  notice. They are skipped while these are compiled. A test that replaces something without the mark fails: it would
  test nothing.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.monkeypatch import derive_importpath

from tidelog import hot_path

FOLDERS = frozenset({"client", "model", "network", "partition", "protocol", "records", "server", "storage", "sync"})
TESTS = Path(__file__).parents[1]

_plain_setattr = pytest.MonkeyPatch.setattr


def module_of(target: object) -> str:
    """Where the code is that would be replaced in a module, a class or an object."""
    if isinstance(target, ModuleType):
        return target.__name__
    return (target if isinstance(target, type) else type(target)).__module__


def _checked_setattr(self: pytest.MonkeyPatch, target: Any, *arguments: Any, **options: Any) -> None:
    owner = derive_importpath(target, raising=True)[1] if isinstance(target, str) else target
    if hot_path.COMPILED and module_of(owner) in hot_path.MODULES:
        raise AssertionError(
            f"{module_of(owner)} is compiled, and code that calls it would not notice the change: "
            "mark the test with pytest.mark.plain_python"
        )
    _plain_setattr(self, target, *arguments, **options)


def pytest_configure() -> None:
    pytest.MonkeyPatch.setattr = _checked_setattr  # type: ignore[method-assign]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if folder in FOLDERS and item.get_closest_marker("slow") is None:
            item.add_marker("both_ways")
        if hot_path.COMPILED and item.get_closest_marker("plain_python") is not None:
            item.add_marker(pytest.mark.skip(reason="replaces parts of compiled modules; runs in plain Python"))
