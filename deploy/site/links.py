"""Places of documents on the site. Paths are texts, relative to the repository or to the site, with `/`."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

DOCS: Final = "docs"
OUTSIDE: Final = "repository"
LANDING: Final = "README.md"
LIST: Final = "documents.md"
PARTS: Final = ("guide", "reference", "evidence")
_FENCED: Final = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s]+)(\))")


def slug(heading: str, _separator: str = "-") -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def place(path: str) -> str:
    """The place of a file or folder of the repository on the site. A folder is a page with its files.

    The site begins with the project's README.md. The list of all documents is the page behind it.
    """
    if path == LANDING:
        return path
    if path in (DOCS, f"{DOCS}/README.md"):
        return LIST
    return path.removeprefix(f"{DOCS}/") if path.startswith(f"{DOCS}/") else f"{OUTSIDE}/{path}"


def in_repository(page: str) -> str:
    """The path in the repository of a page of the site: the other way of `place`."""
    if page == LIST:
        return f"{DOCS}/README.md"
    if page == LANDING or page.startswith(f"{OUTSIDE}/"):
        return page.removeprefix(f"{OUTSIDE}/")
    return f"{DOCS}/{page}"


def rewritten(markdown: str, page: str, folders: frozenset[str]) -> str:
    """A document with links for the site. `page` is its path in the repository, `folders` are the
    folders that documents link to."""
    here = posixpath.dirname(place(page))

    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match[2].partition("#")
        target = _in_repository(page, path)
        there = f"{place(target)}/README.md" if target in folders else place(target)
        return f"{match[1]}{posixpath.relpath(there, here or '.')}{mark}{anchor}{match[3]}"

    parts = _FENCED.split(markdown)  # every second one is code
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def _in_repository(page: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def targets(markdown: str, page: str) -> Iterator[str]:
    """The files and folders of the repository that a document links to."""
    for part in _FENCED.split(markdown)[::2]:
        for match in _LINK.finditer(part):
            yield _in_repository(page, match[2].partition("#")[0])


def outside_docs(root: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The files and the folders outside `docs` that documents link to, and the documents themselves."""
    pages = [*root.glob("*.md"), *(root / DOCS).rglob("*.md")]
    files = {page.name for page in root.glob("*.md")}
    folders: set[str] = set()
    linked = {
        target
        for page in pages
        for target in targets(page.read_text(encoding="utf-8"), page.relative_to(root).as_posix())
    }
    for target in linked:
        if place(target).startswith(f"{OUTSIDE}/"):
            (folders if (root / target).is_dir() else files).add(target)
    for folder in folders:
        files |= {f"{folder}/{each}" for each in _shown(root / folder)}
    return frozenset(files), frozenset(folders)


def _shown(folder: Path) -> list[str]:
    """The files in a folder and below it, without hidden ones and those that Python makes."""
    files = (each.relative_to(folder) for each in folder.rglob("*") if each.is_file())
    return sorted(each.as_posix() for each in files if not any(_is_hidden(part) for part in each.parts))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "__"))


def listing(root: Path, folder: str) -> str | None:
    """The page of a folder; None if it has a page of its own."""
    names = _shown(root / folder)
    if "README.md" in names:
        return None
    return "\n".join([f"# {folder}/", "", *(f"* [{name}]({name})" for name in names), ""])


def navigation(index: str) -> list[dict[str, list[str]]]:
    """The sections of the index with their pages. A page is in the section that links to it first."""
    seen: set[str] = set()
    sections: list[dict[str, list[str]]] = []
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        pages = [match[2].partition("#")[0] for match in _LINK.finditer(body)]
        new = [page for page in dict.fromkeys(pages) if page.endswith(".md") and page not in seen]
        seen.update(new)
        found = [place(_in_repository(f"{DOCS}/README.md", page)) for page in new]
        if found:
            sections.append({title: found})
    return sections


def moved(pages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The place that each page had before there were parts, and what leads from there to the page.

    Both places are on the site; the second is relative to the first.
    """
    for page in pages:
        part, _, old = page.partition("/")
        if part in PARTS:
            yield old, posixpath.relpath(page, posixpath.dirname(old) or ".")


def loaded_from_elsewhere(page: str) -> list[str]:
    """The addresses on other servers from which a browser loads parts of the page. Links do not count."""
    return re.findall(r"<(?:script|link|img|iframe)[^>]+?(?:src|href)=[\"']?(https?://[^\"' >]+)", page)


def wrapping_at_dots(page: str) -> str:
    """The HTML of a page in which a browser may wrap the code of headings behind a dot, and not elsewhere."""
    return re.sub(
        r"(?<=<code>)[^<]*(?=</code>[^\n]*</h\d>)", lambda code: code[0].replace(".", ".<wbr>"), page
    )
