"""Compiles the loops over records (in `tidelog.records`) where a C compiler is there. Hatchling calls it in each build.

The source stays what it is, typed Python; the `.pxd` files beside it give Cython the C types. The compiled twins go to
`src/tidelog/records/native/`, with a digest of the source they were made from, without which they are not used. Where
nothing can be compiled, tidelog is installed in plain Python, and says so.

`python hatch_build.py` does it in place, in an environment that has Cython and setuptools.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:
    # Called as a script, by somebody who has no use for the hook.
    BuildHookInterface = object

ROOT = Path(__file__).parent
RECORDS = ROOT / "src" / "tidelog" / "records"
NATIVE = RECORDS / "native"
MODULES = ("decoding", "encoding", "column_loops", "hashing", "checking", "row_digest")
SWITCH = "TIDELOG_PURE_PYTHON"

DIRECTIVES = {
    "language_level": 3,
    # The annotations are for mypy; the C types are in the .pxd files.
    "annotation_typing": False,
    # The loops compare positions with ends themselves: tests/records feeds them bytes that lie.
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
}


class NotCompiled(Exception):
    """Says why."""


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc, valid-type]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            built = build()
        except NotCompiled as reason:
            self.app.display_warning(f"tidelog is installed in plain Python, which is slower: {reason}")
            return
        self.app.display_info(f"tidelog: compiled {', '.join(MODULES)}")
        if version != "editable":
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["force_include"].update({str(path): f"tidelog/records/native/{path.name}" for path in built})


def build() -> list[Path]:
    """Compile all of them, or none. Returns the files that are now in `NATIVE`."""
    if os.environ.get(SWITCH, "") not in ("", "0"):
        raise NotCompiled(f"{SWITCH} is set")
    with tempfile.TemporaryDirectory(prefix="tidelog-build-") as directory:
        return [_put_in_place(path) for path in _compile(Path(directory))]


def _compile(work: Path) -> list[Path]:
    try:
        from Cython.Build import cythonize
        from Cython.Compiler.Errors import CompileError as CythonError
        from setuptools import Distribution, Extension
        from setuptools.command.build_ext import build_ext
        from setuptools.errors import BaseError, CCompilerError
    except ImportError as error:
        raise NotCompiled(f"{error.name} is not installed") from error

    class Compile(build_ext):
        def build_extension(self, ext: Extension) -> None:
            if self.compiler.compiler_type != "msvc":
                # Numbers that overflow wrap, as in Java; Microsoft's compiler does so unasked.
                ext.extra_compile_args = ["-O3", "-fwrapv", "-g0"]
            super().build_extension(ext)

    _copy_sources(work)
    extensions = [Extension(f"tidelog.records.native.{name}", [str(_twin(work, name))]) for name in MODULES]
    distribution = Distribution({"name": "tidelog", "cmdclass": {"build_ext": Compile}})
    try:
        distribution.ext_modules = cythonize(extensions, compiler_directives=DIRECTIVES, quiet=True)
        command = distribution.get_command_obj("build_ext")
        command.build_lib = str(work / "lib")
        command.build_temp = str(work / "temp")
        distribution.run_command("build_ext")
    except (BaseError, CCompilerError, CythonError, OSError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NotCompiled(f"the C compiler does not work ({first})") from error
    return [Path(path) for path in command.get_outputs()]


def _copy_sources(work: Path) -> None:
    digest = _load_digest()
    package = _twin(work, MODULES[0]).parent
    package.mkdir(parents=True)
    for parent in (package, package.parent, package.parent.parent):
        (parent / "__init__.py").touch()
    for name in MODULES:
        code, types = (RECORDS / f"{name}.py").read_bytes(), (RECORDS / f"{name}.pxd").read_bytes()
        stamp = f'\n\nSOURCE_DIGEST = "{digest.source_digest(code, types)}"\n'
        _twin(work, name).write_bytes(code + stamp.encode())
        _twin(work, name).with_suffix(".pxd").write_bytes(types)


def _twin(work: Path, name: str) -> Path:
    return work / "tidelog" / "records" / "native" / f"{name}.py"


def _load_digest() -> Any:
    """`source_digest` has no imports of ours, so it can be loaded where tidelog is not installed."""
    spec = importlib.util.spec_from_file_location("source_digest", RECORDS / "source_digest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _put_in_place(built: Path) -> Path:
    """By renaming: a process that has the old one loaded keeps it."""
    target = NATIVE / built.name
    beside = target.with_suffix(f".{os.getpid()}")
    shutil.copyfile(built, beside)
    os.replace(beside, target)
    return target


if __name__ == "__main__":
    try:
        print("\n".join(str(path.relative_to(ROOT)) for path in build()))  # noqa: T201
    except NotCompiled as reason:
        sys.exit(f"not compiled: {reason}")
