"""Which code reads and writes messages: the compiled codec, or the functions that `codec.py` makes in plain Python.

The compiled one is used if it is there and was made from the source that is there now; one of another source is as good
as none, because it might do what the source no longer says. TIDELOG_PURE_PYTHON=1 asks for plain Python. What was
chosen, and why, is shown by `tidelog doctor`. For the loops over records it is `tidelog.records.implementation`.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import source_hash
from typing import Any, Final, Protocol, TypeVar, cast

from tidelog.protocol import native
from tidelog.protocol.schema import Message

SWITCH: Final = "TIDELOG_PURE_PYTHON"
MODULE: Final = "message_codec"
_REBUILD: Final = "rebuild it with: pip install --editable ."

M = TypeVar("M", bound=Message)


class MessageCodec(Protocol):
    """What the compiled module offers."""

    def encode(self, message: Message, version: int, /) -> bytes: ...

    def encode_frame(self, message: Message, version: int, head: bytes, keep_from: int, /) -> list[Any]: ...

    def is_filled(self, kind: type[Message], version: int, /) -> bool: ...

    def decode(
        self, kind: type[M], buffer: bytes | bytearray | memoryview, version: int, position: int, /
    ) -> tuple[M, int]: ...


def _source_digest() -> str:
    assert native.__file__ is not None
    source = native.__file__.removesuffix("__init__.py") + f"{MODULE}.pyx"
    return source_hash(native.__loader__.get_data(source)).hex()  # type: ignore[union-attr]


def _choose() -> tuple[MessageCodec | None, str]:
    """The compiled codec, or why it is not used."""
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return None, f"{SWITCH} is set"
    try:
        found = import_module(f"{native.__name__}.{MODULE}")
        is_fresh = _source_digest() == found.SOURCE_DIGEST
    except ModuleNotFoundError:
        return None, f"no compiled codec has been built; with a C compiler, {_REBUILD}"
    except ImportError as error:
        return None, f"the compiled codec cannot be loaded ({error}); {_REBUILD}"
    except (OSError, AttributeError) as error:
        return None, f"the compiled codec cannot be compared with its source ({error}); {_REBUILD}"
    if not is_fresh:
        return None, f"the compiled codec was made from another source; {_REBUILD}"
    return cast(MessageCodec, found), ""


compiled, REASON = _choose()
COMPILED: Final = not REASON
