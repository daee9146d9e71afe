"""Pages show pictures that exist, and each picture in docs/images is on a page."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
_SHOWN = re.compile(r"!\[(?P<words>[^\]]*)\]\((?P<path>[^)\s]+)\)|<img\s[^>]*?src=\"(?P<source>[^\"]+)\"")
# `make screenshots` makes them small; everybody who clones the repository has every one that there ever was.
MOST_BYTES = 120_000


def shown() -> dict[Path, set[Path]]:
    """The files that each page shows. Addresses of other hosts, such as those of badges, are left out."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return {
        page: {
            (page.parent / path).resolve()
            for found in _SHOWN.finditer(page.read_text())
            if "://" not in (path := found["path"] or found["source"])
        }
        for page in pages
    }


def test_pages_show_pictures_that_exist() -> None:
    missing = {
        str(page.relative_to(ROOT)): sorted(str(path) for path in paths if not path.is_file())
        for page, paths in shown().items()
    }
    assert {page: paths for page, paths in missing.items() if paths} == {}


def test_each_picture_is_on_a_page() -> None:
    pictures = set(IMAGES.iterdir())
    assert pictures
    assert sorted(pictures - set().union(*shown().values())) == []


def test_pictures_are_small() -> None:
    assert {path.name: size for path in IMAGES.iterdir() if (size := path.stat().st_size) > MOST_BYTES} == {}


def test_pictures_have_words_for_people_who_do_not_see_them() -> None:
    without = [
        f"{page.relative_to(ROOT)}: {found[0]}"
        for page in shown()
        for found in _SHOWN.finditer(page.read_text())
        if not (found["words"] or 'alt="' in found[0])
    ]
    assert without == []
