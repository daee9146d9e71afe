"""Two whole numbers next to each other in a signature are passed by keyword, so that they cannot be swapped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import tidelog

SOURCES = Path(tidelog.__file__).parent
PACKAGES = ("controller", "metadata", "model", "partition", "server/replicas", "storage")

_AS_PREAD = "a position and a size, in the order that os.pread has them"
_RANGE = "a half-open range, in the order of the numbers, walked for every batch"
_PAIR = "the two columns of an index, whatever they mean"
_CALLABLE = "an implementation of `Eligible`, which is called for every follower at every append"
EXCEPTIONS = {
    "partition.progress.everybody_eligible": _CALLABLE,
    "server.replicas.reconciling.Reconciler._eligible": _CALLABLE,
    "server.replicas.reconciling.is_current": _CALLABLE,
    "storage.files.filesystem.Readable.read": _AS_PREAD,
    "storage.files.local_filesystem.LocalFile.read": _AS_PREAD,
    "storage.files.local_filesystem._read": _AS_PREAD,
    "storage.files.local_filesystem.FileSlice.__init__": _AS_PREAD,
    "storage.files.local_filesystem.LocalFile.slice": _AS_PREAD,
    "storage.files.slices.SliceableFile.slice": _AS_PREAD,
    "storage.segments.segment.Segment.slice": _AS_PREAD,
    "storage.files.local_filesystem._write": _AS_PREAD,
    "storage.segments.segment.Segment.read": _AS_PREAD,
    "storage.segments.walk._only_zeros": _AS_PREAD,
    "storage.segments.segment.Segment.is_checked": _RANGE,
    "storage.segments.batch_scan.find_batch": _RANGE,
    "storage.segments.batch_scan.scan_headers": _RANGE,
    "storage.segments.batch_scan.scan_batches": _RANGE,
    "storage.segments.batch_scan._checked_header": _RANGE,
    "storage.segments.batch_scan._refuse_old_format": _RANGE,
    "storage.segments.segments.Segments.containing": _RANGE,
    "storage.indexes.sparse_index.SparseIndex.append": _PAIR,
}


def functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}.{node.name}", node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from functions(node, f"{prefix}.{node.name}")
        elif not isinstance(node, ast.expr):
            yield from functions(node, prefix)


def is_number(argument: ast.arg) -> bool:
    return argument.annotation is not None and ast.unparse(argument.annotation).removesuffix(" | None") == "int"


def adjacent_numbers() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package in PACKAGES:
        for path in sorted((SOURCES / package).rglob("*.py")):
            module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
            for name, function in functions(ast.parse(path.read_text()), module):
                positional = [*function.args.posonlyargs, *function.args.args]
                for before, after in pairwise(positional):
                    if is_number(before) and is_number(after):
                        found.setdefault(name, []).append(f"{before.arg}, {after.arg}")
    return found


def test_whole_numbers_of_one_type_are_not_neighbours() -> None:
    found = adjacent_numbers()
    swappable = {name: pairs for name, pairs in found.items() if name not in EXCEPTIONS}
    assert not swappable, "put a * before the second"


def test_exceptions_are_still_needed() -> None:
    assert EXCEPTIONS.keys() <= adjacent_numbers().keys()
