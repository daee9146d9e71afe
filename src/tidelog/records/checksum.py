"""`crc32c`: the checksum of batches and of snapshots of producers, by the instructions of the processor.

It is the function of the package `crc32c`, whose `__init__` looks up its own version among everything that is
installed. That takes 25 ms of each process and imports a parser for e-mail, so the extension is loaded without it.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

__all__ = ["crc32c"]

if TYPE_CHECKING:
    from crc32c import crc32c
else:

    def _load():
        package = find_spec("crc32c")
        extension = package and PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if not extension:
            # Another version may have it elsewhere.
            from crc32c import crc32c

            return crc32c
        module = module_from_spec(extension)
        extension.loader.exec_module(module)
        return module.crc32c

    crc32c = _load()
