"""Which code runs for each record: the compiled loops, or the same source in plain Python.

`checking`, `column_loops`, `decoding`, `encoding` and `hashing` are to be imported from here. The compiled twins are
used if they are there and were made from the source that is there now; a twin of another source is as good as none,
because it might do what the source no longer says. TIDELOG_PURE_PYTHON=1 asks for plain Python. `tidelog doctor` shows
what was chosen, and why.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final

from tidelog.records.source_digest import source_digest

if TYPE_CHECKING:
    from tidelog.records import checking, column_loops, decoding, encoding, hashing

__all__ = ["COMPILED", "MODULES", "REASON", "checking", "column_loops", "decoding", "encoding", "hashing"]

MODULES: Final = ("decoding", "encoding", "column_loops", "hashing", "checking")
SWITCH: Final = "TIDELOG_PURE_PYTHON"
_REBUILD: Final = "build it anew with: pip install --editable ."


def _source_digest(name: str) -> str:
    spec = find_spec(f"tidelog.records.{name}")
    assert spec is not None
    assert spec.origin is not None
    return source_digest(_read(spec, spec.origin), _read(spec, spec.origin.removesuffix(".py") + ".pxd"))


def _read(spec: ModuleSpec, path: str) -> bytes:
    data: bytes = spec.loader.get_data(path)  # type: ignore[union-attr]
    return data


def _choose() -> tuple[dict[str, ModuleType], str]:
    """The modules to use, and why it is not the compiled ones; "" if it is."""
    plain = "tidelog.records."
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return _load(plain), f"{SWITCH} is set"
    try:
        twins = _load("tidelog.records.native.")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            return _load(plain), f"no compiled codec has been built; with a C compiler, {_REBUILD}"
        return _load(plain), f"the compiled codec cannot be loaded ({error}); {_REBUILD}"
    try:
        stale = [name for name, twin in twins.items() if _source_digest(name) != twin.SOURCE_DIGEST]
    except (OSError, AttributeError) as error:
        return _load(plain), f"the compiled codec cannot be compared with its source ({error}); {_REBUILD}"
    if stale:
        return _load(plain), f"the compiled codec was made from another source ({', '.join(stale)}); {_REBUILD}"
    return twins, ""


def _load(prefix: str) -> dict[str, ModuleType]:
    return {name: import_module(prefix + name) for name in MODULES}


_chosen, REASON = _choose()
COMPILED: Final = not REASON
if not TYPE_CHECKING:
    checking = _chosen["checking"]
    decoding = _chosen["decoding"]
    encoding = _chosen["encoding"]
    column_loops = _chosen["column_loops"]
    hashing = _chosen["hashing"]
