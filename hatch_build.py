"""Compiles what is worth it where a C compiler is there. Hatchling calls it in each build.

Three kinds of modules, from two compilers. The first and the last are the typed Python that otherwise runs as it is:

- the loops over records (in `tidelog.records`), by Cython: the `.pxd` files beside them give it the C types. The
  compiled twins go to `src/tidelog/records/native/`, each with a digest of its source;
- the codec of messages, by Cython from a source of its own, `src/tidelog/protocol/native/message_codec.pyx`. The
  compiled module lies beside it, with its digest;
- what runs for each request (listed in `tidelog/hot_path.py`), by mypyc. The compiled modules lie beside their sources,
  all of them with one digest.

Without a matching digest nothing compiled is used. Where nothing can be compiled, tidelog is installed in plain Python,
and says so.

`python hatch_build.py` does it in place, in an environment that has Cython, mypy and setuptools.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:
    # Called as a script, by somebody who has no use for the hook.
    BuildHookInterface = object

ROOT = Path(__file__).parent
SOURCES = ROOT / "src"
KEPT = ROOT / "build" / "hot_path"
RECORDS = SOURCES / "tidelog" / "records"
MODULES = ("decoding", "encoding", "column_loops", "hashing", "checking", "row_digest", "filtering")
MESSAGE_CODEC = "tidelog.protocol.native.message_codec"
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
        built, problems = build(keep=version == "editable")
        for problem in problems:
            self.app.display_warning(f"tidelog is installed in plain Python, which is slower: {problem}")
        if not built:
            return
        self.app.display_info(f"tidelog: compiled {len(built)} files")
        if version != "editable":
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["force_include"].update({str(path): str(path.relative_to(SOURCES)) for path in built})


def build(*, keep: bool) -> tuple[list[Path], list[str]]:
    """The files that are now among the sources, and why there are not more. All files of a kind are built, or none.

    What a compiler has done is kept for the next build if that is wanted: then it compiles only what has changed.
    """
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return [], [f"{SWITCH} is set"]
    built: list[Path] = []
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tidelog-build-") as directory:
        try:
            built += _put_in_place(Path(directory), _compile_codecs(Path(directory)))
        except NotCompiled as reason:
            problems.append(f"the codecs of records and messages: {reason}")
        work = KEPT if keep else Path(directory) / "hot_path"
        try:
            built += _put_in_place(work, _compile_hot_path(work))
        except NotCompiled as reason:
            problems.append(f"the request path: {reason}")
    return built, problems


def _compile_codecs(work: Path) -> list[Path]:
    with _reasons():
        from Cython.Build import cythonize
        from setuptools import Extension

        _copy_loops(work)
        extensions = [
            Extension(f"tidelog.records.native.{name}", [str(_twin(work, name))], extra_compile_args=["-O3"])
            for name in MODULES
        ]
        extensions.append(Extension(MESSAGE_CODEC, [str(_copy_message_codec(work))], extra_compile_args=["-O3"]))
        return _build_extensions(cythonize(extensions, compiler_directives=DIRECTIVES, quiet=True), work)


def _compile_hot_path(work: Path) -> list[Path]:
    """The compiled modules, the library that has the code of all of them, and the digest of their sources.

    One library, because sixty need 9 MB more of each process's memory.
    """
    hot_path = _load("hot_path", SOURCES / "tidelog" / "hot_path.py")
    files = [hot_path.source_path("", module) for module in hot_path.MODULES]
    # Imports that are not installed where this is built are of any type; only what is compiled is checked here.
    # No cache of mypy's: mypyc 2.4 makes mistakes with enumerations that it has read from one. C files that come out as
    # before are not compiled again.
    # The project's own settings are stricter, and cannot be kept where dependencies are missing.
    lenient = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    options = [*lenient, "--cache-dir", os.devnull]
    printed = io.StringIO()
    with _reasons(printed), contextlib.chdir(SOURCES):
        from mypyc.build import mypycify

        digest = hot_path.sources_digest(str(SOURCES))
        extensions = mypycify(
            [*options, *files], target_dir=str(work / "c"), opt_level="1", multi_file=True, group_name="tidelog"
        )
        built = _build_extensions(extensions, work)
    # Without the digest nothing compiled is used until all of it is in place.
    (SOURCES / "tidelog" / hot_path.DIGEST_FILE).unlink(missing_ok=True)
    for path in SOURCES.rglob("*.so"):
        # Also of modules that are no longer compiled: Python would prefer it to their sources.
        if path.parent.name != "native":
            path.unlink()
    stamp = work / "lib" / "tidelog" / hot_path.DIGEST_FILE
    stamp.write_text(digest)
    return [*built, stamp]


@contextlib.contextmanager
def _reasons(printed: io.StringIO | None = None) -> Iterator[None]:
    """Whatever keeps a compiler from its work is a reason to go on without it."""
    try:
        with contextlib.redirect_stdout(printed or io.StringIO()):
            yield
    except ImportError as error:
        raise NotCompiled(f"{error.name} is not installed") from error
    except SystemExit as error:
        # mypyc ends the process if the sources have mistakes.
        first = printed.getvalue().strip().splitlines()[:1] if printed is not None else []
        raise NotCompiled("".join(first) or f"a compiler ended with {error.code}") from error
    except Exception as error:
        # Each compiler has exceptions of its own, and some have no common parent.
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NotCompiled(f"the C compiler does not work ({first_line})") from error


def _build_extensions(extensions: list[Any], work: Path) -> list[Path]:
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    class Compile(build_ext):
        def build_extension(self, ext: Extension) -> None:
            if self.compiler.compiler_type != "msvc":
                # Numbers that overflow wrap, as in Java; Microsoft's compiler does so unasked.
                # mypyc takes warnings for errors; other compilers than those it knows may have others.
                ext.extra_compile_args = [*ext.extra_compile_args, "-fwrapv", "-g0", "-Wno-error"]
            if len(ext.sources) > 1:
                self._compile_side_by_side(ext)
            super().build_extension(ext)

        def _compile_side_by_side(self, ext: Extension) -> None:
            """The C files of a library, on all cores, unless nothing has changed in them since the last build."""
            headers = [header for directory in ext.include_dirs for header in Path(directory).glob("*.h")]
            headers += [Path(each) for each in ext.depends]
            latest_header = max((header.stat().st_mtime for header in headers), default=0.0)

            def compiled(source: str) -> str:
                (target,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
                latest = max(latest_header, Path(source).stat().st_mtime)
                if not Path(target).exists() or Path(target).stat().st_mtime < latest:
                    self.compiler.compile(
                        [source],
                        output_dir=self.build_temp,
                        include_dirs=ext.include_dirs,
                        extra_postargs=ext.extra_compile_args,
                    )
                return target

            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = list(pool.map(compiled, ext.sources))
            ext.sources, ext.extra_objects, ext.depends = [], objects, objects

    distribution = Distribution({"name": "tidelog", "cmdclass": {"build_ext": Compile}})
    distribution.ext_modules = extensions
    command = distribution.get_command_obj("build_ext")
    command.build_lib = str(work / "lib")
    command.build_temp = str(work / "temp")
    command.parallel = os.cpu_count()
    distribution.run_command("build_ext")
    return [Path(path) for path in command.get_outputs()]


def _copy_loops(work: Path) -> None:
    digest = _load("source_digest", RECORDS / "source_digest.py")
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


def _copy_message_codec(work: Path) -> Path:
    source = Path(*MESSAGE_CODEC.split(".")).with_suffix(".pyx")
    copy = work / source
    copy.parent.mkdir(parents=True)
    for parent in (copy.parent, copy.parent.parent):
        (parent / "__init__.py").touch()
    code = (SOURCES / source).read_bytes()
    copy.write_bytes(code + f'\n\nSOURCE_DIGEST = "{importlib.util.source_hash(code).hex()}"\n'.encode())
    return copy


def _load(name: str, path: Path) -> Any:
    """A module that imports nothing of ours can be loaded where tidelog is not installed."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _put_in_place(work: Path, built: list[Path]) -> list[Path]:
    """By renaming: a process that has the old ones loaded keeps them."""
    targets = []
    for path in built:
        target = SOURCES / path.relative_to(work / "lib")
        beside = target.with_suffix(f".{os.getpid()}")
        shutil.copyfile(path, beside)
        os.replace(beside, target)
        targets.append(target)
    return targets


if __name__ == "__main__":
    compiled, reasons = build(keep=True)
    print("\n".join(str(path.relative_to(ROOT)) for path in compiled))  # noqa: T201
    if reasons:
        sys.exit("\n".join(f"not compiled: {reason}" for reason in reasons))
