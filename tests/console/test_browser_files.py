"""What is sent to the browser: nothing makes markup or code of text, nothing comes from elsewhere, nothing is missing.

Each file is searched, because the content security policy would only tell where a test comes by.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from support.download_cache import Unavailable, cached
from vendor_preact import FILES, VENDOR, vendored

from tidelog.console.app import PLACES, STATIC

# With it strings become markup or code. Preact's own file has some, for those who use what is forbidden here.
FORBIDDEN = {
    name: re.compile(pattern)
    for name, pattern in {
        "innerHTML": r"\binnerHTML\b",
        "outerHTML": r"\bouterHTML\b",
        "insertAdjacentHTML": r"\binsertAdjacentHTML\b",
        "setHTML": r"\bset(HTML|HTMLUnsafe)\b",
        "parseFromString": r"\bparseFromString\b",
        "createContextualFragment": r"\bcreateContextualFragment\b",
        "srcdoc": r"\bsrcdoc\b",
        "document.write": r"\bdocument\s*\.\s*write(ln)?\b",
        "eval": r"\beval\s*\(",
        "new Function": r"\bFunction\s*\(",
        "setTimeout of a string": r"\bset(Timeout|Interval)\s*\(\s*['\"`]",
        "dangerouslySetInnerHTML": r"\bdangerouslySetInnerHTML\b",
        "javascript:": r"(?i)javascript:",
        # The policy refuses styles in markup; Preact sets those of an object, `style=${{ ... }}`, by scripts.
        "style as text": r"\sstyle=[\"'`]",
        "a handler as text": r"\son[a-z]+=[\"'`]",
        "a worker": r"\bnew\s+(Shared)?Worker\b|serviceWorker",
        "WebSocket": r"\bnew\s+WebSocket\b",
        "cookies": r"\bdocument\s*\.\s*cookie\b",
    }.items()
}
_ADDRESS = re.compile(r"(?i)(?:\b(?:https?|wss?|ftp|data|blob):|['\"`(]\s*)//[^\s'\"`)]+")
# Names of kinds of markup, which nobody asks for anything.
_NAMESPACES = {
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1999/xlink",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/1998/Math/MathML",
}
_IMPORT = re.compile(r"^(?:import|export)\s+(?:([^'\";]*?)\s+from\s+)?['\"]([^'\"]+)['\"]", re.MULTILINE)
_DYNAMIC = re.compile(r"\bimport\(\s*([^)]*)\)")
_EXPORT = re.compile(r"^export\s+(?:async\s+)?(?:const|let|function\*?|class)\s+(\w+)", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export\s*\{([^}]*)\}", re.MULTILINE)

SCRIPTS = sorted((STATIC / "js").rglob("*.js"))
ALL = sorted(path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg"))
PAGES_MODULE = STATIC / "js" / "main.js"


def named(path: Path) -> str:
    return str(path.relative_to(STATIC))


def forbidden_in(text: str) -> list[str]:
    return [name for name, pattern in FORBIDDEN.items() if pattern.search(text)]


def other_hosts(text: str) -> list[str]:
    found = [address.strip("'\"`( ") for address in _ADDRESS.findall(text)]
    return [address for address in found if address not in _NAMESPACES]


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_no_text_becomes_markup_or_code(path: Path) -> None:
    assert forbidden_in(path.read_text()) == []


@pytest.mark.parametrize("path", ALL, ids=named)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    text = path.read_text()
    assert other_hosts(text) == []
    assert "@import" not in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("element.innerHTML = name", ["innerHTML"]),
        ("const frame = new Function('a', 'b')", ["new Function"]),
        ("setTimeout('alert(1)', 1)", ["setTimeout of a string"]),
        ('html`<p style="color: red">`', ["style as text"]),
        ("html`<p style=${{ left: 1 }} onClick=${act}>`", []),
        ("html`<a onclick='go()'>`", ["a handler as text"]),
        ("document . write(x)", ["document.write"]),
        ("const retrieval = medieval(1); setTimeout(act, 10); isFunction (x)", []),
    ],
)
def test_what_is_forbidden_is_found(text: str, found: list[str]) -> None:
    assert forbidden_in(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import x from 'https://cdn.example/x.js'", ["https://cdn.example/x.js"]),
        ("fetch(`//cdn.example/x`)", ["//cdn.example/x"]),
        ("background: url(//cdn.example/x.png)", ["//cdn.example/x.png"]),
        ("createElementNS('http://www.w3.org/2000/svg', 'g') // a comment", []),
        ("const a = 1 // 'quoted'", []),
    ],
)
def test_other_hosts_are_found(text: str, found: list[str]) -> None:
    assert other_hosts(text) == found


def test_the_page_has_no_scripts_styles_or_handlers_of_its_own() -> None:
    text = (STATIC / "index.html").read_text()
    assert "<style" not in text
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))
    assert re.findall(r"<script[^>]*>(?!</script>)", text) == []
    assert forbidden_in(text) == []


# -- modules -------------------------------------------------------------------------------------------------------


def imports(path: Path) -> Iterator[tuple[str, Path]]:
    """What is asked of which file."""
    text = path.read_text()
    for names, source in _IMPORT.findall(text):
        assert source.startswith("."), f"{named(path)} imports {source}: browsers know no bare names"
        yield names, (path.parent / source).resolve()
    for source in _DYNAMIC.findall(text):
        if path == PAGES_MODULE and source == "`./pages/${entry.module}.js`":
            for page in pages():
                yield "", path.parent / "pages" / f"{page}.js"
        else:
            assert re.fullmatch(r"'\./[\w/.]+'", source), (
                f"{named(path)} imports {source}, and nobody sees what that is"
            )
            yield "", (path.parent / source.strip("'")).resolve()


def pages() -> list[str]:
    """The modules that main.js names."""
    return re.findall(r"module: '(\w+)'", PAGES_MODULE.read_text())


def exports(path: Path) -> set[str]:
    text = path.read_text()
    listed = {
        part.split(" as ")[-1].strip()
        for names in _EXPORT_LIST.findall(text)
        for part in names.split(",")
        if part.strip()
    }
    default = {"default"} if re.search(r"^export default\b", text, re.MULTILINE) else set()
    return {*_EXPORT.findall(text), *listed, *default}


def asked(names: str) -> set[str]:
    """Of `Name, { a, b as c }`."""
    before, _, inner = names.partition("{")
    found = {part.split(" as ")[0].strip() for part in inner.rstrip("} \n").split(",") if part.strip()}
    return found | ({"default"} if before.strip(" ,\n") else set())


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_what_a_module_imports_is_there(path: Path) -> None:
    for names, source in imports(path):
        assert source.is_file(), f"{named(path)} imports {source}, which does not exist"
        if not source.is_relative_to(VENDOR):
            missing = asked(names) - exports(source)
            assert not missing, f"{named(path)} imports {missing}, which {named(source)} does not export"


def test_each_page_has_a_title_and_a_component() -> None:
    for page in pages():
        assert {"default", "title"} <= exports(STATIC / "js" / "pages" / f"{page}.js"), page


def test_each_address_has_a_page() -> None:
    assert set(PLACES) <= set(re.findall(r"^  (\w+): \{ label", PAGES_MODULE.read_text(), re.MULTILINE))


def imported_at_once(path: Path) -> list[Path]:
    if path.is_relative_to(VENDOR):
        return [path.parent / source for source in re.findall(r"from\"(\./[^\"]+)\"", path.read_text())]
    return [(path.parent / source).resolve() for _, source in _IMPORT.findall(path.read_text())]


def imported_ever(path: Path) -> list[Path]:
    return imported_at_once(path) if path.is_relative_to(VENDOR) else [source for _, source in imports(path)]


def reached(begin: Iterable[Path], imported: Callable[[Path], list[Path]]) -> set[Path]:
    found, waiting = set[Path](), list(begin)
    while waiting:
        path = waiting.pop().resolve()
        if path not in found:
            found.add(path)
            waiting += imported(path)
    return found


def test_no_file_is_left_over() -> None:
    page = (STATIC / "index.html").read_text()
    linked = {STATIC / path for path in re.findall(r"(?:src|href)=\"/static/([^\"]+)\"", page)}
    assert {path for path in linked if not path.is_file()} == set()
    scripts = {path.resolve() for path in STATIC.rglob("*.js")}
    used = reached((path for path in linked if path.suffix == ".js"), imported_ever)
    assert {named(path) for path in scripts - used} == set()
    styles = set(STATIC.rglob("*.css"))
    assert {named(path) for path in styles - linked} == set()


def test_what_every_page_needs_is_asked_for_at_once() -> None:
    """A module that a module imports would else be asked for when that one is there."""
    page = (STATIC / "index.html").read_text()
    preloaded = {STATIC / path for path in re.findall(r"rel=\"modulepreload\" href=\"/static/([^\"]+)\"", page)}
    needed = reached([PAGES_MODULE], imported_at_once) - {PAGES_MODULE}
    assert {named(path) for path in preloaded ^ needed} == set()


# -- what others have written --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def as_npm_has_it() -> Path:
    versions = sorted({f"{name}-{version}" for name, version, _, _ in FILES})
    try:
        return cached("-".join(versions), _fill)
    except Unavailable as error:
        pytest.skip(f"Preact and htm cannot be had from npm: {error}")


def _fill(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise Unavailable("`npm` is not installed")
    try:
        found = vendored()
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"{error}: {error.stderr}") from error
    for name, content in found.items():
        (folder / name).write_bytes(content)


@pytest.mark.npm
def test_the_files_of_others_are_those_of_npm(as_npm_has_it: Path) -> None:
    ours = {path.name: path.read_bytes() for path in VENDOR.iterdir()}
    theirs = {path.name: path.read_bytes() for path in as_npm_has_it.iterdir()}
    assert sorted(ours) == sorted(theirs)
    assert {name for name in ours if ours[name] != theirs[name]} == set()


def test_the_files_of_others_have_their_licences() -> None:
    packages = {name for name, _, _, _ in FILES}
    assert {path.name.removesuffix("-LICENSE.txt") for path in VENDOR.glob("*-LICENSE.txt")} == packages
