"""Checks a built site: ``python docs/check_site.py FOLDER`` prints its faults and its size.

Every link within the site leads to a page and a place in it, nothing is loaded from elsewhere, each
public name has its place, and the page "Choosing a function" links all functions that it names.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

URL = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")
QUESTIONS = "docs/choosing_a_function.html"
# Parts of the page for which a browser asks at once; the others wait for a click.
LOADED = {"src", "srcset", "poster", "data", "background"}


class Page(HTMLParser):
    """Places that a page has, what it links, what it loads, and code that is no link."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.bare: list[str] = []
        self.link_depth = self.code_depth = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names and where it leads."""
        self.link_depth += tag == "a"
        self.code_depth += tag == "code"
        for key, value in attrs:
            if value is None:
                continue
            if key in ("id", "name"):
                self.places.add(value)
            elif key == "href":
                (self.links if tag == "a" else self.loads).append(value)
            elif key in LOADED:
                self.loads.append(value)
            elif key == "style":
                self.loads += [a or b for a, b in URL.findall(value)]

    def handle_endtag(self, tag: str) -> None:
        """Leave a link or code."""
        self.link_depth -= tag == "a"
        self.code_depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        """Note code that names something public without a link."""
        if self.code_depth and not self.link_depth and data.startswith("al."):
            self.bare.append(data)


def outside(link: str) -> bool:
    """Whether a link names another host."""
    return link.startswith("//") or urlsplit(link).scheme in ("http", "https", "ftp")


def faults(root: Path) -> list[str]:
    """One line for each fault of a built site."""
    pages = {
        file.relative_to(root).as_posix(): Page(file.read_text(encoding="utf-8"))
        for file in sorted(root.rglob("*.html"))
        if file.relative_to(root).parts[0] != "_static"  # templates of the theme
    }
    found = []
    for name, page in pages.items():
        found += [f"{name}: loads {to}" for to in page.loads if outside(to)]
        for to in page.links + page.loads:
            parts = urlsplit(to)
            if parts.scheme or parts.netloc:
                continue
            place = unquote(parts.fragment)
            file = (root / name).parent / unquote(parts.path) if parts.path else root / name
            if not file.exists():
                found.append(f"{name}: no file {to}")
            elif place and file.suffix == ".html":
                other = pages[file.resolve().relative_to(root.resolve()).as_posix()]
                if place not in other.places:
                    found.append(f"{name}: no place {to}")
    for file in sorted(root.rglob("*.css")):
        for a, b in URL.findall(file.read_text(encoding="utf-8")):
            to = a or b
            if outside(to):
                found.append(f"{file.relative_to(root)}: loads {to}")
            elif (
                not to.startswith(("data:", "#")) and not (file.parent / urlsplit(to).path).exists()
            ):
                found.append(f"{file.relative_to(root)}: no file {to}")
    places = set().union(*(page.places for page in pages.values()))
    found += [f"no place for {name}" for name in sorted(wanted() - places)]
    found += [f"{QUESTIONS}: names without a link {code}" for code in pages[QUESTIONS].bare]
    return found


def wanted() -> set[str]:
    """Places that public names have, as `api_pages` lays them out."""
    sys.path.insert(0, str(Path(__file__).parent / "_ext"))
    from api_pages import places

    return {f"{place}.{name}" for place, names in places().items() for name in names}


def main(root: Path) -> int:
    """Print all faults, and how many pages and bytes there are."""
    found = faults(root)
    print(*found, sep="\n", end="\n" if found else "")
    files = [file for file in root.rglob("*") if file.is_file()]
    n_pages = sum(file.suffix == ".html" for file in files)
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"{n_pages} pages, {size:.0f} MB, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
