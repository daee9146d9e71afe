"""Which code runs for each record: the compiled loops, or the same source in plain Python.

Import `checking`, `column_loops`, `decoding`, `encoding`, `filtering`, `hashing` and `row_digest` from here. A compiled
twin is used if it exists and was built from the current source; one built from another source is ignored, because it
might do what the source no longer says. That is decided for each module separately: both kinds give the same results.
TIDELOG_PURE_PYTHON=1 selects plain Python. `tidelog doctor` shows what was chosen, and why.
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
    from tidelog.records import checking, column_loops, decoding, encoding, filtering, hashing, row_digest

__all__ = [
    "COMPILED",
    "MODULES",
    "REASON",
    "checking",
    "column_loops",
    "decoding",
    "encoding",
    "filtering",
    "hashing",
    "row_digest",
]

MODULES: Final = ("decoding", "encoding", "column_loops", "hashing", "checking", "row_digest", "filtering")
SWITCH: Final = "TIDELOG_PURE_PYTHON"
_REBUILD: Final = "rebuild it with: pip install --editable ."


def _source_digest(name: str) -> str:
    spec = find_spec(f"tidelog.records.{name}")
    assert spec is not None
    assert spec.origin is not None
    return source_digest(_read(spec, spec.origin), _read(spec, spec.origin.removesuffix(".py") + ".pxd"))


def _read(spec: ModuleSpec, path: str) -> bytes:
    data: bytes = spec.loader.get_data(path)  # type: ignore[union-attr]
    return data


def _choose() -> tuple[dict[str, ModuleType], str]:
    """The compiled modules to use, and why they are not all of them; "" if they are."""
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return {}, f"{SWITCH} is set"
    chosen: dict[str, ModuleType] = {}
    missing: list[str] = []
    stale: list[str] = []
    for name in MODULES:
        try:
            twin = import_module(f"tidelog.records.native.{name}")
            is_fresh = _source_digest(name) == twin.SOURCE_DIGEST
        except ModuleNotFoundError:
            missing.append(name)
        except ImportError as error:
            return {}, f"the compiled codec cannot be loaded ({error}); {_REBUILD}"
        except (OSError, AttributeError) as error:
            return {}, f"the compiled codec cannot be compared with its source ({error}); {_REBUILD}"
        else:
            if is_fresh:
                chosen[name] = twin
            else:
                stale.append(name)
    if len(missing) == len(MODULES):
        return {}, f"no compiled codec has been built; with a C compiler, {_REBUILD}"
    unused = ", ".join(missing + stale)
    reason = f"the compiled codec was built from another source ({unused}); {_REBUILD}" if unused else ""
    return chosen, reason


_compiled, REASON = _choose()
_chosen = {name: _compiled.get(name) or import_module(f"tidelog.records.{name}") for name in MODULES}
COMPILED: Final = not REASON
if not TYPE_CHECKING:
    checking = _chosen["checking"]
    decoding = _chosen["decoding"]
    encoding = _chosen["encoding"]
    column_loops = _chosen["column_loops"]
    filtering = _chosen["filtering"]
    hashing = _chosen["hashing"]
    row_digest = _chosen["row_digest"]
